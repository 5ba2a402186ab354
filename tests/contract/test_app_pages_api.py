"""Pages of MCP Apps behind signed links: shown by the content host alone, with their own policy."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.config.settings import Settings
from tests.kit.servers import LiveService, serving

pytestmark = pytest.mark.engines("embedded")

HTML = b"<!doctype html><title>Clock</title>" + b"<p>tick</p>" * 100_000
PUBLIC_URL = "https://media.example.com/below"
CONTENT_URL = "https://files.example.com"
CONTENT = {"Host": "files.example.com"}
POLICY = {
    "connectDomains": ["https://api.example.com", "wss://*.example.com:8443"],
    "resourceDomains": ["https://cdn.example.com"],
    "frameDomains": ["https://video.example.com"],
    "baseUriDomains": ["https://cdn.example.com"],
}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service with a second name, for content."""
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("apps"),
        auth="none",
        log_level="error",
        public_url=PUBLIC_URL,
        content_url=CONTENT_URL,
    )
    with serving(settings) as service:
        yield service


@pytest.fixture(scope="module")
def owner(hosts: LiveService) -> Iterator[httpx.Client]:
    with hosts.client() as client:
        yield client


def store(client: httpx.Client, body: bytes = HTML, kind: str = "text/html") -> str:
    """Store a file; return its path."""
    answer = client.post("/api/resources", content=body, headers={"Content-Type": kind})
    return answer.headers["location"]


def link(client: httpx.Client, path: str, app: object) -> str:
    """Return the path and query of a link to a page."""
    answer = client.post(f"{path}/signed-url", json={"app": app})
    url: str = answer.raise_for_status().json()["url"]
    assert url.startswith(f"{CONTENT_URL}/api/resources/")
    return url.removeprefix(CONTENT_URL)


def policy_of(answer: httpx.Response) -> dict[str, str]:
    """Return the directives of the policy of an answer."""
    directives = answer.headers["content-security-policy"].split("; ")
    return {name: value for name, _, value in (item.partition(" ") for item in directives)}


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "A page of an MCP App has a sandbox, and reaches only origins that its server has declared",
    kept_by="app/http/content_headers.py",
    tried="a page without a policy, and one with each kind of origin",
)
def test_page_is_sent_with_the_policy_of_its_link(owner: httpx.Client) -> None:
    path = store(owner)
    none = owner.get(link(owner, path, {}), headers=CONTENT)
    declared = owner.get(link(owner, path, POLICY), headers=CONTENT)
    assert (none.status_code, none.content, declared.content) == (200, HTML, HTML)
    always = {
        "sandbox": "allow-scripts",
        "default-src": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "https://media.example.com",
    }
    nothing = {
        "script-src": "'unsafe-inline'",
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",
        "media-src": "data: blob:",
        "font-src": "data:",
        "connect-src": "'none'",
        "frame-src": "'none'",
        "base-uri": "'none'",
    }
    assert policy_of(none) == {**always, **nothing}
    cdn = "https://cdn.example.com"
    loaded = {name: f"{nothing[name]} {cdn}" for name in list(nothing)[:5]}
    assert policy_of(declared) == {
        **always,
        **loaded,
        "connect-src": "https://api.example.com wss://*.example.com:8443",
        "frame-src": "https://video.example.com",
        "base-uri": cdn,
    }
    assert {name: none.headers.get(name) for name in HEADERS} == HEADERS


HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-disposition": None,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-length": str(len(HTML)),
}


def test_head_has_the_headers_of_the_page(owner: httpx.Client) -> None:
    answer = owner.head(link(owner, store(owner), {}), headers=CONTENT)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


def test_link_to_a_page_leads_to_the_content_host(owner: httpx.Client) -> None:
    place = link(owner, store(owner), {})
    answer = owner.get(place, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, f"{CONTENT_URL}{place}")


@pytest.mark.parametrize(
    "origin",
    [
        "http://api.example.com",
        "https://127.0.0.1",
        "https://[::1]",
        "https://localhost",
        "https://intranet",
        "https://example.com/path",
        "https://example.com; script-src *",
        "https://*",
        "*",
        "'self'",
        "data:",
        "https://example.com\n",
        "https://EXAMPLE.com",
    ],
)
def test_policy_takes_only_origins_on_the_web(owner: httpx.Client, origin: str) -> None:
    for name in POLICY:
        refused = owner.post(f"{store(owner)}/signed-url", json={"app": {name: [origin]}})
        assert refused.status_code == 422


def test_policy_has_as_many_origins_as_a_link_has_room_for(owner: httpx.Client) -> None:
    path = store(owner)
    largest = {name: [f"https://{'a' * 28}.example{n}.com" for n in range(4)] for name in POLICY}
    assert owner.get(link(owner, path, largest), headers=CONTENT).status_code == 200
    origins = [f"https://{'a' * 60}.{'b' * 60}.example{n}.com" for n in range(8)]
    refused = owner.post(f"{path}/signed-url", json={"app": {"connectDomains": origins}})
    assert refused.status_code == 422
    assert "800 characters" in refused.text


def test_only_html_is_shown_as_an_app(owner: httpx.Client) -> None:
    path = store(owner, b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml")
    refused = owner.post(f"{path}/signed-url", json={"app": {}})
    faults: list[Any] = refused.json()["errors"]
    assert (refused.status_code, faults[0]["pointer"]) == (422, "/app")


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "Without a content host no page of an MCP App is shown, also by a link that was made before",
    kept_by="app/routers/resources.py",
    tried="a new link, and an old one after the setting was removed",
)
def test_no_page_is_shown_without_a_content_host(tmp_path: Path) -> None:
    one = Settings(data_dir=tmp_path, auth="none", log_level="error")
    two = one.model_copy(update={"public_url": PUBLIC_URL, "content_url": CONTENT_URL})
    with serving(two) as service, service.client() as client:
        path = store(client)
        place = link(client, path, {})
    with serving(one) as service, service.client() as client:
        refused = client.post(f"{path}/signed-url", json={"app": {}})
        page = client.get(place)
    assert (refused.status_code, refused.json()["code"]) == (409, "no-content-host")
    assert page.headers["content-disposition"].startswith("attachment")
    assert page.headers["content-security-policy"] == "sandbox; default-src 'none'"
