"""Answers that carry stored bytes: conditions, ranges and headers put into one response.

The request's conditions are evaluated first, as RFC 9110 §13.2 orders it. Nothing is compressed:
media are compressed already, and a coding would change the meaning of ranges and digests.

The proxy in front or the bucket may send the bytes instead. Conditions and ranges are still decided
here. Only requests that the other side certainly interprets in the same way are left to it.

Nothing is opened until the answer is sent. The first bytes are read before the headers are sent, so
missing bytes become a problem and not a truncated body. A piece stays in memory until its reader
takes it. So memory is reserved in the budget before anything is read, and pieces become small while
the budget is nearly used up.
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
    evaluate_conditions,
    joined_fields,
    not_modified,
    parse_byte_count,
    range_applies,
    raw_headers,
    strong_etag,
)
from app.http.content_headers import (
    Disposition,
    content_disposition,
    content_type_header,
    may_be_inline,
    repr_digest,
    safe_headers,
    wants_repr_digest,
)
from app.http.response_memory import body_message, start_message
from app.services.access.published_content import ResourcePolicy
from app.services.memory_budget.budget import HeldMemory, MemoryBudget
from app.services.resources.content_sources import ContentSource, ContentSources, Sender, StoreLink
from app.wiring.services import Services
from pagefault_dialects.media.raw_audio import WAV_TYPE
from pagefault_dialects.model.media import CHUNK_BYTES
from pagefault_dialects.model.resource import Resource

MAX_RANGES = 16
"""More ranges than this are ignored (RFC 9110 §17.15: many small ranges are an attack)."""

_SPEC = re.compile(r"([0-9]*)-([0-9]*)")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Half-open: the bytes from `start` up to and without `end`."""

    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        """Return how many bytes the range holds."""
        return self.end - self.start

    def content_range(self, size_bytes: int) -> str:
        """Return the `Content-Range` value of this range of a content of `size_bytes` bytes."""
        return f"bytes {self.start}-{self.end - 1}/{size_bytes}"


def parse_range(header: str, size: int) -> list[ByteRange] | None:
    """Return the byte ranges to send, or `None` if the header is to be ignored and all is sent.

    Ranges are clamped to the content, and those outside it are left out as long as another one is
    inside. Ranges that neither overlap nor touch come in the order they were asked for; if some do,
    they are merged and all come in ascending order. An empty content has no bytes to name, so a
    suffix of it is all of it and `None`.

    Args:
        header: The value of `Range`.
        size: The size of the content in bytes.

    A range that makes no sense is ignored, as §14.2 allows at any time; only a well-formed one that
    lies outside the content is an error.

    Raises:
        RangeNotSatisfiableError: Well-formed, and no range lies inside the content.
    Source: RFC 9110 §14.1.1, §14.1.2, §14.2 and §15.3.7.2 (coalescing).
    """
    unit, separator, range_set = header.strip(" \t").partition("=")
    if not separator or unit.lower() != "bytes":
        return None
    # A list may hold empty elements, which count for nothing (RFC 9110 §5.6.1.2).
    specs = [spec for element in range_set.split(",") if (spec := element.strip(" \t"))]
    if not 0 < len(specs) <= MAX_RANGES:
        return None
    spans: list[ByteRange] = []
    for spec in specs:
        span = _span(spec, size)
        if span is None:
            return None
        spans.append(span)
    return _clamp(spans, size)


def _span(spec: str, size: int) -> ByteRange | None:
    """Return the range a spec names, not yet clamped at the end; `None` if it is malformed."""
    match = _SPEC.fullmatch(spec)
    if match is None or spec == "-":
        return None
    first, last = match.groups()
    if not first:
        length = parse_byte_count(last)
        # A suffix of no bytes is well-formed but never satisfiable: it lies behind the content.
        return ByteRange(max(0, size - length), size) if length else ByteRange(size, size + 1)
    start = parse_byte_count(first)
    end = parse_byte_count(last) + 1 if last else LARGEST_NUMBER + 1
    return ByteRange(start, end) if start < end else None


def _clamp(spans: list[ByteRange], size: int) -> list[ByteRange] | None:
    if size == 0 and ByteRange(0, 0) in spans:
        return None
    inside = [ByteRange(span.start, min(span.end, size)) for span in spans if span.start < size]
    if not inside:
        raise RangeNotSatisfiableError(size)
    merged = _merge(inside)
    return inside if len(merged) == len(inside) else merged


