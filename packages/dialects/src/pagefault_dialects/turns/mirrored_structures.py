"""Whether the parts of a result say all that its structured content says.

SDKs give what a typed tool returned twice: as text, and as `structuredContent`. The Python SDKs
wrap what is no object as `{"result": …}`, some servers as `{"content": …}`, others list their
content blocks again. A model is told once, by the parts, unless structured content says more.

Values are compared as JSON: the order of keys, white space, escapes and the spelling of numbers do
not count; whole numbers are compared digit by digit, others as doubles. A text that the record
shows shortened is compared by the digest of the whole, which is known, and not read again: with a
string as it is, with other values as the usual writers of JSON spell them. One that somebody
spelled in another way is told beside the structured content.

Everything takes time in proportion to the result: each text is parsed once, each item of a list is
compared with parts that come behind the one before it.
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
    canonical,
    canonical_text,
    escaped,
    spelling_of,
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

_NOTHING: Mapping[str, JsonValue] = MappingProxyType({})
_NO_RESOURCES: Mapping[str, str] = MappingProxyType({})
_WRAPPERS = frozenset({"result", "content"})
_MOST_WRAPPERS = 2
# A server spells in one way; who sends texts in many is not to have a value written in all of them.
_MOST_SPELLINGS = 4
_WORDS_OF_PYTHON = {True: "True", False: "False"}
_DEEPEST = 4_000
_MOST_NODES = 1_000_000
_MAY_BE_JSON = re.compile(r'[\s]*+[\[{"\-0-9tfn]')

_Member: TypeAlias = tuple[str, JsonValue]

_PAYLOADS = ("text", "data", "blob", "base64", "image", "url", "uri")
_MEDIA = frozenset({"image", "audio", "video", "file", "resource_link"})
# What only says that a block is one. Whatever else it says has to be said by its part as well.
_FRAME = frozenset({*TYPE_NAMES, "type"})
_NAMES = ("name", "filename", "title")
_META = ("_meta", "meta")


@dataclass(frozen=True, slots=True)
class Said:
    """What is shown of a part, and what is known of the part besides."""

    item: Item
    """What is shown."""
    members: Mapping[str, JsonValue] = field(default_factory=lambda: _NOTHING)
    """What the record's part carries: its name, where it is from, its annotations."""
    digest: str = ""
    """Of a text that is shown shortened: the SHA-256 of the whole, as hex digits."""


def is_told(
    value: JsonValue, parts: Iterable[Said], resources: Mapping[str, str] = _NO_RESOURCES
) -> bool:
    """Return whether parts say all that a JSON value says.

    Args:
        value: Structured content.
        parts: What is shown of the parts, in order.
        resources: Of each resource of the record, by its URI: its SHA-256, as hex digits.
    """
    uris: dict[str, list[str]] = {}
    for uri, digest in resources.items():
        uris.setdefault(digest, []).append(uri)
    shown: list[_Shown] = []
    for each in reversed([*parts]):
        if isinstance(each.item, TextItem | DataItem | Medium):
            shown.append(_Shown(each, shown[-1] if shown else None, uris))
    shown.reverse()
    return any(_says_all(shown, each) for each in _unwrapped(value))


class _Shown:
    """An item that is shown, in the forms that a value may have."""

    def __init__(
        self, said: Said, following: "_Shown | None", uris: Mapping[str, Sequence[str]]
    ) -> None:
        self.item = said.item
        self.text = self.item.text if isinstance(self.item, TextItem) else None
        self._members = said.members
        self._digest = said.digest
        self._following = following
        self._uris = uris

    @cached_property
    def as_json(self) -> str | None:
        """The value that it is the JSON of, written in one way; a text itself if it is of none."""
        if isinstance(self.item, DataItem):
            return canonical(self.item.value)
        if self.text is None or not _MAY_BE_JSON.match(self.text):
            return None
        try:
            parse_json(
                self.text.encode(errors="replace"), max_depth=_DEEPEST, max_nodes=_MOST_NODES
            )
        except (InvalidJsonError, PayloadTooLargeError):
            return self.text
        return canonical_text(self.text)

    @cached_property
    def references(self) -> frozenset[str]:
        """What stands in a structure in the place of the medium, or of a text's own bytes."""
        match self.item:
            case TextItem(text=text) if self._uris:
                alike = self._uris.get(self._digest or _digest(text), ())
                return frozenset(alike).union("@" + uri for uri in alike)
            case Medium(source=StoredBytes(resource_id=resource_id)):
                return frozenset({f"@blob:{resource_id}", f"blob:{resource_id}"})
            case Medium(source=Address(url=url)):
                return frozenset({url})
            case Medium(source=InlineBytes(data=data)):
                return frozenset({pybase64.b64encode(data).decode()})
            case _:
                return frozenset()

    def says(self, value: "_Value") -> bool:
        """Return whether it says what a value says, and the value no more than it."""
        if self._is(value) and self._carries_all(value):
            return True
        if self._digest:
            return self._digest in value.digests(self.text or "")
        return self.as_json is not None and self.as_json == value.as_json

    def _is(self, value: "_Value") -> bool:
        """Return whether it is a text, or the medium or the link that the text stands for."""
        text = value.text
        if text is None:
            return False
        if self._digest:
            return self._digest == value.digest_of_text or text in self.references
        return text in (self.text, *self.references) or self._tells(text)

    def _carries_all(self, value: "_Value") -> bool:
        return all(
            self._carries(name, said) or self._is_followed_by(name, said)
            for name, said in value.beside
        )

    def _carries(self, name: str, said: JsonValue) -> bool:
        if name in _NAMES:
            named = (self._members.get(each) for each in _NAMES)
            filename = self.item.filename if isinstance(self.item, Medium) else None
            return said in (*named, filename) or self._tells(said)
        if name == "size":
            size = self.item.size_bytes if isinstance(self.item, Medium) else None
            return said == size or self._tells(f"{said} bytes")
        held = self._members.get("_meta" if name in _META else name)
        if isinstance(said, dict) and isinstance(held, dict):
            # The service may have noted something of its own there.
            return all(
                each in held and canonical(said[each]) == canonical(held[each])
                for each in said
                if said[each] is not None
            )
        return self._tells(said) or (held is not None and canonical(held) == canonical(said))

    def _is_followed_by(self, name: str, said: JsonValue) -> bool:
        """Return whether what was left of its block stands behind it, and says this."""
        rest = self._following.rest if self._following else _NOTHING
        return name in rest and canonical(rest[name]) == canonical(said)

    @cached_property
    def rest(self) -> Mapping[str, JsonValue]:
        """The members of the object that it is the JSON of, of what is in its resource as well."""
        if self._digest or self.as_json is None or not self.as_json.startswith("{"):
            return _NOTHING
        try:
            members: dict[str, JsonValue] = json.loads(self.as_json)
        except (RecursionError, ValueError):
            return _NOTHING
        resource = members.get("resource")
        return members | resource if isinstance(resource, dict) else members

    def _tells(self, words: JsonValue) -> bool:
        """Return whether words are lines of what is told of a link, with its address among them."""
        text, uri = f"\n{self.text or ''}\n", self._members.get("uri")
        return all(isinstance(each, str) and f"\n{each}\n" in text for each in (uri, words))


