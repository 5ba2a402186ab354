"""Modules that a command loads before it runs; fewer make it start sooner."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.process import (
    COMMAND,
    ROOT,
    WAIT_SECONDS,
    environment,
    run_command,
    run_until_answer,
)

_SERVER = frozenset({"fastapi", "starlette", "uvicorn", "websockets", "httptools"})
_SERVICES = _SERVER | {"PIL", "httpx", "tinytag", "alembic", "psycopg", "opentelemetry"}
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
    "page show nothing": _SERVICES - {"tinytag"},
    "page list": _SERVICES - {"tinytag"},
    "search sunset": _SERVICES - {"tinytag"},
    "stats": _SERVICES,
    "fsck": _SERVICES,
    "gc": _SERVICES,
    # It ends with what it is told, and has loaded all that it needs by then.
    "tail --session=-": _SERVICES,
    "ingest - --session s": _SERVICES - {"tinytag"},
}
_PROXY = (_STORES - {"httpx"}) | {
    *("mcp", "mcp_types", "tiktoken", "prometheus_client", "click", "multipart"),
}
_BEFORE_A_PROGRAM = "proxy --session s"
_LISTENS = "proxy --session s --listen 0.0.0.0:0"
_ASKS_A_SERVICE = "proxy --session s --url http://127.0.0.1:9"
# A host runs one for each of its servers, and each of these is memory of all of them.
_LEAN_PROXY = _PROXY | {
    *("rich", "pygments", "structlog", "pydantic", "pydantic_core", "pydantic_settings"),
    *("greenlet", "msgspec", "regex", "pybase64"),
}
_HOST = {
    # Nothing of a server, of the SDK, of the stores, or of what counts tokens.
    _BEFORE_A_PROGRAM: _LEAN_PROXY,
    "proxy --session s --upstream http://127.0.0.1:9/mcp": _LEAN_PROXY,
    _ASKS_A_SERVICE: _LEAN_PROXY,
    # It refuses to listen there, and has loaded its server by then.
    _LISTENS: _PROXY - {"starlette", "uvicorn", "websockets", "httptools", "click"},
}
UNNEEDED |= _HOST
"""Commands that hosts of MCP start, which have a tool of a server called."""
_SERVER_COMMAND = ("--", sys.executable, "-m", "tests.kit.mcp_server")
_CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "long", "arguments": {"characters": 20_000}},
}
_STATUS = {"page show nothing": 1, "tail": 2, _LISTENS: 2}
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
    options: tuple[str, ...] = ("--data-dir", str(data_dir)) if needs_stores else ()
    if command == _ASKS_A_SERVICE:
        options = ()
    if command in (_BEFORE_A_PROGRAM, _LISTENS, _ASKS_A_SERVICE):
        options += _SERVER_COMMAND
    full_command = [sys.executable, "-X", "importtime", str(COMMAND), *command.split(), *options]
    if command in _HOST:
        done = run_until_answer(full_command, json.dumps(_CALL).encode(), env=environment())
    else:
        done = subprocess.run(  # noqa: S603 - our own command
            full_command,
            cwd=ROOT,
            env=environment(),
            input=b"1",
            capture_output=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
    errors = done.stderr.decode()
    status = _STATUS.get(command, _STATUS.get(command.partition(" ")[0], 0))
    assert done.returncode == status, errors[-2_000:]
    loaded = {name.partition(".")[0] for name in _IMPORTED.findall(errors)}
    assert {"app", "typer"} <= loaded
    assert loaded & (UNNEEDED[command] | NEVER) == set()


@pytest.mark.parametrize(("command", "module"), [("tail", "app.cli.commands"), ("", "")])
def test_command_of_the_service_loads_no_options_of_packages(command: str, module: str) -> None:
    program = (
        "import sys; from typer.main import get_command; from app.cli.main import cli\n"
        f"get_command(cli).get_command(None, {command!r}) if {command!r} else None\n"
        "print(*[name for name in sys.modules if name.endswith(('cli.commands', '_commands'))])"
    )
    done = subprocess.run(  # noqa: S603 - our own modules
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert done.stdout.strip() == module
