"""What the addresses of page routes may ask: levels, filters, forms of blocks."""

from typing import Annotated, Literal

from fastapi import Depends, Path, Query

from app.errors import Fault, InvalidPayloadError
from app.models.identity import CLIENT_ID_PATTERN
from app.models.page import LEVEL_NAMES, Level, Modality, PageFilters, PageType, parse_level
from app.services.pages.reading import BlocksOptions, ImageDetail, MediaForm

_LEVELS = f"{LEVEL_NAMES}; by number or by name."

PageIdPath = Annotated[
    str, Path(pattern=CLIENT_ID_PATTERN, description="The client's id of the page.")
]
# Its pattern is checked by the service, which has a tool message for the model that sent it.
FaultedIdPath = Annotated[
    str,
    Path(
        description="The client's id of the page.",
        json_schema_extra={"pattern": CLIENT_ID_PATTERN},
    ),
]
FormQuery = Annotated[
    Literal["blocks", "json"] | None,
    Query(description="`json`: `content` is one JSON string with the page in it."),
]
MediaQuery = Annotated[
    MediaForm,
    Query(description="Stored media as base64 (`inline`) or as their `@blob:` reference."),
]


async def get_level_query(
    level: Annotated[str | None, Query(max_length=16, description=_LEVELS)] = None,
) -> Level | None:
    """Read the level of `?level=`, if there is one."""
    return None if level is None else _level(level, "/query/level")


async def get_level_path(
    level: Annotated[str, Path(max_length=16, description=_LEVELS)],
) -> Level:
    """Read the level that is part of the path."""
    return _level(level, "/path/level")


def _level(text: str, pointer: str) -> Level:
    level = parse_level(text)
    if level is None:
        raise InvalidPayloadError(
            "There is no such level.", faults=[Fault(pointer, f"must be one of {LEVEL_NAMES}")]
        )
    return level


LevelQuery = Annotated[Level | None, Depends(get_level_query)]
LevelPath = Annotated[Level, Depends(get_level_path)]


async def get_page_filters(
    level: LevelQuery,
    session_id: Annotated[str | None, Query(pattern=CLIENT_ID_PATTERN)] = None,
    modality: Modality | None = None,
    page_type: PageType | None = None,
    pinned: bool | None = None,
) -> PageFilters:
    """Read what a list of pages is narrowed to."""
    return PageFilters(session_id, modality, page_type, pinned, level)


async def get_search_filters(
    session_id: Annotated[str | None, Query(pattern=CLIENT_ID_PATTERN)] = None,
    modality: Modality | None = None,
) -> PageFilters:
    """Read what a search of pages is narrowed to."""
    return PageFilters(session_id, modality)


async def get_blocks_options(
    media: MediaQuery = "inline",
    detail: Annotated[ImageDetail, Query(description="Of the image, for the model.")] = "low",
    max_chars: Annotated[
        int | None,
        Query(ge=1, description="How much of the level's text; media are never cut."),
    ] = None,
    offset: Annotated[int, Query(ge=0, le=2**53, description="Where in the text to begin.")] = 0,
) -> BlocksOptions:
    """Read how blocks are wanted."""
    return BlocksOptions(media, detail, max_chars, offset)


PageFiltersDep = Annotated[PageFilters, Depends(get_page_filters)]
SearchFiltersDep = Annotated[PageFilters, Depends(get_search_filters)]
BlocksOptionsDep = Annotated[BlocksOptions, Depends(get_blocks_options)]
