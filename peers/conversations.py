"""Conversations of hosts and servers, each in a process of its own."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from peers.servers import FOLDER, Server, python
from tests.kit.process import environment

Json: TypeAlias = dict[str, Any]
_WAIT_SECONDS = 120


def results_of(
    server: Server, folder: Path, *, through: Sequence[str | Path] = ()
) -> Iterator[Mapping[str, Json]]:
    """Yield what each call of a server came to, in every spelling.

    Args:
        server: The server, and the calls.
        folder: Where it works.
        through: A command line that starts the server, and stands between it and its host.
    """
    command = [str(item) for item in (*through, *server.command)]
    asked = {"server": command, "folder": str(folder), "calls": server.calls}
    for line in printed_lines([python(server.sdk), FOLDER / "call.py"], json.dumps(asked)):
        yield json.loads(line)


def printed_lines(command: Sequence[str | Path], given: str) -> list[str]:
    """Return the lines that a command of an environment prints."""
    ended = subprocess.run(  # noqa: S603 - our own script
        command,
        input=given,
        capture_output=True,
        text=True,
        timeout=_WAIT_SECONDS,
        env=environment(),
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2_000:]
    return ended.stdout.splitlines()
