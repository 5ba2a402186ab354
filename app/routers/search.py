"""`/api/search`: search pages, tool results, messages, interactions and file names."""

from typing import Annotated, cast, get_args

from fastapi import APIRouter, Depends, Query, Response

from app.errors import InvalidCursorError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.parameters import CursorQuery, LimitQuery, SearchTextQuery
from app.http.problem_types import describe_read_responses
from app.http.record_responses import build_list_body_response
from app.models.search_entry import SearchKind
from app.services.search.search import Search, SearchRequest
from app.wire.search import SearchResults, encode_search_results
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.base import ClientId

_KINDS = "|".join(get_args(SearchKind))

router = APIRouter(prefix="/api", tags=["search"], route_class=ApiRoute)

SearchDep = Annotated[Search, Depends(service(Search))]


@router.get(
    "/search",
    response_model=SearchResults,
    responses=describe_read_responses(InvalidCursorError, InvalidPayloadError),
)
async def search(
    api_request: ApiRequestDep,
    search_service: SearchDep,
    q: SearchTextQuery,
    kinds: Annotated[
        str | None,
        Query(
            pattern=f"^({_KINDS})(,({_KINDS}))*$",
            description="Only these kinds, separated by commas. A page with a recording is a "
            "`transcript`; `tool_result` includes messages that have only results of tools.",
        ),
    ] = None,
    session_id: Annotated[
        ClientId | None,
        Query(alias="sessionId", description="Only in this session."),
    ] = None,
    limit: LimitQuery = 20,
    cursor: CursorQuery = None,
) -> Response:
    """Search pages, tool results, messages, interactions and file names; best match first.

    If the query is the id of an entry, this entry is the first result. Then come entries with
    exactly this name, then entries with all words, then entries with most words. Words match in all
    their forms.
    """
    selected = cast("list[SearchKind]", kinds.split(",") if kinds else [])
    request = SearchRequest(q, frozenset(selected), session_id)
    results = await search_service.search(
        api_request.project_id, request, cursor=cursor, limit=limit
    )
    body = encode_search_results(results.hits, results.next_cursor, pending=results.pending)
    return build_list_body_response(api_request.request, body, results.next_cursor)
