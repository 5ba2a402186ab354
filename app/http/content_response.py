"""Responses with stored bytes: conditions, ranges and headers.

The conditions of the request are evaluated first (RFC 9110 §13.2). Nothing is compressed: media are
compressed already, and a coding would change the meaning of ranges and digests.

Instead of this process, the proxy in front of the service or the bucket may send the bytes.
Conditions and ranges are still evaluated here. A request is offloaded to another server only if
that server would send the same response.

Content is opened when the response is sent. The first bytes are read before the headers are sent,
so missing bytes become a problem document and not a truncated body. A piece stays in memory until
the client has received it. Therefore memory is reserved in the budget before anything is read, and
pieces become small when half of the budget is used.
"""

import re
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import anyio
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.errors import RangeNotSatisfiableError, StoreUnavailableError
from app.http.conditions import (
    CACHE_FOREVER,
    LARGEST_NUMBER,
    build_304_response,
    encode_headers,
    evaluate_conditions,
    join_repeated_headers,
    make_strong_etag,
    parse_byte_count,
    range_applies,
)
from app.http.content_headers import (
    Disposition,
    build_safe_headers,
    format_content_disposition,
    format_content_type,
    format_repr_digest,
    may_be_inline,
    wants_repr_digest,
)
from app.http.response_memory import build_body_message, build_start_message
from app.services.access.published_content import ResourcePolicy
from app.services.memory_budget.budget import MemoryBudget, MemoryReservation
from app.services.resources.content_sources import ContentSource, ContentSources, Sender, StoreLink
from app.wiring.services import Services
from pagefault_dialects.media.raw_audio import WAV_TYPE
from pagefault_dialects.model.media import CHUNK_BYTES
from pagefault_dialects.model.resource import Resource

MAX_RANGES = 16
"""More ranges than this are ignored (RFC 9110 §17.15: many small ranges are an attack)."""

_RANGE_SPEC = re.compile(r"([0-9]*)-([0-9]*)")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A half-open range of bytes: `start` is included, `end` is not."""

    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes in the range."""
        return self.end - self.start

    def content_range(self, size_bytes: int) -> str:
        """Return the `Content-Range` value of this range of a content of `size_bytes` bytes."""
        return f"bytes {self.start}-{self.end - 1}/{size_bytes}"


def parse_range(header: str, size: int) -> list[ByteRange] | None:
    """Return the byte ranges to send, or `None` to ignore the header and send the whole content.

    Ranges are cut at the end of the content. If at least one range is inside the content, ranges
    outside of it are dropped. If ranges overlap or touch, they are merged, and all ranges are
    returned in ascending order. Otherwise they keep the order of the request.

    Malformed headers are ignored, as §14.2 allows, and so are suffixes of empty content.

    Args:
        header: The value of `Range`.
        size: The size of the content in bytes.

    Raises:
        RangeNotSatisfiableError: The header is well-formed, and no range lies inside the content.
    Source: RFC 9110 §14.1.1, §14.1.2, §14.2 and §15.3.7.2 (coalescing).
    """
    unit, separator, range_set = header.strip(" \t").partition("=")
    if not separator or unit.lower() != "bytes":
        return None
    # Empty elements of a list are ignored (RFC 9110 §5.6.1.2).
    specs = [spec for element in range_set.split(",") if (spec := element.strip(" \t"))]
    if not 0 < len(specs) <= MAX_RANGES:
        return None
    ranges: list[ByteRange] = []
    for spec in specs:
        byte_range = _parse_range_spec(spec, size)
        if byte_range is None:
            return None
        ranges.append(byte_range)
    return _clamp_to_content(ranges, size)


def _parse_range_spec(spec: str, size: int) -> ByteRange | None:
    """Parse one range, which may exceed the content; return `None` if it is malformed."""
    match = _RANGE_SPEC.fullmatch(spec)
    if match is None or spec == "-":
        return None
    first, last = match.groups()
    if not first:
        length = parse_byte_count(last)
        # A suffix of 0 bytes is well-formed, but outside of the content, like a range at its end.
        return ByteRange(max(0, size - length), size) if length else ByteRange(size, size + 1)
    start = parse_byte_count(first)
    end = parse_byte_count(last) + 1 if last else LARGEST_NUMBER + 1
    return ByteRange(start, end) if start < end else None


