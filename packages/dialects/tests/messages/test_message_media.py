"""Strings of a message that are stored apart as media, and strings that only look like media."""

import base64
import binascii
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from pagefault_dialects.media.data_uris import SplitDataUri
from pagefault_dialects.messages.message_media import find_declared_media, find_media
from pagefault_dialects.messages.message_references import find_references
from tests.kit.media import b64, flac, jpeg, mp3, pdf, png, wav

LARGE = png(noise=True)
B64 = base64.b64encode(LARGE).decode()
NOISE = bytes(range(256)) * 5
NOISE_B64 = base64.b64encode(NOISE).decode()
URI = f"data:image/png;base64,{B64}"
PROSE = "Words that are about data and go on and on. " * 60
DNA = "ACGTTGCA" * 400
HEX = "0123456789abcdef" * 200
LONG_WORD = "Donaudampfschifffahrtsgesellschaft" * 60
TOKEN = "eyJhbGciOiJIUzI1NiJ9" * 100


def found_in(message: object) -> dict[str, tuple[str, bytes]]:
    """Return the media that are stored apart: type and bytes by pointer."""
    return {
        medium.pointer: (medium.uri.mime_type, medium.uri.data or b"")
        for medium in find_media(message)
        if medium.uri is not None
    }


@pytest.mark.parametrize(
    ("block", "pointer", "mime_type", "data"),
    [
        ({"type": "image_url", "image_url": {"url": URI}}, "/image_url/url", "image/png", LARGE),
        ({"type": "input_image", "image_url": URI}, "/image_url", "image/png", LARGE),
        (
            {"type": "input_audio", "input_audio": {"data": b64(wav()), "format": "wav"}},
            "/input_audio/data",
            "audio/wav",
            wav(),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": b64(mp3()), "format": "mp3"}},
            "/input_audio/data",
            "audio/mpeg",
            mp3(),
        ),
        (
            {
                "type": "file",
                "file": {"file_data": f"data:application/pdf;base64,{b64(pdf() * 2)}"},
            },
            "/file/file_data",
            "application/pdf",
            pdf() * 2,
        ),
        (
            {"type": "input_file", "filename": "a.pdf", "file_data": b64(pdf() * 2)},
            "/file_data",
            "application/pdf",
            pdf() * 2,
        ),
        (
            {
                "type": "image",
                "source": {
                    "type": "base64",
                    "media_type": "image/jpeg",
                    "data": b64(jpeg(noise=True)),
                },
            },
            "/source/data",
            "image/jpeg",
            jpeg(noise=True),
        ),
        (
            {"type": "document", "source": {"media_type": "application/pdf", "data": NOISE_B64}},
            "/source/data",
            "application/pdf",
            NOISE,
        ),
        (
            {"inlineData": {"mimeType": "image/png", "data": B64}},
            "/inlineData/data",
            "image/png",
            LARGE,
        ),
        (
            {"inline_data": {"mime_type": "audio/flac", "data": b64(flac())}},
            "/inline_data/data",
            "audio/flac",
            flac(),
        ),
        (
            {"image": {"format": "png", "source": {"bytes": B64}}},
            "/image/source/bytes",
            "image/png",
            LARGE,
        ),
        (
            {"document": {"format": "pdf", "name": "a", "source": {"bytes": NOISE_B64}}},
            "/document/source/bytes",
            "",
            NOISE,
        ),
        ({"type": "image", "mimeType": "image/png", "data": B64}, "/data", "image/png", LARGE),
        ({"type": "image", "base64": B64, "mime_type": "image/png"}, "/base64", "image/png", LARGE),
        ({"b64_json": B64}, "/b64_json", "image/png", LARGE),
        ({"image": B64}, "/image", "image/png", LARGE),
        ({"a/b": {"~": [{"": URI}]}}, "/a~1b/~0/0/", "image/png", LARGE),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
def test_medium_in_a_block_is_found(
    block: dict[str, Any], pointer: str, mime_type: str, data: bytes
) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "x"}, block]}
    assert found_in(message) == {f"/content/1{pointer}": (mime_type, data)}


