"""Answers that carry stored records: one record, one just written, a page of a list.

`Location` and `Link` are relative: no host is taken from a request.
"""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response

from app.errors import PreconditionFailedError, ServiceError
from app.rendering.envelopes import list_page
from app.routers.content_response import record_response
from app.routers.problem_kinds import problem_responses


def read_responses(*error_classes: type[ServiceError]) -> dict[int | str, dict[str, Any]]:
    """What a route that reads records may answer besides 200: 304, 412, and these errors."""
    return {
        304: {"description": "The caller's copy is the stored one."},
        **problem_responses(PreconditionFailedError, *error_classes),
    }


def answer_record(request: Request, body: bytes) -> Response:
    """A record: 200 with an ETag, or 304."""
    return record_response(request.headers, request.method, body)


def answer_written(request: Request, body: bytes, *, path: str, is_new: bool) -> Response:
    """A record that a request has written: 201, or 200 if it was there, and where it is."""
    return record_response(
        request.headers,
        request.method,
        body,
        status=201 if is_new else 200,
        headers={"Location": path},
    )


def answer_page(request: Request, items: Iterable[bytes], next_cursor: str | None) -> Response:
    """A page of a list, with a link to the next one (RFC 8288) if there is one."""
    headers = {}
    if next_cursor is not None:
        parameters = urlencode({**request.query_params, "cursor": next_cursor})
        headers["Link"] = f'<{request.url.path}?{parameters}>; rel="next"'
    return record_response(
        request.headers, request.method, list_page(items, next_cursor), headers=headers
    )
