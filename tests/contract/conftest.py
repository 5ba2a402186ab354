"""What the tests of the HTTP surface share: a project for tests that have no page in common."""

from collections.abc import Iterator

import httpx
import pytest

from tests.servers import LiveService


@pytest.fixture(scope="module")
def shared_client(service: LiveService) -> Iterator[httpx.Client]:
    """A client in a project that the tests of a file share."""
    with service.client() as client:
        yield client
