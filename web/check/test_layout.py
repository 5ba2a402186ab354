"""Every view on every screen: nothing is cut off, and what moves can be kept still."""

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.contract.page_requests import put
from tests.contract.render_cases import audio_block, file_block, image_block
from tests.kit import media
from tests.kit.servers import LiveService
from web.check.accessible import add_axe, assert_accessible

VIEWS = {
    "/sessions": "Sessions",
    f"/sessions/{shop.SESSION}": "Checkout fails for some customers",
    f"/sessions/{shop.SESSION}/model": "What the model gets of",
    "/search?q=checkout": "Search",
    f"/compare?a={shop.SESSION}&b=other": "Compare",
    "/doctor": "Doctor",
    f"/doctor?session={shop.SESSION}&target=anthropic": "Doctor",
    "/file": "File",
    "/pages": "Pages",
    f"/pages/{shop.CHART_PAGE}": shop.CHART_PAGE,
    "/upload": "Upload",
}
# Elements beyond the right edge, except for hidden and scrolling ones.
_CUT_OFF = """() => {
  const scrolls = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      if (["auto", "scroll", "hidden"].includes(getComputedStyle(at).overflowX)) return true;
    }
    return false;
  };
  return Array.from(document.querySelectorAll("main *, header *"))
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
    .filter((element) => !scrolls(element.parentElement))
    .map((element) => element.outerHTML.slice(0, 120));
}"""


@pytest.fixture(scope="module")
def filled_service(shared_service: LiveService) -> LiveService:
    with shared_service.client("none") as agent:
        shop.written(agent, shop.EVERYTHING)
        shop.written(agent, [shop.message("user", "Hello.", session_id="other")])
    return shared_service


def open_filters(page: Page) -> None:
    page.locator(".find-more > summary").click()


@pytest.mark.parametrize("width", [390, 768, 1_440, 2_560])
def test_nothing_is_cut_off_and_all_is_accessible_in_any_view(
    filled_service: LiveService, open_tab: OpenTab, width: int
) -> None:
    tab = add_axe(open_tab(filled_service, viewport={"width": width, "height": 900}))
    for path, title in VIEWS.items():
        tab.open(path)
        expect(tab.page.get_by_role("heading", level=1, name=title).first).to_be_visible()
        expect(tab.page.locator("[role=status]:has-text('Loading')")).to_have_count(0)
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert tab.page.evaluate(_CUT_OFF) == [], path
        assert_accessible(tab)


def test_lines_stay_short_enough_to_be_read_on_a_wide_screen(
    filled_service: LiveService, open_tab: OpenTab
) -> None:
    tab = open_tab(filled_service, viewport={"width": 2_560, "height": 1_300})
    tab.open(f"/sessions/{shop.SESSION}")
    entry = tab.page.locator("article.entry", has_text="Checkout fails")
    expect(entry).to_be_visible()
    box = entry.bounding_box()
    assert box is not None
    assert 700 <= box["width"] <= 1_000


def test_document_has_a_language_and_nothing_moves_for_who_wants_no_motion(
    filled_service: LiveService, open_tab: OpenTab
) -> None:
    tab = open_tab(filled_service, reduced_motion="reduce")
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.page.locator("html")).to_have_attribute("lang", "en")
    expect(tab.entries.last).to_be_in_viewport()
    assert tab.page.evaluate("document.getAnimations().length") == 0


def test_keys_find_their_way_through_a_session(tab_of_everything: Tab) -> None:
    tab, page = tab_of_everything, tab_of_everything.page
    tab.open(f"/sessions/{shop.SESSION}#1")
    current = page.locator('[aria-current="location"]')
    expect(current).to_have_attribute("data-seq", "1")
    page.keyboard.press("j")
    expect(current).to_have_attribute("data-seq", "2")
    page.keyboard.press("k")
    expect(current).to_have_attribute("data-seq", "1")
    page.keyboard.press("e")
    expect(current).to_have_attribute("data-seq", "5")
    page.keyboard.press("i")
    expect(current).not_to_have_attribute("data-seq", "5")
    page.keyboard.press("/")
    expect(page.get_by_label("Search in this session")).to_be_focused()
    page.keyboard.type("declined jek")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    expect(current).to_have_attribute("data-seq", "3")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")
    expect(dialog.get_by_text("Next error")).to_be_visible()
    expect(page.locator("button", has_text="?")).to_have_attribute("aria-label", "Keyboard")
    dialog.get_by_label("Single letters are keys").uncheck()
    dialog.get_by_role("button", name="Close").click()
    page.keyboard.press("j")
    expect(current).to_have_attribute("data-seq", "3")
    page.reload()
    expect(current).to_have_attribute("data-seq", "3")
    page.keyboard.press("j")
    expect(current).to_have_attribute("data-seq", "3")


