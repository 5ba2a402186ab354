"""Throughput of many simultaneous clients, and the longest waiting times.

    python -m benchmarks --only load

One process of the service on SQLite and a directory, and its clients, share all cores. Each load
comes in turns with its ceiling: the same requests to a FastAPI route under the same server that
counts the bytes it is sent, or answers with the same bytes. All that was stored is read back and
compared by its SHA-256; what is read is compared byte by byte.
"""

import asyncio
import base64
import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import quantiles

from benchmarks.figures import (
    Aim,
    Figure,
    Scale,
    WrongAnswerError,
    value_at_least,
    value_at_most,
)
from benchmarks.live_server import Bare, Memory, Service, bare_server, serving
from benchmarks.load_client import request
from benchmarks.machine import ALL
from tests.kit.media import png

GROUP = "load"
MIB = 1 << 20
UPLOAD_BYTES = 64 * 1024
DOWNLOAD_BYTES = MIB
IMAGE_SIDE = 1_330
"""Of a picture of noise, which has three bytes for each point: a little more than 5 MiB."""

_PATIENCE_SECONDS = 60.0
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, the status that a right answer has, and what sees to its body."""

    request: bytes
    status: int
    take: Callable[[bytes], None]


Requests = Callable[[], Asked]
"""Makes the next request of any client."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a load over all of its rounds. Times are in milliseconds."""

    a_second: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Answers a second, of the median round."""
        return sorted(self.a_second)[len(self.a_second) // 2]

    @property
    def p99(self) -> float:
        """The 99th percentile of the times of answers."""
        if len(self.milliseconds) < 2:
            return max(self.milliseconds)
        return quantiles(self.milliseconds, n=100, method="inclusive")[98]


@dataclass(frozen=True, slots=True)
class Load:
    """Clients of the service, and those of the baseline."""

    name: str
    clients: int
    served: Requests
    ceiling: Requests
    ceiling_name: str


async def measure(scale: Scale) -> Sequence[Figure]:
    """Uploads, downloads, pictures in tool results, a long history; and the memory of it all."""
    entries = scale.pick(10_000, 60)
    with tempfile.TemporaryDirectory() as name, serving(Path(name), cores=ALL) as service:
        content = os.urandom(DOWNLOAD_BYTES)
        place = _uploaded(service, content)
        history = await _long_history(service, entries)
        constants = {"content": content, "history": history.first_page}
        with bare_server(Path(name) / "bare", constants=constants, cores=ALL) as bare:
            uploads = Uploads(service, bare)
            images = Images(service, bare, side=scale.pick(IMAGE_SIDE, 40))
            figures = [
                *await _measured(uploads.load, service, bare, scale, _rate(300), 250),
                *await _measured(
                    _downloads(service, place, content), service, bare, scale, _bytes(200), 150
                ),
                *await _measured(images.load, service, bare, scale, None, 400),
                *await _measured(history.load(service), service, bare, scale, None, 200),
            ]
            uploads.check()
            images.check()
            ceiling = Memory(bare.pid).peak / MIB
        resident = Memory(service.pid).peak / MIB
    return [
        *figures,
        Figure(
            group=GROUP,
            name="memory through all of it",
            value=resident,
            unit="MiB resident",
            baseline=ceiling,
            baseline_name="the route that counts",
            aim=value_at_most(450),
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Rate:
    """The unit of answers a second (answers or bytes), and the aim."""

    unit: str
    factor: float
    aim: Aim


def _rate(aim: float) -> _Rate:
    return _Rate("a second", 1, value_at_least(aim))


def _bytes(aim: float) -> _Rate:
    return _Rate("MB/s", DOWNLOAD_BYTES / 1e6, value_at_least(aim))


async def _measured(
    load: Load, service: Service, bare: Bare, scale: Scale, rate: _Rate | None, max_ms: float
) -> list[Figure]:
    """A load and its ceiling in turns; a first round warms up and is not counted."""
    served, ceiling = Measured(), Measured()
    seconds = scale.pick(2.0, 0.05)
    for number in range(scale.pick(5, 1) + 1):
        for port, requests, measured in (
            (service.port, load.served, served),
            (bare.port, load.ceiling, ceiling),
        ):
            times, took = await _asked(port, requests, clients=load.clients, seconds=seconds)
            if number:
                measured.a_second.append(len(times) / took)
                measured.milliseconds.extend(times)
    p99 = Figure(
        group=GROUP,
        name=f"{load.name}, p99",
        value=served.p99,
        unit="ms",
        baseline=ceiling.p99,
        baseline_name=load.ceiling_name,
        aim=value_at_most(max_ms),
        detail=f"of {len(served.milliseconds):,} answers",
    )
    if rate is None:
        return [p99]
    shown = Figure(
        group=GROUP,
        name=load.name,
        value=served.rate * rate.factor,
        unit=rate.unit,
        baseline=ceiling.rate * rate.factor,
        baseline_name=load.ceiling_name,
        aim=rate.aim,
    )
    return [shown, p99]


async def _asked(
    port: int, requests: Requests, *, clients: int, seconds: float
) -> tuple[list[float], float]:
    """Have clients ask for so long; the milliseconds of each answer, and the seconds in all."""
    times: list[float] = []
    started = time.perf_counter()

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=MIB)
        while time.perf_counter() - started < seconds:
            asked = requests()
            sent = time.perf_counter()
            writer.write(asked.request)
            body = await _answer(reader, asked.status)
            times.append((time.perf_counter() - sent) * 1e3)
            asked.take(body)
        writer.close()
        await writer.wait_closed()

    async with asyncio.timeout(seconds + _PATIENCE_SECONDS):
        await asyncio.gather(*(ask() for _ in range(clients)))
    return times, time.perf_counter() - started


async def _answer(reader: asyncio.StreamReader, status: int) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = _LENGTH.search(head)
    body = await reader.readexactly(int(length[1])) if length else b""
    if int(head[9:12]) != status:
        raise WrongAnswerError(f"{head.decode()}{body[:2_000].decode(errors='replace')}")
    return body


class _Stored:
    """The acknowledged bodies: their references, by number."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept: dict[int, str] = {}

    def add(self, number: int, uri: str) -> None:
        """Note one that was acknowledged."""
        self._kept[number] = uri

    def check(self, body: Callable[[int], bytes]) -> None:
        """Read everything back, and compare it with the sent bodies."""
        with self._service.client() as client:
            for number, uri in self._kept.items():
                path = f"/api/resources/{uri.removeprefix('blob:')}/content"
                found = client.get(path).raise_for_status().content
                if hashlib.sha256(found).digest() != hashlib.sha256(body(number)).digest():
                    raise WrongAnswerError(f"body {number} was stored as something else")


