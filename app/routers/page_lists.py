"""`/api/pages` and `/api/pages/search`: memory pages, listed and searched."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from app.errors import InvalidCursorError
from app.http.api_route import ApiRoute
from app.http.calls import CallDep
from app.http.dependencies import service
from app.http.parameters import CursorQuery, LevelQuery, LimitQuery, SearchTextQuery
from app.http.problem_types import read_responses
from app.http.record_responses import answer_page
from app.services.pages.page_lists import PageLists
from app.wire.pages import PageList, SearchHits, page_summary, search_hit
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.base import ClientId
from pagefault_dialects.model.page import Modality, PageFilters, PageType

router = APIRouter(prefix="/api/pages", tags=["pages"], route_class=ApiRoute)

PageListsDep = Annotated[PageLists, Depends(service(PageLists))]


async def get_page_filters(
    level: LevelQuery,
    session_id: ClientId | None = None,
    modality: Modality | None = None,
    page_type: PageType | None = None,
    pinned: bool | None = None,
) -> PageFilters:
    """Return the filters of a list of pages."""
    return PageFilters(session_id, modality, page_type, pinned, level)


async def get_search_filters(
    session_id: ClientId | None = None,
    modality: Modality | None = None,
) -> PageFilters:
    """Return the filters of a search of pages."""
    return PageFilters(session_id, modality)


PageFiltersDep = Annotated[PageFilters, Depends(get_page_filters)]
SearchFiltersDep = Annotated[PageFilters, Depends(get_search_filters)]


@router.get(
    "", response_model=PageList, responses=read_responses(InvalidCursorError, InvalidPayloadError)
)
async def list_pages(
    call: CallDep,
    lists: PageListsDep,
    filters: PageFiltersDep,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
) -> Response:
    """List pages, newest first, without their contents. `level` selects pages by their level."""
    found, next_cursor = await lists.list(call.project_id, filters, cursor=cursor, limit=limit)
    return answer_page(call.request, map(page_summary, found), next_cursor)


@router.get(
    "/search",
    response_model=SearchHits,
    responses=read_responses(InvalidCursorError, InvalidPayloadError),
)
async def search_pages(
    call: CallDep,
    lists: PageListsDep,
    filters: SearchFiltersDep,
    q: SearchTextQuery,
    limit: LimitQuery = 20,
    cursor: CursorQuery = None,
) -> Response:
    """Search hint, caption, transcript, scenes and text of pages; best match first.

    A page whose id is searched for is the first result. Then come pages with all words, then pages
    with most of them. Words match in all their forms. If a search matches very many pages, only the
    newest 1,000 are ranked.
    """
    hits, next_cursor = await lists.search(call.project_id, q, filters, cursor=cursor, limit=limit)
    items = (search_hit(hit.page, hit.snippet) for hit in hits)
    return answer_page(call.request, items, next_cursor)
