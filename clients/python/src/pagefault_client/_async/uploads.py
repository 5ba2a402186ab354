"""Uploads: small files in one request, others in pieces (tus)."""

import functools
import hashlib
import io
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

import httpx

from pagefault_client import aio, operations
from pagefault_client._async.transport import AsyncTransport
from pagefault_client.calls import Call
from pagefault_client.errors import (
    APIConnectionError,
    APIStatusError,
    DigestMismatchError,
    NotFoundError,
    PagefaultError,
)
from pagefault_client.models import ResourceRecord, TusVersion
from pagefault_client.retries import Attempts
from pagefault_client.sources import (
    ASK_FIRST_BYTES,
    ONE_REQUEST_BYTES,
    PIECE_BYTES,
    OnProgress,
    OpenedSource,
    UploadProgress,
    digest_header,
    digest_of_rest,
    open_source,
    tus_metadata,
    type_of_name,
)

TUS: TusVersion = "1.0.0"
SLOWEST_BYTES_PER_SECOND = 10_000_000


class AsyncUpload:
    """One upload of one source."""

    def __init__(
        self,
        transport: AsyncTransport,
        *,
        filename: str | None,
        mime_type: str | None,
        alias: str | None,
        on_progress: OnProgress | None,
    ) -> None:
        self._transport = transport
        self._filename = filename
        self._mime_type = mime_type
        self._alias = alias
        self._on_progress = on_progress
        self._hash = hashlib.sha256()

    async def run(
        self, source: object, *, length: int | None, upload_id: str | None
    ) -> ResourceRecord:
        """Upload a source, and return the resource."""
        opened = await aio.run_in_thread(open_source, source)
        try:
            if opened.file is None or (opened.length is None and length is None):
                opened = await self._open_iterable(opened, source, length)
            total = opened.length if opened.length is not None else length or 0
            self._transport = _extend_timeout(self._transport, total)
            self._filename = self._filename or opened.name
            self._mime_type = self._mime_type or type_of_name(self._filename)
            if total <= ONE_REQUEST_BYTES and upload_id is None:
                return await self._send_whole(opened, total)
            return await self._send_in_pieces(opened, total, upload_id)
        finally:
            opened.close()

    async def _open_iterable(
        self, opened: OpenedSource, source: object, length: int | None
    ) -> OpenedSource:
        """Return a reader of an iterable; without a known length, it is copied to a file first."""
        pieces = cast("AsyncIterable[bytes] | Iterable[bytes]", source)
        if opened.file is not None:
            # The file is a pipe.
            pieces = iter(functools.partial(opened.file.read, PIECE_BYTES), b"")
        if length is not None:
            return OpenedSource(None, length, opened.name, pieces=AsyncPieces(pieces))
        # The protocol needs the length first.
        copy = cast("BinaryIO", SpooledTemporaryFile(max_size=ONE_REQUEST_BYTES))  # noqa: SIM115
        async for piece in aio.pieces(pieces):
            await aio.run_in_thread(copy.write, piece)
        total = copy.tell()
        copy.seek(0)
        return OpenedSource(copy, total, opened.name, is_owned=True)

    async def _send_whole(self, opened: OpenedSource, total: int) -> ResourceRecord:
        body = await _read(opened, total)
        _check_length(len(body), total)
        digest = hashlib.sha256(body).digest()
        if known := await self._find_known(digest, total):
            return known
        resource = await self._transport.send(self._whole_call(body, digest))
        self._report_progress(total, total, None)
        return resource

    def _whole_call(self, body: bytes, digest: bytes) -> Call[ResourceRecord]:
        return operations.create_resource(
            body, filename=self._filename, alias=self._alias, repr_digest=digest_header(digest)
        ).replace(content_type=self._mime_type)

    async def _find_known(self, digest: bytes, total: int) -> ResourceRecord | None:
        """Return the resource of bytes that the project has; None if they have to be sent."""
        if total < ASK_FIRST_BYTES:
            return None
        try:
            resource = await self._transport.send(self._whole_call(b"", digest))
        except NotFoundError:
            return None
        self._report_progress(total, total, None)
        return resource

    async def _send_in_pieces(
        self, opened: OpenedSource, total: int, upload_id: str | None
    ) -> ResourceRecord:
        if upload_id is None:
            if opened.file is not None:
                digest = await aio.run_in_thread(digest_of_rest, opened.file, total)
                if known := await self._find_known(digest, total):
                    return known
            headers = await self._transport.send(self._creation_call(total))
            upload_id, offset = _require_header(headers, "Location").rpartition("/")[2], 0
        else:
            offset = await self._offset(upload_id)
            await self._skip(opened, offset)
        try:
            while offset < total:
                piece = await _read(opened, min(PIECE_BYTES, total - offset))
                _check_length(len(piece), min(PIECE_BYTES, total - offset))
                self._hash.update(piece)
                await self._send(upload_id, piece, offset)
                offset += len(piece)
                self._report_progress(offset, total, upload_id)
        except PagefaultError as error:
            error.add_note(f"resume the upload with upload_id={upload_id!r}, at byte {offset}")
            raise
        return await self._finish(upload_id)

    def _creation_call(self, total: int) -> Call[httpx.Headers]:
        metadata = tus_metadata(
            filename=self._filename, filetype=self._mime_type, alias=self._alias
        )
        # A retry may leave an empty upload behind, which expires.
        return operations.create_upload(
            tus_resumable=TUS, upload_length=str(total), upload_metadata=metadata
        ).replace(is_repeatable=True)

    async def _send(self, upload_id: str, piece: bytes, offset: int) -> None:
        """Send a piece, with retries, until it is stored."""
        sent = 0
        attempts: Attempts | None = None
        while sent < len(piece):
            call = operations.append_upload(
                upload_id, piece[sent:], tus_resumable=TUS, upload_offset=str(offset + sent)
            ).replace(is_repeatable=True)
            attempts = attempts or Attempts(call, self._transport.options.max_retries)
            try:
                answer = await self._transport.send_once(call, stream=False)
                stored = int(_require_header(answer.headers, "Upload-Offset"))
            except (APIConnectionError, APIStatusError) as error:
                # After a lost connection, the service may still be writing the received bytes. The
                # offset is outdated then: the piece is refused, and the offset is requested again.
                is_offset_error = (
                    isinstance(error, APIStatusError) and error.code == "upload-offset"
                )
                pause = attempts.pause_after(error) if attempts.made or not is_offset_error else 0.0
                attempts.made = max(attempts.made, 1)
                if pause is None:
                    raise
                await aio.sleep(pause)
                stored = await self._offset(upload_id)
            if not offset <= stored <= offset + len(piece):
                raise PagefaultError(
                    f"upload {upload_id} is at byte {stored}, expected {offset}: another client is "
                    "sending to it"
                )
            attempts.made = attempts.made if stored - offset == sent else 0
            sent = stored - offset

    async def _skip(self, opened: OpenedSource, offset: int) -> None:
        """Read the stored part of the source, for the digest."""
        while offset:
            piece = await _read(opened, min(PIECE_BYTES, offset))
            _check_length(len(piece), min(PIECE_BYTES, offset))
            self._hash.update(piece)
            offset -= len(piece)

    async def _offset(self, upload_id: str) -> int:
        headers = await self._transport.send(
            operations.get_upload_offset(upload_id, tus_resumable=TUS)
        )
        return int(_require_header(headers, "Upload-Offset"))

    async def _finish(self, upload_id: str) -> ResourceRecord:
        upload = await self._transport.send(operations.get_upload(upload_id))
        resource = upload["resource"]
        if resource is None:
            raise PagefaultError(f"upload {upload_id} is complete and has no resource")
        if resource["digest"] != f"sha-256:{self._hash.hexdigest()}":
            raise DigestMismatchError(
                f"upload {upload_id} was changed in transit: its digest differs"
            )
        return await self._transport.send(operations.get_resource(resource["uri"]))

    def _report_progress(self, sent: int, total: int, upload_id: str | None) -> None:
        if self._on_progress is not None:
            self._on_progress(UploadProgress(sent, total, upload_id))


