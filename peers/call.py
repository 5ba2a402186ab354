"""Call the tools of an MCP server as hosts do, and print each result in every spelling.

Runs in an environment of its own, where the SDK is that of the server. Reads one JSON document
from standard input, `{"server": [command, …], "folder": …, "calls": [[tool, arguments], …]}`, and
prints a line of JSON for each call, in order: the result by the name of its spelling.
"""

import asyncio
import json
import os
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from pydantic_core import to_jsonable_python

try:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport
except ImportError:  # It is in one of the environments alone.
    Client = None


async def spelled_by_the_sdk(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what each call came to, as the SDK writes it."""
    command, *arguments = asked["server"]
    server = StdioServerParameters(
        command=command, args=arguments, cwd=asked["folder"], env=dict(os.environ)
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        results = [await session.call_tool(tool, given) for tool, given in asked["calls"]]
    return [
        {
            "camelCase": result.model_dump(mode="json", by_alias=True),
            "snake_case": result.model_dump(mode="json"),
            "without null": result.model_dump(mode="json", by_alias=True, exclude_none=True),
            "set": result.model_dump(mode="json", by_alias=True, exclude_unset=True),
        }
        for result in results
    ]


async def spelled_by_fastmcp(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what each call came to, as FastMCP's client has it; without FastMCP, nothing."""
    if Client is None:
        return [{} for _ in asked["calls"]]
    command, *arguments = asked["server"]
    transport = StdioTransport(command, arguments, cwd=asked["folder"], env=dict(os.environ))
    async with Client(transport) as client:
        results = [
            await client.call_tool(tool, given, raise_on_error=False)
            for tool, given in asked["calls"]
        ]
    return [{"FastMCP": to_jsonable_python(result)} for result in results]


async def print_results(asked: dict[str, Any]) -> None:
    """Start the server once for each client, make the calls, and print what came of them."""
    of_the_sdk = await spelled_by_the_sdk(asked)
    of_fastmcp = await spelled_by_fastmcp(asked)
    for one, other in zip(of_the_sdk, of_fastmcp, strict=True):
        print(json.dumps(one | other))  # noqa: T201 - this is what it is for


asyncio.run(print_results(json.load(sys.stdin)))
