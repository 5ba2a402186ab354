"""What the routes below a session have in common: its id, how its media are wanted."""

from typing import Annotated, Literal

from fastapi import Header, Path, Query

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
AfterSeqQuery = Annotated[
    int | None,
    Query(
        ge=0, le=LARGEST_SEQ, description="Begin behind the entry with this `seq`; no cursor then."
    ),
]
IdempotencyKeyHeader = Annotated[str | None, Header(min_length=1, max_length=255)]
