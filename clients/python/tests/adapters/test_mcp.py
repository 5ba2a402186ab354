"""The MCP Python SDK: results of a real server, and handles in arguments."""

import base64
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.types import CallToolResult, InputRequiredResult, TextContent

from clients.python.tests.servers import CuttingProxy
from pagefault_client import AsyncPagefault, NotFoundError, Session
from pagefault_client.adapters.mcp import remember

pytestmark = pytest.mark.anyio


@pytest.fixture
def server(png: bytes) -> MCPServer:
    made = MCPServer("shop")

    @made.tool()
    def shot(address: str) -> Image:
        """Take a picture of a page."""
        return Image(data=png, format="png")

    @made.tool()
    def size(image: str) -> dict[str, int]:
        """Tell how many bytes an image has."""
        return {"bytes": len(base64.b64decode(image.rpartition(",")[2]))}

    @made.tool()
    def fail() -> str:
        """Fail."""
        raise ValueError("no")

    return made


def handle_in(result: CallToolResult) -> str:
    text = result.content[-1]
    assert isinstance(text, TextContent)
    return next(word for word in text.text.split() if word.startswith("@blob:"))


async def test_call_tool_is_wrapped_in_a_line(
    url: str, server: MCPServer, session: Session, png: bytes
) -> None:
    async with AsyncPagefault(url) as pf, Client(server) as client:
        call_tool = pf.wrap(client.call_tool, session=session.id)
        result = await call_tool("shot", {"address": "x"})
        failed = await call_tool("fail", {})
    assert isinstance(result, CallToolResult)
    assert [block.type for block in result.content] == ["image", "text"]
    assert failed.is_error
    stored = [entry for entry in session.messages() if entry["entry"] == "tool_result"]
    assert [(field["name"], field["sanitized"]["meta"]["success"]) for field in stored] == [
        ("shot", True),
        ("fail", False),
    ]
    assert handle_in(result) == f"@{stored[0]['sanitized']['resources'][0]['uri']}"


async def test_what_a_server_asks_for_is_no_result(url: str, session: Session) -> None:
    input_request = InputRequiredResult(request_state="abc")

    async def call_tool(name: str, arguments: dict[str, object] | None = None) -> object:
        return input_request

    async with AsyncPagefault(url) as pf:
        assert await pf.wrap(call_tool, session=session.id)("shot") is input_request
        remembered: Any = await remember(call_tool, pf, session.id)("shot")
        assert remembered is input_request
        with pytest.raises(NotFoundError, match="no such session"):
            await pf.session(session.id).get()


async def test_what_call_tool_raises_is_stored(url: str, session: Session) -> None:
    async def call_tool(name: str, arguments: dict[str, object] | None = None) -> object:
        raise TimeoutError("no answer")

    async with AsyncPagefault(url) as pf:
        for remembered in (
            pf.wrap(call_tool, session=session.id),
            remember(call_tool, pf, session.id),
        ):
            with pytest.raises(TimeoutError, match="no answer"):
                await remembered("shot", {})
    stored = [entry for entry in session.messages() if entry["entry"] == "tool_result"]
    assert [
        (field["name"], field["sanitized"]["meta"]["success"], field["sanitized"]["parts"])
        for field in stored
    ] == [("shot", False, [{"type": "text", "text": "TimeoutError: no answer"}])] * 2


async def test_handles_in_arguments_become_files(
    url: str, server: MCPServer, session: Session, png: bytes
) -> None:
    async with AsyncPagefault(url) as pf, Client(server) as client:
        call_tool = remember(client.call_tool, pf, session.id)
        handle = handle_in(await call_tool("shot", {"address": "x"}))
        answer = await call_tool("size", {"image": handle})
        untouched = remember(client.call_tool, pf, session.id, exclude=["shot"])
        assert (await untouched("shot", {"address": handle})).is_error is False
    assert answer.structured_content == {"bytes": len(png)}


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "A host on the MCP SDK gets the server's own result if it cannot be stored",
    kept_by="clients/python/src/pagefault_client/adapters/mcp.py",
    tried="12 outages: down, silent, cut, 401, 413, 500, 503, other answers",
)
async def test_host_gets_the_result_of_the_server_if_it_could_not_be_stored(
    outage: str, server: MCPServer
) -> None:
    handle = "@blob:" + "0" * 32
    async with AsyncPagefault(outage, timeout=0.05, max_retries=0) as pf, Client(server) as client:
        for call_tool in (
            pf.wrap(client.call_tool, session="s"),
            remember(client.call_tool, pf, "s"),
        ):
            for arguments in (
                ("shot", {"address": handle}),
                ("size", {"image": handle}),
                ("fail", {}),
            ):
                assert await call_tool(*arguments) == await client.call_tool(*arguments)


async def test_host_gets_the_result_of_the_server_if_the_service_dies(
    proxy: CuttingProxy, server: MCPServer, session: Session
) -> None:
    async with AsyncPagefault(proxy.url, timeout=5, max_retries=0) as pf, Client(server) as client:
        call_tool = remember(client.call_tool, pf, session.id)
        assert handle_in(await call_tool("shot", {"address": "x"}))
        proxy.close()
        alone = await client.call_tool("shot", {"address": "x"})
        assert await call_tool("shot", {"address": "x"}) == alone
    assert len(session.messages().all()) == 2
