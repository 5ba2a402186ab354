"""Answers that carry stored bytes: conditions, ranges and headers put into one response.

`content_response` is for the bytes of a resource, `record_response` for a stored JSON record. Both
judge the request's conditions first, as RFC 9110 §13.2 orders it. Neither compresses: media are
compressed already, and a coding would change what a range and a digest mean.
"""

import hashlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Protocol, runtime_checkable

import anyio
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from app.errors import PreconditionFailedError
from app.routers.conditions import (
    Outcome,
    evaluate_conditions,
    joined_fields,
    range_applies,
    strong_etag,
)
from app.routers.content_headers import (
    CACHE_FOREVER,
    REVALIDATE,
    Disposition,
    ResourcePolicy,
    content_disposition,
    content_type_header,
    may_be_inline,
    repr_digest,
    safe_headers,
    wants_repr_digest,
)
from app.routers.ranges import ByteRange, parse_range

OpenRange = Callable[[int, int], Awaitable[AsyncIterator[bytes]]]
"""Opens the bytes from the first number up to and without the second. It raises if the bytes are
not there, and the iterator it returns yields exactly that many."""

# What a 304 repeats of the answer it stands for (RFC 9110 §15.4.5).
_NOT_MODIFIED_HEADERS = frozenset({"cache-control", "content-location", "etag", "expires", "vary"})


@dataclass(frozen=True, slots=True)
class ContentToSend:
    """A blob as one resource presents it, and how the caller would like to get it."""

    digest: str
    """SHA-256 of the bytes, 64 hex digits."""
    size_bytes: int
    mime_type: str
    filename: str | None
    disposition: Disposition
    """A wish: what a browser might run is an attachment all the same."""
    created_at: datetime
    cache_control: str = CACHE_FOREVER
    """For content addressed by its hash; an address that may lead to other bytes says otherwise."""

    @property
    def etag(self) -> str:
        """The strong entity-tag of the bytes."""
        return strong_etag(self.digest)


@dataclass(frozen=True, slots=True)
class _BodyPart:
    """Bytes of the content, after a text that introduces them."""

    introduction: bytes
    span: ByteRange


@runtime_checkable
class _Closable(Protocol):
    async def aclose(self) -> None: ...


def content_response(
    request_headers: Mapping[str, str],
    method: str,
    content: ContentToSend,
    *,
    open_range: OpenRange,
    resource_policy: ResourcePolicy = "same-origin",
) -> Response:
    """The answer to GET or HEAD of stored content: 200, 206 or 304.

    Nothing is opened until the response is sent. The first range is then opened before any header
    goes out, so that missing bytes become a problem and not a torn body. HEAD opens nothing and
    takes no notice of Range (RFC 9110 §14.2).

    Args:
        request_headers: Case-insensitive; repeated fields are joined here.
        method: `GET` or `HEAD`.
        content: What to send.
        open_range: Opens a half-open range of the bytes; called once for each range sent.
        resource_policy: The value of `Cross-Origin-Resource-Policy`.

    Raises:
        PreconditionFailedError: If-Match or If-Unmodified-Since does not hold.
        RangeNotSatisfiableError: No asked range lies inside the content.
    """
    fields = joined_fields(request_headers)
    outcome = evaluate_conditions(
        fields, method=method, etag=content.etag, last_modified=content.created_at
    )
    headers = _content_headers(fields, content, resource_policy)
    if outcome is Outcome.PRECONDITION_FAILED:
        raise PreconditionFailedError
    if outcome is Outcome.NOT_MODIFIED:
        return _not_modified(headers)
    if method == "HEAD":
        return Response(headers=headers | {"Content-Length": str(content.size_bytes)})
    spans = _asked_spans(fields, content)
    if spans is None:
        whole = [_BodyPart(b"", ByteRange(0, content.size_bytes))]
        return _ContentStream(whole, b"", open_range=open_range, status=200, headers=headers)
    if len(spans) == 1:
        headers["Content-Range"] = spans[0].content_range(content.size_bytes)
        part = [_BodyPart(b"", spans[0])]
        return _ContentStream(part, b"", open_range=open_range, status=206, headers=headers)
    return _multipart_response(spans, content, open_range=open_range, headers=headers)


