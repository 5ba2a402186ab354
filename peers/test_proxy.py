"""A host gets the same results through the proxy and from a real server."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import httpx
import pytest

from app.config.settings import Settings
from app.wiring.stores import migrate_database
from peers.conversations import results_of
from peers.servers import servers
from tests.kit.process import COMMAND
from tests.kit.servers import serving

Json: TypeAlias = dict[str, Any]

# They tell the time, when a file was made, or where in memory something is.
_OTHER_EACH_TIME = frozenset(
    {
        "browser_click",
        "browser_navigate",
        "browser_take_screenshot",
        "convert_time",
        "export_workbook",
        "get-resource-reference",
        "get_current_time",
        "get_file_info",
        "git_log",
        "git_show",
    }
)
_HANDLE = re.compile("@blob:[0-9a-f]{32}")
_CHANGING = re.compile("[0-9A-Za-z+/]{14,}=*|[0-9]+|[0-9a-f]{4,}")


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data directory that is up to date."""
    anyio.run(migrate_database, Settings(data_dir=tmp_path / "data", log_level="error"))
    return tmp_path / "data"


@pytest.fixture
def same_folder(folder: Path, tmp_path: Path) -> Iterator[Path]:
    """Yield the folder of the servers, and restore it afterwards."""
    shutil.copytree(folder, tmp_path / "copy", symlinks=True)
    yield tmp_path / "copy"
    restore(folder, tmp_path / "copy")


def restore(folder: Path, copy: Path) -> None:
    """Restore a folder from a copy."""
    shutil.rmtree(folder)
    shutil.copytree(copy, folder, symlinks=True)


def expected(client: httpx.Client, call_id: str, tool: str, result: Json) -> Json:
    """Return the expected result of a host: one with media has its rendering's content."""
    body = {"toolName": tool, "toolCallId": call_id, "result": result}
    record = client.post("/api/tool-results", json=body).json()
    if not record["sanitized"]["resources"]:
        return result
    path = f"/api/tool-results/{record['id']}/render"
    params = {"target": "mcp", "protocolVersion": "2025-11-25", "handles": "1"}
    (message,) = client.get(path, params=params).json()["messages"]
    return {**result, "content": message["content"]}


def comparable(tool: str, result: Json) -> str:
    """Return the parts of a result that must be equal for both ways."""
    # The handle of a medium is another one in another project.
    said = _HANDLE.sub("@blob:", json.dumps(without_null(result)))
    return _CHANGING.sub("#", said) if tool in _OTHER_EACH_TIME else said


def without_null(value: object) -> object:
    """Remove the values that the SDK writes for absent members."""
    if isinstance(value, dict):
        return {key: without_null(item) for key, item in value.items() if item is not None}
    return [without_null(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", servers(Path()))
def test_host_gets_what_it_gets_directly(
    name: str, client: httpx.Client, folder: Path, same_folder: Path, data_dir: Path
) -> None:
    server = servers(folder)[name]
    tools = [tool for tool, _ in server.calls]
    proxy: list[str | Path] = [COMMAND, "proxy", "--session", "demo", "--data-dir", data_dir, "--"]
    direct = [result["camelCase"] for result in results_of(server, folder)]
    restore(folder, same_folder)
    through = [result["camelCase"] for result in results_of(server, folder, through=proxy)]
    wanted = [
        expected(client, f"direct {name} {number}", tool, result)
        for number, (tool, result) in enumerate(zip(tools, direct, strict=True))
    ]
    assert [*map(comparable, tools, through)] == [*map(comparable, tools, wanted)]
    settings = Settings(data_dir=data_dir, log_level="error")
    with serving(settings) as service, service.client() as reader:
        listed = reader.get("/api/tool-results", params={"limit": 200}).json()["items"]
    assert {item["toolName"] for item in listed} == set(tools)
