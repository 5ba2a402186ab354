"""`/api/pages`: write, read, list, search and delete memory pages."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from app.errors import ConflictError, InvalidCursorError, NotFoundError, PreconditionFailedError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.conditions import make_strong_etag
from app.http.dependencies import service
from app.http.openapi_operations import PLAIN_TEXT, describe_json_body
from app.http.parameters import (
    CursorQuery,
    IdempotencyKeyHeader,
    IfMatchHeader,
    IfNoneMatchHeader,
    LevelQuery,
    LimitQuery,
    PageIdPath,
    SearchTextQuery,
)
from app.http.problem_types import (
    BODY_ERRORS,
    RECORD_ERRORS,
    describe_errors,
    describe_read_responses,
)
from app.http.record_responses import (
    build_list_response,
    build_record_response,
    build_text_response,
    build_written_response,
    wants_text,
)
from app.http.rendered_responses import build_rendered_response
from app.services.pages.changes import PageChanges
from app.services.pages.page_lists import PageLists
from app.services.pages.page_reading import PageReading
from app.services.pages.page_requests import PageBatch, PageDraft, PagePatch
from app.services.pages.page_writer import WrittenPage
from app.services.pages.pages import Pages
from app.wire.pages import (
    CreatedPages,
    PageList,
    PageRecord,
    SearchHits,
    encode_created_pages,
    encode_page,
    encode_page_summary,
    encode_search_hit,
)
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.base import ClientId
from pagefault_dialects.model.page import MediaForm, Modality, PageFilters, PageType

router = APIRouter(prefix="/api/pages", tags=["pages"], route_class=ApiRoute)

PageListsDep = Annotated[PageLists, Depends(service(PageLists))]
PagesDep = Annotated[Pages, Depends(service(Pages))]
PageChangesDep = Annotated[PageChanges, Depends(service(PageChanges))]
PageReadingDep = Annotated[PageReading, Depends(service(PageReading))]

PageMediaQuery = Annotated[
    MediaForm,
    Query(description="`inline` returns `data:` URIs that were moved to the resources unchanged."),
]
_VARY_ACCEPT = {"Vary": "Accept"}


async def get_page_filters(
    level: LevelQuery,
    session_id: ClientId | None = None,
    modality: Modality | None = None,
    page_type: PageType | None = None,
    pinned: bool | None = None,
) -> PageFilters:
    """Return the filters in the query of a list."""
    return PageFilters(session_id, modality, page_type, pinned, level)


async def get_search_filters(
    session_id: ClientId | None = None,
    modality: Modality | None = None,
) -> PageFilters:
    """Return the filters in the query of a search, which has fewer filters than a list."""
    return PageFilters(session_id, modality)


PageFiltersDep = Annotated[PageFilters, Depends(get_page_filters)]
SearchFiltersDep = Annotated[PageFilters, Depends(get_search_filters)]


@router.get(
    "",
    response_model=PageList,
    responses=describe_read_responses(InvalidCursorError, InvalidPayloadError),
)
async def list_pages(
    api_request: ApiRequestDep,
    lists: PageListsDep,
    filters: PageFiltersDep,
    limit: LimitQuery = 50,
    cursor: CursorQuery = None,
) -> Response:
    """List pages, newest first, without their contents. `level` selects pages by their level."""
    pages, next_cursor = await lists.list(
        api_request.project_id, filters, cursor=cursor, limit=limit
    )
    return build_list_response(api_request.request, map(encode_page_summary, pages), next_cursor)


# Declared before `/{page_id}`, which would match `/search`.
@router.get(
    "/search",
    response_model=SearchHits,
    responses=describe_read_responses(InvalidCursorError, InvalidPayloadError),
)
async def search_pages(
    api_request: ApiRequestDep,
    lists: PageListsDep,
    filters: SearchFiltersDep,
    q: SearchTextQuery,
    limit: LimitQuery = 20,
    cursor: CursorQuery = None,
) -> Response:
    """Search hint, caption, transcript, scenes and text of pages; best match first.

    If the query is the id of a page, this page is the first result. Then come pages with all words,
    then pages with most words. Words match in all their forms. If a search matches more than 1,000
    pages, only the newest 1,000 are ranked.
    """
    hits, next_cursor = await lists.search(
        api_request.project_id, q, filters, cursor=cursor, limit=limit
    )
    items = (encode_search_hit(hit.page, hit.snippet) for hit in hits)
    return build_list_response(api_request.request, items, next_cursor)


@router.post(
    "",
    response_model=PageRecord,
    status_code=201,
    openapi_extra=describe_json_body(PageDraft),
    responses={
        200: {"model": PageRecord, "description": "The same request created this page before."},
        **describe_errors(NotFoundError, ConflictError, *BODY_ERRORS),
    },
)
async def create_page(
    api_request: ApiRequestDep, pages: PagesDep, idempotency_key: IdempotencyKeyHeader = None
) -> Response:
    """Create a page, with the id in the body or with a new one. An id of another page is a 409.

    With an `Idempotency-Key` the same request again creates no second page: it returns the current
    version of the first one, or a 404 if the page was deleted meanwhile.
    """
    body = api_request.stream_json()
    written = await pages.create(api_request.project_id, body, idempotency_key=idempotency_key)
    return _build_page_response(api_request.request, written)


@router.post(
    "/bulk",
    response_model=CreatedPages,
    openapi_extra=describe_json_body(PageBatch),
    status_code=201,
    responses=describe_errors(ConflictError, *BODY_ERRORS),
)
async def create_pages(api_request: ApiRequestDep, pages: PagesDep) -> Response:
    """Create up to 1,000 pages in one transaction: all of them, or none.

    The response lists the pages in the order of the request, without their contents.
    """
    written = await pages.create_batch(api_request.project_id, api_request.stream_json())
    body = encode_created_pages([item.page for item in written])
    return Response(body, status_code=201, media_type="application/json")


@router.get(
    "/{page_id}",
    response_model=PageRecord,
    responses={
        200: {
            "content": PLAIN_TEXT,
            "description": "The page as JSON, or with `Accept: text/plain` as text for people.",
        },
        **describe_read_responses(*RECORD_ERRORS),
    },
)
@router.head(
    "/{page_id}",
    name="head_page",
    response_class=Response,
    responses=describe_read_responses(*RECORD_ERRORS),
)
async def get_page(
    api_request: ApiRequestDep,
    reading: PageReadingDep,
    page_id: PageIdPath,
    media: PageMediaQuery = "reference",
) -> Response:
    """Read a page. Its ETag covers everything except the access counters."""
    request = api_request.request
    if wants_text(request):
        return build_text_response(request, await reading.detail(api_request.project_id, page_id))
    if media == "inline":
        as_sent = await reading.get_as_sent(api_request.project_id, page_id)
        return build_rendered_response(request, as_sent, _VARY_ACCEPT)
    stored = await reading.get(api_request.project_id, page_id)
    return build_record_response(
        request, encode_page(stored), etag=make_strong_etag(stored.digest), headers=_VARY_ACCEPT
    )


@router.put(
    "/{page_id}",
    response_model=PageRecord,
    openapi_extra=describe_json_body(PageDraft),
    responses={
        201: {"model": PageRecord, "description": "The page was created."},
        **describe_errors(PreconditionFailedError, *BODY_ERRORS),
    },
)
async def put_page(
    api_request: ApiRequestDep,
    pages: PagesDep,
    page_id: PageIdPath,
    if_match: IfMatchHeader = None,
    if_none_match: IfNoneMatchHeader = None,
) -> Response:
    """Create a page, or replace it. If the content is unchanged, supplied levels stay.

    `data:` URIs of 1,024 bytes or more, and those of audio and video, are moved to the resources
    and replaced by references. The same request again changes nothing.
    """
    written = await pages.put(
        api_request.project_id,
        page_id,
        api_request.stream_json(),
        condition=api_request.make_write_check(),
    )
    return _build_page_response(api_request.request, written)


@router.patch(
    "/{page_id}",
    response_model=PageRecord,
    openapi_extra=describe_json_body(PagePatch, media_type="application/merge-patch+json"),
    responses=describe_errors(NotFoundError, ConflictError, PreconditionFailedError, *BODY_ERRORS),
)
async def patch_page(
    api_request: ApiRequestDep,
    changes: PageChangesDep,
    page_id: PageIdPath,
    if_match: IfMatchHeader = None,
) -> Response:
    """Change members of a page other than its content, by a merge patch (RFC 7396).

    Derived levels are derived again; supplied levels stay.
    """
    written = await changes.patch(
        api_request.project_id,
        page_id,
        api_request.stream_json(),
        condition=api_request.make_write_check(),
    )
    return _build_page_response(api_request.request, written)


@router.delete(
    "/{page_id}",
    status_code=204,
    responses=describe_errors(
        NotFoundError, ConflictError, PreconditionFailedError, InvalidPayloadError
    ),
)
async def delete_page(
    api_request: ApiRequestDep, pages: PagesDep, page_id: PageIdPath, if_match: IfMatchHeader = None
) -> None:
    """Delete a page with its levels. Entries of a session's history about the page stay."""
    await pages.delete(api_request.project_id, page_id, condition=api_request.make_write_check())


def _build_page_response(request: Request, written: WrittenPage) -> Response:
    stored = written.page
    return build_written_response(
        request,
        encode_page(stored),
        path=f"/api/pages/{stored.page_id}",
        is_new=written.is_new,
        etag=make_strong_etag(stored.digest),
    )
