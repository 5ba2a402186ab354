"""The frontier of a session: how far its history has been evicted to smaller levels."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from pagefault_dialects.model.base import Count, WireModel


class Frontier(WireModel):
    """What of a history is shown at a smaller level.

    Each number is the `seq` up to which one kind of thing is. It never becomes smaller.
    `orphans` are answers that were shown behind a call that nobody had recorded; each keeps it,
    since what was shown is not changed.

    Source: `context`, "A prefix that stays".
    """

    tool_media: Annotated[Count, Field(description="Media in results of tools.")] = 0
    said_media: Annotated[Count, Field(description="Media in what people said.")] = 0
    tool_texts: Annotated[Count, Field(description="Long texts in results of tools.")] = 0
    tool_results: Annotated[Count, Field(description="Results of tools, whole.")] = 0
    recalled: Annotated[Count, Field(description="What was recalled again and again.")] = 0
    said_texts: Annotated[Count, Field(description="Long texts in what people said.")] = 0
    arguments: Annotated[Count, Field(description="Long strings in arguments of calls.")] = 0
    folded: Annotated[Count, Field(description="Steps, of which a line is left for each run.")] = 0
    said_folded: Annotated[Count, Field(description="Messages, folded as steps are.")] = 0
    floor: Annotated[
        Count, Field(description="What is shortened last, as it is never left out.")
    ] = 0
    orphans: Annotated[tuple[Count, ...], Field(max_length=10_000)] = ()
    """The `seq` of answers that keep the call that was written for them."""


NOTHING_EVICTED = Frontier()
"""Where every history begins."""


@dataclass(frozen=True, slots=True)
class StoredFrontier:
    """A frontier as it is stored under a name."""

    name: str
    """The client's."""
    frontier: Frontier = NOTHING_EVICTED
    """How far it has been moved."""
    sent: bytes = b""
    """The hashes of the messages that were rendered with it last, eight bytes each."""
    version: int = 0
    """Grows with every change; 0 where nothing is stored yet."""