def test_session_is_searched_filtered_and_jumped_through(tab_of_everything: Tab) -> None:
    tab, page = tab_of_everything, tab_of_everything.page
    tab.open(f"/sessions/{shop.SESSION}")
    page.get_by_label("Search in this session").fill("declined")
    page.locator(".find-hit", has_text="browser.screenshot").click()
    current = page.locator('[aria-current="location"]')
    expect(current).to_have_attribute("data-seq", "5")
    open_filters(page)
    page.get_by_role("combobox", name="Tool").select_option("logs.read")
    expect(tab.entries).to_have_count(1)
    expect(page.get_by_text("1 of 15 entries")).to_be_visible()
    page.reload()
    expect(tab.entries).to_have_count(1)
    open_filters(page)
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Errors only").check()
    expect(page.locator(".call-card.failed")).to_have_count(1)
    page.get_by_role("combobox", name="Kind").select_option("system")
    expect(page.get_by_text("No entry fits the filter.")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Show all entries").click()
    page.get_by_role("button", name="Previous error").click()
    expect(current).to_be_in_viewport()


def test_call_and_result_are_one_card_that_stays_folded(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    calls = [
        {"id": name, "type": "function", "function": {"name": name, "arguments": '{"n": 1}'}}
        for name in ("first.tool", "second.tool", "third.tool")
    ]
    shop.written(
        writer,
        [
            shop.message("assistant", "I try three.", tool_calls=calls),
            shop.tool_result("first.tool", "first.tool", "All is well."),
            shop.message("user", "Hurry."),
            shop.tool_result("second.tool", "second.tool", "It broke.", success=False),
        ],
    )
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    step = tab.page.locator("article.entry", has_text="I try three.")
    cards = step.locator(".call-card")
    expect(cards).to_have_count(3)
    tops = cards.evaluate_all("all => all.map((each) => each.getBoundingClientRect().top)")
    assert tops[0] == tops[1]
    expect(cards.nth(0)).to_contain_text("answered after")
    expect(cards.nth(1)).to_contain_text("Failed")
    expect(cards.nth(2)).to_contain_text("No answer yet")
    cards.nth(1).get_by_role("button", name="Fold second.tool").click()
    expect(cards.nth(1).locator(".call-body")).to_be_hidden()
    expect(cards.nth(1).locator(".call-error")).to_have_text("It broke.")
    tab.page.reload()
    expect(cards.nth(1).locator(".call-body")).to_be_hidden()
    shop.written(writer, [shop.tool_result("third.tool", "third.tool", "Late.")])
    expect(cards.nth(2)).to_contain_text("Late.")


def test_jumps_and_counts_stay_in_what_a_filter_shows(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    picture = image_block(media.png(20, 20))
    for number in range(1, 41):
        tool = "camera" if number % 4 == 0 else "logs.read"
        result = shop.content(shop.text(f"Result {number}."), picture)
        is_failure = number % 10 == 0
        shop.written(writer, [shop.tool_result(tool, f"c{number}", result, success=not is_failure)])
    tab = open_tab(open_service)
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}?tool=camera#1")
    expect(page.get_by_text("10 of 40 entries shown")).to_be_visible()
    expect(page.get_by_role("group", name="Errors 2 of 4")).to_be_visible()
    expect(page.get_by_role("group", name="Images 10 of 40")).to_be_visible()
    current = page.locator('[aria-current="location"]')
    for key, seq in [("e", 20), ("i", 24), ("e", 40), ("I", 36), ("E", 20), ("E", 40), ("e", 20)]:
        page.keyboard.press(key)
        expect(current).to_have_attribute("data-seq", f"{seq}")
    page.get_by_role("button", name="Next image").click()
    expect(current).to_have_attribute("data-seq", "24")
    # A number that is hidden leads to the next that is shown, and that is text.
    open_filters(page)
    page.get_by_label("Number of an entry, or a time").fill("30")
    page.keyboard.press("Enter")
    expect(current).to_have_attribute("data-seq", "32")
    expect(page.get_by_role("alert")).to_contain_text("Entry 30 is not shown")
    # The map only has the visible entries.
    entry_map = page.get_by_role("slider", name="Where in the session")
    expect(entry_map).to_have_attribute("aria-valuemax", "10")
    entry_map.press("Home")
    expect(page.locator('[data-seq="4"]')).to_be_in_viewport()
    # New entries that are hidden are not counted.
    tab.await_live()
    last = "camera", "c42", "The last one."
    shop.written(writer, [shop.message("user", "Hurry."), shop.tool_result(*last)])
    expect(page.get_by_role("button", name="1 new entry")).to_be_visible()
    expect(page.get_by_text("11 of 42 entries shown")).to_be_visible()
    # A hit that is hidden takes the filter away.
    page.get_by_label("Search in this session").fill('"Result 7"')
    hit = page.locator(".find-hit", has_text="Hidden by the filter")
    hit.click()
    expect(current).to_have_attribute("data-seq", "7")
    expect(page.get_by_role("search").get_by_text("42 entries", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="new entr")).to_have_count(0)


def test_numbers_are_as_the_reader_writes_them(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    blocks = [
        image_block(media.png(1_200, 20, noise=True)),
        audio_block(media.wav(2.5), "audio/wav"),
        file_block("log.txt", b"0123456789abcde\n" * 93_750, "text/plain"),
    ]
    members = {f"m{number}": number for number in range(1_500)}
    result = shop.content(*blocks, structuredContent=members)
    shop.written(writer, [shop.tool_result("look", "c", result)])
    put(writer, "scored", content="x" * 12_000, importance=0.25)
    tab = open_tab(open_service, locale="de-DE")
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    card = page.locator(".call-card")
    for text in ("1.200 \u00d7 20 pixels", "2,5 s", "1,5 MB", "3 files kept, 1,"):
        expect(card).to_contain_text(text)
    expect(page.locator(".session-row")).to_contain_text("(1,")
    card.get_by_text("Structured content").click()
    expect(card.locator(".json-tree")).to_contain_text("1.500 members")
    card.get_by_role("button", name="Enlarge").click()
    expect(page.get_by_role("button", name="100\xa0%")).to_be_visible()
    page.keyboard.press("Escape")
    tab.open("/pages/scored")
    for text in ("12,0 kB", "0,25"):
        expect(page.locator(".page-facts")).to_contain_text(text)
    expect(page.locator("body")).not_to_contain_text(re.compile(r"\d\.\d [kM]?B\b"))


def test_filter_is_shown_as_chosen_before_the_address_has_it(tab_of_everything: Tab) -> None:
    tab = tab_of_everything
    tab.open(f"/sessions/{shop.SESSION}")
    open_filters(tab.page)
    box = tab.page.get_by_label("Errors only")
    expect(box).not_to_be_checked()
    # In the same task: nothing that comes later has a part in it.
    assert box.evaluate("box => { box.click(); return box.checked; }")
    expect(tab.page).to_have_url(re.compile("failed=1"))
    tab.page.get_by_role("button", name="Clear").click()
    expect(box).not_to_be_checked()
    expect(tab.page).not_to_have_url(re.compile("failed=1"))


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_search_and_filters_are_one_row(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client, width: int
) -> None:
    shop.written(writer, shop.EVERYTHING)
    tab = add_axe(open_tab(open_service, viewport={"width": width, "height": 844}))
    page = tab.page
    tab.open(f"/sessions/{shop.SESSION}")
    if width == 390:
        page.get_by_role("button", name="Find").click()
    bar = page.locator(".find-bar")
    field = bar.locator(".find-field")
    expect(field).to_be_visible()
    height = (field.bounding_box() or {"height": 0})["height"]
    assert height <= 40
    if width > 390:
        assert (bar.bounding_box() or {"height": 99})["height"] <= 60
    open_filters(page)
    page.get_by_role("combobox", name="Tool").select_option("logs.read")
    assert_accessible(tab)
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Tool")).to_be_hidden()
    assert (field.bounding_box() or {"height": 99})["height"] == height
    assert_accessible(tab)
    field.get_by_role("button", name="Take away: logs.read").click()
    expect(page).not_to_have_url(re.compile("tool="))


def test_header_is_one_row_at_any_width(filled_service: LiveService, open_tab: OpenTab) -> None:
    tab = open_tab(filled_service)
    tab.open("/doctor")
    header = tab.page.locator(".shell-header")
    for width in (360, 768, 769, 832, 833, 1_280):
        tab.page.set_viewport_size({"width": width, "height": 700})
        # The menu of a phone takes the place of the links.
        expect(tab.page.get_by_text("Menu", exact=True)).to_have_count(int(width <= 768))
        assert header.evaluate("header => header.clientHeight") < 60, width
