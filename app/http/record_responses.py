"""Responses with stored records: a record, a new record, or a part of a list.

`Location` and `Link` are relative, so that they do not depend on `Host`.
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
from app.http.conditions import (
    REVALIDATE,
    prefers_media_type,
    raw_headers,
    strong_etag,
    unchanged_response,
)
from app.wire.shape import encode_list_page


def record_response(
    request: Request,
    body: bytes,
    *,
    etag: str | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the response with a JSON record, or a 304 if the client has the current version.

    Conditions of the request are evaluated for GET and HEAD only. Services evaluate the conditions
    of writes.

    Args:
        request: The request, of any method.
        body: The stored record.
        etag: The entity-tag, with quotes; by default, a strong tag of the body.
        status: The status of a response with the record.
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
    return _RecordResponse(b"" if request.method == "HEAD" else body, status, all_headers)


def not_modified_response(request: Request, *, etag: str) -> Response | None:
    """Return a 304 if the client has the current version; `None` otherwise."""
    headers = {"ETag": etag, "Cache-Control": REVALIDATE, "Vary": "Accept"}
    return unchanged_response(request, headers)


def text_response(request: Request, text: str, *, etag: str | None = None) -> Response:
    """Return the response with a record as plain text."""
    response = record_response(request, text.encode(), etag=etag)
    response.headers["Content-Type"] = "text/plain; charset=utf-8"
    response.headers["Vary"] = "Accept"
    return response


def wants_text(request: Request) -> bool:
    """Return True if `Accept` prefers `text/plain` to JSON (RFC 9110 §12.5.1)."""
    return prefers_media_type(request.headers, "text/plain", "application/json")


def written_response(
    request: Request, body: bytes, *, path: str, is_new: bool, etag: str | None = None
) -> Response:
    """Return the response with a written record and its `Location`: 201 if it is new, else 200."""
    status = 201 if is_new else 200
    return record_response(request, body, etag=etag, status=status, headers={"Location": path})


def list_response(request: Request, items: Iterable[bytes], next_cursor: str | None) -> Response:
    """Return the response with a part of a list, and a `Link` to the next part (RFC 8288)."""
    return list_body_response(request, encode_list_page(items, next_cursor), next_cursor)


def list_body_response(
    request: Request, body: bytes, next_cursor: str | None, *, etag: str | None = None
) -> Response:
    """Return the response with the JSON of a part of a list, and a `Link` to the next part."""
    return long_response(request, body, etag=etag, headers=next_link(request, next_cursor))


def long_response(
    request: Request,
    body: bytes,
    *,
    etag: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the response to a GET that may be long: compressed if the client accepts it, or 304.

    Args:
        request: The request.
        body: JSON without a secret; see `app.http.compression`.
        etag: The entity-tag, which is not used for writes; by default, a tag of the body.
        headers: Further headers, without `Vary`.

    Raises:
        PreconditionFailedError: If-Match does not hold.
    """
    if len(body) < COMPRESSED_FROM_BYTES:
        return record_response(request, body, etag=etag, headers=headers)
    etag = etag or strong_etag(hashlib.sha256(body).hexdigest())
    vary_headers = {**(headers or {}), "Vary": "Accept-Encoding"}
    if not accepts_gzip(request):
        return record_response(request, body, etag=etag, headers=vary_headers)
    all_headers = {
        **vary_headers,
        "Content-Type": "application/json",
        "ETag": weak_etag(etag),
        "Cache-Control": REVALIDATE,
    }
    return unchanged_response(request, all_headers) or CompressedResponse(body, all_headers)


def next_link(request: Request, next_cursor: str | None) -> dict[str, str]:
    """Return the `Link` header with the next part of a list; empty without `next_cursor`."""
    if next_cursor is None:
        return {}
    # The cursor replaces `after`.
    parameters = {name: value for name, value in request.query_params.items() if name != "after"}
    query = urlencode({**parameters, "cursor": next_cursor})
    return {"Link": f'<{request.url.path}?{query}>; rel="next"'}


class _RecordResponse(Response):
    """A response with complete headers, to which Starlette adds none."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.status_code = status
        self.background = None
        self.body = body
        self.raw_headers = raw_headers(headers)
