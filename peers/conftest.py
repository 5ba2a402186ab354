"""A live service, and the files that the servers are asked about."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx
import pytest

from app.config.settings import Settings
from app.wiring.stores import migrate_database
from tests.browser.conftest import (
    browser,
    open_tab,
    pytest_collection_modifyitems,
    pytest_runtest_teardown,
)
from tests.kit import media
from tests.kit.servers import serving

__all__ = ["browser", "open_tab", "pytest_collection_modifyitems", "pytest_runtest_teardown"]

_GIT = ("git", "-c", "user.name=Somebody", "-c", "user.email=somebody@example.com")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a service on the stores that need no server."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), auth="api-key", log_level="error")
    anyio.run(migrate_database, settings)
    with serving(settings) as service, service.client() as client:
        yield client


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts, a picture and a repository."""
    folder = tmp_path_factory.mktemp("folder")
    (folder / "a.txt").write_text("The first line of a text.\nThe second, with ë and 北京.\n")
    (folder / "b.json").write_text('{"a key of a document": [1, null, true]}\n')
    (folder / "picture.png").write_bytes(media.png(noise=True))
    (folder / "inner" / "most").mkdir(parents=True)
    (folder / "inner" / "most" / "file.txt").write_text("deep")
    _make_repository(folder / "repository")
    return folder


def _make_repository(folder: Path) -> None:
    folder.mkdir()
    (folder / "file.txt").write_text("what was committed\n")
    for command in (["init", "--quiet"], ["add", "file.txt"], ["commit", "--quiet", "-m", "Begin"]):
        subprocess.run([*_GIT, *command], cwd=folder, check=True)  # noqa: S603 - git, as it is
    (folder / "file.txt").write_text("what was changed since\n")
