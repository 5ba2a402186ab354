"""Fixtures for tests in a browser: Debian's Chromium, the built viewer and live services.

Here is what the service has to see to: keys, policies, foreign pages, live events. What the viewer
shows is tried in `web/check`, with these fixtures.

Playwright runs a loop of its own in the thread of the tests, where no other may run then: what
needs one is done in a thread beside.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Protocol

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from app.config.settings import Settings
from app.shipped_files import BUILT_VIEWER
from tests.browser.tabs import Tab
from tests.kit.process import PagefaultProcess
from tests.kit.servers import LiveService, serving

CHROMIUM = Path("/usr/bin/chromium-headless-shell")
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Unregistered names, for pages of other origins.
    "--host-resolver-rules=MAP *.example 127.0.0.1",
)
_WAIT_MS = 20_000
# Resources that are closed with the browser.
_open = ExitStack()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file together: each worker that has one of them starts a browser."""
    for item in items:
        if _has_browser(item):
            item.add_marker(pytest.mark.xdist_group(f"browser: {item.path.name}"))


def _has_browser(item: pytest.Item) -> bool:
    return "browser" in getattr(item, "fixturenames", ())


class OpenTab(Protocol):
    """Makes a tab in a context of its own, with Playwright's options for contexts."""

    def __call__(self, service: LiveService | PagefaultProcess, /, **options: object) -> Tab: ...


@pytest.fixture
def browser() -> Browser:
    """A browser for all tests that a worker runs one after the other."""
    return _launched()


@cache
def _launched() -> Browser:
    assert CHROMIUM.exists(), f"install Debian's package {CHROMIUM.name}"
    assert (BUILT_VIEWER / "index.html").exists(), f"run `make web`: {BUILT_VIEWER} is not built"
    expect.set_options(timeout=_WAIT_MS)
    playwright = _open.enter_context(sync_playwright())
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
    _open.callback(browser.close)
    return browser


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Close the browser, and end its loop, before a test without one, even if a fixture fails."""
    try:
        yield
    finally:
        if nextitem is None or not _has_browser(nextitem):
            _launched.cache_clear()
            _open.close()


@pytest.fixture
def open_tab(browser: Browser) -> Iterator[OpenTab]:
    """Opens tabs; what they did that nobody may have wanted is a failure of the test."""
    contexts: list[BrowserContext] = []
    tabs: list[Tab] = []

    def opened(service: LiveService | PagefaultProcess, /, **options: object) -> Tab:
        chosen = {"locale": "en-GB", "timezone_id": "UTC", **options}
        context = browser.new_context(**chosen)  # type: ignore[arg-type]
        context.set_default_timeout(_WAIT_MS)
        contexts.append(context)
        tabs.append(Tab(context.new_page(), service.base_url))
        return tabs[-1]

    yield opened
    for context in contexts:
        context.close()
    assert [fault for tab in tabs for fault in tab.faults] == []


@pytest.fixture
def open_service(tmp_path: Path) -> Iterator[LiveService]:
    """A service of one test, without keys."""
    with serving(Settings(data_dir=tmp_path / "open", auth="none", log_level="error")) as live:
        yield live


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service that the tests of a file share, without keys."""
    data_dir = tmp_path_factory.mktemp("shared")
    with serving(Settings(data_dir=data_dir, auth="none", log_level="error")) as live:
        yield live


@pytest.fixture(scope="module")
def keyed_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service that the tests of a file share, each with a key of its own."""
    data_dir = tmp_path_factory.mktemp("keyed")
    with serving(Settings(data_dir=data_dir, auth="api-key", log_level="error")) as live:
        yield live


@pytest.fixture
def new_key() -> Callable[[LiveService], str]:
    """Makes a key of a new project."""

    def made(service: LiveService) -> str:
        with ThreadPoolExecutor(1) as beside:
            return beside.submit(service.new_key).result()

    return made


@pytest.fixture
def writer(open_service: LiveService) -> Iterator[httpx.Client]:
    """An agent that writes to the open service."""
    with open_service.client("none") as client:
        yield client
