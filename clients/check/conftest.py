"""Fixtures: a live service, and a picture."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx
import pytest

from app.config.settings import Settings
from app.wiring.stores import migrate_database
from clients.check.later_version import later_version
from tests.kit import media
from tests.kit.servers import serving


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """An HTTP client with a key, of a service whose answers have undocumented members."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), auth="api-key", log_level="error")
    anyio.run(migrate_database, settings)
    with serving(settings, around=later_version) as service, service.client() as client:
        yield client


@pytest.fixture(scope="session")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to upload."""
    path = tmp_path_factory.mktemp("picture") / "picture.png"
    path.write_bytes(media.png(64, 48))
    return path
