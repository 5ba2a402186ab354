import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import MalformedRequestError
from app.http.content_headers import (
    Disposition,
    build_safe_headers,
    format_content_disposition,
    format_content_type,
    format_repr_digest,
    may_be_inline,
    parse_repr_digest,
    wants_repr_digest,
)

HEX = hashlib.sha256(b"hello").hexdigest()
FIELD = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"

DISPOSITIONS = {
    "no name": (None, "attachment"),
    "nothing left of the name": ("../", "attachment"),
    "plain": ("demo.mp4", 'attachment; filename="demo.mp4"'),
    "spaces": ("my demo.mp4", 'attachment; filename="my demo.mp4"'),
    "path": ("/a/b/demo.mp4", 'attachment; filename="demo.mp4"'),
    "accent": (
        "caf\u00e9.png",
        "attachment; filename=\"cafe.png\"; filename*=UTF-8''caf%C3%A9.png",
    ),
    "other script": (
        "\u5831\u544a.pdf",
        "attachment; filename=\"__.pdf\"; filename*=UTF-8''%E5%A0%B1%E5%91%8A.pdf",
    ),
    "quotes": ('a"b.txt', "attachment; filename=\"a_b.txt\"; filename*=UTF-8''a%22b.txt"),
    "percent sign": (
        "50%41.txt",
        "attachment; filename=\"50%41.txt\"; filename*=UTF-8''50%2541.txt",
    ),
    "apostrophe and parentheses": (
        "it's (1)\u00e9.txt",
        "attachment; filename=\"it's (1)e.txt\"; filename*=UTF-8''it%27s%20%281%29%C3%A9.txt",
    ),
    "semicolon": ("a;b=c.txt", 'attachment; filename="a;b=c.txt"'),
    "header injection": (
        "a\r\nX-Evil: 1.txt",
        'attachment; filename="aX-Evil: 1.txt"',
    ),
    "slash by decomposition": (
        "1\u20442 \u2100.txt",
        "attachment; filename=\"1_2 a_c.txt\"; filename*=UTF-8''1%E2%81%842%20%E2%84%80.txt",
    ),
    "lone surrogate": ("a\ud800.txt", 'attachment; filename="a.txt"'),
}

INLINE = {
    "image/png": True,
    "image/jpeg": True,
    "image/webp": True,
    "IMAGE/PNG": True,
    "audio/mpeg": True,
    "audio/webm;codecs=opus": True,
    "video/mp4": True,
    "text/plain": True,
    "text/plain; charset=utf-8": True,
    "image/svg+xml": False,
    "audio/anything+xml": False,
    "video/xml": False,
    "text/html": False,
    "text/xml": False,
    "application/xhtml+xml": False,
    "application/pdf": False,
    "application/json": False,
    "application/javascript": False,
    "application/octet-stream": False,
    "image/png\r\nX-Evil: 1": False,
    "image": False,
    "": False,
}

CONTENT_TYPES = {
    "image/png": "image/png",
    "Image/PNG": "image/png",
    "text/plain": "text/plain; charset=utf-8",
    "TEXT/PLAIN": "text/plain; charset=utf-8",
    "text/plain;charset=iso-8859-1": "text/plain;charset=iso-8859-1",
    "text/plain; format=flowed": "text/plain; format=flowed; charset=utf-8",
    "text/html": "text/html",
    'video/webm; codecs="vp9, opus"': 'video/webm; codecs="vp9, opus"',
    "": "application/octet-stream",
    "png": "application/octet-stream",
    "image/": "application/octet-stream",
    "image/png\n": "application/octet-stream",
    "image/png\r\nX-Evil: 1": "application/octet-stream",
    "image/p\x00ng": "application/octet-stream",
    "image/p\u00e9ng": "application/octet-stream",
    "image/png, text/html": "application/octet-stream",
    "image/" + "x" * 300: "application/octet-stream",
}

ANNOUNCED = {
    FIELD: HEX,
    f"  {FIELD} ": HEX,
    FIELD.replace("CQ=:", "CQ:"): HEX,
    f"sha-512=:AAAA:, {FIELD}": HEX,
    f"{FIELD},md5=:AAAA:;q=1": HEX,
    f'unixsum=30637, other="a, b\\"c", flag, {FIELD}': HEX,
    f"sha-256=:AAAA:, {FIELD}": HEX,
    f'a=(1 "x");q=1, b=@1659578233, c=%"f%c3%bc", {FIELD}': HEX,
    f"{FIELD}, long={'a' * 4_000}": HEX,
    "sha-512=:AAAA:": None,
    "": None,
}

