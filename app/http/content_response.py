"""Answers that carry stored bytes: conditions, ranges and headers put into one response.

`content_response` is for the bytes of a resource, `record_response` for a stored JSON record. Both
judge the request's conditions first, as RFC 9110 §13.2 orders it. Neither compresses: media are
compressed already, and a coding would change what a range and a digest mean.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache

from starlette.responses import Response

from app.errors import PreconditionFailedError
from app.http.conditions import (
    Outcome,
    evaluate_conditions,
    joined_fields,
    range_applies,
    strong_etag,
)
from app.http.content_headers import (
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
from app.http.content_offload import Offload, OffloadResponse, can_offload
from app.http.content_stream import BodyPart, ContentPiece, ContentStream, OpenRange, RawHeaders
from app.http.ranges import ByteRange, parse_range
from app.models.media import CHUNK_BYTES

# What a request may say besides which content it wants, and what the answer depends on.
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


def content_response(
    request_headers: Mapping[str, str],
    method: str,
    content: ContentToSend,
    *,
    open_range: OpenRange,
    ways: Offload | None = None,
    resource_policy: ResourcePolicy = "same-origin",
) -> Response:
    """The answer to GET or HEAD of stored content: 200, 206 or 304, or 307 to where it is.

    Nothing is opened until the response is sent, see `app.http.content_stream`. HEAD opens
    nothing and takes no notice of Range (RFC 9110 §14.2).

    Args:
        request_headers: Case-insensitive; repeated fields are joined here.
        method: `GET` or `HEAD`.
        content: What to send.
        open_range: Opens a half-open range of the bytes; called once for each range sent.
        ways: Other ways to the bytes, if there are any.
        resource_policy: The value of `Cross-Origin-Resource-Policy`.

    Raises:
        PreconditionFailedError: If-Match or If-Unmodified-Since does not hold.
        RangeNotSatisfiableError: No asked range lies inside the content.
    """
    sender = ways.sender(content.size_bytes) if ways else None
    is_small = sender is None and content.size_bytes <= CHUNK_BYTES
    if is_small and method == "GET" and _DECIDING.isdisjoint(map(str.lower, request_headers)):
        # Small content is asked for by the dozen, and hardly ever with conditions.
        return ContentPiece(
            ByteRange(0, content.size_bytes),
            open_range=open_range,
            status=200,
            headers=_whole_piece_headers(content, resource_policy),
        )
    fields = joined_fields(request_headers)
    outcome = evaluate_conditions(
        fields, method=method, etag=content.etag, last_modified=content.created_at
    )
    if outcome is Outcome.PRECONDITION_FAILED:
        raise PreconditionFailedError
    has_digest = wants_repr_digest(fields.get("want-repr-digest"))
    headers = _content_headers(content, resource_policy, has_digest=has_digest)
    if outcome is Outcome.NOT_MODIFIED:
        return _not_modified(headers)
    if method == "HEAD":
        return Response(headers={**headers, "Content-Length": str(content.size_bytes)})
    spans = _asked_spans(fields, content)
    if ways and sender and can_offload(sender, fields, spans):
        return OffloadResponse(
            ways, headers, is_whole=spans is None, resource_policy=resource_policy
        )
    return _sent_from_here(spans, content, open_range=open_range, headers=headers, ways=ways)


def _sent_from_here(
    spans: Sequence[ByteRange] | None,
    content: ContentToSend,
    *,
    open_range: OpenRange,
    headers: Mapping[str, str],
    ways: Offload | None,
) -> Response:
    if spans is not None and len(spans) > 1:
        return _multipart_response(spans, content, open_range=open_range, headers=headers)
    status = 200
    span = ByteRange(0, content.size_bytes)
    if spans is not None:
        status, (span,) = 206, spans
        headers = {**headers, "Content-Range": span.content_range(content.size_bytes)}
    if span.size_bytes <= CHUNK_BYTES:
        raw = _raw({**headers, "Content-Length": str(span.size_bytes)})
        return ContentPiece(span, open_range=open_range, status=status, headers=raw)
    return ContentStream(
        [BodyPart(b"", span)],
        open_range=open_range,
        status=status,
        headers=headers,
        find_file=ways.path if ways and spans is None else None,
    )


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


# The same content is asked for again and again, and nothing else decides what is said of it.
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
    if has_digest:
        headers["Repr-Digest"] = repr_digest(content.digest)
    return headers


@lru_cache(maxsize=1_024)
def _whole_piece_headers(content: ContentToSend, resource_policy: ResourcePolicy) -> RawHeaders:
    headers = _content_headers(content, resource_policy, has_digest=True)
    return _raw({**headers, "Content-Length": str(content.size_bytes)})


def _raw(headers: Mapping[str, str]) -> RawHeaders:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


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
