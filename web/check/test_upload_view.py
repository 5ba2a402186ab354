"""Files dropped or chosen become resources, and one sees it happen."""

import re

import httpx
import pytest
from playwright.sync_api import Locator, expect

from tests.browser import drawings
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.contract.page_requests import stored_bytes
from tests.kit import media
from tests.kit.servers import LiveService

_DROPPED = """([name, type, text]) => {
  const dropped = new DataTransfer();
  dropped.items.add(new File([text], name, { type }));
  return dropped;
}"""


@pytest.fixture
def tab(open_service: LiveService, open_tab: OpenTab) -> Tab:
    """A tab in which files can be dropped."""
    tab = open_tab(open_service)
    tab.open("/upload")
    return tab


def row(tab: Tab, name: str) -> Locator:
    return tab.page.get_by_role("list", name="Files").get_by_role("listitem").filter(has_text=name)


def reference(row: Locator) -> str:
    return row.get_by_label("Reference of the resource").input_value()


def test_chosen_files_are_sent_with_progress_and_kept(tab: Tab, writer: httpx.Client) -> None:
    large, chart = media.noise_bytes(300_000), drawings.latency_chart()
    tab.slow_down(upload=200_000)
    tab.choose_files(
        ("core.dump", "application/octet-stream", large), ("chart.png", "image/png", chart)
    )
    progress = tab.page.get_by_role("progressbar", name="Progress of core.dump")
    expect(progress).to_be_visible()
    expect(row(tab, "chart.png")).to_contain_text("waiting")
    expect(row(tab, "core.dump").locator(".upload-progress")).to_contain_text("%")
    tab.slow_down(upload=None)
    expect(tab.page.get_by_text("2 of 2 files kept")).to_be_visible()
    expect(row(tab, "chart.png").locator("img")).to_have_js_property("naturalWidth", 640)
    assert stored_bytes(writer, reference(row(tab, "core.dump"))) == large
    assert stored_bytes(writer, reference(row(tab, "chart.png"))) == chart


def test_dropped_file_is_kept(tab: Tab, writer: httpx.Client) -> None:
    file = ["notes.txt", "text/plain", "Call the provider."]
    dropped = tab.page.evaluate_handle(_DROPPED, file)
    zone = tab.page.locator(".drop-zone")
    zone.dispatch_event("dragover", {"dataTransfer": dropped})
    expect(zone).to_contain_class("over")
    zone.dispatch_event("drop", {"dataTransfer": dropped})
    expect(tab.page.get_by_text("1 of 1 file kept")).to_be_visible()
    assert stored_bytes(writer, reference(row(tab, "notes.txt"))) == b"Call the provider."


def test_upload_can_be_given_up_and_sent_again(tab: Tab) -> None:
    tab.slow_down(upload=50_000)
    tab.choose_files(("a.bin", "application/octet-stream", media.noise_bytes(500_000)))
    tab.page.get_by_role("button", name="Cancel a.bin").click()
    expect(row(tab, "a.bin")).to_contain_text("given up")
    tab.slow_down(upload=None)
    tab.page.get_by_role("button", name=re.compile("Send again *: a.bin")).click()
    expect(tab.page.get_by_text("1 of 1 file kept")).to_be_visible()
