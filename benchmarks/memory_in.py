"""Memory of the service under bodies that try to fill it, and the delay of other clients.

    python -m benchmarks --only memory-in

Each load meets a fresh service that has taken a few requests of each kind. What is measured is the
highest resident size above what it had then; `/healthz` is asked all the time. A figure counts only
if nothing is held of the budget afterwards.
"""

import asyncio
import base64
import json
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure, Scale, WrongAnswerError, value_at_most
from benchmarks.live_server import Memory, Service, serving
from benchmarks.load_client import request
from benchmarks.machine import ALL

GROUP = "memory-in"
MIB = 1 << 20
_MAX_HEALTH_MS = 500
_PATIENCE_SECONDS = 120.0
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")
_HELD = re.compile(r"^pagefault_memory_held_bytes 0\.0$", re.MULTILINE)
_WORDS = b"a word or two " * (MIB // 14)


@dataclass(frozen=True, slots=True)
class Load:
    """Simultaneous requests, and their limit; `most` is in MiB, above the start or in all."""

    name: str
    send: Callable[[Service], Awaitable[Sequence[int]]]
    most: int
    is_in_all: bool = False


async def measure(scale: Scale) -> Sequence[Figure]:
    """Each load against a service of its own."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as name:
        for number, load in enumerate(_loads(scale)):
            figures += await _met(load, Path(name) / str(number), scale)
    return figures


def _loads(scale: Scale) -> Sequence[Load]:
    most, some = scale.pick(256, 2), scale.pick(64, 2)
    call = b'{"toolName":"t","toolCallId":"c","result":"'
    page, image = b'{"modality":"text","content":"', b'{"modality":"image","content":"'
    message, block = (
        b'{"role":"user","content":"',
        b'{"role":"user","content":[{"type":"image","url":"',
    )
    posts = {
        f"a text of {most} MiB as a tool result": (
            "POST /api/tool-results",
            call,
            [_WORDS] * most,
            b'"}',
        ),
        f"a text of {most} MiB as a page": ("PUT /api/pages/p", page, [_WORDS] * most, b'"}'),
        f"a text of {most} MiB as a message": (
            "POST /api/sessions/s/messages",
            message,
            [_WORDS] * most,
            b'"}',
        ),
        f"a data URI of {some} MiB as a page": ("PUT /api/pages/p", image, _uri(some), b'"}'),
        f"a data URI of {some} MiB in a message": (
            "POST /api/sessions/s/messages",
            block,
            _uri(some),
            b'"}]}',
        ),
    }

    def one(
        line: str, head: bytes, middle: list[bytes], tail: bytes
    ) -> Callable[..., Awaitable[Sequence[int]]]:
        async def send(service: Service) -> Sequence[int]:
            return [await _sent(service, line, [head, *middle, tail])]

        return send

    async def unfinished(service: Service) -> Sequence[int]:
        pieces = [call, *[_WORDS] * some]
        many = (_sent(service, "POST /api/tool-results", pieces, missing=1) for _ in range(8))
        return await asyncio.gather(*many)

    async def results(service: Service) -> Sequence[int]:
        return await asyncio.gather(
            *(
                _sent(service, "POST /api/tool-results", [result])
                for result in _results(scale.pick(32, 2))
            )
        )

    return (
        Load(f"8 unfinished texts of {some} MiB", unfinished, 150),
        *(Load(name, one(*parts), 64) for name, parts in posts.items()),
        Load("32 results of 1.5 MB at once", results, 300, is_in_all=True),
    )


def _uri(size_mib: int) -> list[bytes]:
    piece = base64.b64encode(os.urandom(MIB // 3 * 3))
    return [b"data:image/png;base64,", *[piece] * size_mib]


def _results(count: int) -> Iterator[bytes]:
    for number in range(count):
        call = {
            "toolName": "t",
            "toolCallId": f"c{number}",
            "result": f"{number} " + "words " * 250_000,
        }
        yield json.dumps(call).encode()


async def _met(load: Load, folder: Path, scale: Scale) -> Sequence[Figure]:
    with serving(folder, cores=ALL) as service:
        memory = Memory(service.pid)
        _warm(service)
        before = 0 if load.is_in_all else memory.now
        memory.reset_peak()
        health: list[float] = []
        asking = asyncio.create_task(_ask_health(service, health))
        statuses = await load.send(service)
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        grown = (memory.peak - before) / MIB
        with service.client() as client:
            for _ in range(100):
                if _HELD.search(client.get("/metrics").text):
                    break
                await asyncio.sleep(0.05)
            else:
                raise WrongAnswerError(f"{load.name}: something is still held")
    if scale is Scale.FULL and any(status >= 500 and status != 503 for status in statuses):
        raise WrongAnswerError(f"{load.name}: {statuses}")
    answers = ", ".join(f"{count} of {key or 'none'}" for key, count in Counter(statuses).items())
    return (
        Figure(
            group=GROUP,
            name=load.name,
            value=grown,
            unit="MiB resident" if load.is_in_all else "MiB more",
            aim=value_at_most(load.most),
            detail=f"answered {answers}",
        ),
        Figure(
            group=GROUP,
            name=f"{load.name}: `/healthz` meanwhile, longest",
            value=max(health, default=0.0),
            unit="ms",
            aim=value_at_most(_MAX_HEALTH_MS),
        ),
    )


def _warm(service: Service) -> None:
    with service.client() as client:
        for number in range(3):
            call = {"toolName": "t", "toolCallId": f"w{number}", "result": "a word " * 30_000}
            client.post("/api/tool-results", json=call).raise_for_status()
            page = {"modality": "text", "content": "words"}
            client.put(f"/api/pages/w{number}", json=page).raise_for_status()
            message = {"role": "user", "content": "words"}
            client.post("/api/sessions/w/messages", json=message).raise_for_status()


async def _ask_health(service: Service, times: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    while True:
        began = time.perf_counter()
        writer.write(request("GET", "/healthz"))
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        await reader.readexactly(int(length[1]) if length else 0)
        times.append((time.perf_counter() - began) * 1e3)
        await asyncio.sleep(0.01)


async def _sent(service: Service, line: str, pieces: list[bytes], *, missing: int = 0) -> int:
    """Send a body piece by piece until it is answered; return the status, 0 without an answer.

    With `missing` so many bytes more are announced than are sent, and nothing is waited for.
    """
    method, path = line.split()
    length = sum(map(len, pieces)) + missing
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port, limit=MIB)
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: {service.headers['Authorization']}\r\nContent-Length: {length}\r\n\r\n"
    )
    answer = asyncio.create_task(reader.readuntil(b"\r\n\r\n"))
    try:
        writer.write(head.encode())
        for piece in pieces:
            if answer.done():
                break
            writer.write(piece)
            await writer.drain()
        if missing and not answer.done():
            await asyncio.wait([answer], timeout=1.0)
    except OSError:
        # It was refused while it was sent, and the answer is there to be read.
        pass
    try:
        async with asyncio.timeout(0.01 if missing else _PATIENCE_SECONDS):
            found = _STATUS.match(await answer)
    except (TimeoutError, OSError, asyncio.IncompleteReadError):
        found = None
    writer.transport.abort()
    return int(found[1]) if found else 0
