"""Properties of every result: no exceptions, no lost content, no base64 in texts."""

import base64
import copy
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pagefault_dialects.json.values import MediaSlot, json_text
from pagefault_dialects.model.normalized import NormalizedText, NormalizedToolResult
from pagefault_dialects.results import normalize

MAGIC = {
    "image/png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "image/jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00",
    "audio/wav": b"RIFF\x24\x08\x00\x00WAVEfmt ",
    "application/pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "video/mp4": b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00",
    "application/zip": b"PK\x03\x04\x14\x00\x00\x00\x08\x00",
}
FRAMING = {"type", "detail", "encoding", "source_type", "cache_control"}
KNOWN_KEYS = (
    *("content", "structuredContent", "isError", "_meta", "_display", "annotations", "uri"),
    *("type", "text", "data", "mimeType", "image", "source", "url", "resource", "blob", "name"),
    *("value", "image_url", "filename", "toolResult", "resultType", "detail", "format", "0"),
)
KNOWN_VALUES = (
    *("text", "image", "resource", "resource_link", "tool_result", "json", "error-text", "file"),
    *("image/png", "text/plain", "base64", "Buffer", "document", "data:", "data:image/png;base64,"),
    *("https://host/a.png", "file:///a", "blob:x", "@blob:00", "javascript:1", "aGVsbG8gd29ybGQ="),
)

keys = st.one_of(st.sampled_from(KNOWN_KEYS), st.text(max_size=8))
strings = st.one_of(
    st.text(st.characters(), max_size=40),
    st.text(st.characters(categories=["Cs", "Lu", "Cc"]), max_size=8),
    st.sampled_from(KNOWN_VALUES),
)
scalars = st.one_of(
    strings,
    st.integers(),
    st.integers(min_value=10**30, max_value=10**60),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(keys, inner, max_size=5)),
    max_leaves=25,
)


@dataclass(frozen=True)
class Hidden:
    """A medium, and the text that encodes it."""

    data: bytes
    mime_type: str
    text: str

    def __repr__(self) -> str:
        return f"Hidden({len(self.data)}, {self.mime_type}, {self.text[:40]!r}…)"


@st.composite
def hidden_media(draw: st.DrawFn) -> Hidden:
    mime_type = draw(st.sampled_from(sorted(MAGIC)))
    seed = draw(st.integers(0, 2**32)).to_bytes(8)
    # One byte more than a multiple of three, so padding marks the end of wrapped base64.
    data = MAGIC[mime_type] + hashlib.shake_256(seed).digest(draw(st.integers(1_024, 4_096)))
    data += b"\x00" * ((1 - len(data)) % 3)
    return Hidden(data, mime_type, draw(st.sampled_from(ENCODINGS))(data, mime_type))


def _standard(data: bytes, _mime_type: str) -> str:
    return base64.b64encode(data).decode()


def _url_safe(data: bytes, _mime_type: str) -> str:
    return base64.urlsafe_b64encode(data).decode()


def _unpadded(data: bytes, mime_type: str) -> str:
    return _standard(data, mime_type).rstrip("=")


def _wrapped(columns: int, line_end: str) -> Callable[[bytes, str], str]:
    def encode(data: bytes, mime_type: str) -> str:
        return line_end.join(re.findall(f".{{1,{columns}}}", _standard(data, mime_type)))

    return encode


def _data_uri(data: bytes, mime_type: str) -> str:
    return f"data:{mime_type};base64,{_standard(data, mime_type)}"


def _loud_data_uri(data: bytes, mime_type: str) -> str:
    return f"DATA:{mime_type.upper()};name=a.bin;BASE64,{_url_safe(data, mime_type)}"


def _percent_encoded(data: bytes, mime_type: str) -> str:
    return f"data:{mime_type};base64,{quote(_standard(data, mime_type), safe='')}"


ENCODINGS = (
    *(_standard, _url_safe, _unpadded, _data_uri, _loud_data_uri, _percent_encoded),
    *(
        _wrapped(57, "\n"),
        _wrapped(100, "\r\n"),
        _wrapped(76, " "),
        _wrapped(64, "\r\n"),
        _wrapped(76, "\n"),
        _wrapped(76, "\r\n"),
    ),
)

