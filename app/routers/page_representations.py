"""`/api/pages/{page_id}/representations`: read, supply and remove the levels of a page."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from app.errors import (
    ConflictError,
    NotFoundError,
    PreconditionFailedError,
)
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.dependencies import service
from app.http.openapi_operations import describe_json_body
from app.http.parameters import IfMatchHeader, LevelPath, PageIdPath
from app.http.problem_types import (
    BODY_ERRORS,
    RECORD_ERRORS,
    describe_errors,
    describe_read_responses,
)
from app.http.record_responses import build_record_response, build_written_response
from app.services.pages.changes import PageChanges
from app.services.pages.page_reading import PageReading
from app.services.pages.page_requests import RepresentationDraft
from app.wire.pages import PageLevelRecord
from pagefault_dialects.errors import InvalidPayloadError

router = APIRouter(prefix="/api/pages", tags=["pages"], route_class=ApiRoute)

PageReadingDep = Annotated[PageReading, Depends(service(PageReading))]
PageChangesDep = Annotated[PageChanges, Depends(service(PageChanges))]


@router.get(
    "/{page_id}/representations/{level}",
    response_model=PageLevelRecord,
    responses=describe_read_responses(*RECORD_ERRORS),
)
async def get_page_representation(
    api_request: ApiRequestDep, reading: PageReadingDep, page_id: PageIdPath, level: LevelPath
) -> Response:
    """Read one level as it is stored, and its origin: the page itself, supplied, or derived."""
    record = await reading.representation(api_request.project_id, page_id, level)
    return build_record_response(api_request.request, record)


@router.put(
    "/{page_id}/representations/{level}",
    response_model=PageLevelRecord,
    openapi_extra=describe_json_body(RepresentationDraft),
    responses={
        201: {"model": PageLevelRecord, "description": "The level was not supplied before."},
        **describe_errors(NotFoundError, ConflictError, PreconditionFailedError, *BODY_ERRORS),
    },
)
async def put_page_representation(
    api_request: ApiRequestDep,
    changes: PageChangesDep,
    page_id: PageIdPath,
    level: LevelPath,
    if_match: IfMatchHeader = None,
) -> Response:
    """Supply a level above FULL: a summary, a transcript, a caption, or a smaller image.

    A supplied level may not be longer than the level below it. Derived levels above it are derived
    again.
    """
    written = await changes.supply_level(
        api_request.project_id,
        page_id,
        level,
        api_request.stream_json(),
        condition=api_request.make_write_check(),
    )
    return build_written_response(
        api_request.request,
        written.record,
        path=f"/api/pages/{page_id}/representations/{int(level)}",
        is_new=written.is_new,
    )


@router.delete(
    "/{page_id}/representations/{level}",
    status_code=204,
    responses=describe_errors(
        NotFoundError, ConflictError, PreconditionFailedError, InvalidPayloadError
    ),
)
async def delete_page_representation(
    api_request: ApiRequestDep,
    changes: PageChangesDep,
    page_id: PageIdPath,
    level: LevelPath,
    if_match: IfMatchHeader = None,
) -> None:
    """Remove a supplied level. If possible, the level is derived again."""
    await changes.withdraw_level(
        api_request.project_id, page_id, level, condition=api_request.make_write_check()
    )