@pytest.mark.parametrize(
    "payload",
    [
        base64.urlsafe_b64encode(LARGE).decode(),
        b64(LARGE + b"12").rstrip("="),
        base64.encodebytes(LARGE).decode(),
        B64.replace("+", "%2B").replace("/", "%2f"),
    ],
    ids=["url-safe", "unpadded", "wrapped", "percent-encoded"],
)
@pytest.mark.parametrize(
    "head",
    [
        "data:image/png;base64,",
        "DATA:IMAGE/PNG;BASE64,",
        'data:image/png;name="a, b.png";charset=x;base64,',
    ],
)
def test_data_uri_is_found_in_every_spelling(head: str, payload: str) -> None:
    ((pointer, (mime_type, data)),) = found_in({"content": head + payload}).items()
    assert (pointer, mime_type, data[: len(LARGE)]) == ("/content", "image/png", LARGE)


@pytest.mark.parametrize(
    "payload",
    [
        base64.urlsafe_b64encode(LARGE).decode(),
        b64(LARGE).rstrip("="),
        base64.encodebytes(LARGE).decode(),
        B64.replace("/", "\\/"),
        repr(LARGE),
        repr(base64.encodebytes(LARGE)),
    ],
    ids=["url-safe", "unpadded", "wrapped", "escaped", "bytes", "bytes of base64"],
)
def test_declared_base64_is_found_in_every_spelling(payload: str) -> None:
    block = {"source": {"media_type": "image/png", "data": payload}}
    assert found_in(block) == {"/source/data": ("image/png", LARGE)}


def test_declared_literal_of_a_file_with_blanks_in_its_first_bytes_is_found() -> None:
    files = {
        "audio/wav": wav(),
        "application/pdf": pdf("x" * 1_024),
        "video/mp4": b"\0\0\0 ftypisom" + bytes(1_024),
    }
    for mime_type, data in files.items():
        block = {"source": {"media_type": mime_type, "data": f" {data!r}"}}
        assert found_in(block) == {"/source/data": (mime_type, data)}


@pytest.mark.parametrize("size", [1_023, 1_024])
@pytest.mark.parametrize(
    "block",
    [
        {"image_url": "data:image/png;base64,%s"},
        {"source": {"media_type": "image/png", "data": "%s"}},
        {"file_data": "%s"},
    ],
    ids=str,
)
def test_medium_is_moved_from_1024_decoded_bytes_on(block: dict[str, Any], size: int) -> None:
    text = b64(NOISE[:size])
    ((key, member),) = block.items()
    filled = member % text if isinstance(member, str) else {**member, "data": text}
    assert len(found_in({key: filled})) == (size == 1_024)


@pytest.mark.parametrize("size", [1_023, 1_024])
def test_medium_in_a_sentence_is_moved_from_1024_decoded_bytes_on(size: int) -> None:
    text = f"See data:image/png;base64,{b64(LARGE[:size])} here."
    found = find_media({"content": [{"type": "text", "text": text}]})
    assert [(finding.pointer, finding.uri) for finding in found] == [
        *([("/content/0/text", None)] if size == 1_024 else [])
    ]
    assert [span.data for item in found for span in item.spans] == [LARGE[:size]] * len(found)


