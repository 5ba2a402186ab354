"""The data directory of a first start: its name is on the disk before anything is in it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.wiring.startup_errors import DataDirectoryError
from app.wiring.stores import create_data_dir


@pytest.mark.promise(
    "durability.md#the-power-goes",
    (
        "On the first start, each new level of the data directory is synced into the one "
        "above before anything is stored in it"
    ),
    kept_by="app/wiring/stores.py",
    tried="each level",
)
def test_each_new_level_is_synced_into_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, str]] = []
    mkdir, fsync = os.mkdir, os.fsync

    def recorded_mkdir(path: str | Path, mode: int = 0o777) -> None:
        done.append(("made", os.path.relpath(path, tmp_path)))
        mkdir(path, mode)

    def recorded_fsync(descriptor: int) -> None:
        place = os.readlink(f"/proc/self/fd/{descriptor}")
        done.append(("synced", os.path.relpath(place, tmp_path)))
        fsync(descriptor)

    monkeypatch.setattr(os, "mkdir", recorded_mkdir)
    monkeypatch.setattr(os, "fsync", recorded_fsync)
    create_data_dir(tmp_path / "one" / "data")
    assert done[:4] == [("made", "one"), ("synced", "."), ("made", "one/data"), ("synced", "one")]
    assert (tmp_path / "one" / "data").stat().st_mode & 0o777 == 0o700


def test_one_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    create_data_dir(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o750


def test_file_in_its_place_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(DataDirectoryError):
        create_data_dir(tmp_path / "data")


def test_one_that_is_not_to_be_written_in_is_told_of() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        data_dir = Path(folder) / "data"
        data_dir.mkdir(0o555)
        Path(folder).chmod(0o755)
        with as_nobody(), pytest.raises(DataDirectoryError) as refused:
            create_data_dir(data_dir)
    text = f"cannot write in the data directory {data_dir}: Permission denied"
    assert str(refused.value) == text


@contextmanager
def as_nobody() -> Iterator[None]:
    """Have none of the rights that root has, to whom everything is open."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(user)
