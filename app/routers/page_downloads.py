"""`/api/pages/{page_id}/download`: the content of a page at a level, as a file."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from app.errors import (
    ConflictError,
    FetchBlockedError,
    FetchesBusyError,
    NotFoundError,
    RangeNotSatisfiableError,
    UpstreamError,
    UpstreamTimeoutError,
)
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.conditions import REVALIDATE
from app.http.content_response import ContentToSend, build_content_response
from app.http.dependencies import service
from app.http.openapi_operations import (
    CONTENT_HEADERS,
    CONTENT_REQUEST_HEADERS,
    FILE_RESPONSE,
    RANGE_REQUEST_HEADERS,
    RANGES_RESPONSE,
)
from app.http.parameters import LevelQuery, PageIdPath
from app.http.problem_types import describe_read_responses
from app.http.response_memory import BudgetedResponse
from app.services.access.published_content import PublishedContent
from app.services.pages.downloads import PageDownloads
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.page import Level

router = APIRouter(prefix="/api/pages", tags=["pages"], route_class=ApiRoute)

PageDownloadsDep = Annotated[PageDownloads, Depends(service(PageDownloads))]
PublishedContentDep = Annotated[PublishedContent, Depends(service(PublishedContent))]


_ERRORS = (
    NotFoundError,
    ConflictError,
    RangeNotSatisfiableError,
    InvalidPayloadError,
    FetchBlockedError,
    FetchesBusyError,
    UpstreamError,
    UpstreamTimeoutError,
)


@router.get(
    "/{page_id}/download",
    response_class=Response,
    openapi_extra={"parameters": [*CONTENT_REQUEST_HEADERS, *RANGE_REQUEST_HEADERS]},
    responses={
        200: {"description": "The file.", **FILE_RESPONSE},
        206: RANGES_RESPONSE,
        **describe_read_responses(*_ERRORS),
    },
)
@router.head(
    "/{page_id}/download",
    name="head_page_download",
    response_class=Response,
    openapi_extra={"parameters": [*CONTENT_REQUEST_HEADERS]},
    responses={
        200: {"description": "The headers of the file.", "headers": CONTENT_HEADERS},
        **describe_read_responses(*_ERRORS),
    },
)
async def download_page(
    api_request: ApiRequestDep,
    downloads: PageDownloadsDep,
    published: PublishedContentDep,
    page_id: PageIdPath,
    level: LevelQuery,
) -> Response:
    """Download a page as a file, by default its FULL level.

    If the content is a URL, its file is fetched once and stored. Files are fetched only from public
    addresses, and from those in `PAGEFAULT_FETCH__ALLOW`.
    """
    file = await downloads.open_file(api_request.project_id, page_id, level or Level.FULL)
    content = ContentToSend(
        digest=file.digest,
        size_bytes=file.size_bytes,
        mime_type=file.mime_type,
        filename=file.filename,
        disposition="attachment",
        created_at=file.modified_at,
        cache_control=REVALIDATE,
    )
    try:
        response = build_content_response(
            api_request.request.headers,
            api_request.request.method,
            content,
            open_range=file.open,
            resource_policy=published.resource_policy,
        )
    except BaseException:
        file.release()
        raise
    return response if file.memory is None else BudgetedResponse(response, file.memory)
