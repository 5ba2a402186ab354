"""`/api/tool-results`: store the output of tools as canonical records, list and read them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from app.errors import ConflictError, InvalidCursorError, NotFoundError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.openapi_operations import describe_json_body
from app.http.parameters import CursorQuery, IdempotencyKeyHeader, LimitQuery
from app.http.problem_types import BODY_ERRORS, describe_errors, describe_read_responses
from app.http.record_responses import (
    build_list_response,
    build_record_response,
    build_written_response,
)
from app.http.render_queries import ResultOptionsQuery
from app.http.rendered_responses import build_json_response
from app.services.renders.queries import RenderQuery
from app.services.renders.tool_result_renders import ToolResultRenders
from app.services.tool_results.tool_result_requests import ToolResultRequest
from app.services.tool_results.tool_results import ToolResults
from app.wire.renders import Target
from app.wire.tool_results import (
    RenderedToolResult,
    ToolResultPage,
    ToolResultRecord,
    encode_tool_result,
)
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.base import ClientId

router = APIRouter(prefix="/api/tool-results", tags=["tool results"], route_class=ApiRoute)

ToolResultsDep = Annotated[ToolResults, Depends(service(ToolResults))]
ToolResultRendersDep = Annotated[ToolResultRenders, Depends(service(ToolResultRenders))]

NewCallQuery = Annotated[
    bool,
    Query(
        alias="newCall",
        description="Like `newCall` in the body: the call is new, although an earlier call of the "
        "session has the same id and a result.",
    ),
]
RenderTargetQuery = Annotated[
    Target | None, Query(description="Also render the record for this target.")
]


@router.post(
    "",
    response_model=RenderedToolResult,
    status_code=201,
    openapi_extra=describe_json_body(ToolResultRequest),
    responses={
        200: {"model": RenderedToolResult, "description": "The same result was stored before."},
        **describe_errors(NotFoundError, ConflictError, *BODY_ERRORS),
    },
)
async def create_tool_result(
    api_request: ApiRequestDep,
    results: ToolResultsDep,
    renders: ToolResultRendersDep,
    query: Annotated[ResultOptionsQuery, Query()],
    render: RenderTargetQuery = None,
    new_call: NewCallQuery = False,
    idempotency_key: IdempotencyKeyHeader = None,
) -> Response:
    """Store the output of a tool, in any shape, and return its canonical record.

    Media are moved to the resources, long text gets a preview, and nothing is dropped. If the
    session has the same JSON value for this `toolCallId`, its record is returned with 200. If it
    has another JSON value, the response is a 409, unless the session has a later call with this id.
    Outside of sessions, an `Idempotency-Key` makes retries safe; if the record was deleted
    meanwhile, the response is a 404. With `render`, the response also has a rendering.
    """
    ingested = await results.ingest(
        api_request.project_id,
        api_request.stream_json(),
        idempotency_key=idempotency_key,
        new_call=new_call,
    )
    record = encode_tool_result(ingested.result)
    path = f"/api/tool-results/{ingested.result.tool_result_id}"
    if render is None:
        return build_written_response(
            api_request.request, record, path=path, is_new=ingested.is_new
        )
    body = await renders.append_rendering(
        api_request.project_id,
        ingested.result.tool_result_id,
        record,
        RenderQuery(render, query.options()),
    )
    status = 201 if ingested.is_new else 200
    return build_json_response(api_request.request, body, {"Location": path}, status=status)


@router.get(
    "",
    response_model=ToolResultPage,
    responses=describe_read_responses(InvalidCursorError, InvalidPayloadError),
)
async def list_tool_results(
    api_request: ApiRequestDep,
    results: ToolResultsDep,
    session_id: Annotated[ClientId | None, Query(alias="sessionId")] = None,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
) -> Response:
    """List tool results, newest first. With `sessionId`, list only those of this session."""
    stored_results, next_cursor = await results.list(
        api_request.project_id, session_id=session_id, cursor=cursor, limit=limit
    )
    return build_list_response(
        api_request.request, map(encode_tool_result, stored_results), next_cursor
    )


@router.get(
    "/{tool_result_id}",
    response_model=ToolResultRecord,
    responses=describe_read_responses(NotFoundError),
)
async def get_tool_result(
    api_request: ApiRequestDep, results: ToolResultsDep, tool_result_id: str
) -> Response:
    """Read a record exactly as it is stored. Its ETag is strong."""
    stored = await results.get(api_request.project_id, tool_result_id)
    return build_record_response(api_request.request, encode_tool_result(stored))
