"""`/api/sessions`: sessions, their outlines and manifests, forks and deletion."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from typing_extensions import Doc

from app.errors import (
    ConflictError,
    InvalidCursorError,
    NotFoundError,
    OverloadedError,
    PreconditionFailedError,
)
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.openapi_operations import PLAIN_TEXT, describe_json_body
from app.http.parameters import (
    AfterSeqQuery,
    CursorQuery,
    IfMatchHeader,
    IfNoneMatchHeader,
    LimitQuery,
    SessionIdPath,
)
from app.http.problem_types import BODY_ERRORS, describe_errors, describe_read_responses
from app.http.record_responses import (
    build_list_body_response,
    build_next_link,
    build_record_response,
    build_text_response,
    build_written_response,
    wants_text,
)
from app.http.render_queries import OptionsQuery
from app.services.pages.manifests import PageManifests
from app.services.renders.outlines import Outlines
from app.services.renders.queries import RenderQuery
from app.services.sessions.forks import PendingSession, SessionForks
from app.services.sessions.sessions import Sessions
from app.wire.outlines import OutlinePage
from app.wire.pages import PageManifest, encode_manifest
from app.wire.renders import Target
from app.wire.sessions import (
    DeletionReceipt,
    ForkRequest,
    NoMembers,
    PendingFork,
    SessionPatch,
    SessionRecord,
    encode_deletion_receipt,
    encode_pending_fork,
    encode_session,
)
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.base import ClientId, Count
from pagefault_dialects.model.render_options import MaxTokens

router = APIRouter(prefix="/api/sessions", tags=["sessions"], route_class=ApiRoute)

SessionsDep = Annotated[Sessions, Depends(service(Sessions))]
PageManifestsDep = Annotated[PageManifests, Depends(service(PageManifests))]
SessionForksDep = Annotated[SessionForks, Depends(service(SessionForks))]
OutlinesDep = Annotated[Outlines, Depends(service(Outlines))]

MemoryTokensQuery = Annotated[
    Count | None,
    Query(
        alias="memoryTokens",
        description="The maximal number of tokens of the text, which always has the first page.",
    ),
]


class OutlineQuery(OptionsQuery):
    """The target and the options of a rendering, whose levels an outline shows; may be empty."""

    target: Annotated[
        Target | None,
        Doc("The target of a rendering; `stepLevel` is the level of each entry in it."),
    ] = None
    max_tokens: MaxTokens = None
    frontier: Annotated[ClientId | None, Doc("The frontier that this rendering reads.")] = None


@router.get(
    "/{session_id}",
    response_model=SessionRecord,
    responses=describe_read_responses(NotFoundError, InvalidPayloadError),
)
@router.head(
    "/{session_id}",
    name="head_session",
    response_class=Response,
    responses=describe_read_responses(NotFoundError, InvalidPayloadError),
)
async def get_session(
    api_request: ApiRequestDep, sessions: SessionsDep, session_id: SessionIdPath
) -> Response:
    """Read a session: its counts, its bytes, and the bytes saved compared with inline media."""
    found = await sessions.get(api_request.project_id, session_id)
    return build_record_response(api_request.request, encode_session(found.session, found.use))


@router.put(
    "/{session_id}",
    response_model=SessionRecord,
    responses={
        201: {"model": SessionRecord, "description": "The session was created."},
        **describe_errors(PreconditionFailedError, *BODY_ERRORS),
    },
)
async def put_session(
    api_request: ApiRequestDep,
    sessions: SessionsDep,
    session_id: SessionIdPath,
    if_match: IfMatchHeader = None,
    if_none_match: IfNoneMatchHeader = None,
) -> Response:
    """Create an empty session. This is optional, because the first write also creates a session.

    The body is empty, or an empty object.
    """
    await api_request.read_model(NoMembers)
    found = await sessions.ensure(
        api_request.project_id, session_id, condition=api_request.make_write_check()
    )
    return build_written_response(
        api_request.request,
        encode_session(found.session, found.use),
        path=f"/api/sessions/{session_id}",
        is_new=found.is_new,
    )


@router.patch(
    "/{session_id}",
    response_model=SessionRecord,
    openapi_extra=describe_json_body(SessionPatch, media_type="application/merge-patch+json"),
    responses=describe_errors(NotFoundError, PreconditionFailedError, *BODY_ERRORS),
)
async def patch_session(
    api_request: ApiRequestDep,
    sessions: SessionsDep,
    session_id: SessionIdPath,
    if_match: IfMatchHeader = None,
) -> Response:
    """Change the marks of a session by a merge patch (RFC 7396): `pinned`, `tags`, `note`.

    Marks are for people. They are not rendered, and do not change the order of the list.
    """
    patch = await api_request.read_model(SessionPatch, is_optional=False)
    marked = await sessions.mark(
        api_request.project_id, session_id, patch.apply, condition=api_request.make_write_check()
    )
    return build_record_response(api_request.request, encode_session(marked.session, marked.use))


@router.delete(
    "/{session_id}",
    response_model=DeletionReceipt,
    responses=describe_errors(NotFoundError, InvalidPayloadError),
)
async def delete_session(
    api_request: ApiRequestDep, sessions: SessionsDep, session_id: SessionIdPath
) -> Response:
    """Delete a session with its history and its pages, in one transaction.

    The receipt lists each resource of the session: deleted, or kept because other records refer to
    the resource.
    """
    deleted = await sessions.delete(api_request.project_id, session_id)
    return Response(encode_deletion_receipt(deleted), media_type="application/json")


@router.post(
    "/{session_id}/fork",
    response_model=SessionRecord,
    status_code=201,
    openapi_extra=describe_json_body(ForkRequest),
    responses={
        200: {"model": SessionRecord, "description": "The same fork was made before."},
        202: {"model": PendingFork, "description": "The fork is being copied."},
        **describe_errors(NotFoundError, ConflictError, OverloadedError, *BODY_ERRORS),
    },
)
async def fork_session(
    api_request: ApiRequestDep, forks: SessionForksDep, session_id: SessionIdPath
) -> Response:
    """Copy the entries of a session, up to the entry with the `seq` in `upTo`, to a new session.

    `as` is the id of the new session. The entries keep their numbers and get new ids; files are
    shared. More than 10,000 entries are copied in the background: the response is a 202, and
    `Location` is a 404 until all entries are copied.
    """
    fork = await api_request.read_model(ForkRequest)
    forked = await forks.fork(
        api_request.project_id, session_id, up_to=fork.up_to, fork_id=fork.fork_id
    )
    path = f"/api/sessions/{fork.fork_id}"
    if isinstance(forked, PendingSession):
        record = encode_pending_fork(fork.fork_id, forked.origin, forked.entries)
        headers = {"Location": path, "Retry-After": "1"}
        return build_record_response(api_request.request, record, status=202, headers=headers)
    record = encode_session(forked.session, forked.use)
    return build_written_response(api_request.request, record, path=path, is_new=forked.is_new)


@router.get(
    "/{session_id}/manifest",
    response_model=PageManifest,
    responses={
        200: {
            "content": PLAIN_TEXT,
            "description": "The pages and their text for a model, or with `Accept: text/plain` "
            "only this text.",
        },
        **describe_read_responses(NotFoundError, InvalidCursorError, InvalidPayloadError),
    },
)
async def get_manifest(
    api_request: ApiRequestDep,
    manifests: PageManifestsDep,
    session_id: SessionIdPath,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
    memory_tokens: MemoryTokensQuery = None,
) -> Response:
    """Read the list of a session's pages for a model, with their levels: one line for each page.

    Pinned pages come first, then important pages, then new pages.
    """
    manifest = await manifests.get(
        api_request.project_id, session_id, cursor=cursor, limit=limit, max_tokens=memory_tokens
    )
    if wants_text(api_request.request):
        response = build_text_response(api_request.request, manifest.text)
        response.headers.update(build_next_link(api_request.request, manifest.next_cursor))
        return response
    record = encode_manifest(
        session_id,
        manifest.entries,
        total=manifest.total,
        text=manifest.text,
        next_cursor=manifest.next_cursor,
    )
    headers = {**build_next_link(api_request.request, manifest.next_cursor), "Vary": "Accept"}
    return build_record_response(api_request.request, record, headers=headers)


@router.get(
    "/{session_id}/outline",
    response_model=OutlinePage,
    responses=describe_read_responses(InvalidCursorError, NotFoundError, InvalidPayloadError),
)
async def get_outline(
    api_request: ApiRequestDep,
    outlines: OutlinesDep,
    session_id: SessionIdPath,
    query: Annotated[OutlineQuery, Query()],
    limit: Annotated[
        int, Query(ge=1, le=2_000, description="The maximal number of entries in the response.")
    ] = 500,
    cursor: CursorQuery = None,
    after: AfterSeqQuery = None,
) -> Response:
    """Outline a session: a line for each entry, with its kind, title, calls, results and media.

    An outline is much smaller than the history, and links results to their calls in every dialect.
    If entries are large, a response has fewer entries than `limit`. `nextCursor` is null after the
    last entry.
    """
    rendering = RenderQuery(query.target, query.options()) if query.target else None
    body, next_cursor = await outlines.list(
        api_request.project_id,
        session_id,
        cursor=cursor,
        after_seq=after,
        limit=limit,
        query=rendering,
    )
    return build_list_body_response(api_request.request, body, next_cursor)
