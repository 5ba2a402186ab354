"""Texts of files: whole up to a length, otherwise both ends, and without base64."""

import json

import pybase64
import pytest

from pagefault_dialects.model.conversation import InlineBytes, Medium, Turn
from pagefault_dialects.rendering import render
from pagefault_dialects.texts.file_texts import (
    HEAD_BYTES,
    TAIL_BYTES,
    FileText,
    read_file_ends,
    read_file_text,
)
from tests.kit import media

LINES = "".join(f"{number:05} Zeile für Zeile\n" for number in range(4_000))
MOST = 32_768
PNG = pybase64.b64encode(media.png()).decode()


def ends(data: bytes, declared: str | None = None) -> FileText | None:
    return read_file_ends(data[:HEAD_BYTES], data[-TAIL_BYTES:], declared, "most")


def test_text_is_whole_up_to_the_length_and_its_ends_beyond() -> None:
    text = "ab" * (MOST // 2)
    assert read_file_text(text.encode(), None, MOST) == FileText(text)
    longer = read_file_text((text + "c").encode(), None, MOST)
    assert longer == FileText(text[:4_000], "", text[-999:] + "c", "27769 characters")
    assert longer.abridge('read_text("@blob:1")') == (
        f'{text[:4_000]}\n[… 27769 characters left out; read_text("@blob:1") shows all of it …]\n'
        f"{text[-999:]}c"
    )


@pytest.mark.parametrize(
    ("charset", "expected_charset"),
    [
        *(("utf-8", ""), ("utf-8-sig", ""), ("utf-16", ""), ("utf-32", "")),
        ("cp1252", "windows-1252"),
    ],
)
def test_ends_of_a_large_file_are_in_its_charset(charset: str, expected_charset: str) -> None:
    # For each length, the end begins at another byte of a character.
    for more in range(5):
        text = LINES + "!" * more
        found = ends(text.encode(charset), "text/plain; charset=windows-1252")
        assert found == FileText(LINES[:4_000], expected_charset, text[-1_000:], "most")


def test_charset_is_detected_in_the_end_of_a_file_if_the_beginning_is_ascii() -> None:
    data = ("plain words\n" * 10_000 + LINES).encode("cp1252")
    assert ends(data) == FileText(
        ("plain words\n" * 400)[:4_000], "windows-1252", LINES[-1_000:], "most"
    )


@pytest.mark.parametrize("data", [bytes(range(256)) * 8_000, media.png() * 2_000])
def test_large_file_that_is_no_text_has_none(data: bytes) -> None:
    assert ends(data) is None


def test_end_that_begins_inside_base64_starts_after_it() -> None:
    data = ("a\n" * 40_000 + PNG[:200] + "A" * 60_000 + '"\nthe end\n').encode()
    assert ends(data) == FileText("a\n" * 2_000, "", '"\nthe end\n', "most")


def test_pictures_of_a_notebook_are_marks_in_its_text() -> None:
    output = {"output_type": "display_data", "data": {"image/png": f"{PNG}\n", "text/plain": "x"}}
    cell = {"cell_type": "code", "source": ["plot(x)"], "outputs": [output]}
    data = json.dumps({"cells": [cell, cell], "nbformat": 4}, indent=1).encode()
    medium = Medium(
        "/content/0", InlineBytes(data), "text", "application/x-ipynb+json", "a.ipynb", len(data)
    )
    rendered = render([Turn("user", (medium,), "/x/3", seq=3)], "anthropic")
    (message,) = rendered.messages
    text = message["content"][0]["text"]
    assert text.endswith(data.decode().replace(PNG, "[base64 of image/png left out]"))
    assert [(item.from_, item.to, item.code) for item in rendered.loss] == [
        ("original", "text", "type-not-taken"),
        ("base64", "placeholder", "base64-left-out"),
    ]


@pytest.mark.parametrize("target", ["anthropic", "openai-chat", "openai-responses"])
def test_long_text_file_names_its_handle_between_its_ends(target: str) -> None:
    data = ("line of text\n" * 4_000).encode()
    medium = Medium("/content/0", InlineBytes(data), "text", "text/plain", "a.txt", len(data))
    rendered = render([Turn("user", (medium,), "/api/sessions/s/messages/3", seq=3)], target)
    messages_text = json.dumps(rendered.messages)
    assert "[File: a.txt (52.0 kB), text below]\\nline of text" in messages_text
    assert '47000 characters left out; read_text(\\\\\\"@entry:3/' in messages_text.replace(
        '\\"', '\\\\\\"'
    )
    assert [(item.from_, item.to, item.code) for item in rendered.loss] == [
        ("original", "text", "type-not-taken"),
        ("text", "preview", "text-too-long"),
    ]


def test_base64_of_files_is_replaced_and_counted() -> None:
    jpeg = pybase64.b64encode(media.jpeg()).decode()
    text = f"a {PNG} b {jpeg}"
    shown = "a [base64 of image/png left out] b [base64 of image/jpeg left out]"
    assert read_file_text(text.encode(), None, len(shown)) == FileText(shown, base64_runs=2)
    assert read_file_text(PNG.encode(), None, MOST) == FileText(
        "[base64 of image/png left out]", base64_runs=1
    )
    both = f"{PNG}\n" + "a\n" * 60_000 + f"\n{jpeg}\n"
    found = ends(both.encode())
    assert found is not None
    assert (found.text[:32], found.tail[-33:], found.base64_runs) == (
        *("[base64 of image/png left out]\na", "\n[base64 of image/jpeg left out]\n", 2),
    )


def test_text_without_a_gap_is_returned_as_it_is() -> None:
    texts = {
        FileText("a", tail="b"): "a",
        FileText("a", "", "b", "9 characters"): "a\n[… 9 characters left out …]\nb",
        FileText("a", "", "", "1 MB"): "a\n[… 1 MB left out; read() shows all of it …]\n",
    }
    calls = ["read()", "", "read()"]
    assert [text.abridge(call) for text, call in zip(texts, calls, strict=True)] == [
        *texts.values()
    ]


@pytest.mark.parametrize("data", [bytes(range(256)) * 8, media.png()])
def test_file_that_is_no_text_has_none(data: bytes) -> None:
    assert read_file_text(data, None, MOST) is None


def test_end_of_a_file_is_decoded_like_its_beginning() -> None:
    ascii_head, wide, umlauts = b"a\n" * (HEAD_BYTES // 2), "é".encode("utf-16"), "ü" * 9
    german, declared = "Größe\n", "text/plain;charset=cp437"
    rows = [
        # A partial character at the beginning is left out, and one at the end is damaged.
        (ascii_head, b"\x9f\x98\x80" + umlauts.encode(), None, "", umlauts),
        (ascii_head, b"\x80" * 4 + umlauts.encode(), None, "", f"\ufffd{umlauts}"),
        (ascii_head, umlauts.encode() + b"\xc3", None, "", f"{umlauts}\ufffd"),
        (ascii_head, b"", None, "", ""),
        (umlauts.encode(), b"\x80b" + umlauts.encode() + b"\xc3", None, "", f"b{umlauts}\ufffd"),
        (wide, b"\0" + "bc".encode("utf-16-le"), None, "", "bc"),
        (wide, "b".encode("utf-16-le") + b"\x3d\xd8", None, "", "b\ufffd"),
        # The declared charset is used if the beginning is ASCII, or is in that charset.
        (ascii_head, german.encode("cp437"), declared, "cp437", german),
        (german.encode("cp437"), german.encode("cp437")[:-1], declared, "cp437", german[:-1]),
        (
            "日本".encode("cp932"),
            b"\x93",
            "a/b;charset=cp932",
            "Shift_JIS",
            "\ufffd",
        ),
    ]
    found = [read_file_ends(head, tail, kind, "most") for head, tail, kind, _, _ in rows]
    assert [item and (item.charset, item.tail) for item in found] == [row[3:] for row in rows]


def test_text_with_few_damaged_characters_is_a_text() -> None:
    damaged = ["é".encode() * 400 + b"a" * (600 - count) + b"\xff" * count for count in (100, 101)]
    texts = [read_file_ends(data, b"the end", None, "most") for data in damaged]
    assert [text is not None for text in texts] == [True, False]