def _clamp_to_content(ranges: list[ByteRange], size: int) -> list[ByteRange] | None:
    """Return the parts of ranges that lie inside the content; `None` to ignore the ranges.

    Raises:
        RangeNotSatisfiableError: No range lies inside the content.
    """
    if size == 0 and ByteRange(0, 0) in ranges:
        # A suffix of empty content.
        return None
    inside = [
        ByteRange(byte_range.start, min(byte_range.end, size))
        for byte_range in ranges
        if byte_range.start < size
    ]
    if not inside:
        raise RangeNotSatisfiableError(size)
    merged = _merge_ranges(inside)
    return inside if len(merged) == len(inside) else merged


def _merge_ranges(ranges: list[ByteRange]) -> list[ByteRange]:
    """Return ranges in ascending order. Ranges that overlap or touch are merged into one."""
    ascending = sorted(ranges, key=lambda byte_range: byte_range.start)
    merged = ascending[:1]
    for byte_range in ascending[1:]:
        last = merged[-1]
        if byte_range.start <= last.end:
            merged[-1] = ByteRange(last.start, max(last.end, byte_range.end))
        else:
            merged.append(byte_range)
    return merged


OpenRange = Callable[[int, int], Awaitable[AsyncIterator[bytes]]]
"""Opens the half-open range from a start to an end. It raises if the bytes are missing. The
iterator yields exactly the bytes of the range."""

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Headers as they are sent: names in lower case."""

FindFile = Callable[[], Awaitable[Path | None]]
"""Returns the path of the file with the bytes; `None` if the store has no local files. It raises if
the file is missing."""

SMALL_PIECE_BYTES = 64 * 1024
"""The length of a small piece. For a response of one small piece, no memory is reserved."""
SMALL_PIECES_MEMORY = 2 * SMALL_PIECE_BYTES
"""Memory for a response in small pieces: the one being sent, and one that the server buffers."""
_READ_AHEAD_BYTES = 4 * CHUNK_BYTES
"""Memory for reading ahead in an object of a bucket."""
_PATHSEND_EXTENSION = "http.response.pathsend"


@dataclass(frozen=True, slots=True)
class BodyPart:
    """A part of a body: a range of the content, and other bytes that are sent before the range."""

    introduction: bytes
    """The headers of the part in a multipart body; otherwise empty."""
    byte_range: ByteRange


@dataclass(frozen=True, slots=True)
class ContentMemory:
    """The memory that is reserved for one response while it is sent."""

    budget: MemoryBudget
    """The budget of the process."""
    large_pieces_bytes: int
    """The memory for reading and sending large pieces."""
    reserved: MemoryReservation
    """The reserved memory, at least `SMALL_PIECES_MEMORY`."""

    def reserve_for_large_pieces(self) -> bool:
        """Reserve memory for large pieces, unless more than a quarter of the budget would be used.

        Returns:
            True if there is memory for large pieces.
        """
        more_bytes = self.large_pieces_bytes - self.reserved.size_bytes
        if more_bytes <= 0:
            return True
        if self.budget.held_bytes + more_bytes > self.budget.limit_bytes // 4:
            return False
        self.reserved.grow(more_bytes)
        return True

    def release_if_short(self) -> bool:
        """Release the memory for large pieces if more than half of the budget is used.

        Returns:
            True if the memory was released.
        """
        if self.budget.held_bytes <= self.budget.limit_bytes // 2:
            return False
        self.reserved.resize(min(self.reserved.size_bytes, SMALL_PIECES_MEMORY))
        return True


@asynccontextmanager
async def reserve_content_memory(scope: Scope, size_bytes: int) -> AsyncIterator[ContentMemory]:
    """Reserve memory for one response with stored bytes while the block runs.

    Args:
        scope: The scope of the request.
        size_bytes: The length of the longest range of the response.

    Raises:
        OverloadedError: No memory became free within a short wait.
    """
    services: Services = scope["state"]["services"]
    memory = services[MemoryBudget]
    large_pieces_bytes = min(CHUNK_BYTES, size_bytes)
    if services[ContentSources].files is None:
        large_pieces_bytes += min(_READ_AHEAD_BYTES, size_bytes)
    async with memory.reserving(SMALL_PIECES_MEMORY) as reserved:
        yield ContentMemory(memory, large_pieces_bytes, reserved)


class ContentPiece(Response):
    """A response with one range of at most `CHUNK_BYTES`, which is read before it is sent.

    Args:
        byte_range: The range to send.
        open_range: Opens a range of the content.
        status: The status of the response.
        headers: All headers, as they are sent.
    """

    def __init__(
        self, byte_range: ByteRange, *, open_range: OpenRange, status: int, headers: RawHeaders
    ) -> None:
        self._span = byte_range
        self._open_range = open_range
        # Starlette's constructor is not called: it would take longer than reading the bytes.
        self.status_code = status
        self.background = None
        self.raw_headers = list(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the range and send it in one message, or in small pieces if memory is short.

        Raises:
            OverloadedError: No memory could be reserved; nothing was sent.
        """
        if self._span.size_bytes <= SMALL_PIECE_BYTES:
            body = await self._read()
            await send(build_start_message(self))
            await send(build_body_message(body, more=False))
            return
        async with reserve_content_memory(scope, self._span.size_bytes) as memory:
            if memory.reserve_for_large_pieces():
                body = await self._read()
                await send(build_start_message(self))
                await send(build_body_message(body))
            else:
                await self._send_pieces(memory, send)
            # The server waits here until the client has received most of the body.
            await send(build_body_message(b"", more=False))

    async def _send_pieces(self, memory: ContentMemory, send: Send) -> None:
        async with aclosing(_read_pieces(self._open_range, self._span, memory)) as pieces:
            piece = await anext(pieces)
            await send(build_start_message(self))
            await _send_and_wait(send, piece)
            async for piece in pieces:
                await _send_and_wait(send, piece)

    async def _read(self) -> bytes:
        chunks = await self._open_range(self._span.start, self._span.end)
        try:
            body = b"".join([chunk async for chunk in chunks])
        except BaseException:
            # An iterator that was read to its end is closed already.
            await _close_iterator(chunks)
            raise
        if len(body) != self._span.size_bytes:
            # Another process has truncated the file. An error can still be sent.
            raise StoreUnavailableError("blob store")
        return body


