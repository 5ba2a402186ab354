"""`/api/sessions`: what happened, in order."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from app.deps import CursorQuery, LimitQuery, PageListsDep, ProjectDep, SessionsDep
from app.errors import (
    InvalidCursorError,
    InvalidPayloadError,
    NotFoundError,
)
from app.models.identity import CLIENT_ID_PATTERN
from app.rendering.envelopes import session_message
from app.rendering.pages import manifest_line
from app.routers.answers import (
    answer_page,
    answer_record,
    answer_text,
    read_responses,
    wants_text,
)
from app.schemas.pages import ManifestPage, PageManifest
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
    return answer_page(request, map(session_message, page), next_cursor)


@router.get(
    "/{session_id}/manifest",
    response_model=PageManifest,
    responses={
        200: {
            "content": {"text/plain": {"schema": {"type": "string"}}},
            "description": "The pages; for a model alone, with `Accept: text/plain`.",
        },
        **read_responses(NotFoundError, InvalidPayloadError),
    },
)
async def get_manifest(
    request: Request,
    session_id: SessionIdPath,
    project_id: ProjectDep,
    page_lists: PageListsDep,
    limit: LimitQuery = 50,
) -> Response:
    """Read what a model is told of the session's pages: what there is, and at which levels.

    Pinned pages first, then important, then new ones. A page is one line, whatever it holds.
    """
    manifest = await page_lists.manifest(project_id, session_id, limit=limit)
    if wants_text(request):
        return answer_text(request, manifest.text)
    pages = [
        ManifestPage(
            page_id=entry.page_id,
            modality=entry.fields.modality,
            page_type=entry.fields.page_type,
            levels=tuple(level.name for level in entry.levels),
            hint=entry.fields.hint,
            importance=entry.fields.importance,
            pinned=entry.fields.pinned,
            size_tokens=entry.size_tokens,
            line=manifest_line(entry.page_id, entry.fields, entry.levels, entry.size_tokens),
        )
        for entry in manifest.entries
    ]
    record = PageManifest(
        session_id=session_id, pages=tuple(pages), total=manifest.total, text=manifest.text
    )
    response = answer_record(request, record.model_dump_json().encode())
    response.headers["Vary"] = "Accept"
    return response
