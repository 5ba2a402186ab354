"""A session as it is written: entries appear by themselves, and a reload shows the same."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Response, expect

from tests.browser import drawings, shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.contract.render_cases import file_block
from tests.kit.servers import LiveService

# What a reload has to change: signed links, and ids that React numbers as it goes.
_NOT_LASTING = re.compile(r'(?<=token=)[^" ]+| poster=blob:\S+')
_NUMBERED = ["id", "aria-labelledby", "aria-controls"]
# Attributes in the order of their names, since it says nothing in which order they were set.
_DOCUMENT = """(root, numbered) => {
  const lines = [];
  for (const each of root.querySelectorAll("*")) {
    const said = Array.from(each.attributes, ({ name, value }) => `${name}=${value}`)
      .filter((attribute) => !numbered.includes(attribute.split("=")[0]));
    const words = Array.from(each.childNodes).filter((node) => node.nodeType === 3);
    lines.push([each.tagName, ...said.sort(), ...words.map((node) => node.data)].join(" "));
  }
  return lines;
}"""
_PLAY = """(video) => new Promise((done, failed) => {
  const start = video.currentTime;
  video.addEventListener("timeupdate", () => video.currentTime > start + 0.2 && done(true));
  setTimeout(() => failed(new Error(`it stands at ${video.currentTime}`)), 20_000);
  video.muted = true;
  video.play().catch(failed);
})"""
_SEEK = """(video, to) => new Promise((done, failed) => {
  video.addEventListener("seeked", () => done(video.currentTime), { once: true });
  video.addEventListener("loadedmetadata", () => (video.currentTime = to));
  if (video.readyState > 0) video.currentTime = to;
  setTimeout(() => failed(new Error("it does not seek")), 20_000);
})"""


def shown(tab: Tab) -> list[str]:
    """All that stands in the timeline: its text, line by line, and its document, tag by tag."""
    entries = tab.page.locator("ol.entries")
    tags = [_NOT_LASTING.sub("", tag) for tag in entries.evaluate(_DOCUMENT, _NUMBERED)]
    return entries.inner_text().splitlines() + tags


def _is_range_of_the_end(response: Response) -> bool:
    span = re.match(r"bytes (\d+)-\d+/(\d+)", response.headers.get("content-range", ""))
    return span is not None and int(span[1]) > int(span[2]) / 2


@pytest.mark.requirement("002-viewer-renders-parts")
def test_video_appears_without_a_reload_plays_and_is_fetched_in_ranges(
    keyed_service: LiveService, open_tab: OpenTab, new_key: Callable[[LiveService], str]
) -> None:
    key = new_key(keyed_service)
    tab = open_tab(keyed_service)
    with keyed_service.client(key) as agent:
        shop.written(agent, [shop.message("user", "Record the screen.")])
        tab.open(f"/sessions/{shop.SESSION}")
        tab.give_key(key)
        expect(tab.entries).to_have_count(1)
        tab.await_live()
        # So that the end has not come by itself before it is wanted.
        tab.slow_down(download=4_000_000)
        recording = file_block("screen.mp4", drawings.heavy_clip(), "video/mp4")
        shop.written(agent, [shop.tool_result("recorder", "call_1", shop.content(recording))])
    video = tab.entries.nth(1).locator("video")
    expect(video).to_be_visible()
    with tab.page.expect_response(_is_range_of_the_end):
        assert video.evaluate(_SEEK, 3.5) == pytest.approx(3.5, abs=0.2)
    tab.slow_down(download=None)
    assert video.evaluate(_SEEK, 1) == pytest.approx(1, abs=0.2)
    assert video.evaluate(_PLAY)
    # The findings come when the session has been quiet for a while.
    expect(tab.page.get_by_text("Anthropic would refuse this")).to_be_visible()
    before = shown(tab)
    tab.page.reload()
    expect(tab.entries).to_have_count(2)
    expect(tab.entries.nth(1).locator("video")).to_have_attribute("src", re.compile("token="))
    expect(tab.page.get_by_text("Anthropic would refuse this")).to_be_visible()
    assert shown(tab) == before


@pytest.mark.requirement("002-viewer-consumes-the-record")
@pytest.mark.requirement("002-viewer-renders-parts")
def test_every_kind_of_entry_is_the_same_live_and_after_a_reload(
    open_service: LiveService, open_tab: OpenTab
) -> None:
    tab = open_tab(open_service)
    tab.open(f"/sessions/{shop.SESSION}")
    expect(tab.page.get_by_text("There is no session")).to_be_visible()
    tab.await_live()
    with open_service.client("none") as agent:
        shop.written(agent, shop.EVERYTHING)
        examined = {"sessionId": shop.SESSION}
        report = agent.post("/api/doctor", params={"target": "anthropic"}, json=examined).json()
    # The findings come when the session has been quiet for a while.
    badge = tab.page.get_by_text(f"Anthropic would refuse this ({len(report['findings'])})")
    expect(tab.entries).to_have_count(shop.ENTRIES)
    expect(badge).to_be_visible()
    _pass_through(tab)
    before = shown(tab)
    tab.page.reload()
    expect(tab.entries).to_have_count(shop.ENTRIES)
    expect(badge).to_be_visible()
    _pass_through(tab)
    assert shown(tab) == before
    assert "Page fault latency-chart" in before


def _pass_through(tab: Tab) -> None:
    """Look at every entry, so that all media have been wanted."""
    for entry in tab.entries.all():
        entry.scroll_into_view_if_needed()
        for medium in entry.locator("img, audio, video").all():
            expect(medium).to_have_attribute("src", re.compile("."))
