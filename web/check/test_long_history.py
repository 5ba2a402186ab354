"""A long history: entries load when they come near the viewport, and all can be reached."""

import re

import httpx
from playwright.sync_api import Locator, Route, expect

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
MAX_NODES = 3_000
# Records the numbers of the entries that were near the viewport. It starts with the first drawn
# entry, because images move other entries away when they load.
_WATCH = f"""
  window.seenEntries = new Set();
  const margin = "{NEAR_PX}px 0px";
  const observer = new IntersectionObserver(
    (changes) => {{
      for (const {{ isIntersecting, target }} of changes) {{
        if (isIntersecting) window.seenEntries.add(Number(target.dataset.seq));
      }}
    }},
    {{ rootMargin: margin, scrollMargin: margin }},
  );
  new MutationObserver(() => {{
    document.querySelectorAll("[data-seq]").forEach((entry) => observer.observe(entry));
  }}).observe(document, {{ childList: true, subtree: true }});
"""
_NODES = "() => document.querySelectorAll('*').length"


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
    tab.show_cards()
    tab.page.add_init_script(_WATCH)
    tab.open(f"/sessions/{shop.SESSION}")
    last = entry(tab, COUNT)
    expect(last).to_be_in_viewport()
    expect(last.locator("img")).not_to_have_js_property("naturalWidth", 0)
    assert {numbers[content_id] for content_id in tab.content_ids()} <= recorded_entries(tab)
    assert len(recorded_entries(tab)) < 50

    tab.page.get_by_role("region", name="Entries").focus()
    tab.page.keyboard.press("Home")
    expect(entry(tab, 1)).to_be_in_viewport()
    for number in (4, 136, 252, 400):
        go_to(tab, number)
        expect(entry(tab, number).locator("img")).to_have_js_property(
            "naturalHeight", SIDE + number
        )
        assert tab.page.evaluate(_NODES) <= MAX_NODES
    tab.page.get_by_role("region", name="Entries").focus()
    tab.page.keyboard.press("End")
    expect(last).to_be_in_viewport()
    fetched = {numbers[content_id] for content_id in tab.content_ids()}
    assert {4, 136, 252, 400, COUNT} <= fetched
    assert fetched <= recorded_entries(tab)
    assert len(fetched) < len(numbers)


def entry(tab: Tab, number: int) -> Locator:
    return tab.page.locator(f'[data-seq="{number}"]')


def go_to(tab: Tab, number: int) -> None:
    """Go to an entry by its number, as a reader would."""
    tab.page.keyboard.press("g")
    field = tab.page.get_by_label("Number of an entry, or a time")
    field.fill(f"{number}")
    field.press("Enter")
    expect(entry(tab, number)).to_be_in_viewport()


def recorded_entries(tab: Tab) -> set[int]:
    """Return the numbers of the entries that were in or near the viewport."""
    return set(tab.page.evaluate("() => Array.from(window.seenEntries)"))


def test_way_to_the_beginning_is_kept_until_the_beginning_is_there(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written_turn(writer, [f"Entry {number + 1}." for number in range(COUNT)])
    tab = open_tab(open_service)
    routes: list[Route] = []

    def hold(route: Route) -> None:
        routes.append(route)

    # The newest are asked for first, and then all that is before them.
    earlier = re.compile(r"/outline\?.*after=0\b")
    tab.page.route(earlier, hold)
    tab.open(f"/sessions/{shop.SESSION}")
    expect(entry(tab, COUNT)).to_be_in_viewport()
    expect(tab.page.get_by_text("Loading 380 earlier numbers")).to_be_attached()
    tab.page.get_by_role("region", name="Entries").focus()
    tab.page.keyboard.press("Home")
    expect(entry(tab, COUNT)).not_to_be_in_viewport()
    assert len(routes) == 1
    routes[0].continue_()
    tab.page.unroute(earlier)
    expect(entry(tab, 1)).to_be_in_viewport()
    expect(tab.page.locator(".day")).to_be_in_viewport()
    # Who moves on is not brought back.
    tab.page.get_by_role("region", name="Entries").hover()
    tab.page.mouse.wheel(0, 3_000)
    expect(entry(tab, 1)).not_to_be_in_viewport()
    tab.page.keyboard.press("Home")
    expect(entry(tab, 1)).to_be_in_viewport()
    tab.page.reload()
    expect(entry(tab, 1)).to_be_in_viewport()


def test_outline_is_asked_for_once_and_while_the_script_of_the_view_loads(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    shop.written_turn(writer, [f"Entry {number + 1}." for number in range(COUNT)])
    tab = open_tab(open_service)
    scripts: list[Route] = []

    def hold(route: Route) -> None:
        scripts.append(route)

    tab.page.route(re.compile(r"/assets/TimelineView-.*\.js"), hold)
    newest = f"/api/sessions/{shop.SESSION}/outline?limit=120&after={COUNT - 120}"
    with tab.page.expect_response(lambda answer: answer.url.endswith(newest)):
        tab.page.goto(f"{tab.base_url}/sessions/{shop.SESSION}", wait_until="commit")
    expect(entry(tab, COUNT)).not_to_be_attached()
    scripts[0].continue_()
    expect(entry(tab, COUNT)).to_be_in_viewport()
    tab.page.get_by_role("region", name="Entries").focus()
    tab.page.keyboard.press("Home")
    expect(entry(tab, 1)).to_be_in_viewport()
    asked = [request.url for request in tab.requests if "/outline?" in request.url]
    assert [url for url in asked if url.endswith(newest)] == [tab.base_url + newest]
