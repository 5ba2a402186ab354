"""The table of problem types: each error class with its status, code and title.

Responses, the OpenAPI document and the page of errors are made from this table. If a class is not
in the table, its nearest parent is used. This module does not import FastAPI, because the proxy of
`pagefault_mcp` uses it as well.
"""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from app import errors
from app.errors import QuotaExceededError, RangeNotSatisfiableError, ServiceError
from app.wire.problem import PROBLEM_MEDIA_TYPE, PROBLEM_REFERENCE, Problem, build_problem_faults
from pagefault_dialects.errors import (
    InvalidJsonError,
    InvalidPayloadError,
    PagefaultError,
    PayloadTooLargeError,
)
from pagefault_dialects.text_windows import without_lone_surrogates

PROBLEMS_PATH = "/docs/errors"

BODY_ERRORS = (
    errors.MalformedRequestError,
    errors.SlowBodyError,
    PayloadTooLargeError,
    errors.UnsupportedMediaError,
    InvalidPayloadError,
)
"""Errors of routes that read a body."""
RECORD_ERRORS = (errors.NotFoundError, PayloadTooLargeError, InvalidPayloadError)
"""Errors of routes that build a response in memory from a stored record."""


@dataclass(frozen=True, slots=True)
class ProblemType:
    """The members that all problems of a type have in common.

    `meaning` is the text in the documentation. A type with an empty `meaning` is not documented.
    """

    status: int
    code: str
    title: str
    meaning: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """Return the `type` of the problem: the URL of its documentation (RFC 9457 §3.1.1)."""
        return f"{PROBLEMS_PATH}#{self.code}" if self.meaning else "about:blank"


def _build_problem_type(
    error_class: type[PagefaultError],
    status: int,
    title: str,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> ProblemType:
    """Build the problem type of an error class. Its `meaning` is the docstring of the class."""
    description = (inspect.getdoc(error_class) or "").partition("\n\nArgs:")[0]
    return ProblemType(status, error_class.code, title, " ".join(description.split()), headers)


# `pagefault_dialects` does not use HTTP, so the statuses of its errors are here.
_LIBRARY_PROBLEM_TYPES = {
    InvalidJsonError: (400, "The body is not JSON"),
    PayloadTooLargeError: (413, "Too large"),
    InvalidPayloadError: (422, "The request is not what the route takes"),
}
_SERVICE_PROBLEM_TYPES = {
    value: (value.status, value.title, value.headers)
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, ServiceError) and value is not ServiceError
}
PROBLEM_TYPES: dict[type[PagefaultError], ProblemType] = {
    error_class: _build_problem_type(error_class, *members)
    for error_class, members in (_LIBRARY_PROBLEM_TYPES | _SERVICE_PROBLEM_TYPES).items()
}

INTERNAL = ProblemType(
    500,
    "internal-error",
    "Something went wrong inside the service",
    "A fault of the service, not of the request. The log has it under the request id.",
)

# Errors of FastAPI and Starlette, by status. Their own messages may quote input and are not used.
FRAMEWORK_PROBLEM_TYPES = {
    400: PROBLEM_TYPES[errors.MalformedRequestError],
    404: ProblemType(
        404, "no-such-route", "There is nothing at this address", "No route has this path."
    ),
    405: ProblemType(
        405,
        "method-not-allowed",
        "The route does not take this method",
        "The path exists, but not for this method; `Allow` lists those it takes.",
    ),
    413: PROBLEM_TYPES[PayloadTooLargeError],
    415: PROBLEM_TYPES[errors.UnsupportedMediaError],
    422: PROBLEM_TYPES[InvalidPayloadError],
    431: PROBLEM_TYPES[errors.HeadersTooLargeError],
    500: INTERNAL,
}


def find_problem_type(error_class: type[PagefaultError]) -> ProblemType:
    """Return the type of an error class or its nearest parent; `INTERNAL` if none has one."""
    for ancestor in error_class.__mro__:
        if ancestor in PROBLEM_TYPES:
            return PROBLEM_TYPES[ancestor]
    return INTERNAL


