"""The frontier of a session: how far its history has been evicted to smaller levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from pagefault_dialects.model.base import JsonCount, WireModel

MOST_ORPHANS = 10_000
"""How many answers a frontier remembers that stand behind a call that was written for them."""


class Frontier(WireModel):
    """What of a history is shown at a smaller level.

    Each number is the `seq` up to which one kind of thing is. It never becomes smaller.
    `orphans` are answers that were shown behind a call that nobody had recorded; each keeps it,
    since what was shown is not changed.

    Source: `context`, "A prefix that stays".
    """

    tool_media: Annotated[JsonCount, Field(description="Media in results of tools.")] = 0
    said_media: Annotated[JsonCount, Field(description="Media in what people said.")] = 0
    tool_texts: Annotated[JsonCount, Field(description="Long texts in results of tools.")] = 0
    tool_results: Annotated[JsonCount, Field(description="Results of tools, whole.")] = 0
    recalled: Annotated[JsonCount, Field(description="What was recalled again and again.")] = 0
    said_texts: Annotated[JsonCount, Field(description="Long texts in what people said.")] = 0
    arguments: Annotated[JsonCount, Field(description="Long strings in arguments of calls.")] = 0
    folded: Annotated[
        JsonCount, Field(description="Steps, of which a line is left for each run.")
    ] = 0
    said_folded: Annotated[JsonCount, Field(description="Messages, folded as steps are.")] = 0
    floor: Annotated[
        JsonCount, Field(description="What is shortened last, as it is never left out.")
    ] = 0
    orphans: Annotated[tuple[JsonCount, ...], Field(max_length=MOST_ORPHANS)] = ()
    """The `seq` of answers that keep the call that was written for them."""

    def with_orphans(self, orphans: Sequence[int]) -> "Frontier":
        """Return the frontier with the newest of these answers, as many as it may have."""
        return self.model_copy(update={"orphans": tuple(orphans[-MOST_ORPHANS:])})

    def up_to(self, seq: int) -> "Frontier":
        """Return the frontier as far as it has come up to an entry."""
        levels = {name: min(place, seq) for name, place in self if isinstance(place, int)}
        orphans = tuple(each for each in self.orphans if each <= seq)
        return self.model_copy(update={**levels, "orphans": orphans})


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
