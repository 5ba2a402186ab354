"""The options, fixtures and scheduler of `tests`, for the tests of all packages."""

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
    pytest_runtest_call,
    pytest_runtestloop,
    pytest_xdist_make_scheduler,
    service,
    settings,
)

__all__ = [
    "anyio_backend",
    "backends",
    "client",
    "databases_of_one_test",
    "engine",
    "pagefault",
    "pytest_addoption",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_runtest_call",
    "pytest_runtestloop",
    "pytest_xdist_make_scheduler",
    "service",
    "settings",
]
