"""Growth of the times of operations from a store of 1,000 records to one of 1,000,000.

    python -m benchmarks.growth [--engine SQLite|PostgreSQL] [--smoke]

Both stores of an engine are open at the same time (`benchmarks.large_store` says what is in them),
and every operation runs as the service does it, without HTTP, in one after the other: medians of
many rounds. SQLite and PostgreSQL keep what they promise about lost power. While an
operation is measured all files are held in memory, so that it is work and no waiting for the disk.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Literal

import anyio
import anyio.to_thread

from app.config.settings import Settings
from app.features import open_services
from app.models.identity import encode_cursor, new_id, utc_now
from app.models.session import SessionFilter
from app.services.pages.manifests import PageManifests
from app.services.pages.page_lists import PageLists
from app.services.pages.page_reading import PageReading
from app.services.resources.resources import Resources
from app.services.sessions.sessions import Sessions
from app.services.tool_results.tool_results import ToolResults
from app.stores.records.events import EventRecords
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.services import Services
from benchmarks import large_store
from benchmarks.figures import Figure, Scale, WrongAnswerError, ratio_at_most
from benchmarks.large_store import LONG, PROJECT, body, page_id, resource_id, tool_result_id
from benchmarks.page_cache import held_in_memory
from benchmarks.postgres import durable_postgres
from pagefault_dialects.model.page import PageFilters
from tests.kit.servers import SIGNING_KEY, Postgres

GROUP = "growth"
AIM = ratio_at_most(1.5)
SHOWN = 50
Engine = Literal["SQLite", "PostgreSQL"]
ENGINES: tuple[Engine, ...] = ("SQLite", "PostgreSQL")


@dataclass(frozen=True, slots=True)
class Store:
    """An open store with so many records of each kind, and records that are picked from it."""

    services: Services
    size: int
    random: Random
    numbers: "count[int]"

    def number(self) -> int:
        """A record, any of them."""
        return self.random.randrange(self.size)

    @property
    def session(self) -> str:
        """A short session, any of them."""
        return f"s{self.random.randrange(self.size // 100)}"

    @property
    def asked_again(self) -> int:
        """One of ten things that are asked for again and again."""
        return self.random.randrange(10)

    @property
    def half(self) -> int:
        """The length of the long session."""
        return self.size // 2


Operation = Callable[[Store], Awaitable[int]]
"""Does something once; how much it found, which is the same in every store."""


async def _append(store: Store, session_id: str) -> int:
    """Store a small result in a session."""
    result = {
        "toolName": "look",
        "toolCallId": f"new-{next(store.numbers)}",
        "sessionId": session_id,
        "result": {"content": [{"type": "text", "text": "What the tool has found. " * 80}]},
    }
    done = await store.services[ToolResults].ingest(PROJECT, body(result), idempotency_key=None)
    return int(done.is_new)


async def _number(store: Store) -> int:
    """Take a number of a session."""

    def take(unit: UnitOfWork) -> None:
        session = unit[SessionRecords].ensure(store.session, utc_now())
        unit[SessionRecords].take_numbers(session.session_id)

    await store.services[Records].write(PROJECT, take)
    return 1


async def _history(store: Store, session_id: str, after_seq: int) -> int:
    """Read a page of a history; not by the service, which keeps the pages it has shown."""

    def read(unit: UnitOfWork) -> int:
        unit[SessionHistory].find_head(session_id)
        return len(unit[SessionHistory].entries(session_id, after_seq=after_seq, limit=SHOWN))

    return await store.services[Records].read(PROJECT, read)


async def _tool_results(store: Store, session_id: str | None = None, *, deep: bool = False) -> int:
    middle = tool_result_id(store.size // 2)
    page, _ = await store.services[ToolResults].list(
        PROJECT,
        session_id=session_id,
        cursor=encode_cursor("tool-results", middle) if deep else None,
        limit=SHOWN,
    )
    return len(page)


async def _pages(store: Store, *, deep: bool = False, **filters: object) -> int:
    cursor = encode_cursor("pages", store.size // 2) if deep else None
    page, _ = await store.services[PageLists].list(
        PROJECT,
        PageFilters(**filters),  # type: ignore[arg-type]
        cursor=cursor,
        limit=SHOWN,
    )
    return len(page)


async def _sessions(store: Store, id_part: str | None = None) -> int:
    chosen = SessionFilter(id_part)
    page, _ = await store.services[Sessions].list(PROJECT, chosen, cursor=None, limit=10)
    return len(page)


async def _resources(store: Store) -> int:
    page, _ = await store.services[Resources].list(PROJECT, cursor=None, limit=SHOWN)
    return len(page)


async def _search(store: Store, words: str, session_id: str | None = None) -> int:
    hits, _ = await store.services[PageLists].search(
        PROJECT, words, PageFilters(session_id=session_id), cursor=None, limit=20
    )
    return len(hits)


async def _events(store: Store, session_id: str | None = None) -> int:
    after = store.size // 2 if session_id is None else 0
    found = await store.services[Records].read(
        PROJECT,
        lambda unit: unit[EventRecords].list_after(after, session_id=session_id, limit=SHOWN),
    )
    return len(found)


async def _found(awaited: Awaitable[object]) -> int:
    return int(await awaited is not None)


def _rare(store: Store) -> str:
    return f"rareword{store.number() % (store.size // large_store.PAGES_WITH_RARE_WORD)}"


def _some(store: Store) -> str:
    return f"someword{store.number() % (store.size // large_store.PAGES_WITH_SOME_WORD)}"


OPERATIONS: dict[str, Operation] = {
    "lookup: tool result": lambda s: _found(
        s.services[ToolResults].get(PROJECT, tool_result_id(s.number()))
    ),
    "lookup: resource": lambda s: _found(
        s.services[Resources].get(PROJECT, resource_id(s.number()))
    ),
    "lookup: page": lambda s: _found(s.services[PageReading].get(PROJECT, page_id(s.number()))),
    "append: to a short session": lambda s: _append(s, s.session),
    "append: to the long session": lambda s: _append(s, LONG),
    "append: to a new session": lambda s: _append(s, new_id()),
    "seq allocation": _number,
    "history: of a short session": lambda s: _history(s, s.session, 0),
    "history: first of the long one": lambda s: _history(s, LONG, 0),
    "history: middle of the long one": lambda s: _history(s, LONG, s.half // 2),
    "history: last of the long one": lambda s: _history(s, LONG, s.half - SHOWN),
    "list: tool results": _tool_results,
    "list: tool results, middle": lambda s: _tool_results(s, deep=True),
    "list: tool results of a session": lambda s: _tool_results(s, s.session),
    "list: tool results of the long one": lambda s: _tool_results(s, LONG),
    "list: resources": _resources,
    "list: sessions": _sessions,
    "list: sessions with letters of one": lambda s: _sessions(s, f"s{s.size // 100 - 7}"),
    "list: pages": _pages,
    "list: pages, middle": lambda s: _pages(s, deep=True),
    "list: pages of a session": lambda s: _pages(s, session_id=s.session),
    "list: pages of a modality": lambda s: _pages(s, modality="structured"),
    "list: pinned pages of a session": lambda s: _pages(s, session_id=s.session, pinned=True),
    "list: manifest": lambda s: _found(
        s.services[PageManifests].get(PROJECT, s.session, cursor=None, limit=SHOWN, max_tokens=None)
    ),
    "events: from the middle": _events,
    "events: of a session": lambda s: _events(s, s.session),
    "search: word of 10 pages": lambda s: _search(s, f"rareword{s.asked_again}"),
    "search: word of 200 pages": lambda s: _search(s, f"someword{s.asked_again % 5}"),
    "search: it and a common word": lambda s: _search(s, f"rareword{s.asked_again} everyword"),
    "search: common word": lambda s: _search(s, "everyword"),
    "search: common word in a session": lambda s: _search(s, "everyword", f"s{s.asked_again}"),
    "search: new word of 10 pages": lambda s: _search(s, _rare(s)),
    "search: new word of 200 pages": lambda s: _search(s, _some(s)),
}


async def measure(scale: Scale) -> Sequence[Figure]:
    """Every operation, on both databases."""
    return [figure async for figure in _figures(ENGINES, scale)]


async def _figures(engines: Sequence[Engine], scale: Scale) -> AsyncIterator[Figure]:
    rounds = scale.pick((20, 200), (0, 2))
    sizes = scale.pick((1_000, 1_000_000), (1_000, 2_000))
    with tempfile.TemporaryDirectory() as name:
        for engine in engines:
            async with AsyncExitStack() as stack:
                postgres = await stack.enter_async_context(durable_postgres())
                stores = []
                for size in sizes:
                    settings = _settings(engine, Path(name), size, postgres)
                    await large_store.fill(settings, size)
                    services = await stack.enter_async_context(open_services(settings))
                    stores.append(Store(services, size, Random(size), count()))  # noqa: S311
                folder = Path(name) if engine == "SQLite" else postgres.folder
                for operation, do in OPERATIONS.items():
                    with held_in_memory(folder):
                        yield await _compare(f"{operation}, {engine}", do, stores, rounds)


def _settings(engine: Engine, folder: Path, size: int, postgres: Postgres) -> Settings:
    """Settings over a new store."""
    own = Settings(data_dir=folder / f"{engine}-{size}", log_level="error")
    if engine == "SQLite":
        return own
    database = postgres.settings(postgres.new_database(migrated=True))
    return own.model_copy(update={"db": database, "signing_keys": (SIGNING_KEY,)})


async def _compare(
    name: str, do: Operation, stores: Sequence[Store], rounds: tuple[int, int]
) -> Figure:
    """One operation, in one store after the other; some first rounds are not counted."""
    warming, counted = rounds
    taken: list[list[float]] = [[] for _ in stores]
    found: set[int] = set()
    for number in range(warming + counted):
        for store, seconds in zip(stores, taken, strict=True):
            began = time.perf_counter()
            found.add(await do(store))
            if number >= warming:
                seconds.append(time.perf_counter() - began)
    if len(found) > 1 or 0 in found:
        raise WrongAnswerError(f"{name}: found {sorted(found)}")
    small, large = (statistics.median(seconds) * 1e3 for seconds in taken)
    return Figure(
        group=GROUP,
        name=name,
        value=large,
        unit="ms",
        baseline=small,
        baseline_name=f"{stores[0].size:,} records",
        aim=AIM,
        detail=f"of {found.pop()} found",
    )


async def _print(engines: Sequence[Engine], scale: Scale) -> None:
    async for figure in _figures(engines, scale):
        line = f"{figure.name:60} {figure.baseline:8.2f} {figure.value:8.2f} {figure.ratio:6.2f}"
        sys.stdout.write(f"{line} {'' if figure.is_met else ' <--'}\n")
        sys.stdout.flush()


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--engine", choices=ENGINES, action="append")
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    scale = Scale.SMOKE if options.smoke else Scale.FULL
    anyio.run(_print, options.engine or ENGINES, scale)


if __name__ == "__main__":
    main()
