"""Parameters of renderings in the query: those of any record, and those of a session."""

from dataclasses import replace
from typing import Annotated, cast

from fastapi import Depends, Query

from app.services.renders.queries import RenderQuery
from app.wire.renders import (
    ADAPTIVE,
    AT,
    CACHE_MARKERS,
    COUNT_TOKENS,
    EVICT_BATCH,
    MAX_IMAGE_PIXELS,
    MAX_TEXT,
    MAX_TOKENS,
    MODEL,
    SINCE,
    MaxImagePixels,
    MaxText,
    ModelName,
    Target,
    check_ranges,
)
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.base import ClientId, Count
from pagefault_dialects.model.render_options import (
    Audience,
    ImageDetail,
    McpRevision,
    MediaDelivery,
    MemoryPart,
    RenderOptions,
)

TargetQuery = Annotated[Target, Query(description="The dialect of the messages.")]
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


SinceQuery = Annotated[Count, Query(description=SINCE)]
_DetailQuery = Annotated[
    ImageDetail | None, Query(description="The detail with which a model reads images.")
]
_AcceptQuery = Annotated[
    str | None,
    Query(
        max_length=4_096,
        description="MIME types and ranges that the model accepts, with commas; other media are "
        "reduced.",
        examples=["image/png,image/*"],
    ),
]


async def get_render_options(  # noqa: PLR0913, PLR0917 - one for each parameter of the address
    accept: _AcceptQuery = None,
    media: Annotated[
        MediaDelivery,
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
    """Return the options for rendering a record."""
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
    """Return the target and options for rendering a record."""
    return RenderQuery(target, options)


async def get_session_render_options(  # noqa: PLR0913, PLR0917 - see get_render_options
    options: RenderOptionsDep,
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
    model: Annotated[ModelName | None, Query(description=MODEL)] = None,
) -> RenderOptions:
    """Return the options for rendering a session, which has a memory of pages."""
    parts = cast("tuple[MemoryPart, ...]", tuple(memory.split(",") if memory else ()))
    return replace(
        options,
        memory=parts,
        memory_tokens=memory_tokens,
        frontier=frontier,
        evict_batch=evict_batch,
        cache_markers=cache_markers,
        adaptive=adaptive,
        model=model,
    )


SessionRenderOptionsDep = Annotated[RenderOptions, Depends(get_session_render_options)]


async def get_session_render_query(
    target: TargetQuery,
    options: SessionRenderOptionsDep,
    at: Annotated[Count | None, Query(description=AT)] = None,
) -> RenderQuery:
    """Return the target and options for rendering a session."""
    return RenderQuery(target, options, at)


RenderQueryDep = Annotated[RenderQuery, Depends(get_render_query)]
SessionRenderQueryDep = Annotated[RenderQuery, Depends(get_session_render_query)]