def _merge(spans: list[ByteRange]) -> list[ByteRange]:
    ascending = sorted(spans, key=lambda span: span.start)
    merged = ascending[:1]
    for span in ascending[1:]:
        last = merged[-1]
        if span.start <= last.end:
            merged[-1] = ByteRange(last.start, max(last.end, span.end))
        else:
            merged.append(span)
    return merged


OpenRange = Callable[[int, int], Awaitable[AsyncIterator[bytes]]]
"""Opens the bytes from the first number up to and without the second. It raises if the bytes are
not there, and the iterator it returns yields exactly that many."""

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Headers as they are sent: names in lower case."""

FindFile = Callable[[], Awaitable[Path | None]]
"""The file that all of the bytes are, `None` if there is none. It raises if it is not there."""

SMALL_BYTES = 64 * 1024
"""The length of a small piece. An answer of one such piece is not counted."""
NARROW_BYTES = 2 * SMALL_BYTES
"""Memory for a reader of small pieces: a connection takes a second one before the sender waits."""
_WINDOW_BYTES = 4 * CHUNK_BYTES
"""Memory for reading ahead in an object of a bucket, besides the piece that is being sent."""
_PATHSEND = "http.response.pathsend"


@dataclass(frozen=True, slots=True)
class BodyPart:
    """Bytes of the content, after a text that introduces them."""

    introduction: bytes
    span: ByteRange


@dataclass(frozen=True, slots=True)
class ContentMemory:
    """The memory that is reserved for one answer while it is sent."""

    budget: MemoryBudget
    """Of the process."""
    wide_bytes: int
    """Memory for reading and sending large pieces."""
    reserved: HeldMemory
    """Memory that was taken, at least `NARROW_BYTES`."""

    def widen(self) -> bool:
        """Reserve memory for large pieces. Return False above a quarter of the budget."""
        more_bytes = self.wide_bytes - self.reserved.size_bytes
        if more_bytes <= 0:
            return True
        if self.budget.held_bytes + more_bytes > self.budget.limit_bytes // 4:
            return False
        self.reserved.grow(more_bytes)
        return True

    def narrow_if_short(self) -> bool:
        """Release the memory for large pieces if half of the budget is used. Return True if so."""
        if self.budget.held_bytes <= self.budget.limit_bytes // 2:
            return False
        self.reserved.resize(min(self.reserved.size_bytes, NARROW_BYTES))
        return True


@asynccontextmanager
async def content_memory(scope: Scope, size_bytes: int) -> AsyncIterator[ContentMemory]:
    """Reserve memory for one reader of content for the length of the block.

    Args:
        scope: The scope of the request.
        size_bytes: The length of the longest range.

    Raises:
        OverloadedError: There is none after a short wait.
    """
    services: Services = scope["state"]["services"]
    memory = services[MemoryBudget]
    wide_bytes = min(CHUNK_BYTES, size_bytes)
    if services[ContentSources].files is None:
        wide_bytes += min(_WINDOW_BYTES, size_bytes)
    async with memory.holding(NARROW_BYTES) as reserved:
        yield ContentMemory(memory, wide_bytes, reserved)


class ContentPiece(Response):
    """Sends a range that is read at once, of `CHUNK_BYTES` at most.

    Args:
        span: What to send.
        open_range: Opens a range of the content.
        status: The status of the answer.
        headers: All of its headers, as they are sent.
    """

    def __init__(
        self, span: ByteRange, *, open_range: OpenRange, status: int, headers: RawHeaders
    ) -> None:
        self._span = span
        self._open_range = open_range
        # Starlette's constructor encodes all headers, which takes longer than reading the bytes.
        self.status_code = status
        self.background = None
        self.raw_headers = list(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read it, and send it in one message; piece by piece if memory is short.

        Raises:
            OverloadedError: There is no memory for it; nothing was sent.
        """
        if self._span.size_bytes <= SMALL_BYTES:
            body = await self._read()
            await send(start_message(self))
            await send(body_message(body, more=False))
            return
        async with content_memory(scope, self._span.size_bytes) as room:
            if room.widen():
                body = await self._read()
                await send(start_message(self))
                await send(body_message(body))
            else:
                await self._send_pieces(room, send)
            # The server waits here until the client has taken most of it.
            await send(body_message(b"", more=False))

    async def _send_pieces(self, room: ContentMemory, send: Send) -> None:
        async with aclosing(_pieces(self._open_range, self._span, room)) as pieces:
            piece = await anext(pieces)
            await send(start_message(self))
            await _send_and_wait(send, piece)
            async for piece in pieces:
                await _send_and_wait(send, piece)

    async def _read(self) -> bytes:
        chunks = await self._open_range(self._span.start, self._span.end)
        try:
            body = b"".join([chunk async for chunk in chunks])
        except BaseException:
            # One that was read to its end has nothing left to let go of.
            await _close(chunks)
            raise
        if len(body) != self._span.size_bytes:
            # Another process has cut the file. The answer can still be an error.
            raise StoreUnavailableError("blob store")
        return body


