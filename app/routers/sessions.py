"""`/api/sessions`: what there is, what each holds, and its end."""

from fastapi import APIRouter, Request, Response

from app.errors import (
    InvalidCursorError,
    InvalidPayloadError,
    NotFoundError,
    PreconditionFailedError,
)
from app.http.api_route import ApiRoute
from app.http.authenticate import ProjectDep
from app.http.bodies import read_model
from app.http.conditions import write_condition
from app.http.dependencies import ContainerDep, PageListsDep, SessionsDep
from app.http.parameters import (
    WRITE_FAULTS,
    CursorQuery,
    IfMatchHeader,
    IfNoneMatchHeader,
    LimitQuery,
    SessionIdPath,
    SessionSearchQuery,
)
from app.http.problem_types import problem_responses
from app.http.record_responses import (
    answer_page,
    answer_record,
    answer_text,
    answer_written,
    read_responses,
    wants_text,
)
from app.rendering.pages import manifest_line
from app.wire.pages import ManifestPage, PageManifest
from app.wire.sessions import (
    DeletionReceipt,
    NoMembers,
    SessionPage,
    SessionRecord,
    deletion_receipt,
    session_record,
)

router = APIRouter(prefix="/api/sessions", tags=["sessions"], route_class=ApiRoute)


@router.get(
    "",
    response_model=SessionPage,
    responses=read_responses(InvalidCursorError, InvalidPayloadError),
)
async def list_sessions(
    request: Request,
    project_id: ProjectDep,
    sessions: SessionsDep,
    q: SessionSearchQuery = None,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
) -> Response:
    """List sessions, the one last written to first, with their counts and sizes."""
    page, next_cursor = await sessions.page(project_id, wanted=q, cursor=cursor, limit=limit)
    items = (session_record(each.session, each.use) for each in page)
    return answer_page(request, items, next_cursor)


# HEAD is a route of its own: on one route with GET, both would carry one operation id.
@router.get(
    "/{session_id}",
    name="get_session",
    response_model=SessionRecord,
    responses=read_responses(NotFoundError, InvalidPayloadError),
)
@router.head(
    "/{session_id}",
    name="head_session",
    response_class=Response,
    responses=read_responses(NotFoundError, InvalidPayloadError),
)
async def get_session(
    request: Request, session_id: SessionIdPath, project_id: ProjectDep, sessions: SessionsDep
) -> Response:
    """Read what a session holds: counts, bytes referenced, bytes saved against inline storage."""
    shown = await sessions.get(project_id, session_id)
    return answer_record(request, session_record(shown.session, shown.use))


@router.put(
    "/{session_id}",
    response_model=SessionRecord,
    responses={
        201: {"model": SessionRecord, "description": "The session was created."},
        **problem_responses(PreconditionFailedError, *WRITE_FAULTS),
    },
)
async def put_session(
    request: Request,
    container: ContainerDep,
    session_id: SessionIdPath,
    project_id: ProjectDep,
    sessions: SessionsDep,
    if_match: IfMatchHeader = None,
    if_none_match: IfNoneMatchHeader = None,
) -> Response:
    """Create a session with nothing in it. Nobody has to: the first write to a session does it.

    It takes no body, or an empty object.
    """
    await read_model(request, container.limits, NoMembers)
    shown = await sessions.ensure(
        project_id, session_id, condition=write_condition(request.headers, request.method)
    )
    return answer_written(
        request,
        session_record(shown.session, shown.use),
        path=f"/api/sessions/{session_id}",
        is_new=shown.is_new,
    )


@router.delete(
    "/{session_id}",
    response_model=DeletionReceipt,
    responses=problem_responses(NotFoundError, InvalidPayloadError),
)
async def delete_session(
    session_id: SessionIdPath, project_id: ProjectDep, sessions: SessionsDep
) -> Response:
    """Delete a session with its history and its pages, in one transaction.

    The receipt says of each resource it used whether it was deleted, or who still uses it.
    """
    deleted = await sessions.delete(project_id, session_id)
    return Response(deletion_receipt(deleted), media_type="application/json")


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
