"""The options, fixtures and scheduler of `tests`, and the browser of `tests/browser`."""

import httpx
import pytest

from tests.browser.conftest import (
    OpenTab,
    browser,
    keyed_service,
    new_key,
    open_service,
    open_tab,
    pytest_collection_modifyitems,
    pytest_runtest_teardown,
    shared_service,
    writer,
)
from tests.browser.tabs import Tab
from tests.conftest import (
    anyio_backend,
    backends,
    client,
    databases_of_one_test,
    engine,
    pagefault,
    pytest_addoption,
    pytest_configure,
    pytest_generate_tests,
    pytest_runtestloop,
    pytest_xdist_make_scheduler,
    service,
    settings,
)
from tests.kit.servers import LiveService

# isort: split
# Not before `tests.conftest`, which has the assertions in it rewritten.
from tests.browser import shop

__all__ = [
    "anyio_backend",
    "backends",
    "browser",
    "client",
    "databases_of_one_test",
    "engine",
    "keyed_service",
    "new_key",
    "open_service",
    "open_tab",
    "pagefault",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_runtest_teardown",
    "pytest_runtestloop",
    "pytest_xdist_make_scheduler",
    "service",
    "settings",
    "shared_service",
    "tab_of_everything",
    "writer",
]


@pytest.fixture
def tab_of_everything(open_service: LiveService, open_tab: OpenTab, writer: httpx.Client) -> Tab:
    """A tab of a service with one session, which has every kind of entry; nothing is open yet."""
    shop.written(writer, shop.EVERYTHING)
    return open_tab(open_service)
