"""`/docs` in a tab."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility import axe_script
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.kit.servers import LiveService


def explorer(open_tab: OpenTab, service: LiveService, place: str = "") -> Tab:
    """A tab with the explorer, at an operation if one is named."""
    tab = open_tab(service)
    tab.page.context.add_init_script(path=axe_script())
    tab.open(f"/docs{place}")
    expect(tab.page.locator(".opblock-tag").first).to_be_visible()
    return tab


def pardon(tab: Tab) -> None:
    """Take out what Swagger UI says of every link to an operation whose id has a `_`."""
    tab.faults[:] = [fault for fault in tab.faults if "escaping deep link" not in fault]


def operation(page: Page, name: str) -> Locator:
    return page.locator(f"[id$='-{name}']")
