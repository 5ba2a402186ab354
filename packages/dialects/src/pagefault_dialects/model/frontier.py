"""The frontier of a session: the positions up to which its history is evicted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from pagefault_dialects.model.base import JsonCount, WireModel

MAX_ORPHANS = 10_000
"""The maximum number of orphans of a frontier."""


class Frontier(WireModel):
    """The entries of a history that are rendered in a smaller form.

    Each number is the `seq` of the last entry that one kind of eviction has reached, and never
    decreases. The names with `tool` are of tool results; those with `said` are of *messages between
    steps*: messages of any author without calls. `orphans` are results without a recorded call,
    before which a call was added; it is kept so that the rendered prefix stays the same.

    Source: design document `context.md`, "A prefix that stays".
    """

    tool_media: Annotated[JsonCount, Field(description="Media in tool results.")] = 0
    said_media: Annotated[JsonCount, Field(description="Media in messages between steps.")] = 0
    tool_texts: Annotated[JsonCount, Field(description="Long texts in tool results.")] = 0
    tool_results: Annotated[JsonCount, Field(description="Whole tool results.")] = 0
    recalled: Annotated[JsonCount, Field(description="Results that were recalled often.")] = 0
    said_texts: Annotated[JsonCount, Field(description="Long texts in messages between steps.")] = 0
    arguments: Annotated[JsonCount, Field(description="Long strings in arguments of calls.")] = 0
    folded: Annotated[
        JsonCount, Field(description="Steps, of which each run becomes one line.")
    ] = 0
    said_folded: Annotated[
        JsonCount, Field(description="Messages between steps, folded as steps are.")
    ] = 0
    floor: Annotated[
        JsonCount, Field(description="Turns that are never left out, and are shortened last.")
    ] = 0
    orphans: Annotated[tuple[JsonCount, ...], Field(max_length=MAX_ORPHANS)] = ()
    """The `seq` of the results that keep an added call."""

    def with_orphans(self, orphans: Sequence[int]) -> "Frontier":
        """Return the frontier with these orphans, limited to the newest `MAX_ORPHANS`."""
        return self.model_copy(update={"orphans": tuple(orphans[-MAX_ORPHANS:])})

    def up_to(self, seq: int) -> "Frontier":
        """Return the frontier limited to entries up to `seq`."""
        levels = {name: min(reached, seq) for name, reached in self if isinstance(reached, int)}
        orphans = tuple(orphan for orphan in self.orphans if orphan <= seq)
        return self.model_copy(update={**levels, "orphans": orphans})


NOTHING_EVICTED = Frontier()
"""The frontier of a new session."""


@dataclass(frozen=True, slots=True)
class StoredFrontier:
    """A frontier as it is stored under a name."""

    name: str
    """The name that the client chose."""
    frontier: Frontier = NOTHING_EVICTED
    """The position that was stored last."""
    sent: bytes = b""
    """The hashes of the messages of the last rendering with it, eight bytes each."""
    version: int = 0
    """Grows with every change; 0 before the first one is stored."""
