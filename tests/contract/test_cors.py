"""Calls from pages of other origins: refused by default, allowed by exact origin."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.main import EXPOSED_HEADERS
from tests.contract.content_requests import ETAG, OTHER, SIZE, Stored, stored_text
from tests.kit.servers import Backends, serving

pytestmark = pytest.mark.engines("embedded")

ORIGIN = "https://app.example.com"
ROUTE = "/api/tool-results"


@pytest.fixture(scope="module")
def open_to_one(
    backends: Backends, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """A client of a service that pages of one origin may call."""
    settings = backends.settings("embedded", tmp_path_factory.mktemp("cors") / Path("data"))
    with (
        serving(settings.model_copy(update={"cors_origins": (ORIGIN,)})) as service,
        service.client() as client,
    ):
        yield client


def preflight(client: httpx.Client, origin: str) -> httpx.Response:
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    headers = {**asked, "Access-Control-Request-Headers": "authorization,content-type"}
    return client.options(ROUTE, headers=headers)


def test_allowed_origin_may_post_and_read_the_headers_it_needs(open_to_one: httpx.Client) -> None:
    answer = preflight(open_to_one, ORIGIN)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    read = open_to_one.get(ROUTE, headers={"Origin": ORIGIN})
    exposed = read.headers["access-control-expose-headers"].split(", ")
    assert sorted(exposed) == sorted(EXPOSED_HEADERS)


@pytest.fixture(scope="module")
def stored(open_to_one: httpx.Client) -> Stored:
    return stored_text(open_to_one)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({}, 200),
        ({"Range": "bytes=0-9"}, 206),
        ({"Range": "bytes=0-1,5-9"}, 206),
        ({"If-None-Match": ETAG}, 304),
        ({"Range": f"bytes={SIZE}-"}, 416),
        ({"If-Match": OTHER}, 412),
    ],
    ids=str,
)
def test_content_is_read_by_an_allowed_origin_and_kept_apart_by_origin(
    stored: Stored, method: str, asked: dict[str, str], status: int
) -> None:
    answers = [
        stored.ask(method, {**asked, **origin})
        for origin in ({"Origin": ORIGIN}, {"Origin": "https://evil.example"}, {})
    ]
    # HEAD takes no notice of Range.
    expected = 200 if method == "HEAD" and "Range" in asked else status
    assert [answer.status_code for answer in answers] == [expected] * 3
    allowed = [answer.headers.get("access-control-allow-origin") for answer in answers]
    assert allowed == [ORIGIN, None, None]
    assert [answer.headers["vary"] for answer in answers] == ["Origin"] * 3
    if expected in (200, 206):
        policies = {answer.headers["cross-origin-resource-policy"] for answer in answers}
        assert policies == {"same-origin"}


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    "An origin that is not listed may not call",
    kept_by="app/main.py",
    tried="6 origins",
)
@pytest.mark.parametrize(
    "origin",
    [
        "https://app.example.com.evil.example",
        "https://evil.example",
        "http://app.example.com",
        "https://app.example.com:8443",
        "https://APP.example.com",
        "null",
    ],
)
def test_any_other_origin_is_not_allowed(open_to_one: httpx.Client, origin: str) -> None:
    answers = [preflight(open_to_one, origin), open_to_one.get(ROUTE, headers={"Origin": origin})]
    assert ["access-control-allow-origin" in answer.headers for answer in answers] == [False] * 2


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    "By default no other origin may call",
    kept_by="app/main.py",
    tried="0 origins",
)
def test_no_origin_is_allowed_by_default(client: httpx.Client) -> None:
    answers = [preflight(client, ORIGIN), client.get(ROUTE, headers={"Origin": ORIGIN})]
    assert ["access-control-allow-origin" in answer.headers for answer in answers] == [False] * 2
