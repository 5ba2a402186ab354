"""Garbage collections skip the objects that a server has loaded."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.process import ROOT, WAIT_SECONDS, environment

COUNTING = """
import gc
from app.server.uvicorn_config import served_app
app = served_app()
gc.collect()
print(gc.get_freeze_count() > 20 * len(gc.get_objects()), app.title)
"""


def test_what_a_server_has_loaded_is_never_looked_through_again() -> None:
    found = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", COUNTING],
        cwd=ROOT,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert found.stdout == "True Pagefault\n"


LIVING = """
import gc
import weakref
import anyio
from app.server.uvicorn_config import served_app

class Ring:
    def __init__(self):
        self.itself = self

async def live():
    app = served_app()
    async with app.router.lifespan_context(app):
        ring = Ring()
        freed = anyio.Event()
        weakref.finalize(ring, freed.set)
        before = gc.get_stats()[2]["collections"]
        many = [[] for _ in range(300_000)]
        print(gc.get_stats()[2]["collections"] - before)
        del ring, many
        with anyio.fail_after(30):
            await freed.wait()
        print("collected")

anyio.run(live)
"""


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "No full garbage collection starts while a large value is built",
    kept_by="app/services/memory_budget/garbage.py",
    tried="300,000 objects in a process that serves",
)
def test_garbage_of_a_server_is_collected_when_it_is_idle_and_not_when_it_makes_many_objects(
    tmp_path: Path,
) -> None:
    found = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", LIVING],
        cwd=ROOT,
        env=environment({"PAGEFAULT_DATA_DIR": str(tmp_path)}),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert found.stdout.split() == ["0", "collected"]
