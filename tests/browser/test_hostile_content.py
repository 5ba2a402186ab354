"""Texts of tools, users and file names are shown and never run; see also `Tab.faults`."""

import contextlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Error, expect

from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.contract.page_requests import put
from tests.contract.render_cases import file_block, image_block
from tests.kit.servers import LiveService

RUN = "window.pwned=1;document.title='pwned'"
ATTACKS = (
    f"<script>{RUN}</script>"
    f"<img src=x onerror=\"{RUN}\"><svg onload='{RUN}'></svg>"
    f'"><iframe srcdoc="<script>parent.pwned=1</script>"></iframe>'
    "{{constructor.constructor('window.pwned=1')()}}${window.pwned=1}"
    f"\u202e\u0000<a href=\"javascript:{RUN}\">x</a>'-alert(1)-'"
)
IN_ADDRESS = f'<img src=x onerror="{RUN}"><svg onload={RUN}>\u202e'
SCRIPT_URL = f"javascript:{RUN}"
DOCUMENT = f'<!doctype html><title>x</title><body onload="{RUN}"><script>{RUN}</script>{"x" * 2000}'
DRAWING = (
    f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="{RUN}">'
    f'<script>{RUN}</script><image href="https://elsewhere.example/x.png"/>'
    f"<desc>{'x' * 2000}</desc></svg>"
)
LISTED = (
    '<?xml version="1.0"?><list xmlns:h="http://www.w3.org/1999/xhtml">'
    f"<h:script>{RUN}</h:script>{'x' * 2000}</list>"
)
PRINTED = (
    "%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS"
    f"({RUN})>>>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
    f"{'% x' * 700}\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)
FILES = {
    "drawing.svg": (DRAWING, "image/svg+xml"),
    "document.html": (DOCUMENT, "text/html"),
    "document.xhtml": (DOCUMENT, "application/xhtml+xml"),
    "list.xml": (LISTED, "text/xml"),
    "report.pdf": (PRINTED, "application/pdf"),
    "claimed.png": (DOCUMENT, "image/png"),
    "claimed.mp4": (DRAWING, "video/mp4"),
    "notes.txt": (DOCUMENT, "text/plain"),
}
SAVED = (
    "drawing.svg",
    "document.html",
    "document.xhtml",
    "list.xml",
    "report.pdf",
    # A web page is no image, whatever its name says.
    "claimed.png",
)
# Nothing of it belongs to the viewer, and each would be a way for content to run or to load.
ACTIVE = (
    "main script, iframe, object, embed, base, link[rel=import], main style, "
    "main svg:not(.strip svg), [onload], [onerror], a[href^='javascript:' i], "
    "a[href^='data:text/html' i], img[src*=elsewhere]"
)


@pytest.fixture
def writer(shared_service: LiveService) -> Iterator[httpx.Client]:
    """An agent that writes what it was given."""
    with shared_service.client("none") as client:
        yield client


def hostile_writes() -> list[shop.Write]:
    files = [file_block(name, text.encode(), kind) for name, (text, kind) in FILES.items()]
    named = {"uri": SCRIPT_URL, "name": ATTACKS, "mimeType": ATTACKS[:60], "text": ATTACKS}
    links: list[dict[str, Any]] = [
        {"type": "resource_link", "uri": SCRIPT_URL, "name": ATTACKS},
        {"type": "resource_link", "uri": f"https://elsewhere.example/{ATTACKS}", "name": "x.png"},
        {"type": "resource", "resource": named},
        {"type": "image", "data": "https://elsewhere.example/x.png", "mimeType": "image/png"},
        image_block(DRAWING.encode(), "image/svg+xml"),
    ]
    blocks = [
        {"type": "image_url", "image_url": {"url": SCRIPT_URL}},
        {"type": "image_url", "image_url": {"url": f"data:image/svg+xml,{DRAWING}"}},
        {"type": "image_url", "image_url": {"url": "https://elsewhere.example/pixel.png"}},
        {"type": "tool_use", "id": "t", "name": ATTACKS, "input": {ATTACKS: ATTACKS}},
        {"type": ATTACKS, "html": DOCUMENT},
    ]
    message = {"role": "assistant", "content": ATTACKS, "name": ATTACKS}
    route = f"/api/sessions/{shop.SESSION}/interactions"
    return [
        shop.tool_result(ATTACKS, ATTACKS[:400], shop.content(shop.text(ATTACKS), *files)),
        shop.tool_result("links", "call_2", shop.content(*links, structuredContent={"a": ATTACKS})),
        shop.tool_result("page", "call_3", DOCUMENT, success=False),
        shop.message("user", ATTACKS, name=ATTACKS),
        shop.message("user", blocks),
        lambda client: client.post(route, json={"input": ATTACKS, "output": message}),
    ]


def assert_nothing_ran(tab: Tab) -> None:
    assert tab.page.evaluate("'pwned' in window") is False
    assert tab.page.title() != "pwned"
    assert [frame.url for frame in tab.page.frames] == [tab.page.url]
    assert len(tab.page.context.pages) == 1
    expect(tab.page.locator(ACTIVE)).to_have_count(0)


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "The viewer runs no script of a history",
    kept_by="web/src",
    tried="0 scripts run",
)
def test_timeline_shows_hostile_content_and_runs_nothing_of_it(
    shared_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    writes = hostile_writes()
    shop.written(writer, writes)
    tab = open_tab(shared_service)
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.entries).to_have_count(len(writes))
    for entry in tab.entries.all():
        entry.scroll_into_view_if_needed()
        entry.get_by_text("JSON", exact=True).click()
        for button in entry.get_by_role("button", name="Show the text").all():
            button.click()
    expect(tab.page.locator("pre").filter(has_text=RUN).first).to_be_visible()
    expect(
        tab.page.get_by_role("region", name="Entries").get_by_text("⟨U+202E⟩").first
    ).to_be_visible()
    assert "\u202e" not in tab.page.locator("main").inner_text()
    assert_nothing_ran(tab)


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "The viewer runs no script of a page",
    kept_by="web/src",
    tried="3 pages, 0 scripts run",
)
@pytest.mark.parametrize("modality", ["text", "image", "structured"])
def test_page_shows_hostile_content_and_runs_nothing_of_it(
    shared_service: LiveService, open_tab: OpenTab, writer: httpx.Client, modality: str
) -> None:
    contents = {
        "text": ATTACKS,
        "image": f"data:image/svg+xml,{DRAWING}",
        "structured": {ATTACKS: [ATTACKS, SCRIPT_URL]},
    }
    put(
        writer,
        "hostile",
        modality=modality,
        content=contents[modality],
        caption=ATTACKS,
        hint=ATTACKS,
        transcript=ATTACKS,
        schema_name=ATTACKS[:500],
        scenes=[ATTACKS, {"summary": ATTACKS}],
        metadata={"note": ATTACKS},
    )
    tab = open_tab(shared_service)
    for path in ("/pages", "/pages?q=window", "/pages/hostile"):
        tab.open(path)
        expect(tab.page.get_by_text("<img src=x").first).to_be_attached()
        assert_nothing_ran(tab)
    expect(
        tab.page.get_by_role("region", name="Dropped").or_(
            tab.page.get_by_text("Nothing was dropped.")
        )
    ).to_be_visible()
    for level in tab.page.get_by_role("radio", disabled=False).all():
        level.check()
        expect(tab.page.locator(".level-content")).to_be_visible()
    assert "\u202e" not in tab.page.locator("main").inner_text()
    assert_nothing_ran(tab)


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "The viewer runs no script of an address",
    kept_by="web/src",
    tried="4 addresses, 0 scripts run",
)
@pytest.mark.parametrize("path", ["/sessions/{}", "/sessions?q={}", "/pages/{}", "/pages?q={}"])
def test_hostile_address_runs_nothing(
    shared_service: LiveService, open_tab: OpenTab, path: str
) -> None:
    tab = open_tab(shared_service)
    tab.open(path.format(quote(IN_ADDRESS)))
    # A search may find what another test has written.
    expect(tab.page.locator(".state, .page-row").first).to_be_visible()
    expect(tab.page.locator("[role=status]").filter(has_text="Loading")).to_have_count(0)
    assert "\u202e" not in tab.page.title() + tab.page.locator("main").inner_text()
    assert_nothing_ran(tab)


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "Content that is opened by itself runs no script",
    kept_by="app/http/content_headers.py",
    tried="8 files: SVG, HTML, XHTML, XML, PDF, 3 that claim to be something else; 0 scripts run",
)
@pytest.mark.parametrize("name", FILES)
def test_content_opened_by_itself_runs_nothing(
    shared_service: LiveService, open_tab: OpenTab, writer: httpx.Client, name: str
) -> None:
    text, kind = FILES[name]
    query = {"filename": f'{name}\u202e"><script>{RUN}</script>'}
    headers = {"Content-Type": kind}
    kept = writer.post("/api/resources", content=text, params=query, headers=headers).json()
    path = f"/api/resources/{kept['uri'].removeprefix('blob:')}/content"
    tab = open_tab(shared_service)
    if name in SAVED:
        with tab.page.expect_download() as saved, contextlib.suppress(Error):
            tab.open(path)
        assert "<" not in saved.value.suggested_filename
    else:
        tab.open(path)
        assert tab.page.evaluate("document.contentType") == kind
        # What browsers put around a medium may not style it here.
        tab.faults.clear()
    assert tab.page.evaluate("'pwned' in window") is False
    assert tab.page.title() != "pwned"
