"""`pagefault page` as a user meets it: the detail view, and files on disk."""

import base64
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.config.settings import Settings
from tests.kit import media
from tests.kit.hostile_origin import HostileOrigin
from tests.kit.loaded_command import LoadedCommand
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.servers import LiveService, serving

PNG = media.png()
PNG_URI = "data:image/png;base64," + base64.b64encode(PNG).decode()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def server(data_dir: Path) -> Iterator[LiveService]:
    """A server over the data directory: commands work beside it."""
    with serving(Settings(data_dir=data_dir, log_level="error")) as service:
        yield service


class Pages:
    """The pages of a data directory, and the command that shows them."""

    def __init__(self, server: LiveService, pagefault: LoadedCommand) -> None:
        self._server = server
        self._pagefault = pagefault

    def store(self, pages: dict[str, dict[str, object]]) -> None:
        with httpx.Client(
            base_url=self._server.base_url, trust_env=False, verify=TRUSTS_NOBODY
        ) as client:
            for page_id, page in pages.items():
                assert client.put(f"/api/pages/{page_id}", json=page).status_code == 201

    def command(self, *arguments: str, **env: str) -> tuple[int, str, str]:
        data_dir = str(self._server.settings.data_dir)
        done = self._pagefault.run("page", *arguments, "--data-dir", data_dir, env=env)
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def pages(server: LiveService, pagefault: LoadedCommand) -> Pages:
    return Pages(server, pagefault)


def test_detail_view_has_a_line_for_each_field(pages: Pages) -> None:
    page: dict[str, object] = {
        "modality": "image",
        "content": "https://example.com/sunset.png",
        "mime_type": "image/png",
        "dimensions": [1920, 1080],
        "caption": "Sunset landscape with tree",
        "compression_level": "ABSTRACT",
    }
    pages.store({"img_001": page})
    status, shown, complaint = pages.command("show", "img_001")
    assert (status, complaint) == (0, "")
    assert shown.splitlines()[:7] == [
        "Page ID:     img_001",
        "Modality:    image",
        "MIME Type:   image/png",
        "Dimensions:  1920x1080",
        "Compression: ABSTRACT",
        "Content:     [caption] Sunset landscape with tree",
        "URL:         https://example.com/sunset.png",
    ]


def test_files_are_named_after_the_page_and_hold_its_bytes(pages: Pages, tmp_path: Path) -> None:
    pages.store(
        {
            "img:1": {"modality": "image", "content": PNG_URI},
            "msg": {"content": "Grüße\r\nzwei", "mime_type": "text/plain"},
            "notes": {"content": "# T", "mime_type": "text/markdown"},
            "rows": {"modality": "structured", "content": [{"é": 1}, None]},
        },
    )
    output = tmp_path / "files"
    for page_id in ("img:1", "msg", "notes", "rows"):
        status, _, complaint = pages.command("download", page_id, "--output", str(output))
        assert (status, complaint) == (0, "")
    assert {file.name: file.read_bytes() for file in output.iterdir()} == {
        "img_1.png": PNG,
        "msg.txt": "Grüße\r\nzwei".encode(),
        "notes.md": b"# T",
        "rows.json": '[{"é":1},null]'.encode(),
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ("download", "msg"),
        ("show", "msg", "--download"),
        ("show", "--download", "msg"),
        ("download", "--level", "full", "msg"),
    ],
)
def test_download_goes_to_the_home_folder_and_says_where(
    pages: Pages, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    pages.store({"msg": {"content": "x" * 1500}})
    status, said, complaint = pages.command(*arguments, HOME=str(tmp_path))
    file = tmp_path / ".pagefault" / "downloads" / "msg.txt"
    assert (status, said, complaint) == (0, f"{file}  (1.5 kB)\n", "")
    assert file.read_text() == "x" * 1500
    assert list(file.parent.iterdir()) == [file]


def test_a_level_is_downloaded_as_text(pages: Pages, tmp_path: Path) -> None:
    pages.store({"img": {"modality": "image", "content": PNG_URI, "caption": "A red dot."}})
    status, _, _ = pages.command(
        "download", "img", "--level", "ABSTRACT", "--output", str(tmp_path / "out")
    )
    assert status == 0
    assert (tmp_path / "out" / "img.txt").read_text() == "A red dot."


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (None, "There is no such page in this project."),
        (
            {"modality": "image", "content": None},
            "The page holds nothing at this level, so there is nothing to download.",
        ),
        (
            {"modality": "image", "content": "data:image/png;base64,abc"},
            "The page's content announces base64, but is invalid base64, so there is no file in "
            "it. PUT the page with the whole data: URI. (/content invalid base64)",
        ),
    ],
)
def test_what_cannot_be_downloaded_is_a_sentence_and_no_file(
    pages: Pages, tmp_path: Path, page: dict[str, object] | None, sentence: str
) -> None:
    pages.store({} if page is None else {"img": page})
    output = tmp_path / "files"
    assert pages.command("download", "img", "--output", str(output)) == (
        1,
        "",
        f"pagefault: {sentence}\n",
    )
    assert not output.exists()


def test_file_behind_a_url_is_fetched_once(pages: Pages, tmp_path: Path) -> None:
    with HostileOrigin() as origin:
        url = f"http://127.0.0.1:{origin.port}/ok.png"
        pages.store({"img": {"modality": "image", "content": url}})
        allowed = {"PAGEFAULT_FETCH__ALLOW": f"127.0.0.1:{origin.port}"}
        for folder in ("one", "two"):
            status, _, complaint = pages.command(
                "download", "img", "--output", str(tmp_path / folder), **allowed
            )
            assert (status, complaint) == (0, "")
        assert origin.paths == ["/ok.png"]
    first, second = (tmp_path / folder / "img.png" for folder in ("one", "two"))
    assert first.read_bytes() == second.read_bytes() != b""


def test_url_of_this_machine_is_refused(pages: Pages, tmp_path: Path) -> None:
    with HostileOrigin() as origin:
        url = f"http://127.0.0.1:{origin.port}/ok.png"
        pages.store({"img": {"modality": "image", "content": url}})
        output = tmp_path / "files"
        status, said, complaint = pages.command("download", "img", "--output", str(output))
        assert (status, said, complaint.count("\n"), origin.connections) == (1, "", 1, 0)
    assert not output.exists()


def test_folder_that_cannot_be_made_is_a_sentence(pages: Pages, tmp_path: Path) -> None:
    pages.store({"msg": {"content": "x"}})
    (tmp_path / "file").write_text("in the way")
    status, said, complaint = pages.command("download", "msg", "--output", str(tmp_path / "file"))
    assert (status, said) == (1, "")
    assert complaint == f"pagefault: cannot write to {tmp_path / 'file'}: File exists\n"


def test_unknown_level_is_a_usage_error(pages: Pages) -> None:
    status, said, complaint = pages.command("download", "msg", "--level", "tiny")
    assert (status, said) == (2, "")
    assert all(name in complaint for name in ("FULL", "REDUCED", "ABSTRACT", "REFERENCE"))
