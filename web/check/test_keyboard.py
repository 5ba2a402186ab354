"""The viewer by keys alone."""

import json

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.kit.servers import LiveService

_FOCUSED = "() => document.activeElement.outerHTML.slice(0, 200)"
MAX_STEPS = 120


def test_raw_json_of_an_entry_is_reached_by_keys_from_the_list(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.OPENING)
    tab = open_tab(open_service)
    page = tab.page
    tab.open("/sessions")
    expect(page.locator(".session-row")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, "session-row")
    page.keyboard.press("Enter")
    expect(tab.entries).to_have_count(3)
    # The new view has the focus, so that keys scroll it at once.
    expect(page.get_by_role("region", name="Entries")).to_be_focused()
    tab_to(page, "<summary>JSON")
    page.keyboard.press("Enter")
    tab_to(page, "As written")
    page.keyboard.press("Enter")
    source = tab.entries.first.get_by_label("JSON")
    expect(source).to_be_visible()
    content = json.loads(source.inner_text())
    assert content["content"] == "Checkout fails for some customers since noon. Find out why."
    page.keyboard.press("Shift+Tab")
    expect(source).to_be_focused()


def test_entry_that_gets_the_focus_is_seen(tab_of_everything: Tab) -> None:
    tab, page = tab_of_everything, tab_of_everything.page
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.entries.last).to_be_in_viewport()
    page.get_by_role("region", name="Entries").focus()
    for _ in range(MAX_STEPS):
        page.keyboard.press("Tab")
        # Of a player the part that has it is the browser's own, which no selector finds.
        expect(page.locator(".entries > li:focus-within")).to_be_in_viewport()
        if page.locator(".entries > li:last-child:focus-within").count():
            return
    raise AssertionError(f"the last entry is not reached in {MAX_STEPS} steps")


def tab_to(page: Page, what: str) -> None:
    """Go on until an element has the focus; in so many steps at most."""
    for _ in range(MAX_STEPS):
        page.keyboard.press("Tab")
        if what in page.evaluate(_FOCUSED):
            return
    raise AssertionError(f"{what} is not reached in {MAX_STEPS} steps")


def test_new_entries_are_told_of_and_shown_to_whoever_reads_further_up(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = open_tab(open_service)
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.entries.last).to_be_in_viewport()
    tab.await_live()
    scroller = page.get_by_role("region", name="Entries")
    scroller.focus()
    page.keyboard.press("Home")
    expect(tab.entries.first).to_be_in_viewport()
    shop.written(writer, [shop.message("user", "Thank you.")])
    button = page.get_by_role("button", name="1 new entry")
    expect(button).to_be_visible()
    expect(tab.entries.first).to_be_in_viewport()
    expect(page.locator("[aria-live=polite]")).to_contain_text("New: Message of user")
    button.focus()
    page.keyboard.press("Enter")
    expect(tab.entries.last).to_be_in_viewport()
    expect(button).to_have_count(0)
    scroller.focus()
    page.keyboard.press("Home")
    expect(tab.entries.first).to_be_in_viewport()
    page.keyboard.press("End")
    expect(tab.entries.last).to_be_in_viewport()


def test_focus_goes_along_from_entry_to_entry(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    long = "More words.\n" * 60
    for number in range(1, 61):
        shop.written(writer, [shop.message("user", f"Entry {number}.\n{long}")])
    tab = open_tab(open_service)
    tab.show_cards()
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}#30")
    expect(tab.entries.and_(page.locator("[aria-current]"))).to_be_in_viewport()
    for key, seq in [("j", 31), ("j", 32), ("k", 31)]:
        page.keyboard.press(key)
        current = page.locator(f'[data-seq="{seq}"]')
        expect(current).to_be_focused()
        expect(current).to_have_accessible_name("User")
        expect(current).to_have_attribute("aria-current", "location")
        expect(current).to_be_in_viewport()
    # Enter and Tab are about this entry.
    assert top_of(page, 31) == pytest.approx(12, abs=4)
    current = page.locator('[data-seq="31"]')
    page.keyboard.press("Enter")
    expect(current.get_by_role("button", name="Fold")).to_be_visible()
    assert top_of(page, 31) == pytest.approx(12, abs=4)
    page.keyboard.press("Enter")
    expect(current.get_by_role("button", name="Unfold")).to_be_visible()
    page.keyboard.press("Tab")
    expect(current.get_by_role("link", name="#31")).to_be_focused()
    # The keys continue from the entry that has the focus.
    page.locator('[data-seq="32"]').get_by_role("link", name="#32").focus()
    page.keyboard.press("j")
    expect(page.locator('[data-seq="33"]')).to_be_focused()


