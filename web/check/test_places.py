"""Places in the viewer: an entry has an address, and who comes back is where they were."""

import re
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.contract.page_requests import data_uri, put
from tests.kit import media
from tests.kit.servers import LiveService

COUNT = 130
NEAR_PX = 4
# The place of the reader, when it has been the same for ten frames.
_SETTLED = """async (box) => {
  const place = () => {
    const { top } = box.getBoundingClientRect();
    const items = Array.from(box.querySelectorAll("[data-seq]"));
    const seen = items.find((item) => item.getBoundingClientRect().bottom > top);
    return [Number(seen.dataset.seq), seen.getBoundingClientRect().top - top];
  };
  let [before, same] = ["", 0];
  while (same < 10) {
    await new Promise(requestAnimationFrame);
    const now = place().join();
    same = now === before ? same + 1 : 0;
    before = now;
  }
  return place();
}"""


@pytest.fixture(scope="module")
def told_service(shared_service: LiveService) -> LiveService:
    """A service with a session of messages of very different heights."""
    with shared_service.client("none") as agent:
        for number in range(1, COUNT + 1):
            words = f"Entry {number}.\n" + "More words.\n" * (number % 7 * 4)
            message = {"role": "user", "content": words}
            assert agent.post(f"/api/sessions/{shop.SESSION}/messages", json=message).is_success
    return shared_service


def entry(scroller: Locator, seq: int) -> Locator:
    return scroller.locator(f'[data-seq="{seq}"]')


def place_seen(scroller: Locator) -> tuple[int, float]:
    """Return the first entry that is seen, and where it begins, once nothing moves any more."""
    seq, top = scroller.evaluate(_SETTLED)
    return int(seq), float(top)


def assert_place(scroller: Locator, place: tuple[int, float]) -> None:
    expect(entry(scroller, place[0])).to_be_in_viewport()
    # A view that loads slowly moves once more after it had come to rest.
    seen = (0, 0.0)
    for _ in range(20):
        seen = place_seen(scroller)
        if seen[0] == place[0] and abs(seen[1] - place[1]) <= NEAR_PX:
            return
    assert seen == place


def read_up_to(tab: Tab, scroller: Locator, seq: int) -> tuple[int, float]:
    """Turn the wheel upwards until an entry is seen; returns the place."""
    scroller.hover()
    while place_seen(scroller)[0] > seq:
        tab.page.mouse.wheel(0, -700)
    return place_seen(scroller)


@pytest.mark.parametrize("address", ["#16", "?seq=16", "#120"])
def test_entry_has_an_address(told_service: LiveService, open_tab: OpenTab, address: str) -> None:
    seq = int(address.strip("#?seq="))
    tab = open_tab(told_service)
    tab.show_cards()
    tab.open(f"/sessions/{shop.SESSION}{address}")
    scroller = tab.page.get_by_role("region", name="Entries")
    expect(entry(scroller, seq)).to_be_in_viewport()
    tab.page.wait_for_function(
        "seq => Math.abs(document.querySelector(`[data-seq='${seq}']`)"
        ".getBoundingClientRect().top - document.querySelector('.timeline-scroller')"
        ".getBoundingClientRect().top) < 40",
        arg=seq,
    )
    expect(entry(scroller, seq)).to_have_attribute("aria-current", "location")
    entry(scroller, seq + 1).get_by_role("link", name=f"#{seq + 1}", exact=True).click()
    expect(tab.page).to_have_url(
        f"{told_service.base_url}/sessions/{shop.SESSION}"
        f"{address if address[0] == '?' else ''}#{seq + 1}"
    )
    expect(entry(scroller, seq + 1)).to_have_attribute("aria-current", "location")


@pytest.mark.parametrize("address", ["", "#16", "?seq=16"])
def test_reload_and_back_keep_the_place(
    told_service: LiveService, open_tab: OpenTab, address: str
) -> None:
    tab = open_tab(told_service)
    tab.open(f"/sessions/{shop.SESSION}{address}")
    scroller = tab.page.get_by_role("region", name="Entries")
    expect(entry(scroller, 16 if address else COUNT)).to_be_in_viewport()
    place = read_up_to(tab, scroller, 12 if address else 118)
    tab.page.get_by_role("link", name="Pages", exact=True).click()
    expect(tab.page.get_by_role("heading", name="Pages")).to_be_visible()
    tab.page.go_back()
    assert_place(scroller, place)
    tab.page.reload()
    assert_place(scroller, place)
    scroller.focus()
    tab.page.keyboard.press("End")
    expect(entry(scroller, COUNT)).to_be_in_viewport()
    place_seen(scroller)
    tab.page.reload()
    expect(entry(scroller, COUNT)).to_be_in_viewport()


