"""axe-core finds no violation in any state of the viewer, light or dark, wide or narrow."""

import re
from collections.abc import Sequence
from typing import Literal

import httpx
import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.browser import drawings, shop
from tests.browser.accessibility import violations
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.kit.servers import LiveService
from web.check.accessible import add_axe

WIDE, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)
Look = tuple[ViewportSize, Literal["light", "dark"]]
TWO_LOOKS: Sequence[Look] = ((WIDE, "light"), (PHONE, "dark"))
ALL_LOOKS: Sequence[Look] = (*TWO_LOOKS, (WIDE, "dark"), (PHONE, "light"))
SOURCE = re.compile(".")
UNFINISHED = "[role=status]:has-text('Loading')"


def assert_usable(tab: Tab, element: Locator, looks: Sequence[Look] = TWO_LOOKS) -> None:
    """Check that an element is visible, accessible and fits, at each size and colour scheme."""
    expect(element).to_be_visible()
    expect(tab.page.locator(UNFINISHED)).to_have_count(0)
    page = tab.page
    for size, scheme in looks:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert violations(page) == [], (page.url, size, scheme)
    page.set_viewport_size(WIDE)


@pytest.mark.parametrize("size", [WIDE, PHONE])
@pytest.mark.parametrize("system", ["light", "dark"])
def test_reader_has_light_or_dark_as_chosen_on_this_device(
    open_service: LiveService,
    open_tab: OpenTab,
    system: Literal["light", "dark"],
    size: ViewportSize,
) -> None:
    tab = add_axe(open_tab(open_service, color_scheme=system, viewport=size))
    page = tab.page
    tab.open("/sessions")
    grounds = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 28)"}

    def choose(name: str) -> None:
        if size is PHONE:
            page.get_by_text("Menu", exact=True).click()
        page.get_by_label("Colours").select_option(name)

    for name in ("Dark", "Light"):
        choose(name)
        expect(page.locator("body")).to_have_css("background-color", grounds[name.lower()])
        assert violations(page) == []
        page.reload()
        expect(page.locator("body")).to_have_css("background-color", grounds[name.lower()])
        expect(page.get_by_text("No session yet")).to_be_visible()
    choose("System")
    expect(page.locator("body")).to_have_css("background-color", grounds[system])


def press_all(buttons: Locator) -> None:
    """Press each of them; one that was pressed has another name, and is no longer among them."""
    expect(buttons.first).to_be_visible()
    while count := buttons.count():
        buttons.first.click()
        expect(buttons).not_to_have_count(count)


def heading(page: Page, name: str) -> Locator:
    return page.get_by_role("heading", name=name, exact=True)


def test_views_of_an_empty_service_are_usable(open_service: LiveService, open_tab: OpenTab) -> None:
    tab = add_axe(open_tab(open_service))
    for path, text in [
        ("/sessions", "No session yet"),
        ("/sessions/none", "There is no session none"),
        ("/pages", "There are no pages yet"),
        ("/pages?q=none", "No page has all of these words"),
        ("/upload", "Drop files here, or choose them:"),
    ]:
        tab.open(path)
        assert_usable(tab, tab.page.get_by_text(text).first)


def test_failures_are_usable(open_service: LiveService, open_tab: OpenTab) -> None:
    tab = add_axe(open_tab(open_service))
    for path in ("/pages/none", f"/sessions?q={'x' * 200}", "/sessions/-"):
        tab.open(path)
        assert_usable(tab, tab.page.get_by_role("button", name="Try again"))


def test_key_dialog_is_usable(keyed_service: LiveService, open_tab: OpenTab) -> None:
    tab = add_axe(open_tab(keyed_service))
    tab.open("/sessions")
    assert_usable(tab, heading(tab.page, "This service asks for a key"))
    tab.give_key("pf_unknown")
    assert_usable(tab, tab.page.get_by_text("The service does not know that key"))


def test_sessions_and_a_timeline_of_everything_are_usable(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    log = shop.text("402 Payment Required\n" * 20_000)
    shop.written(writer, (*shop.EVERYTHING, shop.tool_result("logs.read", "call_long", [log])))
    tab = add_axe(open_tab(open_service))
    tab.open("/sessions")
    assert_usable(tab, tab.page.locator(".session-row"))
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.entries).to_have_count(shop.ENTRIES + 1)
    for entry in tab.entries.all():
        entry.scroll_into_view_if_needed()
        for media in entry.locator("img, audio, video").all():
            expect(media).to_have_attribute("src", SOURCE)
    for name in ("Unfold", "Load all"):
        press_all(tab.page.get_by_role("button", name=name))
    for summary in tab.page.locator("details:not(.json-branch) > summary").all():
        summary.click()
    assert_usable(tab, tab.entries.last, ALL_LOOKS)


def test_pages_are_usable(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.put_pages(writer)
    tab = add_axe(open_tab(open_service))
    tab.open("/pages")
    assert_usable(tab, tab.page.get_by_text("5 pages, newest first"))
    for page_id in ("gateway-runbook", "order-k-20418", "hotline-call", "click-recording"):
        tab.open(f"/pages/{page_id}")
        expect(tab.page.get_by_text("Nothing was dropped.").or_(losses(tab))).to_be_visible()
        assert violations(tab.page) == []
    tab.open(f"/pages/{shop.CHART_PAGE}")
    tab.page.locator("main").get_by_role("combobox").select_option("text")
    assert_usable(tab, losses(tab), ALL_LOOKS)


def test_upload_is_usable(open_service: LiveService, open_tab: OpenTab) -> None:
    tab = add_axe(open_tab(open_service))
    tab.open("/upload")
    tab.choose_files(
        ("chart.png", "image/png", drawings.latency_chart()),
        ("click.mp4", "video/mp4", drawings.click_clip()),
        ("notes.txt", "text/plain", b"Call the provider."),
    )
    assert_usable(tab, tab.page.get_by_text("3 of 3 files kept"))


def losses(tab: Tab) -> Locator:
    return tab.page.get_by_role("region", name="Dropped")
