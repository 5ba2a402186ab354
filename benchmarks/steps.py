"""Growth of the time of an agent's step from a short session to a long one.

    python -m benchmarks.steps [--engine SQLite|PostgreSQL] [--smoke]

Sessions of 10 to 20,000 steps, each a call and a result of some 250 tokens, are open in one store.
In each, in turns within one run and without HTTP: a result is stored and the session rendered
within 30,000 tokens from its frontier; what is new of one step is rendered with `since`; a turn is
appended that answers with what is new. Every byte of an answer is read. All sessions are forks of
one, which was rendered within the budget all the while.

Then four sessions of 50,000 entries are rendered whole at once, while a task of the event loop
wakes every millisecond: how much later than that it wakes, beside the same in an idle loop.
"""

import argparse
import asyncio
import gc
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise
from pathlib import Path

import anyio

from app.config.settings import Settings
from app.features import open_services
from app.server.process import collect_young_only, switch_threads_often
from app.services.agents.session_turns import SessionTurns
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from app.services.sessions.fork_copies import write_fork
from app.services.tool_results.tool_results import ToolResults
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.wiring.services import Services
from benchmarks.figures import Figure, Scale, WrongAnswerError, ratio_at_most, value_at_most
from benchmarks.growth import ENGINES, Engine
from benchmarks.postgres import durable_postgres
from benchmarks.step_curve import draw_curves
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.render_options import RenderOptions
from tests.kit.servers import SIGNING_KEY, Postgres

GROUP = "steps"
PICTURE = Path(__file__).with_name("steps.svg")
PROJECT = "default"
_TARGET = "anthropic"
_BUDGET = 30_000
_SIZES = (10, 20, 100, 2_000, 20_000)
_SMOKE_SIZES = (10, 20)
_BY_SIZE = {size: f"s{size}" for size in _SIZES}
_TASK = "task"
_LONGEST = "longest"
_LONGEST_ENTRIES = 50_000
_AT_ONCE = 4
_STEPS_OF_A_TURN = 50
_TICK_SECONDS = 0.001
# The longer session, the shorter one, and how much longer the same may take in it.
_RATIOS = ((2_000, 100, 1.3), (2_000, 20, 2.5), (20_000, 100, 1.5))
# Of some 250 tokens: a hundred steps fill the budget.
_RESULT = "The tool has found nothing of note in this part of the log. " * 18

Times = dict[tuple[str, int], float]