_RETRY_STATUSES = (429, 503)
_RETRY_AFTER = {
    "Retry-After": {
        "description": "The seconds to wait before sending the request again.",
        "schema": {"type": "integer"},
    }
}


def describe_errors(
    *error_classes: type[PagefaultError],
) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of these errors for `responses=` of a route.

    Classes with the same status share an entry, whose description has the titles of all. The schema
    is a reference to a component of `problem_components`.
    """
    titles: dict[int, list[str]] = {}
    for error_class in error_classes:
        kind = find_problem_type(error_class)
        titles_of_status = titles.setdefault(kind.status, [])
        if kind.title not in titles_of_status:
            titles_of_status.append(kind.title)
    return {
        status: {
            "description": "; or: ".join(titles[status]),
            **({"headers": _RETRY_AFTER} if status in _RETRY_STATUSES else {}),
            "content": {PROBLEM_MEDIA_TYPE: {"schema": dict(PROBLEM_REFERENCE)}},
        }
        for status in sorted(titles)
    }


def describe_read_responses(
    *error_classes: type[PagefaultError],
) -> dict[int | str, dict[str, Any]]:
    """Return the documentation for `responses=` of a route that reads: 304, 412 and the errors."""
    return {
        304: {"description": "The client has the current version."},
        **describe_errors(errors.PreconditionFailedError, *error_classes),
    }


OPENAI_PREFIX = "/v1/"
"""Errors of paths with this prefix also have the form that OpenAI's clients read."""
_MAX_INSTANCE_LENGTH = 512


def build_problem_response(
    error: PagefaultError,
    *,
    instance: str,
    request_id: str,
    kind: ProblemType | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Build the response for an error, in an exception handler or a middleware.

    The traceback of the error is removed, because it may be part of a reference cycle. The cycle
    would keep the body of the request in memory until the next garbage collection.

    Args:
        error: The error.
        instance: The path of the request, decoded, without its query.
        request_id: The id of the request in the log.
        kind: The type of problem; by default, the type of the error's class.
        headers: Further headers.
    """
    error.__traceback__ = None
    kind = kind or find_problem_type(type(error))
    all_headers = {**kind.headers, **(headers or {})}
    if isinstance(error, RangeNotSatisfiableError):
        all_headers["Content-Range"] = f"bytes */{error.size_bytes}"
    if isinstance(error, QuotaExceededError):
        all_headers["Retry-After"] = str(error.retry_after_seconds)
    quoted_path = quote(instance, safe="/:@!$&'()*+,;=", errors="replace")[:_MAX_INSTANCE_LENGTH]
    problem = Problem(
        type=kind.type,
        title=kind.title,
        status=kind.status,
        detail=without_lone_surrogates(error.detail),
        # An escape that was cut at the maximal length is removed.
        instance=re.sub(r"%[0-9A-F]?\Z", "", quoted_path),
        code=error.problem_code,
        request_id=without_lone_surrogates(request_id),
        errors=build_problem_faults(error.faults, every=error.tells_every_fault),
    )
    members = error.members
    if instance.startswith(OPENAI_PREFIX):
        members = {**members, "error": _build_openai_error(problem)}
    return Response(
        problem.json_bytes(members),
        status_code=kind.status,
        headers={
            **all_headers,
            "Content-Type": PROBLEM_MEDIA_TYPE,
            # Without this, caches may store a 404 (RFC 9110 §15.1).
            "Cache-Control": "no-store",
        },
    )


def _build_openai_error(problem: Problem) -> dict[str, object]:
    """Return a problem in the form that OpenAI's clients read."""
    return {
        "message": problem.detail,
        "type": "invalid_request_error" if problem.status < 500 else "server_error",
        "param": problem.errors[0].pointer if problem.errors else None,
        "code": problem.code,
    }
