"""That what is shown violates no rule of axe-core, light or dark."""

from tests.browser.accessibility import axe_script, violations
from tests.browser.tabs import Tab


def watched(tab: Tab) -> Tab:
    """The same tab, with the means to look for violations in what it opens from now on."""
    tab.page.context.add_init_script(path=axe_script())
    return tab


def assert_accessible(tab: Tab) -> None:
    for scheme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=scheme)
        assert violations(tab.page) == [], (tab.page.url, scheme)