def test_back_leads_from_entry_to_entry(told_service: LiveService, open_tab: OpenTab) -> None:
    tab = open_tab(told_service)
    tab.open(f"/sessions/{shop.SESSION}")
    scroller = tab.page.get_by_role("region", name="Entries")
    expect(entry(scroller, COUNT)).to_be_in_viewport()
    end = place_seen(scroller)
    tab.page.evaluate("() => { location.hash = '#16'; }")
    expect(entry(scroller, 16)).to_have_attribute("aria-current", "location")
    expect(entry(scroller, 16)).to_be_in_viewport()
    place = read_up_to(tab, scroller, 12)
    tab.page.evaluate("() => { location.hash = '#50'; }")
    expect(entry(scroller, 50)).to_be_in_viewport()
    tab.page.go_back()
    assert_place(scroller, place)
    tab.page.go_back()
    assert_place(scroller, end)


def test_reader_at_an_address_stays_there_when_entries_come(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    for number in range(1, 31):
        shop.written(writer, [shop.message("user", f"Entry {number}.\n" + "More.\n" * 12)])
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}#12")
    scroller = tab.page.get_by_role("region", name="Entries")
    expect(entry(scroller, 12)).to_be_in_viewport()
    tab.await_live()
    place = place_seen(scroller)
    shop.written(writer, [shop.message("user", "Thank you.")])
    expect(tab.page.get_by_role("button", name="1 new entry")).to_be_visible()
    assert_place(scroller, place)


@pytest.mark.parametrize("address", ["#400", "?seq=x", "#-1", "#0"])
def test_address_of_no_entry_shows_the_session(
    told_service: LiveService, open_tab: OpenTab, address: str
) -> None:
    tab = open_tab(told_service)
    tab.open(f"/sessions/{shop.SESSION}{address}")
    scroller = tab.page.get_by_role("region", name="Entries")
    expect(entry(scroller, 1 if address == "#0" else COUNT)).to_be_in_viewport()


def test_open_session_is_in_view_in_the_list(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    for number in range(60):
        message = {"role": "user", "content": "Hello."}
        assert writer.post(f"/api/sessions/s-{number}/messages", json=message).is_success
    tab = open_tab(open_service)
    for session in ("s-20", "s-2"):
        tab.open(f"/sessions/{session}")
        row = tab.page.locator('.session-row[aria-current="page"]')
        expect(row).to_have_count(1)
        expect(row).to_be_in_viewport()
        expect(row.locator(".session-id")).to_have_text(session)


def test_address_of_an_entry_is_not_carried_to_another_session(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> None:
    for session in ("s-1", "s-2"):
        message = {"role": "user", "content": "Hello."}
        assert writer.post(f"/api/sessions/{session}/messages", json=message).is_success
    tab = open_tab(open_service)
    tab.open("/sessions/s-1?seq=1&q=s-")
    tab.page.locator(".session-row", has_text="s-2").click()
    expect(tab.page).to_have_url(f"{open_service.base_url}/sessions/s-2?q=s-")


@pytest.mark.parametrize("kind", ["audio", "video"])
def test_recording_of_a_page_fault_plays(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client, kind: str
) -> None:
    mime_type = {"audio": "audio/wav", "video": "video/mp4"}[kind]
    data = {"audio": media.wav(1.0), "video": media.mp4()}[kind]
    words = "Resource: @blob:" + "0" * 32 + "\nSo it is."
    put(writer, "rec", modality=kind, content=data_uri(data, mime_type), transcript=words)
    fault = {"session_id": "s", "target_level": 0}
    assert writer.post("/api/pages/rec/fault", json=fault).is_success
    tab = open_tab(open_service)
    tab.open("/sessions/s")
    player = tab.page.locator(f".call-card {kind}")
    expect(player).to_have_count(1)
    player.evaluate("async (player) => { player.muted = true; await player.play(); }")
    expect(player).to_have_js_property("error", None)
    expect(player).to_have_js_property("ended", True)
    assert player.evaluate("player => player.duration") == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("is_gone", [False, True], ids=["newer build", "part that is gone"])
def test_page_of_an_earlier_build_is_loaded_again_once(
    open_service: LiveService, open_tab: OpenTab, *, is_gone: bool
) -> None:
    """Its parts have other names in the newer build; the address stays the one that was chosen."""
    tab = open_tab(open_service)

    def reloads() -> int:
        loaded = [request for request in tab.requests if request.is_navigation_request()]
        return sum(urlsplit(request.url).path == "/search" for request in loaded)

    def answer(route: Route) -> None:
        if is_gone or not reloads():
            route.fulfill(status=404, body="")
        else:
            route.continue_()

    tab.open("/sessions")
    link = tab.page.get_by_role("link", name="Search", exact=True)
    expect(link).to_be_visible()
    tab.page.route(re.compile(r"/assets/SearchView-.*\.js"), answer)
    link.click()
    heading = "This view broke" if is_gone else "Search"
    expect(tab.page.get_by_role("heading", level=1, name=heading)).to_be_visible()
    assert urlsplit(tab.page.url).path == "/search"
    assert reloads() == 1
