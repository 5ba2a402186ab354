"""`/api/uploads`: files in pieces, over requests that may all break (tus 1.0.0)."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response

from app.errors import (
    ChecksumMismatchError,
    ConflictError,
    GoneError,
    InvalidPayloadError,
    MalformedRequestError,
    NotFoundError,
    PayloadTooLargeError,
    SlowBodyError,
    TusVersionError,
    UnsupportedMediaError,
)
from app.http.calls import CallDep
from app.http.problem_types import problem_responses
from app.http.record_responses import answer_record, read_responses
from app.http.tus import (
    ALGORITHMS,
    EXTENSIONS,
    PATH,
    PIECE_TYPE,
    VERSION,
    DraftDep,
    PieceDep,
    progress_headers,
    require_version,
    state_headers,
)
from app.wire.resources import UploadRecord, upload_record

router = APIRouter(prefix=PATH, tags=["uploads"])

UploadPath = Annotated[str, Path(description="The upload's id, the end of its `Location`.")]

_SPEAKS_TUS = [Depends(require_version)]
_PROGRESS = ("Tus-Resumable", "Upload-Offset", "Upload-Expires", "Upload-Resource")


def _with_headers(description: str, *names: str) -> dict[str, Any]:
    """The documentation of an answer that is nothing but headers."""
    headers = {name: {"schema": {"type": "string"}} for name in names}
    return {"description": description, "headers": headers}


_PIECE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {PIECE_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.options(
    "",
    status_code=204,
    response_class=Response,
    responses={
        204: _with_headers(
            "What is spoken here.",
            *("Tus-Resumable", "Tus-Version", "Tus-Extension"),
            *("Tus-Max-Size", "Tus-Checksum-Algorithm"),
        )
    },
)
async def get_upload_options(call: CallDep) -> Response:
    """Say what of the protocol is spoken here, and how long a file may be."""
    return Response(
        status_code=204,
        headers={
            "Tus-Version": VERSION,
            "Tus-Extension": EXTENSIONS,
            "Tus-Max-Size": str(call.container.limits.upload_bytes),
            "Tus-Checksum-Algorithm": ALGORITHMS,
        },
    )


@router.post(
    "",
    status_code=201,
    response_class=Response,
    dependencies=_SPEAKS_TUS,
    responses={
        201: _with_headers("The upload has begun.", "Location", *_PROGRESS),
        **problem_responses(
            MalformedRequestError,
            ConflictError,
            TusVersionError,
            PayloadTooLargeError,
            InvalidPayloadError,
        ),
    },
)
async def create_upload(call: CallDep, draft: DraftDep) -> Response:
    """Begin an upload of a file of known length; `Location` is where its pieces go."""
    upload = await call.container.uploads.create(call.project_id, draft)
    location = f"{PATH}/{upload.upload_id}"
    return Response(status_code=201, headers={**progress_headers(upload), "Location": location})


@router.head(
    "/{upload_id}",
    response_class=Response,
    dependencies=_SPEAKS_TUS,
    responses={
        200: _with_headers("Where it is.", *_PROGRESS, "Upload-Length", "Upload-Metadata"),
        **problem_responses(NotFoundError, ConflictError, GoneError, TusVersionError),
    },
)
async def get_upload_offset(call: CallDep, upload_id: UploadPath) -> Response:
    """Say where to go on with an upload: `Upload-Offset` is where the next piece begins.

    A piece that is still being sent ends with this, and what came of it is kept.
    """
    return Response(
        headers=state_headers(await call.container.uploads.resume(call.project_id, upload_id))
    )


@router.get(
    "/{upload_id}",
    response_model=UploadRecord,
    responses=read_responses(NotFoundError, ConflictError, GoneError),
)
async def get_upload(call: CallDep, upload_id: UploadPath) -> Response:
    """Read the same as JSON, with the resource that became of it."""
    upload, resource = await call.container.uploads.describe(call.project_id, upload_id)
    return answer_record(call.request, upload_record(upload, resource))


@router.patch(
    "/{upload_id}",
    status_code=204,
    response_class=Response,
    dependencies=_SPEAKS_TUS,
    openapi_extra=_PIECE_BODY,
    responses={
        204: _with_headers("The piece is kept.", *_PROGRESS),
        **problem_responses(
            MalformedRequestError,
            NotFoundError,
            SlowBodyError,
            ConflictError,
            GoneError,
            TusVersionError,
            PayloadTooLargeError,
            UnsupportedMediaError,
            ChecksumMismatchError,
        ),
    },
)
async def append_upload(call: CallDep, upload_id: UploadPath, piece: PieceDep) -> Response:
    """Send the next piece. What comes of it is kept, even if the request breaks.

    With the last piece the file is a resource: `Upload-Resource` is its URI.
    """
    chunks = call.body(call.container.limits.upload_bytes, in_pieces=True)
    upload = await call.container.uploads.receive(
        call.project_id, upload_id, piece=piece, chunks=chunks
    )
    return Response(status_code=204, headers=progress_headers(upload))


@router.delete(
    "/{upload_id}",
    status_code=204,
    dependencies=_SPEAKS_TUS,
    responses=problem_responses(NotFoundError, TusVersionError),
)
async def delete_upload(call: CallDep, upload_id: UploadPath) -> None:
    """Give an upload up. A resource that came of it stays."""
    await call.container.uploads.remove(call.project_id, upload_id)
