"""The folder of files that tools are given: what is written there, and what is left alone."""

from pathlib import Path

import pytest

from app.mcp.handed_files import HandedFiles

RESOURCE = "0123456789abcdef" * 2


def test_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    somebody_elses = tmp_path / "notes"
    somebody_elses.write_text("kept")
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "01234567-a.txt").symlink_to(somebody_elses)
    with pytest.raises(OSError, match="symbolic links"):
        HandedFiles(folder).write(RESOURCE, "a.txt", "text/plain", b"new")
    assert somebody_elses.read_text() == "kept"


def test_folder_may_be_a_link_and_what_was_written_is_removed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "files").symlink_to(tmp_path / "real")
    files = HandedFiles(tmp_path / "files")
    path = Path(files.write(RESOURCE, "a.txt", "text/plain", b"new"))
    assert (path, path.read_bytes()) == (tmp_path / "real" / "01234567-a.txt", b"new")
    files.clean_up()
    assert list((tmp_path / "real").iterdir()) == []


def test_file_that_a_tool_may_be_reading_is_not_written_again(tmp_path: Path) -> None:
    files = HandedFiles(tmp_path)
    path = Path(files.write(RESOURCE, "a.txt", "text/plain", b"whole"))
    with path.open("rb") as reading:
        assert files.write(RESOURCE, "a.txt", "text/plain", b"whole") == str(path)
        assert reading.read() == b"whole"
    path.unlink()
    assert Path(files.write(RESOURCE, "a.txt", "text/plain", b"again")).read_bytes() == b"again"
