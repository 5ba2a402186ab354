"""`/api/sessions/read`: files read as sessions, without storing them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from app.errors import (
    InvalidBundleError,
    MalformedRequestError,
    SlowBodyError,
    UnsupportedMediaError,
)
from app.http.api_requests import ApiRequestDep
from app.http.api_route import ApiRoute
from app.http.conditions import parse_byte_count
from app.http.dependencies import service
from app.http.openapi_operations import describe_file_body
from app.http.problem_types import describe_errors
from pagefault_bundles.session_file_shapes import SessionFile
from pagefault_bundles.session_files import SessionFiles
from pagefault_dialects.errors import InvalidPayloadError, PayloadTooLargeError

router = APIRouter(prefix="/api/sessions", tags=["sessions"], route_class=ApiRoute)

SessionFilesDep = Annotated[SessionFiles, Depends(service(SessionFiles))]


@router.post(
    "/read",
    response_model=SessionFile,
    openapi_extra=describe_file_body(),
    responses=describe_errors(
        MalformedRequestError,
        SlowBodyError,
        PayloadTooLargeError,
        UnsupportedMediaError,
        InvalidPayloadError,
        InvalidBundleError,
    ),
)
async def read_session_file(api_request: ApiRequestDep, files: SessionFilesDep) -> Response:
    """Read a file as a session, without storing anything.

    The file is a transcript of Claude Code or Codex (JSON lines), a request or a response of a
    provider, a list of messages, or a bundle. Its bytes decide which; its `Content-Type` does not.
    The entries are those that storing it would make, and their media are in the answer.
    """
    length = api_request.request.headers.get("content-length", "")
    if length.isdigit():
        files.check_length(parse_byte_count(length))
    body = await files.read(api_request.project_id, api_request.stream_body())
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})
