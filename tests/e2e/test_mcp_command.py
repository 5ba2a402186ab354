"""`pagefault mcp`: the memory over pipes, for a host that starts its servers itself."""

from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.kit.process import COMMAND, environment, run_command


def started(data_dir: Path, *options: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=str(COMMAND),
        args=["mcp", "--data-dir", str(data_dir), *options],
        env=environment(),
    )


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_what_one_host_saves_another_one_finds(tmp_path: Path, mode: Any) -> None:  # noqa: ANN401
    data_dir = tmp_path / "data"
    async with Client(started(data_dir, "--session", "demo"), mode=mode) as client:
        saved = await client.call_tool("save_page", {"content": "Ten sheep.", "caption": "flock"})
        assert not saved.is_error
    async with Client(started(data_dir), mode=mode) as client:
        found = await client.call_tool("search_pages", {"query": "sheep", "session": "other"})
        (page,) = (await client.list_resources()).resources
    assert page.name in str(found.content)
    assert page.title == "flock"


def test_session_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    done = run_command("mcp", "--data-dir", str(tmp_path), "--session", "no name")
    assert done.returncode == 2
    assert "is not the id of a session" in done.stderr
