"""Answers that carry stored records: one record, one just written, a page of a list.

`Location` and `Link` are relative: no host is taken from a request.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response

from app.errors import PreconditionFailedError, ServiceError
from app.http.conditions import strong_etag
from app.http.content_headers import REVALIDATE
from app.http.content_response import record_response, unchanged_response
from app.http.negotiation import prefers
from app.http.problem_types import problem_responses
from app.wire.lists import list_page


def read_responses(*error_classes: type[ServiceError]) -> dict[int | str, dict[str, Any]]:
    """What a route that reads records may answer besides 200: 304, 412, and these errors."""
    return {
        304: {"description": "The caller's copy is the stored one."},
        **problem_responses(PreconditionFailedError, *error_classes),
    }


def answer_record(
    request: Request,
    body: bytes,
    *,
    etag: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A record: 200 with an ETag, by default one made of the body, or 304."""
    return _answered(request, body, etag, headers)


def answer_unchanged(request: Request, *, etag: str) -> Response | None:
    """The 304 to a caller that has the record already, to be given before it is read."""
    headers = {"ETag": etag, "Cache-Control": REVALIDATE, "Vary": "Accept"}
    return unchanged_response(request.headers, request.method, headers)


def answer_text(request: Request, text: str, *, etag: str | None = None) -> Response:
    """The same for people, as plain text, to those whose Accept asks for it."""
    response = record_response(request.headers, request.method, text.encode(), etag=etag)
    response.headers["Content-Type"] = "text/plain; charset=utf-8"
    response.headers["Vary"] = "Accept"
    return response


def wants_text(request: Request) -> bool:
    """Whether `text/plain` is wanted rather than JSON (RFC 9110 §12.5.1)."""
    return prefers(request.headers, "text/plain", "application/json")


def answer_written(
    request: Request, body: bytes, *, path: str, is_new: bool, etag: str | None = None
) -> Response:
    """A record that a request has written: 201, or 200 if it was there, and where it is."""
    return record_response(
        request.headers,
        request.method,
        body,
        etag=etag,
        status=201 if is_new else 200,
        headers={"Location": path},
    )


def answer_page(request: Request, items: Iterable[bytes], next_cursor: str | None) -> Response:
    """A page of a list, with a link to the next one (RFC 8288) if there is one."""
    return answer_listed(request, list_page(items, next_cursor), next_cursor)


def answer_listed(
    request: Request, body: bytes, next_cursor: str | None, *, etag: str | None = None
) -> Response:
    """The same of a page that is JSON already."""
    return _answered(request, body, etag, next_link(request, next_cursor))


def next_link(request: Request, next_cursor: str | None) -> dict[str, str]:
    """The header that leads to the next page of a list, if there is one."""
    if next_cursor is None:
        return {}
    # The cursor stands for the place that `after` has named.
    asked = {name: value for name, value in request.query_params.items() if name != "after"}
    parameters = urlencode({**asked, "cursor": next_cursor})
    return {"Link": f'<{request.url.path}?{parameters}>; rel="next"'}


class _WholeRecord(Response):
    """A record to a caller that has set no condition: what `record_response` makes, ready to go."""

    def __init__(self, body: bytes, etag: str, headers: Mapping[str, str]) -> None:
        self.status_code = 200
        self.background = None
        self.body = body
        self.raw_headers = [
            *((name.lower().encode(), value.encode()) for name, value in headers.items()),
            (b"content-type", b"application/json"),
            (b"etag", etag.encode()),
            (b"cache-control", REVALIDATE.encode()),
            (b"content-length", str(len(body)).encode()),
        ]


def _answered(
    request: Request, body: bytes, etag: str | None, headers: Mapping[str, str] | None = None
) -> Response:
    if request.scope["method"] != "GET" or _has_condition(request):
        return record_response(request.headers, request.method, body, etag=etag, headers=headers)
    return _WholeRecord(body, etag or strong_etag(hashlib.sha256(body).hexdigest()), headers or {})


def _has_condition(request: Request) -> bool:
    return any(name[:3] == b"if-" for name, _ in request.scope["headers"])
