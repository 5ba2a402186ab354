"""What routes take of their path, query and headers: declared once, documented and read by that.

First how a route reads what it declares, then the parameters that several routes have: of lists, of
writes, of sessions, of resources, of pages and of renderings.
"""

from dataclasses import replace
from functools import cache
from typing import Annotated, Any, Self, cast, get_type_hints

from fastapi import Depends, Header, Path, Query, Request, params
from fastapi.exceptions import RequestValidationError
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from app.http.authenticate import BEARER
from app.services.pages.views import BlocksOptions, MediaForm
from app.services.renders.queries import RenderQuery
from app.wire.renders import (
    ADAPTIVE,
    CACHE_MARKERS,
    COUNT_TOKENS,
    EVICT_BATCH,
    MAX_IMAGE_PIXELS,
    MAX_TEXT,
    MAX_TOKENS,
    MaxImagePixels,
    MaxText,
    Target,
    check_ranges,
)
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.base import ClientId, Count
from pagefault_dialects.model.client_ids import CLIENT_ID_PATTERN
from pagefault_dialects.model.page import (
    LEVEL_NAMES,
    Level,
    LevelName,
    Modality,
    PageFilters,
    PageForm,
    PageType,
    parse_level,
)
from pagefault_dialects.model.rendering import (
    Audience,
    ImageDetail,
    McpRevision,
    MediaWish,
    MemoryPart,
    RenderOptions,
)


class Parameters:
    """The base of frozen dataclasses whose fields are parameters of FastAPI's, each annotated."""

    @classmethod
    def documented(cls) -> list[params.Depends]:
        """Return what says in the document that a route takes these, and a key."""
        return [BEARER, Depends(cls)]

    @classmethod
    def of(cls, request: Request) -> Self:
        """Read those of a request.

        Raises:
            RequestValidationError: Some are not valid; it is FastAPI's own, for the same reasons.
        """
        # The checker takes the hash of instances for that of their class.
        adapter, places, headers = _reading(cls)  # type: ignore[arg-type]
        values: dict[str, Any] = {}
        if request.scope["query_string"]:
            values.update(request.query_params)
        for name in headers:
            if name in request.headers:
                values[name] = request.headers[name]
        values.update(request.path_params)
        try:
            read: Self = adapter.validate_python(values)
        except ValidationError as exc:
            faults = exc.errors(include_url=False)
            raise RequestValidationError(
                [{**fault, "loc": (places[fault["loc"][0]], *fault["loc"])} for fault in faults]
            ) from exc
        return read


@cache
def _reading(
    kind: type[Parameters],
) -> tuple[TypeAdapter[Any], dict[int | str, str], list[str]]:
    """Return what reads them, the place of each by its name there, and the names of headers."""
    places: dict[int | str, str] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        declared = next(each for each in hint.__metadata__ if isinstance(each, params.Param))
        places[declared.alias or name] = declared.in_.value
    headers = [str(name) for name, place in places.items() if place == "header"]
    return TypeAdapter(kind), places, headers


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

MemoryTokensQuery = Annotated[
    Count | None,
    Query(
        alias="memoryTokens",
        description="The most tokens of the text; one page is told whatever it costs.",
    ),
]

IfMatchHeader = Annotated[
    str | None, Header(description="Write only over this version (its ETag), else 412.")
]
IfNoneMatchHeader = Annotated[
    str | None, Header(description="`*`: write only if there is no such page yet, else 412.")
]
IdempotencyKeyHeader = Annotated[
    str | None, Header(alias="idempotency-key", min_length=1, max_length=255)
]

