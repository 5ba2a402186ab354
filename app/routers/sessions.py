"""`/api/sessions`: what there is, what each holds, in outline and in its pages, and its end."""

from typing import Annotated

from fastapi import Depends, Query, Response

from app.errors import (
    ConflictError,
    InvalidCursorError,
    NotFoundError,
    OverloadedError,
    PreconditionFailedError,
)
from app.http.api_router import ApiRouter
from app.http.calls import CallDep
from app.http.dependencies import service
from app.http.parameters import (
    AfterSeqQuery,
    CursorQuery,
    IfMatchHeader,
    IfNoneMatchHeader,
    LimitQuery,
    SessionIdPath,
)
from app.http.problem_types import problem_responses
from app.http.record_responses import (
    answer_listed,
    answer_page,
    answer_record,
    answer_text,
    answer_written,
    next_link,
    wants_text,
)
from app.http.render_parameters import MaxTokensQuery
from app.services.pages.manifests import PageManifests
from app.services.renders.outlines import Outlines
from app.services.renders.queries import RenderQuery
from app.services.sessions.forks import PendingSession, SessionForks
from app.services.sessions.sessions import Sessions
from app.wire.outlines import OutlinePage
from app.wire.pages import PageManifest, manifest_record
from app.wire.renders import Target
from app.wire.sessions import (
    DeletionReceipt,
    ForkRequest,
    NoMembers,
    PendingFork,
    SessionPage,
    SessionRecord,
    deletion_receipt,
    pending_fork,
    session_record,
)
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.base import ClientId, Count
from pagefault_dialects.model.render_options import RenderOptions

router = ApiRouter("/api/sessions", "sessions")

SessionsDep = Annotated[Sessions, Depends(service(Sessions))]
PageManifestsDep = Annotated[PageManifests, Depends(service(PageManifests))]
SessionForksDep = Annotated[SessionForks, Depends(service(SessionForks))]
OutlinesDep = Annotated[Outlines, Depends(service(Outlines))]

MemoryTokensQuery = Annotated[
    Count | None,
    Query(
        alias="memoryTokens",
        description="The most tokens of the text; one page is told whatever it costs.",
    ),
]
SessionSearchQuery = Annotated[
    str | None,
    Query(min_length=1, max_length=128, description="Only sessions whose id has this in it."),
]


async def get_outline_levels(
    target: Annotated[
        Target | None,
        Query(description="The model for whose rendering each entry has its `stepLevel`."),
    ] = None,
    max_tokens: MaxTokensQuery = None,
    frontier: Annotated[
        ClientId | None, Query(description="The frontier that such a rendering reads.")
    ] = None,
) -> RenderQuery | None:
    """Read of which rendering an outline has the levels, if of any."""
    options = RenderOptions(max_tokens=max_tokens, frontier=frontier)
    return None if target is None else RenderQuery(target, options)


OutlineLevelsDep = Annotated[RenderQuery | None, Depends(get_outline_levels)]


@router.lists("", SessionPage)
async def list_sessions(
    call: CallDep,
    sessions: SessionsDep,
    q: SessionSearchQuery = None,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
) -> Response:
    """List sessions, the one last written to first, with their counts and sizes."""
    page, next_cursor = await sessions.list(call.project_id, wanted=q, cursor=cursor, limit=limit)
    items = (session_record(each.session, each.use) for each in page)
    return answer_page(call.request, items, next_cursor)


@router.reads("/{session_id}", SessionRecord, NotFoundError, InvalidPayloadError, with_head=True)
async def get_session(call: CallDep, sessions: SessionsDep, session_id: SessionIdPath) -> Response:
    """Read what a session holds: counts, bytes referenced, bytes saved against inline storage."""
    shown = await sessions.get(call.project_id, session_id)
    return answer_record(call.request, session_record(shown.session, shown.use))


