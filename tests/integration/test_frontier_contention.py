"""A named frontier that other requests move again and again, while one renders the session."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import pytest
from sqlalchemy import Connection, update

from app.config.settings import Settings
from app.errors import ConflictError
from app.features import open_services
from app.services.renders.queries import RenderQuery
from app.services.renders.session_renders import SessionRenders
from app.stores.records.database import Database, PoolUse, Work, WriteResult
from app.stores.records.records import Records
from app.stores.records.tables import frontiers
from app.telemetry.metrics import Metrics
from app.wiring.services import Services
from pagefault_dialects.model.render_options import RenderOptions
from tests.contract.test_frontiers_api import begin, move, step
from tests.kit.servers import serving

pytestmark = pytest.mark.anyio
_PROJECT = "contended"
_TRIES = 8
_Result = TypeVar("_Result")


class BusyDatabase:
    """A database in which another request moves all frontiers before some of the writes."""

    def __init__(self, database: Database, moves: int) -> None:
        self._database = database
        self._moves = moves

    async def read(
        self,
        work: Callable[[Connection], _Result],
        *,
        is_snapshot: bool = False,
        tries_event_loop: bool = False,
    ) -> _Result:
        return await self._database.read(
            work, is_snapshot=is_snapshot, tries_event_loop=tries_event_loop
        )

    async def write(
        self, work: Work[_Result], *, is_alone: bool, is_durable: bool = True
    ) -> tuple[_Result, int | None]:
        if self._moves:
            self._moves -= 1
            await self._database.write(_move_all, is_alone=False)
        return await self._database.write(work, is_alone=is_alone, is_durable=is_durable)

    def pools(self) -> Sequence[PoolUse]:
        return self._database.pools()

    async def close(self) -> None:
        await self._database.close()


def _move_all(connection: Connection) -> WriteResult[None]:
    connection.execute(update(frontiers).values(version=frontiers.c.version + 1))
    return WriteResult(None, _PROJECT, ())


def fill(settings: Settings) -> None:
    """Store a session that has outgrown its frontier."""
    with serving(settings) as live, live.client(live.new_key(_PROJECT)) as client:
        begin(client)
        step(client, 0)
        move(client, 5_000)
        for number in range(1, 4):
            step(client, number)


async def render(services: Services, *, moves: int) -> None:
    records = services[Records]
    busy = replace(records, database=BusyDatabase(records.database, moves))
    renders = replace(services[SessionRenders], records=busy)
    options = RenderOptions(max_tokens=5_000, frontier="main")
    query = RenderQuery("openai-chat", options)
    await renders.render_session(_PROJECT, "s", query, since=0, stores_frontier=True)


def counts(services: Services) -> dict[str, float]:
    """Return the counted attempts by their results."""
    (moves,) = (field for field in services[Metrics].collect() if "frontier" in field.name)
    return {
        sample.labels["result"]: sample.value
        for sample in moves.samples
        if sample.name.endswith("_total")
    }


async def test_attempts_to_move_a_contended_frontier_are_counted_and_repeated(
    settings: Settings,
) -> None:
    fill(settings)
    async with open_services(settings) as services:
        await render(services, moves=2)
        assert counts(services) == {"moved": 1, "contended": 2, "refused": 0}


async def test_rendering_is_refused_after_eight_attempts_to_move_its_frontier(
    settings: Settings,
) -> None:
    fill(settings)
    async with open_services(settings) as services:
        with pytest.raises(ConflictError) as refused:
            await render(services, moves=_TRIES)
        assert refused.value.problem_code == "frontier-contended"
        assert counts(services) == {"moved": 0, "contended": _TRIES, "refused": 1}
        await render(services, moves=0)
        assert counts(services)["moved"] == 1
