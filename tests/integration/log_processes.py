"""Processes over one log of events, each with connections of its own, and who listens at them."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio
import anyio.lowlevel
from sqlalchemy import text

from app.config.settings import Settings
from app.features import open_services
from app.models.event import EventType, NewEvent
from app.services.access.callers import Caller
from app.services.events.stream import EventStream
from app.services.events.streams import EventStreams
from app.services.events.subscriptions import EventItem
from app.stores.records.engine import Engines
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.services import Services
from app.wiring.stores import migrate_database, open_database
from pagefault_dialects.json.values import JsonValue

PROJECT = "default"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
WAIT_SECONDS = 60.0
_WAITING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


class GivenUpError(Exception):
    """An error that rolls a transaction back."""


@asynccontextmanager
async def log_processes(settings: Settings) -> AsyncIterator[tuple[Services, Services]]:
    """Two services without HTTP over the same stores, which know nothing of each other."""
    await migrate_database(settings)
    open_to_all = settings.model_copy(update={"auth": "none"})
    async with open_services(open_to_all) as one, open_services(open_to_all) as other:
        yield one, other


@asynccontextmanager
async def engines_over(settings: Settings) -> AsyncIterator[Engines]:
    """Connections beside those of the processes."""
    engines = open_database(settings)
    try:
        yield engines
    finally:
        await engines.close()


def page_event(
    page_id: str,
    *,
    event_type: EventType = "page:created",
    session_id: str | None = None,
    seq: int | None = None,
    members: Mapping[str, JsonValue] | None = None,
) -> NewEvent:
    """An event that shows no record."""
    return NewEvent(
        event_type, page_id, NOW, session_id=session_id, seq=seq, members=members or {"version": 1}
    )


async def write(process: Services, *subject_ids: str) -> None:
    """Write events in one transaction."""

    def note(unit: UnitOfWork) -> None:
        for subject_id in subject_ids:
            unit.add_event(page_event(subject_id))

    await process[Records].write(PROJECT, note)


async def until_one_waits(engines: Engines) -> None:
    """Return when a transaction waits for the lock of another one.

    Who waits at SQLite cannot be seen: its own lock is asked for again and again.
    """
    if engines.reader.dialect.name == "sqlite":
        await anyio.lowlevel.checkpoint()
        return
    with anyio.fail_after(WAIT_SECONDS):
        with engines.reader.connect() as connection:
            while not connection.execute(text(_WAITING)).scalar_one():
                await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def listening_at(
    process: Services, *, after: int | None = 0, session_id: str | None = None
) -> AsyncIterator[EventStream]:
    """A stream of a process's, as a route opens it."""
    async with process[EventStreams].open(
        Caller(PROJECT), session_id=session_id, after=after
    ) as stream:
        yield stream


async def heard(stream: EventStream, *, until: int) -> list[EventItem]:
    """Return the events of a stream up to a position."""
    items: list[EventItem] = []
    with anyio.fail_after(WAIT_SECONDS):
        async for item in stream.items():
            items.append(item)
            if item.position >= until:
                break
    return items