class Uploads:
    """Files of 64 KiB, no two the same."""

    def __init__(self, service: Service, bare: Bare) -> None:
        self._rest = os.urandom(UPLOAD_BYTES - 8)
        self._headers = {**service.headers, "Content-Type": "application/octet-stream"}
        self._stored = _Stored(service)
        self.load = Load(
            "32 uploads of 64 KiB at once", 32, self._upload, self._counted, "bytes only counted"
        )

    def check(self) -> None:
        """See that all of them are stored as they were sent."""
        self._stored.check(self._body)

    def _body(self, number: int) -> bytes:
        return number.to_bytes(8) + self._rest

    def _upload(self) -> Asked:
        number = next(_numbers)
        body = self._body(number)

        def take(answer: bytes) -> None:
            self._stored.add(number, json.loads(answer)["uri"])

        sent = request("POST", "/api/resources", headers=self._headers, body=body)
        return Asked(sent, 201, take)

    def _counted(self) -> Asked:
        return _counting(self._body(next(_numbers)))


class Images:
    """Tool results with a picture of 5 MiB, no two the same."""

    def __init__(self, service: Service, bare: Bare, *, side: int) -> None:
        image = png(side, side, noise=True)
        # Whole groups of three, so that what follows has base64 of its own.
        self._image = image + bytes(-len(image) % 3)
        self._base64 = base64.b64encode(self._image)
        self._headers = {**service.headers, "Content-Type": "application/json"}
        self._stored = _Stored(service)
        self.load = Load(
            "an image of 5 MiB in a tool result, 8 clients",
            8,
            self._result,
            self._counted,
            "bytes only counted",
        )

    def check(self) -> None:
        """See that all of them are stored as they were sent."""
        self._stored.check(lambda number: self._image + number.to_bytes(6))

    def _body(self, number: int) -> bytes:
        start = (
            b'{"toolName": "look", "toolCallId": "i%d", "sessionId": "images", "result": '
            b'{"content": [{"type": "image", "data": "' % number
        )
        return start + self._base64 + base64.b64encode(number.to_bytes(6)) + b'"}]}}'

    def _result(self) -> Asked:
        number = next(_numbers)

        def take(answer: bytes) -> None:
            (resource,) = json.loads(answer)["sanitized"]["resources"]
            self._stored.add(number, resource["uri"])

        body = self._body(number)
        sent = request("POST", "/api/tool-results", headers=self._headers, body=body)
        return Asked(sent, 201, take)

    def _counted(self) -> Asked:
        return _counting(self._body(next(_numbers)))


