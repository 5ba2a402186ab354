"""Data URIs in values: which of them are moved out, and how they are restored.

The spelling of a moved data URI is kept. For most of them it is a head and two flags; otherwise the
text itself is kept, as a resource.
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
    SplitDataUri,
    find_data_uris,
    is_plain_head,
    split_data_uri,
)
from pagefault_dialects.model.base import FrozenModel
from pagefault_dialects.model.resource import ResourceKind, resource_kind

INLINE_LIMIT_BYTES = 1_024
"""Smaller media stay in place."""
SOUND: frozenset[ResourceKind] = frozenset({"audio", "video"})
"""The kinds that are moved whatever their size."""

_MARK = re.compile(r"\s*data:", re.IGNORECASE)
_LONGEST_INLINE_CHARS = 8_192


class InlineForm(FrozenModel):
    """The spelling of a moved data URI.

    `head` is its beginning up to the comma. With `text_resource_id` that resource has the whole
    text; otherwise the text is `head` and the base64 of the resource in this alphabet, with or
    without padding. `further_resource_ids` are the other media that were moved out of the same
    text.
    """

    resource_id: str
    head: str
    alphabet: Literal["standard", "urlsafe"] = "standard"
    padded: bool = True
    text_resource_id: str | None = None
    further_resource_ids: tuple[str, ...] = ()

    @property
    def resource_ids(self) -> set[str]:
        """Return the ids of the resources it needs, and of those that were moved."""
        own = {self.resource_id, *self.further_resource_ids}
        return own if self.text_resource_id is None else own | {self.text_resource_id}

    @property
    def is_plain(self) -> bool:
        """True for a data URI in the usual spelling."""
        is_standard = self.alphabet == "standard" and self.padded
        return is_standard and is_plain_head(self.head)


_FORMS = TypeAdapter(dict[str, InlineForm])


def inline_form(uri: SplitDataUri, resource_id: str) -> InlineForm | None:
    """Return the spelling of a data URI, or `None` if only its text has it."""
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
    """Return the data URI in its original spelling."""
    encode = pybase64.urlsafe_b64encode if form.alphabet == "urlsafe" else pybase64.b64encode
    payload = encode(data).decode()
    return form.head + (payload if form.padded else payload.rstrip("="))


def dump_forms(forms: dict[str, InlineForm]) -> str | None:
    """Return forms by JSON pointer into the content, as text to store; `None` if there are none."""
    return _FORMS.dump_json(forms, exclude_defaults=True).decode() if forms else None


def load_forms(text: str | None) -> dict[str, InlineForm]:
    """Return the forms that `dump_forms` wrote."""
    return _FORMS.validate_json(text) if text else {}


def is_to_be_moved(uri: SplitDataUri) -> bool:
    """Return whether the medium of a data URI has to be moved out of a value."""
    if uri.data is None:
        return False
    is_long = len(uri.data) >= INLINE_LIMIT_BYTES or len(uri.text) > _LONGEST_INLINE_CHARS
    return is_long or resource_kind(uri.mime_type) in SOUND


@dataclass(frozen=True, slots=True)
class Movable:
    """A string with media to move: a whole data URI, or a text with some inside."""

    pointer: str
    text: str
    uri: SplitDataUri | None
    spans: tuple[DataUriSpan, ...] = ()


def movable_media(value: JsonValue) -> list[Movable]:
    """Return the strings in a JSON value that have base64 data URIs to move, in order.

    Other data URIs are percent-encoded text and stay readable in place.
    """
    found = []
    for place, text in strings_in(value):
        if len(text) < INLINE_LIMIT_BYTES and not _MARK.match(text):
            continue
        uri = split_data_uri(text) if _MARK.match(text) else None
        # A data URI with invalid base64 may be a text that begins like one.
        if uri is not None and uri.is_base64 and uri.data is not None:
            if is_to_be_moved(uri):
                found.append(Movable(pointer_to(place), text, uri))
        elif spans := media_in_text(text):
            found.append(Movable(pointer_to(place), text, None, spans))
    return found


def media_in_text(text: str) -> tuple[DataUriSpan, ...]:
    """Return the data URIs inside a text that are too long to stay, in order."""
    return tuple(span for span in find_data_uris(text) if len(span.data) >= INLINE_LIMIT_BYTES)


def strings_in(value: JsonValue) -> Iterator[tuple["ValuePath | None", str]]:
    """Yield the strings in a JSON value with their places, in order and at any depth."""
    return ((place, text) for place, text, _ in find_strings(value))


def find_strings(value: JsonValue) -> Iterator[tuple["ValuePath | None", str, JsonValue]]:
    """Yield the same with the object or array that has each; `None` for the value itself."""
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
    """The place of a value, converted to a pointer only when needed."""

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
    """Replace the member at a JSON pointer in place; return the value, or its replacement.

    The caller has to own the value.
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
