"""MCP Inspector's command line gets the same output through the proxy and from a server.

It does in each era of the protocol that it speaks: `legacy` begins with `initialize`, `modern` with
`server/discover` of 2026-07-28, and `auto` asks for the second and makes do with the first.
"""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from peers.hosts import OWN_TOOLS
from peers.servers import FOLDER, Call, servers
from tests.kit.node import NODE, installed
from tests.kit.process import COMMAND, environment

_INSPECTOR = Path("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
_QUERY = "SELECT name FROM sqlite_master UNION SELECT 'a hill above the town'"
# Of each, the call that is made, one that may be made twice: its number, or itself.
_CALLS: Mapping[str, int | Call] = {
    "everything": 0,
    "filesystem": 0,
    "git": 0,
    "memory": 2,
    "playwright": 0,
    "sequential-thinking": 0,
    "sqlite, old": ("read_query", {"query": _QUERY}),
    "time": 0,
}
_ERAS = ("legacy", "auto", "modern")
_MODERN = ("git", "time")
_TIME = re.compile(r"[0-9]{2,}")

Json = Any


def asked(folder: Path, command: Sequence[str], method: str, *options: str) -> Json:
    """Return the output of the inspector for one request to a server, which may be an error."""
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
    if done.returncode:
        return json.loads(done.stderr.decode().splitlines()[-1])
    text = done.stdout.decode()
    return json.loads(text[text.index("{") :])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory for all proxies, whose service goes on from one to the next."""
    return tmp_path_factory.mktemp("data")


def behind_proxy(data: Path, command: Sequence[str]) -> list[str]:
    options = ["--session", "demo", "--data-dir", str(data)]
    return [str(COMMAND), "proxy", *options, "--", *command]


def asked_both(
    folder: Path, data: Path, command: Sequence[str], method: str, *options: str
) -> list[Json]:
    """Return the outputs for a request to a server, directly and through the proxy."""
    commands = {"direct": command, "proxied": behind_proxy(data, command)}

    def ask(name: str) -> Json:
        (folder / name).mkdir()
        return asked(folder / name, commands[name], method, *options)

    # At the same time, since a request mostly waits.
    with ThreadPoolExecutor(len(commands)) as threads:
        return list(threads.map(ask, commands))


@pytest.mark.parametrize(
    ("name", "era"),
    [*((name, "legacy") for name in _CALLS), *((name, "modern") for name in _MODERN)],
)
def test_inspector_lists_what_it_lists_directly(
    name: str, era: str, folder: Path, data: Path, tmp_path: Path
) -> None:
    command = servers(folder)[name].command
    options = ["tools/list", "--protocol-era", era]
    direct, through = (item["tools"] for item in asked_both(tmp_path, data, command, *options))
    assert [tool["name"] for tool in through[len(direct) :]] == OWN_TOOLS
    assert through[: len(direct)] == direct


@pytest.mark.parametrize("era", _ERAS)
@pytest.mark.parametrize("name", _CALLS)
def test_inspector_gets_what_it_gets_directly(
    name: str, era: str, folder: Path, data: Path, tmp_path: Path
) -> None:
    server = servers(folder)[name]
    call = _CALLS[name]
    tool, arguments = server.calls[call] if isinstance(call, int) else call
    options = ["tools/call", "--protocol-era", era, "--tool-name", tool]
    options += ["--tool-args-json", json.dumps(arguments)]
    direct, through = asked_both(tmp_path, data, server.command, *options)
    if era == "modern" and name not in _MODERN:
        assert "did not offer" in direct["error"]["message"]
    else:
        assert direct["content"]
        assert not direct.get("isError")
    assert _TIME.sub("#", json.dumps(through)) == _TIME.sub("#", json.dumps(direct))


def test_inspector_uses_the_tools_of_the_memory(tmp_path: Path) -> None:
    command = [str(COMMAND), "mcp", "--session", "demo", "--data-dir", str(tmp_path / "data")]
    options = ["--tool-name", "save_page", "--tool-arg", "content=Ten sheep."]
    saved = asked(tmp_path, command, "tools/call", *options)
    assert saved["content"][0]["text"].startswith("Saved as page ")
    (page,) = asked(tmp_path, command, "resources/list")["resources"]
    read = asked(tmp_path, command, "resources/read", "--uri", page["uri"])
    assert "Ten sheep." in read["contents"][0]["text"]
