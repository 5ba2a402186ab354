"""Compares the parts of a tool result with its structured content, to find out if both are equal.

SDKs return the value of a typed tool twice: as text, and as `structuredContent`. The Python SDKs
wrap values other than objects as `{"result": …}`, some servers use `{"content": …}`, and others
repeat their content blocks. Structured content that the parts repeat in full is not shown again.

Values are compared as JSON: the order of keys, white space, escapes and the spelling of numbers are
ignored. Integers are compared digit by digit, other numbers as doubles. The full text of a
shortened part is not loaded; its digest is compared with that of the value in the spellings of
common JSON writers. If a value has another spelling, both the value and the text are shown.

The time is proportional to the size of the result: each text is parsed once, and each item of a
list is compared only with parts after the match of the item before it.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

import pybase64

from pagefault_dialects.errors import InvalidJsonError, PayloadTooLargeError
from pagefault_dialects.json.spelling import (
    Spelling,
    canonicalize,
    canonicalize_text,
    detect_spelling,
    escape_non_ascii,
)
from pagefault_dialects.json.values import JsonValue, json_text, parse_json
from pagefault_dialects.media.block_table import TYPE_NAMES
from pagefault_dialects.model.conversation import (
    Address,
    DataItem,
    InlineBytes,
    Item,
    Medium,
    StoredBytes,
    TextItem,
)

_NO_MEMBERS: Mapping[str, JsonValue] = MappingProxyType({})
_NO_RESOURCES: Mapping[str, str] = MappingProxyType({})
# Members in which servers and SDKs wrap a value that is no object.
_WRAPPERS = frozenset({"result", "content"})
_MAX_WRAPPERS = 2
# A server uses one spelling of JSON. The limit bounds the work if texts have many spellings.
_MAX_SPELLINGS = 4
_PYTHON_BOOLEANS = {True: "True", False: "False"}
_MAX_DEPTH = 4_000
_MAX_NODES = 1_000_000
_MAY_BE_JSON = re.compile(r'[\s]*+[\[{"\-0-9tfn]')

_Member: TypeAlias = tuple[str, JsonValue]
"""The name and the value of a member of an object."""

# The members of a content block with its text, or with the bytes or the URL of its medium.
_PAYLOAD_NAMES = ("text", "data", "blob", "base64", "image", "url", "uri")
_MEDIA_TYPES = frozenset({"image", "audio", "video", "file", "resource_link"})
# Members that only say that an object is a block. The part has to have all other members.
_BLOCK_MARKERS = frozenset({*TYPE_NAMES, "type"})
# Members with the name of a file, and members with metadata, in any dialect.
_FILE_NAME_MEMBERS = ("name", "filename", "title")
_META_MEMBERS = ("_meta", "meta")


@dataclass(frozen=True, slots=True)
class RenderedPart:
    """A part of a result as it is shown, with the members of its record."""

    item: Item
    """The item that is shown."""
    members: Mapping[str, JsonValue] = field(default_factory=lambda: _NO_MEMBERS)
    """The members of the part in the record, such as its name, address and annotations."""
    digest: str = ""
    """The SHA-256 of the full text as hex digits, if the text is shortened."""


def is_mirrored(
    value: JsonValue,
    parts: Iterable[RenderedPart],
    digests_by_uri: Mapping[str, str] = _NO_RESOURCES,
) -> bool:
    """Return whether the parts of a result repeat its structured content in full.

    Args:
        value: The structured content.
        parts: The parts, in order.
        digests_by_uri: The SHA-256 of each resource of the record as hex digits, by its URI.
    """
    uris_by_digest: dict[str, list[str]] = {}
    for uri, digest in digests_by_uri.items():
        uris_by_digest.setdefault(digest, []).append(uri)
    items: list[_ComparedItem] = []
    for part in reversed([*parts]):
        if isinstance(part.item, TextItem | DataItem | Medium):
            items.append(_ComparedItem(part, items[-1] if items else None, uris_by_digest))
    items.reverse()
    return any(_have_match(items, candidate) for candidate in _unwrap(value))


class _ComparedItem:
    """An item that is shown, in each form that it may have in structured content."""

    def __init__(
        self,
        part: RenderedPart,
        next_item: "_ComparedItem | None",
        uris_by_digest: Mapping[str, Sequence[str]],
    ) -> None:
        self.item = part.item
        self.text = self.item.text if isinstance(self.item, TextItem) else None
        self._members = part.members
        self._digest = part.digest
        self._next_item = next_item
        self._uris_by_digest = uris_by_digest

    @cached_property
    def as_json(self) -> str | None:
        """The value as canonical JSON; `None` if the item cannot be JSON.

        A text that only begins like JSON is returned as it is.
        """
        if isinstance(self.item, DataItem):
            return canonicalize(self.item.value)
        if self.text is None or not _MAY_BE_JSON.match(self.text):
            return None
        try:
            parse_json(
                self.text.encode(errors="replace"), max_depth=_MAX_DEPTH, max_nodes=_MAX_NODES
            )
        except (InvalidJsonError, PayloadTooLargeError):
            return self.text
        return canonicalize_text(self.text)

    @cached_property
    def references(self) -> frozenset[str]:
        """The strings in structured content that refer to the text or the medium of the item."""
        match self.item:
            case TextItem(text=text) if self._uris_by_digest:
                uris = self._uris_by_digest.get(self._digest or _hash_text(text), ())
                return frozenset(uris).union("@" + uri for uri in uris)
            case Medium(source=StoredBytes(resource_id=resource_id)):
                return frozenset({f"@blob:{resource_id}", f"blob:{resource_id}"})
            case Medium(source=Address(url=url)):
                return frozenset({url})
            case Medium(source=InlineBytes(data=data)):
                return frozenset({pybase64.b64encode(data).decode()})
            case _:
                return frozenset()

    def matches(self, value: "_ComparedValue") -> bool:
        """Return whether the item has the content and all members of a value."""
        if self._has_text_of(value) and self._has_members_of(value):
            return True
        if self._digest:
            return self._digest in value.compute_digests(self.text or "")
        return self.as_json is not None and self.as_json == value.as_json

    def _has_text_of(self, value: "_ComparedValue") -> bool:
        """Return whether the item is the text of a value, or the medium to which it refers."""
        text = value.text
        if text is None:
            return False
        if self._digest:
            return self._digest == value.digest_of_text or text in self.references
        return text in (self.text, *self.references) or self._has_line(text)

    def _has_members_of(self, value: "_ComparedValue") -> bool:
        return all(
            self._has_member(name, member) or self._is_followed_by(name, member)
            for name, member in value.members
        )

    def _has_member(self, name: str, member: JsonValue) -> bool:
        if name in _FILE_NAME_MEMBERS:
            names = (self._members.get(item) for item in _FILE_NAME_MEMBERS)
            filename = self.item.filename if isinstance(self.item, Medium) else None
            return member in (*names, filename) or self._has_line(member)
        if name == "size":
            size = self.item.size_bytes if isinstance(self.item, Medium) else None
            return member == size or self._has_line(f"{member} bytes")
        recorded = self._members.get("_meta" if name in _META_MEMBERS else name)
        if isinstance(member, dict) and isinstance(recorded, dict):
            # The service may have added members to the recorded object.
            return all(
                key in recorded and canonicalize(member[key]) == canonicalize(recorded[key])
                for key in member
                if member[key] is not None
            )
        is_equal = recorded is not None and canonicalize(recorded) == canonicalize(member)
        return is_equal or self._has_line(member)

    def _is_followed_by(self, name: str, member: JsonValue) -> bool:
        """Return whether the item after this one has a member of a block that this item lacks.

        A block may have been read as two items: its text, and its other members as a JSON object.
        """
        members = self._next_item.json_members if self._next_item else _NO_MEMBERS
        return name in members and canonicalize(members[name]) == canonicalize(member)

    @cached_property
    def json_members(self) -> Mapping[str, JsonValue]:
        """The members of the JSON object in the text, and those of its member `resource`."""
        if self._digest or self.as_json is None or not self.as_json.startswith("{"):
            return _NO_MEMBERS
        try:
            members: dict[str, JsonValue] = json.loads(self.as_json)
        except (RecursionError, ValueError):
            return _NO_MEMBERS
        resource = members.get("resource")
        return members | resource if isinstance(resource, dict) else members

    def _has_line(self, value: JsonValue) -> bool:
        """Return whether the item is a link whose text has a value as a line.

        The text of a link has one line for each member, and one of these lines is the URI.
        """
        text, uri = f"\n{self.text or ''}\n", self._members.get("uri")
        return all(isinstance(line, str) and f"\n{line}\n" in text for line in (uri, value))


class _ComparedValue:
    """A value of structured content that a single item may repeat.

    `text` is the value, if it is a string; for a block, its text, or the base64 or URL of its
    medium. `members` are the other members of a block.
    """

    def __init__(self, value: JsonValue) -> None:
        self._value = value
        self._digests: dict[Spelling, frozenset[str]] = {}
        self.text: str | None = value if isinstance(value, str) else None
        self.members: Sequence[_Member] = ()
        if isinstance(value, bool):
            self.text = _PYTHON_BOOLEANS[value]
        elif isinstance(value, dict):
            self.text, self.members = _split_block(value)

    @cached_property
    def digest_of_text(self) -> str:
        """The SHA-256 of `text` as hex digits."""
        return _hash_text(self.text or "")

    @cached_property
    def as_json(self) -> str:
        """The value as canonical JSON."""
        return canonicalize(self._value)

    def compute_digests(self, sample: str) -> frozenset[str]:
        """Return the digests of the value as JSON text, in the spelling of a sample of JSON.

        There are two: with and without escapes for characters beyond ASCII.
        """
        spelling = detect_spelling(sample)
        if spelling not in self._digests:
            text = None
            if len(self._digests) < _MAX_SPELLINGS:
                text = spelling.write(json_text(self._value))
            texts = set() if text is None else {text, escape_non_ascii(text)}
            self._digests[spelling] = frozenset(map(_hash_text, texts))
        return self._digests[spelling]


def _unwrap(value: JsonValue) -> Iterator[JsonValue]:
    """Yield the value, and the value inside each wrapper around it."""
    yield value
    for _ in range(_MAX_WRAPPERS):
        if not isinstance(value, dict):
            return
        present = [name for name in value if value[name] is not None]
        names = present or [name for name in value if name in _WRAPPERS][:1]
        if len(names) != 1 or names[0] not in _WRAPPERS:
            return
        value = value[names[0]]
        yield value


def _have_match(items: Sequence[_ComparedItem], value: JsonValue) -> bool:
    """Return whether an item matches a value, or items in order match the elements of a list."""
    if value is None or value in ({}, []):
        # There is nothing to repeat.
        return True
    whole = _ComparedValue(value)
    if any(item.matches(whole) for item in items):
        return True
    if not isinstance(value, list):
        return False
    # Each element is compared only with the items after the match of the element before it.
    remaining_items = iter(items)
    return all(
        any(item.matches(element) for item in remaining_items)
        for element in map(_ComparedValue, value)
    )


def _split_block(block: Mapping[str, JsonValue]) -> tuple[str | None, Sequence[_Member]]:
    """Return the text or medium of a content block, and its other members.

    For an object that is no content block, they are `None` and empty.
    """
    kind, resource = block.get("type"), block.get("resource")
    if kind == "resource" and isinstance(resource, dict):
        text, members = _split_payload(resource)
        return text, [
            *members,
            *(member for member in _list_members(block) if member[0] != "resource"),
        ]
    is_medium = isinstance(kind, str) and kind in _MEDIA_TYPES
    is_block = kind == "text" or is_medium or not block.keys().isdisjoint(TYPE_NAMES)
    return _split_payload(block) if is_block else (None, ())


def _split_payload(block: Mapping[str, JsonValue]) -> tuple[str | None, Sequence[_Member]]:
    """Return the payload of a block, and its other members; nothing if it is not a string."""
    name = next((name for name in _PAYLOAD_NAMES if block.get(name) is not None), "")
    payload = block.get(name)
    members = [member for member in _list_members(block) if member[0] != name]
    return (payload, members) if isinstance(payload, str) else (None, ())


def _list_members(block: Mapping[str, JsonValue]) -> Sequence[_Member]:
    """Return the members of a block that are not empty, without those that only mark a block."""
    return [
        (name, member)
        for name, member in block.items()
        if name not in _BLOCK_MARKERS and member is not None and member not in ({}, [])
    ]


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
