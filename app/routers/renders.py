"""`…/render`: stored records for any model, with an account of what was left out."""

from typing import Annotated

from fastapi import Depends, Query, Response

from app.errors import ConflictError, NotFoundError
from app.http.api_router import RECORD_ERRORS, ApiRouter
from app.http.calls import CallDep
from app.http.dependencies import service
from app.http.parameters import (
    LevelQuery,
    PageIdPath,
    PageRenderQueryDep,
    RenderQueryDep,
    SessionIdPath,
    SessionRenderQueryDep,
)
from app.http.record_responses import answer_record, rendered_response
from app.services.renders.queries import RenderQuery
from app.services.renders.renders import Renders
from app.services.renders.working_sets import WorkingSets
from app.wire.renders import SINCE, RenderedRecord, RenderRequest, SessionRenderRequest
from app.wire.working_sets import WorkingSet
from pagefault_dialects.model.base import Count

router = ApiRouter("/api", "renderings")

RendersDep = Annotated[Renders, Depends(service(Renders))]
WorkingSetsDep = Annotated[WorkingSets, Depends(service(WorkingSets))]

ToolCallIdQuery = Annotated[
    str | None,
    Query(
        alias="toolCallId",
        min_length=1,
        max_length=512,
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


@router.reads("/tool-results/{tool_result_id}/render", RenderedRecord, *RECORD_ERRORS)
async def render_tool_result(
    call: CallDep, renders: RendersDep, tool_result_id: str, query: RenderQueryDep
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
    renders: RendersDep,
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
    call: CallDep, renders: RendersDep, session_id: SessionIdPath
) -> Response:
    """Render the history of a session within limits, and remember how far it was evicted.

    With `frontier`, what is evicted stays so, and is evicted in batches: until the next one every
    rendering only appends to the last, so that a provider's cache keeps its worth.
    """
    asked = await call.model(SessionRenderRequest)
    query = RenderQuery(asked.target, asked.options())
    body = await renders.session(call.project_id, session_id, query, since=asked.since, moves=True)
    return rendered_response(call.request, body)


@router.writes("POST", "/render", RenderedRecord, NotFoundError, ConflictError, body=RenderRequest)
async def render_record(call: CallDep, renders: RendersDep) -> Response:
    """Render a stored record with options too long for an address.

    It writes nothing, but that smaller images are kept for the next one, and how far a frontier
    has moved that is given by its name.
    """
    asked = await call.model(RenderRequest)
    query = RenderQuery(asked.target, asked.options())
    body = await renders.record(call.project_id, asked.named(), query)
    return rendered_response(call.request, body)
