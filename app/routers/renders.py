"""`…/render`: render stored records as messages for any model, with a list of losses."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from app.errors import ConflictError, NotFoundError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.openapi_operations import describe_json_body
from app.http.parameters import LevelQuery, PageIdPath, SessionIdPath
from app.http.problem_types import (
    BODY_ERRORS,
    RECORD_ERRORS,
    describe_errors,
    describe_read_responses,
)
from app.http.record_responses import build_long_response
from app.http.render_queries import PageQuery, RecordQuery, SessionQuery, SinceQuery
from app.http.rendered_responses import build_rendered_response
from app.models.call_ids import LONGEST_CALL_ID
from app.services.renders.queries import RenderQuery
from app.services.renders.renders import Renders
from app.services.renders.session_renders import SessionRenders
from app.services.renders.tool_result_renders import ToolResultRenders
from app.services.renders.working_sets import WorkingSets
from app.wire.outlines import WorkingSet
from app.wire.render_requests import RenderRequest, SessionRenderRequest
from app.wire.renders import RenderedRecord
from pagefault_dialects.model.base import Count

router = APIRouter(prefix="/api", tags=["renderings"], route_class=ApiRoute)

ToolResultRendersDep = Annotated[ToolResultRenders, Depends(service(ToolResultRenders))]
RendersDep = Annotated[Renders, Depends(service(Renders))]
SessionRendersDep = Annotated[SessionRenders, Depends(service(SessionRenders))]
WorkingSetsDep = Annotated[WorkingSets, Depends(service(WorkingSets))]

ToolCallIdQuery = Annotated[
    str | None,
    Query(
        alias="toolCallId",
        min_length=1,
        max_length=LONGEST_CALL_ID,
        description="The id of the call that loads the page; by default made from the page's id.",
    ),
]
UpToQuery = Annotated[
    Count | None,
    Query(
        alias="upTo",
        description="Render as if the entry with this `seq` were the last one of the session.",
    ),
]


@router.get(
    "/tool-results/{tool_result_id}/render",
    response_model=RenderedRecord,
    responses=describe_read_responses(*RECORD_ERRORS),
)
async def render_tool_result(
    api_request: ApiRequestDep,
    renders: ToolResultRendersDep,
    tool_result_id: str,
    query: Annotated[RecordQuery, Query()],
) -> Response:
    """Render a tool result for a model, as the message with the result of its call.

    Content that the target does not support is reduced, or described in words; `loss` lists such
    content with the reasons. The same request returns the same bytes.
    """
    body = await renders.render_tool_result(
        api_request.project_id, tool_result_id, query.render_query()
    )
    return build_rendered_response(api_request.request, body)


@router.get(
    "/pages/{page_id}/render",
    response_model=RenderedRecord,
    responses=describe_read_responses(*RECORD_ERRORS),
)
async def render_page(
    api_request: ApiRequestDep,
    renders: RendersDep,
    page_id: PageIdPath,
    level: LevelQuery,
    query: Annotated[PageQuery, Query()],
    tool_call_id: ToolCallIdQuery = None,
    observe: Annotated[
        bool, Query(description="Do not count this request as an access to the page by a model.")
    ] = False,
) -> Response:
    """Render a page at a level for a model, as the result of the call that loads the page."""
    body = await renders.render_page(
        api_request.project_id,
        page_id,
        level,
        query.render_query(),
        tool_call_id=tool_call_id,
        counts_access=not observe,
    )
    return build_rendered_response(api_request.request, body)


@router.get(
    "/sessions/{session_id}/render",
    response_model=RenderedRecord,
    responses=describe_read_responses(*RECORD_ERRORS),
)
async def render_session(
    api_request: ApiRequestDep,
    renders: SessionRendersDep,
    session_id: SessionIdPath,
    query: Annotated[SessionQuery, Query()],
    since: SinceQuery = 0,
    up_to: UpToQuery = None,
) -> Response:
    """Render the history of a session as one list of messages, in the provider's order.

    Later entries change no message that was rendered before, except where a limit reduces an older
    medium, which `loss` lists.
    """
    body = await renders.render_session(
        api_request.project_id, session_id, query.render_query(), since=since, up_to=up_to
    )
    return build_rendered_response(api_request.request, body)


@router.get(
    "/sessions/{session_id}/working-set",
    response_model=WorkingSet,
    responses=describe_read_responses(*RECORD_ERRORS),
)
async def get_working_set(
    api_request: ApiRequestDep,
    working_sets: WorkingSetsDep,
    session_id: SessionIdPath,
    query: Annotated[SessionQuery, Query()],
) -> Response:
    """Read which entries and pages a model has in context after a rendering with these options.

    Each entry or page has its level, its tokens, and the number of recalls by the model. A frontier
    is read and not moved.
    """
    body = await working_sets.get(api_request.project_id, session_id, query.render_query())
    return build_long_response(api_request.request, body)


@router.post(
    "/sessions/{session_id}/render",
    response_model=RenderedRecord,
    openapi_extra=describe_json_body(SessionRenderRequest),
    responses=describe_errors(NotFoundError, ConflictError, *BODY_ERRORS),
)
async def render_session_on(
    api_request: ApiRequestDep, renders: SessionRendersDep, session_id: SessionIdPath
) -> Response:
    """Render the history of a session within limits, and store the progress of its eviction.

    With `frontier`, evicted entries stay evicted, and eviction happens in batches. Until the next
    batch every rendering only appends to the previous one, so provider caches stay valid.
    """
    request = await api_request.read_model(SessionRenderRequest)
    query = RenderQuery(request.target, request.options())
    body = await renders.render_session(
        api_request.project_id, session_id, query, since=request.since, stores_frontier=True
    )
    return build_rendered_response(api_request.request, body)


@router.post(
    "/render",
    response_model=RenderedRecord,
    openapi_extra=describe_json_body(RenderRequest),
    responses=describe_errors(NotFoundError, ConflictError, *BODY_ERRORS),
)
async def render_record(api_request: ApiRequestDep, renders: RendersDep) -> Response:
    """Render a stored record with options that are too long for a query.

    The request stores only reduced images for the next rendering and, if the options name a
    frontier, its position.
    """
    request = await api_request.read_model(RenderRequest)
    query = RenderQuery(request.target, request.options())
    body = await renders.render_record(api_request.project_id, request.named_record(), query)
    return build_rendered_response(api_request.request, body)
