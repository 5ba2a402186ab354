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
from app.models.interaction import ChatMessage
from app.services.pages.requests import (
    FaultRequest,
    PageBatch,
    PageDraft,
    PagePatch,
    RepresentationDraft,
)
from app.services.resources.reference_requests import ResolveRequest
from app.services.sessions.interaction_requests import InteractionDraft
from app.services.sessions.messages import HistoryMessageDraft
from app.services.tool_results.requests import ToolResultRequest
from app.wire.events import DATA_OF
from app.wire.problem import problem_components
from app.wire.renders import RenderRequest
from app.wire.resources import AliasDraft, SignedUrlRequest
from app.wire.shape import Shape

_SCHEMA_TEMPLATE = "#/components/schemas/{model}"
_READ_BY_HAND: tuple[type[BaseModel], ...] = (
    ToolResultRequest,
    SignedUrlRequest,
    AliasDraft,
    ResolveRequest,
    PageDraft,
    PageBatch,
    PagePatch,
    FaultRequest,
    RepresentationDraft,
    HistoryMessageDraft,
    InteractionDraft,
    ChatMessage,
    RenderRequest,
)

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
    {"name": "sessions", "description": "What happened, in the order it happened."},
    {"name": "interactions", "description": "User turns with files, and their answers."},
    {"name": "renderings", "description": "Any record, for any model, and what was lost."},
    {"name": "events", "description": "What is written, live, and again after a reload."},
    {"name": "operations", "description": "For those who run the service."},
)


def operation_id(route: routing.APIRoute) -> str:
    """An operation is called what its function is called; SDK methods get that name."""
    return route.name


def json_body(
    model: type[BaseModel], *, required: bool = True, media_type: str = "application/json"
) -> dict[str, Any]:
    """The documentation of a JSON body that the route reads as a stream."""
    reference = _SCHEMA_TEMPLATE.format(model=model.__name__)
    return {
        "requestBody": {
            "required": required,
            "content": {media_type: {"schema": {"$ref": reference}}},
        }
    }


def file_body() -> dict[str, Any]:
    """The documentation of a body that is a file, raw or in a form."""
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
    for model in _READ_BY_HAND:
        _add_schema(schemas, model)
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
    anywhere = problem_responses(MisdirectedRequestError)
    written = problem_responses(ForbiddenOriginError)
    common = problem_responses(
        UnauthorizedError,
        QuotaExceededError,
        StoreUnavailableError,
        StoreFullError,
        StoredBytesQuotaError,
    )
    judged = problem_responses(InvalidPayloadError)
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method not in item:
                continue
            responses = item[method]["responses"]
            responses.update({str(status): fault for status, fault in anywhere.items()})
            if method in _WRITING:
                _set_faults(responses, written)
            if path.startswith("/api/"):
                _set_faults(responses, common)
                if not path.startswith(TUS_PATH):
                    _set_faults(responses, judged)


def _set_faults(responses: dict[str, Any], common: dict[int | str, dict[str, Any]]) -> None:
    # The framework's own 422 stands where a route has not declared ours.
    if "application/json" in responses.get("422", {}).get("content", {}):
        del responses["422"]
    for status, fault in common.items():
        responses.setdefault(str(status), fault)
