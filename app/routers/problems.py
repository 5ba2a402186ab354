"""Every error as a problem document (RFC 9457), from one table.

The table gives each error class of the domain its status, and feeds the answers, the OpenAPI
document and the page `/docs/errors`, which is where the `type` of a problem leads: a relative
reference with the kind's code as its fragment. A class without a row of its own answers as its
nearest parent; an exception that is not ours is a 500 that says nothing but where to look.

What the request said is never repeated, except for the path and for the names in JSON pointers, and
these are cleaned: text that cannot be encoded would turn a 422 into a 500.
"""

import html
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response

from app.errors import (
    ConflictError,
    DigestMismatchError,
    Fault,
    ForbiddenLinkError,
    InvalidCursorError,
    InvalidJsonError,
    InvalidPayloadError,
    MalformedRequestError,
    NotFoundError,
    PayloadTooLargeError,
    PreconditionFailedError,
    RangeNotSatisfiableError,
    ServiceError,
    SlowBodyError,
    StoreFullError,
    StoreUnavailableError,
    UnauthorizedError,
    UnsupportedMediaError,
)
from app.schemas.problem import (
    MAX_FAULTS,
    PROBLEM_MEDIA_TYPE,
    PROBLEM_REFERENCE,
    Problem,
    encodable,
    problem_faults,
)

PROBLEMS_PATH = "/docs/errors"

_MAX_INSTANCE_LENGTH = 512

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """A row of the table: what all problems of one kind have in common.

    `meaning` is a sentence for the documentation; a kind without one is explained nowhere.
    """

    status: int
    code: str
    title: str
    meaning: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """The reference to the kind's explanation (RFC 9457 §3.1.1)."""
        return f"{PROBLEMS_PATH}#{self.code}" if self.meaning else "about:blank"


def _row(
    status: int,
    error_class: type[ServiceError],
    title: str,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> tuple[type[ServiceError], ProblemKind]:
    meaning = " ".join((inspect.getdoc(error_class) or "").partition("\n\n")[0].split())
    return error_class, ProblemKind(status, error_class.code, title, meaning, headers)


_KINDS: dict[type[ServiceError], ProblemKind] = dict(
    [
        _row(400, MalformedRequestError, "The request cannot be read"),
        _row(400, InvalidJsonError, "The body is not JSON"),
        _row(400, InvalidCursorError, "The cursor is not valid"),
        _row(400, DigestMismatchError, "The digest does not match"),
        _row(401, UnauthorizedError, "An API key is needed", {"WWW-Authenticate": "Bearer"}),
        _row(403, ForbiddenLinkError, "The link is not valid"),
        _row(404, NotFoundError, "Not found"),
        _row(408, SlowBodyError, "The body came too slowly"),
        _row(409, ConflictError, "The request contradicts what is stored"),
        _row(412, PreconditionFailedError, "A condition of the request does not hold"),
        _row(413, PayloadTooLargeError, "Too large"),
        _row(415, UnsupportedMediaError, "The route does not take this type"),
        _row(416, RangeNotSatisfiableError, "The range lies outside the content"),
        _row(422, InvalidPayloadError, "The request is not what the route takes"),
        _row(503, StoreUnavailableError, "A store did not answer", {"Retry-After": "1"}),
        _row(507, StoreFullError, "There is no room left"),
    ]
)

_INTERNAL = ProblemKind(
    500,
    "internal-error",
    "Something went wrong inside the service",
    "A fault of the service, not of the request. The log has it under the request id.",
)

# What the framework itself answers, by status. Its own sentences are not used: some quote input.
_FRAMEWORK_KINDS = {
    400: _KINDS[MalformedRequestError],
    404: ProblemKind(
        404, "no-such-route", "There is nothing at this address", "No route has this path."
    ),
    405: ProblemKind(
        405,
        "method-not-allowed",
        "The route does not take this method",
        "The path exists, but not for this method; `Allow` lists those it takes.",
    ),
    413: _KINDS[PayloadTooLargeError],
    415: _KINDS[UnsupportedMediaError],
    422: _KINDS[InvalidPayloadError],
    431: ProblemKind(
        431, "headers-too-large", "The headers are too large", "Send fewer or shorter headers."
    ),
    500: _INTERNAL,
}

_INTERNAL_DETAIL = "The service failed on this request. It was logged under the request id."

# Pydantic's messages for these quote the input; `{…}` is filled from what we declared.
_QUOTING_MESSAGES = {
    "union_tag_invalid": "Input should be told apart by one of {expected_tags}",
    "uuid_parsing": "Input should be a valid UUID",
}


def install_problem_handlers(app: FastAPI) -> None:
    """Make every error of `app` a problem document, and serve the page their `type` leads to."""
    for exception_class in (
        ServiceError,
        HTTPException,
        RequestValidationError,
        ClientDisconnect,
        Exception,
    ):
        app.add_exception_handler(exception_class, _answer)
    app.add_route(PROBLEMS_PATH, _problems_page, methods=["GET"], include_in_schema=False)


def problem_response(error: ServiceError, *, instance: str, request_id: str) -> Response:
    """The answer to an error of the domain, for code outside the reach of the handlers.

    Args:
        error: What went wrong.
        instance: The path of the request, decoded, without its query.
        request_id: The id the request has in the log.
    """
    kind = problem_kind(type(error))
    headers = dict(kind.headers)
    if isinstance(error, RangeNotSatisfiableError):
        headers["Content-Range"] = f"bytes */{error.size_bytes}"
    return _response(
        kind, error.detail, error=error, headers=headers, instance=instance, request_id=request_id
    )


def problem_kind(error_class: type[ServiceError]) -> ProblemKind:
    """The row of a class or of its nearest parent; the internal error's if there is none."""
    for ancestor in error_class.__mro__:
        if ancestor in _KINDS:
            return _KINDS[ancestor]
    return _INTERNAL


def problem_responses(*error_classes: type[ServiceError]) -> dict[int | str, dict[str, Any]]:
    """What `responses=` of a route needs to say that it may answer with these errors.

    Classes that share a status share an entry, and its description names all of them. The schema
    is a reference; `problem_components` has what it refers to.
    """
    titles: dict[int, list[str]] = {}
    for error_class in error_classes:
        kind = problem_kind(error_class)
        described = titles.setdefault(kind.status, [])
        if kind.title not in described:
            described.append(kind.title)
    return {
        status: {
            "description": "; or: ".join(titles[status]),
            "content": {PROBLEM_MEDIA_TYPE: {"schema": dict(PROBLEM_REFERENCE)}},
        }
        for status in sorted(titles)
    }


def documented_problems() -> tuple[ProblemKind, ...]:
    """Every kind of problem the service answers with, by status, each once."""
    kinds = {kind.code: kind for kind in (*_KINDS.values(), *_FRAMEWORK_KINDS.values())}
    return tuple(sorted(kinds.values(), key=lambda kind: kind.status))


def problems_markdown() -> str:
    """The text of `docs/errors.md`: a section for each kind, headed by its code."""
    sections = [
        f"## {kind.code}\n\n**{kind.status}** · {kind.title}\n\n{kind.meaning}\n"
        for kind in documented_problems()
    ]
    return "\n".join(["# Errors\n", f"{_INTRODUCTION}\n", *sections])


_INTRODUCTION = (
    "Every error is `application/problem+json` (RFC 9457) with `type`, `title`, `status`, "
    "`detail`, `instance`, `code` and `requestId`, and with `errors` (`pointer` and `detail`) "
    "where several things are wrong. `type` leads to a section of this page; `code` is that "
    "section's name, or a narrower one."
)


async def _problems_page(request: Request) -> Response:
    sections = "".join(
        f'<h2 id="{kind.code}">{kind.code}</h2>'
        f"<p><b>{kind.status}</b> · {html.escape(kind.title)}</p>"
        f"<p>{html.escape(kind.meaning)}</p>"
        for kind in documented_problems()
    )
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Errors</title>'
        f"<h1>Errors</h1><p>{html.escape(_INTRODUCTION)}</p>{sections}</html>"
    )


