"""`…/render`: stored records for any model, with an account of what was left out."""

from dataclasses import replace
from typing import Annotated, cast

from fastapi import Depends, Query, Response

from app.errors import ConflictError, NotFoundError
from app.http.api_router import RECORD_ERRORS, ApiRouter
from app.http.calls import CallDep
from app.http.dependencies import service
from app.http.page_parameters import LevelQuery, PageIdPath
from app.http.parameters import SessionIdPath
from app.http.record_responses import answer_record
from app.http.render_parameters import (
    CountTokensQuery,
    HandlesQuery,
    MaxImagePixelsQuery,
    MaxTextQuery,
    MaxTokensQuery,
    TargetQuery,
)
from app.http.rendered_responses import rendered_response
from app.models.call_ids import LONGEST_CALL_ID
from app.services.renders.answer_renders import AnswerRenders
from app.services.renders.queries import RenderQuery
from app.services.renders.renders import Renders
from app.services.renders.session_renders import SessionRenders
from app.services.renders.working_sets import WorkingSets
from app.wire.renders import (
    ADAPTIVE,
    CACHE_MARKERS,
    EVICT_BATCH,
    SINCE,
    RenderedRecord,
    RenderRequest,
    SessionRenderRequest,
    check_ranges,
)
from app.wire.working_sets import WorkingSet
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.base import ClientId, Count
from pagefault_dialects.model.render_options import (
    Audience,
    ImageDetail,
    McpRevision,
    MediaWish,
    MemoryPart,
    RenderOptions,
)

router = ApiRouter("/api", "renderings")

AnswerRendersDep = Annotated[AnswerRenders, Depends(service(AnswerRenders))]
RendersDep = Annotated[Renders, Depends(service(Renders))]
SessionRendersDep = Annotated[SessionRenders, Depends(service(SessionRenders))]
WorkingSetsDep = Annotated[WorkingSets, Depends(service(WorkingSets))]

ToolCallIdQuery = Annotated[
    str | None,
    Query(
        alias="toolCallId",
        min_length=1,
        max_length=LONGEST_CALL_ID,
        description="The call that the page answers; without one, an id made of the page's.",
    ),
]
UpToQuery = Annotated[
    Count | None,
    Query(
        alias="upTo",
        description="Render as if the entry with this `seq` were the last one: an earlier turn.",
    ),
]
SinceQuery = Annotated[Count, Query(description=SINCE)]
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


@router.reads("/tool-results/{tool_result_id}/render", RenderedRecord, *RECORD_ERRORS)
async def render_tool_result(
    call: CallDep, renders: AnswerRendersDep, tool_result_id: str, query: RenderQueryDep
) -> Response:
    """Render a tool result for a model, as the answer to its call.

    What the target cannot take is made smaller, or described in words; `loss` says what and why.
    The same call gives the same bytes.
    """
    body = await renders.tool_result(call.project_id, tool_result_id, query)
    return rendered_response(call.request, body)


@router.reads("/pages/{page_id}/render", RenderedRecord, *RECORD_ERRORS)
async def render_page(
    call: CallDep,
    renders: RendersDep,
    page_id: PageIdPath,
    level: LevelQuery,
    query: PageRenderQueryDep,
    tool_call_id: ToolCallIdQuery = None,
) -> Response:
    """Render a page at a level for a model, as the answer to the call that faults it in."""
    body = await renders.page(call.project_id, page_id, level, query, tool_call_id=tool_call_id)
    return rendered_response(call.request, body)


@router.reads("/sessions/{session_id}/render", RenderedRecord, *RECORD_ERRORS)
async def render_session(
    call: CallDep,
    renders: SessionRendersDep,
    session_id: SessionIdPath,
    query: SessionRenderQueryDep,
    since: SinceQuery = 0,
    up_to: UpToQuery = None,
) -> Response:
    """Render the history of a session as one list of messages, in the provider's order.

    Appending to the session changes no message that was rendered before, unless a limit makes an
    older medium step down, which `loss` then says.
    """
    body = await renders.session(call.project_id, session_id, query, since=since, up_to=up_to)
    return rendered_response(call.request, body)


@router.reads("/sessions/{session_id}/working-set", WorkingSet, *RECORD_ERRORS)
async def get_working_set(
    call: CallDep,
    working_sets: WorkingSetsDep,
    session_id: SessionIdPath,
    query: SessionRenderQueryDep,
) -> Response:
    """Read what of a session a model has in context with the same options of a rendering.

    At which level each entry and page is shown, what it costs, what was evicted, and how often a
    model has asked for it again. A frontier is read and not moved.
    """
    body = await working_sets.get(call.project_id, session_id, query)
    return answer_record(call.request, body)


@router.writes(
    "POST",
    "/sessions/{session_id}/render",
    RenderedRecord,
    NotFoundError,
    ConflictError,
    body=SessionRenderRequest,
)
async def render_session_on(
    call: CallDep, renders: SessionRendersDep, session_id: SessionIdPath
) -> Response:
    """Render the history of a session within limits, and remember how far it was evicted.

    With `frontier`, what is evicted stays so, and is evicted in batches: until the next one every
    rendering only appends to the last, so that a provider's cache keeps its worth.
    """
    request = await call.model(SessionRenderRequest)
    query = RenderQuery(request.target, request.options())
    body = await renders.session(
        call.project_id, session_id, query, since=request.since, moves=True
    )
    return rendered_response(call.request, body)


@router.writes("POST", "/render", RenderedRecord, NotFoundError, ConflictError, body=RenderRequest)
async def render_record(call: CallDep, renders: RendersDep) -> Response:
    """Render a stored record with options too long for an address.

    It writes nothing, but that smaller images are kept for the next one, and how far a frontier
    has moved that is given by its name.
    """
    request = await call.model(RenderRequest)
    query = RenderQuery(request.target, request.options())
    body = await renders.record(call.project_id, request.named(), query)
    return rendered_response(call.request, body)
