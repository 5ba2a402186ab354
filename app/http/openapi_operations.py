"""Describe parts of operations that FastAPI does not document: streamed bodies, files, headers."""

from collections.abc import Collection
from typing import Any

from pydantic import BaseModel
from typing_extensions import TypeAliasType

from app.wire.shape import Shape

SCHEMA_TEMPLATE = "#/components/schemas/{model}"

_streamed_body_models: dict[str, type[BaseModel]] = {}
"""The models of bodies that routes read as a stream, by name. FastAPI does not document them."""

_BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
ANY_FILE = {"*/*": _BINARY}
"""The documentation of a response that is a file of any type."""
JPEG = {"image/jpeg": _BINARY}
"""The documentation of a response that is a JPEG."""
PLAIN_TEXT = {"text/plain": {"schema": {"type": "string"}}}
"""The documentation of a response that is text."""


def build_reference(model: type[BaseModel | Shape] | TypeAliasType) -> dict[str, str]:
    """Return the reference to the schema of a type."""
    return {"$ref": SCHEMA_TEMPLATE.format(model=model.__name__)}


def describe_json_body(
    model: type[BaseModel], *, required: bool = True, media_type: str = "application/json"
) -> dict[str, Any]:
    """Return the documentation of a JSON body that the route reads as a stream.

    The model is also added to the result of `get_streamed_body_models`.
    """
    _streamed_body_models[model.__name__] = model
    return {
        "requestBody": {
            "required": required,
            "content": {media_type: {"schema": build_reference(model)}},
        }
    }


def get_streamed_body_models() -> Collection[type[BaseModel]]:
    """Return the models of all bodies that routes read as a stream."""
    return _streamed_body_models.values()


def describe_file_body(media_type: str = "application/octet-stream") -> dict[str, Any]:
    """Return the documentation of a body that is a file.

    Only one media type is documented, even if a route accepts several. With several, generated
    clients would send the first as `Content-Type`, or no `Content-Type` at all.
    """
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"required": True, "content": content}}


def describe_header(
    name: str, description: str, *, required: bool = False, **schema: object
) -> dict[str, Any]:
    """Return the documentation of a header that a route reads from the request.

    Args:
        name: The name, with the capitals of its standard.
        description: The purpose.
        required: True if requests without it are refused.
        schema: Keywords of JSON Schema; without keywords, the value is a string.
    """
    return {
        "name": name,
        "in": "header",
        "required": required,
        "description": description,
        "schema": schema or {"type": "string"},
    }


def describe_response_headers(**headers: tuple[str, str]) -> dict[str, Any]:
    """Return the documentation of response headers, from `Header_Name=(type, description)`."""
    return {
        name.replace("_", "-"): {"description": description, "schema": {"type": json_type}}
        for name, (json_type, description) in headers.items()
    }


IF_MATCH = describe_header(
    "If-Match", "Send the content only if its ETag is one of these, else 412."
)
IF_NONE_MATCH = describe_header("If-None-Match", "Send a 304 if the ETag is one of these.")
CONTENT_REQUEST_HEADERS = (
    describe_header("If-Modified-Since", "Send a 304 if the content is not newer (RFC 9110)."),
    describe_header("If-Unmodified-Since", "Send the content only if it is not newer, else 412."),
    describe_header(
        "Want-Repr-Digest", "The preferred digest (RFC 9530); only `sha-256` is supported."
    ),
)
RANGE_REQUEST_HEADERS = (
    describe_header("Range", "The requested bytes, as `bytes=0-499`; 16 ranges at most."),
    describe_header("If-Range", "Send ranges only if the content has this ETag, else all of it."),
)
CONTENT_HEADERS = describe_response_headers(
    Accept_Ranges=("string", "`bytes`."),
    Content_Disposition=("string", "The disposition and the file name."),
    Repr_Digest=("string", "`sha-256=:…:` of the whole content (RFC 9530)."),
)
FILE_RESPONSE: dict[str, Any] = {"content": ANY_FILE, "headers": CONTENT_HEADERS}
"""The documentation of a response with a whole file; the route adds its description."""
RANGES_RESPONSE: dict[str, Any] = {
    "description": "The requested ranges.",
    "content": ANY_FILE,
    "headers": CONTENT_HEADERS
    | describe_response_headers(
        Content_Range=("string", "The range and the total length, if one range was requested.")
    ),
}
LOCATION = describe_response_headers(Location=("string", "The path of the written record."))
