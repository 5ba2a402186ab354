"""The view of pages: search, levels, renderings and downloads."""

import json
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser import drawings, shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.contract.page_requests import put
from tests.kit.servers import LiveService


@pytest.fixture
def tab(open_service: LiveService, open_tab: OpenTab, writer: httpx.Client) -> Tab:
    """A tab of a service that has pages."""
    shop.put_pages(writer)
    return open_tab(open_service)


def listed(tab: Tab) -> list[str]:
    return tab.page.locator(".page-row .page-id").all_inner_texts()


def test_pages_are_listed_filtered_and_found_by_their_words(tab: Tab, writer: httpx.Client) -> None:
    page = tab.page
    tab.open("/pages")
    expect(page.get_by_text("5 pages, newest first")).to_be_visible()
    assert set(listed(tab)) == {
        "latency-chart",
        "gateway-runbook",
        "order-k-20418",
        "hotline-call",
        "click-recording",
    }
    page.get_by_label("Modality").select_option("image")
    expect(page.get_by_text("1 page, newest first")).to_be_visible()
    expect(page.locator(".page-row .page-id")).to_have_text([shop.CHART_PAGE])
    page.get_by_label("Modality").select_option("any")
    page.get_by_label("Words").fill("expiry certificate")
    page.keyboard.press("Enter")
    # The page that has both words stands before the one that has one of them.
    expect(page.get_by_text("2 pages, best first")).to_be_visible()
    snippet = page.locator(".page-snippet").first
    expect(snippet).to_contain_text("expiry of the gateway's certificate")
    page.go_back()
    expect(page.get_by_text("5 pages, newest first")).to_be_visible()
    tab.await_live()
    put(writer, "written-later", content="News.", hint="It came by itself")
    expect(page.get_by_text("6 pages, newest first")).to_be_visible()


def test_page_is_read_at_every_level_and_saved(tab: Tab, tmp_path: Path) -> None:
    page = tab.page
    tab.open("/pages")
    page.get_by_role("link", name=shop.CHART_PAGE).click()
    content = page.locator(".level-content")
    expect(content).to_contain_text("FULL, as it was stored")
    expect(content.locator("img")).to_have_js_property("naturalWidth", 640)
    page.get_by_role("radio", name="REDUCED").check()
    expect(content).to_contain_text("REDUCED, derived from the page")
    expect(content.locator("img")).to_have_js_property("naturalWidth", 512)
    page.get_by_role("radio", name="ABSTRACT").check()
    expect(content).to_contain_text("ABSTRACT, derived from the page")
    expect(content).to_contain_text("it doubles at 13:00")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download at ABSTRACT").click()
    assert saved.value.suggested_filename.startswith(shop.CHART_PAGE)
    page.get_by_role("radio", name="FULL").check()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download at FULL").click()
    saved.value.save_as(tmp_path / "saved.png")
    assert (tmp_path / "saved.png").read_bytes() == drawings.latency_chart()


def test_page_is_shown_as_a_model_gets_it_with_what_is_lost(tab: Tab) -> None:
    page = tab.page
    tab.open(f"/pages/{shop.CHART_PAGE}")
    preview = page.get_by_role("region", name="What a model gets")
    expect(preview).to_contain_text("Nothing was dropped.")
    messages = preview.locator("pre")
    tool, user = json.loads(messages.inner_text())
    assert (tool["role"], user["role"]) == ("tool", "user")
    assert [block["type"] for block in user["content"]] == ["text", "image_url"]
    page.locator("main").get_by_role("combobox").select_option("text")
    loss = page.get_by_role("region", name="Dropped")
    expect(loss.locator("tbody tr")).to_have_count(1)
    expect(loss).to_contain_text("original → caption")
    expect(loss).to_contain_text("/api/")


def test_looking_at_a_page_is_no_read_by_the_agent(tab: Tab, writer: httpx.Client) -> None:
    before = writer.get(f"/api/pages/{shop.CHART_PAGE}").json()["access_count"]
    tab.open(f"/pages/{shop.CHART_PAGE}")
    preview = tab.page.get_by_role("region", name="What a model gets")
    expect(preview.get_by_role("status")).to_contain_text("tokens")
    assert writer.get(f"/api/pages/{shop.CHART_PAGE}").json()["access_count"] == before
