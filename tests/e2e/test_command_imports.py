"""What a command loads before it does something: the less, the sooner it is done."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.process import COMMAND, ROOT, WAIT_SECONDS, environment, run_command

_SERVER = frozenset({"fastapi", "starlette", "uvicorn", "websockets", "httptools"})
_SERVICES = _SERVER | {"PIL", "httpx", "tinytag", "alembic", "psycopg"}
_STORES = _SERVICES | {"sqlalchemy", "obstore"}
NEVER = frozenset({"av", "numpy"})
HELP = _STORES | {"pydantic", "pydantic_settings", "structlog", "prometheus_client", "anyio"}
UNNEEDED = {
    "--version": HELP | {"rich"},
    "--help": HELP,
    "keys --help": HELP,
    "fsck --help": HELP,
    "migrate": _SERVICES,
    "keys create --project demo": _SERVICES,
    "keys list": _SERVICES,
    "page show nothing": _SERVICES - {"PIL", "tinytag"},
    "fsck": _SERVICES,
    "gc": _SERVICES,
    # It ends with what it is told, and has loaded all that it needs by then.
    "tail --session=-": _SERVICES,
    "ingest - --session s": _SERVICES - {"PIL", "tinytag"},
}
_STATUS = {"page": 1, "tail": 2}
_IMPORTED = re.compile(r"^import time: +[0-9]+ \| +[0-9]+ \| +([\w.]+)", re.MULTILINE)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory that is up to date, and empty."""
    folder = tmp_path_factory.mktemp("imports") / "data"
    assert run_command("migrate", "--data-dir", str(folder)).returncode == 0
    return folder


@pytest.mark.parametrize("command", UNNEEDED)
def test_command_loads_nothing_that_it_does_not_need(command: str, data_dir: Path) -> None:
    needs_stores = not command.endswith(("--help", "--version"))
    options = ("--data-dir", str(data_dir)) if needs_stores else ()
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-X", "importtime", COMMAND, *command.split(), *options],
        cwd=ROOT,
        env=environment(),
        input="1",
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    status = _STATUS.get(command.partition(" ")[0], 0)
    assert done.returncode == status, done.stderr[-2_000:]
    loaded = {name.partition(".")[0] for name in _IMPORTED.findall(done.stderr)}
    assert {"app", "typer"} <= loaded
    assert loaded & (UNNEEDED[command] | NEVER) == set()
