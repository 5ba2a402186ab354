"""Responses with stored records: one record, a written record, or a part of a list.

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
    make_weak_etag,
)
from app.http.conditions import (
    REVALIDATE,
    build_unchanged_response,
    encode_headers,
    make_strong_etag,
    prefers_media_type,
)
from app.wire.shape import encode_cursor_list


def build_record_response(
    request: Request,
    body: bytes,
    *,
    etag: str | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the response with a JSON record, or a 304 if the client has the current version.

    Conditions are evaluated here for GET and HEAD only. The conditions of writes are evaluated by
    services.

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
        "ETag": etag or make_strong_etag(hashlib.sha256(body).hexdigest()),
        "Cache-Control": REVALIDATE,
    }
    if unchanged := build_unchanged_response(request, all_headers):
        return unchanged
    all_headers["Content-Length"] = str(len(body))
    return _RecordResponse(b"" if request.method == "HEAD" else body, status, all_headers)


def build_not_modified_response(request: Request, *, etag: str) -> Response | None:
    """Return a 304 if the client has the version with this entity-tag; `None` otherwise."""
    headers = {"ETag": etag, "Cache-Control": REVALIDATE, "Vary": "Accept"}
    return build_unchanged_response(request, headers)


def build_text_response(request: Request, text: str, *, etag: str | None = None) -> Response:
    """Return the response with a record as plain text."""
    response = build_record_response(request, text.encode(), etag=etag)
    response.headers["Content-Type"] = "text/plain; charset=utf-8"
    response.headers["Vary"] = "Accept"
    return response


def wants_text(request: Request) -> bool:
    """Return True if `Accept` prefers `text/plain` to JSON (RFC 9110 §12.5.1)."""
    return prefers_media_type(request.headers, "text/plain", "application/json")


def build_written_response(
    request: Request, body: bytes, *, path: str, is_new: bool, etag: str | None = None
) -> Response:
    """Return the response with a written record and its `Location`: 201 if it is new, else 200."""
    status = 201 if is_new else 200
    return build_record_response(
        request, body, etag=etag, status=status, headers={"Location": path}
    )


def build_list_response(
    request: Request, items: Iterable[bytes], next_cursor: str | None
) -> Response:
    """Return the response with a part of a list, and a `Link` to the next part (RFC 8288)."""
    return build_list_body_response(request, encode_cursor_list(items, next_cursor), next_cursor)


def build_list_body_response(
    request: Request, body: bytes, next_cursor: str | None, *, etag: str | None = None
) -> Response:
    """Return the response with the JSON of a part of a list, and a `Link` to the next part."""
    return build_long_response(
        request, body, etag=etag, headers=build_next_link(request, next_cursor)
    )


def build_long_response(
    request: Request,
    body: bytes,
    *,
    etag: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the response to a GET that may be long. It is compressed if the client accepts that.

    If the client has the current version, the response is a 304.

    Args:
        request: The request.
        body: JSON without a secret; see `app.http.compression`.
        etag: The entity-tag, which clients must not use in conditions of writes. By default, a tag
            of the body.
        headers: Further headers, without `Vary`.

    Raises:
        PreconditionFailedError: If-Match does not hold.
    """
    if len(body) < COMPRESSED_FROM_BYTES:
        return build_record_response(request, body, etag=etag, headers=headers)
    etag = etag or make_strong_etag(hashlib.sha256(body).hexdigest())
    vary_headers = {**(headers or {}), "Vary": "Accept-Encoding"}
    if not accepts_gzip(request):
        return build_record_response(request, body, etag=etag, headers=vary_headers)
    all_headers = {
        **vary_headers,
        "Content-Type": "application/json",
        "ETag": make_weak_etag(etag),
        "Cache-Control": REVALIDATE,
    }
    return build_unchanged_response(request, all_headers) or CompressedResponse(body, all_headers)


def build_next_link(request: Request, next_cursor: str | None) -> dict[str, str]:
    """Return the `Link` header with the next part of a list; empty without `next_cursor`."""
    if next_cursor is None:
        return {}
    # The cursor replaces `after`, the start of the first part.
    parameters = {name: value for name, value in request.query_params.items() if name != "after"}
    query = urlencode({**parameters, "cursor": next_cursor})
    return {"Link": f'<{request.url.path}?{query}>; rel="next"'}


class _RecordResponse(Response):
    """A response with exactly these headers; Starlette would add further headers."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.status_code = status
        self.background = None
        self.body = body
        self.raw_headers = encode_headers(headers)
