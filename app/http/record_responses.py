"""Answers that carry stored records: one, one just written, or a page of a list.

`Location` and `Link` are relative: no host is taken from a request.
"""

import hashlib
from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

from fastapi import Request, Response

from app.http.compression import (
    COMPRESSED_FROM_BYTES,
    CompressedResponse,
    accepts_gzip,
    weak_etag,
)
from app.http.conditions import REVALIDATE, prefers, raw_headers, strong_etag, unchanged_response
from app.wire.shape import list_page


def answer_record(
    request: Request,
    body: bytes,
    *,
    etag: str | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the answer that carries a stored JSON record, byte for byte: `status`, or 304.

    Conditions are evaluated for GET and HEAD only. Those of a write are evaluated before it.

    Args:
        request: The request, of any method.
        body: The record as it is stored.
        etag: Its entity-tag, with the quotes; without one, a strong tag is made of the body.
        status: The status when the record is sent.
        headers: Further headers, such as `Location`.

    Raises:
        PreconditionFailedError: If-Match does not hold.
    """
    all_headers = {
        **(headers or {}),
        "Content-Type": "application/json",
        "ETag": etag or strong_etag(hashlib.sha256(body).hexdigest()),
        "Cache-Control": REVALIDATE,
    }
    if unchanged := unchanged_response(request, all_headers):
        return unchanged
    all_headers["Content-Length"] = str(len(body))
    return _Record(b"" if request.method == "HEAD" else body, status, all_headers)


def answer_unchanged(request: Request, *, etag: str) -> Response | None:
    """Return a 304 if the caller has the record already, before the record is read."""
    headers = {"ETag": etag, "Cache-Control": REVALIDATE, "Vary": "Accept"}
    return unchanged_response(request, headers)


def answer_text(request: Request, text: str, *, etag: str | None = None) -> Response:
    """Return a record as plain text, for callers that accept it."""
    response = answer_record(request, text.encode(), etag=etag)
    response.headers["Content-Type"] = "text/plain; charset=utf-8"
    response.headers["Vary"] = "Accept"
    return response


def wants_text(request: Request) -> bool:
    """Return True if `Accept` prefers `text/plain` to JSON (RFC 9110 §12.5.1)."""
    return prefers(request.headers, "text/plain", "application/json")


def answer_written(
    request: Request, body: bytes, *, path: str, is_new: bool, etag: str | None = None
) -> Response:
    """Return a written record with its `Location`: 201 if it is new, else 200."""
    status = 201 if is_new else 200
    return answer_record(request, body, etag=etag, status=status, headers={"Location": path})


def answer_page(request: Request, items: Iterable[bytes], next_cursor: str | None) -> Response:
    """Return a page of a list, with a link to the next one (RFC 8288) if there is one."""
    return answer_listed(request, list_page(items, next_cursor), next_cursor)


def answer_listed(
    request: Request, body: bytes, next_cursor: str | None, *, etag: str | None = None
) -> Response:
    """Return a page of a list that is JSON already, with a link to the next one."""
    return answer_long(request, body, etag=etag, headers=next_link(request, next_cursor))


def answer_long(
    request: Request,
    body: bytes,
    *,
    etag: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the answer to a GET that may be long: compressed if the client accepts it, or 304.

    Args:
        request: The request.
        body: JSON without a secret; see `app.http.compression`.
        etag: Its entity-tag, that guards no write; without one, it is made of the body.
        headers: Further headers, without `Vary`.

    Raises:
        PreconditionFailedError: If-Match does not hold.
    """
    if len(body) < COMPRESSED_FROM_BYTES:
        return answer_record(request, body, etag=etag, headers=headers)
    etag = etag or strong_etag(hashlib.sha256(body).hexdigest())
    varying = {**(headers or {}), "Vary": "Accept-Encoding"}
    if not accepts_gzip(request):
        return answer_record(request, body, etag=etag, headers=varying)
    all_headers = {
        **varying,
        "Content-Type": "application/json",
        "ETag": weak_etag(etag),
        "Cache-Control": REVALIDATE,
    }
    return unchanged_response(request, all_headers) or CompressedResponse(body, all_headers)


def next_link(request: Request, next_cursor: str | None) -> dict[str, str]:
    """Return the header with the next page of a list, if there is one."""
    if next_cursor is None:
        return {}
    # The cursor replaces `after`.
    kept = {name: value for name, value in request.query_params.items() if name != "after"}
    parameters = urlencode({**kept, "cursor": next_cursor})
    return {"Link": f'<{request.url.path}?{parameters}>; rel="next"'}


class _Record(Response):
    """A record whose headers are complete, so Starlette's search for missing ones is left out."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.status_code = status
        self.background = None
        self.body = body
        self.raw_headers = raw_headers(headers)
