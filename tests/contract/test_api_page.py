"""`/docs/plain`: everything the API has, on a page that needs nobody else."""

import re
from html.parser import HTMLParser

import httpx
import pytest
from starlette.routing import Route

from tests.kit.described_api import application

pytestmark = pytest.mark.engines("embedded")

ADDRESSES = sorted(
    {
        re.sub("{.*?}", "x", route.path)
        for route in application().routes
        if isinstance(route, Route) and "GET" in (route.methods or ())
    }
)
"""Whatever can be read, the API among it, which answers browsers with a page where is nothing."""


class Page(HTMLParser):
    """Return the links, the names and the resources of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: set[str] = set()
        self.ids: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name == "href" and tag == "a":
                self.links.add(value or "")
            elif name in ("src", "href", "action", "style") or name.startswith("on"):
                self.loaded.append(f"{tag} {name}={value}")


@pytest.mark.slow
def test_page_has_every_operation_and_schema_and_its_links_lead_somewhere(
    client: httpx.Client,
) -> None:
    document = client.get("/openapi.json").json()
    answer = client.get("/docs/plain")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = Page(answer.text)
    operations = [
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
    ]
    assert sorted(page.ids) == sorted([*operations, *document["components"]["schemas"]])
    inner = {link.removeprefix("#") for link in page.links if link.startswith("#")}
    assert inner <= set(page.ids)
    outer = {link for link in page.links if not link.startswith("#")}
    assert {link: client.get(link).status_code for link in outer} == {
        "/openapi.json": 200,
        "/docs/errors": 200,
    }


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "The plain documentation of the API runs no script and loads nothing",
    kept_by="app/http/docs_page.py",
    tried="0 requests to other hosts",
)
def test_page_loads_nothing_and_runs_nothing(client: httpx.Client) -> None:
    answer = client.get("/docs/plain")
    page = Page(answer.text)
    assert (page.loaded, page.tags & {"script", "link", "iframe", "img"}) == ([], set())
    policy = answer.headers["content-security-policy"]
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; base-uri 'none'; "
        r"form-action 'none'; frame-ancestors 'none'",
        policy,
    )
    assert client.get("/redoc").status_code == 404


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "Every page of the service has a policy that lets it load and run nothing of others",
    kept_by="app/http/docs_page.py",
    tried="every address that can be read, with and without anything there",
)
def test_every_page_has_a_policy(client: httpx.Client) -> None:
    answers = [
        client.get(address, headers={"Accept": "text/html"})
        for address in (*ADDRESSES, "/nothing")
        if not address.endswith("/events")
    ]
    policies = {
        answer.request.url.path: answer.headers.get("content-security-policy", "none")
        for answer in answers
        if re.match("text/(html|markdown)", answer.headers.get("content-type", ""))
    }
    assert {"/", "/docs", "/docs/errors", "/docs/plain", "/nothing"} <= policies.keys()
    assert {policy.partition(";")[0] for policy in policies.values()} == {"default-src 'none'"}
