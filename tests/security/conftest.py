"""Both engines at once, for what has to come out the same on either."""

from collections.abc import Iterator

import httpx
import pytest

from tests.kit.servers import ENGINES, Backends, serving


@pytest.fixture(scope="session")
def both(
    backends: Backends, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """A client of either engine, in a project that is called the same on both."""
    folder = tmp_path_factory.mktemp("both")
    first, second = (backends.settings(engine, folder / engine) for engine in ENGINES)
    with (
        serving(first) as embedded,
        serving(second) as server,
        embedded.client(embedded.new_key("p")) as one,
        server.client(server.new_key("p")) as other,
    ):
        yield one, other
