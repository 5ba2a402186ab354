"""Shapes of pieces of a stored text: lines, matches of `grep`, or a JSON value.

`JsonShape` only documents the JSON that is sent instead of a value that is too large. That JSON is
made by `pagefault_dialects.texts`.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Raw
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.wire.shape import DocumentedAs, Shape, encode_raw
from pagefault_dialects.json.values import AnyJson
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.texts.excerpts import JsonExcerpt, LineExcerpt, LineMatch, Matches

_URI = "blob:9a0e04717cce2431260284cf548150ee"
_NEXT = Field(description="The line to continue with: `lines={nextLine}-`; null at the end.")
_EXAMPLE: JsonDict = {
    "uri": _URI,
    "mimeType": "text/plain",
    "totalLines": 4210,
    "totalBytes": 311_204,
    "from": 10,
    "to": 11,
    "text": "10:02:11 GET /cart 200\n10:02:12 POST /cart 500",
    "cutLines": [],
    "truncated": False,
    "nextLine": None,
}


class TextLines(Shape, kw_only=True):
    """Lines of a text."""

    schema_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    uri: Annotated[str, Field(examples=[_URI])]
    mime_type: str
    total_lines: int
    total_bytes: int
    first: int | None = msgspec.field(name="from")
    """The first line; null if there is none."""
    last: int | None = msgspec.field(name="to")
    """The last line."""
    text: str
    """The lines, with a line feed between them."""
    cut_lines: tuple[int, ...]
    """The numbers of lines that were cut after 8,000 characters; each ends with a note."""
    truncated: bool
    """True if the requested lines have more than 64 KiB."""
    next_line: Annotated[int | None, _NEXT]
    decoded_from: str | None = None
    """The legacy charset from which the text was decoded; absent for UTF-8 and UTF-16."""


class TextMatch(Shape, kw_only=True):
    """A line with the text of `grep`. Lines of more than 500 characters are cut with `…`."""

    line: int
    text: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class TextMatches(Shape, kw_only=True):
    """The lines of a text that match `grep`."""

    uri: str
    mime_type: str
    total_lines: int
    total_bytes: int
    matches: tuple[TextMatch, ...]
    total_matches: int
    """The number of all matching lines."""
    truncated: bool
    next_line: Annotated[int | None, _NEXT]
    decoded_from: str | None = None
    """The legacy charset from which the text was decoded; absent for UTF-8 and UTF-16."""


JsonKeyName = TypeAliasType("JsonKeyName", str | int)


class JsonKey(Shape, kw_only=True):
    """A member of a value, and its pointer."""

    key: JsonKeyName
    pointer: str
    type: Literal["null", "boolean", "number", "string", "array", "object"]
    length: int | None = None


class JsonShape(Shape, kw_only=True):
    """The structure of a value that is too large, with pointers to its members."""

    type: Literal["number", "string", "array", "object"]
    size: int
    """The bytes of the value as compact JSON."""
    length: int | None = None
    """The number of members, items or characters."""
    keys: tuple[JsonKey, ...] | None = None
    """The first members, 200 at most."""
    start: str | None = None
    """The beginning of a long string."""
    hint: str


class JsonValueAt(Shape, kw_only=True):
    """The value at a JSON pointer."""

    uri: str
    mime_type: str
    pointer: str
    truncated: bool
    """True if the value has more than 64 KiB."""
    shape: Annotated[Raw | None, DocumentedAs(JsonShape | None)]
    value: Annotated[Raw, DocumentedAs(AnyJson)]
    """Null if `truncated` is true."""
    decoded_from: str | None = None
    """The legacy charset from which the text was decoded; absent for UTF-8 and UTF-16."""


TextPiece = TypeAliasType("TextPiece", TextLines | TextMatches | JsonValueAt)


def encode_text_piece(
    resource: Resource,
    total_lines: int | None,
    excerpt: LineExcerpt | Matches | JsonExcerpt,
    charset: str,
) -> bytes:
    """Return the JSON of a `TextPiece`.

    Args:
        resource: The resource with the text.
        total_lines: The number of all lines; `None` with a JSON value.
        excerpt: The lines, the matches or the value.
        charset: The legacy charset of the text; empty for UTF-8 and UTF-16.
    """
    decoded_from = charset or None
    if isinstance(excerpt, JsonExcerpt):
        return JsonValueAt(
            uri=resource.uri,
            mime_type=resource.mime_type,
            pointer=excerpt.pointer,
            truncated=excerpt.shape is not None,
            shape=None if excerpt.shape is None else encode_raw(excerpt.shape),
            # Parsing the value again would change how its numbers are written.
            value=Raw(b"null" if excerpt.text is None else excerpt.text.encode()),
            decoded_from=decoded_from,
        ).encode()
    if isinstance(excerpt, Matches):
        return TextMatches(
            uri=resource.uri,
            mime_type=resource.mime_type,
            total_lines=total_lines or 0,
            total_bytes=resource.size_bytes,
            matches=tuple(map(_build_match, excerpt.found)),
            total_matches=excerpt.total,
            truncated=excerpt.next_line is not None,
            next_line=excerpt.next_line,
            decoded_from=decoded_from,
        ).encode()
    return TextLines(
        uri=resource.uri,
        mime_type=resource.mime_type,
        total_lines=total_lines or 0,
        total_bytes=resource.size_bytes,
        first=excerpt.first_line if excerpt.lines else None,
        last=excerpt.last_line if excerpt.lines else None,
        text="\n".join(excerpt.lines),
        cut_lines=tuple(excerpt.cut_lines),
        truncated=excerpt.next_line is not None,
        next_line=excerpt.next_line,
        decoded_from=decoded_from,
    ).encode()


def _build_match(match: LineMatch) -> TextMatch:
    return TextMatch(
        line=match.line, text=match.text, before=tuple(match.before), after=tuple(match.after)
    )
