"""`/api/sessions/{session_id}/turns`: append all entries of one step of an agent."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from app.errors import ConflictError, NotFoundError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.openapi_operations import describe_json_body
from app.http.parameters import IdempotencyKeyHeader, SessionIdPath
from app.http.problem_types import BODY_ERRORS, describe_errors
from app.http.rendered_responses import build_rendered_response
from app.services.agents.session_turns import SessionTurns
from app.wire.agents import TurnReceipt, TurnRequest

router = APIRouter(
    prefix="/api/sessions/{session_id}/turns", tags=["sessions"], route_class=ApiRoute
)

SessionTurnsDep = Annotated[SessionTurns, Depends(service(SessionTurns))]


@router.post(
    "",
    response_model=TurnReceipt,
    openapi_extra=describe_json_body(TurnRequest),
    responses=describe_errors(ConflictError, NotFoundError, *BODY_ERRORS),
)
async def append_turn(
    api_request: ApiRequestDep,
    turns: SessionTurnsDep,
    session_id: SessionIdPath,
    idempotency_key: IdempotencyKeyHeader = None,
) -> Response:
    """Append messages, tool results and calls of the memory's tools, and render the session.

    Calls of the memory's tools are run first. All entries are appended in one transaction; if
    anything fails, nothing is appended. With an `Idempotency-Key` the same turn again is only
    rendered again. With `expectedSeq` a turn is refused if other entries were appended meanwhile.
    """
    body = await turns.append(
        api_request.project_id,
        session_id,
        api_request.stream_json(),
        idempotency_key=idempotency_key,
    )
    return build_rendered_response(api_request.request, body)
