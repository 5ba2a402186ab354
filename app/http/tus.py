"""Parse and write the headers of the resumable upload protocol tus 1.0.0.

Source: https://tus.io/protocols/resumable-upload, the core protocol and the extensions creation,
expiration, checksum and termination. All values from headers are checked here.
"""

import base64
import re
from contextlib import suppress
from email.utils import format_datetime
from typing import Annotated, Final

from fastapi import Depends, Request
from pydantic import Field
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import TypeAliasType

from app.errors import MalformedRequestError, TusVersionError, UnsupportedMediaError
from app.http.conditions import parse_byte_count
from app.http.dependencies import ProjectDep
from app.http.problem_types import PROBLEM_TYPES
from app.models.upload import Checksum, ChecksumAlgorithm, ResumableUpload
from app.services.uploads.uploads import UploadDraft, UploadPiece
from pagefault_dialects.errors import Fault, InvalidPayloadError

PATH: Final = "/api/uploads"
"""The path of the upload routes."""
VERSION: Final = "1.0.0"
TusVersion = TypeAliasType(
    "TusVersion", Annotated[str, Field(json_schema_extra={"enum": [VERSION]})]
)
EXTENSIONS: Final = "creation,expiration,checksum,termination"
PIECE_TYPE: Final = "application/offset+octet-stream"
"""The media type of a piece, which is the body of a PATCH request."""

HEADERS: Final = (
    "Tus-Resumable",
    "Tus-Version",
    "Tus-Extension",
    "Tus-Max-Size",
    "Tus-Checksum-Algorithm",
    "Upload-Offset",
    "Upload-Length",
    "Upload-Metadata",
    "Upload-Expires",
    "Upload-Resource",
)
"""Response headers that pages of other origins may read."""

_DIGEST_BYTES: dict[ChecksumAlgorithm, int] = {"sha1": 20, "sha256": 32, "sha512": 64}
ALGORITHMS: Final = ",".join(_DIGEST_BYTES)

_NUMBER = re.compile(r"[0-9]+\Z")
_MAX_METADATA_CHARS = 4_096
_METADATA_KEY = re.compile(r"[!-+\--~]+\Z")
# The keys in `Upload-Metadata`, which differ between clients; the first one with a value is used.
_NAME_KEYS = ("filename", "name")
_TYPE_KEYS = ("filetype", "type", "mimeType")
_ALIAS_KEYS = ("alias",)
_MAX_QUOTED_CHARS = 256


