"""Find the data URIs in JSON values, replace them, and restore them as they were spelled.

Services that store messages and pages move large media out of the JSON into the blob store. For
each moved data URI they store an `InlineForm`, from which the same characters can be written again.
Most forms are a head and two flags. A data URI with any other spelling is itself stored as a text
resource.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pybase64
from pydantic import TypeAdapter

from pagefault_dialects.json.pointers import json_pointer, unescape_token
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.data_uris import (
    DataUriSpan,
    SplitDataUri,
    find_data_uris,
    is_plain_head,
    split_data_uri,
)
from pagefault_dialects.model.base import FrozenModel
from pagefault_dialects.model.resource import ResourceKind, resource_kind

INLINE_LIMIT_BYTES = 1_024
"""Media of fewer bytes are left in the JSON, except audio and video."""
PLAYABLE_KINDS: frozenset[ResourceKind] = frozenset({"audio", "video"})
"""Audio and video are moved out of the JSON at any size."""

_SCHEME = re.compile(r"\s*data:", re.IGNORECASE)
# A data URI of few bytes may still be long, if its payload is percent-encoded.
_LONGEST_INLINE_CHARS = 8_192


class InlineForm(FrozenModel):
    """The spelling of a moved data URI.

    Without `text_resource_id`, the data URI is `head` and the base64 of the resource, in the given
    alphabet, with or without padding.
    """

    resource_id: str
    """The resource with the decoded bytes."""
    head: str
    """The characters up to and including the comma."""
    alphabet: Literal["standard", "urlsafe"] = "standard"
    padded: bool = True
    text_resource_id: str | None = None
    """The resource with the original string, if the other fields cannot express it."""
    further_resource_ids: tuple[str, ...] = ()
    """The other media that were moved out of the same string."""

    @property
    def resource_ids(self) -> set[str]:
        """Return the ids of all resources in this form."""
        media = {self.resource_id, *self.further_resource_ids}
        return media if self.text_resource_id is None else media | {self.text_resource_id}

    @property
    def is_plain(self) -> bool:
        """Return whether the data URI is `data:TYPE;base64,` and padded standard base64."""
        is_standard = self.alphabet == "standard" and self.padded
        return is_standard and is_plain_head(self.head)


_FORMS = TypeAdapter(dict[str, InlineForm])


def build_inline_form(uri: SplitDataUri, resource_id: str) -> InlineForm | None:
    """Return the form from which a data URI can be written again.

    Return `None` if no form can express its spelling, so the string itself has to be stored.
    """
    if uri.data is None:
        return None
    form = InlineForm(
        resource_id=resource_id,
        head=uri.head,
        alphabet="urlsafe" if "-" in uri.payload or "_" in uri.payload else "standard",
        padded=uri.payload.endswith("=") or len(uri.data) % 3 == 0,
    )
    return form if write_data_uri(form, uri.data) == uri.text else None


def write_data_uri(form: InlineForm, data: bytes) -> str:
    """Return the data URI with these bytes, in the spelling of a form."""
    encode = pybase64.urlsafe_b64encode if form.alphabet == "urlsafe" else pybase64.b64encode
    payload = encode(data).decode()
    return form.head + (payload if form.padded else payload.rstrip("="))


def dump_forms(forms: dict[str, InlineForm]) -> str | None:
    """Return the text to store for forms by JSON pointer; `None` if there are no forms."""
    return _FORMS.dump_json(forms, exclude_defaults=True).decode() if forms else None


def load_forms(text: str | None) -> dict[str, InlineForm]:
    """Return the forms by JSON pointer from a text of `dump_forms`."""
    return _FORMS.validate_json(text) if text else {}


def must_be_moved(uri: SplitDataUri) -> bool:
    """Return whether a data URI is audio, video or too long to be left in the JSON."""
    if uri.data is None:
        return False
    is_long = len(uri.data) >= INLINE_LIMIT_BYTES or len(uri.text) > _LONGEST_INLINE_CHARS
    return is_long or resource_kind(uri.mime_type) in PLAYABLE_KINDS


@dataclass(frozen=True, slots=True)
class MovableString:
    """A string in a JSON value with media to move out."""

    pointer: str
    """The JSON pointer to the string."""
    text: str
    uri: SplitDataUri | None
    """The medium, if it is the whole string."""
    spans: tuple[DataUriSpan, ...] = ()
    """The media inside a longer string, in order."""


def find_movable_media(value: JsonValue) -> list[MovableString]:
    """Return the strings in a JSON value with base64 data URIs to move out, in order.

    Percent-encoded data URIs are readable text, and are left in the JSON.
    """
    movable = []
    for path, text, _ in find_strings(value):
        may_be_uri = _SCHEME.match(text) is not None
        if len(text) < INLINE_LIMIT_BYTES and not may_be_uri:
            continue
        uri = split_data_uri(text) if may_be_uri else None
        # A string that begins like a data URI but has invalid base64 is searched as a text.
        if uri is not None and uri.is_base64 and uri.data is not None:
            if must_be_moved(uri):
                movable.append(MovableString(pointer_of_path(path), text, uri))
        elif spans := find_media_in_text(text):
            movable.append(MovableString(pointer_of_path(path), text, None, spans))
    return movable


def find_media_in_text(text: str) -> tuple[DataUriSpan, ...]:
    """Return the data URIs of at least `INLINE_LIMIT_BYTES` inside a text, in order."""
    return tuple(span for span in find_data_uris(text) if len(span.data) >= INLINE_LIMIT_BYTES)


class ValuePath(NamedTuple):
    """The path to a value in a JSON value, as a linked list from the value to the root.

    Paths share their parents, so creating one for each string of a large value is cheap.
    """

    parent: "ValuePath | None"
    """The path of the containing object or array; `None` if that is the root."""
    key: str | int


class FoundString(NamedTuple):
    """A string in a JSON value."""

    path: ValuePath | None
    """The path to the string; `None` if it is the root."""
    text: str
    container: JsonValue
    """The object or array with the string; `None` if the string is the root."""


def find_strings(value: JsonValue) -> Iterator[FoundString]:
    """Yield the strings in a JSON value of any depth, in order, without names of members."""
    stack: list[tuple[ValuePath | None, JsonValue, JsonValue]] = [(None, value, None)]
    while stack:
        path, node, container = stack.pop()
        if isinstance(node, str):
            yield FoundString(path, node, container)
        elif isinstance(node, dict):
            stack.extend((ValuePath(path, name), node[name], node) for name in reversed(node))
        elif isinstance(node, list):
            indexes = range(len(node))[::-1]
            stack.extend((ValuePath(path, index), node[index], node) for index in indexes)


def pointer_of_path(path: ValuePath | None) -> str:
    """Return a path as a JSON pointer; the path `None` is the root."""
    keys: list[str | int] = []
    while path is not None:
        keys.append(path.key)
        path = path.parent
    return json_pointer(reversed(keys))


def put_member(value: JsonValue, pointer: str, member: JsonValue) -> JsonValue:
    """Replace the member at a JSON pointer, and return the changed value.

    The value is changed in place. With the pointer `""`, `member` itself is returned.
    """
    if not pointer:
        return member
    *tokens, last = pointer[1:].split("/")
    container = value
    for token in tokens:
        container = container[_parse_key(container, token)]
    container[_parse_key(container, last)] = member
    return value


def _parse_key(container: JsonValue, token: str) -> str | int:
    """Return the index or the name of a member that a token of a JSON pointer stands for."""
    return int(token) if isinstance(container, list) else unescape_token(token)
