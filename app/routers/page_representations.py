"""`/api/pages/{page_id}/representations`: levels of a page, supplied and withdrawn."""

from typing import Annotated

from fastapi import Depends, Response

from app.errors import (
    ConflictError,
    NotFoundError,
    PreconditionFailedError,
)
from app.http.api_router import RECORD_ERRORS, ApiRouter
from app.http.calls import CallDep
from app.http.dependencies import service
from app.http.page_parameters import LevelPath, PageIdPath
from app.http.parameters import IfMatchHeader
from app.http.record_responses import answer_record, answer_written
from app.services.pages.changes import PageChanges
from app.services.pages.page_answers import PageReading
from app.services.pages.page_requests import RepresentationDraft
from app.wire.pages import PageLevelRecord
from pagefault_dialects.errors import InvalidPayloadError

router = ApiRouter("/api/pages", "pages")

PageReadingDep = Annotated[PageReading, Depends(service(PageReading))]
PageChangesDep = Annotated[PageChanges, Depends(service(PageChanges))]


@router.reads("/{page_id}/representations/{level}", PageLevelRecord, *RECORD_ERRORS)
async def get_page_representation(
    call: CallDep, reading: PageReadingDep, page_id: PageIdPath, level: LevelPath
) -> Response:
    """Read one level as it is stored, and whether it was stored, supplied or derived."""
    record = await reading.representation(call.project_id, page_id, level)
    return answer_record(call.request, record)


@router.writes(
    "PUT",
    "/{page_id}/representations/{level}",
    PageLevelRecord,
    NotFoundError,
    ConflictError,
    PreconditionFailedError,
    body=RepresentationDraft,
    responses={201: "The level was not supplied before."},
)
async def put_page_representation(
    call: CallDep,
    changes: PageChangesDep,
    page_id: PageIdPath,
    level: LevelPath,
    if_match: IfMatchHeader = None,
) -> Response:
    """Supply a level above FULL: a summary, a transcript, a caption, or a smaller image.

    It may not be longer than the level below it. Levels above it that were derived are derived
    anew.
    """
    written = await changes.supply_level(
        call.project_id, page_id, level, call.json_body(), condition=call.condition()
    )
    return answer_written(
        call.request,
        written.record,
        path=f"/api/pages/{page_id}/representations/{int(level)}",
        is_new=written.is_new,
    )


@router.removes(
    "/{page_id}/representations/{level}",
    NotFoundError,
    ConflictError,
    PreconditionFailedError,
    InvalidPayloadError,
)
async def delete_page_representation(
    call: CallDep,
    changes: PageChangesDep,
    page_id: PageIdPath,
    level: LevelPath,
    if_match: IfMatchHeader = None,
) -> None:
    """Give a supplied level back: it is derived again, as far as it can be."""
    await changes.withdraw_level(call.project_id, page_id, level, condition=call.condition())
