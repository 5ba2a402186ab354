"""How long the service takes for what is meant to keep it busy, and what others wait meanwhile.

    python -m benchmarks --only hostile

Images that are small as files and large as pixels, JSON that is deep, wide or long, a form of many
parts and a request for many ranges are sent one after the other on one connection. On another one
`/healthz` is asked all the time, and two hundred more have stopped in the middle of a body. At last
as many clients as may be connected are refused large bodies and go on sending them. One process of
the service on SQLite and a directory; it and its clients share all cores.
"""

import asyncio
import base64
import json
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median, quantiles

from benchmarks.figures import Figure, Scale, WrongAnswerError, value_at_most
from benchmarks.live_server import Memory, Service, serving
from benchmarks.load_client import request
from benchmarks.machine import ALL
from tests.kit.bombs import BOMBS
from tests.kit.hostile_texts import SHAPES

GROUP = "hostile"
MIB = 1 << 20
_MOST_DECODING_MS = 1_000
_MOST_PARSING_MS = 2_000
_MOST_HEALTH_MS = 250
_PATIENCE_SECONDS = 60.0
_STOPPED = 200
_REFUSED = 5_000
_SHAPES = (
    "escaped quotes with a head, never closed",
    "heads",
    "heads of base64",
    "runs of forty",
    "starts of images in equal groups",
)
_calls = count(1)


@dataclass(frozen=True, slots=True)
class Attack:
    """A body that costs more than it looks; any answer below 500 is right."""

    name: str
    path: str
    body: bytes
    content_type: str
    most_ms: float
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Met:
    """What was answered, after how long in each round, and how long `/healthz` took meanwhile.

    Times are in milliseconds.
    """

    statuses: set[int]
    times: list[float]
    health: list[float]


async def measure(scale: Scale) -> Sequence[Figure]:
    """Every attack, several times, and bodies that are refused."""
    with tempfile.TemporaryDirectory() as name, serving(Path(name), cores=ALL) as service:
        memory = Memory(service.pid)
        await _meet(service, _warm(), rounds=1)
        before = memory.peak
        figures: list[Figure] = []
        health: list[float] = []
        attacks = [*_attacks(scale), _ranges(service)]
        async with _stopped_senders(service, scale.pick(_STOPPED, 2)):
            for attack in attacks:
                met = await _meet(service, attack, rounds=scale.pick(7, 1))
                health += met.health
                figures.append(_figure(attack, met))
        grown = (memory.peak - before) / MIB
    figures += await _refused_bodies(scale)
    return [
        *figures,
        Figure(
            group=GROUP,
            name="`/healthz` meanwhile, p99",
            value=quantiles(health, n=100, method="inclusive")[98],
            unit="ms",
            aim=value_at_most(_MOST_HEALTH_MS),
            detail=f"of {len(health):,} answers; median {median(health):.1f}, "
            f"longest {max(health):.0f}",
        ),
        Figure(group=GROUP, name="memory for all of it", value=grown, unit="MiB"),
    ]


def _figure(attack: Attack, met: Met) -> Figure:
    answers = ", ".join(map(str, sorted(met.statuses)))
    return Figure(
        group=GROUP,
        name=attack.name,
        value=max(met.times),
        unit="ms",
        aim=value_at_most(attack.most_ms),
        detail=f"{_size(attack):,} bytes; longest of {len(met.times)}, "
        f"median {median(met.times):.0f}; answered {answers}",
    )


def _size(attack: Attack) -> int:
    return len(attack.body) + sum(map(len, attack.headers.values()))


@asynccontextmanager
async def _stopped_senders(service: Service, senders: int) -> AsyncIterator[None]:
    """So many who have sent half of a file, and go on with nothing."""
    sent = request("POST", "/api/resources", headers=service.headers, body=bytes(2_000))[:-1_000]
    writers = []
    for _ in range(senders):
        _, writer = await asyncio.open_connection("127.0.0.1", service.port)
        writer.write(sent)
        writers.append(writer)
    yield
    for writer in writers:
        writer.transport.abort()


async def _refused_bodies(scale: Scale) -> Sequence[Figure]:
    """Clients without a key that announce 1 GB each, are answered, and send a byte now and then.

    They are as many as may be connected; whoever comes then is to be answered all the same.
    """
    many = scale.pick(_REFUSED, 20)
    env = {"PAGEFAULT_LIMITS__CONNECTIONS_AT_ONCE": str(many)}
    head = request("POST", "/api/resources", headers={"Content-Length": "1000000000"})
    with tempfile.TemporaryDirectory() as name, serving(Path(name), env=env, cores=ALL) as service:
        before = Memory(service.pid).peak
        clients = []
        for _ in range(many):
            reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
            clients.append((reader, writer))
            writer.write(head)
            if await _status(reader) != 401:
                raise WrongAnswerError("a body without a key is not answered 401")
            writer.write(b"x")
        answers: list[int] = []
        async with asyncio.timeout(_PATIENCE_SECONDS):
            for _ in range(10):
                for reader, writer in clients:
                    if not reader.at_eof():
                        writer.write(b"x")
                reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
                writer.write(request("GET", "/healthz"))
                answers.append(await _status(reader))
                writer.close()
        grown = (Memory(service.pid).peak - before) / MIB
        for _, writer in clients:
            writer.transport.abort()
    return [
        Figure(
            group=GROUP,
            name="`/healthz` refused beside 5,000 refused bodies of 1 GB",
            value=sum(answer != 200 for answer in answers),
            unit=f"of {len(answers)}",
            aim=value_at_most(0),
            detail=f"{many:,} connections, all that may be open; {grown:.0f} MiB more in memory",
        )
    ]


