"""A long history: it loads what is looked at, and all of it can be reached."""

import httpx
from playwright.sync_api import expect

from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.contract.render_cases import image_block
from tests.kit import media
from tests.kit.servers import LiveService

COUNT = 500
IMAGE_EVERY = 4
SIDE = 20
# The viewer looks ahead 600 pixels; entries grow when their images are there.
NEAR_PX = 2_000
# Notes in the list which entries have ever been near what is seen, by number.
_WATCH = """(list, near) => {
  list.seen = new Set();
  const margin = `${near}px 0px`;
  const observer = new IntersectionObserver(
    (changes) => {
      for (const { isIntersecting, target } of changes) {
        if (isIntersecting) list.seen.add(Number(target.dataset.seq));
      }
    },
    { rootMargin: margin, scrollMargin: margin },
  );
  const watch = () => list.querySelectorAll("li").forEach((item) => observer.observe(item));
  new MutationObserver(watch).observe(list, { childList: true });
  watch();
}"""
_NUMBERS = "items => items.map((item) => Number(item.dataset.seq))"


def written_history(agent: httpx.Client) -> dict[str, int]:
    """Write the entries; returns the numbers of those that have an image, by its resource."""
    numbers: dict[str, int] = {}
    for number in range(1, COUNT + 1):
        words = shop.text(f"Entry {number}.")
        if number % IMAGE_EVERY:
            write = shop.message("user", [words])
        else:
            picture = image_block(media.png(SIDE, SIDE + number, noise=True))
            write = shop.message("user", [words, picture])
        stored = write(agent).json()
        for block in stored["content"][1:]:
            numbers[block["data"].removeprefix("@blob:")] = number
    return numbers


def test_long_history_loads_only_what_is_looked_at_and_can_be_read_whole(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    numbers = written_history(writer)
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.entries).to_have_count(100)
    tab.page.locator("ol.entries").evaluate(_WATCH, NEAR_PX)
    expect(tab.entries.last).to_be_in_viewport()
    expect(tab.entries.last.locator("img")).to_have_js_property("complete", True)
    assert {numbers[each] for each in tab.content_ids()} <= seen(tab)
    assert len(seen(tab)) < 50

    tab.page.get_by_role("region", name="Entries").focus()
    for count in range(200, COUNT + 1, 100):
        tab.page.keyboard.press("Home")
        expect(tab.entries).to_have_count(count)
    tab.page.keyboard.press("Home")
    expect(tab.entries.first).to_be_in_viewport()
    expect(tab.page.get_by_role("button", name="Load earlier")).to_have_count(0)
    assert tab.entries.evaluate_all(_NUMBERS) == list(range(1, COUNT + 1))

    for number in (4, 136, 252, 400):
        entry = tab.page.locator(f'li[data-seq="{number}"]')
        entry.scroll_into_view_if_needed()
        expect(entry.locator("img")).to_have_js_property("naturalHeight", SIDE + number)
    tab.page.keyboard.press("End")
    expect(tab.entries.last).to_be_in_viewport()
    fetched = {numbers[each] for each in tab.content_ids()}
    assert {4, 136, 252, 400, COUNT} <= fetched
    assert fetched <= seen(tab)
    assert len(fetched) < len(numbers)


def seen(tab: Tab) -> set[int]:
    """The numbers of the entries that have been at or near what is seen."""
    return set(tab.page.locator("ol.entries").evaluate("list => Array.from(list.seen)"))
