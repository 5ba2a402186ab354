"""The fixtures of `tests/browser`, and those of `tests/conftest.py`, which the command names."""

from tests.browser.conftest import (
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

__all__ = [
    "browser",
    "keyed_service",
    "new_key",
    "open_service",
    "open_tab",
    "pytest_collection_modifyitems",
    "pytest_runtest_teardown",
    "shared_service",
    "writer",
]
