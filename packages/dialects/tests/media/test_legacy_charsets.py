"""Texts in legacy charsets are decoded, and binary data are not."""

import os

import pytest

from pagefault_dialects.media.legacy_charsets import (
    LegacyText,
    TextDecoder,
    charset_name,
    decode_any_text,
    decode_legacy_text,
)
from pagefault_dialects.model.conversation import BlockLabel, InlineBytes, Medium, Turn
from pagefault_dialects.rendering import render
from tests.kit import media

GERMAN = "Grüße aus München, die Straße ist geschlossen.\n"
TEXTS = {
    "German": (GERMAN, "cp1252", "windows-1252"),
    "one word": ("Grüße", "cp1252", "windows-1252"),
    "a table": ("name;city\nMüller;Köln\nJosé;Málaga\n", "cp1252", "windows-1252"),
    "French": ("Réunion à l'été: déjà reçu, coûte très cher.\n", "latin-1", "windows-1252"),
    "code": ("def f():\n    # Größe prüfen\n    return 1\n" * 20, "cp1252", "windows-1252"),
    "Polish": ("Zażółć gęślą jaźń. Proszę przesłać.", "cp1250", "windows-1250"),
    "Russian": ("Привет, как дела? Это простой текст на русском языке.", "cp1251", "windows-1251"),
    "KOI8": ("Привет, как дела? Это простой текст на русском.", "koi8-r", "KOI8-R"),
    "Greek": ("Καλημέρα κόσμε, τι κάνεις σήμερα;", "cp1253", "windows-1253"),
    "Shift_JIS": ("こんにちは、世界。これは日本語のテキストです。", "cp932", "Shift_JIS"),
    "EUC-JP": ("こんにちは、世界。これは日本語のテキストです。", "euc_jp", "EUC-JP"),
    "GB18030": ("你好世界。这是一段中文文本。用来测试编码。", "gb18030", "GB18030"),
    "Korean": ("안녕하세요 세계. 이것은 한국어 텍스트입니다. ", "cp949", "EUC-KR"),
}


@pytest.mark.parametrize("times", [1, 2_000])
def test_text_is_decoded_from_its_charset(times: int) -> None:
    different = [
        name
        for name, (text, encoding, charset) in TEXTS.items()
        if decode_any_text((text * times).encode(encoding)) != LegacyText(text * times, charset)
    ]
    assert different == []


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("size", [4, 7, 100_000])
def test_text_that_arrives_in_pieces_is_decoded(name: str, size: int) -> None:
    text, encoding, charset = TEXTS[name]
    whole = "# Plain words come first.\n" * 20_000 + text * 50
    data = whole.encode(encoding)
    # The charset is detected in the bytes that have arrived.
    first = max(size, len(data) - len((text * 50).encode(encoding)) + 4_096)
    decoder = TextDecoder()
    pieces = [data[:first], *(data[at : at + size] for at in range(first, len(data), size))]
    decoded = "".join(map(decoder.decode, pieces)) + decoder.decode(b"", final=True)
    assert (charset_name(decoder.encoding), decoded) == (charset, whole)


@pytest.mark.parametrize("size", [4, 5, 1_000])
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (GERMAN.encode(), GERMAN),
        (GERMAN.encode("utf-8-sig"), GERMAN),
        (GERMAN.encode("utf-16"), GERMAN),
        (GERMAN.encode() * 9 + b"\xff.", GERMAN * 9 + "\ufffd."),
        (GERMAN.encode("utf-8-sig") + b"\xff.", GERMAN + "\ufffd."),
        (b"a\x00\xff\xfeb", "a\x00\ufffd\ufffdb"),
        (b"", ""),
        (b"caf\xe9", "café"),
    ],
)
def test_pieces_of_a_text_decode_to_its_characters(data: bytes, text: str, size: int) -> None:
    decoder = TextDecoder()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert "".join(map(decoder.decode, pieces)) + decoder.decode(b"", final=True) == text


def test_unicode_text_has_no_legacy_charset() -> None:
    assert decode_any_text(GERMAN.encode()) == LegacyText(GERMAN, "")
    assert decode_any_text(GERMAN.encode("utf-16")) == LegacyText(GERMAN, "")


@pytest.mark.parametrize(
    ("declared", "charset"),
    [
        ("iso-8859-1", "windows-1252"),
        ("Windows-1252", "windows-1252"),
        ("ISO-8859-15", "ISO-8859-15"),
        ("cp437", "cp437"),
    ],
)
def test_declared_charset_is_tried_first(declared: str, charset: str) -> None:
    data = "Grüße".encode(declared)
    assert decode_legacy_text(data, declared) == LegacyText("Grüße", charset)


@pytest.mark.parametrize("declared", ["hex", "no-such", "x" * 100, "utf-8", "ascii\0"])
def test_declared_charset_that_does_not_decode_is_ignored(declared: str) -> None:
    assert decode_legacy_text("Grüße".encode("cp1252"), declared) == LegacyText(
        "Grüße", "windows-1252"
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        media.png(),
        media.jpeg(),
        media.wav(),
        b"\x00\x01" * 500,
        b"PK\x03\x04" + b"\xe4" * 20,
        b"a\xff" + b"\x00",
    ],
)
@pytest.mark.parametrize("declared", [None, "windows-1252"])
def test_bytes_that_are_no_text_are_not_decoded(data: bytes, declared: str | None) -> None:
    assert decode_legacy_text(data, declared) is None


def test_random_bytes_are_not_decoded() -> None:
    assert [decode_legacy_text(os.urandom(1_000)) for _ in range(100)] == [None] * 100


def test_ambiguous_text_is_not_decoded() -> None:
    assert decode_legacy_text("שלום עולם".encode("cp1255")) is None


def test_rendering_names_the_charset_of_a_decoded_text() -> None:
    data = GERMAN.encode("cp1252")
    label = BlockLabel(mime_type="text/csv; charset=ISO-8859-1")
    for item in (None, label):
        medium = Medium("/a", InlineBytes(data), "text", "text/csv", "a.csv", 47, label=item)
        rendered = render([Turn("user", (medium,), seq=1)], "anthropic")
        (message,) = rendered.messages
        assert GERMAN.strip() in message["content"][0]["text"]
        assert [(loss.from_, loss.to, loss.code) for loss in rendered.loss] == [
            ("original", "text", "type-not-taken"),
            ("windows-1252", "text", "decoded"),
        ]
