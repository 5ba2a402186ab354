"""Finds references in the arguments of a call."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.models.limits import Limits
from app.services.requests.validation import read_object, validated
from app.wire.agents import ToolScope
from pagefault_dialects.context.cut_arguments import is_cut_text
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.embedded_data_uris import find_strings, pointer_to
from pagefault_dialects.model.base import ClientId
from pagefault_dialects.model.resource import parse_resource_id
from pagefault_dialects.turns.handles import is_handle_line

ReferenceForm = TypeAliasType("ReferenceForm", Literal["data-uri", "base64", "signed-url", "text"])

# A reference ends at the end of a word, and punctuation after it belongs to the sentence. The
# second alternative matches the beginning of a misspelled reference.
_REFERENCE = re.compile(
    r"(?P<known>@blob:[0-9a-f]{32}"
    r"|@entries:[0-9]{1,15}(?:-[0-9]{0,15})?"
    r"|@entry:[0-9]{1,15}(?:/[0-9a-f]{12}"
    r"|/arguments/[0-9]{1,9}(?:/(?:(?:[A-Za-z0-9_.%/-]|~[01]){0,400}(?<!\.))?)?)?"
    r")(?=[_.~%/-]*+(?![0-9A-Za-z]))"
    r"|(?:@blob:[0-9A-Za-z]|@entr(?:y|ies):[0-9])(?:[0-9A-Za-z_.~%/-]{0,62}[0-9A-Za-z])?"
)
_EXAMPLE: JsonDict = {
    "sessionId": "demo",
    "as": "data-uri",
    "arguments": {"image": "@blob:9a0e04717cce2431260284cf548150ee", "width": 640},
}


class ResolveRequest(BaseModel):
    """A JSON value with references in it, and the form of their contents."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        strict=True,
        json_schema_extra={"examples": [_EXAMPLE]},
    )

    arguments: Annotated[Any, Field(description="Any JSON value; its keys are left alone.")]
    session_id: ClientId
    scope: Annotated[
        ToolScope,
        Field(description="Which resources are used: those of the session, or of the project."),
    ] = "session"
    form: Annotated[
        ReferenceForm,
        Field(alias="as", description="The form of the content that replaces a reference."),
    ] = "data-uri"


@dataclass(frozen=True, slots=True)
class ReferenceMention:
    """A reference in a text.

    The text from `start` to `end` is replaced: the reference, or the whole line with it.
    `resource_id` is set for a valid `@blob:`. `is_known` is false if the reference is misspelled.
    """

    pointer: str
    reference: str
    start: int
    end: int
    resource_id: str | None
    is_known: bool

    @property
    def is_of_history(self) -> bool:
        """Return whether the reference names an entry or a part of one."""
        return self.reference.startswith("@entr")


@dataclass(frozen=True, slots=True)
class TextWithReferences:
    """A string with references, and the object or array that contains it."""

    holder: JsonValue
    key: str | int
    text: str
    mentions: Sequence[ReferenceMention]


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A parsed request of `size_bytes`; `root` is a list with the arguments as its only item."""

    size_bytes: int
    request: ResolveRequest
    root: list[JsonValue]
    places: Sequence[TextWithReferences]

    @property
    def mentions(self) -> Iterator[ReferenceMention]:
        """Return all references in their order."""
        return (mention for place in self.places for mention in place.mentions)


def read_resolve_request(body: bytes, *, limits: Limits) -> ReadRequest:
    """Parse and check the body of a request.

    Raises:
        InvalidJsonError, InvalidPayloadError: The body is no `ResolveRequest`.
        PayloadTooLargeError: The body is nested too deep, or has too many values or references.
    """
    value = read_object(body, limits, spelled=True)
    request = validated(
        ResolveRequest,
        value,
        "The body has to be {arguments, sessionId, scope, as}; `errors` says where.",
    )
    root = [request.arguments]
    return ReadRequest(len(body), request, root, list(_find_references(root, limits)))


def _find_references(root: list[JsonValue], limits: Limits) -> Iterator[TextWithReferences]:
    """Yield the strings with references in them.

    Raises:
        PayloadTooLargeError: There are too many references, or their pointers together are longer
            than a request may be.
    """
    count = pointer_chars = 0
    for place, text, holder in find_strings(root[0]):
        has_any = "@blob:" in text or "@entr" in text
        matches = list(_REFERENCE.finditer(text)) if has_any else []
        if not matches:
            continue
        if is_cut_text(text):
            # The mark at the end names the whole text.
            matches = matches[-1:]
        pointer = pointer_to(place)
        count += len(matches)
        pointer_chars += len(pointer) * len(matches)
        if count > limits.media_per_result or pointer_chars > limits.message_bytes:
            raise PayloadTooLargeError(
                f"At most {limits.media_per_result} references are replaced at once, in places "
                f"that are named in {limits.message_bytes} characters. Send them in parts.",
                code="too-many-references",
            )
        mentions = [_mention(pointer, text, match) for match in matches]
        yield TextWithReferences(
            root if place is None else holder, place.key if place else 0, text, mentions
        )


def _mention(pointer: str, text: str, match: re.Match[str]) -> ReferenceMention:
    # A model may copy the whole line with the reference, or a whole cut argument with its mark.
    is_whole = is_handle_line(text) or is_cut_text(text)
    start, end = (0, len(text)) if is_whole else match.span()
    is_known = match["known"] is not None
    resource_id = parse_resource_id(match.group()) if is_known else None
    return ReferenceMention(pointer, match.group(), start, end, resource_id, is_known)
