"""The shape of an outline: a line for each entry of a session's history."""

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.models.interaction import Role
from app.models.session import EntryKind
from app.wire.lists import ListPage
from app.wire.shape import Moment, Shape
from app.wire.working_sets import StepLevel

_EXAMPLE: JsonDict = {
    "seq": 2,
    "entry": "message",
    "createdAt": "2026-11-21T05:30:00.000000Z",
    "role": "assistant",
    "name": None,
    "title": "I will open the page.",
    "calls": [{"id": "call_1", "name": "browser.open"}],
    "answers": [],
    "failed": False,
    "images": 0,
    "audios": 0,
    "videos": 0,
    "files": 0,
    "bytes": 214,
    "tokensEst": 21,
    "fingerprint": "5c0e9f3a7b1d4e8890a2c6d3f7e1b045",
}


_STEP_LEVEL = (
    "With `target`: the strongest level to which it was reduced in a rendering with these options, "
    "as in the working set; absent if it was not reduced."
)


class OutlinedCall(Shape, kw_only=True):
    """A call that an entry makes."""

    id: str
    """The id in the entry, or a generated one if its dialect has no ids."""
    name: str


class OutlineEntry(Shape, kw_only=True):
    """An entry of a history without its content."""

    described = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    seq: Annotated[int, Field(ge=1)]
    entry: EntryKind
    created_at: Moment
    role: Role
    """The role of its author, with the same names for all dialects."""
    name: str | None
    """The tool of a result, or the page of a page fault."""
    title: str | None
    """The first line of its words, at most 120 characters."""
    calls: tuple[OutlinedCall, ...]
    """The calls it makes, in order."""
    answers: tuple[str, ...]
    """The ids of the calls that it answers, in order."""
    failed: bool
    """True if a tool's answer in it is an error."""
    images: int
    audios: int
    videos: int
    files: int
    bytes: int
    """The bytes of its JSON, without media."""
    tokens_est: int
    """The estimated tokens for a model that accepts images, from lengths alone. A rendering counts
    for its target."""
    fingerprint: str
    """Equal for entries with the same content in any session and dialect: words, values, media,
    names and arguments of calls, without ids and times. It may change with an update of the
    service."""
    step_level: Annotated[StepLevel | None, Field(description=_STEP_LEVEL)] = None


class OutlinePage(ListPage[OutlineEntry]):
    """A slice of an outline, in the order of `seq`."""
