"""What the routes below a session have in common: its id, how its media are wanted."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Header, Path, Query

from app.deps import CursorQuery
from app.models.identity import CLIENT_ID_PATTERN

SessionIdPath = Annotated[str, Path(pattern=CLIENT_ID_PATTERN)]
HistoryMediaQuery = Annotated[
    Literal["reference", "inline"],
    Query(
        description="`inline` puts the media of messages back in their places, byte for byte; "
        "tool results keep their references."
    ),
]
SessionSearchQuery = Annotated[
    str | None,
    Query(min_length=1, max_length=128, description="Only sessions whose id has this in it."),
]
LARGEST_SEQ = 2**63 - 1
_AfterQuery = Annotated[
    int | None,
    Query(
        ge=0, le=LARGEST_SEQ, description="Begin behind the entry with this `seq`; no cursor then."
    ),
]


@dataclass(frozen=True, slots=True)
class HistoryPlace:
    """Where a page of a history begins: behind a cursor, or behind a number."""

    cursor: str | None
    after_seq: int | None


async def get_history_place(cursor: CursorQuery = None, after: _AfterQuery = None) -> HistoryPlace:
    """Where the page begins; the service refuses both at once."""
    return HistoryPlace(cursor, after)


HistoryPlaceDep = Annotated[HistoryPlace, Depends(get_history_place)]
IdempotencyKeyHeader = Annotated[str | None, Header(min_length=1, max_length=255)]
