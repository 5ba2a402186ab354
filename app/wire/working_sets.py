"""Shapes of working sets: what of a session a model has in context."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.wire.renders import Target
from app.wire.shape import Shape, ShownAs
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.page import LevelName

_EXAMPLE: JsonDict = {
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
    "`FULL`: as it was recorded. `REDUCED`: media or long texts in it are shown smaller, or as "
    "words. `REFERENCE`: one line."
)
_STEP_LEVEL = (
    "The level to which it was reduced; absent if it was not. `folded`: one line replaces a run of "
    "steps and messages, from the entry `fromSeq` to `seq`."
)
_PRIORITY = (
    "`stays`: it is never evicted. `raised`: it is evicted last, since it was recalled repeatedly."
)


class WorkingSetEntry(Shape, kw_only=True):
    """A turn of the conversation as a model has it in context."""

    seq: int | None = None
    """Its entry; absent for the messages about the memory."""
    from_seq: int | None = None
    """The first entry of a run that is folded."""
    count: int | None = None
    """The number of steps and messages of a folded run."""
    role: Annotated[str, Field(examples=["tool"])]
    tool_name: str | None = None
    call_id: str | None = None
    page_id: str | None = None
    """The page in it."""
    level: Annotated[str, ShownAs(LevelName), Field(description=_LEVEL)]
    step_level: Annotated[StepLevel | None, Field(description=_STEP_LEVEL)] = None
    tokens: int
    """The estimated number of tokens."""
    media: int = 0
    """The number of its media that are attached."""
    evicted: bool = False
    """True if it was evicted to its level."""
    recalls: int = 0
    """The number of later calls of `page_fault`, `view_media` or `read_text` for it, or for a part
    of it."""
    priority: Annotated[Priority, Field(description=_PRIORITY)] = "normal"


class WorkingSetPage(Shape, kw_only=True):
    """A page that was faulted into the session."""

    page_id: str
    seq: int | None = None
    """The newest entry with it."""
    level: Annotated[str, ShownAs(LevelName)]
    """The best level at which it is in context."""
    faults: int
    """The number of calls for it."""
    priority: Annotated[Priority, Field(description=_PRIORITY)]


class WorkingSet(Shape, kw_only=True):
    """The part of a session in the context of a model, with levels and tokens."""

    described = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    session_id: str
    target: Target
    profile: str
    """Target and version of its limits and rules."""
    tokens_est: int
    """The tokens of the rendering with the same options."""
    max_tokens: int | None = None
    frontier: Annotated[object, ShownAs(Frontier)]
    """The part of the history that is evicted in that rendering."""
    entries: tuple[WorkingSetEntry, ...]
    pages: tuple[WorkingSetPage, ...]
    """In the order of their first fault."""
