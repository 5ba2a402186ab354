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
from functools import cached_property
from types import MappingProxyType

import pybase64

from app.errors import InvalidJsonError, PayloadTooLargeError
from app.models.conversation import (
    Address,
    DataItem,
    InlineBytes,
    Item,
    Medium,
    StoredBytes,
    TextItem,
)
from app.models.json_value import JsonValue, json_text, parse_json
from app.rendering.turns.json_spelling import Spelling, escaped, spelling_of

_NO_DIGESTS: Mapping[str, str] = MappingProxyType({})
_WRAPPERS = frozenset({"result", "content"})
_MOST_WRAPPERS = 2
# A server spells in one way; who sends texts in many is not to have a value written in all of them.
_MOST_SPELLINGS = 4
_WORDS_OF_PYTHON = {True: "True", False: "False"}
_DEEPEST = 4_000
_MOST_NODES = 1_000_000
_SORTED = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)
_HALF = re.compile("[\ud800-\udfff]")
_MAY_BE_JSON = re.compile(r'[\s]*+[\[{"\-0-9tfn]')

# What a block says beside its text or medium: its part was made of the same block.
_FRAME = frozenset({"type", "annotations", "_meta", "meta"})
_MIME_TYPES = frozenset({"mimeType", "mime_type", "mediaType", "media_type"})
_FRAME_OF_MEDIA = _FRAME | _MIME_TYPES | {"name", "filename", "title", "description", "size"}
_PAYLOADS = ("text", "data", "blob", "base64", "image", "url", "uri")
_MEDIA = frozenset({"image", "audio", "video", "file", "resource_link"})


def is_told(
    value: JsonValue,
    items: Iterable[Item],
    whole_texts: Mapping[str, str] = _NO_DIGESTS,
    resources: Mapping[str, str] = _NO_DIGESTS,
) -> bool:
    """Return whether the items say all that a JSON value says.

    Args:
        value: Structured content.
        items: What is shown of the parts, in order.
        whole_texts: Of each text that is shown shortened, by its pointer: the SHA-256 of the whole
            text, as hex digits.
        resources: Of each resource of the record, by its URI: its SHA-256, as hex digits.
    """
    shown = [
        _Shown(item, whole_texts.get(item.pointer, ""), resources)
        for item in items
        if isinstance(item, TextItem | DataItem | Medium)
    ]
    return any(_says_all(shown, each) for each in _unwrapped(value))


def says_nothing(value: JsonValue) -> bool:
    """Return whether structured content is what an SDK makes of a tool that returned nothing."""
    return any(each is None for each in _unwrapped(value))


class _Shown:
    """An item that is shown, in the forms that a value may have."""

    def __init__(
        self, item: TextItem | DataItem | Medium, digest: str, resources: Mapping[str, str]
    ) -> None:
        self.item = item
        self.digest = digest
        self._resources = resources
        self.text = item.text if isinstance(item, TextItem) else None

    @cached_property
    def as_json(self) -> str | None:
        """The value that it is the JSON of, written in one way; a text itself if it is of none."""
        if isinstance(self.item, DataItem):
            return _canonical(self.item.value)
        if self.text is None or not _MAY_BE_JSON.match(self.text):
            return None
        try:
            parse_json(
                self.text.encode(errors="replace"), max_depth=_DEEPEST, max_nodes=_MOST_NODES
            )
        except (InvalidJsonError, PayloadTooLargeError):
            return self.text
        return _canonical_text(self.text)

    @cached_property
    def references(self) -> frozenset[str]:
        """What stands in a structure in the place of the medium, or of a text's own bytes."""
        match self.item:
            case TextItem(text=text) if self._resources:
                digest = self.digest or _digest(text)
                alike = [uri for uri, each in self._resources.items() if each == digest]
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
        if self.text is not None and self.text == value.text:
            return True
        if value.text is not None and value.text in self.references:
            return True
        if self.digest:
            return self.digest in value.digests(self.text or "")
        return self.as_json is not None and self.as_json == value.as_json


class _Value:
    """A value that a single item may say."""

    def __init__(self, value: JsonValue) -> None:
        self._value = value
        self._digests: dict[Spelling, frozenset[str]] = {}

    @cached_property
    def text(self) -> str | None:
        """What it says as a text: a string itself, a block its text or what stands for a medium."""
        if isinstance(self._value, bool):
            return _WORDS_OF_PYTHON[self._value]
        if isinstance(self._value, dict):
            return _payload_of(self._value)
        return self._value if isinstance(self._value, str) else None

    @cached_property
    def as_json(self) -> str:
        """The value, written in one way."""
        return _canonical(self._value)

    def digests(self, head: str) -> frozenset[str]:
        """Return the digests of the texts it may be, if they begin as a text does."""
        spelling = spelling_of(head)
        if spelling not in self._digests:
            text = None
            if len(self._digests) < _MOST_SPELLINGS:
                text = spelling.write(json_text(self._value))
            texts = set() if text is None else {text, escaped(text)}
            texts |= set() if self.text is None else {self.text}
            self._digests[spelling] = frozenset(map(_digest, texts))
        return self._digests[spelling]


def _unwrapped(value: JsonValue) -> Iterator[JsonValue]:
    """The value, and what is in it where it only wraps something."""
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


def _payload_of(block: Mapping[str, JsonValue]) -> str | None:
    """The text of a content block, or what stands in it for its medium; `None` of other objects."""
    kind = block.get("type")
    if kind == "resource" and isinstance(block.get("resource"), dict):
        is_all = _FRAME.issuperset(name for name in block if _says(block, name, "resource"))
        return _only_payload(block["resource"], _FRAME_OF_MEDIA) if is_all else None
    if kind == "text":
        return _only_payload(block, _FRAME)
    is_medium = kind in _MEDIA or not _MIME_TYPES.isdisjoint(block)
    return _only_payload(block, _FRAME_OF_MEDIA) if is_medium else None


def _only_payload(block: Mapping[str, JsonValue], frame: frozenset[str]) -> str | None:
    said = [name for name in block if _says(block, name) and name not in frame]
    payload = next((name for name in _PAYLOADS if name in said), "")
    if not payload or not {payload, "uri"}.issuperset(said):
        return None
    held = block[payload]
    return held if isinstance(held, str) else None


def _says(block: Mapping[str, JsonValue], name: str, apart_from: str = "") -> bool:
    return block[name] is not None and name != apart_from


def _canonical(value: JsonValue) -> str:
    return _canonical_text(json_text(value))


def _canonical_text(text: str) -> str:
    """A JSON text as any other one of the same value."""
    try:
        value = json.loads(text, parse_float=_number, parse_int=int)
        return _HALF.sub("\ufffd", _SORTED.encode(value))
    except (RecursionError, ValueError):
        # Too deep, or with numbers too long, for anything but the text.
        return text


def _number(literal: str) -> int | float:
    number = float(literal)
    return int(number) if number.is_integer() else number


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