def test_focus_goes_to_an_entry_far_away_that_is_not_loaded_yet(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    for number in range(1, 301):
        shop.written(writer, [shop.message("user", f"Entry {number}.")])
    tab = open_tab(open_service)
    tab.show_cards()
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    expect(page.locator('[data-seq="300"]')).to_be_in_viewport()
    page.keyboard.press("g")
    page.keyboard.type("120")
    page.keyboard.press("Enter")
    current = page.locator('[data-seq="120"]')
    expect(current).to_contain_text("Entry 120.")
    expect(current).to_be_focused()
    # A click into an entry does not move the focus to it.
    page.locator('[data-seq="121"] .text').click()
    expect(current).not_to_be_focused()
    expect(page.locator("[data-seq]:focus")).to_have_count(0)


def top_of(page: Page, seq: int) -> float:
    """Return the distance of an entry from the top of the timeline."""
    top: float = page.evaluate(
        "seq => document.querySelector(`[data-seq='${seq}']`).getBoundingClientRect().top"
        " - document.querySelector('.timeline-scroller').getBoundingClientRect().top",
        seq,
    )
    return top


@pytest.mark.parametrize("width", [390, 1_440])
def test_links_skip_to_each_part_that_is_there(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client, width: int
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = open_tab(open_service, viewport={"width": width, "height": 900})
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}#3")
    expect(tab.entries.last).to_be_attached()
    parts = {
        "Skip to the content": page.locator("main"),
        "Skip to the session list": page.get_by_role("region", name="Sessions"),
        "Skip to the filters": page.get_by_role("group", name="Filters"),
        "Skip to the timeline": page.get_by_role("region", name="Entries"),
    }
    if width < 960:
        del parts["Skip to the session list"]
    links = page.get_by_role("navigation", name="Skip to").get_by_role("link")
    expect(links).to_have_text(list(parts))
    for number, (name, part) in enumerate(parts.items(), 1):
        page.evaluate("() => { document.activeElement.blur(); getSelection().removeAllRanges(); }")
        page.reload()
        expect(links).to_have_count(len(parts))
        for _ in range(number):
            page.keyboard.press("Tab")
        expect(links.get_by_text(name)).to_be_focused()
        expect(links.get_by_text(name)).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("Enter")
        expect(part).to_be_focused()
        expect(links.get_by_text(name)).not_to_be_in_viewport()
        # The place of the reader stays in the address.
        assert page.url.endswith("#3")
    page.keyboard.press("Tab")
    expect(page.get_by_role("region", name="Entries").locator(":focus")).to_have_count(1)
    for path, labels in [
        ("/sessions", ["Skip to the content", "Skip to the session list"]),
        ("/upload", ["Skip to the content"]),
        ("/pages", ["Skip to the content", "Skip to the filters", "Skip to the pages"]),
        (f"/sessions/{shop.SESSION}/model", ["Skip to the content", "Skip to the entries"]),
        ("/search?q=checkout", ["Skip to the content", "Skip to the hits"]),
    ]:
        tab.open(path)
        expect(links).to_have_text(labels)


def test_ends_of_a_long_session_are_reached_by_keys_wherever_the_focus_is(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written_turn(writer, [f"Entry {number}." for number in range(1, 301)])
    tab = open_tab(open_service)
    page = tab.page
    first, last = (page.locator(f'[data-seq="{seq}"]') for seq in (1, 300))
    tab.open(f"/sessions/{shop.SESSION}#150")
    expect(page.locator('[data-seq="150"]')).to_be_in_viewport()
    for key, entry in [("Home", first), ("End", last), ("Home", first), ("j", None), ("End", last)]:
        page.keyboard.press(key)
        if entry is not None:
            expect(entry).to_be_in_viewport()
            expect(page.get_by_role("region", name="Entries")).to_be_focused()
    # A field keeps its keys.
    page.keyboard.press("g")
    field = page.get_by_label("Number of an entry, or a time")
    field.fill("12")
    page.keyboard.press("Home")
    page.keyboard.type("1")
    expect(field).to_have_value("112")
    expect(last).to_be_in_viewport()


def test_enter_opens_the_entry_of_the_address_without_a_focus(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", f"{number}\n" * 60) for number in range(3)])
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}#2")
    current = tab.page.locator('[data-seq="2"]')
    expect(current.get_by_role("button", name="Unfold")).to_be_visible()
    assert tab.page.evaluate("document.activeElement === document.body")
    tab.page.keyboard.press("Enter")
    expect(current.get_by_role("button", name="Fold", exact=True)).to_be_visible()
    tab.page.reload()
    expect(current.get_by_role("button", name="Unfold")).to_be_visible()
    tab.page.keyboard.press("Enter")
    expect(current.get_by_role("button", name="Fold", exact=True)).to_be_visible()


def test_key_for_the_previous_entry_begins_at_the_last_one(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written(writer, [shop.message("user", f"{number}\n" * 30) for number in range(20)])
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.page.locator('[data-seq="20"]')).to_be_in_viewport()
    for seq in (20, 19, 18):
        tab.page.keyboard.press("k")
        expect(tab.page.locator(f'[data-seq="{seq}"]')).to_be_focused()