class ContentStream(StreamingResponse):
    """Sends parts one after the other, one open range and one piece at a time.

    Args:
        parts: What to send, in order.
        closing: What follows the last of them.
        open_range: Opens a range of the content.
        status: The status of the answer.
        headers: Its headers but for the length.
        find_file: Given if the one part is all of the content; servers that offer it read the file
            themselves.
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
            len(part.introduction) + part.span.size_bytes for part in parts
        )
        # The base class wants an iterator; `stream_response` reads the parts instead.
        super().__init__(
            (), status_code=status, headers={**headers, "Content-Length": str(size_bytes)}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer, and listen for a client that goes away meanwhile.

        Raises:
            OverloadedError: There is no memory for it; nothing was sent.
        """
        if await self._leave_to_server(scope, send):
            return
        longest = max(part.span.size_bytes for part in self._parts)
        async with content_memory(scope, longest) as self._room:
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        """Send the headers once the first piece is read, then every part, then the closing."""
        for index, part in enumerate(self._parts):
            async with aclosing(_pieces(self._open_range, part.span, self._room)) as pieces:
                piece = await anext(pieces, b"")
                if index == 0:
                    await send(start_message(self))
                if part.introduction:
                    await send(body_message(part.introduction))
                await _send_and_wait(send, piece)
                async for piece in pieces:
                    await _send_and_wait(send, piece)
        await send(body_message(self._closing, more=False))

    async def _leave_to_server(self, scope: Scope, send: Send) -> bool:
        """Let the server read the file, if it offers to and there is one."""
        if self._find_file is None or _PATHSEND not in (scope.get("extensions") or {}):
            return False
        path = await self._find_file()
        if path is None:
            return False
        await send(start_message(self))
        await send({"type": _PATHSEND, "path": str(path)})
        return True


async def _send_and_wait(send: Send, chunk: bytes) -> None:
    """Send a chunk, and return when the client has taken most of it.

    The next one is read only then: it would be held beside this one.
    """
    await send(body_message(chunk))
    # The server waits at the next message, whatever is in it.
    await send(body_message(b""))


