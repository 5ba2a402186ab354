"""The one process there is dies again and again while it is written to and listened to.

Whoever listens comes back with the last position heard, and hears everything, once and in order.
Whoever writes sends again what was not answered.
"""

import hashlib

import anyio
import anyio.lowlevel
import anyio.to_thread
import httpx
import pytest

from tests.e2e.stored_state import EmbeddedState, ServerState
from tests.faults.lengths import TIMEOUT_SECONDS, tell, times
from tests.kit.event_crowds import EventSocket, listen
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends, Engine

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.xdist_group("heavy"),
    pytest.mark.timeout(TIMEOUT_SECONDS),
]

LISTENERS = times(5, 50)
KILLS = times(1, 30)
EVENTS = times(100, 10_000)
WRITERS = 8


class Course:
    """A process that is killed and started again; it is another one each time."""

    def __init__(self, process: PagefaultProcess) -> None:
        self.process = process
        self.written = 0
        self.deaths = 0
        self._news = anyio.Event()
        self._is_up = True

    async def kill_again_and_again(self) -> None:
        """Kill it whenever so much more was written, and start it again."""
        for number in range(1, KILLS + 1):
            while self.written < number * EVENTS // (KILLS + 1):
                await self._news.wait()
            self._is_up = False
            await anyio.to_thread.run_sync(self.process.kill)
            await anyio.to_thread.run_sync(self.process.start)
            self._is_up = True
            self.deaths += 1
            self._tell()

    async def until_up(self) -> int:
        """The port of the process that is there now, or comes next."""
        while not self._is_up:
            await self._news.wait()
        return self.process.port

    async def write(self, number: int) -> None:
        """Write a share of the events; a call that was written already is not written again."""
        async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
            for call in range(number, EVENTS, WRITERS):
                message = {"role": "tool", "tool_call_id": f"c{call}", "content": f"{call}"}
                while not await self._is_taken(client, message, session=number):
                    pass

    async def _is_taken(
        self, client: httpx.AsyncClient, message: dict[str, str], session: int
    ) -> bool:
        port = await self.until_up()
        url = f"http://127.0.0.1:{port}/api/sessions/s{session}/messages"
        try:
            answer = await client.post(url, json=message)
        except httpx.TransportError:
            # It is dead, though whoever kills it may not have said so yet.
            await anyio.lowlevel.checkpoint()
            return False
        assert answer.status_code in (200, 201), answer.text
        self.written += 1
        self._tell()
        return True

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()


class Listener:
    """Hears everything, from whichever process is there."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self.positions: list[int] = []
        self.sha256 = hashlib.sha256()
        self.has_listeners = False

    async def hear(self) -> None:
        """Listen until everything has been heard."""
        while not self.has_listeners:
            last = self.positions[-1] if self.positions else 0
            port = await self._course.until_up()
            try:
                stream = await listen(port, "none", last_event_id=last)
            except OSError:
                await anyio.lowlevel.checkpoint()
                continue
            self.has_listeners = await stream.until_position(EVENTS)
            self._keep(stream)
            stream.close()

    def _keep(self, stream: EventSocket) -> None:
        self.positions += stream.positions
        for event in stream.events:
            self.sha256.update(event.data)


@pytest.mark.promise(
    "durability.md#the-process-dies",
    "The same holds for one process that is killed again and again",
    kept_by="app/services/events",
    tried="5 listeners, 100 events, a kill, both engines; long: 50, 10,000 and 30",
)
async def test_listeners_hear_everything_once_though_the_process_dies_again_and_again(
    backends: Backends, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data_dir = tmp_path_factory.mktemp("restarts")
    state = EmbeddedState(data_dir) if engine == "embedded" else ServerState(backends)
    process = PagefaultProcess(data_dir, env=state.env)
    await anyio.to_thread.run_sync(process.start)
    try:
        course = Course(process)
        listeners = [Listener(course) for _ in range(LISTENERS)]
        with anyio.fail_after(TIMEOUT_SECONDS):
            async with anyio.create_task_group() as tasks:
                for listener in listeners:
                    tasks.start_soon(listener.hear)
                tasks.start_soon(course.kill_again_and_again)
                for number in range(WRITERS):
                    tasks.start_soon(course.write, number)
        assert course.deaths == KILLS
    finally:
        process.kill()
    everything = list(range(1, EVENTS + 1))
    assert [item.positions for item in listeners if item.positions != everything] == []
    assert len({resource.sha256.digest() for resource in listeners}) == 1
    tell(
        f"Events over restarts, {engine}",
        f"{LISTENERS} listeners, {KILLS} kills, {EVENTS} events: each heard by each, in order, "
        "with the same bytes",
    )