async def _answer(request: Request, exc: Exception) -> Response:
    error = _domain_error(exc)
    instance: str = request.scope["path"]
    request_id = str(getattr(request.state, "request_id", "-"))
    if error is not None:
        return problem_response(error, instance=instance, request_id=request_id)
    if isinstance(exc, HTTPException) and exc.status_code != _INTERNAL.status:
        kind = _FRAMEWORK_KINDS.get(exc.status_code) or _undocumented_kind(exc.status_code)
        headers = {**kind.headers, **(exc.headers or {})}
        return _response(
            kind, f"{kind.title}.", headers=headers, instance=instance, request_id=request_id
        )
    _log.error("request_failed", request_id=request_id, exc_info=exc)
    return _response(_INTERNAL, _INTERNAL_DETAIL, instance=instance, request_id=request_id)


def _domain_error(exc: Exception) -> ServiceError | None:
    """The error of the domain an exception is or stands for; `None` if it is none with a row."""
    if isinstance(exc, ServiceError):
        return None if problem_kind(type(exc)) is _INTERNAL else exc
    if isinstance(exc, RequestValidationError):
        return _invalid_payload(exc.errors())
    if isinstance(exc, ClientDisconnect):
        # Nobody is there to read it; what matters is that it is no fault of ours to be logged.
        return MalformedRequestError("The body ended before it was complete.")
    return None


def _undocumented_kind(status: int) -> ProblemKind:
    try:
        title = HTTPStatus(status).phrase
    except ValueError:
        title = "Error"
    return ProblemKind(status, re.sub(r"[^a-z]+", "-", title.lower()), title)


def _response(
    kind: ProblemKind,
    detail: str,
    *,
    instance: str,
    request_id: str,
    error: ServiceError | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    problem = Problem(
        type=kind.type,
        title=kind.title,
        status=kind.status,
        detail=encodable(detail),
        instance=_instance_reference(instance),
        code=error.problem_code if error else kind.code,
        request_id=encodable(request_id),
        errors=problem_faults(error.faults) if error else (),
    )
    return Response(
        problem.json_bytes(),
        status_code=kind.status,
        headers={
            **(headers or {}),
            "Content-Type": PROBLEM_MEDIA_TYPE,
            # A 404 may otherwise be kept by caches that are told nothing (RFC 9110 §15.1).
            "Cache-Control": "no-store",
        },
    )


def _instance_reference(path: str) -> str:
    reference = quote(path, safe="/:@!$&'()*+,;=", errors="replace")[:_MAX_INSTANCE_LENGTH]
    # A cut may leave an escape without its digits, and the whole would be no reference any more.
    return re.sub(r"%[0-9A-F]?\Z", "", reference)


def _invalid_payload(errors: Sequence[Mapping[str, Any]]) -> InvalidPayloadError:
    faults = [Fault(_pointer(error), _message(error)) for error in errors[:MAX_FAULTS]]
    return InvalidPayloadError(
        f"The request does not fit the route in {len(errors)} place(s); `errors` says where.",
        faults=faults,
    )


def _pointer(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":
        # Its location is a position in the text and not a place in a value.
        return ""
    location = [str(name) for name in error["loc"]]
    tokens = location[1:] if location[:1] == ["body"] else location
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)


def _message(error: Mapping[str, Any]) -> str:
    if template := _QUOTING_MESSAGES.get(error["type"]):
        return template.format_map(error.get("ctx", {}))
    return str(error["msg"])
