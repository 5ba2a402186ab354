"""Answers that carry stored bytes: conditions, ranges and headers put into one response.

The request's conditions are evaluated first, as RFC 9110 §13.2 orders it. Nothing is compressed:
media are compressed already, and a coding would change the meaning of ranges and digests.

The proxy in front or the bucket may send the bytes instead. Conditions and ranges are still decided
here. Only requests that the other side certainly interprets in the same way are left to it.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.http.conditions import evaluate_conditions, joined_fields, range_applies, strong_etag
from app.http.content_headers import (
    Disposition,
    content_disposition,
    content_type_header,
    may_be_inline,
    repr_digest,
    safe_headers,
    wants_repr_digest,
)
from app.http.content_stream import BodyPart, ContentPiece, ContentStream, OpenRange, RawHeaders
from app.http.ranges import ByteRange, parse_range
from app.http.response_headers import CACHE_FOREVER, not_modified, raw_headers
from app.services.access.published_content import ResourcePolicy
from app.services.resources.content_sources import ContentSource, Sender, StoreLink
from pagefault_dialects.model.media import CHUNK_BYTES

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
    cache_control: str = CACHE_FOREVER
    """For content addressed by its hash; other addresses need another value."""

    @property
    def etag(self) -> str:
        """Return the strong entity-tag of the bytes."""
        return strong_etag(self.digest)


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

    Nothing is opened until the response is sent, see `app.http.content_stream`. HEAD opens
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
    if has_digest:
        headers["Repr-Digest"] = repr_digest(content.digest)
    return headers


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
