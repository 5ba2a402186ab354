"""`pagefault page list`, `search` and `stats` as a user meets them."""

import json
from pathlib import Path

import httpx
import pytest

from app.config.settings import Settings
from tests.kit.loaded_command import LoadedCommand
from tests.kit.media import png
from tests.kit.servers import serving

RESULT = {"toolName": "report", "toolCallId": "c", "sessionId": "s", "result": "A red sunset."}
PICTURE = png(noise=True)
EMPTY = {
    **dict.fromkeys(("sessions", "results", "messages", "interactions"), 0),
    **dict.fromkeys(("pages", "resources", "bytes"), 0),
}


class Store:
    """A data directory, and the commands that read it."""

    def __init__(self, data_dir: Path, pagefault: LoadedCommand) -> None:
        self._data_dir = data_dir
        self._pagefault = pagefault

    def run(self, *command: str) -> tuple[int, str, str]:
        done = self._pagefault.run(*command, "--data-dir", str(self._data_dir))
        return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with 210 pages, a result and a picture under two names."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("lists") / "data", log_level="error")
    with serving(settings) as server, httpx.Client(base_url=server.base_url) as client:
        pages = [{"page_id": f"p{n}", "content": "Hello."} for n in range(209)]
        assert client.post("/api/pages/bulk", json={"pages": pages}).is_success
        page = {"modality": "image", "content": "https://example.com/a.png", "session_id": "s"}
        client.put("/api/pages/img", json={**page, "caption": "A red\nsunset"})
        client.post("/api/tool-results", json=RESULT)
        for name in ("a.png", "b.png"):
            client.post(f"/api/resources?filename={name}", content=PICTURE)
    return settings.data_dir


@pytest.fixture
def store(data_dir: Path, pagefault: LoadedCommand) -> Store:
    return Store(data_dir, pagefault)


def test_pages_are_listed_newest_first(store: Store) -> None:
    assert store.run("page", "list", "--limit", "2") == (
        0,
        "img  image, FULL, ~258 tokens  A red sunset\np208  text, FULL, ~2 tokens\n",
        "",
    )
    status, every, _ = store.run("page", "list", "--limit", "1000")
    assert (status, len(every.splitlines())) == (0, 210)
    _, images, _ = store.run("page", "list", "--modality", "image", "--session", "s", "--json")
    assert json.loads(images)["page_id"] == "img"


def test_search_finds_pages_and_results(store: Store) -> None:
    status, found, complaint = store.run("search", "red", "sunset")
    assert (status, complaint) == (0, "")
    assert sorted(line.split("  ")[0] for line in found.splitlines()) == ["img", "s#2"]
    _, answer, _ = store.run("search", "red sunset", "--session", "s", "--json")
    assert len(json.loads(answer)["items"]) == 2


def test_stats_count_what_a_project_keeps(store: Store) -> None:
    expected = {
        **EMPTY,
        "sessions": 1,
        "results": 1,
        "pages": 210,
        "resources": 2,
        "bytes": len(PICTURE),
    }
    status, said, complaint = store.run("stats", "--json")
    assert (status, json.loads(said), complaint) == (0, expected, "")
    _, lines, _ = store.run("stats")
    assert lines.splitlines()[4] == "pages:        210"


def test_a_project_without_anything_is_told(store: Store) -> None:
    other = ("--project", "other")
    assert store.run("page", "list", *other) == (0, "", "No pages.\n")
    assert store.run("search", "sunset", *other) == (0, "", "No matches.\n")
    assert json.loads(store.run("stats", "--json", *other)[1]) == EMPTY


def test_page_of_a_service_that_runs_is_shown(
    store: Store, pagefault: LoadedCommand, data_dir: Path
) -> None:
    with serving(Settings(data_dir=data_dir, log_level="error")) as server:
        shown = pagefault.run("page", "show", "img", "--url", server.base_url)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert shown.stdout == store.run("page", "show", "img")[1]
        missing = pagefault.run("page", "show", "nothing", "--url", server.base_url)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == (
        f"pagefault: {server.base_url} answers 404: There is no such page in this project.\n"
    )
    away = pagefault.run("page", "show", "img", "--url", server.base_url)
    assert (away.returncode, away.stdout) == (1, "")
    assert away.stderr.startswith(f"pagefault: no service answers at {server.base_url}: ")
    both = pagefault.run("page", "show", "img", "--url", server.base_url, "--download")
    assert both.returncode == 2


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        (("page", "list", "--modality", "smell"), 2, "must be one of text, image"),
        (("search", "!?"), 1, "no word to search for"),
        (("search",), 2, "Missing argument"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(
    store: Store, command: tuple[str, ...], status: int, words: str
) -> None:
    ended, said, complaint = store.run(*command)
    assert (ended, said) == (status, "")
    assert words in " ".join(complaint.split())
