"""`/api/sessions/{id}/document`: sessions as HTML files with everything inside."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import StreamingResponse
from typing_extensions import Doc, TypeAliasType

from app.errors import NotFoundError
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.content_headers import build_safe_headers, format_content_disposition
from app.http.dependencies import service
from app.http.parameters import SessionIdPath
from app.http.problem_types import describe_errors
from app.http.render_queries import OptionsQuery
from app.http.response_memory import BudgetedResponse
from pagefault_dialects.errors import InvalidPayloadError, PayloadTooLargeError
from pagefault_doctor.session_documents import SessionDocuments

router = APIRouter(prefix="/api/sessions", tags=["sessions"], route_class=ApiRoute)

DocumentMedia = TypeAliasType("DocumentMedia", Literal["inline", "none"])


class DocumentOptions(OptionsQuery):
    """The options of a document."""

    media: Annotated[DocumentMedia, Doc("`none` names the files, and leaves them out.")] = "inline"


_DOCUMENT_ERRORS = (NotFoundError, InvalidPayloadError, PayloadTooLargeError)


@router.get(
    "/{session_id}/document",
    response_class=Response,
    responses={
        200: {
            "description": "The document: HTML with everything inside.",
            "content": {"text/html": {"schema": {"type": "string"}}},
        },
        **describe_errors(*_DOCUMENT_ERRORS),
    },
)
@router.head(
    "/{session_id}/document",
    name="head_session_document",
    response_class=Response,
    responses={
        200: {"description": "The size of the document, in `Content-Length`."},
        **describe_errors(*_DOCUMENT_ERRORS),
    },
)
async def export_document(
    api_request: ApiRequestDep,
    documents: Annotated[SessionDocuments, Depends(service(SessionDocuments))],
    session_id: SessionIdPath,
    options: Annotated[DocumentOptions, Query()],
) -> Response:
    """Download a session as one HTML file with its media inside, which needs no service.

    The same session gives the same bytes, at most 50 MiB. A larger one is a 413 with its size.
    """
    document = await documents.write(
        api_request.project_id, session_id, has_files=options.media == "inline"
    )
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Length": str(document.size_bytes),
        "Content-Disposition": format_content_disposition("attachment", f"{session_id}.html"),
        "Cache-Control": "no-store",
        **build_safe_headers(),
    }
    if api_request.request.method == "HEAD":
        document.close()
        return Response(headers=headers)
    return BudgetedResponse(StreamingResponse(document.chunks(), headers=headers), document.memory)
