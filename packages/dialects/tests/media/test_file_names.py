import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pagefault_dialects.media.file_names import (
    MAX_NAME_BYTES,
    disposition_filename,
    download_name,
    extension_for,
    safe_file_name,
)

HOSTILE_NAMES = {
    "no name": (None, None),
    "empty": ("", None),
    "only spaces": ("   ", None),
    "only dots": ("...", None),
    "only controls": ("\x00\x1b\x7f\x9f", None),
    "harmless": ("demo.mp4", "demo.mp4"),
    "spaces inside": ("my holiday video.mp4", "my holiday video.mp4"),
    "path upwards": ("../../etc/passwd", "passwd"),
    "path upwards with backslashes": ("..\\..\\boot.ini", "boot.ini"),
    "absolute path": ("/etc/shadow", "shadow"),
    "drive path": ("C:\\Users\\me\\x.png", "x.png"),
    "network path": ("\\\\host\\share\\x.png", "x.png"),
    "mixed slashes": ("a/b\\c/d.txt", "d.txt"),
    "directory": ("photos/", None),
    "parent directory": ("a/..", None),
    "hidden file": (".htaccess", "htaccess"),
    "many leading dots": ("...x.txt", "x.txt"),
    "trailing dots and spaces": ("run.exe. . ", "run.exe"),
    "line break and header": ("a\r\nSet-Cookie: b=c.txt", "aSet-Cookie: b=c.txt"),
    "nul byte": ("x.php\x00.png", "x.php.png"),
    "right-to-left override": ("photo\u202egnp.exe", "photognp.exe"),
    "bidi isolates": ("\u2066a\u2069.txt", "a.txt"),
    "zero-width characters": ("a\u200b\u200d\ufeff.txt", "a.txt"),
    "line separator": ("a\u2028b.txt", "ab.txt"),
    "no-break space": ("a\u00a0b.txt", "a b.txt"),
    "lone surrogates": ("a\ud800b\udfff.txt", "ab.txt"),
    "tag characters": ("a\U000e0041.txt", "a.txt"),
    "decomposed": ("cafe\u0301.png", "caf\u00e9.png"),
    "device": ("NUL", "_NUL"),
    "device with extension": ("con.txt", "_con.txt"),
    "device with two extensions": ("Com1.tar.gz", "_Com1.tar.gz"),
    "device with superscript": ("LPT\u00b9.txt", "_LPT\u00b9.txt"),
    "device with space": ("aux .txt", "_aux .txt"),
    "device behind dots": ("..nul", "_nul"),
    "device as a beginning": ("console.txt", "console.txt"),
    "quotes": ('a"b.txt', 'a"b.txt'),
    "escaped slash": ("..%2f..%2fx.txt", "%2f..%2fx.txt"),
    "other scripts": ("\u5831\u544a\u66f8.pdf", "\u5831\u544a\u66f8.pdf"),
    "too long": ("a" * 300 + ".mp4", "a" * 251 + ".mp4"),
    "too long in four-byte characters": ("\U0001f600" * 80 + ".png", "\U0001f600" * 62 + ".png"),
    "too long without extension": ("\u00e9" * 200, "\u00e9" * 127),
    "too long an extension": ("a." + "b" * 300, "a." + "b" * 253),
    "cut in front of dots": ("a" * 240 + "." * 20 + "mp4", "a" * 240 + ".mp4"),
}


@pytest.mark.promise(
    "security.md#headers-and-the-disk",
    "A stored file name is a base name of at most 255 printable bytes",
    kept_by="packages/dialects/src/pagefault_dialects/media/file_names.py",
    tried="43 names",
)
def test_hostile_name_becomes_a_safe_one() -> None:
    different = {
        case: safe_file_name(name)
        for case, (name, expected) in HOSTILE_NAMES.items()
        if safe_file_name(name) != expected
    }
    assert different == {}


@given(st.text(st.characters()))
@example("a" * 252 + ".\U0001f600")
@example("\u0f73" * 200 + ".txt")
def test_every_file_name_becomes_short_and_printable_without_a_path(name: str) -> None:
    safe = safe_file_name(name)
    if safe is None:
        return
    assert len(safe.encode()) <= MAX_NAME_BYTES
    assert safe.isprintable()
    assert not set(safe) & {"/", "\\"}
    assert safe == safe.lstrip(".").strip(" ").rstrip(".")
    assert safe == unicodedata.normalize("NFC", safe)


