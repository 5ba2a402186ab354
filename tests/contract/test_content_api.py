"""`/api/resources/{uri}/content` over HTTP, on both engines: ranges, conditions, headers."""

import email
from collections.abc import Iterator

import httpx
import pytest

from tests.contract.content_requests import (
    ETAG,
    ROW_IDS,
    ROWS,
    SIZE,
    TEXT,
    Stored,
    check_answer,
    content_headers,
    expected_headers,
    stored_text,
    upload,
)
from tests.kit.media import gif, mp3, mp4, pdf, png, wav, webm
from tests.kit.servers import LiveService


@pytest.fixture(scope="module")
def stored(service: LiveService) -> Iterator[Stored]:
    with service.client() as client:
        yield stored_text(client)


@pytest.mark.parametrize(("asked", "status", "span"), ROWS, ids=ROW_IDS)
def test_get_answers_as_rfc_9110_says(
    stored: Stored, asked: dict[str, str], status: int, span: tuple[int, int] | None
) -> None:
    check_answer(stored, (asked, status, span))


@pytest.mark.parametrize(("asked", "status", "span"), ROWS, ids=ROW_IDS)
def test_head_answers_as_get_without_ranges(
    stored: Stored, asked: dict[str, str], status: int, span: tuple[int, int] | None
) -> None:
    answer = stored.ask("HEAD", asked)
    assert (answer.status_code, answer.content) == (status if status in (304, 412) else 200, b"")
    if answer.status_code == 200:
        assert content_headers(answer) == expected_headers(stored, SIZE)


def test_not_modified_repeats_only_what_a_cache_needs(stored: Stored) -> None:
    answer = stored.ask("GET", {"If-None-Match": ETAG})
    kept = ("etag", "cache-control")
    assert answer.content == b""
    assert content_headers(answer) == {name: expected_headers(stored, 0)[name] for name in kept}


def test_ranges_apart_come_as_parts(stored: Stored) -> None:
    answer = stored.ask("GET", {"Range": "bytes=20-29,0-4,-3"})
    head = f"Content-Type: {answer.headers['content-type']}\r\n\r\n".encode()
    message = email.message_from_bytes(head + answer.content)
    parts = message.get_payload()
    assert isinstance(parts, list)
    assert answer.status_code == 206
    assert answer.headers["content-type"].startswith("multipart/byteranges; boundary=")
    assert "content-range" not in answer.headers
    spans = [(20, 30), (0, 5), (SIZE - 3, SIZE)]
    assert [part["Content-Range"] for part in parts if not isinstance(part, str)] == [
        f"bytes {start}-{end - 1}/{SIZE}" for start, end in spans
    ]
    for start, end in spans:
        assert b"\r\n\r\n" + TEXT[start:end] + b"\r\n--" in answer.content


@pytest.mark.parametrize(
    ("wanted", "is_sent"),
    [("sha-256=5", True), ("sha-256=0", False), ("sha-512=3", False), ("?", True)],
)
def test_digest_is_sent_as_wanted(stored: Stored, wanted: str, is_sent: bool) -> None:
    answer = stored.ask("GET", {"Want-Repr-Digest": wanted})
    assert ("repr-digest" in answer.headers) is is_sent


def test_media_are_never_compressed(stored: Stored) -> None:
    answer = stored.ask("GET", {"Accept-Encoding": "gzip, br, zstd, deflate"})
    assert ("content-encoding" in answer.headers, answer.content) == (False, TEXT)


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "Only raster images, sound, video and plain text are shown inline",
    kept_by="app/http/content_headers.py",
    tried="16 types",
)
@pytest.mark.parametrize(
    ("content", "claimed", "sent_as", "disposition"),
    [
        (png(), "image/png", "image/png", "inline"),
        (gif(), "image/gif", "image/gif", "inline"),
        (mp4(), "video/mp4", "video/mp4", "inline"),
        (webm(), "video/webm", "video/webm", "inline"),
        (wav(), "audio/wav", "audio/wav", "inline"),
        (mp3(), "audio/mpeg", "audio/mpeg", "inline"),
        (b"text", "text/plain", "text/plain; charset=utf-8", "inline"),
        (b"<svg/>", "image/svg+xml", "image/svg+xml", "attachment"),
        (b"<p>hi</p>", "text/html", "text/html", "attachment"),
        (b"<p/>", "application/xhtml+xml", "application/xhtml+xml", "attachment"),
        (b"<a/>", "text/xml", "application/xml", "attachment"),
        (b"<a/>", "video/x+xml", "video/x+xml", "attachment"),
        (b"let a", "text/javascript", "text/javascript", "attachment"),
        (b"{}", "application/json", "application/json", "attachment"),
        (pdf(), "application/pdf", "application/pdf", "attachment"),
        (b"\0\1", "", "application/octet-stream", "attachment"),
    ],
)
def test_only_what_runs_nothing_is_shown_in_place(
    client: httpx.Client, content: bytes, claimed: str, sent_as: str, disposition: str
) -> None:
    answer = client.get(upload(client, content, claimed, None))
    assert answer.content == content
    assert answer.headers["content-type"] == sent_as
    assert answer.headers["content-disposition"] == disposition
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"


@pytest.mark.parametrize(
    ("query", "disposition"),
    [
        ({}, 'inline; filename="a.txt"'),
        ({"download": "1"}, 'attachment; filename="a.txt"'),
        ({"download": "0"}, 'inline; filename="a.txt"'),
        ({"download": "1", "filename": "b.txt"}, 'attachment; filename="b.txt"'),
        ({"filename": "../b.txt"}, 'inline; filename="b.txt"'),
        (
            {"filename": "\u20ac\u00fc.txt"},
            "inline; filename=\"_u.txt\"; filename*=UTF-8''%E2%82%AC%C3%BC.txt",
        ),
        (
            {"filename": 'a"b\r\nX: 1.txt'},
            "inline; filename=\"a_bX: 1.txt\"; filename*=UTF-8''a%22bX%3A%201.txt",
        ),
    ],
)
def test_name_and_disposition_are_the_callers_choice(
    stored: Stored, query: dict[str, str], disposition: str
) -> None:
    answer = stored.client.get(stored.path, params=query)
    assert answer.headers["content-disposition"] == disposition


@pytest.mark.parametrize("query", ["download=maybe", "filename=" + "x" * 1_025, "token="])
def test_bad_query_is_refused(stored: Stored, query: str) -> None:
    assert stored.client.get(f"{stored.path}?{query}").status_code in (403, 422)


@pytest.mark.parametrize(
    "uri",
    [
        *("x", "0" * 31, "0" * 33, "A" * 32, "0" * 32, "\u0660" * 32, "x" * 5_000),
        *("%00", "0" * 32 + "%0A", "%ff%fe", "%F0%9F%98%80", "%2E%2E"),
        *("blob%3A", "blob%3A" + "g" * 32, "blob%3Ablob%3A" + "0" * 32),
        *("..%2F..%2Fetc%2Fpasswd", "file%3A%2F%2F%2Fetc%2Fpasswd"),
    ],
)
def test_uri_of_nothing_is_not_found(client: httpx.Client, uri: str) -> None:
    for path in (f"/api/resources/{uri}", f"/api/resources/{uri}/content"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"
