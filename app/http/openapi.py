"""The OpenAPI document, in the form that client generators accept."""

from typing import Any

from fastapi import FastAPI, routing
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, TypeAdapter

from app.errors import (
    ForbiddenOriginError,
    InvalidPayloadError,
    MisdirectedRequestError,
    QuotaExceededError,
    StoredBytesQuotaError,
    StoreFullError,
    StoreUnavailableError,
    UnauthorizedError,
)
from app.http.problem_types import problem_responses
from app.http.tus import PATH as TUS_PATH
from app.wire.events import DATA_OF
from app.wire.problem import problem_components
from app.wire.shape import Shape

_SCHEMA_TEMPLATE = "#/components/schemas/{model}"
_read_by_hand: dict[str, type[BaseModel]] = {}
"""The models of bodies that routes read as a stream, by name; FastAPI knows none of them."""

BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
"""The documentation of an answer that is a file."""

_METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
_WRITING = ("post", "put", "patch", "delete")

TAGS = (
    {"name": "tool results", "description": "Raw results in, canonical records out."},
    {"name": "resources", "description": "Media and files, each kept once."},
    {"name": "aliases", "description": "What other systems call a resource."},
    {"name": "references", "description": "What one tool returned, for the next one to take."},
    {"name": "uploads", "description": "Large files, in pieces that survive a restart."},
    {"name": "pages", "description": "Agent memory, faulted in at any level."},
    {"name": "search", "description": "Whatever has the words, wherever it is."},
    {"name": "sessions", "description": "What happened, in the order it happened."},
    {"name": "interactions", "description": "User turns with files, and their answers."},
    {"name": "renderings", "description": "Any record, for any model, and what was lost."},
    {"name": "doctor", "description": "What is wrong with any history, and the history healed."},
    {"name": "tools", "description": "Tools for models, and whoever runs them."},
    {"name": "events", "description": "What is written, live, and again after a reload."},
    {"name": "operations", "description": "For those who run the service."},
)


def operation_id(route: routing.APIRoute) -> str:
    """Name an operation as its function is named; SDK methods get that name."""
    return route.name


def json_body(
    model: type[BaseModel], *, required: bool = True, media_type: str = "application/json"
) -> dict[str, Any]:
    """Return the documentation of a JSON body that the route reads as a stream."""
    _read_by_hand[model.__name__] = model
    reference = _SCHEMA_TEMPLATE.format(model=model.__name__)
    return {
        "requestBody": {
            "required": required,
            "content": {media_type: {"schema": {"$ref": reference}}},
        }
    }


def file_body() -> dict[str, Any]:
    """Return the documentation of a body that is a file, raw or in a form."""
    binary = {"type": "string", "format": "binary"}
    form = {
        "type": "object",
        "title": "FileForm",
        "required": ["file"],
        "properties": {"file": binary},
    }
    return {
        "requestBody": {
            "required": True,
            "content": {
                "application/octet-stream": {"schema": binary},
                "multipart/form-data": {"schema": form},
            },
        }
    }


def install_openapi(app: FastAPI) -> None:
    """Serve the finished document at `/openapi.json`, made on first use."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _describe(app)
        return app.openapi_schema

    # FastAPI documents this assignment as the way to extend its document.
    app.openapi = document  # type: ignore[method-assign]


def _describe(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        routes=app.routes,
        tags=list(TAGS),
        separate_input_output_schemas=False,
    )
    schemas = document["components"]["schemas"]
    schemas.update(problem_components())
    # By name: the order in which modules are loaded is not to show.
    for name in sorted(_read_by_hand):
        _add_schema(schemas, _read_by_hand[name])
    for events in DATA_OF.values():
        _add_schema(schemas, events)
    _document_common_faults(document)
    _document_streams(document)
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return document


def _add_schema(schemas: dict[str, Any], model: type[BaseModel | Shape]) -> None:
    schema = TypeAdapter[Any](model).json_schema(ref_template=_SCHEMA_TEMPLATE)
    schemas.update(schema.pop("$defs", {}))
    schemas[model.__name__] = schema


def _document_streams(document: dict[str, Any]) -> None:
    """Describe streams of events by a word of OpenAPI 3.1: `itemSchema` is one of 3.2."""
    for item in document["paths"].values():
        for method in _METHODS:
            content = item.get(method, {}).get("responses", {}).get("200", {}).get("content", {})
            if "text/event-stream" in content:
                content["text/event-stream"] = {"schema": {"type": "string"}}


def _document_common_faults(document: dict[str, Any]) -> None:
    """Add what any operation may answer to a browser, and any of the API to anybody.

    That is no key, a quota, a store that does not answer, a name in the query that is not known.
    """
    of_any = problem_responses(MisdirectedRequestError)
    of_writes = problem_responses(ForbiddenOriginError)
    of_api = problem_responses(
        UnauthorizedError,
        QuotaExceededError,
        StoreUnavailableError,
        StoreFullError,
        StoredBytesQuotaError,
    )
    of_queries = problem_responses(InvalidPayloadError)
    for path, item in document["paths"].items():
        is_api = path.startswith("/api/")
        for method in _METHODS:
            if method not in item:
                continue
            responses = item[method]["responses"]
            # The framework's own 422 stands where a route has not declared ours.
            if "application/json" in responses.get("422", {}).get("content", {}):
                del responses["422"]
            faults = {
                **of_any,
                **(of_writes if method in _WRITING else {}),
                **(of_api if is_api else {}),
                **(of_queries if is_api and not path.startswith(TUS_PATH) else {}),
            }
            for status, fault in faults.items():
                responses.setdefault(str(status), fault)
