"""`/api/tool-results`: raw results in, canonical records out."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Query, Request, Response

from app.errors import ConflictError, NotFoundError
from app.http.api_router import ApiRouter
from app.http.calls import CallDep, call_of
from app.http.dependencies import service, services_of
from app.http.parameters import CursorQuery, IdempotencyKeyHeader, LimitQuery, Parameters
from app.http.record_responses import answer_page, answer_record, answer_written
from app.http.render_parameters import (
    CountTokensQuery,
    HandlesQuery,
    MaxImagePixelsQuery,
    MaxTextQuery,
)
from app.http.rendered_responses import json_response
from app.services.renders.answer_renders import AnswerRenders
from app.services.renders.queries import RenderQuery
from app.services.tool_results.tool_result_requests import ToolResultRequest
from app.services.tool_results.tool_results import ToolResults
from app.wire.rendered_results import RenderedToolResult
from app.wire.renders import Target
from app.wire.tool_results import (
    ToolResultPage,
    ToolResultRecord,
    tool_result_record,
)
from pagefault_dialects.model.base import ClientId
from pagefault_dialects.model.render_options import RenderOptions

router = ApiRouter("/api/tool-results", "tool results")

ToolResultsDep = Annotated[ToolResults, Depends(service(ToolResults))]


@dataclass(frozen=True, slots=True)
class _CreateParameters(Parameters):
    idempotency_key: IdempotencyKeyHeader = None
    render: Annotated[
        Target | None,
        Query(description="The target to render the record for, in the same answer."),
    ] = None
    new_call: Annotated[
        bool,
        Query(
            alias="newCall",
            description="As `newCall` of the body: the call is another one than that of the same "
            "id which has its result.",
        ),
    ] = False
    handles: HandlesQuery = False
    max_text: MaxTextQuery = None
    max_image_pixels: MaxImagePixelsQuery = None
    count_tokens: CountTokensQuery = True

    def options(self) -> RenderOptions:
        """Return how the record is to be rendered."""
        return RenderOptions(
            handles=self.handles,
            max_text=self.max_text,
            max_image_pixels=self.max_image_pixels,
            count_tokens=self.count_tokens,
        )


@dataclass(frozen=True, slots=True)
class _ResultParameters(Parameters):
    tool_result_id: Annotated[str, Path()]


@router.writes(
    "POST",
    "",
    RenderedToolResult,
    NotFoundError,
    ConflictError,
    body=ToolResultRequest,
    dependencies=_CreateParameters.as_dependencies(),
    responses={200: "The same call, answered before."},
)
async def create_tool_result(request: Request) -> Response:
    """Take in what a tool returned, whatever its shape, and answer with the canonical record.

    Media leave the result for the resource store, long text is previewed, and nothing is dropped.
    The same session, `toolCallId` and JSON give the same record again with 200, however the body
    is written; other JSON is a 409, unless the session has a call of this id behind that result.
    Outside a session an `Idempotency-Key` makes a retry safe; that of a record which was deleted
    since is a 404. With `render` the answer has its rendering, too.
    """
    call = await call_of(request)
    parameters = _CreateParameters.read(request)
    ingested = await services_of(request)[ToolResults].ingest(
        call.project_id,
        call.json_body(),
        idempotency_key=parameters.idempotency_key,
        new_call=parameters.new_call,
    )
    record = tool_result_record(ingested.result)
    path = f"/api/tool-results/{ingested.result.tool_result_id}"
    if parameters.render is None:
        return answer_written(request, record, path=path, is_new=ingested.is_new)
    query = RenderQuery(parameters.render, parameters.options())
    body = await services_of(request)[AnswerRenders].with_record(
        call.project_id, ingested.result.tool_result_id, record, query
    )
    status = 201 if ingested.is_new else 200
    return json_response(request, body, {"Location": path}, status=status)


@router.lists("", ToolResultPage)
async def list_tool_results(
    call: CallDep,
    results: ToolResultsDep,
    session_id: Annotated[ClientId | None, Query(alias="sessionId")] = None,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
) -> Response:
    """List tool results, newest first; of one session, if one is named."""
    page, next_cursor = await results.list(
        call.project_id, session_id=session_id, cursor=cursor, limit=limit
    )
    return answer_page(call.request, map(tool_result_record, page), next_cursor)


@router.reads("/{tool_result_id}", ToolResultRecord, NotFoundError, parameters=_ResultParameters)
async def get_tool_result(request: Request) -> Response:
    """Read a record: the stored bytes, with a strong ETag."""
    call = await call_of(request)
    parameters = _ResultParameters.read(request)
    stored = await services_of(request)[ToolResults].get(call.project_id, parameters.tool_result_id)
    return answer_record(request, tool_result_record(stored))
