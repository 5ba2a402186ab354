"""Shapes of the outline of a session, and of the working set that a model has in context."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.models.interaction import Role
from app.models.session import EntryKind
from app.wire.renders import Target
from app.wire.shape import CursorList, DocumentedAs, Shape, Timestamp
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.page import LevelName

_WORKING_SET_EXAMPLE: JsonDict = {
    "sessionId": "demo",
    "target": "anthropic",
    "profile": "anthropic/2026-11-23",
    "tokensEst": 5120,
    "maxTokens": 6000,
    "frontier": {
        "toolMedia": 3,
        "saidMedia": 0,
        "toolTexts": 0,
        "toolResults": 0,
        "recalled": 0,
        "saidTexts": 0,
        "arguments": 0,
        "folded": 0,
        "saidFolded": 0,
        "floor": 0,
        "orphans": [],
    },
    "entries": [
        {"seq": 1, "role": "user", "level": "FULL", "tokens": 12, "priority": "stays"},
        {
            "seq": 3,
            "role": "tool",
            "toolName": "camera",
            "callId": "call_1",
            "level": "REDUCED",
            "tokens": 34,
            "evicted": True,
            "recalls": 2,
        },
    ],
    "pages": [{"pageId": "img_001", "seq": 9, "level": "FULL", "faults": 3, "priority": "raised"}],
}

StepLevel = TypeAliasType("StepLevel", Literal["media", "preview", "line", "arguments", "folded"])
Priority = TypeAliasType("Priority", Literal["normal", "raised", "stays"])

_LEVEL = (
    "`FULL`: as it was recorded. `REDUCED`: its media or long texts are smaller, or replaced by "
    "words. `REFERENCE`: one line."
)
_STEP_LEVEL = (
    "The level to which the turn was reduced; absent if it was not reduced. `folded`: one line "
    "replaces the steps and messages from the entry `fromSeq` to `seq`."
)
_PRIORITY = (
    "`stays`: it is never evicted. `raised`: it is evicted last, because it was recalled "
    "repeatedly."
)


class WorkingSetEntry(Shape, kw_only=True):
    """A turn of the conversation in the context of a model."""

    seq: int | None = None
    """The `seq` of its entry; absent for messages that describe the memory, which have no entry."""
    from_seq: int | None = None
    """The `seq` of the first folded entry; absent if the turn is not folded."""
    count: int | None = None
    """The number of folded steps and messages; absent if the turn is not folded."""
    role: Annotated[str, Field(examples=["tool"])]
    tool_name: str | None = None
    call_id: str | None = None
    page_id: str | None = None
    """The id of the page in the turn."""
    level: Annotated[str, DocumentedAs(LevelName), Field(description=_LEVEL)]
    step_level: Annotated[StepLevel | None, Field(description=_STEP_LEVEL)] = None
    tokens: int
    """The estimated number of tokens."""
    media: int = 0
    """The number of attached media."""
    media_tokens: int = 0
    """The part of `tokens` for the attached media."""
    evicted: bool = False
    """True if the turn has its level because it was evicted."""
    recalls: int = 0
    """The number of later calls of `page_fault`, `view_media` or `read_text` that read the turn or
    a part of it."""
    priority: Annotated[Priority, Field(description=_PRIORITY)] = "normal"


class WorkingSetPage(Shape, kw_only=True):
    """A page that was faulted into the session."""

    page_id: str
    seq: int | None = None
    """The `seq` of the newest entry with the page."""
    level: Annotated[str, DocumentedAs(LevelName)]
    """The most detailed level at which the page is in context."""
    faults: int
    """The number of calls that have loaded the page."""
    priority: Annotated[Priority, Field(description=_PRIORITY)]


class WorkingSet(Shape, kw_only=True):
    """The turns of a session that a model has in context, and the pages that it has loaded."""

    schema_config = ConfigDict(json_schema_extra={"examples": [_WORKING_SET_EXAMPLE]})

    session_id: str
    target: Target
    profile: str
    """The target, and the version of its limits and rules."""
    tokens_est: int
    """The estimated tokens of the rendering with the same options."""
    max_tokens: int | None = None
    frontier: Annotated[object, DocumentedAs(Frontier)]
    """The part of the history that is evicted in that rendering."""
    entries: tuple[WorkingSetEntry, ...]
    pages: tuple[WorkingSetPage, ...]
    """The pages in the order of their first fault."""


_OUTLINE_EXAMPLE: JsonDict = {
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


_OUTLINE_STEP_LEVEL = (
    "Only with `target`: the strongest level to which the entry was reduced in a rendering with "
    "these options, as in the working set; absent if it was not reduced."
)


class OutlinedCall(Shape, kw_only=True):
    """A call that an entry makes."""

    id: str
    """The id of the call, or a generated id if its dialect has no ids."""
    name: str


class OutlineEntry(Shape, kw_only=True):
    """An entry of a history without its content."""

    schema_config = ConfigDict(json_schema_extra={"examples": [_OUTLINE_EXAMPLE]})

    seq: Annotated[int, Field(ge=1)]
    entry: EntryKind
    created_at: Timestamp
    role: Role
    """The role of the author, with the same names for all dialects."""
    name: str | None
    """The tool of a result, or the page of a page fault."""
    title: str | None
    """The first line of its text, at most 120 characters."""
    calls: tuple[OutlinedCall, ...]
    """The calls in the entry, in order."""
    answers: tuple[str, ...]
    """The ids of the calls whose results are in the entry, in order."""
    failed: bool
    """True if a tool result in the entry is an error."""
    images: int
    audios: int
    videos: int
    files: int
    bytes: int
    """The bytes of its JSON, without media."""
    tokens_est: int
    """The tokens of the entry, estimated by size and for no target: one for each four characters of
    text, and images by their pixels. The tokens of a rendering are estimated for its target."""
    fingerprint: str
    """A hash of the content: words, values, media, names and arguments of calls, without ids and
    times. It is equal for equal content in any session and dialect. It may change with an update of
    the service."""
    model: str | None = None
    """The model that wrote the entry; absent if its message names no model."""
    parent_call: str | None = None
    """The id of the call that runs the sub-agent that wrote the entry (`parent_tool_use_id`)."""
    subagent_run_id: str | None = None
    """The run of the sub-agent that wrote the entry (`subagentRunId` of AG-UI)."""
    author: str | None = None
    """The agent that wrote the entry (`author` of ADK)."""
    step_level: Annotated[StepLevel | None, Field(description=_OUTLINE_STEP_LEVEL)] = None


class OutlinePage(CursorList[OutlineEntry]):
    """A part of an outline, in the order of `seq`."""
