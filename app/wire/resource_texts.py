"""Shapes of pieces of long text, as they are read back.

The shape of a value that is too large is made by `texts/` of the library, which counts what each of
its members takes; here it is only described.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Raw
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.wire.shape import Shape, ShownAs, raw_json
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
    """Lines of more than 8,000 characters; each ends with a note."""
    truncated: bool
    """True if the requested lines have more than 64 KiB."""
    next_line: Annotated[int | None, _NEXT]
    decoded_from: str | None = None
    """The charset of the bytes, if it is older than UTF-8 and the text was decoded."""


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
    """The charset of the bytes, if it is older than UTF-8 and the text was decoded."""


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
    """Bytes of the value as compact JSON."""
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
    shape: Annotated[Raw | None, ShownAs(JsonShape | None)]
    value: Annotated[Raw, ShownAs(AnyJson)]
    """Null if `truncated` is true."""
    decoded_from: str | None = None
    """The charset of the bytes, if it is older than UTF-8 and the text was decoded."""


TextPiece = TypeAliasType("TextPiece", TextLines | TextMatches | JsonValueAt)


def text_record(
    resource: Resource,
    total_lines: int | None,
    found: LineExcerpt | Matches | JsonExcerpt,
    charset: str,
) -> bytes:
    """Return the JSON of lines, of matches, of a value, or of the shape of a value."""
    decoded_from = charset or None
    if isinstance(found, JsonExcerpt):
        return JsonValueAt(
            uri=resource.uri,
            mime_type=resource.mime_type,
            pointer=found.pointer,
            truncated=found.shape is not None,
            shape=None if found.shape is None else raw_json(found.shape),
            # The value keeps its spelling, so its text is put in as it is.
            value=Raw(b"null" if found.text is None else found.text.encode()),
            decoded_from=decoded_from,
        ).encode()
    if isinstance(found, Matches):
        return TextMatches(
            uri=resource.uri,
            mime_type=resource.mime_type,
            total_lines=total_lines or 0,
            total_bytes=resource.size_bytes,
            matches=tuple(map(_match, found.found)),
            total_matches=found.total,
            truncated=found.next_line is not None,
            next_line=found.next_line,
            decoded_from=decoded_from,
        ).encode()
    return TextLines(
        uri=resource.uri,
        mime_type=resource.mime_type,
        total_lines=total_lines or 0,
        total_bytes=resource.size_bytes,
        first=found.first_line if found.lines else None,
        last=found.last_line if found.lines else None,
        text="\n".join(found.lines),
        cut_lines=tuple(found.cut_lines),
        truncated=found.next_line is not None,
        next_line=found.next_line,
        decoded_from=decoded_from,
    ).encode()


def _match(match: LineMatch) -> TextMatch:
    return TextMatch(
        line=match.line, text=match.text, before=tuple(match.before), after=tuple(match.after)
    )
