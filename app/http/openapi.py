"""The OpenAPI document, adapted for client generators.

Schemas are rewritten so that generators create the right types. Without a `format`, an integer has
32 bits in Go, and a number is a float. Titles would become names of types. Few generators support
`prefixItems`, and some create an empty type for `anyOf`.

Schemas of responses allow additional members, which a later version may add; schemas of requests do
not. A schema that is used in both is in the document twice: see `_separate_requests_and_responses`.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_fields_from_routes, get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

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
    SCHEMA_TEMPLATE,
    build_reference,
    describe_response_headers,
    get_streamed_body_models,
)
from app.http.problem_types import OPENAI_PREFIX, describe_errors
from app.http.tus import PATH as TUS_PATH
from app.http.tus import TusVersion
from app.wire.event_frames import StreamEvent
from app.wire.problem import (
    OPENAI_PROBLEM_REFERENCE,
    PROBLEM_MEDIA_TYPE,
    build_problem_components,
)
from pagefault_dialects.errors import InvalidPayloadError

_FORMATS = {"integer": "int64", "number": "double"}
_REQUEST_KEYS = ("parameters", "requestBody")
_SCHEMA_KEYWORDS = ("items", "additionalProperties", "not")
_SCHEMA_LIST_KEYWORDS = ("anyOf", "oneOf", "allOf", "prefixItems")


def build_schemas(models: Iterable[Any]) -> dict[str, Any]:
    """Return the schemas of types and of all types to which they refer, by name."""
    adapters = [(number, "validation", TypeAdapter(model)) for number, model in enumerate(models)]
    _, schemas = TypeAdapter.json_schemas(adapters, ref_template=SCHEMA_TEMPLATE)  # type: ignore[arg-type]
    by_name: dict[str, Any] = schemas.get("$defs", {})
    return by_name


def rewrite_schemas(document: dict[str, Any]) -> None:
    """Rewrite every schema of a document in place."""
    union_references = {
        _format_reference(name)
        for name, schema in document["components"]["schemas"].items()
        if "anyOf" in schema
    }
    for item in document["paths"].values():
        for operation in item.values():
            for parameter in operation.get("parameters", ()):
                parameter["schema"] = _rewrite_parameter_schema(parameter["schema"])
    for schema in find_schemas(document):
        _rewrite_schema(schema)
        if schema.get("$ref") in union_references and "default" in schema:
            # Generators cannot write defaults of unions, so the description names the default.
            default = f"By default {schema.pop('default')}."
            description = schema.get("description")
            schema["description"] = f"{description} {default}" if description else default
    _separate_requests_and_responses(document)


def find_schemas(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every schema of a document: those of components and operations, and nested ones."""
    for schema in document["components"]["schemas"].values():
        yield from _find_nested_schemas(schema)
    for holder in _find_schema_holders(document["paths"]):
        yield from _find_nested_schemas(holder["schema"])


def _find_schema_holders(node: object) -> Iterator[dict[str, Any]]:
    """Yield all parameters, headers and media types that have a schema, at any depth."""
    if isinstance(node, dict) and isinstance(node.get("schema"), dict):
        yield node
    elif isinstance(node, dict | list):
        for item in node.values() if isinstance(node, dict) else node:
            yield from _find_schema_holders(item)


def _find_nested_schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a schema, and the schemas in it at any depth."""
    yield schema
    inner = [schema[key] for key in _SCHEMA_KEYWORDS if isinstance(schema.get(key), dict)]
    for key in _SCHEMA_LIST_KEYWORDS:
        inner += schema.get(key, [])
    for item in [*inner, *schema.get("properties", {}).values()]:
        yield from _find_nested_schemas(item)


def _rewrite_schema(schema: dict[str, Any]) -> None:
    """Adapt one schema for client generators, in place."""
    schema.pop("title", None)
    if schema.get("default", ...) is None:
        # In this API, null and an absent member have the same meaning.
        del schema["default"]
    json_type = schema.get("type")
    if json_type in _FORMATS:
        schema.setdefault("format", _FORMATS[json_type])
    alternatives = [item for item in schema.get("anyOf", ()) if item.get("type") != "null"]
    if len(alternatives) > 1:
        # A value matches only one alternative of each union of this API.
        schema["oneOf"] = schema.pop("anyOf")
    items = schema.get("prefixItems")
    if items and all(item == items[0] for item in items):
        del schema["prefixItems"]
        schema["items"] = items[0]


def _rewrite_parameter_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter, without null, and with lists as comma-separated text."""
    alternatives = [item for item in schema.get("anyOf", ()) if item.get("type") != "null"]
    if len(alternatives) == 1:
        keywords = {key: value for key, value in schema.items() if key != "anyOf"}
        schema = {**alternatives[0], **keywords}
    if schema.get("type") == "array":
        return {"type": "string", "description": f"{schema['description']} Separated by commas."}
    return schema


