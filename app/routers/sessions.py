"""`/api/sessions`: what happened, in order."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from app.deps import CursorQuery, LimitQuery, ProjectDep, SessionsDep
from app.errors import (
    InvalidCursorError,
    InvalidPayloadError,
    NotFoundError,
)
from app.models.identity import CLIENT_ID_PATTERN
from app.rendering.envelopes import tool_message
from app.routers.answers import answer_page, read_responses
from app.schemas.records import MessagePage

router = APIRouter(prefix="/api/sessions", tags=["sessions"])

SessionIdPath = Annotated[str, Path(pattern=CLIENT_ID_PATTERN)]


@router.get(
    "/{session_id}/messages",
    response_model=MessagePage,
    responses=read_responses(InvalidCursorError, NotFoundError, InvalidPayloadError),
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
    return answer_page(request, map(tool_message, page), next_cursor)
