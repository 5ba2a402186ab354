"""Time until the last of many listeners has an event, beside plain sockets.

    python -m benchmarks.event_fanout [--listeners 1000] [--rounds 20] [--rate 50] [--seconds 10]

The service runs in one process on SQLite, and everybody listens to the whole project. First one
event at a time: from the moment its message is sent to be stored until the last listener has read
it. In the same run, in turns with it, another process writes the same bytes to as many plain
sockets, which are read in the same way. Then events at a steady rate, each timed by itself.
"""

import argparse
import asyncio
import contextlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO, cast

import anyio
import anyio.to_thread
import httpx

from benchmarks.figures import Figure, Scale, value_at_most
from benchmarks.live_server import Memory
from tests.kit.process import PagefaultProcess

GROUP = "fan-out"
CONTENT = "x" * 800
_MARK = b"event: "
_JOIN_AT_ONCE = 50
_STREAM = b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
# The bytes of one event of the service, for the process that only sends.
_PLAIN = """
import asyncio, sys
async def main():
    listeners = []
    async def joined(reader, writer):
        listeners.append(writer)
        writer.write(b"joined")
    server = await asyncio.start_server(joined, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    loop = asyncio.get_running_loop()
    block = bytes.fromhex(sys.argv[1])
    while await loop.run_in_executor(None, sys.stdin.buffer.readline):
        for writer in listeners:
            writer.write(block)
asyncio.run(main())
"""