def _separate_requests_and_responses(document: dict[str, Any]) -> None:
    """Allow additional members in schemas of responses, but not in those of requests.

    Requests with an unknown member are refused, so that a misspelt option is an error. Clients must
    accept responses with an unknown member, because the next version may add one. If a schema is
    used in both, and it or a schema to which it refers forbids additional members, it is split into
    two schemas: `ChatMessage` in responses, and `ChatMessageDraft` in requests.
    """
    schemas: dict[str, Any] = document["components"]["schemas"]
    operations = [value for item in document["paths"].values() for value in item.values()]
    requests = [{key: item.get(key) for key in _REQUEST_KEYS} for item in operations]
    in_requests = _find_reachable_schemas(schemas, requests)
    in_responses = _find_reachable_schemas(schemas, [item["responses"] for item in operations])
    strict = {
        name
        for name, schema in schemas.items()
        if any(item.get("additionalProperties") is False for item in _find_nested_schemas(schema))
    }
    shared = {
        name
        for name in in_requests & in_responses
        if strict & {name, *_find_reachable_schemas(schemas, schemas[name])}
    }
    drafts = {_format_reference(name): _format_reference(f"{name}Draft") for name in shared}
    for name in in_requests - in_responses:
        schemas[name] = _replace_references(schemas[name], drafts)
    for name in shared:
        schemas[f"{name}Draft"] = _replace_references(copy.deepcopy(schemas[name]), drafts)
    for operation in operations:
        operation.update(
            {
                key: _replace_references(operation[key], drafts)
                for key in _REQUEST_KEYS
                if key in operation
            }
        )
    for name in in_responses:
        for schema in _find_nested_schemas(schemas[name]):
            if schema.get("additionalProperties") is False:
                del schema["additionalProperties"]
    document["components"]["schemas"] = dict(sorted(schemas.items()))


def _find_reachable_schemas(schemas: Mapping[str, Any], node: object) -> set[str]:
    """Return the names of the schemas to which a part of the document refers, at any depth."""
    found: set[str] = set()
    nodes = [node]
    while nodes:
        for name in _find_references(nodes.pop()) - found:
            found.add(name)
            nodes.append(schemas[name])
    return found


def _find_references(node: object) -> set[str]:
    """Return the names of the schemas to which a part of the document refers directly."""
    if isinstance(node, dict):
        target = node.get("$ref")
        names = {target.rpartition("/")[2]} if isinstance(target, str) else set()
        return names.union(*map(_find_references, node.values()))
    return set().union(*map(_find_references, node)) if isinstance(node, list) else set()


