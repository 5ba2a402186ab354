"""Exception handlers that send every error as a problem document (RFC 9457).

The `type` of a problem is a link to the page `/docs/errors`, with the code of the error as its
fragment. An unexpected exception is a 500 with only the request id, under which it is logged.

Problems never repeat input, except for the path and for names in JSON pointers. Lone surrogates in
these are replaced, because they cannot be encoded: a 422 would become a 500.
"""

import re
from functools import partial
from http import HTTPStatus

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.websockets import WebSocket, WebSocketState

from app.errors import MalformedRequestError, MemoryExhaustedError
from app.http.docs_page import build_not_found_page, get_problems_page, prefers_html
from app.http.problem_types import (
    FRAMEWORK_PROBLEM_TYPES,
    INTERNAL,
    PROBLEMS_PATH,
    ProblemType,
    build_problem_response,
    find_problem_type,
)
from app.telemetry.metrics import Metrics
from app.wire.problem import MAX_FAULTS
from pagefault_dialects.errors import InvalidPayloadError, PagefaultError
from pagefault_dialects.model.base import fault_of

# "Try Again Later" in IANA's registry of WebSocket close codes.
_CLOSE_TRY_AGAIN_LATER = 1013

_log = structlog.get_logger(__name__)

_INTERNAL_DETAIL = "The service failed on this request. It was logged under the request id."


def install_problem_handlers(app: FastAPI) -> None:
    """Add the exception handlers to an application, and the page to which `type` links."""
    for exception_class in (
        PagefaultError,
        HTTPException,
        RequestValidationError,
        WebSocketRequestValidationError,
        ClientDisconnect,
        Exception,
    ):
        # The handler accepts a request or a WebSocket; Starlette's type permits only one of them.
        app.add_exception_handler(exception_class, _handle_exception)  # type: ignore[arg-type]
    app.add_route(PROBLEMS_PATH, get_problems_page, methods=["GET"], include_in_schema=False)


async def _handle_exception(connection: Request | WebSocket, exc: Exception) -> Response | None:
    """Return the response to a request. To a WebSocket, send the response, or close it if open."""
    if isinstance(connection, Request):
        return _respond_to_error(connection, exc)
    if connection.application_state is WebSocketState.CONNECTING:
        await connection.send_denial_response(_respond_to_error(connection, exc))
    else:
        await connection.close(_CLOSE_TRY_AGAIN_LATER, "come back later")
    return None


def _respond_to_error(request: HTTPConnection, exc: Exception) -> Response:
    """Return the problem document of an exception; for browsers, a 404 is an HTML page."""
    error = _find_domain_error(exc)
    request_id = str(getattr(request.state, "request_id", "-"))
    respond = partial(build_problem_response, instance=request.scope["path"], request_id=request_id)
    if error is not None:
        if isinstance(error, MemoryExhaustedError):
            request.state.services[Metrics].count_memory_refusal()
        return respond(error)
    if isinstance(exc, HTTPException) and exc.status_code != INTERNAL.status:
        if exc.status_code == HTTPStatus.NOT_FOUND and prefers_html(request):
            return build_not_found_page(is_head=request.scope["method"] == "HEAD")
        kind = FRAMEWORK_PROBLEM_TYPES.get(exc.status_code) or _build_undocumented_type(
            exc.status_code
        )
        headers = dict(exc.headers or {})
        if exc.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (
            allowed := _find_allowed_methods(request)
        ):
            headers["Allow"] = allowed
        return respond(PagefaultError(f"{kind.title}.", code=kind.code), kind=kind, headers=headers)
    _log.error("request_failed", request_id=request_id, exc_info=exc)
    return respond(PagefaultError(_INTERNAL_DETAIL, code=INTERNAL.code))


def _find_allowed_methods(request: HTTPConnection) -> str:
    """Return all methods of a path for `Allow` (RFC 9110 §15.5.6); empty for undocumented paths.

    Starlette returns only the methods of one route, but each method of a path is a route. Literal
    paths have precedence over paths with parameters, as in OpenAPI: `/api/sessions/import` has only
    POST, although `GET /api/sessions/{session_id}` matches it as well.
    """
    paths = request.app.openapi()["paths"]
    path = request.scope["path"]
    operations = paths.get(path) or next(
        (item for template, item in paths.items() if compile_path(template)[0].match(path)), ()
    )
    return ", ".join(sorted(method.upper() for method in operations))


def _find_domain_error(exc: Exception) -> PagefaultError | None:
    """Return the domain error for an exception, or None if it is unexpected."""
    if isinstance(exc, PagefaultError):
        return None if find_problem_type(type(exc)) is INTERNAL else exc
    if isinstance(exc, RequestValidationError | WebSocketRequestValidationError):
        errors = exc.errors()
        return InvalidPayloadError(
            f"The request does not fit the route in {len(errors)} place(s); `errors` says where.",
            faults=[fault_of(error) for error in errors[:MAX_FAULTS]],
        )
    if isinstance(exc, ClientDisconnect):
        # A client that disconnects is not a failure of the service, which would be logged.
        return MalformedRequestError("The body ended before it was complete.")
    return None


def _build_undocumented_type(status: int) -> ProblemType:
    """Return a problem type that is named after its status."""
    try:
        title = HTTPStatus(status).phrase
    except ValueError:
        title = "Error"
    return ProblemType(status, re.sub(r"[^a-z]+", "-", title.lower()), title)