class _Value:
    """A value that a single item may say.

    `text` is what it says as a text: a string itself, a block its text or what stands for a medium.
    `beside` is what a block says beside that.
    """

    def __init__(self, value: JsonValue) -> None:
        self._value = value
        self._digests: dict[Spelling, frozenset[str]] = {}
        self.text: str | None = value if isinstance(value, str) else None
        self.beside: Sequence[_Member] = ()
        if isinstance(value, bool):
            self.text = _WORDS_OF_PYTHON[value]
        elif isinstance(value, dict):
            self.text, self.beside = _read(value)

    @cached_property
    def digest_of_text(self) -> str:
        """The digest of its text."""
        return _digest(self.text or "")

    @cached_property
    def as_json(self) -> str:
        """The value, written in one way."""
        return canonical(self._value)

    def digests(self, head: str) -> frozenset[str]:
        """Return the digests of the texts it may be, if they begin as a text does."""
        spelling = spelling_of(head)
        if spelling not in self._digests:
            text = None
            if len(self._digests) < _MOST_SPELLINGS:
                text = spelling.write(json_text(self._value))
            texts = set() if text is None else {text, escaped(text)}
            self._digests[spelling] = frozenset(map(_digest, texts))
        return self._digests[spelling]


def _unwrapped(value: JsonValue) -> Iterator[JsonValue]:
    """Yield the value, and what is in it where it only wraps something."""
    yield value
    for _ in range(_MOST_WRAPPERS):
        if not isinstance(value, dict):
            return
        said = [name for name in value if value[name] is not None]
        names = said or [name for name in value if name in _WRAPPERS][:1]
        if len(names) != 1 or names[0] not in _WRAPPERS:
            return
        value = value[names[0]]
        yield value


def _says_all(shown: Sequence[_Shown], value: JsonValue) -> bool:
    if value is None or value in ({}, []):
        return True
    whole = _Value(value)
    if any(each.says(whole) for each in shown):
        return True
    if not isinstance(value, list):
        return False
    following = iter(shown)
    return all(
        any(each.says(item) for each in following) for item in (_Value(item) for item in value)
    )


def _read(block: Mapping[str, JsonValue]) -> tuple[str | None, Sequence[_Member]]:
    """Return a content block's text, or what stands in it for its medium, and what else it says.

    Other objects have no text.
    """
    kind, resource = block.get("type"), block.get("resource")
    if kind == "resource" and isinstance(resource, dict):
        text, beside = _payload_of(resource)
        return text, [*beside, *(each for each in _members(block) if each[0] != "resource")]
    is_medium = isinstance(kind, str) and kind in _MEDIA
    is_block = kind == "text" or is_medium or not block.keys().isdisjoint(TYPE_NAMES)
    return _payload_of(block) if is_block else (None, ())


def _payload_of(block: Mapping[str, JsonValue]) -> tuple[str | None, Sequence[_Member]]:
    said = _members(block)
    payload = next((name for name in _PAYLOADS if block.get(name) is not None), "")
    held = block.get(payload)
    beside = [each for each in said if each[0] != payload]
    return (held, beside) if isinstance(held, str) else (None, ())


def _members(block: Mapping[str, JsonValue]) -> Sequence[_Member]:
    """Return what a block says besides being a block; an empty object says nothing."""
    return [
        (name, said)
        for name, said in block.items()
        if name not in _FRAME and said is not None and said not in ({}, [])
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
