"""Data URIs that are a page's content: taken apart, and put together again byte for byte.

A data URI that is moved to the blob store leaves behind how it was written. Most are written as
everybody writes them, and a head and two words are enough; of any other the text itself is kept,
as a resource.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pybase64
from pydantic import TypeAdapter

from app.models.base import FrozenModel
from app.models.json_pointer import json_pointer, unescape
from app.models.json_value import JsonValue
from app.models.media_types import OCTET_STREAM, canonical_mime_type, is_strong_signature, sniff
from app.models.resource import ResourceKind, resource_kind
from app.models.windows import percent_decoded
from app.services.normalization.base64_text import (
    decode_base64,
    decode_percent_encoded_base64,
    without_blanks,
)
from app.services.normalization.data_uris import DataUriSpan, find_data_uris
from app.services.persistence.keeping import INLINE_LIMIT_BYTES

SOUND: frozenset[ResourceKind] = frozenset({"audio", "video"})
"""What is stored whatever its size."""

# RFC 2397, and what is found in the wild: a type or none, then attributes, with or without a value.
# A sentence that begins with "Data: in 2024, …" is none.
_WORD = r"[\w.+!#$&^-]{1,127}"
_ATTRIBUTE = rf'{_WORD}(?:=(?:"[^"]{{0,255}}"|[^;,"\s]{{0,255}}))?'
# Where base64 is announced blanks are passed over, which some programs write and none misreads.
_HEAD = re.compile(
    rf"\s*data:((?:{_WORD}/{_WORD})?(?:;{_ATTRIBUTE}){{0,16}}"
    rf"|\s?(?:{_WORD}/{_WORD})?\s?(?:;\s?{_ATTRIBUTE}\s?){{0,16}};\s?base64\s?),",
    re.IGNORECASE,
)
_BASE64_MARK = re.compile(r";\s*base64\s*\Z", re.IGNORECASE)
_MARK = re.compile(r"\s*data:", re.IGNORECASE)
_NAME = re.compile(r';\s*(?:file)?name="?([^;"]+)', re.IGNORECASE)
_DEFAULT_TYPE = "text/plain"
_PLAIN_HEAD = re.compile(rf"data:{_WORD}/{_WORD};base64,")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9+/=]")
_SHORTEST_BARE_CHARS = 64
_LONGEST_INLINE_CHARS = 8_192


@dataclass(frozen=True, slots=True)
class DataUriText:
    """A data URI: `head` ends with its comma, and `data` is `None` where the base64 is broken."""

    head: str
    payload: str
    mime_type: str
    data: bytes | None
    filename: str | None
    is_base64: bool

    @property
    def text(self) -> str:
        """The whole, as it was written."""
        return self.head + self.payload

    @property
    def declared_type(self) -> str | None:
        """The type that is written in it, if that says anything: none is text by RFC 2397."""
        is_typed = self.head.strip()[5:].lstrip()[:1] not in ("", ",", ";")
        return self.mime_type if is_typed and self.mime_type != OCTET_STREAM else None

    @property
    def is_plain(self) -> bool:
        """Whether it is written as everybody reads it: a type, standard base64, nothing else."""
        return _PLAIN_HEAD.fullmatch(self.head) is not None and not _NOT_PLAIN.search(self.payload)


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
        """The resources that it takes, and those that were moved."""
        own = {self.resource_id, *self.further_resource_ids}
        return own if self.text_resource_id is None else own | {self.text_resource_id}

    @property
    def is_plain(self) -> bool:
        """Whether what it writes is a data URI as everybody reads it."""
        is_standard = self.alphabet == "standard" and self.padded
        return is_standard and _PLAIN_HEAD.fullmatch(self.head) is not None


_FORMS = TypeAdapter(dict[str, InlineForm])


def split_data_uri(text: str) -> DataUriText | None:
    """The data URI that the whole text is; `None` if it is none."""
    match = _HEAD.match(text)
    if match is None:
        return None
    described, payload = match.group(1), text[match.end() :]
    is_base64 = _BASE64_MARK.search(described) is not None
    data = _decoded(payload) if is_base64 else percent_decoded(payload.encode("utf-8", "replace"))
    name = _NAME.search(described)
    return DataUriText(
        head=match.group(),
        payload=payload,
        mime_type=canonical_mime_type(described) or _DEFAULT_TYPE,
        data=data,
        filename=name.group(1) if name else None,
        is_base64=is_base64,
    )


def bare_base64(text: str) -> DataUriText | None:
    """A medium that is written as base64 alone, known by its bytes; `None` if it is none."""
    if len(text) < _SHORTEST_BARE_CHARS:
        return None
    data = decode_base64(text)
    shown = sniff(data[:512]) if data and is_strong_signature(data[:512]) else None
    if data is None or shown is None:
        return None
    return DataUriText("", text, shown, data, None, is_base64=True)


def _decoded(payload: str) -> bytes | None:
    data = decode_percent_encoded_base64(payload)
    if data is None or "%" in payload or len(without_blanks(payload)) % 4 == 0:
        return data
    # Nearly every word is base64 without its padding, so then the bytes have to be of a known kind.
    return data if sniff(data[:512]) else None


def inline_form(uri: DataUriText, resource_id: str) -> InlineForm | None:
    """How the data URI is written, or `None` if only its text itself says it."""
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
    """The data URI as it was written."""
    encode = pybase64.urlsafe_b64encode if form.alphabet == "urlsafe" else pybase64.b64encode
    payload = encode(data).decode()
    return form.head + (payload if form.padded else payload.rstrip("="))


def dump_forms(forms: dict[str, InlineForm]) -> str | None:
    """Forms by JSON pointer into the content, as text to be stored; `None` if there are none."""
    return _FORMS.dump_json(forms, exclude_defaults=True).decode() if forms else None


def load_forms(text: str | None) -> dict[str, InlineForm]:
    """What `dump_forms` wrote."""
    return _FORMS.validate_json(text) if text else {}


def is_to_be_moved(uri: DataUriText) -> bool:
    """Whether the medium of a data URI belongs into the store and not into a page."""
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
    """The strings in a JSON value that hold base64 data URIs to be moved, in order.

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
    """The data URIs inside a text that are too long to be read, in order."""
    return tuple(span for span in find_data_uris(text) if len(span.data) >= INLINE_LIMIT_BYTES)


def strings_in(value: JsonValue) -> Iterator[tuple["Place | None", str]]:
    """The strings in a JSON value with their places, in order and at any depth."""
    return ((place, text) for place, text, _ in held_strings(value))


def held_strings(value: JsonValue) -> Iterator[tuple["Place | None", str, JsonValue]]:
    """The same, with the object or array that holds each; `None` for the value itself."""
    stack: list[tuple[Place | None, JsonValue, JsonValue]] = [(None, value, None)]
    while stack:
        place, node, holder = stack.pop()
        if isinstance(node, str):
            yield place, node, holder
        elif isinstance(node, dict):
            stack.extend((Place(place, name), node[name], node) for name in reversed(node))
        elif isinstance(node, list):
            indexes = range(len(node))[::-1]
            stack.extend((Place(place, index), node[index], node) for index in indexes)


class Place(NamedTuple):
    """Where a value stands; made into a pointer only for what is found."""

    parent: "Place | None"
    key: str | int


def pointer_to(place: Place | None) -> str:
    """The JSON pointer to a place."""
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