class TusMiddleware:
    """Middleware that adds the protocol version to responses, and applies method overrides.

    Clients that cannot send PATCH or DELETE send POST with the method in `X-HTTP-Method-Override`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] != "http" or not f"{scope['path']}/".startswith(f"{PATH}/"):
            await self._app(scope, receive, send)
            return

        async def send_with_version(message: Message) -> None:
            if message["type"] == "http.response.start":
                # A response about an unsupported version also lists the supported one.
                message["headers"] = [*message["headers"], (b"tus-resumable", VERSION.encode())]
                if message["status"] == PROBLEM_TYPES[TusVersionError].status:
                    message["headers"].append((b"tus-version", VERSION.encode()))
            await send(message)

        override = Headers(scope=scope).get("x-http-method-override")
        method = scope["method"] if override is None else override.strip().upper()
        # The scope is copied, because the server still needs the real method, for example for HEAD.
        await self._app({**scope, "method": method}, receive, send_with_version)


async def require_version(request: Request, _: ProjectDep) -> None:
    """Raise TusVersionError if the request does not name version 1.0.0 of the protocol.

    `ProjectDep` authenticates the request first, so that a request without a valid key gets a 401.
    """
    if request.headers.getlist("tus-resumable") != [VERSION]:
        raise TusVersionError


async def read_draft(request: Request) -> UploadDraft:
    """Read the headers of a request that creates an upload.

    Raises:
        MalformedRequestError: The length is missing or invalid, or the metadata cannot be read.
        InvalidPayloadError: The query has a name or an alias, which belong in the metadata.
    """
    _check_query(request)
    if "upload-defer-length" in request.headers:
        raise MalformedRequestError(
            "Uploads of a length that is not known yet are not offered: send Upload-Length."
        )
    length_bytes = _parse_byte_header(request, "Upload-Length")
    # A list may be divided among several headers of this name (RFC 9110 §5.3).
    metadata = ", ".join(request.headers.getlist("upload-metadata")).strip() or None
    values = parse_metadata(metadata or "")
    return UploadDraft(
        length_bytes,
        metadata,
        _find_text(values, _NAME_KEYS),
        _find_text(values, _TYPE_KEYS),
        _find_text(values, _ALIAS_KEYS),
    )


async def read_piece(request: Request) -> UploadPiece:
    """Read the headers of a PATCH request, which has a piece of the file as its body.

    Raises:
        UnsupportedMediaError: The Content-Type is not that of a piece.
        MalformedRequestError: The offset is missing or invalid, or the header of the checksum is
            invalid or names an unsupported algorithm.
    """
    if request.headers.get("content-type", "").strip().lower() != PIECE_TYPE:
        raise UnsupportedMediaError(f"Send a piece with `Content-Type: {PIECE_TYPE}`.")
    offset = _parse_byte_header(request, "Upload-Offset")
    content_length = request.headers.get("content-length", "")
    checksums = request.headers.getlist("upload-checksum")
    return UploadPiece(
        offset=offset,
        declared_bytes=parse_byte_count(content_length) if _NUMBER.match(content_length) else None,
        checksum=parse_checksum(", ".join(checksums)) if checksums else None,
    )


DraftDep = Annotated[UploadDraft, Depends(read_draft)]
PieceDep = Annotated[UploadPiece, Depends(read_piece)]


def parse_metadata(text: str) -> dict[str, bytes]:
    """Return the values in `Upload-Metadata` by key.

    Raises:
        MalformedRequestError: The header is longer than 4 KiB, a key is invalid or repeated, or a
            value is not base64.
    """
    if len(text) > _MAX_METADATA_CHARS:
        raise MalformedRequestError(
            f"Upload-Metadata may have {_MAX_METADATA_CHARS} characters at most."
        )
    values: dict[str, bytes] = {}
    for pair in text.split(",") if text else ():
        key, _, value = pair.strip().partition(" ")
        if not _METADATA_KEY.match(key) or key in values:
            raise _build_metadata_error()
        try:
            values[key] = base64.b64decode(value, validate=True)
        except ValueError as exc:
            raise _build_metadata_error() from exc
    return values


def parse_checksum(text: str) -> Checksum:
    """Return the checksum in `Upload-Checksum`.

    Raises:
        MalformedRequestError: The algorithm is not supported, or the digest is not valid base64.
    """
    name, _, encoded = text.partition(" ")
    with suppress(ValueError):
        digest = base64.b64decode(encoded, validate=True)
        for algorithm, digest_bytes in _DIGEST_BYTES.items():
            if (name, len(digest)) == (algorithm, digest_bytes):
                return Checksum(algorithm, digest)
    raise MalformedRequestError(
        f"Upload-Checksum is verified for {ALGORITHMS}: send `sha256 <base64 of the digest>`."
    )


def build_progress_headers(upload: ResumableUpload) -> dict[str, str]:
    """Return the headers with the offset, the expiry and the resource of an upload."""
    headers = {
        "Upload-Offset": str(upload.received_bytes),
        # An HTTP-date (RFC 9110 §5.6.7), which has no fractions of a second.
        "Upload-Expires": format_datetime(upload.expires_at, usegmt=True),
    }
    if upload.resource_id is not None:
        headers["Upload-Resource"] = f"blob:{upload.resource_id}"
    return headers


def build_state_headers(upload: ResumableUpload) -> dict[str, str]:
    """Return the headers with the whole state of an upload, for clients that resume it."""
    headers = {
        **build_progress_headers(upload),
        "Upload-Length": str(upload.length_bytes),
        "Cache-Control": "no-store",
    }
    if upload.metadata is not None:
        headers["Upload-Metadata"] = upload.metadata
    return headers


def _check_query(request: Request) -> None:
    """Raise InvalidPayloadError if the query has a parameter of `POST /api/resources`.

    A client that sends such a parameter expects it to have an effect. Other parameters are ignored.
    """
    for name in (*_ALIAS_KEYS, _NAME_KEYS[0]):
        value = request.query_params.get(name)
        if value is not None:
            encoded = base64.b64encode(value[:_MAX_QUOTED_CHARS].encode()).decode()
            raise InvalidPayloadError(
                f"`{name}` is not read from the query here: send `Upload-Metadata: {name} "
                f"{encoded}`, with the text in base64. Nothing was done.",
                faults=[Fault(f"/query/{name}", "is read from Upload-Metadata")],
                code="unknown-parameter",
            )


def _parse_byte_header(request: Request, name: str) -> int:
    values = request.headers.getlist(name)
    if len(values) != 1 or not _NUMBER.match(values[0]):
        raise MalformedRequestError(f"Send {name} once, as a number of bytes.")
    return parse_byte_count(values[0])


def _find_text(values: dict[str, bytes], keys: tuple[str, ...]) -> str | None:
    """Return the first value under one of these keys that is not empty, decoded from UTF-8."""
    for key in keys:
        if values.get(key):
            try:
                return values[key].decode()
            except UnicodeDecodeError as exc:
                raise _build_metadata_error() from exc
    return None


def _build_metadata_error() -> MalformedRequestError:
    return MalformedRequestError(
        "Upload-Metadata cannot be read: send `key <base64>` pairs, separated by commas, each key "
        "once, names and types in UTF-8."
    )