@pytest.mark.parametrize(
    "message",
    [
        {"content": DNA},
        {"content": HEX},
        {"content": LONG_WORD},
        {"content": TOKEN},
        {"content": NOISE_B64},
        {"data": PROSE, "mimeType": "text/plain"},
        {"data": PROSE, "format": "wav"},
        {"data": HEX},
        {"data": DNA, "format": "fasta"},
        {"data": NOISE_B64},
        {"data": {"mimeType": "image/png", "rows": [DNA, HEX]}},
        {"bytes": PROSE},
        {"file_data": PROSE},
        {"mimeType": 5, "data": NOISE_B64},
        {"media_type": None, "data": NOISE_B64},
        {"mimeType": "text/plain", "data": "ACGT" * 500},
        {"type": "text", "media_type": "text/plain", "data": f"b'{'<html>' * 500}'"},
        {"type": "x", "bytes": "a" * 2_000},
        {"format": "wav", "data": "prerecordedmessages/x/y/zabc"},
        {"mimeType": "image/png", "note": NOISE_B64},
        {"content": "data:image/png;base64," + "A!" * 1_000},
        {"content": "data:text/plain," + "x%20" * 1_000},
        {"content": "Data: in 2024, we measured " + "many things " * 200},
        {"content": f"https://example.com/{NOISE_B64}"},
        {"content": "@blob:" + "0" * 32},
        {"content": ""},
        {"content": None},
        {"x": [[], {}, 1, 2.5, True, None]},
    ],
    ids=lambda message: str(message)[:48],
)
def test_strings_that_only_look_like_media_stay(message: object) -> None:
    assert find_media(message) == []


@pytest.mark.slow
@hypothesis.given(text=st.text(min_size=1_400, max_size=1_500), key=st.sampled_from(["data", "x"]))
def test_any_text_with_blanks_among_its_words_stays(text: str, key: str) -> None:
    message = {"mimeType": "text/plain", key: f"A word or two. {text}"}
    assert find_media(message) == []


@hypothesis.given(data=st.binary(min_size=0, max_size=3_000))
def test_declared_medium_of_any_bytes_is_moved_by_its_length(data: bytes) -> None:
    block = {"media_type": "application/octet-stream", "data": b64(data)}
    expected = {"/data": ("application/octet-stream", data)} if len(data) >= 1_024 else {}
    assert found_in(block) == expected


def test_recordings_of_every_size_are_moved() -> None:
    short = b64(wav(0.005))
    assert found_in({"input_audio": {"data": short, "format": "wav"}}) == {
        "/input_audio/data": ("audio/wav", wav(0.005))
    }
    assert found_in({"url": f"data:audio/wav;base64,{short}"}) == {
        "/url": ("audio/wav", wav(0.005))
    }


def test_media_a_thousand_levels_deep_are_found() -> None:
    message: Any = {"url": URI}
    for _ in range(999):
        message = [message]
    assert list(found_in(message)) == ["/0" * 999 + "/url"]


@pytest.mark.parametrize("text", ["blob:%s", "@blob:%s"], ids=["uri", "reference"])
def test_strings_that_are_references_are_found(text: str) -> None:
    ids = [binascii.hexlify(bytes([number] * 16)).decode() for number in range(3)]
    message = {
        "content": [{"url": text % ids[0]}, [text % ids[1], text % ids[0]]],
        text % ids[2]: 1,
    }
    assert find_references(message) == set(ids[:2])


@pytest.mark.parametrize(
    "text",
    [
        "0" * 32,
        f"see @blob:{'0' * 32}",
        f"@blob:{'0' * 32} ",
        f"@blob:{'0' * 31}",
        f"@blob:{'A' * 32}",
        f"@@blob:{'0' * 32}",
        "@blob:",
        "blob:https://example.com/" + "0" * 32,
    ],
)
def test_text_that_is_no_reference_is_none(text: str) -> None:
    assert find_references({"content": [text]}) == set()


def test_medium_that_only_its_dialect_declares_is_found_where_it_was_sent() -> None:
    sound = bytes(range(256)) * 8
    sent = {"parts": [{"pcm": b64(sound)}, {"id": "x" * 100}, {"text": "A long text. " * 99}]}
    block = {"type": "audio", "data": b64(sound), "mimeType": "audio/pcm"}
    assert find_media(sent) == []
    (found,) = find_declared_media(sent, [{"role": "user", "content": [block]}])
    assert (found.pointer, found.text) == ("/parts/0/pcm", b64(sound))
    assert found.uri == SplitDataUri("", b64(sound), "audio/pcm", sound, None, is_base64=True)
    uri = {"type": "image_url", "image_url": {"url": f"data:audio/pcm;base64,{b64(sound)}"}}
    assert find_declared_media(sent, [{"role": "user", "content": [uri]}]) == [found]
