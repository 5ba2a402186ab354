"""A process dies between its commit and the notification of it; listeners are at another process.

The bound is on the shortest wait of several deaths, since a busy machine may prolong any of them.
"""

import time
from pathlib import Path

import anyio
import anyio.to_thread
import httpx
import pytest

from app.crash_points import CRASH_POINT_VARIABLE, CrashPoint
from tests.e2e.stored_state import ServerState
from tests.faults.lengths import TIMEOUT_SECONDS, tell, times
from tests.kit.event_crowds import listen
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.xdist_group("heavy"),
    pytest.mark.timeout(TIMEOUT_SECONDS),
]

DEATHS = times(3, 30)
MAX_WAIT_SECONDS = 1.2


def post_until_dead(process: PagefaultProcess, call: int) -> float:
    """Store a result at a process, which dies of it; returns the time at which that was seen."""
    body = {"toolName": "t", "toolCallId": f"c{call}", "result": call, "sessionId": "s"}
    with process.client() as client, pytest.raises(httpx.TransportError):
        client.post("/api/tool-results", json=body)
    return time.monotonic()


@pytest.mark.promise(
    "durability.md#the-process-dies",
    "If a process dies between a commit and the notification of it, listeners at other processes "
    "receive the event, whether they listened before or begin at that moment",
    kept_by="app/wiring/brokers/notifications.py",
    tried="PostgreSQL, 3 deaths, waits of at most 1.2 s; long: 30",
)
async def test_event_that_was_not_notified_is_heard_within_a_second(
    backends: Backends, tmp_path: Path
) -> None:
    env = ServerState(backends).env
    dying = {**env, CRASH_POINT_VARIABLE: CrashPoint.RESULT_COMMITTED}
    waits: list[float] = []
    with PagefaultProcess(tmp_path / "living", env=env) as living:
        stream = await (await listen(living.port, "none", last_event_id=0)).until_open()
        for number in range(1, DEATHS + 1):
            with PagefaultProcess(tmp_path / "dying", env=dying) as process:
                died_at = await anyio.to_thread.run_sync(post_until_dead, process, number)
                new = await listen(living.port, "none", last_event_id=number - 1)
                for item in (stream, new):
                    assert await item.until_position(number)
                    waits.append(time.monotonic() - died_at)
                assert new.positions == [number]
                new.close()
        stream.close()
    assert stream.positions == list(range(1, DEATHS + 1))
    assert min(waits[::2]) < MAX_WAIT_SECONDS, waits
    tell(
        "Events without a notification",
        f"{DEATHS} deaths, {len(waits)} listeners: heard after {max(waits):.2f} s at most",
    )