async def _meet(service: Service, attack: Attack, *, rounds: int) -> Met:
    """Send it, one round after the other, and ask how the service is until all are answered."""
    met = Met(set(), [], [])
    sending = asyncio.create_task(_send(service, attack, rounds, met))
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    asked = request("GET", "/healthz")
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while not sending.done():
            began = time.perf_counter()
            writer.write(asked)
            if await _status(reader) != 200:
                raise WrongAnswerError("/healthz does not answer 200")
            met.health.append((time.perf_counter() - began) * 1e3)
            # What measures is not to be what keeps the service busy.
            await asyncio.sleep(0.002)
        await sending
    writer.close()
    return met


async def _send(service: Service, attack: Attack, rounds: int, met: Met) -> None:
    for _ in range(rounds):
        # An answer that does not wait for all of the body ends its connection.
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        body = attack.body.replace(b"CALL", b"c%d" % next(_calls))
        headers = {**service.headers, **attack.headers, "Content-Type": attack.content_type}
        began = time.perf_counter()
        writer.write(request(attack.method, attack.path, headers=headers, body=body))
        status = await _status(reader)
        met.times.append((time.perf_counter() - began) * 1e3)
        met.statuses.add(status)
        if status >= 500:
            raise WrongAnswerError(f"{attack.name} was answered with {status}")
        writer.close()


async def _status(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head[9:12])


def _warm() -> Attack:
    # What decodes and parses is loaded by the first of each.
    return _image("warm", BOMBS["gif of 300 frames"][0](), "image/gif")


def _attacks(scale: Scale) -> list[Attack]:
    images = [_image(name, make(), kind) for name, (make, kind) in BOMBS.items()]
    many = scale.pick(1_000_000, 1_000)
    deep = scale.pick(100_000, 500)
    results = {
        "arrays within arrays, 100,000 of them": b"[" * deep + b"]" * deep,
        "objects within objects, 100,000 of them": b'{"a":' * deep + b"1" + b"}" * deep,
        "a million numbers": json.dumps(list(range(many))).encode(),
        "a million empty arrays": b"[" + b"[]," * many + b"[]]",
        "a million keys": json.dumps({f"k{n}": n for n in range(many)}).encode(),
        "a number of a million digits": b"1" * many,
        "a text of escapes, 6 MB": b'"' + b"\\u0000" * many + b'"',
        "a text of quotation marks, 2 MB": b'"' + b'\\"' * many + b'"',
        "lines of a table, 4 MB": json.dumps("|" * many + "\n" * many * 3).encode(),
    }
    for name in _SHAPES:
        results[f"{name}, 1 MB"] = json.dumps(SHAPES[name](many)).encode()
    calls = [_call(name, raw, _MOST_PARSING_MS) for name, raw in results.items()]
    unclosed = SHAPES["escaped quotes in a key, never closed"](4 * many).encode()
    calls.append(_call("a string that is never closed, 4 MB", unclosed, _MOST_PARSING_MS))
    return [*images, *calls, _form(parts=deep)]


def _form(parts: int) -> Attack:
    part = b'--b\r\nContent-Disposition: form-data; name="f"\r\n\r\ny\r\n'
    kind = "multipart/form-data; boundary=b"
    return Attack(
        "a form of 100,000 parts",
        "/api/resources",
        part * parts + b"--b--\r\n",
        kind,
        _MOST_PARSING_MS,
    )


def _ranges(service: Service) -> Attack:
    with service.client() as client:
        place = client.post("/api/resources", content=bytes(MIB)).headers["location"]
    ranges = "bytes=" + ",".join(f"{first}-{first}" for first in range(0, 9_600, 2))
    return Attack(
        "a request for 4,800 ranges",
        f"{place}/content",
        b"",
        "text/plain",
        _MOST_PARSING_MS,
        method="GET",
        headers={"Range": ranges},
    )


def _image(name: str, data: bytes, mime_type: str) -> Attack:
    block = {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": mime_type}
    return _call(name, json.dumps(block).encode(), _MOST_DECODING_MS)


def _call(name: str, result: bytes, most_ms: float) -> Attack:
    body = b'{"toolName": "t", "toolCallId": "CALL", "result": ' + result + b"}"
    return Attack(name, "/api/tool-results", body, "application/json", most_ms)