SessionIdPath = Annotated[ClientId, Path()]
HistoryMediaQuery = Annotated[
    MediaForm,
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

UriPath = Annotated[
    str, Path(description="The `blob:` URI, percent-encoded, or its 32 hex digits alone.")
]
FilenameQuery = Annotated[str | None, Query(max_length=1_024)]
AliasQuery = Annotated[
    str | None,
    Query(description="What another system calls the file; see `PUT /api/aliases/{alias}`."),
]

# Numbers are taken as well. Not every generator can write a union into an address.
_LEVELS = f"{LEVEL_NAMES}; by name, in any case, or by number."
_LevelText = Annotated[
    str,
    Field(max_length=16),
    BeforeValidator(lambda given: given, json_schema_input_type=LevelName),
]

PageIdPath = Annotated[ClientId, Path(description="The client's id of the page.")]
# Its pattern is checked by the service, which has a tool message for the model that sent it.
FaultedIdPath = Annotated[
    str,
    Path(
        description="The client's id of the page.",
        json_schema_extra={"pattern": CLIENT_ID_PATTERN},
    ),
]
FormQuery = Annotated[
    PageForm | None, Query(description="`json`: `content` is one JSON string with the page in it.")
]
MediaQuery = Annotated[
    MediaForm,
    Query(description="Stored media as base64 (`inline`) or as their `@blob:` reference."),
]


async def get_level_query(
    level: Annotated[_LevelText | None, Query(description=_LEVELS)] = None,
) -> Level | None:
    """Read the level of `?level=`, if there is one."""
    return None if level is None else _level(level, "/query/level")


async def get_level_path(
    level: Annotated[_LevelText, Path(description=_LEVELS)],
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
    session_id: ClientId | None = None,
    modality: Modality | None = None,
    page_type: PageType | None = None,
    pinned: bool | None = None,
) -> PageFilters:
    """Read what a list of pages is narrowed to."""
    return PageFilters(session_id, modality, page_type, pinned, level)


async def get_search_filters(
    session_id: ClientId | None = None,
    modality: Modality | None = None,
) -> PageFilters:
    """Read what a search of pages is narrowed to."""
    return PageFilters(session_id, modality)


async def get_blocks_options(
    media: MediaQuery = "inline",
    detail: Annotated[ImageDetail, Query(description="Of the image, for the model.")] = "low",
    max_chars: Annotated[
        int | None, Query(ge=1, description="How much of the level's text; media are never cut.")
    ] = None,
    offset: Annotated[Count, Query(description="Where in the text to begin.")] = 0,
) -> BlocksOptions:
    """Read how blocks are wanted."""
    return BlocksOptions(media, detail, max_chars, offset)


PageFiltersDep = Annotated[PageFilters, Depends(get_page_filters)]
SearchFiltersDep = Annotated[PageFilters, Depends(get_search_filters)]
BlocksOptionsDep = Annotated[BlocksOptions, Depends(get_blocks_options)]

TargetQuery = Annotated[Target, Query(description="Whose dialect to write.")]
HandlesQuery = Annotated[
    bool,
    Query(
        description="`1`: a line behind each stored medium names it, such as "
        "`[image @blob:… shot.png]`. A model can repeat the `@blob:` in its next call."
    ),
]


MaxTokensQuery = Annotated[Count | None, Query(alias="maxTokens", description=MAX_TOKENS)]
MaxTextQuery = Annotated[MaxText | None, Query(alias="maxText", description=MAX_TEXT)]
MaxImagePixelsQuery = Annotated[
    MaxImagePixels | None, Query(alias="maxImagePixels", description=MAX_IMAGE_PIXELS)
]
CountTokensQuery = Annotated[
    bool, Query(alias="countTokens", description=f"{COUNT_TOKENS} `0`: no.")
]
_DetailQuery = Annotated[
    ImageDetail | None, Query(description="How closely a model is to look at images.")
]
_AcceptQuery = Annotated[
    str | None,
    Query(
        max_length=4_096,
        description="MIME types and ranges that the model can take, with commas; what is not among "
        "them degrades.",
        examples=["image/png,image/*"],
    ),
]


async def get_render_options(  # noqa: PLR0913, PLR0917 - one for each parameter of the address
    accept: _AcceptQuery = None,
    media: Annotated[
        MediaWish,
        Query(
            description="`inline`: the bytes. `signed-url`: URLs, where the target loads any. "
            "`reference`: `@blob:` references, to look at and not to send."
        ),
    ] = "inline",
    detail: _DetailQuery = None,
    max_bytes: Annotated[
        Count | None,
        Query(
            alias="maxBytes",
            description="The most bytes of media in the messages, as base64; the oldest step down.",
        ),
    ] = None,
    max_images: Annotated[
        Count | None,
        Query(alias="maxImages", description="The most images; the newest stay."),
    ] = None,
    audience: Annotated[
        Audience,
        Query(
            description="For whom; what MCP annotations keep for others is left out. `everyone` "
            "leaves nothing out."
        ),
    ] = "assistant",
    protocol_version: Annotated[
        McpRevision,
        Query(
            alias="protocolVersion",
            description="Of `mcp`: the revision of the protocol. Before 2026-07-28 "
            "`structuredContent` is an object or absent, before 2025-06-18 absent.",
        ),
    ] = "2026-07-28",
    handles: HandlesQuery = False,
    max_tokens: MaxTokensQuery = None,
    max_text: MaxTextQuery = None,
    max_image_pixels: MaxImagePixelsQuery = None,
    count_tokens: CountTokensQuery = True,
) -> RenderOptions:
    """Read how a record is to be rendered."""
    try:
        ranges = None if accept is None else check_ranges(tuple(accept.split(",")))
    except ValueError as exc:
        raise InvalidPayloadError(
            "The query is not what the route takes.", faults=[Fault("/query/accept", str(exc))]
        ) from exc
    return RenderOptions(
        *(ranges, media, detail, max_bytes, max_images, audience, protocol_version, handles),
        max_tokens=max_tokens,
        max_text=max_text,
        max_image_pixels=max_image_pixels,
        count_tokens=count_tokens,
    )


RenderOptionsDep = Annotated[RenderOptions, Depends(get_render_options)]


async def get_render_query(target: TargetQuery, options: RenderOptionsDep) -> RenderQuery:
    """Read for which target a record is to be rendered, and how."""
    return RenderQuery(target, options)


async def get_session_render_query(
    query: Annotated[RenderQuery, Depends(get_render_query)],
    memory: Annotated[
        str | None,
        Query(
            pattern="^(instructions|manifest)(,(instructions|manifest))*$",
            description="A message of the system before all others: `instructions`, the rules of "
            "the memory's tools; `manifest`, the session's pages; or both, with a comma.",
        ),
    ] = None,
    memory_tokens: Annotated[
        Count, Query(alias="memoryTokens", description="The most tokens of the list of pages.")
    ] = 1_000,
    frontier: Annotated[
        ClientId | None,
        Query(
            description="How far the history was evicted under this name, which is read here and "
            "not moved: POST to this address, or a turn, moves it.",
        ),
    ] = None,
    evict_batch: Annotated[Count | None, Query(alias="evictBatch", description=EVICT_BATCH)] = None,
    cache_markers: Annotated[
        bool, Query(alias="cacheMarkers", description=f"`1`: {CACHE_MARKERS}")
    ] = False,
    adaptive: Annotated[bool, Query(description=f"{ADAPTIVE} `0`: no.")] = True,
) -> RenderQuery:
    """Read the same for a session, which has a memory of pages."""
    parts = cast("tuple[MemoryPart, ...]", tuple(memory.split(",") if memory else ()))
    options = replace(
        query.options,
        memory=parts,
        memory_tokens=memory_tokens,
        frontier=frontier,
        evict_batch=evict_batch,
        cache_markers=cache_markers,
        adaptive=adaptive,
    )
    return replace(query, options=options)


async def get_page_render_query(
    options: RenderOptionsDep, target: TargetQuery = "openai-compat"
) -> RenderQuery:
    """Read the same for a page, for which specification 000 has a shape of its own."""
    return RenderQuery(target, options)


RenderQueryDep = Annotated[RenderQuery, Depends(get_render_query)]
SessionRenderQueryDep = Annotated[RenderQuery, Depends(get_session_render_query)]
PageRenderQueryDep = Annotated[RenderQuery, Depends(get_page_render_query)]