PLACEMENTS = (
    lambda hidden: hidden.text,
    lambda hidden: f"before {hidden.text} after",
    lambda hidden: f"see ![x]({hidden.text}) and\nmore",
    lambda hidden: {"id": 7, "shot": hidden.text},
    lambda hidden: {"data": hidden.text, "mimeType": hidden.mime_type},
    lambda hidden: {"data": hidden.text, "mimeType": hidden.mime_type, "caption": "sunset"},
    lambda hidden: json.dumps({"deep": [{"shot": hidden.text}], "n": 12345678901234567890}),
    lambda hidden: json.dumps({"text": json.dumps({"shot": hidden.text})}),
    lambda hidden: "log: " + json.dumps({"shot": hidden.text}).replace("/", "\\/") + " end",
    lambda hidden: {"type": "image", "data": hidden.text, "mimeType": hidden.mime_type},
    lambda hidden: {"type": "text", "text": hidden.text, "annotations": {"priority": 1}},
    lambda hidden: {"type": "text", "text": "hi", "annotations": {"thumb": hidden.text}},
    lambda hidden: {"type": "resource", "resource": {"uri": "x://1", "blob": hidden.text}},
    lambda hidden: {"inlineData": {"mimeType": hidden.mime_type, "data": hidden.text}},
    lambda hidden: {"type": "image_url", "image_url": {"url": hidden.text}},
    lambda hidden: {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [
            {
                "type": "image",
                "source": {
                    "type": "base64",
                    "media_type": hidden.mime_type,
                    "data": hidden.text,
                },
            }
        ],
    },
)

WRAPPINGS = (
    lambda value: value,
    lambda value: [value],
    lambda value: ["intro", [value, None], 3],
    lambda value: {"content": [value]},
    lambda value: {"content": [{"type": "text", "text": "x"}], "structuredContent": value},
    lambda value: {"content": [], "_meta": {"deep": [value]}, "isError": False},
    lambda value: {"structuredContent": {"a": {"b": value}}},
    lambda value: {"_display": value, "path": "a.txt"},
    lambda value: {"rows": [{"n": 1, "cell": value}, {"n": 2}]},
)


def _bytes_of(result: NormalizedToolResult) -> list[bytes]:
    return [b"".join(medium.source.chunks()) for medium in result.media]


