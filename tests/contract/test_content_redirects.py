"""Content that the S3 store gives out itself, by a redirect, on a real S3-compatible server."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from app.config.settings import ContentSettings
from tests.contract.content_requests import (
    ETAG,
    OTHER,
    PAST,
    SIZE,
    TEXT,
    Stored,
    content_headers,
    expected_headers,
    stored_text,
    upload,
)
from tests.kit.media import tone
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.servers import Backends, LiveService, serving

LEAST_BYTES = 1_000
SECONDS = 120


@pytest.fixture(scope="module")
def redirecting(
    backends: Backends, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveService]:
    base = backends.settings("server", tmp_path_factory.mktemp("redirecting") / "data")
    content = ContentSettings(redirect_bytes=LEAST_BYTES, redirect_seconds=SECONDS)
    with serving(base.model_copy(update={"content": content})) as service:
        yield service


@pytest.fixture(scope="module")
def stored(redirecting: LiveService) -> Iterator[Stored]:
    with redirecting.client() as client:
        yield stored_text(client)


def followed(answer: httpx.Response, **headers: str) -> httpx.Response:
    """Return the store's answer to a redirected request, which has no key."""
    assert answer.status_code == 307
    return httpx.get(
        answer.headers["location"], headers=headers, trust_env=False, verify=TRUSTS_NOBODY
    )


def pinned(answer: httpx.Response) -> dict[str, str]:
    """Return the expected headers of the store, which follow from the URL."""
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    return {
        name.removeprefix("response-"): value
        for name, (value,) in query.items()
        if name.startswith("response-")
    }


def test_large_content_is_where_the_redirect_leads(stored: Stored) -> None:
    answer = stored.ask("GET", {})
    found = followed(answer)
    assert (found.status_code, found.content) == (200, TEXT)
    assert found.headers["content-type"] == "text/plain; charset=utf-8"
    assert found.headers["content-disposition"] == 'inline; filename="a.txt"'


def test_samples_are_sent_as_wav_by_the_service_itself(redirecting: LiveService) -> None:
    samples = tone()
    with redirecting.client() as client:
        path = upload(client, samples, "audio/pcm;rate=24000", "a.pcm")
        assert client.get(path).status_code == 307
        answer = client.get(path, params={"as": "wav"})
    assert (answer.status_code, answer.content[44:]) == (200, samples)


def test_the_redirect_is_not_kept_and_not_passed_on(stored: Stored) -> None:
    answer = stored.ask("GET", {})
    headers = content_headers(answer)
    location = headers.pop("location")
    assert answer.content == b""
    assert headers == {
        "content-length": "0",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox; default-src 'none'",
        "cross-origin-resource-policy": "same-origin",
    }
    assert parse_qs(urlsplit(location).query)["X-Amz-Expires"] == [str(SECONDS)]
    assert "test-secret" not in location


def test_a_range_is_taken_to_the_store(stored: Stored) -> None:
    asked = {"Range": "bytes=10-19"}
    found = followed(stored.ask("GET", asked), **asked)
    assert (found.status_code, found.content) == (206, TEXT[10:20])


@pytest.mark.parametrize(
    ("content", "mime_type", "content_type", "disposition"),
    [
        (b"<script>alert(1)</script>", "text/html", "text/html", "attachment"),
        (b"<svg onload='alert(1)'/>", "image/svg+xml", "image/svg+xml", "attachment"),
        (b"plain", "text/plain", "text/plain; charset=utf-8", "inline"),
    ],
)
def test_what_might_run_is_an_attachment_there_too(
    redirecting: LiveService, content: bytes, mime_type: str, content_type: str, disposition: str
) -> None:
    with redirecting.client() as client:
        path = upload(client, content.ljust(LEAST_BYTES), mime_type, "\u20ac.x")
        answer = client.get(path)
    found = followed(answer)
    name = "filename=\"_.x\"; filename*=UTF-8''%E2%82%AC.x"
    said = {"content-type": content_type, "content-disposition": f"{disposition}; {name}"}
    assert pinned(answer) == said
    assert {header: found.headers[header] for header in said} == said


def test_a_signed_link_redirects_as_it_was_signed(stored: Stored) -> None:
    body = {"disposition": "attachment", "filename": "b.txt"}
    made = stored.client.post(stored.path.replace("/content", "/signed-url"), json=body)
    answer = httpx.get(made.json()["url"], trust_env=False, verify=TRUSTS_NOBODY)
    assert pinned(answer)["content-disposition"] == 'attachment; filename="b.txt"'
    assert followed(answer).content == TEXT


def test_small_content_is_sent_at_once(redirecting: LiveService) -> None:
    with redirecting.client() as client:
        answer = client.get(upload(client, TEXT[: LEAST_BYTES - 1], "text/plain", None))
    assert (answer.status_code, answer.content) == (200, TEXT[: LEAST_BYTES - 1])


@pytest.mark.parametrize(
    ("asked", "status", "span"),
    [
        ({"If-None-Match": ETAG}, 304, None),
        ({"If-Match": OTHER}, 412, None),
        ({"Range": f"bytes={SIZE}-"}, 416, None),
        ({"If-Match": ETAG}, 200, (0, SIZE)),
        ({"If-Modified-Since": PAST}, 200, (0, SIZE)),
        ({"Range": "items=0-1"}, 200, (0, SIZE)),
        ({"Range": "bytes=0-4,3-9"}, 206, (0, 10)),
        ({"Range": "bytes=0-1", "If-Range": ETAG}, 206, (0, 2)),
    ],
    ids=str,
)
def test_what_the_store_would_take_otherwise_is_answered_here(
    stored: Stored, asked: dict[str, str], status: int, span: tuple[int, int] | None
) -> None:
    answer = stored.ask("GET", asked)
    assert answer.status_code == status
    if span is not None:
        assert answer.content == TEXT[slice(*span)]


@pytest.mark.parametrize(
    "asked", [{"If-None-Match": OTHER}, {"Range": "bytes=0-1", "If-Range": OTHER}], ids=str
)
def test_a_tag_that_may_be_the_stores_goes_with_the_redirect(
    stored: Stored, asked: dict[str, str]
) -> None:
    assert stored.ask("GET", asked).status_code == 307


def test_head_is_answered_here(stored: Stored) -> None:
    answer = stored.ask("HEAD", {})
    assert (answer.status_code, content_headers(answer)) == (200, expected_headers(stored, SIZE))


def test_nobody_is_sent_to_what_is_not_theirs(redirecting: LiveService, stored: Stored) -> None:
    stranger = stored.client.get(stored.path, headers={"Authorization": "Bearer none"})
    with redirecting.client() as other:
        foreign = other.get(stored.path)
        absent = other.get(f"/api/resources/{'0' * 32}/content")
    assert [answer.status_code for answer in (stranger, foreign, absent)] == [401, 404, 404]
    assert "location" not in {*stranger.headers, *foreign.headers}


def test_without_the_setting_everything_is_sent_here(client: httpx.Client) -> None:
    answer = client.get(upload(client, TEXT * 100, "text/plain", None))
    assert (answer.status_code, answer.content) == (200, TEXT * 100)
