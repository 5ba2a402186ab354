"""Parameters that the routes of several routers have."""

from typing import Annotated

from fastapi import Header, Path, Query

from pagefault_dialects.model.base import ClientId

LimitQuery = Annotated[int, Query(ge=1, le=200, description="How many items a page holds.")]
SearchTextQuery = Annotated[
    str,
    Query(
        min_length=1,
        max_length=1_000,
        description='What to look for, as one asks: words, `"a phrase"`, `begin*`, an id, a name.',
    ),
]
CursorQuery = Annotated[str | None, Query(description="`nextCursor` of the page before.")]

IfMatchHeader = Annotated[
    str | None, Header(description="Write only over this version (its ETag), else 412.")
]
IfNoneMatchHeader = Annotated[
    str | None, Header(description="`*`: write only if there is no such page yet, else 412.")
]
IdempotencyKeyHeader = Annotated[
    str | None, Header(alias="idempotency-key", min_length=1, max_length=255)
]

UriPath = Annotated[
    str, Path(description="The `blob:` URI, percent-encoded, or its 32 hex digits alone.")
]
FilenameQuery = Annotated[str | None, Query(max_length=1_024)]

SessionIdPath = Annotated[ClientId, Path()]
LARGEST_SEQ = 2**63 - 1
AfterSeqQuery = Annotated[
    int | None,
    Query(
        ge=0, le=LARGEST_SEQ, description="Begin behind the entry with this `seq`; no cursor then."
    ),
]