MALFORMED = [
    "sha-256",
    "sha-256=1",
    "sha-256=abc",
    "sha-256=::",
    "sha-256=:AAAA:",
    "sha-256=:A:",
    f"sha-256={HEX}",
    f"{FIELD},",
    f",{FIELD}",
    f"{FIELD} {FIELD}",
    f"{FIELD}\r\nX: 1",
    "SHA-256=:AAAA:",
    "sha-512=:AAAA",
    "=:AAAA:",
    "\u00e9",
    f"{FIELD}, md5=:AAAAA:",
    f"{FIELD}, long={'a' * 4_096}",
]

WANTED = {
    None: True,
    "": False,
    "sha-256=10": True,
    "sha-256=1": True,
    "sha-256=0": False,
    "sha-512=3, sha-256=10, unixsum=0": True,
    "sha-512=3": False,
    "sha-256=11": True,
    "sha-256": True,
    "sha-256=0.5": True,
    "sha-256=0.0": True,
    "sha-256=?0": True,
    "sha-256=(0)": True,
    f"sha-256=0, long={'a' * 4_096}": True,
    "!!": True,
}


@pytest.mark.parametrize(("name", "header"), DISPOSITIONS.values(), ids=list(DISPOSITIONS))
def test_a_file_name_is_said_in_ascii_and_exactly(name: str | None, header: str) -> None:
    assert format_content_disposition("attachment", name) == header


def test_disposition_in_place_is_sent() -> None:
    assert format_content_disposition("inline", "a.png") == 'inline; filename="a.png"'


@pytest.mark.promise(
    "security.md#headers-and-the-disk",
    "No file name breaks out of its header",
    kept_by="packages/dialects/src/pagefault_dialects/media/file_names.py",
    tried="any text",
)
@given(st.sampled_from(["inline", "attachment"]), st.text(st.characters()))
def test_no_name_breaks_out_of_its_header(disposition: Disposition, name: str) -> None:
    header = format_content_disposition(disposition, name)
    assert header.isascii()
    assert header.isprintable()
    assert header.count('"') in (0, 2)
    assert "\\" not in header


@pytest.mark.parametrize(("mime_type", "allowed"), INLINE.items())
def test_only_what_cannot_run_is_shown_in_place(mime_type: str, allowed: bool) -> None:
    assert may_be_inline(mime_type) is allowed


@pytest.mark.parametrize(("mime_type", "header"), CONTENT_TYPES.items())
def test_a_mime_type_becomes_a_header_only_if_it_is_one(mime_type: str, header: str) -> None:
    assert format_content_type(mime_type) == header


@pytest.mark.slow
@given(st.text() | st.from_regex(r"[a-z]+/[a-z]+(;[a-z]+=(\"[^\"]*\"|[a-z]+))*"))
def test_no_mime_type_carries_control_characters_into_a_header(mime_type: str) -> None:
    header = format_content_type(mime_type)
    assert header.isascii()
    assert header.replace("\t", " ").isprintable()


def test_a_digest_is_said_in_base64() -> None:
    assert format_repr_digest(HEX) == FIELD


@pytest.mark.parametrize(("header", "digest"), ANNOUNCED.items())
def test_an_announced_digest_is_found_among_others(header: str, digest: str | None) -> None:
    assert parse_repr_digest(header) == digest


@pytest.mark.parametrize("header", MALFORMED)
def test_a_digest_that_cannot_be_read_is_refused(header: str) -> None:
    with pytest.raises(MalformedRequestError) as caught:
        parse_repr_digest(header)
    assert caught.value.problem_code == "malformed-digest"


@given(st.binary(min_size=32, max_size=32))
def test_a_digest_comes_back_from_its_header(digest: bytes) -> None:
    assert parse_repr_digest(format_repr_digest(digest.hex())) == digest.hex()


@pytest.mark.parametrize(("header", "wanted"), WANTED.items())
def test_a_digest_is_sent_unless_others_are_wanted(header: str | None, wanted: bool) -> None:
    assert wants_repr_digest(header) is wanted


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "All content is sent with `nosniff`, a sandbox, a resource policy and no referrer",
    kept_by="app/http/content_headers.py",
    tried="1 set of headers",
)
def test_content_is_kept_from_acting_in_a_browser() -> None:
    assert build_safe_headers("cross-origin") == {
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Referrer-Policy": "no-referrer",
    }
