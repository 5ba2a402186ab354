"""Memory of a process for answers and events that are not read.

    python -m benchmarks --only memory-out

Readers ask for a history with its media, or for large pages of it without any, and read nothing.
Then a thousand listeners read nothing while large messages are written, and `/healthz` is asked
meanwhile. What is shown is by how much the resident size of a fresh service has grown at most.
One process of the service on SQLite and a directory.
"""

import asyncio
import hashlib
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pybase64

from benchmarks.figures import Figure, Scale, WrongAnswerError, value_at_most
from benchmarks.live_server import Memory, Service, serving
from benchmarks.load_client import request
from benchmarks.machine import ALL
from benchmarks.turns import cpu_seconds

GROUP = "memory-out"
MIB = 1 << 20
_READERS = 12
_MEDIA = 4
_MEDIUM_BYTES = 16 * MIB
_LISTENERS = 1_000
_EVENTS = 1_500
_EVENT_CHARS = 62_000
_WRITERS = 4
_RECEIVE_BYTES = 4_096
_SETTLED_SECONDS = 3.0


async def measure(scale: Scale) -> Sequence[Figure]:
    """Each kind of answer on a service of its own."""
    return [
        await asyncio.to_thread(_inline, scale),
        await asyncio.to_thread(_bundles, scale),
        await asyncio.to_thread(_content, scale),
        await asyncio.to_thread(_pages, scale),
        *await _events(scale),
    ]


def _inline(scale: Scale) -> Figure:
    """Readers of a history with its media."""
    readers = scale.pick(_READERS, 2)
    size = scale.pick(_MEDIUM_BYTES, MIB)

    def fill(client: httpx.Client) -> None:
        for number in range(_MEDIA):
            url = "data:image/png;base64," + pybase64.b64encode(_noise(number, size)).decode()
            block = {"type": "image_url", "image_url": {"url": url}}
            _append(client, {"role": "user", "content": [block]})

    grown = _grown(scale, fill, "/api/sessions/s/messages?media=inline", readers)
    return Figure(
        group=GROUP,
        name=f"{readers} readers of `messages?media=inline` that read nothing",
        value=grown,
        unit="MiB",
        aim=value_at_most(64),
        detail=f"{_MEDIA * size // MIB} MiB of media in the answer",
    )


def _bundles(scale: Scale) -> Figure:
    """Readers of the bundle of the same session."""
    readers = scale.pick(_READERS, 2)
    size = scale.pick(_MEDIUM_BYTES, MIB)

    def fill(client: httpx.Client) -> None:
        for number in range(_MEDIA):
            client.post("/api/sessions/s/messages", json={"role": "user", "content": "x" * size})
            blob = client.post("/api/resources", content=_noise(number, size)).raise_for_status()
            _append(client, {"role": "user", "content": "@" + blob.json()["uri"]})

    grown = _grown(scale, fill, "/api/sessions/s/bundle", readers)
    return Figure(
        group=GROUP,
        name=f"{readers} readers of a bundle that read nothing",
        value=grown,
        unit="MiB",
        aim=value_at_most(64),
        detail="the most that is held while the rows are put down is one of them",
    )


def _content(scale: Scale) -> Figure:
    """Readers of a file."""
    readers = scale.pick(500, 2)
    size = scale.pick(64 * MIB, MIB)
    content = _noise(0, size)
    uris: list[str] = []

    def fill(client: httpx.Client) -> None:
        stored = client.post("/api/resources", content=content).raise_for_status()
        uris.append(stored.json()["uri"])
        _append(client, {"role": "user", "content": "@" + uris[0]})

    grown = _grown(scale, fill, lambda: f"/api/resources/{uris[0]}/content", readers)
    return Figure(
        group=GROUP,
        name=f"{readers} readers of content that read nothing",
        value=grown,
        unit="MiB",
        aim=value_at_most(200),
        detail=f"{size // MIB} MiB of content",
    )


def _pages(scale: Scale) -> Figure:
    """Readers of pages of a history that are text."""
    readers = scale.pick(64, 2)
    chars = scale.pick(15 * MIB, MIB)

    def fill(client: httpx.Client) -> None:
        _append(client, {"role": "user", "content": "x" * chars})

    grown = _grown(scale, fill, "/api/sessions/s/messages", readers)
    return Figure(
        group=GROUP,
        name=f"{readers} readers of {chars // MIB} MiB of JSON that read nothing",
        value=grown,
        unit="MiB",
        aim=value_at_most(400),
        detail="those for whom there is no room get a 503",
    )