def record_response(
    request_headers: Mapping[str, str],
    method: str,
    body: bytes,
    *,
    etag: str | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer that carries a stored JSON record, byte for byte: `status`, or 304.

    Conditions are judged for GET and HEAD only: those of a write had to be judged before it was
    done.

    Args:
        request_headers: Case-insensitive; repeated fields are joined here.
        method: The request method.
        body: The record as it is stored.
        etag: Its entity-tag, with the quotes; without one, a strong tag is made of the body.
        status: The status when the record is sent.
        headers: Further headers, such as `Location`.

    Raises:
        PreconditionFailedError: If-Match does not hold.
    """
    tag = etag or strong_etag(hashlib.sha256(body).hexdigest())
    answer_headers = {
        **(headers or {}),
        "Content-Type": "application/json",
        "ETag": tag,
        "Cache-Control": REVALIDATE,
    }
    if unchanged := unchanged_response(request_headers, method, answer_headers):
        return unchanged
    answer_headers["Content-Length"] = str(len(body))
    return Response(b"" if method == "HEAD" else body, status_code=status, headers=answer_headers)


def unchanged_response(
    request_headers: Mapping[str, str], method: str, headers: Mapping[str, str]
) -> Response | None:
    """The 304 to a GET or HEAD of a record that the caller has already, if that is so.

    Args:
        request_headers: Case-insensitive; repeated fields are joined here.
        method: The request method; of others, conditions are not judged.
        headers: What the record would be sent with, an `ETag` among it.

    Raises:
        PreconditionFailedError: If-Match does not hold.
    """
    if method not in ("GET", "HEAD"):
        return None
    outcome = evaluate_conditions(
        joined_fields(request_headers), method=method, etag=headers["ETag"], last_modified=None
    )
    if outcome is Outcome.PRECONDITION_FAILED:
        raise PreconditionFailedError
    return _not_modified(headers) if outcome is Outcome.NOT_MODIFIED else None


def _content_headers(
    fields: Mapping[str, str], content: ContentToSend, resource_policy: ResourcePolicy
) -> dict[str, str]:
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
    if wants_repr_digest(fields.get("want-repr-digest")):
        headers["Repr-Digest"] = repr_digest(content.digest)
    return headers


def _not_modified(headers: Mapping[str, str]) -> Response:
    kept = {name: value for name, value in headers.items() if name.lower() in _NOT_MODIFIED_HEADERS}
    return Response(status_code=304, headers=kept)


def _asked_spans(fields: Mapping[str, str], content: ContentToSend) -> list[ByteRange] | None:
    if "range" not in fields or not range_applies(fields, content.etag, content.created_at):
        return None
    return parse_range(fields["range"], content.size_bytes)


def _multipart_response(
    spans: Sequence[ByteRange],
    content: ContentToSend,
    *,
    open_range: OpenRange,
    headers: dict[str, str],
) -> Response:
    # Unguessable, so that no stored content can contain it.
    boundary = secrets.token_hex(16)
    parts: list[_BodyPart] = []
    for span in spans:
        line_end = "\r\n" if parts else ""
        introduction = (
            f"{line_end}--{boundary}\r\n"
            f"Content-Type: {headers['Content-Type']}\r\n"
            f"Content-Range: {span.content_range(content.size_bytes)}\r\n\r\n"
        )
        parts.append(_BodyPart(introduction.encode("ascii"), span))
    return _ContentStream(
        parts,
        f"\r\n--{boundary}--\r\n".encode("ascii"),
        open_range=open_range,
        status=206,
        headers=headers | {"Content-Type": f"multipart/byteranges; boundary={boundary}"},
    )


class _ContentStream(StreamingResponse):
    """Sends parts one after the other, holding one chunk and one open range at a time."""

    def __init__(
        self,
        parts: Sequence[_BodyPart],
        closing: bytes,
        *,
        open_range: OpenRange,
        status: int,
        headers: Mapping[str, str],
    ) -> None:
        self._parts = parts
        self._closing = closing
        self._open_range = open_range
        size_bytes = len(closing) + sum(
            len(part.introduction) + part.span.size_bytes for part in parts
        )
        # The base class wants an iterator; `stream_response` reads the parts instead.
        super().__init__(
            (), status_code=status, headers={**headers, "Content-Length": str(size_bytes)}
        )

    async def stream_response(self, send: Send) -> None:
        """Send the headers once the first range is open, then every part, then the closing."""
        for index, part in enumerate(self._parts):
            async with _opened(self._open_range, part.span) as chunks:
                if index == 0:
                    await send(
                        {
                            "type": "http.response.start",
                            "status": self.status_code,
                            "headers": self.raw_headers,
                        }
                    )
                if part.introduction:
                    await _send_chunk(send, part.introduction)
                async for chunk in chunks:
                    await _send_chunk(send, chunk)
        await send({"type": "http.response.body", "body": self._closing, "more_body": False})


async def _send_chunk(send: Send, chunk: bytes) -> None:
    await send({"type": "http.response.body", "body": chunk, "more_body": True})


@asynccontextmanager
async def _opened(open_range: OpenRange, span: ByteRange) -> AsyncIterator[AsyncIterator[bytes]]:
    chunks = await open_range(span.start, span.end)
    try:
        yield chunks
    finally:
        if isinstance(chunks, _Closable):
            # A client that goes away cancels this task; the file has to be let go of all the same.
            with anyio.CancelScope(shield=True):
                await chunks.aclose()
