"""`/api/sessions`: what happened, in order."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from app.deps import CursorQuery, LimitQuery, ProjectDep, SessionsDep
from app.errors import (
    InvalidCursorError,
    InvalidPayloadError,
    NotFoundError,
    PreconditionFailedError,
)
from app.models.identity import CLIENT_ID_PATTERN
from app.rendering.envelopes import list_page, tool_message
from app.routers.content_response import record_response
from app.routers.problems import problem_responses
from app.routers.record_headers import next_link
from app.schemas.records import MessagePage

router = APIRouter(prefix="/api/sessions", tags=["sessions"])

SessionIdPath = Annotated[str, Path(pattern=CLIENT_ID_PATTERN)]


@router.get(
    "/{session_id}/messages",
    response_model=MessagePage,
    responses={
        304: {"description": "The caller's copy is the stored one."},
        **problem_responses(
            InvalidCursorError, NotFoundError, PreconditionFailedError, InvalidPayloadError
        ),
    },
)
async def list_messages(
    request: Request,
    session_id: SessionIdPath,
    project_id: ProjectDep,
    sessions: SessionsDep,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
) -> Response:
    """Replay a session: its messages in the order of `seq`, each as it was stored."""
    page, next_cursor = await sessions.messages(project_id, session_id, cursor=cursor, limit=limit)
    body = list_page(map(tool_message, page), next_cursor)
    return record_response(
        request.headers,
        request.method,
        body,
        headers=next_link(request.url.path, request.query_params, next_cursor),
    )
