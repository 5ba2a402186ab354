"""The folder of files for tools gets new files, and existing ones are not changed."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pagefault_mcp.service_client.tool_files import ToolFiles
from tests.kit.process import ROOT, environment

SERVER, OTHER = "a server", "another server"
RESOURCE = "0123456789abcdef" * 2


def test_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    somebody_elses = tmp_path / "notes"
    somebody_elses.write_text("kept")
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "01234567-a.txt").symlink_to(somebody_elses)
    path = ToolFiles(folder).write(SERVER, RESOURCE, "a.txt", "text/plain", b"new")
    assert (path, Path(path).read_bytes()) == (f"{folder}/2-01234567-a.txt", b"new")
    assert somebody_elses.read_text() == "kept"


@pytest.mark.promise(
    "security.md#links-and-keys",
    "Other users of the machine cannot read or list the files that a proxy gives to tools",
    kept_by="packages/mcp/src/pagefault_mcp/service_client/tool_files.py",
    tried="the modes of the folder and of a file, under a umask of 0",
)
def test_folder_and_its_files_are_for_their_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "above" / "files"
    before = os.umask(0)
    try:
        path = ToolFiles(folder).write(SERVER, RESOURCE, "a.txt", "text/plain", b"new")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(item.stat().st_mode) for item in (folder, Path(path))]
    assert modes == [0o700, 0o600]


def test_name_as_long_as_any_is_shortened_and_keeps_its_extension(tmp_path: Path) -> None:
    longest = "x" * 251 + ".png"
    first, second = (ToolFiles(tmp_path) for _ in range(2))
    written = [
        item.write(SERVER, RESOURCE, longest, "image/png", b"new") for item in (first, second)
    ]
    assert [Path(path).name for path in written] == [
        f"01234567-{'x' * 242}.png",
        f"2-01234567-{'x' * 240}.png",
    ]


def test_files_of_another_proxy_and_of_the_user_stay_as_they_are(tmp_path: Path) -> None:
    of_the_user = tmp_path / "01234567-a.txt"
    of_the_user.write_text("kept")
    first, second = (ToolFiles(tmp_path) for _ in range(2))
    written = [
        Path(item.write(SERVER, RESOURCE, "a.txt", "text/plain", b"new"))
        for item in (first, second, first)
    ]
    assert [path.name for path in written] == [
        *("2-01234567-a.txt", "3-01234567-a.txt", "2-01234567-a.txt")
    ]
    first.clean_up()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "01234567-a.txt": b"kept",
        "3-01234567-a.txt": b"new",
    }


def test_files_whose_names_begin_alike_are_two(tmp_path: Path) -> None:
    files = ToolFiles(tmp_path)
    written = [
        Path(files.write(SERVER, resource_id, "a.txt", "text/plain", resource_id.encode()))
        for resource_id in (RESOURCE, RESOURCE[:8] + "0" * 24, RESOURCE)
    ]
    assert [path.name for path in written] == [
        *("01234567-a.txt", "2-01234567-a.txt", "01234567-a.txt")
    ]
    assert written[1].read_bytes() == (RESOURCE[:8] + "0" * 24).encode()
    files.clean_up(SERVER)
    assert [*tmp_path.iterdir()] == []


def test_folder_that_a_tool_has_put_in_the_place_of_a_file_keeps_no_other_file(
    tmp_path: Path,
) -> None:
    files = ToolFiles(tmp_path)
    replaced, other = (
        Path(files.write(SERVER, letter * 32, "a.txt", "text/plain", b"new")) for letter in "01"
    )
    replaced.unlink()
    replaced.mkdir()
    files.clean_up(SERVER)
    files.clean_up()
    assert [*tmp_path.iterdir()] == [replaced]
    assert not other.exists()


def test_file_that_cannot_be_written_whole_is_not_left_behind(tmp_path: Path) -> None:
    write = """
import sys
from pathlib import Path
from pagefault_mcp.service_client.tool_files import ToolFiles
ToolFiles(Path(sys.argv[1])).write("", "0" * 32, "a.txt", "text/plain", bytes(100_000))
"""
    limited = 'ulimit -f 50; exec "$@"'
    done = subprocess.run(  # noqa: S603 - our own code
        ["/bin/sh", "-c", limited, "sh", sys.executable, "-c", write, tmp_path / "files"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "File too large" in done.stderr
    assert [*(tmp_path / "files").iterdir()] == []


def test_folder_may_be_a_link_and_what_was_written_is_removed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "files").symlink_to(tmp_path / "real")
    files = ToolFiles(tmp_path / "files")
    path = Path(files.write(SERVER, RESOURCE, "a.txt", "text/plain", b"new"))
    assert (path, path.read_bytes()) == (tmp_path / "real" / "01234567-a.txt", b"new")
    files.clean_up()
    assert list((tmp_path / "real").iterdir()) == []


def test_file_that_a_tool_may_be_reading_is_not_written_again(tmp_path: Path) -> None:
    files = ToolFiles(tmp_path)
    written = ("a.txt", "text/plain", b"whole")
    path = Path(files.write(SERVER, RESOURCE, *written))
    with path.open("rb") as reading:
        assert files.write(SERVER, RESOURCE, *written) == str(path)
        assert reading.read() == b"whole"
    path.unlink()
    again = files.write(SERVER, RESOURCE, "a.txt", "text/plain", b"again")
    assert Path(again).read_bytes() == b"again"


def test_file_is_there_until_the_last_server_that_was_given_it_has_ended(tmp_path: Path) -> None:
    files = ToolFiles(tmp_path / "files")
    own = Path(files.write(SERVER, "1" * 32, "own.txt", "text/plain", b"one"))
    shared = [
        Path(files.write(item, RESOURCE, "a.txt", "text/plain", b"both"))
        for item in (SERVER, OTHER)
    ]
    files.clean_up(SERVER)
    assert (own.exists(), [*files.folder.iterdir()]) == (False, shared[:1])
    files.clean_up(OTHER)
    assert not files.folder.exists()
    assert Path(files.write(OTHER, RESOURCE, "a.txt", "text/plain", b"new")).read_bytes() == b"new"
    files.clean_up()
    assert not files.folder.exists()
