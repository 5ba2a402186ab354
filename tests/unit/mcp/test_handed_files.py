"""The folder of files that tools are given: what is written there, and what is left alone."""

from pathlib import Path

import pytest

from app.mcp.handed_files import HandedFiles

SERVER, OTHER = "a server", "another server"
RESOURCE = "0123456789abcdef" * 2


def test_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    somebody_elses = tmp_path / "notes"
    somebody_elses.write_text("kept")
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "01234567-a.txt").symlink_to(somebody_elses)
    with pytest.raises(OSError, match="symbolic links"):
        HandedFiles(folder).write(SERVER, RESOURCE, "a.txt", "text/plain", b"new")
    assert somebody_elses.read_text() == "kept"


def test_folder_may_be_a_link_and_what_was_written_is_removed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "files").symlink_to(tmp_path / "real")
    files = HandedFiles(tmp_path / "files")
    path = Path(files.write(SERVER, RESOURCE, "a.txt", "text/plain", b"new"))
    assert (path, path.read_bytes()) == (tmp_path / "real" / "01234567-a.txt", b"new")
    files.clean_up()
    assert list((tmp_path / "real").iterdir()) == []


def test_file_that_a_tool_may_be_reading_is_not_written_again(tmp_path: Path) -> None:
    files = HandedFiles(tmp_path)
    written = ("a.txt", "text/plain", b"whole")
    path = Path(files.write(SERVER, RESOURCE, *written))
    with path.open("rb") as reading:
        assert files.write(SERVER, RESOURCE, *written) == str(path)
        assert reading.read() == b"whole"
    path.unlink()
    again = files.write(SERVER, RESOURCE, "a.txt", "text/plain", b"again")
    assert Path(again).read_bytes() == b"again"


def test_file_is_there_until_the_last_server_that_was_given_it_has_ended(tmp_path: Path) -> None:
    files = HandedFiles(tmp_path / "files")
    own = Path(files.write(SERVER, "1" * 32, "own.txt", "text/plain", b"one"))
    shared = [
        Path(files.write(each, RESOURCE, "a.txt", "text/plain", b"both"))
        for each in (SERVER, OTHER)
    ]
    files.clean_up(SERVER)
    assert (own.exists(), [*files.folder.iterdir()]) == (False, shared[:1])
    files.clean_up(OTHER)
    assert not files.folder.exists()
    assert Path(files.write(OTHER, RESOURCE, "a.txt", "text/plain", b"new")).read_bytes() == b"new"
    files.clean_up()
    assert not files.folder.exists()
