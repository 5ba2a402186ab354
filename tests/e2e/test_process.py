"""Settings of a whole process are made by its start, and not by the application."""

import subprocess
import sys
from pathlib import Path

from tests.kit.process import ROOT, WAIT_SECONDS, environment, run_command

LIVING = """
import sys
import anyio
from app.main import create_app

async def live():
    app = create_app()
    async with app.router.lifespan_context(app):
        print(sys.getrecursionlimit(), "app.server.process" in sys.modules)

anyio.run(live)
from app.server.uvicorn_config import served_app
served_app()
print(sys.getrecursionlimit(), "app.server.process" in sys.modules)
"""
# Of 1,024 that the service accepts; CPython's parser gives up at about 1,000.
LEVELS = 1_020


def test_application_leaves_its_process_as_it_is_and_the_server_does_not(tmp_path: Path) -> None:
    said = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", LIVING],
        cwd=ROOT,
        env=environment({"PAGEFAULT_DATA_DIR": str(tmp_path)}),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert said.stdout.splitlines() == ["1000 False", "10000 True"]


def test_command_takes_json_as_deep_as_the_server_does(tmp_path: Path) -> None:
    told = run_command(
        *("ingest", "-", "--session", "deep", "--data-dir", str(tmp_path)),
        given=b"[" * LEVELS + b"]" * LEVELS,
    )
    assert (told.returncode, told.stderr) == (0, "")