class Audience:
    """Everybody who listens, and when the last of them had each event."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._heard: dict[int, int] = {}
        self._is_complete: dict[int, asyncio.Event] = {}
        self.completed_at: dict[int, float] = {}
        self.listeners: list[Listener] = []

    async def join(self, port: int, request: bytes) -> None:
        """Connect them all, a few at once."""
        loop = asyncio.get_running_loop()
        while (missing := self._size - len(self.listeners)) > 0:
            joining = [
                await loop.create_connection(lambda: Listener(request), "127.0.0.1", port)
                for _ in range(min(missing, _JOIN_AT_ONCE))
            ]
            for _, listener in joining:
                await listener.has_joined.wait()
                listener.audience = self
                self.listeners.append(listener)

    def note(self, number: int) -> None:
        """Note that one more has heard so many events."""
        self._heard[number] = self._heard.get(number, 0) + 1
        if self._heard[number] == self._size:
            self.completed_at[number] = time.perf_counter()
            self._complete(number).set()

    async def until_complete(self, number: int) -> float:
        """When the last has heard so many events; waits for it."""
        await self._complete(number).wait()
        return self.completed_at[number]

    def _complete(self, number: int) -> asyncio.Event:
        return self._is_complete.setdefault(number, asyncio.Event())


class Listener(asyncio.Protocol):
    """One who counts events; nothing else is read out of the bytes."""

    def __init__(self, request: bytes) -> None:
        self.audience: Audience | None = None
        self.has_joined = asyncio.Event()
        self.first = b""
        self._request = request
        self._rest = b""
        self._heard = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        # uvloop's transports are none of asyncio's classes.
        cast(asyncio.WriteTransport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        """Count the events that begin in the received bytes."""
        if self.audience is None:
            # The first block opens the stream, unless it is refused.
            if not data.startswith((b"HTTP/1.1 200", b"id: ", b"joined", b"1")):
                sys.exit(data.decode())
            self.has_joined.set()
            return
        seen = self._rest + data
        for _ in range(seen.count(_MARK)):
            self._heard += 1
            self.audience.note(self._heard)
        self._rest = seen[-len(_MARK) + 1 :]
        # The opening block may come alone, and is no event.
        if not self.first and _MARK in data:
            self.first = data


@contextlib.contextmanager
def plain_server(block: bytes) -> Iterator[tuple[int, IO[bytes], Memory]]:
    """A process that writes a block to everybody for every line it is given; its port first."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and text
        [sys.executable, "-c", _PLAIN, block.hex()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None  # noqa: S101 - for the type checker
    assert process.stdout is not None  # noqa: S101 - for the type checker
    try:
        yield int(process.stdout.readline()), process.stdin, Memory(process.pid)
    finally:
        process.kill()
        process.wait()


class Fanout:
    """The service with its listeners, and what writes to it."""

    def __init__(self, client: httpx.AsyncClient, audience: Audience) -> None:
        self._client = client
        self.audience = audience
        self._unheard = 0

    async def write(self) -> tuple[int, float]:
        """Write an event; its number, and when it was sent to be stored."""
        sent_at = time.perf_counter()
        body = {"role": "user", "content": CONTENT}
        answer = await self._client.post("/api/sessions/s/messages", json=body)
        answer.raise_for_status()
        # Nothing else is written, so the session's numbers are those of the project's log.
        return answer.json()["seq"] - self._unheard, sent_at

    async def write_before_all(self) -> None:
        """Write an event that the audience is not there for."""
        await self.write()
        self._unheard += 1

    async def once(self) -> float:
        """Seconds from an event's writing until the last has it."""
        number, sent_at = await self.write()
        return await self.audience.until_complete(number) - sent_at

    async def steadily(self, rate: float, seconds: float) -> list[float]:
        """Measure events at a fixed rate, which do not wait for the event before."""
        return await _steadily(self.once, rate, seconds)


class PlainSockets:
    """A process that writes to plain sockets, and those who listen to it."""

    def __init__(self, trigger: IO[bytes], audience: Audience) -> None:
        self._trigger = trigger
        self._audience = audience
        self._numbers = count(1)

    async def once(self) -> float:
        """Return the seconds from the command to write until the last listener has the event."""
        sent_at = time.perf_counter()
        number = next(self._numbers)
        await anyio.to_thread.run_sync(_tell, self._trigger)
        return await self._audience.until_complete(number) - sent_at


async def _steadily(
    once: Callable[[], Awaitable[float]], rate: float, seconds: float
) -> list[float]:
    """Do something at a rate, none of which waits for the one before; how long each took."""
    seconds_of: list[float] = []

    async def one() -> None:
        seconds_of.append(await once())

    started = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for number in range(round(rate * seconds)):
            await anyio.sleep(max(0.0, started + number / rate - time.perf_counter()))
            tasks.start_soon(one)
    return seconds_of


class MeasuredProcess(PagefaultProcess):
    """The service, and how much memory it holds."""

    def __enter__(self) -> "MeasuredProcess":
        super().__enter__()
        return self

    @property
    def resident_bytes(self) -> int:
        """All pages of it that are in memory."""
        return 0 if self._process is None else Memory(self._process.pid).now


@dataclass(frozen=True, slots=True)
class Comparison:
    """Seconds until the last listener had something, through the service and without it."""

    event_bytes: int
    served: Sequence[float]
    plain: Sequence[float]
    steadily_served: Sequence[float]
    steadily_plain: Sequence[float]
    listeners_bytes: int
    """The time of the plain sockets."""
    plain_bytes: int
    """The memory of the process with them."""


async def compare(
    fanout: Fanout, listeners: int, *, rounds: int, rate: float, seconds: float
) -> Comparison:
    """One event at a time, in turns with plain sockets; then a steady rate of them, at each."""
    await fanout.once()
    block = fanout.audience.listeners[0].first
    served: list[float] = []
    plain: list[float] = []
    with plain_server(block) as (port, trigger, memory):
        others = Audience(listeners)
        before = memory.now
        await others.join(port, b"\n")
        joined = memory.now
        sockets = PlainSockets(trigger, others)
        for _ in range(rounds):
            served.append(await fanout.once())
            plain.append(await sockets.once())
        return Comparison(
            len(block),
            served,
            plain,
            await fanout.steadily(rate, seconds),
            await _steadily(sockets.once, rate, seconds),
            joined - before,
            memory.now,
        )


def _tell(stream: IO[bytes]) -> None:
    stream.write(b"\n")
    stream.flush()


def _middle_ms(seconds: Sequence[float]) -> float:
    return statistics.median(seconds) * 1e3


def _quantiles_ms(seconds: Sequence[float]) -> list[float]:
    """The middle one, the one of a hundred, and the longest."""
    ordered = sorted(seconds)
    return [
        ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e3 for share in (0.5, 0.99, 1)
    ]


@contextlib.asynccontextmanager
async def _fanout(listeners: int) -> AsyncIterator[tuple[Fanout, int, MeasuredProcess]]:
    """The service with so many listeners, how many bytes it takes for them, and its process."""
    with (
        tempfile.TemporaryDirectory() as folder,
        MeasuredProcess(Path(folder), is_installed=True) as process,
    ):
        async with httpx.AsyncClient(
            base_url=process.base_url, timeout=60, trust_env=False
        ) as client:
            fanout = Fanout(client, Audience(listeners))
            # The first listeners load modules, whose memory is not counted for the others.
            await Audience(20).join(process.port, _STREAM)
            await fanout.write_before_all()
            before = process.resident_bytes
            await fanout.audience.join(process.port, _STREAM)
            yield fanout, process.resident_bytes - before, process


async def measure(scale: Scale) -> Sequence[Figure]:
    """One event at a time, events at a steady rate, and what memory the listeners take."""
    listeners, rate = scale.pick(1_000, 20), 50.0
    async with _fanout(listeners) as (fanout, taken, process):
        compared = await compare(
            fanout,
            listeners,
            rounds=scale.pick(20, 2),
            rate=rate,
            seconds=scale.pick(10.0, 0.2),
        )
        resident = process.resident_bytes
    p50, p99, longest = _quantiles_ms(compared.steadily_served)
    return [
        Figure(
            group=GROUP,
            name=f"an event to the last of {listeners:,} listeners",
            value=_middle_ms(compared.served),
            unit="ms",
            baseline=_middle_ms(compared.plain),
            baseline_name="plain sockets",
            aim=value_at_most(250),
            detail=f"{compared.event_bytes} bytes; at most {max(compared.served) * 1e3:.0f} ms "
            f"in {len(compared.served)} rounds",
        ),
        Figure(
            group=GROUP,
            name=f"p99 of {rate:g} events a second, to the last of {listeners:,}",
            value=p99,
            unit="ms",
            baseline=_quantiles_ms(compared.steadily_plain)[1],
            baseline_name="plain sockets",
            aim=value_at_most(500),
            detail=f"p50 {p50:.0f} ms, longest {longest:.0f} ms of "
            f"{len(compared.steadily_served)} events",
        ),
        Figure(
            group=GROUP,
            name=f"memory of {listeners:,} listeners",
            value=taken / 2**20,
            unit="MiB",
            baseline=compared.listeners_bytes / 2**20,
            baseline_name="plain sockets",
            aim=value_at_most(40),
        ),
        Figure(
            group=GROUP,
            name="memory with all of them",
            value=resident / 2**20,
            unit="MiB resident",
            baseline=compared.plain_bytes / 2**20,
            baseline_name="plain sockets",
            aim=value_at_most(450),
        ),
    ]


async def run(listeners: int, rounds: int, rate: float, seconds: float) -> None:
    """Print the tables."""
    async with _fanout(listeners) as (fanout, taken, _):
        compared = await compare(fanout, listeners, rounds=rounds, rate=rate, seconds=seconds)
        served, plain = _middle_ms(compared.served), _middle_ms(compared.plain)
        lines = [
            "| listeners | bytes | plain sockets ms | events ms | ratio |",
            "|---|---|---|---|---|",
            f"| {listeners} | {compared.event_bytes} | {plain:.1f} | {served:.1f} "
            f"| {served / plain:.1f} |",
            "",
            f"| {rate:g} a second | p50 ms | p99 ms | max ms |",
            "|---|---|---|---|",
            f"| plain sockets | {_shown(compared.steadily_plain)} |",
            f"| events | {_shown(compared.steadily_served)} |",
            "",
            f"{taken / 2**20:.1f} MiB for {listeners} listeners.",
        ]
        sys.stdout.write("\n".join(lines) + "\n")


def _shown(seconds: Sequence[float]) -> str:
    return " | ".join(f"{quantiles_m:.0f}" for quantiles_m in _quantiles_ms(seconds))


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--listeners", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    anyio.run(run, options.listeners, options.rounds, options.rate, options.seconds)


if __name__ == "__main__":
    main()
