"""Servers asked in turns, so that what slows the machine down slows both.

Beside the answers a second stands the processor time that each server spent on an answer: that is
what stays the same on a machine that is busy with something else.
"""

import os
import statistics
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

import anyio.to_thread

from benchmarks.load_client import Ask, loading

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class Server(Protocol):
    """A process that answers on loopback."""

    @property
    def port(self) -> int:
        """The base URL of the process."""

    @property
    def pid(self) -> int:
        """The process id."""


@dataclass(frozen=True, slots=True)
class Side:
    """A compared server, and the requests to it."""

    server: Server
    request: bytes
    statuses: Collection[int] = (200,)

    @property
    def ask(self) -> Ask:
        """Makes the same request every time."""
        return lambda: self.request


@dataclass(frozen=True, slots=True)
class VariedSide:
    """One whose requests all differ."""

    server: Server
    ask: Ask
    statuses: Collection[int] = (200,)


@dataclass(frozen=True, slots=True)
class Rates:
    """The times of one side, by round."""

    a_second: list[float] = field(default_factory=list)
    """Answers."""
    cpu_us: list[float] = field(default_factory=list)
    """Microseconds of processor time for an answer."""


Work: TypeAlias = Callable[[float], float]
"""Is done for so many seconds, in a thread; returns how often it was done in one."""


async def rates_in_turns(
    sides: Sequence[Side | VariedSide],
    *,
    connections: int,
    rounds: int,
    seconds: float,
    work: Work | None = None,
) -> list[Rates]:
    """The rates of every side; a first round warms up and is not counted.

    Where there is `work`, it has its turns as well, and its rates come last.
    """
    async with AsyncExitStack() as stack:
        loads = [
            await stack.enter_async_context(
                loading(
                    side.server.port,
                    side.ask,
                    connections=connections,
                    statuses=side.statuses,
                )
            )
            for side in sides
        ]
        rates, worked = [Rates() for _ in sides], Rates()
        for number in range(rounds + 1):
            for side, load, measured in zip(sides, loads, rates, strict=True):
                before = cpu_seconds(side.server.pid)
                answers, took = await load.run(seconds)
                if number:
                    spent = cpu_seconds(side.server.pid) - before
                    measured.a_second.append(answers / took)
                    measured.cpu_us.append(spent / answers * 1e6)
            if work is not None:
                rate = await anyio.to_thread.run_sync(work, seconds)
                worked.a_second.extend([rate] if number else [])
    return rates if work is None else [*rates, worked]


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has had, all threads of it (proc(5), stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND


def in_words(served: Rates, bare: Rates) -> str:
    """Return the spread of the rounds, and the cost of an answer on both sides."""
    costs = [statistics.median(item.cpu_us) for item in (served, bare)]
    return f"{spread(served.a_second)}; {costs[0]:,.0f} µs of CPU each, baseline {costs[1]:,.0f}"


def spread(measured: Sequence[float]) -> str:
    """The lowest and the highest of several rounds."""
    return f"{min(measured):,.0f}-{max(measured):,.0f} in {len(measured)} rounds"
