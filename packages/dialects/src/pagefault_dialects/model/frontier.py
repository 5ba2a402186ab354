"""The frontier of a session: the positions up to which its history is evicted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from pagefault_dialects.model.base import JsonCount, WireModel

MAX_ORPHANS = 10_000
"""The maximum number of orphans of a frontier."""


class Frontier(WireModel):
    """The entries of a history that are rendered at a smaller level.

    Each number is the last `seq` that one kind of eviction has reached, and never decreases.
    `orphans` are answers without a recorded call, which were rendered behind a synthetic one; the
    call is kept so that the rendered prefix stays the same.

    Source: design document `context.md`, "A prefix that stays".
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
    orphans: Annotated[tuple[JsonCount, ...], Field(max_length=MAX_ORPHANS)] = ()
    """The `seq` of answers that keep their synthetic call."""

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
