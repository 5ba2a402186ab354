"""Pages of MCP Apps, as servers name and give them."""

import base64
import json

import pytest

from pagefault_dialects.json.values import JsonValue
from pagefault_mcp.messages.app_pages import AppPage, find_app_page_uri, read_app_page

URI = "ui://a/b.html"
HTML: JsonValue = {"uri": URI, "mimeType": "text/html;profile=mcp-app", "text": "<p>"}


@pytest.mark.parametrize(
    ("meta", "uri"),
    [
        ({"ui": {"resourceUri": URI}}, URI),
        ({"ui/resourceUri": URI}, URI),
        ({"ui": {"resourceUri": "ui://new"}, "ui/resourceUri": URI}, "ui://new"),
        ({"ui": {"resourceUri": "https://a.example"}}, None),
        ({"ui": {"resourceUri": "ui://" + "a" * 3_000}}, None),
        ({"ui": {"resourceUri": [URI]}}, None),
        ({"ui": URI}, None),
        (None, None),
    ],
)
def test_tool_names_its_page(meta: JsonValue, uri: str | None) -> None:
    assert find_app_page_uri(meta) == uri


@pytest.mark.parametrize(
    ("contents", "page"),
    [
        ([HTML], AppPage(URI, b"<p>", {})),
        ([{"mimeType": "text/plain", "text": "a"}, HTML], AppPage(URI, b"<p>", {})),
        (
            [{"mimeType": "text/html", "blob": base64.b64encode(b"<b>").decode()}],
            AppPage(URI, b"<b>", {}),
        ),
        (
            [{"mimeType": "text/html", "text": "<p>", "_meta": {"ui": {"csp": {}}}}],
            AppPage(URI, b"<p>", {"csp": {}}),
        ),
        (
            [{"mimeType": "text/html", "text": "<p>", "_meta": {"ui": {"a": "a" * 20_000}}}],
            AppPage(URI, b"<p>", {}),
        ),
        ([{"mimeType": "text/html", "text": "\ud800"}], AppPage(URI, b"?", {})),
        ([{"mimeType": "text/html", "blob": "?"}], None),
        ([{"mimeType": "text/html", "text": ""}], None),
        ([{"text": "<p>"}, 1, None], None),
        ({}, None),
    ],
)
def test_page_is_the_first_html_of_a_resource(contents: JsonValue, page: AppPage | None) -> None:
    assert read_app_page(URI, {"contents": contents}) == page


def test_page_of_an_error_is_none() -> None:
    assert read_app_page(URI, None) is None


@pytest.mark.parametrize(
    ("uri", "name"),
    [("ui://a/b.html", "b.html"), ("ui://clock", "clock.html"), ("ui://a/", "app.html")],
)
def test_block_has_the_page_as_a_file(uri: str, name: str) -> None:
    html = b"a" * 500_000
    block = json.loads(b"".join(AppPage(uri, html, {"csp": {}}).encode_block()))
    data = f"data:text/html;base64,{base64.b64encode(html).decode()}"
    meta: JsonValue = {"pagefault/app": {"csp": {}}}
    assert block == {"type": "file", "filename": name, "uri": uri, "_meta": meta, "data": data}
