"""Files that are not media, although they are declared as such."""

import pytest

from pagefault_dialects.media.file_type import (
    contradicts_media_type,
    detect_type,
    detect_with_puremagic,
)
from tests.kit import media

PROGRAMS = {
    "ELF": b"\x7fELF\x02\x01\x01" + bytes(60),
    "PE": b"MZ" + bytes(58) + b"\x80\x00\x00\x00" + bytes(64) + b"PE\x00\x00",
    "Mach-O": b"\xcf\xfa\xed\xfe\x07\x00\x00\x01",
    "WebAssembly": b"\x00asm\x01\x00\x00\x00",
    "a script": b"#!/bin/sh\necho\n",
}
PAGES = {
    "a page": b"<!doctype html><html>",
    "a page of old": b'<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN">',
    "a page behind blanks": b"\xef\xbb\xbf \r\n\t<HTML lang=en>",
    "a script of a page": b"<script>alert(1)</script>",
}


@pytest.mark.parametrize("mime_type", ["image/png", "image/svg+xml", "audio/wav", "video/mp4"])
def test_program_or_web_page_is_not_a_medium(mime_type: str) -> None:
    files = PROGRAMS | PAGES
    assert [
        name for name, data in files.items() if not contradicts_media_type(data, mime_type)
    ] == []


@pytest.mark.parametrize("mime_type", ["text/html", "application/x-executable", "text/plain"])
def test_other_declared_types_are_kept(mime_type: str) -> None:
    files = PROGRAMS | PAGES
    assert [name for name, data in files.items() if contradicts_media_type(data, mime_type)] == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'><title>x</title></svg>",
        b"<?xml version='1.0'?><svg/>",
        b"<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN'>",
        b"<headline>",
        b"MZ is how it begins",
        b"P3 1 1 255 0 0 0",
        b"/* XPM */",
        media.png(),
        media.jpeg(),
    ],
)
def test_possible_image_is_kept_as_an_image(data: bytes) -> None:
    assert not contradicts_media_type(data, "image/x-some-format")


@pytest.mark.parametrize(
    ("head", "mime_type"),
    [
        (b"", None),
        (b"hello world, this is text", None),
        (b"<!DOCTYPE html><html><script>", None),
        (b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>", None),
        (b"%!PS-Adobe-3.0 EPSF-3.0", "application/postscript"),
        (b"SQLite format 3\0" + bytes(84), "application/x-sqlite3"),
        (b"Rar!\x1a\x07\x01\x00" + bytes(50), "application/vnd.rar"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), None),
        (b"BM", None),
        (b"\x00" * 4096, None),
        (media.noise_bytes(4096), None),
    ],
)
def test_only_strong_signatures_override_a_declared_type(
    head: bytes, mime_type: str | None
) -> None:
    assert detect_with_puremagic(head) == mime_type


OCTETS, SQLITE = "application/octet-stream", b"SQLite format 3\0" + bytes(84)
POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0"


@pytest.mark.parametrize(
    ("head", "declared", "filename", "mime_type"),
    [
        (media.png(), "image/jpeg", "a.gif", "image/png"),
        (b"words", "text/csv", "a.png", "text/csv"),
        (b"words", "image/x-unknown", "a.txt", "image/x-unknown"),
        # A program or a page is no medium, whatever is declared.
        (PROGRAMS["ELF"], "image/png", None, OCTETS),
        (PROGRAMS["ELF"], "image/png", "a.png", OCTETS),
        (PAGES["a page"], "image/svg+xml", "a.html", "text/html"),
        (PAGES["a page"], "text/html", "a.png", "text/html"),
        # Without a type, first the bytes decide, then the name.
        (POSTSCRIPT, None, "a.txt", "application/postscript"),
        (POSTSCRIPT, OCTETS, None, "application/postscript"),
        (SQLITE, "application/pdf", None, "application/vnd.sqlite3"),
        (b"words", None, "a.TXT", "text/plain"),
        (b"words", OCTETS, "a.md", "text/markdown"),
        (b"words", "nonsense", "a.unheardof", OCTETS),
        (b"words", None, None, OCTETS),
        (b"words", None, "", OCTETS),
    ],
)
def test_type_is_that_of_the_bytes_else_of_the_declaration_else_of_the_name(
    head: bytes, declared: str | None, filename: str | None, mime_type: str
) -> None:
    assert detect_type(head, declared, filename) == mime_type
