"""Bodies of requests as hypothesis makes them up: media in all spellings, in all places."""

import base64
import json
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from tests.kit.media import wav

LONG_CHARS = 12_000
_PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000280000001400802000000")
_MP4 = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"
_WAV = wav()
_PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"


def _filled(head: bytes, seed: int, size: int) -> bytes:
    noise = bytes((seed * 7 + number * number * 31 + number // 251) % 256 for number in range(1021))
    return (head + noise * (size // len(noise) + 1))[:size]


media = st.builds(
    _filled,
    st.sampled_from([_PNG, _MP4, _WAV, _PDF, b"", b"\x00\x01", b"GIF89a"]),
    st.integers(0, 9),
    st.integers(7_000, 40_000),
)
texts = st.builds(
    lambda line, count: (line * count).encode(),
    st.sampled_from(["The order is open.\n", "äöü€ ", '{"a":1}\n', "<svg xmlns='x'/>", "a,b\n"]),
    st.integers(600, 2_500),
)


HEADS = [
    "",
    "",
    "",
    "data:image/png;base64,",
    "data:video/mp4;name=a%20clip.mp4;base64,",
    "data:;base64,",
    "DATA:application/pdf;Base64,",
    "data:text/plain;charset=utf-8;base64,",
]
ODD_HEADS = [
    "data:image/png,",
    "see data:image/png;base64,",
    " ",
    "/9j/",
    "iVBORw0KGgo",
    "data%3aimage/png;base64,",
]
ODD = ["*", "=", "%2B", "é", '"', "\\", "\n", " ", "-", "+", "\n\n"]
ODD_ENDS = [" ", "=", "==", "===", " end", "!", "\n\n", "\r", "=\n="]


@st.composite
def encoded(draw: st.DrawFn) -> str:
    """Base64 as it is mostly written."""
    text = base64.b64encode(draw(media | media | texts)).decode()
    if draw(st.integers(0, 3)) == 0:
        text = text.translate(str.maketrans("+/", "-_"))
    if draw(st.integers(0, 3)) == 0:
        text = text.rstrip("=")
    columns = draw(st.sampled_from([0, 0, 0, 76, 64, 40, 6_000]))
    if columns:
        first = draw(st.sampled_from([columns, columns, columns - 20]))
        separator = draw(st.sampled_from(["\n", "\r\n"]))
        text = _wrapped(text, first, columns, separator)
    return draw(st.sampled_from(HEADS)) + text + draw(st.sampled_from(["", "", "\n", "\r\n"]))


@st.composite
def nearly_encoded(draw: st.DrawFn) -> str:
    """Base64 with something about it that is not as it should be."""
    text = draw(encoded())
    match draw(st.integers(0, 3)):
        case 0:
            return draw(st.sampled_from(ODD_HEADS)) + text
        case 1:
            return text + draw(st.sampled_from(ODD_ENDS))
        case 2:
            at = draw(st.integers(0, len(text)))
            return text[:at] + draw(st.sampled_from(ODD)) + text[at:]
    columns = draw(st.sampled_from([76, 60, 44, 36, 77, 10_000]))
    first = draw(st.sampled_from([columns, columns - 3, 1, 2 * columns]))
    separator = draw(st.sampled_from(["\n", "\r\n", " ", "\n  ", "\t", "\n\n"]))
    return _wrapped(text, first, columns, separator)


def _wrapped(text: str, first: int, columns: int, separator: str) -> str:
    starts = range(first, len(text), columns)
    return separator.join([text[:first], *(text[at : at + columns] for at in starts)])


keys = st.sampled_from(
    [
        *("data", "blob", "text", "url", "uri", "href", "src", "name", "title", "filename"),
        *("image", "image_url", "base64", "bytes", "content", "raw", "value", "body"),
        *("mimeType", "type", "audio", "video", "file_data", "b64_json", "thumbnail"),
        *("anything", "description", "_meta", "annotations"),
    ]
)
types = st.sampled_from(
    [
        *("image", "audio", "video", "file", "text", "resource", "resource_link"),
        *("image_url", "input_image", "document", "json", "tool_result", "image-data"),
        *("unheard-of",),
    ]
)
mime_types = st.sampled_from(
    [
        *("image/png", "video/mp4", "audio/L16;rate=8000", "text/plain", "text/csv"),
        *("application/json", "image/svg+xml", "application/octet-stream", "nonsense"),
    ]
)
small: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 7, "a word", "iVBORw0KGgo=", 'say "\\n" é \ud83d\ude00', [], {}]
)
leaves = encoded() | encoded() | nearly_encoded() | small


@st.composite
def blocks(draw: st.DrawFn) -> dict[str, Any]:
    """A content block of some provider, or something like it."""
    payload = draw(leaves)
    shape = draw(st.integers(0, 7))
    kind, mime_type = draw(types), draw(mime_types)
    block: dict[str, Any] = (
        {"type": kind, "data": payload, "mimeType": mime_type},
        {
            "type": kind,
            "resource": {"uri": "file:///a/b.bin", "blob": payload, "mimeType": mime_type},
        },
        {
            "type": kind,
            "resource": {"uri": "file:///a/b.bin", "text": payload, "mimeType": mime_type},
        },
        {"type": kind, "source": {"type": "base64", "media_type": mime_type, "data": payload}},
        {"type": "image_url", "image_url": {"url": payload}},
        {"inlineData": {"mimeType": mime_type, "data": payload}},
        {"type": kind, "text": payload},
        {draw(keys): payload},
    )[shape]
    if draw(st.booleans()):
        block[draw(keys)] = draw(leaves)
    return block


values = st.recursive(
    leaves | blocks(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=4,
)
results = st.one_of(
    values,
    st.fixed_dictionaries(
        {"content": st.lists(blocks(), max_size=3)},
        optional={"structuredContent": values, "_meta": st.dictionaries(keys, values, max_size=2)},
    ),
    encoded().map(lambda text: json.dumps({"screenshot": text, "note": "inside a text"})),
)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A request's body, in one of the spellings JSON has for it, and now and then damaged."""
    body = json.dumps(
        {"toolName": "t", "toolCallId": "c", "result": draw(results)},
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, None, 2])),
    )
    if draw(st.booleans()):
        body = body.replace("/", "\\/")
    if draw(st.integers(0, 3)) == 0:
        body = body.replace("=", "\\u003d")
    data = body.encode("utf-8", "surrogatepass")
    match draw(st.integers(0, 15)):
        case 0:
            data = data[: draw(st.integers(0, len(data)))]
        case 1:
            at = draw(st.integers(0, len(data)))
            data = (
                data[:at]
                + draw(st.sampled_from([b"\n", b'"', b"\\", b"\xff", b"\x00"]))
                + data[at:]
            )
    return data


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The body in pieces, some of them of a single byte."""
    size = draw(st.sampled_from([1_048_576, 65_536, 4_096, 997, 61]))
    places = set(range(0, len(data), size)) | set(
        draw(st.lists(st.integers(0, len(data)), max_size=20))
    )
    some = draw(st.integers(0, len(data)))
    places |= {place for place in range(some, some + 12) if place < len(data)}
    ordered = sorted(places | {0, len(data)})
    return [data[one:other] for one, other in pairwise(ordered)]
