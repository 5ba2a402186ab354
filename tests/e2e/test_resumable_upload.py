"""Resumable uploads with the public client, tus-js-client, over connections and servers that break.

`TUS_UPLOAD_MIB` sets the size of the file; 2048 shows what is promised:

    TUS_UPLOAD_MIB=2048 python -m pytest tests/e2e/test_resumable_upload.py -s

With the server engine that takes a quarter of an hour, nearly all of it in the stand-in for S3,
which copies the whole object for each range that is read of it.
"""

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.upload_requests import PIECE, TUS, begin, send
from tests.e2e.stored_state import EmbeddedState, ServerState, StoredState
from tests.kit.loaded_command import LoadedCommand
from tests.kit.node import NODE, installed
from tests.kit.process import WAIT_SECONDS, PagefaultProcess, environment
from tests.kit.servers import Backends, Engine

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(1800)]

MIB = 1024 * 1024
SEGMENT_BYTES = 64 * MIB
CUTS = 5
MAX_GROWTH_BYTES = 100 * MIB
CLIENT = Path(__file__).parent / "tus"
# Questions about an upload that is still at work: each waits for its answer, none is a pause.
_MAX_QUESTIONS = 20_000


@pytest.fixture(scope="session")
def script() -> Path:
    """The client's script, with what it needs installed as the lock file says."""
    return installed(CLIENT) / "upload.mjs"


class Process(PagefaultProcess):
    """`pagefault serve`, and how much memory it has had."""

    def peak_bytes(self) -> int:
        """The most it has had resident at once, since its last start."""
        return self._told_bytes("VmHWM")

    def resident_bytes(self) -> int:
        """The resident size of the process."""
        return self._told_bytes("VmRSS")

    def _told_bytes(self, name: str) -> int:
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(rf"{name}:\s+(\d+) kB", status)
        assert found
        return int(found[1]) * 1024


@dataclass
class Server:
    """A service in a process of its own that comes back at the same address."""

    process: Process
    key: str
    grown_bytes: list[int] = field(default_factory=list)
    _started_with: int = 0

    def start(self) -> None:
        """Start it and note how much memory it has before it does anything."""
        self.process.start()
        self._started_with = self.process.peak_bytes()

    def kill(self) -> None:
        """Note how much it has grown, and end it with SIGKILL."""
        self.grown_bytes.append(self.process.peak_bytes() - self._started_with)
        self.process.kill()

    def client(self) -> httpx.Client:
        """A client with a key."""
        return self.process.client(self.key)


@pytest.fixture
def server(
    engine: Engine, backends: Backends, pagefault: LoadedCommand, tmp_path: Path
) -> Iterator[Server]:
    """The service; what it stored does not stay, it may be gigabytes."""
    data_dir = tmp_path / "data"
    state: StoredState = EmbeddedState(data_dir) if engine == "embedded" else ServerState(backends)
    env = {**state.env, "PAGEFAULT_AUTH": "api-key"}
    made = pagefault.run("keys", "create", "--project", "p", "--data-dir", str(data_dir), env=env)
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = str(reserved.getsockname()[1])
    started = Server(Process(data_dir, options=["--port", port], env=env), made.stdout.strip())
    started.start()
    try:
        yield started
    finally:
        started.process.kill()
        shutil.rmtree(data_dir)


def size_bytes(engine: Engine) -> int:
    default = {"embedded": 256, "server": 96}[engine]
    return int(os.environ.get("TUS_UPLOAD_MIB", default)) * MIB


