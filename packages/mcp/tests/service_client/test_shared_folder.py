"""Which proxies share a service."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from pagefault_mcp.service_client.shared_folder import SharedSetup, find_socket, make_folder


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedSetup:
    """A setup without settings."""
    monkeypatch.delenv("PAGEFAULT_API_KEY", raising=False)
    return SharedSetup(tmp_path, project=None, env_file=None, version="1")


def test_same_setup_has_the_same_folder_in_the_data_directory(setup: SharedSetup) -> None:
    assert setup.find_folder() == replace(setup).find_folder()
    assert setup.find_folder().parent == setup.data_dir / "proxies"


def test_other_projects_have_other_folders(setup: SharedSetup) -> None:
    assert setup.find_folder() != replace(setup, project="other").find_folder()


@pytest.mark.parametrize("name", ["PAGEFAULT_AUTH", "pagefault_auth", "AWS_REGION"])
def test_other_settings_have_other_folders(
    setup: SharedSetup, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = setup.find_folder()
    monkeypatch.setenv(name, "none")
    first = setup.find_folder()
    monkeypatch.setenv(name, "\udc80")
    assert len({before, first, setup.find_folder()}) == 3


@pytest.mark.parametrize("name", ["PAGEFAULT_API_KEY", "PAGEFAULT_DATA_DIR", "HOME", "PATH"])
def test_what_decides_nothing_makes_no_other_folder(
    setup: SharedSetup, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = setup.find_folder()
    monkeypatch.setenv(name, "/elsewhere")
    assert setup.find_folder() == before


def test_changed_file_of_settings_has_another_folder(setup: SharedSetup) -> None:
    folders = {setup.find_folder()}
    (setup.data_dir / ".env").write_text("PAGEFAULT_LOG_LEVEL=error\n")
    folders.add(setup.find_folder())
    named = replace(setup, env_file=setup.data_dir / "settings")
    folders.add(named.find_folder())
    (setup.data_dir / "settings").write_text("PAGEFAULT_LOG_LEVEL=debug\n")
    folders.add(named.find_folder())
    # A file that is not there is as good as none.
    assert len(folders) == 3


def test_other_versions_and_programs_have_other_folders(
    setup: SharedSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {setup.find_folder(), replace(setup, version="99.0.0").find_folder()}
    monkeypatch.setattr("pagefault_mcp.__file__", "/elsewhere/pagefault_mcp/__init__.py")
    folders.add(setup.find_folder())
    assert len(folders) == 3


def test_only_the_user_gets_into_what_is_made(setup: SharedSetup) -> None:
    new = replace(setup, data_dir=setup.data_dir / "new" / "data")
    before = os.umask(0)
    try:
        make_folder(new.find_folder())
    finally:
        os.umask(before)
    made = [new.data_dir.parent, new.data_dir, new.find_folder().parent, new.find_folder()]
    assert {stat.S_IMODE(item.stat().st_mode) for item in made} == {0o700}


def test_folder_that_others_got_into_is_closed_to_them(setup: SharedSetup) -> None:
    setup.find_folder().mkdir(parents=True)
    setup.find_folder().chmod(0o777)
    make_folder(setup.find_folder())
    assert stat.S_IMODE(setup.find_folder().stat().st_mode) == 0o700


@pytest.mark.parametrize("written", [None, b"", b"\0" * 20])
def test_no_service_is_where_no_address_is(tmp_path: Path, written: bytes | None) -> None:
    if written is not None:
        (tmp_path / "address").write_bytes(written)
    assert find_socket(tmp_path) is None


def test_address_may_have_any_bytes(tmp_path: Path) -> None:
    (tmp_path / "address").write_bytes(b"/tmp/\xff/socket")
    assert os.fsencode(str(find_socket(tmp_path))) == b"/tmp/\xff/socket"