def _strings_of(value: object) -> Iterator[str]:
    """Return every string of a normalized value, keys included."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict):
            stack += [*node.keys(), *node.values()]
        elif isinstance(node, list | tuple):
            stack += node


def _texts_of(result: NormalizedToolResult) -> list[str]:
    texts = list(_strings_of((result.structured_content or (), result.display, result.meta or {})))
    for part in result.parts:
        if isinstance(part, NormalizedText):
            texts += _strings_of(part.template)
        provenance = part.provenance
        extra_values = (provenance.annotations, provenance.uri, provenance.name, provenance.meta)
        texts += _strings_of(extra_values)
    return texts


def _everything_of(result: NormalizedToolResult) -> str:
    """Return all text of a result, to look up scalars in it."""
    extra_values: list[Any] = [result.structured_content or (), result.display, result.meta]
    for part in result.parts:
        template = part.template if isinstance(part, NormalizedText) else ()
        extra_values += [piece for piece in template if isinstance(piece, str)]
        provenance = part.provenance
        extra_values += [provenance.annotations, provenance.uri, provenance.name, provenance.meta]
        extra_values += [
            getattr(part, name, None) for name in ("url", "literal", "mime_type", "filename")
        ]
    for medium in result.media:
        extra_values += [medium.filename, medium.source.declared_mime_type]
        extra_values += [b"".join(medium.source.chunks()).decode("latin-1")]
    written = [item if isinstance(item, str) else _written(item) for item in extra_values]
    return "\n".join(written)


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _scalars_of(value: object) -> Iterator[object]:
    stack: list[tuple[str, object]] = [("", value)]
    while stack:
        key, node = stack.pop()
        if isinstance(node, dict):
            stack += list(node.items())
        elif isinstance(node, list):
            stack += [(key, item) for item in node]
        elif not isinstance(node, bool | None) and key not in FRAMING:
            yield node


def _is_findable(scalar: object, everything: str) -> bool:
    if not isinstance(scalar, str):
        return json_text(scalar) in everything
    repaired = re.sub("[\ud800-\udfff]", "\ufffd", scalar).strip()
    escaped = json_text(repaired)[1:-1]
    return any(form in everything for form in (repaired, escaped, json_text(escaped)[1:-1]))


def _slots_of(value: object) -> Iterator[int]:
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, MediaSlot):
            yield node.index
        elif isinstance(node, dict):
            stack += node.values()
        elif isinstance(node, list | tuple):
            stack += node


@pytest.mark.slow
@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(
    hidden=hidden_media(),
    placement=st.sampled_from(PLACEMENTS),
    wrapping=st.sampled_from(WRAPPINGS),
    neighbour=json_values,
)
def test_hidden_medium_is_found_once_and_leaves_no_base64_behind(
    hidden: Hidden,
    placement: Callable[[Hidden], object],
    wrapping: Callable[[object], object],
    neighbour: object,
) -> None:
    value = wrapping(placement(hidden))
    if isinstance(value, list):
        value = [*value, neighbour]
    result = normalize(value)
    assert _bytes_of(result).count(hidden.data) == 1
    encoded = base64.b64encode(hidden.data).decode()
    for text in _texts_of(result):
        compact = re.sub(r"\s", "", text.replace("\\n", "").replace("\\", ""))
        compact = compact.replace("-", "+").replace("_", "/")
        assert encoded[200:260] not in compact


@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(media=st.lists(hidden_media(), min_size=2, max_size=4))
def test_several_media_keep_their_order(media: list[Hidden]) -> None:
    result = normalize({"content": [{"n": i, "x": m.text} for i, m in enumerate(media)]})
    assert _bytes_of(result) == [medium.data for medium in media]


@pytest.mark.slow
@settings(deadline=None, max_examples=300, suppress_health_check=list(HealthCheck))
@given(value=json_values)
def test_every_scalar_of_any_value_can_be_found_again(value: object) -> None:
    everything = _everything_of(normalize(value))
    lost = [scalar for scalar in _scalars_of(value) if not _is_findable(scalar, everything)]
    assert lost == []


@pytest.mark.slow
@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(value=json_values)
def test_normalization_is_deterministic_and_keeps_its_input(value: object) -> None:
    before = copy.deepcopy(value)
    first, second = normalize(value), normalize(value)
    assert (first.parts, first.warnings) == (second.parts, second.warnings)
    assert _bytes_of(first) == _bytes_of(second)
    assert value == before


@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(value=json_values, levels=st.integers(1, 60), wrapping=st.sampled_from(WRAPPINGS))
def test_no_text_of_any_value_holds_a_lone_surrogate(
    value: object, levels: int, wrapping: Callable[[object], object]
) -> None:
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    result = normalize(wrapping(value))
    for text in _texts_of(result):
        text.encode()
    assert result.parts


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(hidden=hidden_media(), wrapping=st.sampled_from(WRAPPINGS))
def test_every_slot_has_a_part_with_its_medium(
    hidden: Hidden, wrapping: Callable[[object], object]
) -> None:
    value = {"id": 1, "shot": hidden.text, "note": f"again: {hidden.text} !"}
    result = normalize(wrapping(value))
    templates = [part.template for part in result.parts if isinstance(part, NormalizedText)]
    extras = [result.structured_content or (), result.display, result.meta]
    used = set(_slots_of([*templates, *extras]))
    slot_uses = Counter(part.slot.index for part in result.parts if hasattr(part, "slot"))
    assert used == set(slot_uses)
    assert slot_uses == dict.fromkeys(range(len(result.media)), 1)
