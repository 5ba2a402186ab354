"""`/docs`: the API is found, understood and called in a browser, also on a phone."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.accessibility import serious_violations
from tests.browser.conftest import OpenTab
from tests.browser.explorer import explorer, operation, pardon
from tests.kit.servers import LiveService

_TRANSITIONS_OVER = """() => Promise.allSettled(document.getAnimations()
    .filter(each => each instanceof CSSTransition).map(each => each.finished))"""
WIDE, PHONE = ViewportSize(width=1280, height=900), ViewportSize(width=390, height=844)
EXCEPTIONS = {
    # Swagger UI puts the link to an operation inside of the button that opens it. Both are reached
    # with the keyboard, and both lead to the same place.
    "nested-interactive",
}


def assert_usable(page: Page) -> None:
    """Nothing is in the way of anybody, and nothing is wider than the screen."""
    for size in (PHONE, WIDE):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        # A button that changes its colour has too little contrast on the way.
        page.evaluate(_TRANSITIONS_OVER)
        assert serious_violations(page, EXCEPTIONS) == []


def test_every_tag_leads_to_operations_with_the_types_of_their_parameters(
    open_tab: OpenTab, shared_service: LiveService
) -> None:
    tab = explorer(open_tab, shared_service)
    page = tab.page
    assert_usable(page)
    page.get_by_placeholder("Filter by tag").fill("events")
    expect(page.locator(".opblock-tag")).to_have_count(1)
    page.locator(".opblock-tag").click()
    operation(page, "stream_session_events").locator(".opblock-summary-control").click()
    assert re.search(r"/docs#/events/stream_session_events$", page.url)
    section = operation(page, "stream_session_events")
    parameter = section.locator("tr[data-param-name=after]")
    expect(parameter.locator(".parameter__type")).to_have_text("integer($int64)")
    expect(section.get_by_text("StreamEvent").first).to_be_visible()
    assert_usable(page)
    pardon(tab)


def test_operation_is_called_from_a_phone(open_tab: OpenTab, shared_service: LiveService) -> None:
    tab = explorer(open_tab, shared_service, "#/tool%20results/create_tool_result")
    page = tab.page
    page.set_viewport_size(PHONE)
    section = operation(page, "create_tool_result")
    section.get_by_role("button", name="Try it out").click()
    body = section.get_by_label("Body", exact=True)
    body.fill('{"toolName": "clock", "toolCallId": "call_1", "result": "It is ten."}')
    assert_usable(page)
    page.set_viewport_size(PHONE)
    section.get_by_role("button", name="Execute").click()
    answer = section.locator(".live-responses-table")
    expect(answer).to_contain_text("201")
    expect(answer).to_contain_text("It is ten.")
    assert_usable(page)
    pardon(tab)


def test_dialog_for_the_key_is_usable(
    open_tab: OpenTab, keyed_service: LiveService, new_key: Callable[[LiveService], str]
) -> None:
    tab = explorer(open_tab, keyed_service)
    tab.page.get_by_role("button", name="Authorize").first.click()
    dialog = tab.page.locator(".dialog-ux")
    dialog.get_by_label("API key").fill(new_key(keyed_service))
    assert_usable(tab.page)
    pardon(tab)
