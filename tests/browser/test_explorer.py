"""`/docs` keeps no key; how it is used is tried in `web/check`."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenTab
from tests.browser.explorer import explorer, operation, pardon
from tests.kit.servers import LiveService


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "The explorer of the API keeps no key, and asks nobody but the service",
    kept_by="app/routers/viewer.py",
    tried="0 requests to other hosts, 0 keys kept",
)
def test_key_is_sent_and_not_kept(
    open_tab: OpenTab, keyed_service: LiveService, new_key: Callable[[LiveService], str]
) -> None:
    tab = explorer(open_tab, keyed_service, "#/operations/get_version")
    page = tab.page
    page.get_by_role("button", name="Authorize").first.click()
    dialog = page.locator(".dialog-ux")
    dialog.get_by_label("API key").fill(new_key(keyed_service))
    dialog.get_by_role("button", name="Authorize").click()
    dialog.get_by_role("button", name="Close").last.click()
    shown = operation(page, "get_version")
    shown.get_by_role("button", name="Try it out").click()
    shown.get_by_role("button", name="Execute").click()
    expect(shown.locator(".live-responses-table")).to_contain_text('"pagefault"')
    kept = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
    assert page.evaluate(kept) == '[{},{},""]'
    page.reload()
    expect(page.get_by_role("button", name="Authorize").first).to_have_class(re.compile("unlocked"))
    pardon(tab)
