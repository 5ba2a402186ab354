"""Clients that do not read an answer or a stream take little memory of the service."""

import asyncio
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pybase64
import pytest

from tests.e2e.test_resumable_upload import Process
from tests.kit.event_crowds import listen
from tests.kit.media import noise_bytes
from tests.kit.process import WAIT_SECONDS

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(600)]

MIB = 1024 * 1024
READERS = 8
CONTENT_READERS = 200
BUDGET_BYTES = 64 * MIB
TEXT_BYTES = 6 * MIB
IMAGE = b"\x89PNG\r\n\x1a\n" + noise_bytes(8 * MIB)
LISTENERS = 40
EVENTS = 40
EVENT_CHARS = 62_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    """The service on SQLite and a directory, without keys."""
    folder = tmp_path / "data"
    started = Process(folder, env={"PAGEFAULT_AUTH": "none"})
    with started:
        yield started
    shutil.rmtree(folder)


def append(client: httpx.Client, content: object) -> None:
    message = {"role": "user", "content": content}
    client.post("/api/sessions/s/messages", json=message).raise_for_status()


def deaf(server: Process, path: str) -> socket.socket:
    """A connection that asks, and reads nothing but the beginning of the answer."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.settimeout(WAIT_SECONDS)
    connection.connect(("127.0.0.1", server.port))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return connection


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Clients that request `media=inline` and do not read hold one piece each",
    kept_by="app/services/inline_media/stored_media.py",
    tried="8 readers of 11 MiB: below 32 MiB in all",
)
def test_readers_of_a_history_with_its_media_that_read_nothing_hold_little_of_it(
    server: Process,
) -> None:
    url = "data:image/png;base64," + pybase64.b64encode(IMAGE).decode()
    with server.client("") as client:
        append(client, [{"type": "image_url", "image_url": {"url": url}}])
    # Started anew, so that what storing took is not counted.
    server.kill()
    server.start()
    path = "/api/sessions/s/messages?media=inline"
    with server.client("") as client, ExitStack() as stack:
        assert client.get("/api/sessions/s/messages").status_code == 200
        before = server.peak_bytes()
        readers = [stack.enter_context(closing(deaf(server, path))) for _ in range(READERS)]
        assert {reader.recv(12) for reader in readers} == {b"HTTP/1.1 200"}
        whole = client.get(path)
        grown = server.peak_bytes() - before
    assert whole.json()["items"][0]["content"][0]["image_url"]["url"] == url
    print(f"grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert grown < 32 * MIB


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Lists of a history are counted by the sizes of their entries before these are read",
    kept_by="app/services/sessions/history.py",
    tried="24 readers of 6 MiB, a budget of 64 MiB: at most 48 MiB more",
)
def test_pages_of_text_are_counted_before_they_are_read(tmp_path: Path) -> None:
    env = {"PAGEFAULT_AUTH": "none", "PAGEFAULT_LIMITS__MEMORY_BYTES": str(BUDGET_BYTES)}
    server = Process(tmp_path / "data", env=env)
    with server:
        with server.client("") as client:
            append(client, "word " * (TEXT_BYTES // 5))
            # Otherwise the entry is indexed later, which takes memory too.
            assert client.get("/api/search?q=word").is_success
        server.kill()
        server.start()
        path = "/api/sessions/s/messages"
        with server.client("") as client, ExitStack() as stack:
            assert client.get("/healthz").status_code == 200
            before = server.peak_bytes()
            # Each is another page, so that none is known already.
            readers = [
                stack.enter_context(closing(deaf(server, f"{path}?limit={limit}")))
                for limit in range(1, 25)
            ]
            statuses = [reader.recv(12) for reader in readers]
            alone = [f"{path}/1", f"{path}/1?media=inline", f"{path}?media=inline"]
            refused = [client.get(item).status_code for item in alone]
            grown = server.peak_bytes() - before
            stack.close()
            answered = [client.get(item).status_code for item in alone]
    print(f"grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert {*statuses} == {b"HTTP/1.1 200", b"HTTP/1.1 503"}
    assert (refused, answered) == ([503, 503, 503], [200, 200, 200])
    assert grown < BUDGET_BYTES * 3 // 4


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Samples that are sent as a WAV file are converted a piece at a time",
    kept_by="app/services/resources/content_sources.py",
    tried="100 MiB of PCM and of G.711, which becomes 200 MiB: below 16 MiB more",
)
@pytest.mark.parametrize("mime_type", ["audio/L16;rate=24000;endian=big", "audio/PCMU"])
def test_long_recording_is_sent_as_wav_a_piece_at_a_time(server: Process, mime_type: str) -> None:
    size_bytes = 100 * MIB
    sent_bytes = size_bytes * (2 if mime_type == "audio/PCMU" else 1) + 44
    headers = {"Content-Type": mime_type}
    with server.client("") as client:
        stored = client.post("/api/resources", content=bytes(size_bytes), headers=headers)
    path = f"{stored.headers['location']}/content?as=wav"
    server.kill()
    server.start()
    with server.client("") as client:
        assert client.get(path, headers={"Range": "bytes=0-9"}).status_code == 206
        before = server.peak_bytes()
        with client.stream("GET", path) as answer:
            received = sum(map(len, answer.iter_raw()))
        grown = server.peak_bytes() - before
    print(f"grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert (answer.headers["content-length"], received) == (str(sent_bytes), sent_bytes)
    assert grown < 16 * MIB


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Clients that request content and do not read hold little of it",
    kept_by="app/http/content_response.py",
    tried="200 readers of 64 MiB: below 112 MiB in all",
)
def test_readers_of_content_that_read_nothing_hold_a_small_piece_each(server: Process) -> None:
    size_bytes = 64 * MIB
    with server.client("") as client:
        stored = client.post("/api/resources", content=bytes(size_bytes)).raise_for_status()
    server.kill()
    server.start()
    path = f"/api/resources/{stored.json()['uri']}/content"
    with server.client("") as client, ExitStack() as stack:
        assert client.get(path, headers={"Range": "bytes=0-9"}).status_code == 206
        before = server.peak_bytes()
        readers = [stack.enter_context(closing(deaf(server, path))) for _ in range(CONTENT_READERS)]
        assert {reader.recv(12) for reader in readers} == {b"HTTP/1.1 200"}
        assert len(client.get(path).content) == size_bytes
        grown = server.peak_bytes() - before
    print(f"grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert grown < 112 * MIB


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A bundle or page is refused before it is made if there is no memory for it",
    kept_by="app/services/pages/downloads.py",
    tried="503 with `Retry-After`",
)
def test_bundle_and_page_there_is_no_memory_for_are_503_until_a_reader_goes_away(
    tmp_path: Path,
) -> None:
    env = {"PAGEFAULT_AUTH": "none", "PAGEFAULT_LIMITS__MEMORY_BYTES": str(BUDGET_BYTES)}
    bundle, page = "/api/sessions/s/bundle", "/api/pages/p/download"
    medium = "data:image/png;base64," + pybase64.b64encode(IMAGE).decode()
    server = Process(tmp_path / "data", env=env)
    with server, server.client("") as client:
        block = {"type": "image_url", "image_url": {"url": medium}}
        append(client, [block])
        written = {"modality": "structured", "content": {"image": medium}}
        client.put("/api/pages/p", json=written).raise_for_status()
        with ExitStack() as stack:
            # Nine hold 6 MiB each, so there is no room for one that is to hold 10 at first.
            for _ in range(9):
                reader = stack.enter_context(closing(deaf(server, bundle)))
                assert reader.recv(12) == b"HTTP/1.1 200"
            refused = [client.get(path) for path in (bundle, page)]
        assert [answer.status_code for answer in refused] == [503, 503]
        assert all("retry-after" in answer.headers for answer in refused)
        # They wait a second for what the reader held.
        assert client.get(page).json() == written["content"]
        assert client.get(bundle).status_code == 200


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Listeners that do not read share the events that wait for them",
    kept_by="app/routers/events.py",
    tried="40 listeners, 40 events of 62 KB: below 24 MiB",
)
def test_listeners_that_read_nothing_share_what_waits_for_them(server: Process) -> None:
    with server.client("") as client:
        append(client, "Hi.")

        async def crowd() -> int:
            streams = [await listen(server.port, "", receive_bytes=4_096) for _ in range(LISTENERS)]
            for stream in streams:
                await stream.until_open()
                stream.pause()
            before = server.peak_bytes()
            for _ in range(EVENTS):
                await asyncio.to_thread(append, client, "x" * EVENT_CHARS)
            quick = await listen(server.port, "", last_event_id=1)
            assert await quick.until_position(EVENTS + 1)
            grown = server.peak_bytes() - before
            for stream in [*streams, quick]:
                stream.close()
            return grown

        grown = asyncio.run(crowd())
    print(f"grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert grown < 24 * MIB