def expected_digest(size: int) -> str:
    """The SHA-256 of the file that the script makes up."""
    pattern = hashlib.shake_128(b"tus").digest(MIB)[8:]
    hasher = hashlib.sha256()
    for number in range(size // MIB):
        hasher.update(number.to_bytes(8, "big") + pattern)
    return hasher.hexdigest()


def served_digest(client: httpx.Client, uri: str) -> str:
    hasher = hashlib.sha256()
    with client.stream("GET", f"/api/resources/{uri}/content") as answer:
        for chunk in answer.raise_for_status().iter_raw():
            hasher.update(chunk)
    return hasher.hexdigest()


@contextmanager
def uploading(script: Path, **wishes: object) -> Iterator[Iterator[dict[str, Any]]]:
    """Yield the events of the client during an upload."""
    with subprocess.Popen(  # noqa: S603 - our own script
        [NODE, script, json.dumps(wishes)],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield (json.loads(line) for line in process.stdout)
            assert process.wait(WAIT_SECONDS) == 0
        finally:
            process.kill()


@pytest.mark.promise(
    "durability.md#the-process-dies",
    "A resumable upload continues where it stopped",
    kept_by="app/services/uploads/uploads.py",
    tried="5 cuts and a kill, both engines",
)
def test_upload_survives_five_cuts_and_a_killed_server(
    server: Server, engine: Engine, script: Path
) -> None:
    size = size_bytes(engine)
    cuts = [size * number // (CUTS + 1) for number in range(1, CUTS + 1)]
    events: list[dict[str, Any]] = []
    with uploading(
        script,
        endpoint=f"{server.process.base_url}/api/uploads",
        authorization=f"Bearer {server.key}",
        size=size,
        cuts=cuts,
        # Between two cuts, so that none of them and the kill are one interruption.
        stop=size * 3 // 4,
    ) as happening:
        for event in happening:
            events.append(event)
            if "stopped" in event:
                server.kill()
                server.start()
    resumed = [event["resumed"] for event in events if "resumed" in event]
    assert [event["cut"] for event in events if "cut" in event] == cuts
    # What came before a cut is kept, and of what came before a kill all but the last segment. On a
    # slow machine the client notices two of them as one.
    assert len(resumed) >= CUTS - 1
    assert resumed == sorted(resumed)
    assert max(resumed) >= cuts[-1] - SEGMENT_BYTES
    uri = events[-1]["resource"]
    with server.client() as client:
        descriptor = client.get(f"/api/resources/{uri}").json()
        digests = {served_digest(client, uri), descriptor["digest"].removeprefix("sha-256:")}
    assert (descriptor["size"], descriptor["filename"]) == (size, "gigabytes.bin")
    assert digests == {expected_digest(size)}
    server.kill()
    print(  # noqa: T201 - the measure that somebody who runs it by hand wants
        f"{engine}: {size // MIB} MiB, server grew by "
        f"{[grown // MIB for grown in server.grown_bytes]} MiB, resumed at "
        f"{[offset // MIB for offset in resumed]} MiB, client's peak "
        f"{events[-1]['peakBytes'] // MIB} MiB"
    )
    assert max(server.grown_bytes) < MAX_GROWTH_BYTES


def test_a_killed_server_keeps_every_whole_segment(server: Server) -> None:
    data = hashlib.shake_128(b"segments").digest(SEGMENT_BYTES + 9 * MIB)
    with server.client() as client:
        path = begin(client, len(data))
        head = [f"PATCH {path} HTTP/1.1", "Host: x", f"Content-Length: {len(data)}"]
        head += [f"{name}: {value}" for name, value in {**PIECE, "Upload-Offset": "0"}.items()]
        head += [f"Authorization: Bearer {server.key}", "", ""]
        with socket.create_connection(("127.0.0.1", server.process.port)) as connection:
            connection.sendall("\r\n".join(head).encode() + data[: SEGMENT_BYTES + 5 * MIB])
            offsets = (client.get(path).json()["offset"] for _ in range(_MAX_QUESTIONS))
            assert next(filter(None, offsets)) == SEGMENT_BYTES
            server.kill()
    server.start()
    with server.client() as client:
        asked = client.head(path, headers=TUS)
        assert (asked.status_code, asked.headers["upload-offset"]) == (200, str(SEGMENT_BYTES))
        done = send(client, path, SEGMENT_BYTES, data[SEGMENT_BYTES:])
        uri = done.headers["upload-resource"]
        assert served_digest(client, uri) == hashlib.sha256(data).hexdigest()
