"""Fixtures of the HTTP tests: a shared project, and a service with small limits."""

from collections.abc import Iterator

import httpx
import pytest

from tests.kit.servers import Backends, Engine, LiveService, serving


@pytest.fixture(scope="module")
def shared_client(service: LiveService) -> Iterator[httpx.Client]:
    """A client in a project that the tests of a file share."""
    with service.client() as client:
        yield client


@pytest.fixture(scope="module")
def small_service(
    request: pytest.FixtureRequest,
    backends: Backends,
    engine: Engine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LiveService]:
    """A service whose limits are quickly reached: those that the file calls `SMALL_LIMITS`."""
    data_dir = tmp_path_factory.mktemp("small")
    limits = request.module.SMALL_LIMITS
    with serving(backends.settings(engine, data_dir, limits=limits)) as live:
        yield live
