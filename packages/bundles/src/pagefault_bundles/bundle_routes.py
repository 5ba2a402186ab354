"""`/api/sessions/{id}/bundle` and `/api/sessions/import`: exports and imports of sessions."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from fastapi.responses import StreamingResponse

from app.errors import (
    ConflictError,
    InvalidBundleError,
    MalformedRequestError,
    NotFoundError,
    SlowBodyError,
    UnsupportedMediaError,
)
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.content_headers import build_safe_headers, format_content_disposition
from app.http.dependencies import service
from app.http.openapi_operations import LOCATION, describe_file_body
from app.http.parameters import SessionIdPath
from app.http.problem_types import describe_errors
from app.http.record_responses import build_written_response
from app.http.response_memory import BudgetedResponse
from app.services.memory_budget.budget import MemoryBudget
from app.wire.sessions import SessionRecord, encode_session
from pagefault_bundles.bundle_exports import EXPORT_BYTES, BundleExports
from pagefault_bundles.bundle_imports import BundleImports
from pagefault_dialects.errors import InvalidPayloadError, PayloadTooLargeError

router = APIRouter(prefix="/api/sessions", tags=["sessions"], route_class=ApiRoute)

MemoryBudgetDep = Annotated[MemoryBudget, Depends(service(MemoryBudget))]
BundleExportsDep = Annotated[BundleExports, Depends(service(BundleExports))]
BundleImportsDep = Annotated[BundleImports, Depends(service(BundleImports))]

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_ACCEPTED_TYPES = frozenset({"application/zip", "application/octet-stream"})


@router.get(
    "/{session_id}/bundle",
    response_class=Response,
    responses={
        200: {"description": "The bundle.", "content": {"application/zip": _BINARY}},
        **describe_errors(NotFoundError, InvalidPayloadError),
    },
)
async def export_session(
    api_request: ApiRequestDep,
    budget: MemoryBudgetDep,
    exports: BundleExportsDep,
    session_id: SessionIdPath,
) -> Response:
    """Download a whole session as a zip: history, pages, interactions, and every blob once.

    The same session gives the same bytes.
    """
    reservation = await budget.reserve(EXPORT_BYTES)
    try:
        bundle = await exports.export(api_request.project_id, session_id)
        reservation.resize(min(bundle.memory_bytes, reservation.size_bytes))
    except BaseException:
        reservation.release()
        raise
    response = StreamingResponse(
        bundle.chunks(),
        media_type="application/zip",
        headers={
            "Content-Disposition": format_content_disposition("attachment", f"{session_id}.zip"),
            "Cache-Control": "no-store",
            **build_safe_headers(),
        },
    )
    return BudgetedResponse(response, reservation)


@router.post(
    "/import",
    status_code=201,
    response_model=SessionRecord,
    openapi_extra=describe_file_body("application/zip"),
    responses={
        201: {"headers": LOCATION},
        **describe_errors(
            MalformedRequestError,
            SlowBodyError,
            ConflictError,
            PayloadTooLargeError,
            UnsupportedMediaError,
            InvalidBundleError,
        ),
    },
)
async def import_session(api_request: ApiRequestDep, imports: BundleImportsDep) -> Response:
    """Restore a session from its bundle, with the same ids and the same bytes.

    The whole bundle is checked first. A damaged bundle is a 422, and nothing of it is stored.
    """
    content_type = (
        api_request.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    )
    if content_type not in _ACCEPTED_TYPES:
        raise UnsupportedMediaError("Send the bundle with `Content-Type: application/zip`.")
    body = api_request.stream_body(api_request.limits.bundle_bytes)
    imported = await imports.import_session(api_request.project_id, body)
    return build_written_response(
        api_request.request,
        encode_session(imported.session, imported.use),
        path=f"/api/sessions/{imported.session.session_id}",
        is_new=True,
    )
