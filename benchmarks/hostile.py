"""Delay of other clients, and cost for the service, under requests that try to keep it busy.

    python -m benchmarks --only hostile

Each attack of `benchmarks.attacks` is sent twice: by clients that wait for their answers, and by
clients that leave after a second. `/healthz` is asked all the time, on a connection of its own, and
two hundred more connections have stopped in the middle of a body. Measured are the slowest
`/healthz`, the highest memory of the service and its children, and the processor's time that they
use once the clients have been gone for two seconds. At last another project's image is rendered
beside expensive ones, and as many clients as may be connected are refused large bodies and go on
sending them. One process of the service on SQLite and a directory; it and its clients share all
cores. `pagefault proxy --listen` is attacked in the same way; another host pings its server
instead of `/healthz`.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from app.models.limits import Limits
from benchmarks.attacks import (
    Attack,
    list_attacks,
    list_proxy_attacks,
    render_requests,
    repeated_scans,
    with_comment,
)
from benchmarks.figures import Figure, Scale, WrongAnswerError, value_at_most
from benchmarks.live_server import Bare, Memory, Service, listening_proxy, serving
from benchmarks.load_client import request
from benchmarks.machine import ALL
from tests.kit import media
from tests.kit.process import run_command

GROUP = "hostile"
MIB = 1 << 20
_MAX_HEALTH_MS = 300
_MAX_MIB = Limits().memory_bytes / MIB + 64
_MAX_BUSY_MS = 100
_PATIENCE_SECONDS = 120.0
_LEAVES_AFTER_SECONDS = 1.0
_GONE_SECONDS = 2.0
_STOPPED = 200
_REFUSED = 5_000
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Measured:
    """The measurements of one attack; times in milliseconds, memory in MiB."""

    statuses: set[int] = field(default_factory=set)
    times: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    memory: float = 0.0
    busy: float = 0.0


class Processes:
    """The service and its children, as proc(5) lists them."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def resident(self) -> int:
        """Return the resident bytes of all of them."""
        total = 0
        for pid in self._all():
            # A child that has ended, and is not yet reaped, has no memory.
            with suppress(OSError, WrongAnswerError):
                total += Memory(pid).now
        return total

    def used_ms(self) -> float:
        """Return the processor's time that those that live have used."""
        total = 0
        for pid in self._all():
            with suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                total += int(fields[11]) + int(fields[12])
        return total * 1e3 / _TICKS

    def _all(self) -> Iterator[int]:
        pids = [self._pid]
        while pids:
            pid = pids.pop()
            yield pid
            with suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    pids += map(int, (task / "children").read_text().split())


async def measure(scale: Scale) -> Sequence[Figure]:
    """Measure every attack, then what another project waits, then bodies that are refused."""
    with tempfile.TemporaryDirectory() as name, serving(Path(name), cores=ALL) as service:
        with service.client() as client:
            attacks = list_attacks(client, service.headers, scale)
            async with _stopped_senders(service, scale.pick(_STOPPED, 2)):
                measured = await _run_all(service, attacks, scale)
        waits = await _other_project(service, scale)
    with (
        tempfile.TemporaryDirectory() as name,
        listening_proxy(Path(name), cores=ALL) as proxy,
        httpx.Client(base_url=f"http://127.0.0.1:{proxy.port}", trust_env=False) as client,
    ):
        measured += await _run_all(proxy, list_proxy_attacks(client, scale), scale)
    figures = [_figure(attack, found) for attack, found in measured]
    summary = _summary({attack.name: found for attack, found in measured})
    return [*figures, *summary, waits, *await _refused_bodies(scale)]


async def _run_all(
    server: Service | Bare, attacks: Sequence[Attack], scale: Scale
) -> list[tuple[Attack, Measured]]:
    """Run attacks one after the other; the memory of each is that above an idle server."""
    processes = Processes(server.pid)
    # What decodes and parses is loaded by the first of each.
    await _run(server.port, processes, attacks[0], scale)
    idle = processes.resident()
    measured = [(attack, await _run(server.port, processes, attack, scale)) for attack in attacks]
    for _, found in measured:
        found.memory = (found.memory - idle) / MIB
    return measured


def _figure(attack: Attack, found: Measured) -> Figure:
    answers = ", ".join(map(str, sorted(found.statuses))) or "not waited for"
    longest = f" within {max(found.times):,.0f} ms" if found.times else ""
    return Figure(
        group=GROUP,
        name=attack.name,
        value=max(found.health),
        unit="ms",
        aim=value_at_most(_MAX_HEALTH_MS),
        detail=f"answered {answers}{longest}; {found.memory:+.0f} MiB; "
        f"{found.busy:.0f} ms busy afterwards",
    )