def _call(number: int) -> dict[str, object]:
    function = {"name": "look", "arguments": json_text({"part": f"logs/{number}"})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return {"message": {"role": "assistant", "content": None, "tool_calls": [call]}}


def _result(number: int, text: str = _RESULT) -> dict[str, object]:
    return {"toolName": "look", "toolCallId": f"call_{number}", "result": f"{number}: {text}"}


@dataclass(frozen=True, slots=True)
class Session:
    """A session that is measured, in an open store."""

    services: Services
    session_id: str
    numbers: "count[int]"

    async def last_seq(self) -> int:
        """The progress of the session."""
        found = await self.services[Records].read(
            PROJECT, lambda unit: unit[SessionRecords].find(self.session_id)
        )
        return found.last_seq if found else 0

    async def call(self) -> int:
        """Append the call of a step; return its number."""
        number = next(self.numbers)
        body = json_text({"entries": [_call(number)]}).encode()
        await self.services[SessionTurns].append(
            PROJECT, self.session_id, _pieces(body), idempotency_key=None
        )
        return number

    async def render(self, options: RenderOptions, *, since: int = 0) -> int:
        """Render it, and read the answer; return the number of its bytes."""
        query = RenderQuery(_TARGET, options)
        body = await self.services[SessionRenders].render_session(
            PROJECT,
            self.session_id,
            query,
            since=since,
            stores_frontier=options.frontier is not None,
        )
        return await _read(body)


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _read(body: RenderedBody) -> int:
    return sum([len(chunk) async for chunk in body.chunks()])


async def _timed_step(session: Session) -> float:
    """Store a result, and render the session within its budget."""
    number = await session.call()
    result = _result(number) | {"sessionId": session.session_id}
    options = RenderOptions(max_tokens=_BUDGET, frontier="main")
    began = time.perf_counter()
    await session.services[ToolResults].ingest(
        PROJECT, _pieces(json_text(result).encode()), idempotency_key=None
    )
    await session.render(options)
    return time.perf_counter() - began


async def _timed_since(session: Session) -> float:
    """Render the step that was stored last."""
    since = await session.last_seq() - 2
    began = time.perf_counter()
    size_bytes = await session.render(RenderOptions(), since=since)
    took = time.perf_counter() - began
    if not len(_RESULT) < size_bytes < len(_RESULT) * 20:
        raise WrongAnswerError(f"a step has {size_bytes} bytes")
    return took


async def _timed_turn(session: Session) -> float:
    """Append a step as a turn, which answers with it."""
    number, since = next(session.numbers), await session.last_seq()
    entries = _entries_of(number)
    render = {"target": _TARGET, "since": since}
    body = json_text({"entries": entries, "render": render}).encode()
    began = time.perf_counter()
    answer = await session.services[SessionTurns].append(
        PROJECT, session.session_id, _pieces(body), idempotency_key=None
    )
    await _read(answer)
    return time.perf_counter() - began


_OPERATIONS: dict[str, Callable[[Session], Awaitable[float]]] = {
    "a step within 30,000 tokens": _timed_step,
    "`since` of one step": _timed_since,
    "a turn": _timed_turn,
}


async def measure(scale: Scale) -> Sequence[Figure]:
    """Every operation in every session, on both databases; then the delay of the event loop."""
    figures: list[Figure] = []
    curves: dict[str, list[tuple[int, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        async with durable_postgres() as postgres:
            for engine in ENGINES:
                settings = _settings(engine, Path(name), postgres)
                async with open_services(settings) as services:
                    times = await _times(services, scale)
                    figures += _ratios(times, engine)
                    for (operation, size), seconds in times.items():
                        curves.setdefault(f"{operation.replace('`', '')}, {engine}", []).append(
                            (size, seconds * 1e3)
                        )
                    if engine == "SQLite":
                        figures += await _loop_delay(services, scale)
    if scale is Scale.FULL:
        draw_curves(curves, PICTURE)
    return figures


def _settings(engine: Engine, folder: Path, postgres: Postgres | None) -> Settings:
    own = Settings(data_dir=folder / engine, log_level="error")
    if engine == "SQLite" or postgres is None:
        return own
    database = postgres.settings(postgres.new_database(migrated=True))
    return own.model_copy(update={"db": database, "signing_keys": (SIGNING_KEY,)})


async def _times(services: Services, scale: Scale) -> Times:
    await fill(services, scale.pick(max(_SIZES), max(_SMOKE_SIZES)))
    return await curve(services, scale)


def _ratios(times: Times, engine: Engine) -> Sequence[Figure]:
    smallest, largest = min(size for _, size in times), max(size for _, size in times)
    ratios = [ratio for ratio in _RATIOS if ratio[0] <= largest] or [(largest, smallest, 1_000.0)]
    return [
        Figure(
            group=GROUP,
            name=f"{name}, {longer:,} steps beside {shorter:,}, {engine}",
            value=times[name, longer] * 1e3,
            unit="ms",
            baseline=times[name, shorter] * 1e3,
            baseline_name=f"{shorter:,} steps",
            aim=ratio_at_most(most),
        )
        for name in _OPERATIONS
        for longer, shorter, most in ratios
    ]


async def fill(services: Services, steps: int) -> None:
    """Write a task of so many steps, and the other sessions as forks of it on the way."""
    render = {"target": _TARGET, "maxTokens": _BUDGET, "frontier": "main"}
    sizes = sorted({min(size, steps) for size in _SIZES})
    await _append(services, _TASK, [_question()])
    for start, end in pairwise([0, *sizes]):
        for first in range(start, end, _STEPS_OF_A_TURN):
            numbers = range(first, min(end, first + _STEPS_OF_A_TURN))
            entries = [entry for number in numbers for entry in _entries_of(number)]
            await _append(services, _TASK, entries, render)
        await _fork(services, _TASK, 2 * end + 1, _BY_SIZE[end])


async def fill_longest(services: Services, entries: int) -> None:
    """Write four sessions of so many short entries."""
    for first in range(0, entries // 2, _STEPS_OF_A_TURN):
        numbers = range(first, min(entries // 2, first + _STEPS_OF_A_TURN))
        steps = [entry for number in numbers for entry in _entries_of(number, "Nothing.")]
        await _append(services, _LONGEST, steps)
    for number in range(1, _AT_ONCE):
        await _fork(services, _LONGEST, entries, f"{_LONGEST}{number}")


def _question() -> dict[str, object]:
    return {"message": {"role": "user", "content": "Find out why the shop is slow."}}


def _entries_of(number: int, text: str = _RESULT) -> list[dict[str, object]]:
    return [_call(number), {"toolResult": _result(number, text)}]


async def _append(
    services: Services,
    session_id: str,
    entries: Sequence[dict[str, object]],
    render: dict[str, object] | None = None,
) -> None:
    body = json_text({"entries": entries, "render": render}).encode()
    await services[SessionTurns].append(PROJECT, session_id, _pieces(body), idempotency_key=None)


async def _fork(services: Services, session_id: str, up_to: int, fork_id: str) -> None:
    copy = partial(write_fork, session_id=session_id, up_to=up_to, fork_id=fork_id)
    await services[Records].write(PROJECT, copy, is_alone=True)


async def curve(services: Services, scale: Scale) -> Times:
    """Return the seconds of every operation in every session, in the middle of all rounds."""
    numbers = count(1_000_000)
    sizes = scale.pick(_SIZES, _SMOKE_SIZES)
    sessions = {size: Session(services, _BY_SIZE[size], numbers) for size in sizes}
    taken: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    warming, counted = scale.pick((3, 20), (1, 1))
    for number in range(warming + counted):
        for name, do in _OPERATIONS.items():
            for size, session in sessions.items():
                seconds = await do(session)
                if number >= warming:
                    taken[name, size].append(seconds)
    return {key: statistics.median(seconds) for key, seconds in taken.items()}


async def _loop_delay(services: Services, scale: Scale) -> list[Figure]:
    """Return by how much the event loop is late while the longest sessions are rendered whole.

    The process collects garbage, and switches threads, as one that serves does.
    """
    await fill_longest(services, scale.pick(_LONGEST_ENTRIES, 100))
    collect_young_only()
    switch_threads_often()
    gc.freeze()
    names = [_LONGEST, *(f"{_LONGEST}{number}" for number in range(1, _AT_ONCE))]
    numbers = count()
    renders = [Session(services, name, numbers).render(RenderOptions()) for name in names]
    idle = await _delays(asyncio.sleep(2))
    began = time.perf_counter()
    busy = await _delays(asyncio.gather(*renders))
    detail = f"{time.perf_counter() - began:.1f} s for all"
    idle_p99 = _percentile(idle, 99)
    return [
        Figure(
            group=GROUP,
            name=f"delay of the event loop, {name}",
            value=max(0.0, value - idle_p99),
            unit="ms",
            aim=aim,
            detail=detail,
        )
        for name, value, aim in (
            ("p99", _percentile(busy, 99), value_at_most(5)),
            ("most", max(busy), value_at_most(50)),
        )
    ]


async def _delays(work: Awaitable[object]) -> list[float]:
    """Return how many milliseconds too late a task woke while something was done."""
    delays: list[float] = []

    async def tick() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(_TICK_SECONDS)
            delays.append((time.perf_counter() - began - _TICK_SECONDS) * 1e3)

    ticking = asyncio.create_task(tick())
    try:
        await work
    finally:
        ticking.cancel()
    return delays


def _percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


async def _print(engines: Sequence[Engine], scale: Scale) -> None:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        postgres = None
        if "PostgreSQL" in engines:
            postgres = await stack.enter_async_context(durable_postgres())
        for engine in engines:
            async with open_services(_settings(engine, folder, postgres)) as services:
                for figure in _ratios(await _times(services, scale), engine):
                    judged = "" if figure.ratio is None else f"{figure.ratio:6.2f}"
                    text = f"{figure.name:64} {figure.baseline or 0:9.2f} {figure.value:9.2f}"
                    missed = "" if figure.is_met else "<--"
                    sys.stdout.write(f"{text} {judged} {figure.detail} {missed}\n")
                    sys.stdout.flush()


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--engine", choices=ENGINES, action="append")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    scale = Scale.SMOKE if options.smoke else Scale.FULL
    anyio.run(_print, options.engine or ENGINES, scale, backend_options={"use_uvloop": True})


if __name__ == "__main__":
    main()
