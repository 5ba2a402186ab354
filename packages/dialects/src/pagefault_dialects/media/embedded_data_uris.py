"""Data URIs in values: which are moved out of them, and how they are put together again.

A data URI that is moved leaves behind how it was written. For most of them a head and two words say
that; of any other the text itself is kept, as a resource.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pybase64
from pydantic import TypeAdapter

from pagefault_dialects.json.pointers import json_pointer, unescape
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.data_uris import (
    DataUriSpan,
    DataUriText,
    find_data_uris,
    is_plain_head,
    split_data_uri,
)
from pagefault_dialects.model.base import FrozenModel
from pagefault_dialects.model.resource import ResourceKind, resource_kind

INLINE_LIMIT_BYTES = 1_024
"""A medium below this stays where it is."""
SOUND: frozenset[ResourceKind] = frozenset({"audio", "video"})
"""What is moved whatever its size."""

_MARK = re.compile(r"\s*data:", re.IGNORECASE)
_LONGEST_INLINE_CHARS = 8_192


class InlineForm(FrozenModel):
    """How a moved data URI was written.

    `head` is its beginning up to the comma. With `text_resource_id` the whole text is there;
    without it, the text is `head` and the base64 of the resource in this alphabet, with or without
    its padding. `further_resource_ids` are those of the other media that were moved out of it.
    """

    resource_id: str
    head: str
    alphabet: Literal["standard", "urlsafe"] = "standard"
    padded: bool = True
    text_resource_id: str | None = None
    further_resource_ids: tuple[str, ...] = ()

    @property
    def resource_ids(self) -> set[str]:
        """Return the resources that it takes, and those that were moved."""
        own = {self.resource_id, *self.further_resource_ids}
        return own if self.text_resource_id is None else own | {self.text_resource_id}

    @property
    def is_plain(self) -> bool:
        """Return whether what it writes is a data URI as everybody reads it."""
        is_standard = self.alphabet == "standard" and self.padded
        return is_standard and is_plain_head(self.head)


_FORMS = TypeAdapter(dict[str, InlineForm])


def inline_form(uri: DataUriText, resource_id: str) -> InlineForm | None:
    """Return how the data URI is written, or `None` if only its text itself says it."""
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
    """Return the data URI as it was written."""
    encode = pybase64.urlsafe_b64encode if form.alphabet == "urlsafe" else pybase64.b64encode
    payload = encode(data).decode()
    return form.head + (payload if form.padded else payload.rstrip("="))


def dump_forms(forms: dict[str, InlineForm]) -> str | None:
    """Return forms by JSON pointer into the content, as text to store; `None` if there are none."""
    return _FORMS.dump_json(forms, exclude_defaults=True).decode() if forms else None


def load_forms(text: str | None) -> dict[str, InlineForm]:
    """Return what `dump_forms` wrote."""
    return _FORMS.validate_json(text) if text else {}


def is_to_be_moved(uri: DataUriText) -> bool:
    """Return whether the medium of a data URI is to be moved out of a value."""
    if uri.data is None:
        return False
    is_long = len(uri.data) >= INLINE_LIMIT_BYTES or len(uri.text) > _LONGEST_INLINE_CHARS
    return is_long or resource_kind(uri.mime_type) in SOUND


@dataclass(frozen=True, slots=True)
class Movable:
    """A string that holds media to be moved: a whole data URI, or words with some among them."""

    pointer: str
    text: str
    uri: DataUriText | None
    spans: tuple[DataUriSpan, ...] = ()


def movable_media(value: JsonValue) -> list[Movable]:
    """Return the strings in a JSON value that hold base64 data URIs to be moved, in order.

    Other data URIs are percent-encoded text, and are left where they can be read.
    """
    found = []
    for place, text in strings_in(value):
        if len(text) < INLINE_LIMIT_BYTES and not _MARK.match(text):
            continue
        uri = split_data_uri(text) if _MARK.match(text) else None
        # One whose base64 is none may be words that begin with a data URI.
        if uri is not None and uri.is_base64 and uri.data is not None:
            if is_to_be_moved(uri):
                found.append(Movable(pointer_to(place), text, uri))
        elif spans := media_in_text(text):
            found.append(Movable(pointer_to(place), text, None, spans))
    return found


def media_in_text(text: str) -> tuple[DataUriSpan, ...]:
    """Return the data URIs inside a text that are too long to be read, in order."""
    return tuple(span for span in find_data_uris(text) if len(span.data) >= INLINE_LIMIT_BYTES)


def strings_in(value: JsonValue) -> Iterator[tuple["ValuePath | None", str]]:
    """Return the strings in a JSON value with their places, in order and at any depth."""
    return ((place, text) for place, text, _ in find_strings(value))


def find_strings(value: JsonValue) -> Iterator[tuple["ValuePath | None", str, JsonValue]]:
    """Return the same, with the object or array that holds each; `None` for the value itself."""
    stack: list[tuple[ValuePath | None, JsonValue, JsonValue]] = [(None, value, None)]
    while stack:
        place, node, holder = stack.pop()
        if isinstance(node, str):
            yield place, node, holder
        elif isinstance(node, dict):
            stack.extend((ValuePath(place, name), node[name], node) for name in reversed(node))
        elif isinstance(node, list):
            indexes = range(len(node))[::-1]
            stack.extend((ValuePath(place, index), node[index], node) for index in indexes)


class ValuePath(NamedTuple):
    """Where a value stands; made into a pointer only for what is found."""

    parent: "ValuePath | None"
    key: str | int


def pointer_to(place: ValuePath | None) -> str:
    """Return the JSON pointer to a place."""
    keys: list[str | int] = []
    while place is not None:
        keys.append(place.key)
        place = place.parent
    return json_pointer(reversed(keys))


def put_member(value: JsonValue, pointer: str, member: JsonValue) -> JsonValue:
    """Put another member in place at a JSON pointer; returns the value, or what replaces it.

    The value has just been parsed and is nobody else's yet.
    """
    if not pointer:
        return member
    *path, last = pointer[1:].split("/")
    here = value
    for token in path:
        here = here[_key(here, token)]
    here[_key(here, last)] = member
    return value


def _key(container: JsonValue, token: str) -> str | int:
    return int(token) if isinstance(container, list) else unescape(token)
