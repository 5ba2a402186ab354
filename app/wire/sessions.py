"""Shapes of sessions that exist only on the wire: history entries, interactions, receipts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.models.base import FrozenModel, WireModel
from app.models.interaction import ChatMessage, InputKind, Interaction
from app.models.message import ToolMessage
from app.models.resource import ResourceDescriptor
from app.wire.pages import Blocks

_ID = "01a1fc23-5d6a-716f-bf87-986bff04fd3e"
_EXAMPLE_SESSION: JsonDict = {
    "id": "demo",
    "createdAt": "2026-11-21T03:25:38.532555Z",
    "updatedAt": "2026-11-21T03:26:02.113042Z",
    "lastSeq": 3,
    "counts": {
        "toolResults": 1,
        "pageFaults": 0,
        "messages": 0,
        "interactions": 1,
        "answers": 1,
        "pages": 0,
        "resources": 2,
    },
    "bytesReferenced": 48210,
    "bytesSaved": 16071,
}
_EXAMPLE_INTERACTION: JsonDict = {
    "id": _ID,
    "session_id": "demo",
    "seq": 1,
    "input_kind": "text",
    "attachments": [],
    "interaction": {
        "input": "What is the time?",
        "output": None,
        "timestamp": "2023-10-27T10:00:00Z",
    },
}


class NoMembers(FrozenModel):
    """An empty object."""


class PageFaultMessage(FrozenModel):
    """A page that a model has faulted in, as history keeps it: media by reference."""

    seq: int
    id: str
    created_at: datetime
    role: Literal["tool"]
    tool_call_id: str | None
    content: Blocks


class HistoryMessage(FrozenModel):
    """A message that a client appended, as it was written, with the number it took.

    Source: spec 000, "Extend `HistoryMessage.content` type".
    """

    model_config = ConfigDict(extra="allow")

    seq: int
    id: str
    created_at: datetime
    role: str
    content: str | tuple[dict[str, Any], ...] | None = None
    name: str | None = None
    tool_calls: tuple[dict[str, Any], ...] | None = None
    tool_call_id: str | None = None


class InteractionEntry(FrozenModel):
    """An interaction as it was written; an answer that was set later is an entry of its own."""

    seq: int
    id: str
    created_at: datetime
    input_kind: InputKind
    bound: Annotated[
        Mapping[str, str | None] | None,
        Field(
            description="The URIs of resources by the aliases they were attached by, and null by "
            "the id of a resource that was not there; absent where there is neither."
        ),
    ] = None
    interaction: Interaction


class AnswerEntry(FrozenModel):
    """The answer of an interaction, set after it."""

    seq: int
    id: str
    created_at: datetime
    interaction_id: str
    output: ChatMessage


HistoryEntry = TypeAliasType(
    "HistoryEntry",
    ToolMessage | PageFaultMessage | InteractionEntry | AnswerEntry | HistoryMessage,
)


class MessagePage(WireModel):
    """A page of a session's history, in the order of `seq`."""

    items: tuple[HistoryEntry, ...]
    next_cursor: str | None


class Attachment(FrozenModel):
    """An attached file: the id the client gave, and the resource it is."""

    id: str
    status: Annotated[
        Literal["available", "missing", "unknown"],
        Field(
            description="`unknown` where nobody knew the id when the interaction was written, "
            "`missing` where the store has lost the record of the resource."
        ),
    ]
    resource: ResourceDescriptor | None = None


class InteractionRecord(FrozenModel):
    """A stored interaction with its answer, and each attached file once, in order of first use."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE_INTERACTION]})

    id: str
    session_id: str
    seq: int
    input_kind: InputKind
    attachments: tuple[Attachment, ...]
    interaction: Interaction


class InteractionPage(WireModel):
    """A page of a session's interactions, in the order of `seq`."""

    items: tuple[InteractionRecord, ...]
    next_cursor: str | None


class EntryCounts(WireModel):
    """How many entries of each kind a history has, and how many pages belong to it."""

    tool_results: int
    page_faults: int
    messages: int
    interactions: int
    answers: int
    pages: int


class SessionCounts(EntryCounts):
    """The same, and how many resources are used."""

    resources: int


class SessionRecord(WireModel):
    """A session. `lastSeq` is the number its newest write took."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE_SESSION]})

    id: str
    created_at: datetime
    updated_at: datetime
    last_seq: int
    counts: SessionCounts
    bytes_referenced: Annotated[
        int, Field(description="The bytes its resources are over, each blob once.")
    ]
    bytes_saved: Annotated[
        int,
        Field(description="What they would take more as base64 in each record that uses them."),
    ]


class SessionPage(WireModel):
    """A page of sessions, the one last written to first."""

    items: tuple[SessionRecord, ...]
    next_cursor: str | None


class ResourceUser(WireModel):
    """What else uses a resource: how many of a kind, and one of them."""

    kind: str
    count: int
    example_id: str


class ReleasedResource(WireModel):
    """What became of a resource the session used."""

    uri: str
    size: int
    status: Literal["deleted", "kept"]
    used_by: tuple[ResourceUser, ...]


class DeletionReceipt(WireModel):
    """What the deletion of a session removed. Bytes of deleted resources go with the next sweep."""

    id: str
    deleted: EntryCounts
    resources: tuple[ReleasedResource, ...]
