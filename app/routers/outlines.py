"""`/api/sessions/{session_id}/outline`: what each entry of a history is, without what it says."""

from typing import Annotated

from fastapi import Query, Response

from app.errors import NotFoundError
from app.http.api_router import ApiRouter
from app.http.calls import CallDep
from app.http.parameters import AfterSeqQuery, CursorQuery, SessionIdPath
from app.http.record_responses import answer_listed
from app.wire.outlines import OutlinePage

router = ApiRouter("/api/sessions", "sessions")


@router.lists("/{session_id}/outline", OutlinePage, NotFoundError)
async def get_outline(
    call: CallDep,
    session_id: SessionIdPath,
    limit: Annotated[
        int, Query(ge=1, le=2_000, description="How many entries a page holds at most.")
    ] = 500,
    cursor: CursorQuery = None,
    after: AfterSeqQuery = None,
) -> Response:
    """Outline a session: a line for each entry, with its kind, title, calls, answers and media.

    It is much smaller than the history, and says which results answer which calls in every
    dialect. A page ends early where entries are large; `nextCursor` says whether others follow.
    """
    body, next_cursor = await call.container.outlines.list(
        call.project_id, session_id, cursor=cursor, after_seq=after, limit=limit
    )
    return answer_listed(call.request, body, next_cursor)