class AsyncPieces:
    """An iterable of bytes with the `read` of a file."""

    def __init__(self, pieces: AsyncIterable[bytes] | Iterable[bytes]) -> None:
        self._pieces: AsyncIterator[bytes] = aio.pieces(pieces).__aiter__()
        self._rest = io.BytesIO()

    async def read(self, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end."""
        chunks = [self._rest.read(size)]
        while (missing := size - sum(map(len, chunks))) > 0:
            try:
                piece = await self._pieces.__anext__()
            except StopAsyncIteration:
                break
            chunks.append(piece[:missing])
            self._rest = io.BytesIO(piece[missing:])
        return b"".join(chunks)


def _extend_timeout(transport: AsyncTransport, total: int) -> AsyncTransport:
    """Return a transport whose timeout allows the service to assemble a large file."""
    base = transport.options.timeout
    if base.read is None:
        return transport
    timeout = httpx.Timeout(
        connect=base.connect,
        write=base.write,
        pool=base.pool,
        read=base.read + total / SLOWEST_BYTES_PER_SECOND,
    )
    return transport.with_options(timeout=timeout)


async def _read(source: OpenedSource, size: int) -> bytes:
    """Return the next `size` bytes of a source, or fewer at its end."""
    if source.pieces is not None:
        piece: bytes = await source.pieces.read(size)
        return piece
    file = cast("BinaryIO", source.file)
    chunks: list[bytes] = []
    while size and (piece := await aio.run_in_thread(file.read, size)):
        chunks.append(piece)
        size -= len(piece)
    return b"".join(chunks)


def _require_header(headers: httpx.Headers, name: str) -> str:
    """Return a header of an answer.

    Raises:
        PagefaultError: The header is missing.
    """
    if name not in headers:
        raise PagefaultError(
            f"the answer has no header {name}: the server is not Pagefault, or a proxy removes "
            "headers. Check `base_url` and the proxies in between"
        )
    return headers[name]


def _check_length(length: int, expected: int) -> None:
    if length < expected:
        raise ValueError(f"the source ended {expected - length} bytes before its announced length")
