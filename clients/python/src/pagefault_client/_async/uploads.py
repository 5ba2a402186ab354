"""Uploads: small ones in one request, others in pieces that survive a cut."""

import functools
import hashlib
import io
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from dataclasses import replace
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

import httpx

from pagefault_client import aio, operations
from pagefault_client._async.transport import AsyncTransport
from pagefault_client.calls import Call
from pagefault_client.errors import (
    ConnectionFailedError,
    DigestMismatchError,
    PagefaultError,
    ProblemError,
)
from pagefault_client.models import ResourceRecord, TusVersion
from pagefault_client.retrying import Attempts
from pagefault_client.sources import (
    ONE_REQUEST_BYTES,
    PIECE_BYTES,
    OnProgress,
    Opened,
    UploadProgress,
    digest_header,
    opened,
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
        """Send a source, and return the resource that it is now."""
        found = await aio.in_thread(opened, source)
        try:
            if found.file is None or (found.length is None and length is None):
                found = await self._readable(found, source, length)
            total = found.length if found.length is not None else length or 0
            self._transport = _patient(self._transport, total)
            self._filename = self._filename or found.name
            self._mime_type = self._mime_type or type_of_name(self._filename)
            if total <= ONE_REQUEST_BYTES and upload_id is None:
                return await self._at_once(found, total)
            return await self._in_pieces(found, total, upload_id)
        finally:
            found.close()

    async def _readable(self, found: Opened, source: object, length: int | None) -> Opened:
        """Return an iterable as a file: itself if its length is known, else a copy of it."""
        pieces = cast("AsyncIterable[bytes] | Iterable[bytes]", source)
        if found.file is not None:
            # A pipe.
            pieces = iter(functools.partial(found.file.read, PIECE_BYTES), b"")
        if length is not None:
            return Opened(None, length, found.name, pieces=AsyncPieces(pieces))
        # The protocol asks for the length first.
        copy = cast("BinaryIO", SpooledTemporaryFile(max_size=ONE_REQUEST_BYTES))  # noqa: SIM115
        async for piece in aio.pieces(pieces):
            await aio.in_thread(copy.write, piece)
        total = copy.tell()
        copy.seek(0)
        return Opened(copy, total, found.name, is_ours=True)

    async def _at_once(self, found: Opened, total: int) -> ResourceRecord:
        body = await _read(found, total)
        _expect(len(body), total)
        call = operations.create_resource(
            body,
            filename=self._filename,
            alias=self._alias,
            repr_digest=digest_header(hashlib.sha256(body).digest()),
        )
        made = await self._transport.send(call.changed(content_type=self._mime_type))
        self._tell(total, total, None)
        return made

    async def _in_pieces(self, found: Opened, total: int, upload_id: str | None) -> ResourceRecord:
        if upload_id is None:
            made = await self._transport.send(self._creation(total))
            upload_id, offset = _header(made, "Location").rpartition("/")[2], 0
        else:
            offset = await self._offset(upload_id)
            await self._skip(found, offset)
        try:
            while offset < total:
                piece = await _read(found, min(PIECE_BYTES, total - offset))
                _expect(len(piece), min(PIECE_BYTES, total - offset))
                self._hash.update(piece)
                await self._send(upload_id, piece, offset)
                offset += len(piece)
                self._tell(offset, total, upload_id)
        except PagefaultError as error:
            error.add_note(f"the upload goes on with upload_id={upload_id!r}, at byte {offset}")
            raise
        return await self._finished(upload_id)

    def _creation(self, total: int) -> Call[httpx.Headers]:
        named = tus_metadata(filename=self._filename, filetype=self._mime_type, alias=self._alias)
        # Repeated, it leaves an empty upload behind, which expires.
        return operations.create_upload(
            tus_resumable=TUS, upload_length=str(total), upload_metadata=named
        ).changed(is_repeatable=True)

    async def _send(self, upload_id: str, piece: bytes, offset: int) -> None:
        """Send a piece until all of it is stored."""
        sent = 0
        attempts: Attempts | None = None
        while sent < len(piece):
            call = operations.append_upload(
                upload_id, piece[sent:], tus_resumable=TUS, upload_offset=str(offset + sent)
            ).changed(is_repeatable=True)
            attempts = attempts or Attempts(call, self._transport.options.retries)
            try:
                answer = await self._transport.once(call, stream=False)
                stored = int(_header(answer.headers, "Upload-Offset"))
            except (ConnectionFailedError, ProblemError) as error:
                # An offset told after a cut may be old by now, if the service was still writing
                # down what had come: then it refuses, and the offset is asked for again.
                is_elsewhere = isinstance(error, ProblemError) and error.code == "upload-offset"
                pause = attempts.pause_after(error) if attempts.made or not is_elsewhere else 0.0
                attempts.made = max(attempts.made, 1)
                if pause is None:
                    raise
                await aio.sleep(pause)
                stored = await self._offset(upload_id)
            if not offset <= stored <= offset + len(piece):
                raise PagefaultError(
                    f"upload {upload_id} is at byte {stored}, and here at {offset}: somebody else "
                    "sends to it"
                )
            attempts.made = attempts.made if stored - offset == sent else 0
            sent = stored - offset

    async def _skip(self, found: Opened, offset: int) -> None:
        """Read what is stored already, for the digest."""
        while offset:
            piece = await _read(found, min(PIECE_BYTES, offset))
            _expect(len(piece), min(PIECE_BYTES, offset))
            self._hash.update(piece)
            offset -= len(piece)

    async def _offset(self, upload_id: str) -> int:
        headers = await self._transport.send(
            operations.get_upload_offset(upload_id, tus_resumable=TUS)
        )
        return int(_header(headers, "Upload-Offset"))

    async def _finished(self, upload_id: str) -> ResourceRecord:
        upload = await self._transport.send(operations.get_upload(upload_id))
        resource = upload["resource"]
        if resource is None:
            raise PagefaultError(f"upload {upload_id} is complete and has no resource")
        if resource["digest"] != f"sha-256:{self._hash.hexdigest()}":
            raise DigestMismatchError(f"upload {upload_id} arrived with other bytes than were sent")
        return await self._transport.send(operations.get_resource(resource["uri"]))

    def _tell(self, sent: int, total: int, upload_id: str | None) -> None:
        if self._on_progress is not None:
            self._on_progress(UploadProgress(sent, total, upload_id))


class AsyncPieces:
    """An iterable of bytes, read as from a file."""

    def __init__(self, pieces: AsyncIterable[bytes] | Iterable[bytes]) -> None:
        self._pieces: AsyncIterator[bytes] = aio.pieces(pieces).__aiter__()
        self._rest = io.BytesIO()

    async def read(self, size: int) -> bytes:
        """Return `size` bytes, or fewer at the end."""
        taken = [self._rest.read(size)]
        while sum(map(len, taken)) < size:
            try:
                piece = await self._pieces.__anext__()
            except StopAsyncIteration:
                break
            left = size - sum(map(len, taken))
            taken.append(piece[:left])
            self._rest = io.BytesIO(piece[left:])
        return b"".join(taken)


def _patient(transport: AsyncTransport, total: int) -> AsyncTransport:
    """Return a transport that waits until the service has put a file together."""
    usual = transport.options.timeout
    if usual.read is None:
        return transport
    longer = httpx.Timeout(
        connect=usual.connect,
        write=usual.write,
        pool=usual.pool,
        read=usual.read + total / SLOWEST_BYTES_PER_SECOND,
    )
    return AsyncTransport(transport.http, replace(transport.options, timeout=longer))


async def _read(found: Opened, size: int) -> bytes:
    """Return bytes of a source: all that are asked for, or those up to its end."""
    if found.pieces is not None:
        piece: bytes = await found.pieces.read(size)
        return piece
    file = cast("BinaryIO", found.file)
    taken: list[bytes] = []
    while size and (piece := await aio.in_thread(file.read, size)):
        taken.append(piece)
        size -= len(piece)
    return b"".join(taken)


def _header(headers: httpx.Headers, name: str) -> str:
    """Return a header of an answer.

    Raises:
        PagefaultError: The answer has none.
    """
    if name not in headers:
        raise PagefaultError(
            f"an answer without {name}: what answers is not Pagefault, or a proxy takes headers "
            "away. Look at `base_url`, and at proxies in between"
        )
    return headers[name]


def _expect(came: int, announced: int) -> None:
    if came < announced:
        raise ValueError(f"the source ended {announced - came} bytes before its announced length")
