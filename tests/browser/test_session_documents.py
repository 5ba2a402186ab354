"""A session that was exported as a document: it runs, loads and asks for nothing of others."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import shop
from tests.browser.tabs import Tab
from tests.browser.test_hostile_content import ATTACKS, RUN, hostile_writes
from tests.contract.render_cases import image_block
from tests.kit import media
from tests.kit.servers import LiveService

# Elements and attributes by which content would run or load.
ACTIVE = (
    "iframe, object, embed, base, link, form, svg, main script, main style, [onload], [onerror], "
    "[onclick], [style], a[href^='javascript:' i], a[href^='data:text/html' i], "
    "a[href^='http' i], img:not([src^='data:image/']), main meta"
)
# Notes each violation of the policy, and each script that runs beside that of the document.
_WATCH = "document.addEventListener('securitypolicyviolation', () => { window.violated = true; });"

Reopened = Callable[..., Page]


@pytest.fixture
def writer(shared_service: LiveService) -> Iterator[httpx.Client]:
    """An agent whose session is deleted after the test."""
    with shared_service.client("none") as client:
        yield client
        client.delete(f"/api/sessions/{shop.SESSION}")


@pytest.fixture
def open_document(browser: Browser, writer: httpx.Client, tmp_path: Path) -> Iterator[Reopened]:
    """Exports the session, opens the file from the disk without a network, and notes faults."""
    tabs: list[Tab] = []

    def opened(**options: object) -> Page:
        answer = writer.get(f"/api/sessions/{shop.SESSION}/document")
        assert answer.status_code == 200, answer.text[:500]
        file = tmp_path / "session.html"
        file.write_bytes(answer.content)
        context = browser.new_context(offline=True, **options)  # type: ignore[arg-type]
        tab = Tab(context.new_page(), file.as_uri())
        tabs.append(tab)
        tab.page.add_init_script(_WATCH)
        tab.open("")
        return tab.page

    yield opened
    for tab in tabs:
        violated = tab.page.evaluate("'violated' in window")
        requests = {request.url.partition(":")[0] for request in tab.requests}
        tab.page.context.close()
        assert (tab.faults, violated) == ([], False)
        assert requests <= {"file", "data"}


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "The document of a session runs no script of its content and loads nothing, from a disk too",
    kept_by="packages/doctor/src/pagefault_doctor/document_html.py",
    tried="0 scripts run, 0 requests, 0 violations of its policy",
)
def test_document_of_hostile_content_shows_it_and_runs_nothing(
    writer: httpx.Client, open_document: Reopened
) -> None:
    writes = hostile_writes()
    shop.written(writer, writes)
    page = open_document()
    expect(page.locator("article")).to_have_count(len(writes))
    expect(page.locator(ACTIVE)).to_have_count(0)
    assert page.evaluate("'pwned' in window") is False
    assert page.title() != "pwned"
    assert [frame.url for frame in page.frames] == [page.url]
    assert len(page.context.pages) == 1
    # Only the script of the document is one.
    expect(page.locator("script")).to_have_count(1)
    shown = ATTACKS.replace("\u202e", "⟨U+202E⟩").replace("\0", "⟨U+0000⟩")
    expect(page.locator("#entry-4 pre")).to_have_text(shown)
    expect(page.locator("main pre").filter(has_text=RUN).first).to_be_visible()
    # The drawing is an image, in which no script runs.
    drawing = page.locator("img[src^='data:image/svg+xml;base64,']").first
    page.wait_for_function("image => image.complete", arg=drawing.element_handle())
    assert drawing.evaluate("image => image.naturalWidth") == 9


def test_script_that_is_not_of_the_document_is_refused_by_its_policy(
    writer: httpx.Client, open_document: Reopened, tmp_path: Path
) -> None:
    shop.written(writer, [shop.message("user", "MARK")])
    page = open_document()
    file = tmp_path / "session.html"
    # As if a text had not been escaped.
    injected = (
        f"<script>{RUN}</script><img src=data:,x onerror=\"{RUN}\"><a href='javascript:{RUN}'>x</a>"
    )
    file.write_text(file.read_text().replace("MARK", injected))
    other = page.context.new_page()
    other.add_init_script(_WATCH)
    other.goto(file.as_uri())
    other.wait_for_function("'violated' in window")
    other.locator("main a").last.click()
    assert other.evaluate("'pwned' in window") is False
    other.close()


def test_media_of_a_document_are_shown_and_played_without_a_network(
    writer: httpx.Client, open_document: Reopened
) -> None:
    sound = {"type": "audio", "data": media.b64(media.wav()), "mimeType": "audio/wav"}
    result = shop.content(image_block(media.png(64, 48)), sound)
    shop.written(writer, [shop.tool_result("look", "c1", result)])
    page = open_document()
    page.wait_for_function("document.images[0].complete")
    assert page.evaluate("document.images[0].naturalWidth") == 64
    page.wait_for_function("document.querySelector('audio').readyState > 0")
    assert page.evaluate("document.querySelector('audio').duration") == 1


def test_entries_of_a_document_are_found_filtered_and_folded(
    writer: httpx.Client, open_document: Reopened
) -> None:
    failed = shop.tool_result("b", "c1", shop.content(shop.text("It broke.")), success=False)
    picture = shop.content(image_block(media.png(64, 48)))
    again = [shop.tool_result("look", f"s{number}", picture) for number in range(2)]
    shop.written(writer, [shop.message("user", "A needle\nin hay"), failed, *again])
    page = open_document(color_scheme="light")
    page.get_by_label("Find in the entries").fill("NEEDLE")
    expect(page.locator("article:visible")).to_have_count(1)
    expect(page.get_by_role("status")).to_have_text("1 of 4")
    assert page.evaluate("CSS.highlights.get('found').size") == 1
    page.get_by_label("Find in the entries").fill("")
    page.get_by_label("Errors only").check()
    expect(page.locator("article:visible")).to_contain_text(["It broke."])
    page.get_by_label("Errors only").uncheck()
    page.get_by_role("button", name="Collapse").click()
    expect(page.locator("article pre:visible")).to_have_count(0)
    page.get_by_role("button", name="Expand").click()
    page.get_by_role("link", name="entry 3").click()
    expect(page.locator("#entry-3")).to_be_in_viewport()
    page.get_by_role("button", name="Light or dark").click()
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(20, 23, 28)"
