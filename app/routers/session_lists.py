"""`/api/sessions` and `/api/called-tools`: lists of sessions, and of the tools that they called."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from app.errors import InvalidCursorError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.parameters import CursorQuery, LimitQuery
from app.http.problem_types import describe_read_responses
from app.http.record_responses import build_list_response
from app.models.session import MAX_TOOL_NAME_CHARS, SessionFilter
from app.services.search.called_tools import CalledTools
from app.wire.sessions import CalledToolPage, SessionPage, Tag, encode_called_tool, encode_session
from pagefault_dialects.errors import InvalidPayloadError

router = APIRouter(prefix="/api", tags=["sessions"], route_class=ApiRoute)

CalledToolsDep = Annotated[CalledTools, Depends(service(CalledTools))]


SessionSearchQuery = Annotated[
    str | None,
    Query(min_length=1, max_length=128, description="Only sessions whose id contains this text."),
]


async def get_session_filter(
    q: SessionSearchQuery = None,
    pinned: Annotated[
        bool | None, Query(description="Only sessions that are pinned, or that are not.")
    ] = None,
    tag: Annotated[Tag | None, Query(description="Only sessions with this tag.")] = None,
    tool: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=MAX_TOOL_NAME_CHARS,
            description="Only sessions with a call, or a result, of the tool of this name; see "
            "`GET /api/called-tools`.",
        ),
    ] = None,
    written_within: Annotated[
        int | None,
        Query(
            alias="writtenWithin",
            ge=1,
            le=31_536_000,
            description="Only sessions whose last write is at most this many seconds ago.",
        ),
    ] = None,
) -> SessionFilter:
    """Return the filter in the query of a list of sessions."""
    return SessionFilter(q, pinned, tag, tool, written_within)


SessionFilterDep = Annotated[SessionFilter, Depends(get_session_filter)]


@router.get(
    "/sessions",
    response_model=SessionPage,
    responses=describe_read_responses(InvalidCursorError, InvalidPayloadError),
)
async def list_sessions(
    api_request: ApiRequestDep,
    called_tools: CalledToolsDep,
    session_filter: SessionFilterDep,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
) -> Response:
    """List sessions with their counts and sizes, the one with the latest write first."""
    sessions, next_cursor = await called_tools.list_sessions(
        api_request.project_id, session_filter, cursor=cursor, limit=limit
    )
    items = (encode_session(item.session, item.use) for item in sessions)
    return build_list_response(api_request.request, items, next_cursor)


@router.get(
    "/called-tools",
    response_model=CalledToolPage,
    responses=describe_read_responses(InvalidCursorError, InvalidPayloadError),
)
async def list_called_tools(
    api_request: ApiRequestDep,
    called_tools: CalledToolsDep,
    limit: LimitQuery = 200,
    cursor: CursorQuery = None,
) -> Response:
    """List the tools that sessions called, by name, with the number of these sessions.

    `GET /api/sessions?tool=` lists the sessions. A new entry is counted when it is in the index of
    the search. Names longer than 128 characters are not listed.
    """
    tools, next_cursor = await called_tools.list(api_request.project_id, cursor=cursor, limit=limit)
    return build_list_response(api_request.request, map(encode_called_tool, tools), next_cursor)
