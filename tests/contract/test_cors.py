"""Calls from pages of other origins: refused by default, allowed by exact origin."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.main import EXPOSED_HEADERS
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
