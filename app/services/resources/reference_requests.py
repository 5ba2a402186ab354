"""Reads the body of `POST /resolve`: a JSON value, and the references in it.

A reference is `@blob:` and an id, as a whole string or among other words. Keys of objects are
names and hold none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict

from app.errors import PayloadTooLargeError
from app.models.identity import CLIENT_ID_PATTERN
from app.models.json_value import JsonValue
from app.models.limits import Limits
from app.models.resource import parse_resource_id
from app.services.requests.data_uris import held_strings, pointer_to
from app.services.requests.validation import read_object, validated

ReferenceForm = Literal["data-uri", "base64", "signed-url", "text"]

# A longer run of letters and digits is no reference of ours, and is not repeated whole.
_REFERENCE = re.compile(r"@blob:[0-9A-Za-z]{1,64}")

_EXAMPLE: JsonDict = {
    "sessionId": "demo",
    "as": "data-uri",
    "arguments": {"image": "@blob:9a0e04717cce2431260284cf548150ee", "width": 640},
}


class ResolveRequest(BaseModel):
    """A JSON value with references in it, and how they are wanted."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        strict=True,
        json_schema_extra={"examples": [_EXAMPLE]},
    )

    arguments: Annotated[Any, Field(description="Any JSON value; its keys are left alone.")]
    session_id: Annotated[str, Field(pattern=CLIENT_ID_PATTERN)]
    form: Annotated[
        ReferenceForm,
        Field(alias="as", description="What stands in the place of a reference afterwards."),
    ] = "data-uri"


@dataclass(frozen=True, slots=True)
class Mention:
    """A reference in a text; `resource_id` is `None` where it cannot be one of ours."""

    pointer: str
    reference: str
    start: int
    resource_id: str | None


@dataclass(frozen=True, slots=True)
class TextWithReferences:
    """A string with references in it, and the object or array it is replaced in."""

    holder: JsonValue
    key: str | int
    text: str
    mentions: Sequence[Mention]


@dataclass(frozen=True, slots=True)
class ReferenceRequest:
    """A request of `size_bytes` that was read; `root` holds the arguments, as its only item."""

    size_bytes: int
    request: ResolveRequest
    root: list[JsonValue]
    places: Sequence[TextWithReferences]

    @property
    def mentions(self) -> Iterator[Mention]:
        """All of them, in the order they stand in."""
        return (mention for place in self.places for mention in place.mentions)


def read_references(body: bytes, *, limits: Limits) -> ReferenceRequest:
    """Parse and check a body.

    Raises:
        InvalidJsonError, InvalidPayloadError: It is no `ResolveRequest`.
        PayloadTooLargeError: Nested too deep, too many values, or too many references.
    """
    value = read_object(body, limits, spelled=True)
    request = validated(
        ResolveRequest, value, "The body has to be {arguments, sessionId, as}; `errors` says where."
    )
    root = [request.arguments]
    return ReferenceRequest(len(body), request, root, list(_places_in(root, limits)))


def _places_in(root: list[JsonValue], limits: Limits) -> Iterator[TextWithReferences]:
    """The strings with references in them.

    Raises:
        PayloadTooLargeError: There are too many, or to say where they stand would take more than
            the request itself may.
    """
    count = pointer_chars = 0
    for place, text, holder in held_strings(root[0]):
        matches = list(_REFERENCE.finditer(text)) if "@blob:" in text else []
        if not matches:
            continue
        pointer = pointer_to(place)
        count += len(matches)
        pointer_chars += len(pointer) * len(matches)
        if count > limits.media_per_result or pointer_chars > limits.message_bytes:
            raise PayloadTooLargeError(
                f"At most {limits.media_per_result} references are replaced at once, in places "
                f"that are named in {limits.message_bytes} characters. Send them in parts.",
                code="too-many-references",
            )
        mentions = [
            Mention(pointer, match.group(), match.start(), _id_of(text, match)) for match in matches
        ]
        yield TextWithReferences(
            root if place is None else holder, place.key if place else 0, text, mentions
        )


def _id_of(text: str, match: re.Match[str]) -> str | None:
    goes_on = text[match.end() : match.end() + 1]
    if goes_on.isascii() and goes_on.isalnum():
        return None
    return parse_resource_id(match.group())
