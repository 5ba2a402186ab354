"""Start the programs of a release with one command each, in clean environments.

    uvx pagefault serve
    uvx --from 'pagefault[mcp]' pagefault mcp --session demo
    uvx pagefault proxy --session demo -- COMMAND

A user has nothing but `uv` or pipx. A folder of the wheels of the release and of their locked
dependencies takes the place of the index, so it is these wheels that are started. Each program
answers one request.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

_WAIT_SECONDS: Final = 300
_ADDRESS: Final = re.compile(r"Pagefault is at (http://\S+)")
_INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "release-check", "version": "1"},
    },
}
# A server of MCP for the proxy, with one answer.
_SMALL_SERVER: Final = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    about = {"name": "small", "version": "1"}
    result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": about}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


class CommandError(Exception):
    """A program that did not start or answer, with its last words."""


@dataclass(frozen=True, slots=True)
class CleanUser:
    """A user who has an installer of programs, these wheels, and nothing else."""

    home: Path
    """A new folder: caches and installed tools are in it."""
    wheels: Sequence[Path]
    """The folders that packages are found in, without any index."""

    def version(self, *command: str) -> str:
        """Return what a command prints."""
        done = subprocess.run(
            command,
            env=self._variables(),
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=_WAIT_SECONDS,
            check=False,
        )
        if done.returncode:
            raise CommandError((done.stdout + done.stderr).strip()[-2_000:])
        return done.stdout.strip()

    def readiness(self, *command: str) -> str:
        """Return what a started service answers to `/readyz`."""
        options = ("serve", "--port", "0", "--data-dir", str(self.home / "data"))
        with self._running(*command, *options) as process:
            lines: list[str] = []
            for line in process.stderr or ():
                lines.append(line)
                if found := _ADDRESS.search(line):
                    ready = f"{found[1]}/readyz"
                    with urlopen(ready, timeout=_WAIT_SECONDS) as answer:  # noqa: S310 - loopback
                        return str(json.load(answer)["status"])
        raise CommandError("".join(lines)[-2_000:])

    def server_name(self, *command: str) -> str:
        """Return the name of a server of MCP that a command starts over pipes."""
        with self._running(*command) as process:
            assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018
            # It ends when the host closes the pipe, with or without an answer.
            process.stdin.write(f"{json.dumps(_INITIALIZE)}\n")
            process.stdin.flush()
            line = process.stdout.readline()
            rest, errors = process.communicate(timeout=_WAIT_SECONDS)
        answer: dict[str, Any] = json.loads(line or "{}")
        if "result" not in answer:
            raise CommandError((line + rest + errors).strip()[-2_000:])
        return str(answer["result"]["serverInfo"]["name"])

    @contextmanager
    def _running(self, *command: str) -> Iterator["subprocess.Popen[str]"]:
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command,
            env=self._variables(),
            cwd=self.home,
            text=True,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
        ) as process:
            try:
                yield process
            finally:
                process.terminate()

    def _variables(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        folders = [str(folder) for folder in self.wheels]
        return {
            **kept,
            "HOME": str(self.home),
            "UV_CACHE_DIR": str(self.home / "cache"),
            "UV_PYTHON": sys.executable,
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_NO_CONFIG": "1",
            "UV_OFFLINE": "1",
            "UV_NO_INDEX": "1",
            "UV_FIND_LINKS": ",".join(folders),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": " ".join(folders),
        }


def check_commands(user: CleanUser, tools: Path, listed: Sequence[str]) -> dict[str, str]:
    """Start each program once; return what each has answered.

    Args:
        user: The user.
        tools: The folder of `uv` and pipx.
        listed: The arguments of `uvx` in `server.json`.

    Raises:
        CommandError: One does not start or answer.
    """
    uvx = (str(tools / "uv"), "tool", "run")
    pipx = (str(tools / "pipx"), "run", "--python", sys.executable)
    data = ("--session", "demo", "--data-dir", str(user.home / "memory"))
    proxied = ("--", sys.executable, "-c", _SMALL_SERVER)
    return {
        "uvx pagefault serve": user.readiness(*uvx, "pagefault"),
        "uvx pagefault mcp": user.server_name(
            *uvx, "--from", "pagefault[mcp]", "pagefault", "mcp", *data
        ),
        "uvx of server.json": user.server_name(*uvx, *listed),
        "uvx pagefault proxy": user.server_name(*uvx, "pagefault", "proxy", *data, *proxied),
        "pipx run pagefault": user.version(*pipx, "pagefault", "--version"),
    }