def _summary(measured: dict[str, Measured]) -> Iterator[Figure]:
    memory = max(measured, key=lambda name: measured[name].memory)
    busy = max(measured, key=lambda name: measured[name].busy)
    yield Figure(
        group=GROUP,
        name="memory for one of them, children included",
        value=measured[memory].memory,
        unit="MiB",
        aim=value_at_most(_MAX_MIB),
        detail=memory,
    )
    yield Figure(
        group=GROUP,
        name="the processor's time in the third second after the clients have left",
        value=measured[busy].busy,
        unit="ms",
        aim=value_at_most(_MAX_BUSY_MS),
        detail=busy,
    )


async def _run(port: int, processes: Processes, attack: Attack, scale: Scale) -> Measured:
    """Send an attack and wait for the answers, then send it and leave."""
    found = Measured()
    # Requests are made before the watch begins: this loop cannot ask `/healthz` meanwhile.
    if attack.sends_all:
        rounds = [_answers(port, attack, found) for _ in range(scale.pick(3, 1))]
        async with _watching(port, processes, attack, found):
            for answers in rounds:
                await asyncio.gather(*answers)
    leaving = [
        _left(port, attack, next(attack.requests), scale) for _ in range(max(attack.clients, 4))
    ]
    async with _watching(port, processes, attack, found):
        await asyncio.gather(*leaving)
        await asyncio.sleep(scale.pick(_GONE_SECONDS, 0))
    before = processes.used_ms()
    await asyncio.sleep(scale.pick(1, 0))
    # A child that ended meanwhile has taken its time with it.
    found.busy = max(processes.used_ms() - before, 0)
    return found


@asynccontextmanager
async def _watching(
    port: int, processes: Processes, attack: Attack, found: Measured
) -> AsyncIterator[None]:
    """Send the probe again and again, and look at the memory for the length of the block."""
    over = asyncio.Event()
    watch = asyncio.create_task(_watch(port, processes, attack.probe, found, over))
    try:
        yield
    finally:
        over.set()
        await watch


async def _watch(
    port: int, processes: Processes, probe: bytes, found: Measured, over: asyncio.Event
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while not over.is_set() or not found.health:
        began = time.perf_counter()
        writer.write(probe)
        if await _status(reader) != 200:
            raise WrongAnswerError("another client is not answered with 200")
        found.health.append((time.perf_counter() - began) * 1e3)
        found.memory = max(found.memory, processes.resident())
        # The measuring should not itself keep the service busy.
        await asyncio.sleep(0.002)
    writer.close()


def _answers(port: int, attack: Attack, found: Measured) -> Sequence[Coroutine[None, None, None]]:
    """Return what sends an attack by all of its clients, and waits for the answers."""
    return [_answered(port, attack, next(attack.requests), found) for _ in range(attack.clients)]


async def _answered(port: int, attack: Attack, sent: bytes, found: Measured) -> None:
    # An answer that does not wait for all of the body ends its connection.
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    began = time.perf_counter()
    writer.write(sent)
    async with asyncio.timeout(_PATIENCE_SECONDS):
        status = await _status(reader)
    found.times.append((time.perf_counter() - began) * 1e3)
    found.statuses.add(status)
    writer.close()
    if status >= 500 and status != 503:
        raise WrongAnswerError(f"{attack.name} was answered with {status}")


async def _left(port: int, attack: Attack, sent: bytes, scale: Scale) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent if attack.sends_all else sent[:-1])
    await asyncio.sleep(scale.pick(_LEAVES_AFTER_SECONDS, 0))
    writer.transport.abort()


async def _other_project(service: Service, scale: Scale) -> Figure:
    """Render one project's small image beside another one's expensive ones."""
    made = run_command(
        "keys", "create", "--project", "other", env={"PAGEFAULT_DATA_DIR": str(service.data_dir)}
    )
    headers = {"Authorization": f"Bearer {made.stdout.strip()}"}
    jpeg = repeated_scans(scale.pick(2_400, 2))
    base = f"http://127.0.0.1:{service.port}"
    with service.client() as client, httpx.Client(base_url=base, headers=headers) as other:
        costly = render_requests(
            client, service.headers, lambda n: with_comment(jpeg, n), "image/jpeg"
        )
        small = render_requests(
            other, headers, lambda n: media.png(300, 300) + b"%d" % n, "image/png"
        )
        attack, probe = Attack("", costly), Attack("", small)
        found = Measured()
        sent = [next(costly) for _ in range(scale.pick(4, 1))]
        await asyncio.gather(*[_left(service.port, attack, item, scale) for item in sent])
        await _answered(service.port, probe, next(small), found)
    return Figure(
        group=GROUP,
        name="another project's 300x300 PNG, made smaller behind JPEGs of 2,400 scans",
        value=max(found.times),
        unit="ms",
        aim=value_at_most(1_000),
        detail="four of them, whose clients have left",
    )


@asynccontextmanager
async def _stopped_senders(service: Service, senders: int) -> AsyncIterator[None]:
    """Keep connections open that have sent half of a file and send no more."""
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

    They take all connections that may be open; another client must still get an answer.
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


async def _status(reader: asyncio.StreamReader) -> int:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head[9:12])
