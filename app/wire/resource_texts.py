"""Pieces of long text, as they are read back."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.models.base import WireModel

_URI = "blob:9a0e04717cce2431260284cf548150ee"
_NEXT = Field(description="Where to go on, with `lines={nextLine}-`; null at the end.")
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


class TextLines(WireModel):
    """Lines of a text."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    uri: Annotated[str, Field(examples=[_URI])]
    mime_type: str
    total_lines: int
    total_bytes: int
    first: Annotated[
        int | None, Field(alias="from", description="The first line; null where there is none.")
    ]
    last: Annotated[int | None, Field(alias="to", description="The last line.")]
    text: Annotated[str, Field(description="The lines, with a line feed between them.")]
    cut_lines: Annotated[
        tuple[int, ...],
        Field(description="Lines of more than 8,000 characters; each ends with a note."),
    ]
    truncated: Annotated[bool, Field(description="Whether more was asked for than fits 64 KiB.")]
    next_line: Annotated[int | None, _NEXT]


class TextMatch(WireModel):
    """A line that holds what was looked for. More than 500 characters are cut with `…`."""

    line: int
    text: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class TextMatches(WireModel):
    """The lines of a text that hold something."""

    uri: str
    mime_type: str
    total_lines: int
    total_bytes: int
    matches: tuple[TextMatch, ...]
    total_matches: Annotated[int, Field(description="How many lines match, shown or not.")]
    truncated: bool
    next_line: Annotated[int | None, _NEXT]


class JsonKey(WireModel):
    """A member of a value, and how to ask for it."""

    key: str | int
    pointer: str
    type: Literal["null", "boolean", "number", "string", "array", "object"]
    length: int | None = None


class JsonShape(WireModel):
    """What a value that is too large looks like, and how to go deeper."""

    type: Literal["number", "string", "array", "object"]
    size: Annotated[int, Field(description="Bytes of the value as compact JSON.")]
    length: Annotated[int | None, Field(description="Members, items or characters.")] = None
    keys: Annotated[
        tuple[JsonKey, ...] | None, Field(description="The first members, 200 at most.")
    ] = None
    start: Annotated[str | None, Field(description="The beginning of a long string.")] = None
    hint: str


class JsonValueAt(WireModel):
    """The value at a JSON pointer."""

    uri: str
    mime_type: str
    pointer: str
    truncated: Annotated[bool, Field(description="Whether the value has more than 64 KiB.")]
    shape: JsonShape | None
    value: Annotated[Any, Field(description="Null where `truncated` is true.")]


TextPiece = TypeAliasType("TextPiece", TextLines | TextMatches | JsonValueAt)
