"""Shapes of events with their names: a frame of a WebSocket, or the fields of a server-sent event.

In server-sent events, `event`, `id` and `data` are fields of the stream, and only `data` is JSON.
These shapes only document the frames, which `app/routers/events.py` writes.
"""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from app.wire import events
from app.wire.shape import Shape


class _Frame(Shape, kw_only=True):
    """The common members of all frames."""

    id: int
    """The position to resume from: `seq` in a session, else the number of the event."""


class ToolResultFrame(_Frame, kw_only=True):
    """A tool result was stored."""

    event: Literal["llmservice:toolResult"]
    data: events.ToolResultEvent


class MessageFrame(_Frame, kw_only=True):
    """A message was appended."""

    event: Literal["message:created"]
    data: events.MessageEvent


class InteractionFrame(_Frame, kw_only=True):
    """A user's turn was stored."""

    event: Literal["interaction:created"]
    data: events.InteractionEvent


class AnswerFrame(_Frame, kw_only=True):
    """The output of an interaction was set."""

    event: Literal["interaction:answered"]
    data: events.AnswerEvent


class PageFrame(_Frame, kw_only=True):
    """A page was created, changed or deleted."""

    event: Literal["page:created", "page:updated", "page:deleted"]
    data: events.PageEvent


class PageFaultFrame(_Frame, kw_only=True):
    """A page was faulted in."""

    event: Literal["page:faulted"]
    data: events.PageFaultEvent


class SessionImportedFrame(_Frame, kw_only=True):
    """A session was imported from a bundle."""

    event: Literal["session:imported"]
    data: events.SessionImportedEvent


class SessionForkedFrame(_Frame, kw_only=True):
    """A session was created as a copy of the beginning of another one."""

    event: Literal["session:forked"]
    data: events.SessionForkedEvent


class SessionDeletedFrame(_Frame, kw_only=True):
    """A session was deleted."""

    event: Literal["session:deleted"]
    data: events.SessionDeletedEvent


class ResetFrame(_Frame, kw_only=True):
    """Events after the requested position are not stored any more."""

    event: Literal["reset"]
    data: events.ResetEvent


StreamEvent = TypeAliasType(
    "StreamEvent",
    Annotated[
        ToolResultFrame
        | MessageFrame
        | InteractionFrame
        | AnswerFrame
        | PageFrame
        | PageFaultFrame
        | SessionImportedFrame
        | SessionForkedFrame
        | SessionDeletedFrame
        | ResetFrame,
        Field(discriminator="event"),
    ],
)
"""An event as `{event, id, data}`."""
