"""Checks of pages with axe-core, in the light and the dark colour scheme."""

from tests.browser.accessibility import axe_script, violations
from tests.browser.tabs import Tab


def add_axe(tab: Tab) -> Tab:
    """Add axe-core to the pages that a tab opens from now on, and return the tab."""
    tab.page.context.add_init_script(path=axe_script())
    return tab


def assert_accessible(tab: Tab) -> None:
    for scheme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=scheme)
        assert violations(tab.page) == [], (tab.page.url, scheme)
