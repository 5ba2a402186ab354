"""Many listeners: who comes, goes and comes back at any moment, and who does not keep up."""

import random
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx
import pytest

from app.config.settings import EventSettings
from app.features import open_services
from app.services.access.callers import Caller
from app.services.events.streams import EventStreams
from app.services.events.subscriptions import EventItem
from app.stores.records.events import EventRecords
from app.stores.records.records import Records
from app.wiring.services import Services
from tests.kit.event_crowds import WAIT_SECONDS, EventSocket, listen
from tests.kit.servers import Backends, LiveService, serving
from tests.kit.units import snapshot_of

pytestmark = pytest.mark.anyio

LISTENERS = 50
SESSIONS = 3
ENTRIES = 50
LARGE = "x" * 256 * 1024
LARGE_ENTRIES = 40


@pytest.fixture
def key(service: LiveService) -> str:
    """A key for a project that nobody else is in."""
    return service.new_key()


@pytest.fixture(
    params=[EventSettings(queued_events=4), EventSettings(queued_bytes=4 * len(LARGE))],
    ids=["events", "bytes"],
)
def strict_service(
    request: pytest.FixtureRequest, backends: Backends, tmp_path: Path
) -> Iterator[LiveService]:
    """A service where next to nothing may wait for a listener."""
    settings = backends.settings("embedded", tmp_path / "data")
    with serving(settings.model_copy(update={"events": request.param})) as service:
        yield service


@pytest.fixture
def strict_key(strict_service: LiveService) -> str:
    return strict_service.new_key()


async def append(client: httpx.AsyncClient, session_id: str, content: str) -> None:
    body = {"role": "user", "content": content}
    answer = await client.post(f"/api/sessions/{session_id}/messages", json=body)
    assert answer.status_code == 201, answer.text[:500]


def connected(service: LiveService, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=service.base_url,
        headers={"Authorization": f"Bearer {key}"},
        timeout=WAIT_SECONDS,
        trust_env=False,
    )


class Fair:
    """Writers of a few sessions, and listeners whose coming and going follows what is written."""

    def __init__(self, service: LiveService, key: str) -> None:
        self._service = service
        self._key = key
        self._moments = [anyio.Event() for _ in range(SESSIONS * ENTRIES + 1)]
        self._moments[0].set()
        self._written = 0
        self.missed: list[tuple[int, list[int]]] = []

    async def write(self, session_id: str) -> None:
        async with connected(self._service, self._key) as client:
            for number in range(ENTRIES):
                await append(client, session_id, f"{number}")
                self._written += 1
                self._moments[self._written].set()

    async def visit(self, number: int) -> None:
        """Listen to one session or to all, from any place, and leave now and then."""
        chosen = random.Random(number)  # noqa: S311 - the same in every run
        session = chosen.choice([None, *range(SESSIONS)])
        last = SESSIONS * ENTRIES if session is None else ENTRIES
        path = "/api/events" if session is None else f"/api/sessions/s{session}/events"
        comes = chosen.randrange(len(self._moments))
        await self._moments[comes].wait()
        # What it has not been told of yet is no place to begin at.
        from_start = session is not None or chosen.random() < 0.3
        place = 0 if from_start else chosen.choice([None, chosen.randrange(comes + 1)])
        stream = await self._listen(path, place)
        begun = stream.opened_at or 0
        heard: list[int] = []
        while (heard[-1] if heard else begun) < last:
            at = heard[-1] if heard else begun
            leaves = min(last, at + chosen.randrange(1, last))
            assert await stream.until_position(leaves)
            stream.close()
            heard += stream.positions
            stream = await self._listen(path, heard[-1])
        stream.close()
        if heard != list(range(begun + 1, last + 1)):
            self.missed.append((begun, heard))

    async def _listen(self, path: str, place: int | None) -> EventSocket:
        stream = await listen(self._service.port, self._key, path, last_event_id=place)
        return await stream.until_open()


async def test_every_number_comes_once_in_order_whenever_a_listener_comes_or_goes(
    service: LiveService, key: str
) -> None:
    fair = Fair(service, key)
    with anyio.fail_after(WAIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            for number in range(LISTENERS):
                tasks.start_soon(fair.visit, number)
            for number in range(SESSIONS):
                tasks.start_soon(fair.write, f"s{number}")
    assert fair.missed == []


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A listener that does not keep up delays nobody else",
    kept_by="app/services/events/subscriptions.py",
    tried="0 events lost",
)
async def test_listener_that_does_not_keep_up_is_cut_off_and_comes_back_and_nobody_else_waits(
    strict_service: LiveService, strict_key: str
) -> None:
    port = strict_service.port
    slow = await (await listen(port, strict_key, receive_bytes=4_096)).until_open()
    slow.pause()
    fast = [await (await listen(port, strict_key)).until_open() for _ in range(3)]
    async with connected(strict_service, strict_key) as client:
        for number in range(1, LARGE_ENTRIES + 1):
            await append(client, "s", LARGE)
            for stream in fast:
                assert await stream.until_position(number)
    slow.resume()
    await slow.until_over()
    back = await listen(port, strict_key, last_event_id=slow.last_position)
    assert await back.until_position(LARGE_ENTRIES)
    for stream in (slow, back, *fast):
        stream.close()
    everything = fast[0].events
    assert [event.position for event in everything] == list(range(1, LARGE_ENTRIES + 1))
    assert [stream.events for stream in fast] == [everything] * 3
    assert (slow.has_ended_whole, 0 < len(slow.events) < LARGE_ENTRIES) == (True, True)
    assert slow.events + back.events == everything


async def everything_told(process: Services, project_id: str) -> list[EventItem]:
    async with process[EventStreams].open(
        Caller(project_id), session_id=None, after=None
    ) as stream:
        return [item async for item in stream.items()]


# More turns of the loop than a stream takes until it waits for a connection.
# `wait_all_tasks_blocked` looks ten times a second, and the driver does so, too.
_UNTIL_IT_WAITS = 100


async def test_stream_that_begins_while_the_service_stops_ends_as_the_others_do(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("server", tmp_path / "data")
    one_connection = settings.db.model_copy(update={"pool_size": 1})
    changed = settings.model_copy(update={"auth": "none", "db": one_connection})
    told: list[list[EventItem]] = []

    async def listen_to_its_end(process: Services) -> None:
        told.append(await everything_told(process, settings.default_project))

    async with open_services(changed) as process:
        with anyio.fail_after(WAIT_SECONDS):
            async with (
                anyio.create_task_group() as tasks,
                snapshot_of(process[Records], settings.default_project) as unit,
            ):
                # Who looks at the log holds the only connection from here on.
                await unit[EventRecords].read_bounds()
                tasks.start_soon(listen_to_its_end, process)
                for _ in range(_UNTIL_IT_WAITS):
                    await anyio.lowlevel.checkpoint()
                process[EventStreams].end()
    assert told == [[]]