@given(st.text(st.characters()) | st.text(alphabet=". nulNUL\u0301/\\\u00e9", max_size=300))
def test_safe_name_is_left_as_it_is(name: str) -> None:
    safe = safe_file_name(name)
    assert safe_file_name(safe) == safe


@given(st.text(alphabet="ab\u00e9\U0001f600", min_size=1, max_size=400))
def test_extension_survives(stem: str) -> None:
    safe = safe_file_name(f"{stem}.mp4")
    assert safe is not None
    assert safe.endswith(".mp4")


def test_long_run_of_combining_marks_costs_no_more_than_its_length() -> None:
    # Without a limit, normalizing this name would take minutes.
    name = safe_file_name("a" + "\u0301\u0323" * 500_000 + ".png")
    assert name is not None
    assert (name[-4:], len(name.encode()) <= 255) == (".png", True)


@pytest.mark.parametrize(
    ("mime_type", "extension"),
    [
        ("text/x-go", ".go"),
        ("text/rust; charset=utf-8", ".rs"),
        ("application/x-typescript", ".ts"),
        ("text/x-c++src", ".cpp"),
        ("text/x-klingon", None),
    ],
)
def test_extension_of_code_is_that_of_its_language(mime_type: str, extension: str | None) -> None:
    assert extension_for(mime_type) == extension


@pytest.mark.parametrize(
    ("mime_type", "extension"),
    [
        *((None, None), ("", None), ("no type", None), ("application/octet-stream", None)),
        *(("image/png", ".png"), ("IMAGE/PNG; a=b", ".png"), ("application/xml", ".xml")),
        *(("audio/wav", ".wav"), ("text/markdown", ".md"), ("application/gzip", ".gz")),
        *(("image/jpeg", ".jpg"), ("application/x-unheard-of", None), ("image/webp", ".webp")),
    ],
)
def test_extension_is_the_usual_one_of_a_type(mime_type: str | None, extension: str | None) -> None:
    assert extension_for(mime_type) == extension


@pytest.mark.parametrize(
    ("page_id", "types", "name"),
    [
        ("p-1", ["image/png"], "p-1.png"),
        ("a:b:c", ["image/png"], "a_b_c.png"),
        ("p", [None, "application/x-unheard-of", "audio/wav", "image/png"], "p.wav"),
        ("p", [], "p.bin"),
        ("nul", ["image/png"], "_nul.png"),
        ("..", ["image/png"], "png"),
        ("/", [], "bin"),
    ],
)
def test_page_is_downloaded_under_its_id(page_id: str, types: list[str | None], name: str) -> None:
    assert download_name(page_id, *types) == name


def test_page_without_a_known_type_has_the_extension_of_the_caller() -> None:
    assert download_name("p", None, otherwise=".txt") == "p.txt"
    assert download_name("\x00", otherwise="") == "page"


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('attachment; filename="a.png"', "a.png"),
        ("attachment; filename=a.png", "a.png"),
        ('inline; FileName="a b.png"; size=7', "a b.png"),
        ('attachment; filename="a.png"; filename="b.png"', "a.png"),
        ("attachment; filename*=UTF-8''%e2%82%ac.png", "€.png"),
        ("attachment; filename=\"a.png\"; filename*=UTF-8''%e2%82%ac.png", "€.png"),
        ("attachment; filename*=UTF-8''%e2%82%ac.png; filename=\"a.png\"", "€.png"),
        ('attachment; filename="é.png"'.encode().decode("latin-1"), "é.png"),
        ('attachment; filename="€.png"', "€.png"),
        ('form-data; name="f"; filename=""', ""),
        ('form-data; name="f"', None),
        ("attachment", None),
        ("", None),
        ('attachment;\r\n filename="a.png"', "a.png"),
        ('attachment; filename="a\nb.png"', "a b.png"),
        (f'attachment; x="{"y" * 5_000}"; filename="a.png"', None),
    ],
)
def test_name_in_a_content_disposition(header: str, name: str | None) -> None:
    assert disposition_filename(header) == name