def _replace_references(node: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - a part of the document
    """Return a part of the document with references replaced, also in discriminators."""
    if isinstance(node, dict):
        return {key: _replace_references(value, names) for key, value in node.items()}
    if isinstance(node, list):
        return [_replace_references(item, names) for item in node]
    return names.get(node, node) if isinstance(node, str) else node


def _format_reference(name: str) -> str:
    return SCHEMA_TEMPLATE.format(model=name)


SERVERS = (
    {
        "url": "http://127.0.0.1:8000",
        "description": "The address of `make run`; replace it by yours.",
    },
)

_METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
_WRITING = ("post", "put", "patch", "delete")
_ERRORS_OF_ALL = describe_errors(MisdirectedRequestError)
_ERRORS_OF_WRITES = describe_errors(ForbiddenOriginError)
_ERRORS_OF_API = describe_errors(
    UnauthorizedError,
    QuotaExceededError,
    StoreUnavailableError,
    StoreFullError,
    StoredBytesQuotaError,
)
_ERRORS_OF_QUERIES = describe_errors(InvalidPayloadError)

_LINK = describe_response_headers(
    Link=("string", '`<…>; rel="next"`: the next part of the list, if there is one (RFC 8288).')
)
_ETAG = describe_response_headers(
    ETag=("string", "The version of the record, for conditional requests.")
)

TAGS = (
    {"name": "tool results", "description": "Raw results in, canonical records out."},
    {"name": "resources", "description": "Media and files, each stored once."},
    {"name": "aliases", "description": "Names that other systems use for resources."},
    {"name": "references", "description": "Outputs of a tool as arguments of the next one."},
    {"name": "uploads", "description": "Large files, in pieces that survive a restart."},
    {"name": "pages", "description": "Agent memory, faulted in at any level."},
    {"name": "search", "description": "Search over all stored records."},
    {"name": "sessions", "description": "Histories of agents, in order."},
    {"name": "interactions", "description": "User turns with files, and the agent's outputs."},
    {
        "name": "renderings",
        "description": "Records as messages for any model, with a list of losses.",
    },
    {"name": "doctor", "description": "Errors in histories, and their repair."},
    {"name": "tools", "description": "The memory's tools for models, and their calls."},
    {"name": "responses", "description": "The parts of OpenAI's Responses API without a model."},
    {"name": "events", "description": "All writes as live streams that can be resumed."},
    {"name": "operations", "description": "Health, readiness, version and metrics."},
)


def install_openapi(app: FastAPI) -> None:
    """Make FastAPI serve this document at `/openapi.json`. It is built by the first request."""
    # FastAPI documents this assignment as the way to extend its document.
    app.openapi = cache(partial(_build_document, app))  # type: ignore[method-assign]


def _build_document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an application."""
    for route in app.routes:
        if isinstance(route, APIRoute):
            # Generated clients name their methods after this id.
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
    # FastAPI removes every null from examples, so its schemas are generated again.
    annotations = [field.field_info.annotation for field in get_fields_from_routes(app.routes)]
    schemas.update(
        build_schemas([*annotations, *get_streamed_body_models(), StreamEvent, TusVersion])
    )
    schemas.update(build_problem_components())
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    # Sorted, so that the order does not depend on the order of imports.
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    for path, item in document["paths"].items():
        for method in item.keys() & _METHODS:
            operation = item[method]
            _document_common_errors(path, method, operation["responses"])
            _document_conditional_headers(operation)
            _document_links(operation)
            content = operation["responses"].get("200", {}).get("content", {})
            if "text/event-stream" in content:
                # FastAPI describes streams with `itemSchema`, which OpenAPI 3.1 does not have.
                content["text/event-stream"] = {"schema": build_reference(StreamEvent)}
            # Generators need an explicit empty list for public operations.
            operation.setdefault("security", [])
    rewrite_schemas(document)
    return document


def _document_conditional_headers(operation: dict[str, Any]) -> None:
    """Add the headers of conditional requests, and write header names as their standards do."""
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
    """Add `Location`, the path of a written record, and `Link`, the next part of a list."""
    responses = operation["responses"]
    # An operation with 200 and 201 stores a record that may exist already; both have its path.
    written_statuses = {"200", "201"} if {"200", "201"} <= responses.keys() else set()
    new_headers = [(status, LOCATION) for status in written_statuses]
    if any(parameter["name"] == "cursor" for parameter in operation.get("parameters", ())):
        new_headers.append(("200", _LINK))
    for status, headers in new_headers:
        responses[status]["headers"] = {**headers, **responses[status].get("headers", {})}


def _document_common_errors(path: str, method: str, responses: dict[str, Any]) -> None:
    """Add the errors that many operations have in common.

    All operations have the error of an unknown host, and writes have that of a foreign origin.
    Operations below `/api/` and `/v1/` have the errors of keys, quotas and stores and, except for
    uploads, that of unknown query parameters.
    """
    # FastAPI documents another 422 for routes that do not declare one.
    if "application/json" in responses.get("422", {}).get("content", {}):
        del responses["422"]
    error_responses = _ERRORS_OF_ALL | (_ERRORS_OF_WRITES if method in _WRITING else {})
    if path.startswith(("/api/", OPENAI_PREFIX)):
        error_responses |= _ERRORS_OF_API | (
            {} if path.startswith(TUS_PATH) else _ERRORS_OF_QUERIES
        )
    for status, response in error_responses.items():
        responses.setdefault(str(status), response)
    if path.startswith(OPENAI_PREFIX):
        problem = {PROBLEM_MEDIA_TYPE: {"schema": OPENAI_PROBLEM_REFERENCE}}
        for status in responses.keys() - {"200"}:
            responses[status] = {**responses[status], "content": problem}