class ContentStream(StreamingResponse):
    """A response with one or more ranges, which are read and sent piece by piece.

    Args:
        parts: The parts of the body, in order.
        closing: The bytes after the last part.
        open_range: Opens a range of the content.
        status: The status of the response.
        headers: The headers without `Content-Length`.
        find_file: Set only if the body is the whole content: a server with the extension
            `http.response.pathsend` reads the file itself.
    """

    def __init__(
        self,
        parts: Sequence[BodyPart],
        closing: bytes = b"",
        *,
        open_range: OpenRange,
        status: int,
        headers: Mapping[str, str],
        find_file: FindFile | None = None,
    ) -> None:
        self._parts = parts
        self._closing = closing
        self._open_range = open_range
        self._find_file = find_file
        size_bytes = len(closing) + sum(
            len(part.introduction) + part.byte_range.size_bytes for part in parts
        )
        # The base class needs an iterator, but `stream_response` reads the parts.
        super().__init__(
            (), status_code=status, headers={**headers, "Content-Length": str(size_bytes)}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, and stop if the client disconnects.

        Raises:
            OverloadedError: No memory could be reserved; nothing was sent.
        """
        if await self._send_path(scope, send):
            return
        longest = max(part.byte_range.size_bytes for part in self._parts)
        async with reserve_content_memory(scope, longest) as self._memory:
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        """Read the first piece, then send the headers, the parts and the closing bytes."""
        for index, part in enumerate(self._parts):
            async with aclosing(
                _read_pieces(self._open_range, part.byte_range, self._memory)
            ) as pieces:
                piece = await anext(pieces, b"")
                if index == 0:
                    await send(build_start_message(self))
                if part.introduction:
                    await send(build_body_message(part.introduction))
                await _send_and_wait(send, piece)
                async for piece in pieces:
                    await _send_and_wait(send, piece)
        await send(build_body_message(self._closing, more=False))

    async def _send_path(self, scope: Scope, send: Send) -> bool:
        """Send the path of the file to the server, which reads the file.

        Returns:
            True if the response was sent. False if there is no file, or the server does not have
            the extension; then nothing was sent.
        """
        if self._find_file is None or _PATHSEND_EXTENSION not in (scope.get("extensions") or {}):
            return False
        path = await self._find_file()
        if path is None:
            return False
        await send(build_start_message(self))
        await send({"type": _PATHSEND_EXTENSION, "path": str(path)})
        return True


async def _send_and_wait(send: Send, chunk: bytes) -> None:
    """Send a chunk, and return when the client has received most of it.

    If the next chunk is read only then, a single chunk is in memory.
    """
    await send(build_body_message(chunk))
    # The server waits before it accepts the next message, even an empty one.
    await send(build_body_message(b""))


async def _read_pieces(
    open_range: OpenRange, byte_range: ByteRange, memory: ContentMemory
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a range, in small pieces while memory is short."""
    position = byte_range.start
    while position < byte_range.end:
        has_large_pieces = memory.reserve_for_large_pieces()
        end = (
            byte_range.end
            if has_large_pieces
            else min(position + SMALL_PIECE_BYTES, byte_range.end)
        )
        previous_position = position
        chunks = await open_range(position, end)
        try:
            async for chunk in chunks:
                position += len(chunk)
                yield chunk
                if has_large_pieces and position < end and memory.release_if_short():
                    break
        finally:
            await _close_iterator(chunks)
        if position == previous_position:
            # The bytes are missing. Without an error, the truncated body would look complete.
            raise StoreUnavailableError("blob store")


async def _close_iterator(chunks: AsyncIterator[bytes]) -> None:
    if aclose := getattr(chunks, "aclose", None):
        # The file has to be closed even if this task is cancelled, because the client disconnects.
        with anyio.CancelScope(shield=True):
            await aclose()


# The headers of a request that change the response: conditions, ranges, and digests.
_CONDITION_HEADERS = frozenset(
    {
        "if-match",
        "if-none-match",
        "if-modified-since",
        "if-unmodified-since",
        "if-range",
        "range",
        "want-repr-digest",
    }
)

# With these conditions, a request is not offloaded. Another server would evaluate them again, with
# other tags and dates than the service.
_NOT_OFFLOADED_HEADERS = frozenset({"if-match", "if-unmodified-since", "if-modified-since"})

# A single range that all servers understand in the same way.
_PLAIN_RANGE = re.compile(r"bytes=(?:[0-9]{1,18}-[0-9]{0,18}|-[0-9]{1,18})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ContentToSend:
    """The content of one resource, with its metadata and the requested disposition."""

    digest: str
    """SHA-256 of the bytes, 64 hex digits."""
    size_bytes: int
    mime_type: str
    filename: str | None
    disposition: Disposition
    """The requested disposition. Content that a browser might run is always an attachment."""
    created_at: datetime
    is_wav: bool = False
    """True if the content is a generated WAV header and the stored samples. Such a file has another
    entity-tag than the samples. It has no `Repr-Digest`, because computing that would read all
    bytes."""
    cache_control: str = CACHE_FOREVER
    """The value of `Cache-Control`. The default is for a URL with the hash of the content."""

    @property
    def etag(self) -> str:
        """Return the strong entity-tag of the bytes."""
        return make_strong_etag(f"{self.digest}-wav" if self.is_wav else self.digest)


def build_resource_content(
    resource: Resource, disposition: Disposition, filename: str | None = None
) -> ContentToSend:
    """Return the content of a resource. Without `filename`, it has the stored file name."""
    return ContentToSend(
        digest=resource.digest,
        size_bytes=resource.size_bytes,
        mime_type=resource.mime_type,
        filename=filename or resource.filename,
        disposition=disposition,
        created_at=resource.created_at,
    )


def build_wav_content(content: ContentToSend, size_bytes: int) -> ContentToSend:
    """Return the content of a WAV file, for content that is samples without a header.

    Args:
        content: The samples.
        size_bytes: The size of the WAV file.
    """
    stem, _, suffix = (content.filename or "sound").rpartition(".")
    return replace(
        content,
        size_bytes=size_bytes,
        mime_type=WAV_TYPE,
        filename=f"{stem or suffix}.wav",
        is_wav=True,
    )


def build_content_response(
    request_headers: Mapping[str, str],
    method: str,
    content: ContentToSend,
    *,
    open_range: OpenRange,
    source: ContentSource | None = None,
    resource_policy: ResourcePolicy = "same-origin",
) -> Response:
    """Return the response to GET or HEAD of stored content: a 200, 206, 304, or 307 to a bucket.

    The content is opened when the response to a GET is sent. HEAD ignores `Range` (RFC 9110 §14.2).

    Args:
        request_headers: The headers of the request.
        method: `GET` or `HEAD`.
        content: The content to send.
        open_range: Opens a half-open range of the bytes.
        source: The source of the bytes, if another server may send them.
        resource_policy: The value of `Cross-Origin-Resource-Policy`.

    Raises:
        PreconditionFailedError: If-Match or If-Unmodified-Since does not hold.
        RangeNotSatisfiableError: No requested range lies inside the content.
    """
    sender = source.sender(content.size_bytes) if source else None
    is_small = sender is None and content.size_bytes <= CHUNK_BYTES
    if (
        is_small
        and method == "GET"
        and _CONDITION_HEADERS.isdisjoint(map(str.lower, request_headers))
    ):
        # The fast path for the most frequent requests.
        return ContentPiece(
            ByteRange(0, content.size_bytes),
            open_range=open_range,
            status=200,
            headers=_build_small_content_headers(content, resource_policy),
        )
    fields = join_repeated_headers(request_headers)
    is_unchanged = evaluate_conditions(
        fields, method=method, etag=content.etag, last_modified=content.created_at
    )
    has_digest = wants_repr_digest(fields.get("want-repr-digest"))
    headers = _build_content_headers(content, resource_policy, has_digest=has_digest)
    if is_unchanged:
        return build_304_response(headers)
    if method == "HEAD":
        return Response(headers={**headers, "Content-Length": str(content.size_bytes)})
    ranges = None
    if "range" in fields and range_applies(fields, content.etag, content.created_at):
        ranges = parse_range(fields["range"], content.size_bytes)
    if source and sender and _can_offload(sender, fields, ranges):
        return _OffloadResponse(
            source, headers, is_whole=ranges is None, resource_policy=resource_policy
        )
    return _build_ranges_response(
        ranges, content, open_range=open_range, headers=headers, source=source
    )


def _build_ranges_response(
    ranges: Sequence[ByteRange] | None,
    content: ContentToSend,
    *,
    open_range: OpenRange,
    headers: Mapping[str, str],
    source: ContentSource | None,
) -> Response:
    """Return a response that this process sends: with `None` for `ranges`, the whole content."""
    if ranges is not None and len(ranges) > 1:
        return _build_multipart_response(ranges, content, open_range=open_range, headers=headers)
    status = 200
    byte_range = ByteRange(0, content.size_bytes)
    if ranges is not None:
        status, (byte_range,) = 206, ranges
        headers = {**headers, "Content-Range": byte_range.content_range(content.size_bytes)}
    if byte_range.size_bytes <= CHUNK_BYTES:
        raw = encode_headers({**headers, "Content-Length": str(byte_range.size_bytes)})
        return ContentPiece(byte_range, open_range=open_range, status=status, headers=raw)
    return ContentStream(
        [BodyPart(b"", byte_range)],
        open_range=open_range,
        status=status,
        headers=headers,
        find_file=source.path if source and ranges is None else None,
    )


# The same content is requested repeatedly, and its headers depend only on these arguments.
@lru_cache(maxsize=1_024)
def _build_content_headers(
    content: ContentToSend, resource_policy: ResourcePolicy, *, has_digest: bool
) -> Mapping[str, str]:
    disposition = content.disposition if may_be_inline(content.mime_type) else "attachment"
    headers = {
        "Content-Type": format_content_type(content.mime_type),
        "Content-Disposition": format_content_disposition(disposition, content.filename),
        "ETag": content.etag,
        "Last-Modified": format_datetime(content.created_at.astimezone(UTC), usegmt=True),
        "Cache-Control": content.cache_control,
        "Accept-Ranges": "bytes",
        **build_safe_headers(resource_policy),
    }
    if has_digest and not content.is_wav:
        headers["Repr-Digest"] = format_repr_digest(content.digest)
    return headers


def build_whole_response(
    method: str, size_bytes: int, open_range: OpenRange, headers: Mapping[str, str]
) -> Response:
    """Return a response with the whole content; conditions and ranges are ignored."""
    if method == "HEAD":
        return Response(headers={**headers, "Content-Length": str(size_bytes)})
    whole = [BodyPart(b"", ByteRange(0, size_bytes))]
    return ContentStream(whole, open_range=open_range, status=200, headers=headers)


@lru_cache(maxsize=1_024)
def _build_small_content_headers(
    content: ContentToSend, resource_policy: ResourcePolicy
) -> RawHeaders:
    headers = _build_content_headers(content, resource_policy, has_digest=True)
    return encode_headers({**headers, "Content-Length": str(content.size_bytes)})


def _build_multipart_response(
    ranges: Sequence[ByteRange],
    content: ContentToSend,
    *,
    open_range: OpenRange,
    headers: Mapping[str, str],
) -> Response:
    # The boundary cannot be guessed, so no stored content contains it.
    boundary = secrets.token_hex(16)
    parts: list[BodyPart] = []
    for byte_range in ranges:
        line_end = "\r\n" if parts else ""
        introduction = (
            f"{line_end}--{boundary}\r\n"
            f"Content-Type: {headers['Content-Type']}\r\n"
            f"Content-Range: {byte_range.content_range(content.size_bytes)}\r\n\r\n"
        )
        parts.append(BodyPart(introduction.encode("ascii"), byte_range))
    return ContentStream(
        parts,
        f"\r\n--{boundary}--\r\n".encode("ascii"),
        open_range=open_range,
        status=206,
        headers={**headers, "Content-Type": f"multipart/byteranges; boundary={boundary}"},
    )


def _can_offload(
    sender: Sender, fields: Mapping[str, str], ranges: Sequence[ByteRange] | None
) -> bool:
    """Return whether another server would send the same response to a GET as the service.

    Args:
        sender: The other server.
        fields: The request's headers, by lower-case name.
        ranges: The ranges to send; `None` for the whole content.
    """
    if not _NOT_OFFLOADED_HEADERS.isdisjoint(fields):
        return False
    if "range" not in fields:
        return True
    if not _PLAIN_RANGE.fullmatch(fields["range"]):
        # Servers treat lists of ranges, long numbers and spaces in different ways.
        return False
    if "if-range" in fields and sender == "store":
        # The store has other entity-tags than the service. If the tag is not that of the service,
        # it is probably that of the store, which compares it itself.
        return ranges is None
    return ranges is not None


class _OffloadResponse(Response):
    """A response with the location of the bytes: a path for the proxy, or a URL for the client.

    Args:
        source: The source of the bytes. It returns their location when the response is sent.
        headers: The headers of the content.
        is_whole: True if the whole content is sent.
        resource_policy: The value of `Cross-Origin-Resource-Policy`.
    """

    def __init__(
        self,
        source: ContentSource,
        headers: Mapping[str, str],
        *,
        is_whole: bool,
        resource_policy: ResourcePolicy,
    ) -> None:
        self._source = source
        self._is_whole = is_whole
        self._content_headers = headers
        self._resource_policy: ResourcePolicy = resource_policy
        super().__init__()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = self._content_headers
        location = await self._source.offload_location(
            content_type=headers["Content-Type"], disposition=headers["Content-Disposition"]
        )
        if isinstance(location, StoreLink):
            # Until it expires, anyone can use the URL without a key. So it must not be cached.
            response = Response(
                status_code=307,
                headers={
                    "Location": location.url,
                    "Cache-Control": "no-store",
                    **build_safe_headers(self._resource_policy),
                },
            )
        else:
            response = Response(headers={**headers, "X-Accel-Redirect": location.path})
            # The proxy sets this header itself.
            del response.headers["Content-Length"]
            if self._is_whole:
                # nginx adds this header to a whole file, but not to a part.
                del response.headers["Accept-Ranges"]
        await response(scope, receive, send)
