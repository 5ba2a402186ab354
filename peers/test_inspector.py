"""MCP Inspector's command line gets through the proxy what it gets from a server directly."""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from peers.servers import FOLDER, servers
from tests.kit.node import NODE, installed
from tests.kit.process import COMMAND, environment

_INSPECTOR = Path("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
# Of each, the call that is made: one that may be made twice.
_CALLS = {
    "everything": 0,
    "filesystem": 0,
    "git": 0,
    "memory": 2,
    "sequential-thinking": 0,
    "time": 0,
}
_OWN = ["page_fault", "search_pages", "read_text", "view_media", "save_page", "list_media"]
_TIME = re.compile(r"[0-9]{2,}")

Json = Any


def asked(folder: Path, command: Sequence[str], method: str, *options: str) -> Json:
    """What the inspector prints for one request to a server."""
    config = folder / "hosts.json"
    server = {"command": command[0], "args": list(command[1:])}
    config.write_text(json.dumps({"mcpServers": {"it": server}}))
    given = ["--cli", "--config", str(config), "--server", "it", "--method", method]
    done = subprocess.run(  # noqa: S603 - a tool of our own environment
        [str(NODE), str(installed(FOLDER) / _INSPECTOR), *given, *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment({"HOME": str(folder)}),
        timeout=60,
        check=False,
    )
    text = done.stdout.decode()
    return json.loads(text[text.index("{") :])


def behind_proxy(folder: Path, command: Sequence[str]) -> list[str]:
    options = ["--session", "demo", "--data-dir", str(folder / "data")]
    return [str(COMMAND), "proxy", *options, "--", *command]


@pytest.mark.parametrize("name", _CALLS)
def test_inspector_gets_what_it_gets_directly(name: str, folder: Path, tmp_path: Path) -> None:
    server = servers(folder)[name]
    proxied = behind_proxy(tmp_path, server.command)
    direct, through = (
        asked(tmp_path, command, "tools/list")["tools"] for command in (server.command, proxied)
    )
    assert [tool["name"] for tool in through[len(direct) :]] == _OWN
    assert through[: len(direct)] == direct
    tool, arguments = server.calls[_CALLS[name]]
    given = [f"{key}={json.dumps(value)}" for key, value in arguments.items()]
    options = ["--tool-name", tool, *(each for pair in given for each in ("--tool-arg", pair))]
    results = [
        _TIME.sub("#", json.dumps(asked(tmp_path, command, "tools/call", *options)))
        for command in (server.command, proxied)
    ]
    assert results[1] == results[0]


def test_inspector_uses_the_tools_of_the_memory(tmp_path: Path) -> None:
    command = [str(COMMAND), "mcp", "--session", "demo", "--data-dir", str(tmp_path / "data")]
    options = ["--tool-name", "save_page", "--tool-arg", "content=Ten sheep."]
    saved = asked(tmp_path, command, "tools/call", *options)
    assert saved["content"][0]["text"].startswith("Saved as page ")
    (page,) = asked(tmp_path, command, "resources/list")["resources"]
    read = asked(tmp_path, command, "resources/read", "--uri", page["uri"])
    assert "Ten sheep." in read["contents"][0]["text"]
