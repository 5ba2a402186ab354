"""A rendering holds one piece of one medium at a time, however large the medium is."""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pybase64
import pytest

from tests.e2e.stored_state import EmbeddedState, ServerState, StoredState
from tests.e2e.test_resumable_upload import Process
from tests.kit import media
from tests.kit.loaded_command import LoadedCommand
from tests.kit.servers import Backends, Engine

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(600)]

MIB = 1024 * 1024
VIDEO_BYTES = 48 * MIB
MAX_GROWTH_BYTES = 32 * MIB


def video() -> bytes:
    """A video with a box of noise behind it, which players pass over."""
    played = media.mp4(header_first=True)
    room = VIDEO_BYTES - len(played)
    noise = hashlib.shake_128(b"video").digest(MIB) * (room // MIB + 1)
    return played + room.to_bytes(4, "big") + b"free" + noise[: room - 8]


@pytest.fixture
def process(
    engine: Engine, backends: Backends, pagefault: LoadedCommand, tmp_path: Path
) -> Iterator[tuple[Process, str]]:
    """The service with a large video in session `s`, and a key; nothing was rendered yet."""
    folder = tmp_path / "data"
    state: StoredState = EmbeddedState(folder) if engine == "embedded" else ServerState(backends)
    env = {**state.env, "PAGEFAULT_AUTH": "api-key"}
    made = pagefault.run("keys", "create", "--project", "p", "--data-dir", str(folder), env=env)
    key = made.stdout.strip()
    started = Process(folder, env=env)
    with started:
        with started.client(key) as client:
            stored = client.post("/api/resources", content=video(), params={"filename": "a.mp4"})
            attached = [{"id": stored.json()["uri"]}]
            part = {"text": "Look.", "attachments": attached}
            body = {"input": {"parts": [part]}, "timestamp": "2023-10-27T10:00:00Z"}
            client.post("/api/sessions/s/interactions", json=body).raise_for_status()
        # Started anew, so that what storing took is not counted.
        started.kill()
        started.start()
        yield started, key
    shutil.rmtree(folder)


@contextmanager
def rendering(client: httpx.Client) -> Iterator[httpx.Response]:
    path = "/api/sessions/s/render"
    with client.stream("GET", path, params={"target": "mcp"}) as answer:
        assert answer.status_code == 200
        yield answer


def test_large_video_is_streamed_and_a_reader_that_goes_away_is_no_failure(
    process: tuple[Process, str], engine: Engine
) -> None:
    server, key = process
    with server.client(key) as client:
        # The first rendering of all loads what any rendering needs.
        assert client.get("/api/sessions/s/render", params={"target": "text"}).status_code == 200
        before = server.peak_bytes()
        with rendering(client) as answer:
            body = answer.read()
        grown = server.peak_bytes() - before
    assert len(body) == int(answer.headers["content-length"])
    sought = pybase64.b64encode(video())
    assert sought in body
    print(f"{engine}: grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert grown < MAX_GROWTH_BYTES
    for _ in range(3):
        with server.client(key) as client, rendering(client) as answer:
            assert next(answer.iter_raw(1_000))
    with server.client(key) as client:
        assert client.get("/api/sessions/s/render", params={"target": "text"}).status_code == 200
    assert "request_failed" not in server.logs
