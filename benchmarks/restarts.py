"""Time until the service answers again after it was killed under eight writers.

    python -m benchmarks --only restarts

From the start of the command to its first answer, which is given once the stores are open and in
order. Beside it the same for the server with routes that do nothing: `benchmarks.bare_app`.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import anyio.to_thread

from benchmarks.figures import Figure, Scale, value_at_most
from benchmarks.live_server import bare_server
from benchmarks.machine import ALL
from benchmarks.postgres import durable_postgres
from tests.e2e.stored_state import EmbeddedState, ServerState, StoredState
from tests.faults.writers import Round
from tests.kit.object_store import ObjectStoreServer
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends

GROUP = "restarts"


async def measure(scale: Scale) -> Sequence[Figure]:
    """Both engines, killed again and again, in turns with the bare server."""
    with tempfile.TemporaryDirectory() as name, ObjectStoreServer() as object_store:
        async with durable_postgres() as postgres:
            folder = Path(name)
            states: dict[str, StoredState] = {
                "SQLite and a directory": EmbeddedState(folder / "SQLite and a directory"),
                "PostgreSQL and S3": ServerState(Backends(lambda: postgres, lambda: object_store)),
            }
            return [
                await anyio.to_thread.run_sync(_measured, engine, state, folder, scale)
                for engine, state in states.items()
            ]


def _measured(engine: str, state: StoredState, folder: Path, scale: Scale) -> Figure:
    starts: list[float] = []
    bare: list[float] = []
    rounds, answers = scale.pick(7, 1), scale.pick(200, 5)
    process = PagefaultProcess(folder / engine, env=state.env, is_installed=True)
    process.start()
    for number in range(rounds):
        killed = Round(f"{number}")
        with killed.writing(process.client):
            killed.wait_for_answers(answers)
            process.kill()
        starts.append(_seconds(process.start))
        bare.append(_seconds(lambda: _start_bare(folder / "bare")))
    process.kill()
    return Figure(
        group=GROUP,
        name=f"killed and started again, {engine}",
        value=median(starts),
        unit="s",
        baseline=median(bare),
        baseline_name="routes that do nothing",
        aim=value_at_most(3),
        detail=f"longest of {rounds}: {max(starts):.1f} s",
    )


def _start_bare(folder: Path) -> None:
    with bare_server(folder, cores=ALL):
        pass


def _seconds(do: Callable[[], None]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began
