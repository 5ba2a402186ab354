"""Texts that keep what reads them busy: the viewer shows them as they were written, and goes on."""

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import shop
from tests.browser.conftest import OpenTab
from tests.browser.tabs import Tab
from tests.kit.servers import LiveService

# What reads Markdown takes 39 seconds for it.
MARKDOWN = "**bold**\n\n" + "_a" * 99_990
# What colours code takes 16 seconds for it.
CODE = "**bold**\n\n```ini\n" + "a" * 60_000 + "\n```\n"
# Its tokens take two gigabytes: each row has as many cells as its header.
TABLE = "|a" * 2_400 + "|\n" + "|-" * 2_400 + "|\n" + "a\n" * 5_000
NOTE = "Shown as written: it takes too long to lay it out."
# Notes how many workers were started, and how many have ended.
_COUNT_WORKERS = """
  window.workers = { started: 0, ended: 0 };
  window.Worker = class extends Worker {
    constructor(...given) { super(...given); window.workers.started += 1; }
    terminate() { super.terminate(); window.workers.ended += 1; }
  };
"""


@pytest.fixture
def opened(
    open_service: LiveService, open_tab: OpenTab, writer: httpx.Client
) -> Callable[..., Tab]:
    """Opens a session of some texts, in a tab that counts workers."""

    def tab_of(*texts: str, prepare: Callable[[Page], object] = lambda _: None) -> Tab:
        shop.written(writer, [shop.message("assistant", text) for text in texts])
        tab = open_tab(open_service)
        tab.page.add_init_script(_COUNT_WORKERS)
        prepare(tab.page)
        tab.open(f"/sessions/{shop.SESSION}")
        expect(tab.entries).to_have_count(len(texts))
        return tab

    return tab_of


def lay_out(entry: Locator) -> None:
    entry.get_by_role("button", name="Formatted").click()


def await_no_worker(tab: Tab, *, started: int) -> None:
    """Wait until all workers have ended."""
    tab.page.wait_for_function(
        "least => workers.started >= least && workers.ended === workers.started", arg=started
    )


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "A text that takes long to lay out or to colour does not stop the viewer, and is shown as "
    "written after a second",
    kept_by="web/src/reading/textReader.ts",
    tried="texts of 39 and 16 seconds",
)
def test_text_that_takes_long_is_shown_as_written_and_holds_up_nothing(
    opened: Callable[..., Tab],
) -> None:
    tab = opened(MARKDOWN, CODE, "An **honest** text.")
    long, code, honest = (tab.entries.nth(place) for place in range(3))
    expect(honest.locator("strong")).to_have_text("honest")
    lay_out(long)
    # The page answers while the text is read.
    lay_out(code)
    expect(long.get_by_text(NOTE)).to_be_attached()
    expect(long.locator("pre.text")).to_have_text(MARKDOWN)
    expect(code.locator("pre.code")).to_be_attached()
    code.get_by_role("button", name="Colour the words").click()
    # One for the first two texts, and one after each that was ended.
    await_no_worker(tab, started=2)
    expect(code.locator("pre.code span")).to_have_count(0)


def test_long_text_is_laid_out_and_coloured_when_that_is_asked_for(
    opened: Callable[..., Tab],
) -> None:
    lines = "def charge() -> bool: ...\n" * 500
    tab = opened(f"**bold**\n\n```python\n{lines}```\n" + "word " * 2_000)
    entry = tab.entries.first
    expect(entry.locator("pre.text")).to_be_visible()
    lay_out(entry)
    expect(entry.locator("strong")).to_have_text("bold")
    expect(entry.locator("pre.code span")).to_have_count(0)
    entry.get_by_role("button", name="Colour the words").click()
    expect(entry.locator("pre.code .hljs-keyword")).to_have_count(500)


@pytest.mark.promise(
    "security.md#the-origin-in-a-browser",
    "A Markdown table of a few thousand characters takes no gigabytes",
    kept_by="web/src/reading/markdownTree.ts",
    tried="2,400 columns in 5,000 rows, 20 KB",
)
def test_table_of_millions_of_cells_is_no_table(opened: Callable[..., Tab]) -> None:
    tab = opened(TABLE)
    expect(tab.entries.first.locator(".markdown p")).to_contain_text("|a|a|a")
    expect(tab.entries.first.locator("td")).to_have_count(0)


def test_many_texts_are_read_by_one_worker(opened: Callable[..., Tab]) -> None:
    fence = "```python\ndef charge_{}() -> bool: ...\n```\n"
    tab = opened("\n".join(fence.format(number) for number in range(60)), "# Also")
    expect(tab.entries.first.locator("pre.code .hljs-keyword")).to_have_count(60)
    expect(tab.entries.last.get_by_role("heading", name="Also")).to_be_attached()
    await_no_worker(tab, started=1)


def test_text_that_is_shown_no_more_leaves_no_worker(opened: Callable[..., Tab]) -> None:
    tab = opened(MARKDOWN)
    lay_out(tab.entries.first)
    tab.page.wait_for_function("() => window.workers.started === 1")
    tab.page.get_by_role("link", name="Pages", exact=True).click()
    expect(tab.entries).to_have_count(0)
    await_no_worker(tab, started=1)


def no_script(page: Page) -> None:
    page.route("**/textWorker-*", lambda route: route.abort())


def no_workers(page: Page) -> None:
    page.add_init_script("window.Worker = class { constructor() { throw new Error('none'); } };")


@pytest.mark.parametrize("prepare", [no_script, no_workers])
def test_text_is_shown_as_written_where_no_worker_starts(
    opened: Callable[..., Tab], prepare: Callable[[Page], None]
) -> None:
    tab = opened("An **honest** text.", "# Another", prepare=prepare)
    for entry, text in zip(tab.entries.all(), ("An **honest** text.", "# Another"), strict=True):
        expect(entry.get_by_text(NOTE)).to_be_visible()
        expect(entry.locator("pre.text")).to_have_text(text)
