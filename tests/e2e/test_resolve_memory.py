"""Slow readers of answers with large media do not keep them in the service's memory."""

import json
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pybase64
import pytest

from tests.e2e.stored_state import EmbeddedState, ServerState, StoredState
from tests.e2e.test_resumable_upload import Process
from tests.kit.loaded_command import LoadedCommand
from tests.kit.media import noise_bytes
from tests.kit.process import WAIT_SECONDS
from tests.kit.servers import Backends, Engine

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(600)]

MIB = 1024 * 1024
CLIENTS = 8
READ_BYTES = 4 * MIB
# Of an object store each reader holds a window of 4 MiB, and twice that while it comes.
MAX_GROWTH_BYTES = {"embedded": 64 * MIB, "server": 96 * MIB}
BINARY = noise_bytes(MIB) * 32
# The largest text that is put into an answer; escaped, it is six times as large.
TEXT = b"\x01" * (16 * MIB)


@pytest.fixture
def process(
    engine: Engine, backends: Backends, pagefault: LoadedCommand, tmp_path: Path
) -> Iterator[tuple[Process, str]]:
    """The service, and a key."""
    folder = tmp_path / "data"
    state: StoredState = EmbeddedState(folder) if engine == "embedded" else ServerState(backends)
    env = {**state.env, "PAGEFAULT_AUTH": "api-key"}
    made = pagefault.run("keys", "create", "--project", "p", "--data-dir", str(folder), env=env)
    started = Process(folder, env=env)
    with started:
        yield started, made.stdout.strip()
    shutil.rmtree(folder)


def keep(server: Process, key: str, content: bytes, filename: str) -> str:
    """A file that a message of session `s` refers to; returns the reference."""
    with server.client(key) as client:
        stored = client.post("/api/resources", content=content, params={"filename": filename})
        reference = f"@{stored.raise_for_status().json()['uri']}"
        message = {"role": "user", "content": reference}
        client.post("/api/sessions/s/messages", json=message).raise_for_status()
    return reference


def ask(server: Process, key: str, query: Mapping[str, object]) -> socket.socket:
    """A connection with an answer on its way, of which next to nothing fits outside the service."""
    body = json.dumps({"sessionId": "s", **query})
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
    connection.settimeout(WAIT_SECONDS)
    connection.connect(("127.0.0.1", server.port))
    head = (
        "POST /api/resolve HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {key}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    connection.sendall("\r\n".join([*head, "", body]).encode())
    return connection


def read_some(connection: socket.socket, size: int) -> bytes:
    read = bytearray()
    while len(read) < size and (chunk := connection.recv(64 * 1024)):
        read += chunk
    return bytes(read)


def test_slow_readers_do_not_keep_base64_in_memory(
    process: tuple[Process, str], engine: Engine
) -> None:
    expected = pybase64.b64encode(BINARY).decode()
    assert_not_kept(process, keep(*process, BINARY, "a.bin"), "base64", expected, engine)


@pytest.mark.engines("embedded")
def test_slow_readers_do_not_keep_text_in_memory(
    process: tuple[Process, str], engine: Engine
) -> None:
    assert_not_kept(process, keep(*process, TEXT, "a.txt"), "text", TEXT.decode(), engine)


def assert_not_kept(
    process: tuple[Process, str], reference: str, form: str, expected: str, engine: Engine
) -> None:
    """However slowly its readers read, the service holds little of what it answers."""
    server, key = process
    # Started anew, so that what storing took is not counted.
    server.kill()
    server.start()
    with ask(server, key, {"arguments": 1}) as first:
        # The first request of all loads what any of them needs.
        assert read_some(first, MIB).startswith(b"HTTP/1.1 200 ")
    before = server.peak_bytes()
    with ExitStack() as stack:
        query = {"arguments": [reference], "as": form}
        readers = [stack.enter_context(ask(server, key, query)) for _ in range(CLIENTS)]
        begun = [read_some(reader, READ_BYTES) for reader in readers]
        whole = begun[0] + read_some(readers[0], 2**30)
        grown = server.peak_bytes() - before
    print(f"{engine}, {form}: grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert [item[:13] for item in begun] == [b"HTTP/1.1 200 "] * CLIENTS
    head, _, body = whole.partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head.lower()
    assert json.loads(body)["arguments"] == [expected]
    assert grown < MAX_GROWTH_BYTES[engine]
