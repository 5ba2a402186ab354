"""Events between processes: over one server's database with one process killed, and over one file.

Nobody who listens knows which process wrote, and nobody who comes back has to come to the same one.
"""

import hashlib
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import httpx
import pytest

from app.config.settings import Settings
from app.wiring.stores import open_access
from tests.integration.sweep_stores import environment_of
from tests.kit.event_crowds import EventSocket, listen
from tests.kit.process import ROOT, WAIT_SECONDS, PagefaultProcess, run_command
from tests.kit.servers import Backends

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("heavy"), pytest.mark.timeout(240)]

LISTENERS = 200
WRITERS = 8
EVENTS = 1_000
KILLED_AFTER = EVENTS // 3
EXAMPLE = ROOT / "examples" / "mcp-result-with-image-and-video.json"


class Course:
    """Two processes over the same stores; the second is killed once, and comes back."""

    def __init__(self, processes: list[PagefaultProcess], key: str) -> None:
        self.processes = processes
        self.key = key
        self.written = 0
        self.is_time = anyio.Event()
        self.has_restarted = anyio.Event()

    async def kill_and_restart(self) -> None:
        """Kill the second process in the middle of the writes, and start it again."""
        await self.is_time.wait()
        await anyio.to_thread.run_sync(self.processes[1].kill)
        await anyio.to_thread.run_sync(self.processes[1].start)
        self.has_restarted.set()

    async def write(self, number: int) -> None:
        """Write a share of the events, to the other process where one does not answer.

        A tool call has one answer, so what is sent again is not written again.
        """
        at = number
        async with httpx.AsyncClient(
            headers={"Authorization": f"Bearer {self.key}"}, timeout=60, trust_env=False
        ) as client:
            for call in range(number, EVENTS, WRITERS):
                message = {"role": "tool", "tool_call_id": f"c{call}", "content": f"{call}"}
                while not await self._is_taken(client, at, message, session=number):
                    at += 1

    async def _is_taken(
        self, client: httpx.AsyncClient, at: int, message: dict[str, str], session: int
    ) -> bool:
        url = f"{self.processes[at % 2].base_url}/api/sessions/s{session}/messages"
        try:
            answer = await client.post(url, json=message)
        except httpx.TransportError:
            return False
        assert answer.status_code in (200, 201), answer.text
        self.written += 1
        if self.written == KILLED_AFTER:
            self.is_time.set()
        return True


class Listener:
    """Hears everything, whichever process it has to come back to."""

    def __init__(self, course: Course, number: int) -> None:
        self._course = course
        self._number = number
        self._stream: EventSocket | None = None
        self.positions: list[int] = []
        self.sha256 = hashlib.sha256()

    async def open(self) -> None:
        """Begin before the first event."""
        port = self._course.processes[self._number % 2].port
        self._stream = await (await listen(port, self._course.key)).until_open()

    async def hear(self) -> "Listener":
        """Listen until everything has been heard."""
        assert self._stream is not None
        while not await self._stream.until_position(EVENTS):
            self._keep(self._stream)
            self._stream = await self._come_back()
        self._keep(self._stream)
        self._stream.close()
        return self

    async def _come_back(self) -> EventSocket:
        other = self._number % 4 == 1
        if not other:
            await self._course.has_restarted.wait()
        port = self._course.processes[0 if other else 1].port
        last = self.positions[-1] if self.positions else 0
        return await listen(port, self._course.key, last_event_id=last)

    def _keep(self, stream: EventSocket) -> None:
        self.positions += stream.positions
        for event in stream.events:
            self.sha256.update(event.data)


@asynccontextmanager
async def course_over(settings: Settings) -> AsyncIterator[Course]:
    """Two processes that serve the stores of these settings."""
    async with open_access(settings) as access:
        key = await access.create_key("p", "test")
    env = {**environment_of(settings), "PAGEFAULT_AUTH": "api-key"}
    processes = [PagefaultProcess(settings.data_dir, env=env) for _ in range(2)]
    try:
        async with anyio.create_task_group() as starting:
            for process in processes:
                starting.start_soon(anyio.to_thread.run_sync, process.start)
        yield Course(processes, key)
    finally:
        for process in processes:
            process.kill()


@pytest.mark.promise(
    "durability.md#the-process-dies",
    (
        "A client that reconnects with its position receives each event once, in order, with "
        "the same bytes, though a process is killed"
    ),
    kept_by="app/services/events",
    tried="200 listeners, 1,000 events, a kill and a restart",
)
async def test_everybody_hears_everything_once_though_a_process_is_killed(
    backends: Backends, tmp_path: Path
) -> None:
    async with course_over(backends.settings("server", tmp_path / "data")) as course:
        listeners = [Listener(course, number) for number in range(LISTENERS)]
        for listener in listeners:
            await listener.open()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(course.kill_and_restart)
            for number in range(WRITERS):
                tasks.start_soon(course.write, number)
            for listener in listeners:
                tasks.start_soon(listener.hear)
        late = await (await listen(course.processes[1].port, course.key)).until_open()
        late.close()
    everything = list(range(1, EVENTS + 1))
    assert [item.positions for item in listeners if item.positions != everything] == []
    assert len({resource.sha256.digest() for resource in listeners}) == 1
    assert late.opened_at == EVENTS


async def test_workers_over_one_file_tell_of_each_other_and_of_commands_and_end_streams_whole(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / "data"
    with PagefaultProcess(data_dir, options=["--workers", "2"], is_installed=True) as process:
        streams = [await (await listen(process.port, "none")).until_open() for _ in range(16)]
        async with httpx.AsyncClient(base_url=process.base_url, trust_env=False) as client:
            for number in range(10):
                # A connection each, so that both workers come to write.
                written = await client.post(
                    "/api/sessions/s/messages",
                    json={"role": "user", "content": f"{number}"},
                    headers={"Connection": "close"},
                )
                assert written.status_code == 201, written.text
        command = ("ingest", str(EXAMPLE), "--session", "demo", "--data-dir", str(data_dir))
        done = await anyio.to_thread.run_sync(partial(run_command, *command))
        assert done.returncode == 0, done.stderr
        for stream in streams:
            assert await stream.until_position(11)
        with anyio.fail_after(WAIT_SECONDS):
            status = await anyio.to_thread.run_sync(process.stop)
            for stream in streams:
                await stream.until_over()
    assert status in (0, -signal.SIGTERM)
    assert [stream.positions for stream in streams] == [list(range(1, 12))] * 16
    assert {stream.events[-1].type for stream in streams} == {"llmservice:toolResult"}
    assert [stream.has_ended_whole for stream in streams] == [True] * 16
