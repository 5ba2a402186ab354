"""The events of a session or a project, typed by their names."""

import json
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

from pagefault_client import models
from pagefault_client.sse import Block

Name_co = TypeVar("Name_co", bound=str, covariant=True)
Data_co = TypeVar("Data_co", covariant=True)

# A stream that says nothing for so long is dead: the service sends a comment every 15 seconds.
SILENCE_SECONDS = 35.0


@dataclass(frozen=True, slots=True)
class NamedEvent(Generic[Name_co, Data_co]):
    """An event of one name.

    Attributes:
        event: Its name, such as `page:created`.
        id: Its position: give it as `after` to go on behind it.
        data: What happened.
    """

    event: Name_co
    id: int
    data: Data_co


Event: TypeAlias = (
    NamedEvent[Literal["llmservice:toolResult"], models.ToolResultEvent]
    | NamedEvent[Literal["message:created"], models.MessageEvent]
    | NamedEvent[Literal["interaction:created"], models.InteractionEvent]
    | NamedEvent[Literal["interaction:answered"], models.AnswerEvent]
    | NamedEvent[Literal["page:created", "page:updated", "page:deleted"], models.PageEvent]
    | NamedEvent[Literal["page:faulted"], models.PageFaultEvent]
    | NamedEvent[Literal["session:imported"], models.SessionImportedEvent]
    | NamedEvent[Literal["session:deleted"], models.SessionDeletedEvent]
    | NamedEvent[Literal["reset"], models.ResetEvent]
)
"""Any event: compare `event.event` with a name, and `event.data` has its type.

`reset` means that events are missing: read again what you show. The iterator goes on by itself. An
event of a newer service comes under its own name.
"""


def event_of(block: Block, position: int) -> Event:
    """Return the event of a block with data."""
    data: Any = json.loads(block.data)
    return cast("Event", NamedEvent(block.event, position, data))


def position_of(block: Block, otherwise: int | None) -> int | None:
    """Return the position that a block says, or the last one."""
    return int(block.id) if block.id and block.id.isdecimal() else otherwise
