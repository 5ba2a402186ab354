"""Which proxies share a service."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.cli.shared_folder import SharedSetup


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedSetup:
    """A setup without settings."""
    monkeypatch.delenv("PAGEFAULT_API_KEY", raising=False)
    return SharedSetup(tmp_path, project=None, env_file=None)


def test_same_setup_has_the_same_folder_in_the_data_directory(setup: SharedSetup) -> None:
    assert setup.folder() == replace(setup).folder()
    assert setup.folder().parent == setup.data_dir / "proxies"


def test_other_projects_have_other_folders(setup: SharedSetup) -> None:
    assert setup.folder() != replace(setup, project="other").folder()


@pytest.mark.parametrize("name", ["PAGEFAULT_AUTH", "pagefault_auth", "AWS_REGION"])
def test_other_settings_have_other_folders(
    setup: SharedSetup, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = setup.folder()
    monkeypatch.setenv(name, "none")
    first = setup.folder()
    monkeypatch.setenv(name, "\udc80")
    assert len({before, first, setup.folder()}) == 3


@pytest.mark.parametrize("name", ["PAGEFAULT_API_KEY", "PAGEFAULT_DATA_DIR", "HOME", "PATH"])
def test_what_decides_nothing_makes_no_other_folder(
    setup: SharedSetup, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = setup.folder()
    monkeypatch.setenv(name, "/elsewhere")
    assert setup.folder() == before


def test_changed_file_of_settings_has_another_folder(setup: SharedSetup) -> None:
    folders = {setup.folder()}
    (setup.data_dir / ".env").write_text("PAGEFAULT_LOG_LEVEL=error\n")
    folders.add(setup.folder())
    named = replace(setup, env_file=setup.data_dir / "settings")
    folders.add(named.folder())
    (setup.data_dir / "settings").write_text("PAGEFAULT_LOG_LEVEL=debug\n")
    folders.add(named.folder())
    # A file that is not there is as good as none.
    assert len(folders) == 3


def test_other_versions_and_programs_have_other_folders(
    setup: SharedSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {setup.folder()}
    monkeypatch.setattr("app.cli.shared_folder.VERSION", "99.0.0")
    folders.add(setup.folder())
    monkeypatch.setattr("app.__file__", "/elsewhere/app/__init__.py")
    folders.add(setup.folder())
    assert len(folders) == 3
