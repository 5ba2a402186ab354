"""Shapes of what a request for the content behind references is answered with."""

from typing import Annotated, Any

from msgspec import Raw
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.wire.shape import Shape, ShownAs

_POINTER = "JSON pointer into `arguments`; empty for the whole of it."
_EXAMPLE: JsonDict = {
    "arguments": {"image": "data:image/png;base64,iVBORw0KGgo…", "width": 640},
    "resolved": [
        {
            "pointer": "/image",
            "uri": "blob:9a0e04717cce2431260284cf548150ee",
            "mimeType": "image/png",
            "size": 5650,
        }
    ],
    "unresolved": [],
}


class ResolvedReference(Shape, kw_only=True):
    """A reference that was replaced."""

    pointer: Annotated[str, Field(description=_POINTER, examples=["/image"])]
    uri: str
    mime_type: str
    size: Annotated[int, Field(description="Size of the content in bytes.")]


class UnresolvedReference(Shape, kw_only=True):
    """A reference that was left as it is."""

    pointer: Annotated[str, Field(description=_POINTER, examples=["/image"])]
    reference: str
    reason: Annotated[str, Field(description="In words; what to do instead, where there is any.")]


class ResolvedArguments(Shape, kw_only=True):
    """The value with content in the place of its references, and what became of each of them."""

    described = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    arguments: Annotated[Raw, ShownAs(Any)]
    resolved: tuple[ResolvedReference, ...]
    unresolved: tuple[UnresolvedReference, ...]