@router.writes(
    "PUT",
    "/{session_id}",
    SessionRecord,
    PreconditionFailedError,
    responses={201: "The session was created."},
)
async def put_session(
    call: CallDep,
    sessions: SessionsDep,
    session_id: SessionIdPath,
    if_match: IfMatchHeader = None,
    if_none_match: IfNoneMatchHeader = None,
) -> Response:
    """Create a session with nothing in it. Nobody has to: the first write to a session does it.

    It takes no body, or an empty object.
    """
    await call.model(NoMembers)
    shown = await sessions.ensure(call.project_id, session_id, condition=call.condition())
    return answer_written(
        call.request,
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
    call: CallDep, sessions: SessionsDep, session_id: SessionIdPath
) -> Response:
    """Delete a session with its history and its pages, in one transaction.

    The receipt says of each resource it used whether it was deleted, or who still uses it.
    """
    deleted = await sessions.delete(call.project_id, session_id)
    return Response(deletion_receipt(deleted), media_type="application/json")


@router.writes(
    "POST",
    "/{session_id}/fork",
    SessionRecord,
    NotFoundError,
    ConflictError,
    OverloadedError,
    body=ForkRequest,
    responses={
        200: "The same fork, made before.",
        202: {"model": PendingFork, "description": "The fork is being copied."},
    },
)
async def fork_session(
    call: CallDep, forks: SessionForksDep, session_id: SessionIdPath
) -> Response:
    """Create a session `as` with a copy of this one's entries up to `upTo`.

    The entries keep their numbers and get new ids; files are shared. A fork of more than 10,000
    entries is a 202, and is copied in the background: `Location` is a 404 until all of it is there.
    """
    fork = await call.model(ForkRequest)
    forked = await forks.fork(call.project_id, session_id, up_to=fork.up_to, fork_id=fork.fork_id)
    path = f"/api/sessions/{fork.fork_id}"
    if isinstance(forked, PendingSession):
        record = pending_fork(fork.fork_id, forked.origin, forked.entries)
        headers = {"Location": path, "Retry-After": "1"}
        return answer_record(call.request, record, status=202, headers=headers)
    record = session_record(forked.session, forked.use)
    return answer_written(call.request, record, path=path, is_new=forked.is_new)


@router.reads(
    "/{session_id}/manifest",
    PageManifest,
    NotFoundError,
    InvalidCursorError,
    InvalidPayloadError,
    text="The pages; for a model alone, with `Accept: text/plain`.",
)
async def get_manifest(
    call: CallDep,
    manifests: PageManifestsDep,
    session_id: SessionIdPath,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
    memory_tokens: MemoryTokensQuery = None,
) -> Response:
    """Read what a model is told of the session's pages: what there is, and at which levels.

    Pinned pages first, then important, then new ones. A page is one line, whatever it holds.
    """
    manifest = await manifests.get(
        call.project_id, session_id, cursor=cursor, limit=limit, most_tokens=memory_tokens
    )
    if wants_text(call.request):
        response = answer_text(call.request, manifest.text)
        response.headers.update(next_link(call.request, manifest.next_cursor))
        return response
    record = manifest_record(
        session_id,
        manifest.entries,
        total=manifest.total,
        text=manifest.text,
        next_cursor=manifest.next_cursor,
    )
    headers = {**next_link(call.request, manifest.next_cursor), "Vary": "Accept"}
    return answer_record(call.request, record, headers=headers)


@router.lists("/{session_id}/outline", OutlinePage, NotFoundError)
async def get_outline(
    call: CallDep,
    outlines: OutlinesDep,
    session_id: SessionIdPath,
    limit: Annotated[
        int, Query(ge=1, le=2_000, description="How many entries a page holds at most.")
    ] = 500,
    cursor: CursorQuery = None,
    after: AfterSeqQuery = None,
    query: OutlineLevelsDep = None,
) -> Response:
    """Outline a session: a line for each entry, with its kind, title, calls, answers and media.

    It is much smaller than the history, and says which results answer which calls in every
    dialect. A page ends early where entries are large; `nextCursor` says whether others follow.
    """
    body, next_cursor = await outlines.list(
        call.project_id, session_id, cursor=cursor, after_seq=after, limit=limit, query=query
    )
    return answer_listed(call.request, body, next_cursor)
