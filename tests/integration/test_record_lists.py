"""Lists by a moment and an id, on both engines: what stands on a page, and how it is found."""

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pytest
from sqlalchemy import event

from app.config.settings import Settings
from app.models.session import SessionFilter
from app.stores.records.aliases import AliasRecords
from app.stores.records.engine import Engines
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.stores import migrate_database, open_database
from pagefault_dialects.model.resource import MediaHints, Resource

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
Place: TypeAlias = tuple[datetime, str]
Listing: TypeAlias = Callable[[UnitOfWork, Place | None], Sequence[Place]]


def place(number: int) -> Place:
    """Three rows have one moment each."""
    return NOW + timedelta(microseconds=number // 3), f"{number:032}"


def resource(number: int) -> Resource:
    moment, resource_id = place(number)
    return Resource(
        resource_id=resource_id,
        digest="d" * 64,
        mime_type="image/png",
        filename=None,
        size_bytes=1,
        kind="image",
        hints=MediaHints(),
        created_at=moment,
    )


@pytest.fixture
async def engines(settings: Settings) -> AsyncIterator[Engines]:
    await migrate_database(settings)
    opened = open_database(settings)
    records = Records(opened)
    await records.write_projects(lambda projects: projects.ensure(PROJECT, NOW))

    def write(unit: UnitOfWork) -> None:
        for number in range(12):
            moment, name = place(number)
            unit[ResourceRecords].ensure(resource(number))
            unit[AliasRecords].ensure(name, name, now=moment)
            unit[SessionRecords].ensure(name, moment)

    await records.write(PROJECT, write)
    yield opened
    await opened.close()


def aliases(unit: UnitOfWork, before: Place | None) -> Sequence[Place]:
    found = unit[AliasRecords].list(before=before, resource_id=None, limit=5)
    return [(item.created_at, item.alias) for item in found]


def resources(unit: UnitOfWork, before: Place | None) -> Sequence[Place]:
    found = unit[ResourceRecords].list_resources(before=before, limit=5)
    return [(item.created_at, item.resource_id) for item in found]


def sessions(unit: UnitOfWork, before: Place | None) -> Sequence[Place]:
    found = unit[SessionRecords].list_sessions(SessionFilter(), before=before, limit=5)
    return [(item.updated_at, item.session_id) for item in found]


@pytest.mark.parametrize("listing", [aliases, resources, sessions])
async def test_pages_follow_each_other_without_a_gap(engines: Engines, listing: Listing) -> None:
    def three_pages(unit: UnitOfWork) -> list[Place]:
        first = listing(unit, None)
        second = listing(unit, first[-1])
        third = listing(unit, second[-1])
        assert listing(unit, third[-1]) == []
        return [*first, *second, *third]

    listed = await Records(engines).read(PROJECT, three_pages)
    assert listed == [place(number) for number in reversed(range(12))]


@pytest.mark.parametrize("listing", [aliases, resources, sessions])
async def test_page_is_read_from_its_place_in_an_index_on(
    engines: Engines, listing: Listing
) -> None:
    asked: list[tuple[str, Any]] = []

    def note(*called: Any) -> None:  # noqa: ANN401 - as SQLAlchemy calls it
        asked.append(called[2:4])

    engine = engines.reader
    if engine.dialect.name == "postgresql":
        # It judges by the size of the tables, and these are small.
        return
    event.listen(engine, "before_cursor_execute", note)
    await Records(engines).read(PROJECT, lambda unit: listing(unit, place(7)))
    event.remove(engine, "before_cursor_execute", note)
    statement, parameters = asked[-1]
    with engines.reader.connect() as connection:
        told = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        plan = [str(row._mapping["detail"]) for row in told]
    moment = "updated_at" if listing is sessions else "created_at"
    assert any(f"(project_id=? AND ({moment}," in line for line in plan), plan
    assert not any("TEMP B-TREE" in line for line in plan), plan
