"""The OpenAPI document, in the form that client generators accept."""

from functools import cache, partial
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_fields_from_routes, get_openapi
from fastapi.routing import APIRoute

from app.errors import (
    ForbiddenOriginError,
    MisdirectedRequestError,
    QuotaExceededError,
    StoredBytesQuotaError,
    StoreFullError,
    StoreUnavailableError,
    UnauthorizedError,
)
from app.http.openapi_operations import (
    IF_MATCH,
    IF_NONE_MATCH,
    LOCATION,
    answer_headers,
    reference,
    streamed_bodies,
)
from app.http.openapi_schemas import finish_schemas, schemas_of
from app.http.problem_types import problem_responses
from app.http.tus import PATH as TUS_PATH
from app.http.tus import TusVersion
from app.wire.event_frames import StreamEvent
from app.wire.problem import problem_components
from pagefault_dialects.errors import InvalidPayloadError

SERVERS = (
    {"url": "http://127.0.0.1:8000", "description": "Where `make run` serves; use your address."},
)

_METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
_WRITING = ("post", "put", "patch", "delete")
_OF_ANY = problem_responses(MisdirectedRequestError)
_OF_WRITES = problem_responses(ForbiddenOriginError)
_OF_API = problem_responses(
    UnauthorizedError,
    QuotaExceededError,
    StoreUnavailableError,
    StoreFullError,
    StoredBytesQuotaError,
)
_OF_QUERIES = problem_responses(InvalidPayloadError)

_LINK = answer_headers(
    Link=("string", '`<…>; rel="next"`: the next page of the list, if there is one (RFC 8288).')
)
_ETAG = answer_headers(ETag=("string", "The version of the answer, for `If-Match` and the like."))

TAGS = (
    {"name": "tool results", "description": "Raw results in, canonical records out."},
    {"name": "resources", "description": "Media and files, each stored once."},
    {"name": "aliases", "description": "Names that other systems use for resources."},
    {"name": "references", "description": "Outputs of a tool as arguments of the next one."},
    {"name": "uploads", "description": "Large files, in pieces that survive a restart."},
    {"name": "pages", "description": "Agent memory, faulted in at any level."},
    {"name": "search", "description": "Search over all stored records."},
    {"name": "sessions", "description": "Histories of agents, in order."},
    {"name": "interactions", "description": "User turns with files, and their answers."},
    {
        "name": "renderings",
        "description": "Records as messages for any model, with an account of losses.",
    },
    {"name": "doctor", "description": "Errors in histories, and their repair."},
    {"name": "tools", "description": "The memory's tools for models, and their calls."},
    {"name": "events", "description": "All writes as live streams that can be resumed."},
    {"name": "operations", "description": "Health, readiness, version and metrics."},
)


def install_openapi(app: FastAPI) -> None:
    """Serve the finished document at `/openapi.json`, made on first use."""
    # FastAPI documents this assignment as the way to extend its document.
    app.openapi = cache(partial(_describe, app))  # type: ignore[method-assign]


def _describe(app: FastAPI) -> dict[str, Any]:
    for route in app.routes:
        if isinstance(route, APIRoute):
            # Methods of generated clients get the name of the function.
            route.operation_id = route.name
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        routes=app.routes,
        tags=list(TAGS),
        servers=[*SERVERS],
        separate_input_output_schemas=False,
    )
    schemas = document["components"]["schemas"]
    # Once more those that FastAPI has: it takes every null out of their examples.
    answered = [field.field_info.annotation for field in get_fields_from_routes(app.routes)]
    schemas.update(schemas_of([*answered, *streamed_bodies(), StreamEvent, TusVersion]))
    schemas.update(problem_components())
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    # By name: the order in which modules are loaded is not to show.
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    for path, item in document["paths"].items():
        for method in item.keys() & _METHODS:
            operation = item[method]
            _document_common_faults(path, method, operation["responses"])
            _document_conditions(operation)
            _document_links(operation)
            content = operation["responses"].get("200", {}).get("content", {})
            if "text/event-stream" in content:
                # By a word of OpenAPI 3.1: `itemSchema` is one of 3.2.
                content["text/event-stream"] = {"schema": reference(StreamEvent)}
            # Operations without one are public; generators need it said.
            operation.setdefault("security", [])
    finish_schemas(document)
    return document


def _document_conditions(operation: dict[str, Any]) -> None:
    """Add the conditions of a read, and spell headers as their standards do."""
    parameters = operation.setdefault("parameters", [])
    for parameter in parameters:
        if parameter["in"] == "header" and parameter["name"].islower():
            parameter["name"] = parameter["name"].title()
    responses = operation["responses"]
    if "304" in responses:
        parameters += [dict(IF_MATCH), dict(IF_NONE_MATCH)]
    if any(parameter["name"] == "If-Match" for parameter in parameters):
        for status in responses.keys() & {"200", "201", "206"}:
            responses[status]["headers"] = {**_ETAG, **responses[status].get("headers", {})}
    if not parameters:
        del operation["parameters"]


def _document_links(operation: dict[str, Any]) -> None:
    """Add the headers with the path of a written record, and with the next page of a list."""
    responses = operation["responses"]
    # New records and existing ones are both answered with their path.
    written = {"200", "201"} if {"200", "201"} <= responses.keys() else set()
    has_list = any(each["name"] == "cursor" for each in operation.get("parameters", ()))
    for status, headers in [*((each, LOCATION) for each in written), *[("200", _LINK)][:has_list]]:
        responses[status]["headers"] = {**headers, **responses[status].get("headers", {})}


def _document_common_faults(path: str, method: str, responses: dict[str, Any]) -> None:
    """Add the common errors of all operations, of writes, and of operations below `/api/`.

    The latter are missing keys, quotas, failing stores, and unknown query parameters.
    """
    # The framework's own 422 stands where a route has not declared ours.
    if "application/json" in responses.get("422", {}).get("content", {}):
        del responses["422"]
    faults = _OF_ANY | (_OF_WRITES if method in _WRITING else {})
    if path.startswith("/api/"):
        faults |= _OF_API | ({} if path.startswith(TUS_PATH) else _OF_QUERIES)
    for status, fault in faults.items():
        responses.setdefault(str(status), fault)