async def _pieces(
    open_range: OpenRange, span: ByteRange, room: ContentMemory
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a range, in pieces as large as there is room for."""
    position = span.start
    while position < span.end:
        is_wide = room.widen()
        end = span.end if is_wide else min(position + SMALL_BYTES, span.end)
        before = position
        chunks = await open_range(position, end)
        try:
            async for chunk in chunks:
                position += len(chunk)
                yield chunk
                if is_wide and position < end and room.narrow_if_short():
                    break
        finally:
            await _close(chunks)
        if position == before:
            # The length was announced: a body of another one must not pass for whole.
            raise StoreUnavailableError("blob store")


async def _close(chunks: AsyncIterator[bytes]) -> None:
    if aclose := getattr(chunks, "aclose", None):
        # A client that goes away cancels this task; the file has to be let go of all the same.
        with anyio.CancelScope(shield=True):
            await aclose()


# Headers of a request on which the answer depends.
_DECIDING = frozenset(
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

# It would judge these once more, by tags and dates of its own, and answer 412 or 304.
_JUDGED_HERE = frozenset({"if-match", "if-unmodified-since", "if-modified-since"})

_PLAIN_RANGE = re.compile(r"bytes=(?:[0-9]{1,18}-[0-9]{0,18}|-[0-9]{1,18})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ContentToSend:
    """A blob with the metadata of one resource and the requested disposition."""

    digest: str
    """SHA-256 of the bytes, 64 hex digits."""
    size_bytes: int
    mime_type: str
    filename: str | None
    disposition: Disposition
    """As requested; content that a browser might run is always sent as an attachment."""
    created_at: datetime
    is_wav: bool = False
    """The header of a WAV file is added while the bytes are sent. They have a tag of their own, and
    no digest, which would take reading all of them first."""
    cache_control: str = CACHE_FOREVER
    """For content addressed by its hash; other addresses need another value."""

    @property
    def etag(self) -> str:
        """Return the strong entity-tag of the bytes."""
        return strong_etag(f"{self.digest}-wav" if self.is_wav else self.digest)


def resource_content(
    resource: Resource, disposition: Disposition, filename: str | None = None
) -> ContentToSend:
    """Return the content of a resource, under its own name unless another one is requested."""
    return ContentToSend(
        digest=resource.digest,
        size_bytes=resource.size_bytes,
        mime_type=resource.mime_type,
        filename=filename or resource.filename,
        disposition=disposition,
        created_at=resource.created_at,
    )


def wav_content(content: ContentToSend, size_bytes: int) -> ContentToSend:
    """Return samples without a header as the WAV file of this size that is sent of them."""
    stem = (content.filename or "sound").rpartition(".")
    filename = f"{stem[0] or stem[2]}.wav"
    return replace(
        content, size_bytes=size_bytes, mime_type=WAV_TYPE, filename=filename, is_wav=True
    )


def content_response(
    request_headers: Mapping[str, str],
    method: str,
    content: ContentToSend,
    *,
    open_range: OpenRange,
    source: ContentSource | None = None,
    resource_policy: ResourcePolicy = "same-origin",
) -> Response:
    """Return the answer to GET or HEAD of stored content: 200, 206 or 304, or 307 to where it is.

    Nothing is opened until the response is sent, see `app.http.content_response`. HEAD opens
    nothing and takes no notice of Range (RFC 9110 §14.2).

    Args:
        request_headers: Case-insensitive; repeated fields are joined here.
        method: `GET` or `HEAD`.
        content: What to send.
        open_range: Opens a half-open range of the bytes; called once for each range sent.
        source: The bytes where another server can send them, if there is one.
        resource_policy: The value of `Cross-Origin-Resource-Policy`.

    Raises:
        PreconditionFailedError: If-Match or If-Unmodified-Since does not hold.
        RangeNotSatisfiableError: No requested range lies inside the content.
    """
    sender = source.sender(content.size_bytes) if source else None
    is_small = sender is None and content.size_bytes <= CHUNK_BYTES
    if is_small and method == "GET" and _DECIDING.isdisjoint(map(str.lower, request_headers)):
        # Small content is requested often, and hardly ever with conditions.
        return ContentPiece(
            ByteRange(0, content.size_bytes),
            open_range=open_range,
            status=200,
            headers=_whole_piece_headers(content, resource_policy),
        )
    fields = joined_fields(request_headers)
    is_known = evaluate_conditions(
        fields, method=method, etag=content.etag, last_modified=content.created_at
    )
    has_digest = wants_repr_digest(fields.get("want-repr-digest"))
    headers = _content_headers(content, resource_policy, has_digest=has_digest)
    if is_known:
        return not_modified(headers)
    if method == "HEAD":
        return Response(headers={**headers, "Content-Length": str(content.size_bytes)})
    spans = None
    if "range" in fields and range_applies(fields, content.etag, content.created_at):
        spans = parse_range(fields["range"], content.size_bytes)
    if source and sender and _can_offload(sender, fields, spans):
        return _OffloadResponse(
            source, headers, is_whole=spans is None, resource_policy=resource_policy
        )
    return _sent_from_here(spans, content, open_range=open_range, headers=headers, source=source)


def _sent_from_here(
    spans: Sequence[ByteRange] | None,
    content: ContentToSend,
    *,
    open_range: OpenRange,
    headers: Mapping[str, str],
    source: ContentSource | None,
) -> Response:
    if spans is not None and len(spans) > 1:
        return _multipart_response(spans, content, open_range=open_range, headers=headers)
    status = 200
    span = ByteRange(0, content.size_bytes)
    if spans is not None:
        status, (span,) = 206, spans
        headers = {**headers, "Content-Range": span.content_range(content.size_bytes)}
    if span.size_bytes <= CHUNK_BYTES:
        raw = raw_headers({**headers, "Content-Length": str(span.size_bytes)})
        return ContentPiece(span, open_range=open_range, status=status, headers=raw)
    return ContentStream(
        [BodyPart(b"", span)],
        open_range=open_range,
        status=status,
        headers=headers,
        find_file=source.path if source and spans is None else None,
    )


# The same content is requested again and again, and its headers depend on nothing else.
@lru_cache(maxsize=1_024)
def _content_headers(
    content: ContentToSend, resource_policy: ResourcePolicy, *, has_digest: bool
) -> Mapping[str, str]:
    disposition = content.disposition if may_be_inline(content.mime_type) else "attachment"
    headers = {
        "Content-Type": content_type_header(content.mime_type),
        "Content-Disposition": content_disposition(disposition, content.filename),
        "ETag": content.etag,
        "Last-Modified": format_datetime(content.created_at.astimezone(UTC), usegmt=True),
        "Cache-Control": content.cache_control,
        "Accept-Ranges": "bytes",
        **safe_headers(resource_policy),
    }
    if has_digest and not content.is_wav:
        headers["Repr-Digest"] = repr_digest(content.digest)
    return headers


def whole_response(
    method: str, size_bytes: int, open_range: OpenRange, headers: Mapping[str, str]
) -> Response:
    """Return a response with all of a content, whatever the request's conditions and ranges."""
    if method == "HEAD":
        return Response(headers={**headers, "Content-Length": str(size_bytes)})
    whole = [BodyPart(b"", ByteRange(0, size_bytes))]
    return ContentStream(whole, open_range=open_range, status=200, headers=headers)


@lru_cache(maxsize=1_024)
def _whole_piece_headers(content: ContentToSend, resource_policy: ResourcePolicy) -> RawHeaders:
    headers = _content_headers(content, resource_policy, has_digest=True)
    return raw_headers({**headers, "Content-Length": str(content.size_bytes)})


def _multipart_response(
    spans: Sequence[ByteRange],
    content: ContentToSend,
    *,
    open_range: OpenRange,
    headers: Mapping[str, str],
) -> Response:
    # Unguessable, so that no stored content can contain it.
    boundary = secrets.token_hex(16)
    parts: list[BodyPart] = []
    for span in spans:
        line_end = "\r\n" if parts else ""
        introduction = (
            f"{line_end}--{boundary}\r\n"
            f"Content-Type: {headers['Content-Type']}\r\n"
            f"Content-Range: {span.content_range(content.size_bytes)}\r\n\r\n"
        )
        parts.append(BodyPart(introduction.encode("ascii"), span))
    return ContentStream(
        parts,
        f"\r\n--{boundary}--\r\n".encode("ascii"),
        open_range=open_range,
        status=206,
        headers={**headers, "Content-Type": f"multipart/byteranges; boundary={boundary}"},
    )


def _can_offload(
    sender: Sender, fields: Mapping[str, str], spans: Sequence[ByteRange] | None
) -> bool:
    """Tell whether another server answers a GET, judged here, as it would be answered here.

    Args:
        sender: Which one.
        fields: The request's headers, by lower-case name.
        spans: The ranges to send, `None` for all of the content.
    """
    if not _JUDGED_HERE.isdisjoint(fields):
        return False
    if "range" not in fields:
        return True
    if not _PLAIN_RANGE.fullmatch(fields["range"]):
        # Lists of ranges, long numbers and gaps are taken in different ways, or refused.
        return False
    if "if-range" in fields and sender == "store":
        # The store has tags of its own. One of ours means nothing to it, and one that is none of
        # ours is likely from the part of its answer that the caller has.
        return spans is None
    return spans is not None


class _OffloadResponse(Response):
    """A response that names the place of the bytes, to the proxy or to the caller.

    Args:
        source: The place of the bytes; it is read when the response is sent.
        headers: The headers of the content, independent of the sender.
        is_whole: True if the whole content is sent.
        resource_policy: The pages that may embed the content.
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
        place = await self._source.offload_location(
            content_type=headers["Content-Type"], disposition=headers["Content-Disposition"]
        )
        if isinstance(place, StoreLink):
            # Until it expires, the address works like a key, so it is not cached.
            answer = Response(
                status_code=307,
                headers={
                    "Location": place.url,
                    "Cache-Control": "no-store",
                    **safe_headers(self._resource_policy),
                },
            )
        else:
            answer = Response(headers={**headers, "X-Accel-Redirect": place.path})
            # The proxy sets the length itself.
            del answer.headers["Content-Length"]
            if self._is_whole:
                # nginx says so too, though not of a part.
                del answer.headers["Accept-Ranges"]
        await answer(scope, receive, send)
