"""An unknown address is a page in a browser, and a problem document for a program."""

import httpx
import pytest

pytestmark = pytest.mark.engines("embedded")

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
SAFE = {
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "vary": "Accept",
}


@pytest.mark.parametrize("path", ["/nothing", "/api/nothing", "/pages/a/<b>x", "/api/sessions/"])
def test_unknown_address_is_a_page_in_a_browser(client: httpx.Client, path: str) -> None:
    page = client.get(path, headers=BROWSER)
    assert page.status_code == 404
    assert {name: page.headers.get(name) for name in SAFE} == SAFE
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha")
    assert 'href="/"' in page.text
    assert 'href="/docs"' in page.text
    assert "<script" not in page.text
    assert "<b>x" not in page.text
    head = client.head(path, headers=BROWSER)
    assert (head.status_code, head.content) == (404, b"")
    assert head.headers["content-length"] == page.headers["content-length"]


@pytest.mark.parametrize(
    "accept", ["*/*", "application/json", "application/json, text/html", "text/html;q=0"]
)
def test_unknown_address_is_a_problem_for_a_program(client: httpx.Client, accept: str) -> None:
    problem = client.get("/api/nothing", headers={"Accept": accept})
    assert problem.headers["content-type"] == "application/problem+json"
    assert (problem.status_code, problem.json()["code"]) == (404, "no-such-route")


def test_what_is_written_or_unknown_by_its_id_is_a_problem_in_a_browser(
    client: httpx.Client,
) -> None:
    posted = client.post("/api/nothing", headers=BROWSER)
    missing = client.get("/api/pages/missing", headers=BROWSER)
    for answer, code in ((posted, "no-such-route"), (missing, "not-found")):
        assert (answer.status_code, answer.json()["code"]) == (404, code)