def _counting(body: bytes) -> Asked:
    def take(answer: bytes) -> None:
        if answer != b"%d" % len(body):
            raise WrongAnswerError(f"{answer!r} bytes were counted of {len(body)}")

    return Asked(request("POST", "/count", body=body), 200, take)


def _reading(path: str, expected: bytes, headers: dict[str, str] | None = None) -> Requests:
    def take(answer: bytes) -> None:
        if answer != expected:
            raise WrongAnswerError(f"{path} has other bytes than it should have")

    asked = Asked(request("GET", path, headers=headers), 200, take)
    return lambda: asked


def _downloads(service: Service, place: str, content: bytes) -> Load:
    return Load(
        "16 downloads of 1 MiB at once",
        16,
        _reading(place, content, service.headers),
        _reading("/constants/content", content),
        "a constant",
    )


@dataclass(frozen=True, slots=True)
class History:
    """A session of very many entries."""

    path: str
    first_page: bytes

    def load(self, service: Service) -> Load:
        """Its first page, read by several clients."""
        return Load(
            "first page of a history of 10,000, 8 clients",
            8,
            _reading(self.path, self.first_page, service.headers),
            _reading("/constants/history", self.first_page),
            "a constant",
        )


async def _long_history(service: Service, entries: int) -> History:
    headers = {**service.headers, "Content-Type": "application/json"}
    left = iter(range(entries))

    def messages() -> Iterator[Asked]:
        for number in left:
            message = {"role": "user", "content": f"{number}. A word or two on what is wanted."}
            body = json.dumps(message).encode()
            sent = request("POST", "/api/sessions/long/messages", headers=headers, body=body)
            yield Asked(sent, 201, lambda _: None)

    async def write() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        for asked in messages():
            writer.write(asked.request)
            await _answer(reader, asked.status)
        writer.close()

    await asyncio.gather(*(write() for _ in range(16)))
    path = "/api/sessions/long/messages"
    with service.client() as client:
        return History(path, client.get(path).raise_for_status().content)


def _uploaded(service: Service, content: bytes) -> str:
    with service.client() as client:
        headers = {"Content-Type": "application/octet-stream"}
        answer = client.post("/api/resources", content=content, headers=headers)
        uri: str = answer.raise_for_status().json()["uri"]
    return f"/api/resources/{uri.removeprefix('blob:')}/content"