async def _events(scale: Scale) -> Sequence[Figure]:
    listeners, events = scale.pick(_LISTENERS, 5), scale.pick(_EVENTS, 5)
    with tempfile.TemporaryDirectory() as name, serving(Path(name), cores=ALL) as service:
        with service.client() as client:
            _append(client, {"role": "user", "content": "Hi."})
        with _deaf(service, "/api/events", listeners):
            memory = Memory(service.pid)
            before = memory.now
            memory.reset_peak()
            waits: list[_Wait] = []
            asking = asyncio.create_task(_ask_health(service, waits))
            try:
                await _write(service, events)
                await asyncio.sleep(scale.pick(_SETTLED_SECONDS, 0.1))
            finally:
                asking.cancel()
            grown = (memory.peak - before) / MIB
    name = f"{listeners:,} listeners that read nothing of {events:,} events of 63 KB"
    return [
        Figure(group=GROUP, name=name, value=grown, unit="MiB", aim=value_at_most(200)),
        Figure(
            group=GROUP,
            name="`/healthz` meanwhile, longest",
            value=max(wait.seconds for wait in waits) * 1_000,
            unit="ms",
            aim=value_at_most(500),
            detail=f"of {len(waits):,} answers",
        ),
        Figure(
            group=GROUP,
            name="the same, most processor time of the service until the answer",
            value=max(wait.spent_seconds for wait in waits) * 1_000,
            unit="ms",
            aim=value_at_most(500),
            detail="of all its threads; what others take of the machine is not in it",
        ),
    ]


async def _write(service: Service, events: int) -> None:
    left = iter(range(events))
    message = {"role": "user", "content": "x" * _EVENT_CHARS}

    async def write(client: httpx.AsyncClient) -> None:
        for _ in left:
            answer = await client.post("/api/sessions/s/messages", json=message)
            answer.raise_for_status()

    async with _client(service) as client:
        await asyncio.gather(*(write(client) for _ in range(_WRITERS)))


@dataclass(frozen=True, slots=True)
class _Wait:
    """Return the time between a request and its answer, and the service's processor time."""

    seconds: float
    spent_seconds: float


async def _ask_health(service: Service, waits: list[_Wait]) -> None:
    async with _client(service) as client:
        while True:
            began, spent = time.perf_counter(), cpu_seconds(service.pid)
            (await client.get("/healthz")).raise_for_status()
            waits.append(
                _Wait(time.perf_counter() - began, cpu_seconds(service.pid) - spent),
            )
            await asyncio.sleep(0.02)


def _client(service: Service) -> httpx.AsyncClient:
    url = f"http://127.0.0.1:{service.port}"
    return httpx.AsyncClient(base_url=url, headers=service.headers, timeout=120)


def _grown(
    scale: Scale,
    fill: Callable[[httpx.Client], None],
    path: str | Callable[[], str],
    readers: int,
) -> float:
    """By how many MiB the service grows for readers that read nothing of an answer."""
    with tempfile.TemporaryDirectory() as name:
        with serving(Path(name), cores=ALL) as service, service.client() as client:
            fill(client)
        # Started anew, so that what storing took is not counted.
        with serving(Path(name), cores=ALL) as service:
            with service.client() as client:
                client.get("/api/sessions/s/messages", params={"limit": 1}).raise_for_status()
            memory = Memory(service.pid)
            before = memory.now
            memory.reset_peak()
            with _deaf(service, path if isinstance(path, str) else path(), readers):
                _wait_until_still(memory, scale.pick(_SETTLED_SECONDS, 0.1))
                return (memory.peak - before) / MIB


def _wait_until_still(memory: Memory, seconds: float) -> None:
    last = 0
    while memory.peak != last:
        last = memory.peak
        time.sleep(seconds)


@contextmanager
def _deaf(service: Service, path: str, count: int) -> Iterator[None]:
    """Connections that ask for an answer and read nothing of it but its beginning."""
    asked = request("GET", path, headers=service.headers)
    with ExitStack() as stack:
        readers = []
        for _ in range(count):
            reader = stack.enter_context(socket.socket())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
            reader.settimeout(120)
            reader.connect(("127.0.0.1", service.port))
            reader.sendall(asked)
            readers.append(reader)
        statuses = {reader.recv(12) for reader in readers}
        if not statuses <= {b"HTTP/1.1 200", b"HTTP/1.1 503"}:
            raise WrongAnswerError(f"{path} answered {statuses}")
        yield


def _append(client: httpx.Client, message: object) -> None:
    client.post("/api/sessions/s/messages", json=message).raise_for_status()


def _noise(number: int, size: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + hashlib.shake_128(b"%d" % number).digest(size)
