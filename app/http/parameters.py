"""Types of parameters that several routers use: limits, cursors, conditions, ids and levels."""

from typing import Annotated

from fastapi import Depends, Header, Path, Query
from pydantic import BeforeValidator, Field

from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.base import ClientId
from pagefault_dialects.model.page import LEVEL_NAMES, Level, LevelName, parse_level

LimitQuery = Annotated[int, Query(ge=1, le=200, description="The maximal number of items.")]
SearchTextQuery = Annotated[
    str,
    Query(
        min_length=1,
        max_length=1_000,
        description='The text to search for: words, `"a phrase"`, `begin*`, an id or a name.',
    ),
]
CursorQuery = Annotated[str | None, Query(description="`nextCursor` of the previous response.")]

# Routes declare the headers of conditions for the OpenAPI document and do not use the arguments:
# `ApiRequest.make_write_check` reads these headers.
IfMatchHeader = Annotated[
    str | None, Header(description="Write only if the stored version has this ETag, else 412.")
]
IfNoneMatchHeader = Annotated[
    str | None, Header(description="`*`: write only if there is no such record yet, else 412.")
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
"""The largest integer of the databases."""
AfterSeqQuery = Annotated[
    int | None,
    Query(
        ge=0, le=LARGEST_SEQ, description="Begin after the entry with this `seq`, without a cursor."
    ),
]


# The document has only the names, because not every client generator supports unions in parameters.
_LEVEL_DESCRIPTION = f"{LEVEL_NAMES}; by name, in any case, or by number."
_LevelText = Annotated[
    str,
    Field(max_length=16),
    BeforeValidator(lambda text: text, json_schema_input_type=LevelName),
]

PageIdPath = Annotated[ClientId, Path(description="The client's id of the page.")]


async def get_level_query(
    level: Annotated[_LevelText | None, Query(description=_LEVEL_DESCRIPTION)] = None,
) -> Level | None:
    """Return the level in the query, if there is one."""
    return None if level is None else _parse_level(level, "/query/level")


async def get_level_path(
    level: Annotated[_LevelText, Path(description=_LEVEL_DESCRIPTION)],
) -> Level:
    """Return the level in the path."""
    return _parse_level(level, "/path/level")


def _parse_level(text: str, pointer: str) -> Level:
    level = parse_level(text)
    if level is None:
        raise InvalidPayloadError(
            "There is no such level.", faults=[Fault(pointer, f"must be one of {LEVEL_NAMES}")]
        )
    return level


LevelQuery = Annotated[Level | None, Depends(get_level_query)]
LevelPath = Annotated[Level, Depends(get_level_path)]
