"""MIME types: from bytes, from names, from claims."""

from collections.abc import Callable

import pytest

from pagefault_dialects.media.types import (
    STRONG_SIGNATURE_STARTS,
    canonical_mime_type,
    detect_mime_type,
    is_media_range,
    is_strong_signature,
    is_textual,
    mime_type_for_filename,
    sniff,
)
from tests.kit import media

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
MP4 = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"
WEBM = b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm"
OGG = b"OggS\x00\x02" + bytes(20) + b"\x01\x13"
ZIP = b"PK\x03\x04\x14\x00\x06\x00\x08\x00"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
GZIP = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
MP3_FRAME = b"\xff\xfb\x90\x64\x00\x00\x00\x00"
BMP = b"BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

STRONG = [
    (PNG, "image/png"),
    (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
    (b"\xff\xd8\xff\xdb\x00\x43\x00", "image/jpeg"),
    (b"GIF87a\x01\x00", "image/gif"),
    (b"GIF89a\x01\x00", "image/gif"),
    (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"),
    (b"II*\x00\x08\x00\x00\x00", "image/tiff"),
    (b"MM\x00*\x00\x00\x00\x08", "image/tiff"),
    (b"\x00\x00\x00\x1cftypavif\x00\x00", "image/avif"),
    (b"\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avif", "image/avif"),
    (b"\x00\x00\x00\x18ftypheic\x00\x00", "image/heic"),
    (b"\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1heic", "image/heif"),
    (b"%PDF-1.7\n", "application/pdf"),
    (b"RIFF\x24\x00\x00\x00WAVEfmt ", "audio/wav"),
    (b"ID3\x04\x00\x00\x00\x00\x00\x00", "audio/mpeg"),
    (b"fLaC\x00\x00\x00\x22", "audio/flac"),
    (OGG + b"OpusHead", "audio/ogg"),
    (OGG + b"\x01vorbis", "audio/ogg"),
    (OGG + b"\x80theora", "video/ogg"),
    (b"\x00\x00\x00\x1cftypM4A \x00\x00", "audio/mp4"),
    (MP4, "video/mp4"),
    (b"\x00\x00\x00\x14ftypqt  \x00\x00", "video/quicktime"),
    (b"\x00\x00\x00\x14ftyp3gp4\x00\x00", "video/3gpp"),
    (WEBM, "video/webm"),
    (b"\x1a\x45\xdf\xa3\xa3\x42\x82\x88matroska", "video/x-matroska"),
    (b"RIFF\x24\x00\x00\x00AVI LIST", "video/x-msvideo"),
    (b"\x00\x00\x01\xba\x44\x00", "video/mpeg"),
    (b"MThd\x00\x00\x00\x06\x00\x01", "audio/midi"),
    (ZIP, "application/zip"),
    (GZIP, "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c\x00\x04", "application/x-7z-compressed"),
    (b"BZh91AY&SY\x00", "application/x-bzip2"),
    (b"\xfd7zXZ\x00\x00\x04", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd\x04\x00", "application/zstd"),
    (b"SQLite format 3\x00\x10\x00", "application/vnd.sqlite3"),
    (b"wOF2\x00\x01\x00\x00", "font/woff2"),
    (OLE, "application/x-ole-storage"),
]
WEAK = [
    (BMP, "image/bmp"),
    (b"\x00\x00\x01\x00\x01\x00\x10\x10\x00\x00\x01\x00", "image/x-icon"),
    (MP3_FRAME, "audio/mpeg"),
    (b"\xff\xf1\x50\x80\x00\x1f\xfc", "audio/aac"),
]
UNKNOWN = [
    *(b"", b"\x89PN", b"hello world", b"BM is short for Bob Marley", b"MZ\x90\x00\x03\x00"),
    *(b"<!doctype html><html>", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<?xml?><a/>"),
    *(b"\xff\xfe<\x00h\x00t\x00", b"ID3 tags are old", b"\xff\xfb\x0c\x64", b"\x1f\x8b\x09\xff"),
]


def test_first_bytes_determine_the_type() -> None:
    types = [*STRONG, *WEAK]
    assert [(head, sniff(head)) for head, _ in types] == types


def test_other_bytes_and_markup_have_no_type() -> None:
    assert [head for head in UNKNOWN if sniff(head) or is_strong_signature(head)] == []


def test_long_signatures_are_strong() -> None:
    heads = [head for head, _ in STRONG]
    assert [head for head in heads if not is_strong_signature(head)] == []
    assert {head[:2] for head in heads} <= STRONG_SIGNATURE_STARTS


def test_short_signatures_are_weak() -> None:
    assert [head for head, _ in WEAK if is_strong_signature(head)] == []


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("image/png", "image/png"),
        ("IMAGE/PNG", "image/png"),
        (" image/jpg ; q=1", "image/jpeg"),
        ("audio/x-wav", "audio/wav"),
        ("audio/vnd.wave;codec=1", "audio/wav"),
        ("audio/mp3", "audio/mpeg"),
        ("audio/x-m4a", "audio/mp4"),
        ("image/x-png", "image/png"),
        ("application/x-pdf", "application/pdf"),
        ("application/csv", "text/csv"),
        ("text/comma-separated-values", "text/csv"),
        ("text/plain; charset=utf-8", "text/plain"),
        ("application/vnd.api+json", "application/vnd.api+json"),
        ("image/*", None),
        ("png", None),
        ("", None),
        ("a/b/c", None),
        ("image/png\nX: y", None),
        ("text/pl\u00e4in", None),
        ("x" * 200 + "/y", None),
    ],
)
def test_type_has_one_spelling(text: str, canonical: str | None) -> None:
    assert canonical_mime_type(text) == canonical


@pytest.mark.parametrize(
    ("head", "declared", "expected"),
    [
        (PNG, None, "image/png"),
        (PNG, "image/png", "image/png"),
        (PNG, "image/jpeg", "image/png"),
        (PNG, "text/html", "image/png"),
        (PNG, "nonsense", "image/png"),
        (PNG, "application/octet-stream", "image/png"),
        (MP4, "audio/mp4", "audio/mp4"),
        (MP4, "audio/x-m4a", "audio/mp4"),
        (MP4, "video/quicktime", "video/mp4"),
        (WEBM, "audio/webm; codecs=opus", "audio/webm"),
        (OGG + b"OpusHead", "video/ogg", "video/ogg"),
        (OGG + b"OpusHead", "audio/mpeg", "audio/ogg"),
        (ZIP, DOCX, DOCX),
        (ZIP, "application/epub+zip", "application/epub+zip"),
        (ZIP, "application/java-archive", "application/java-archive"),
        (ZIP, "application/pdf", "application/zip"),
        (OLE, "application/msword", "application/msword"),
        (GZIP, "application/x-gtar", "application/x-gtar"),
        (b"\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1heic", "image/heic", "image/heic"),
        (b"<svg/>", "image/svg+xml", "image/svg+xml"),
        (b"<svg/>", None, "application/octet-stream"),
        (b"<html>", "image/png", "image/png"),
        (b"plain", "text/html", "text/html"),
        (b"GIF89a is the second version of the format", "text/plain", "text/plain"),
        (MP3_FRAME, "audio/wav", "audio/mpeg"),
        (MP3_FRAME, "application/x-custom", "application/x-custom"),
        (BMP, None, "image/bmp"),
        (b"", None, "application/octet-stream"),
    ],
)
def test_bytes_decide_unless_the_declared_type_is_more_specific(
    head: bytes, declared: str | None, expected: str
) -> None:
    assert detect_mime_type(head, declared) == expected


@pytest.mark.parametrize(
    ("name", "mime_type"),
    [
        ("a.png", "image/png"),
        ("A.JPG", "image/jpeg"),
        ("take 7.mp4", "video/mp4"),
        ("x.docx", DOCX),
        ("x.tar.gz", "application/gzip"),
        (".wav", "audio/wav"),
        ("notes.md", "text/markdown"),
        ("data.csv", "text/csv"),
        ("script.js", "text/javascript"),
        ("README", None),
        ("a.", None),
        ("a.unheardof", None),
        ("", None),
    ],
)
def test_file_name_has_a_type(name: str, mime_type: str | None) -> None:
    assert mime_type_for_filename(name) == mime_type


@pytest.mark.parametrize(
    ("mime_type", "textual"),
    [
        ("text/plain", True),
        ("text/html; charset=utf-8", True),
        ("application/json", True),
        ("application/ld+json", True),
        ("application/xml", True),
        ("application/atom+xml", True),
        ("application/x-yaml", True),
        ("application/javascript", True),
        ("application/x-ndjson", True),
        ("image/svg+xml", False),
        ("image/png", False),
        ("application/pdf", False),
        ("application/octet-stream", False),
        (DOCX, False),
        ("nonsense", False),
    ],
)
def test_texts_are_distinguished_from_files(mime_type: str, textual: bool) -> None:
    assert is_textual(mime_type) is textual


@pytest.mark.parametrize(
    ("make", "mime_type"),
    [
        (media.png, "image/png"),
        (media.jpeg, "image/jpeg"),
        (media.gif, "image/gif"),
        (media.webp, "image/webp"),
        (media.wav, "audio/wav"),
        (media.mp3, "audio/mpeg"),
        (media.ogg, "audio/ogg"),
        (media.flac, "audio/flac"),
        (media.mp4, "video/mp4"),
        (media.webm, "video/webm"),
        (media.pdf, "application/pdf"),
    ],
)
def test_files_of_real_encoders_are_recognised(make: Callable[[], bytes], mime_type: str) -> None:
    assert detect_mime_type(make()[:512], None) == mime_type


def test_sound_without_pictures_in_mp4_is_audio() -> None:
    assert detect_mime_type(media.m4a()[:512], "audio/mp4") == "audio/mp4"


def test_media_ranges_are_types_families_and_everything() -> None:
    accepted = ["image/png", "image/*", "*/*", "application/vnd.api+json"]
    refused = [
        "*",
        "*/png",
        "image",
        "image/",
        "/*",
        "Image/*",
        "image/png;q=1",
        "i m/*",
        "",
        "a/b/*",
    ]
    assert [text for text in [*accepted, *refused] if is_media_range(text)] == accepted
