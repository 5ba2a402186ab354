"""`pagefault proxy --upstream`: a server at an address, for a host that talks over pipes.

The server is another Pagefault, whose `/mcp` speaks both eras of the protocol.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx
import pytest
from mcp import Client, MCPError, StdioServerParameters

from app.config.settings import Settings
from tests.contract.session_requests import listed
from tests.kit.process import COMMAND, environment, run_command
from tests.kit.servers import LiveService, serving

pytestmark = [pytest.mark.anyio, pytest.mark.engines("embedded")]
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.fixture
def far(settings: Settings) -> Iterator[LiveService]:
    """A server of MCP that asks for a key."""
    with serving(settings) as service:
        yield service


@pytest.fixture
def key(far: LiveService) -> str:
    return far.new_key()


def history_of(data_dir: Path) -> list[Any]:
    """What the proxy has stored."""
    with serving(Settings(data_dir=data_dir, auth="none", log_level="error")) as near:
        listed: list[Any] = httpx.get(f"{near.base_url}/api/sessions/near/messages").json()["items"]
    return listed


def started(data_dir: Path, service: LiveService, *options: str) -> StdioServerParameters:
    url = f"{service.base_url}/mcp?session=far"
    return StdioServerParameters(
        command=str(COMMAND),
        args=[
            *("proxy", "--session", "near", "--data-dir", str(data_dir), "--upstream", url),
            *options,
        ],
        env=environment(),
    )


@MODES
async def test_calls_reach_the_server_and_results_are_stored_here(
    far: LiveService,
    key: str,
    tmp_path: Path,
    mode: Any,  # noqa: ANN401
) -> None:
    data_dir = tmp_path / "data"
    options = ("--prefix", "near_", "--header", f"Authorization: Bearer {key}")
    async with Client(started(data_dir, far, *options), mode=mode) as host:
        names = [tool.name for tool in (await host.list_tools()).tools]
        saved = await host.call_tool("save_page", {"content": "Ten sheep.", "caption": "flock"})
        found = await host.call_tool("search_pages", {"query": "sheep"})
        own = await host.call_tool("near_search_pages", {"query": "sheep"})
        pages = (await host.list_resources()).resources
    assert "save_page" in names
    assert "near_save_page" in names
    assert not saved.is_error
    assert "Ten sheep" in str(found.content)
    assert "No page has any of these words" in str(own.content)
    assert [page.title for page in pages] == ["flock"]
    with far.client(key) as client:
        assert len(listed(client, "/api/sessions/far/messages")) == 4
    assert len(await anyio.to_thread.run_sync(history_of, data_dir)) == 6
    kept = b"".join(path.read_bytes() for path in data_dir.rglob("*") if path.is_file())
    assert key.encode() not in kept


@MODES
async def test_refusal_of_the_server_is_an_error_of_the_protocol(
    far: LiveService,
    tmp_path: Path,
    mode: Any,  # noqa: ANN401
) -> None:
    with pytest.raises((MCPError, BaseExceptionGroup)) as refused:
        async with Client(started(tmp_path / "data", far), mode=mode) as host:
            await host.list_tools()
    assert "the server answered 401" in "".join(map(str, _leaves(refused.value)))


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def test_one_server_has_to_be_named(tmp_path: Path) -> None:
    for options in ([], ["--upstream", "http://127.0.0.1:1/mcp", "--", "some-server"]):
        done = run_command("proxy", "--session", "s", "--data-dir", str(tmp_path), *options)
        assert done.returncode == 2
        assert "name a server" in done.stderr
