"""`/api/uploads`: resumable uploads of files in pieces (tus 1.0.0)."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from app.errors import (
    ChecksumMismatchError,
    ConflictError,
    GoneError,
    MalformedRequestError,
    NotFoundError,
    SlowBodyError,
    TusVersionError,
    UnsupportedMediaError,
)
from app.http.api_requests import ApiRequestDep
from app.http.dependencies import service
from app.http.openapi_operations import (
    build_reference,
    describe_file_body,
    describe_header,
    describe_response_headers,
)
from app.http.problem_types import describe_errors, describe_read_responses
from app.http.record_responses import build_record_response
from app.http.tus import (
    ALGORITHMS,
    EXTENSIONS,
    PATH,
    PIECE_TYPE,
    VERSION,
    DraftDep,
    PieceDep,
    TusVersion,
    build_progress_headers,
    build_state_headers,
    require_version,
)
from app.services.uploads.uploads import Uploads
from app.wire.resources import UploadRecord, encode_upload
from pagefault_dialects.errors import InvalidPayloadError, PayloadTooLargeError

router = APIRouter(prefix=PATH, tags=["uploads"])

UploadsDep = Annotated[Uploads, Depends(service(Uploads))]

UploadPath = Annotated[str, Path(description="The upload's id, the last part of its `Location`.")]

_REQUIRES_VERSION = [Depends(require_version)]
_PROTOCOL = describe_header(
    "Tus-Resumable", "The version of the protocol.", required=True, **build_reference(TusVersion)
)
_LENGTH = describe_header(
    "Upload-Length",
    "The size of the whole file in bytes.",
    required=True,
    type="integer",
    minimum=0,
)
_OFFSET = describe_header(
    "Upload-Offset",
    "The offset of the piece in the file.",
    required=True,
    type="integer",
    minimum=0,
)
_METADATA = describe_header(
    "Upload-Metadata", "`filename <base64>,filetype <base64>,alias <base64>`."
)
_CHECKSUM = describe_header("Upload-Checksum", "`sha256 <base64>`; also sha1 and sha512.")

_VERSION_HEADER = describe_response_headers(Tus_Resumable=("string", f"`{VERSION}`."))
_PROGRESS_HEADERS = _VERSION_HEADER | describe_response_headers(
    Upload_Offset=("integer", "The number of bytes that are received and stored."),
    Upload_Expires=("string", "When the upload expires; each piece extends it."),
    Upload_Resource=("string", "The URI of the resource, after the last piece."),
)
_CREATED_HEADERS = _PROGRESS_HEADERS | describe_response_headers(
    Location=("string", "The URL to which pieces are sent.")
)
_STATE_HEADERS = _PROGRESS_HEADERS | describe_response_headers(
    Upload_Length=("integer", "The size of the whole file in bytes."),
    Upload_Metadata=("string", "The metadata as they were sent."),
)
_OPTIONS_HEADERS = _VERSION_HEADER | describe_response_headers(
    Tus_Version=("string", f"`{VERSION}`."),
    Tus_Extension=("string", "The supported extensions of the protocol."),
    Tus_Max_Size=("integer", "The maximal size of a file in bytes."),
    Tus_Checksum_Algorithm=("string", "The supported algorithms for checksums of pieces."),
)


@router.options(
    "",
    status_code=204,
    response_class=Response,
    responses={
        204: {"description": "The supported protocol.", "headers": _OPTIONS_HEADERS},
    },
)
async def get_upload_options(api_request: ApiRequestDep) -> Response:
    """Return the supported parts of the protocol, and the maximal size of a file."""
    return Response(
        status_code=204,
        headers={
            "Tus-Version": VERSION,
            "Tus-Extension": EXTENSIONS,
            "Tus-Max-Size": str(api_request.limits.upload_bytes),
            "Tus-Checksum-Algorithm": ALGORITHMS,
        },
    )


@router.post(
    "",
    status_code=201,
    response_class=Response,
    dependencies=_REQUIRES_VERSION,
    openapi_extra={"parameters": [_PROTOCOL, _LENGTH, _METADATA]},
    responses={
        201: {"description": "The upload has begun.", "headers": _CREATED_HEADERS},
        **describe_errors(
            MalformedRequestError,
            ConflictError,
            TusVersionError,
            PayloadTooLargeError,
            InvalidPayloadError,
        ),
    },
)
async def create_upload(
    api_request: ApiRequestDep, uploads: UploadsDep, draft: DraftDep
) -> Response:
    """Begin the upload of a file of known length. Send its pieces to the URL in `Location`."""
    upload = await uploads.create(api_request.project_id, draft)
    location = f"{PATH}/{upload.upload_id}"
    return Response(
        status_code=201, headers={**build_progress_headers(upload), "Location": location}
    )


@router.head(
    "/{upload_id}",
    response_class=Response,
    dependencies=_REQUIRES_VERSION,
    openapi_extra={"parameters": [_PROTOCOL]},
    responses={
        200: {"description": "The state of the upload.", "headers": _STATE_HEADERS},
        **describe_errors(NotFoundError, ConflictError, GoneError, TusVersionError),
    },
)
async def get_upload_offset(
    api_request: ApiRequestDep, uploads: UploadsDep, upload_id: UploadPath
) -> Response:
    """Return the state of an upload: `Upload-Offset` is the offset of the next piece.

    If a request is still sending a piece, this request ends it; the received bytes stay stored.
    """
    return Response(
        headers=build_state_headers(await uploads.resume(api_request.project_id, upload_id))
    )


@router.get(
    "/{upload_id}",
    response_model=UploadRecord,
    responses=describe_read_responses(NotFoundError, ConflictError, GoneError),
)
async def get_upload(
    api_request: ApiRequestDep, uploads: UploadsDep, upload_id: UploadPath
) -> Response:
    """Read the state of an upload as JSON, with its resource."""
    upload, resource = await uploads.describe(api_request.project_id, upload_id)
    return build_record_response(api_request.request, encode_upload(upload, resource))


@router.patch(
    "/{upload_id}",
    status_code=204,
    response_class=Response,
    dependencies=_REQUIRES_VERSION,
    openapi_extra={"parameters": [_PROTOCOL, _OFFSET, _CHECKSUM], **describe_file_body(PIECE_TYPE)},
    responses={
        204: {"description": "The piece is stored.", "headers": _PROGRESS_HEADERS},
        **describe_errors(
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
async def append_upload(
    api_request: ApiRequestDep, uploads: UploadsDep, upload_id: UploadPath, piece: PieceDep
) -> Response:
    """Send the next piece. Received bytes stay stored, even if the connection breaks.

    After the last piece the file is a resource: `Upload-Resource` is its URI.
    """
    chunks = api_request.stream_body(api_request.limits.upload_bytes, keeps_received=True)
    upload = await uploads.receive(api_request.project_id, upload_id, piece=piece, chunks=chunks)
    return Response(status_code=204, headers=build_progress_headers(upload))


@router.delete(
    "/{upload_id}",
    status_code=204,
    dependencies=_REQUIRES_VERSION,
    openapi_extra={"parameters": [_PROTOCOL]},
    responses=describe_errors(NotFoundError, TusVersionError),
)
async def delete_upload(
    api_request: ApiRequestDep, uploads: UploadsDep, upload_id: UploadPath
) -> None:
    """Delete an upload. If it is complete, its resource stays."""
    await uploads.remove(api_request.project_id, upload_id)
