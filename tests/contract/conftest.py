"""What the tests of the HTTP surface share: a project for tests that have no page in common."""

from collections.abc import Iterator

import httpx
import pytest

from tests.servers import LiveService

# Their assertions are to say what differed, as those in the test files do.
pytest.register_assert_rewrite(
    "tests.contract.page_case_checks",
    "tests.contract.page_cases",
    "tests.contract.page_requests",
    "tests.contract.session_requests",
)


@pytest.fixture(scope="module")
def shared_client(service: LiveService) -> Iterator[httpx.Client]:
    """A client in a project that the tests of a file share."""
    with service.client() as client:
        yield client
