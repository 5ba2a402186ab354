"""An agent on Claude with the tools of an MCP server, whose results the memory keeps.

    python examples/mcp_host.py "Open example.com." -- npx -y @playwright/mcp --headless

It needs the packages `anthropic`, `mcp` and `pagefault-client`, ANTHROPIC_API_KEY, and a running
Pagefault: at PAGEFAULT_URL, or at http://127.0.0.1:8000. PAGEFAULT_API_KEY is a key of it, if it
asks for one.
"""

import argparse
import os
import shlex
import sys

import anyio
from anthropic import AnthropicError, AsyncAnthropic
from mcp import Client, MCPError, StdioServerParameters

from pagefault_client import AsyncPagefault, PagefaultError


async def entry(server, ours, call):
    """Return a call of the memory's tools as it is, or run another one and return its result."""
    if call.name in ours:
        return {"toolCall": {"id": call.id, "name": call.name, "arguments": call.input}}
    result = await server.call_tool(call.name, call.input)
    return {"toolResult": {"toolName": call.name, "toolCallId": call.id, "result": result}}


async def main(question, command, *arguments):
    """Answer a question with the tools of a server, and those of the memory."""
    server = Client(StdioServerParameters(command=command, args=arguments))
    async with AsyncPagefault() as memory, server:
        tools = (await memory.tools.list("anthropic"))["tools"]
        ours = {tool["name"] for tool in tools}
        for tool in (await server.list_tools()).tools:
            named = {"name": tool.name, "description": tool.description}
            tools.append({**named, "input_schema": tool.input_schema})
        conversation = memory.session("demo").conversation(
            "anthropic", memory=["instructions", "manifest"]
        )
        messages = await conversation.turn({"message": {"role": "user", "content": question}})
        while True:
            reply = await AsyncAnthropic().messages.create(
                model="claude-sonnet-5",
                max_tokens=4096,
                tools=tools,
                system=conversation.system,
                messages=messages,
            )
            said = {"role": "assistant", "content": reply.content}
            calls = [block for block in reply.content if block.type == "tool_use"]
            answers = [await entry(server, ours, call) for call in calls]
            messages = await conversation.turn({"message": said}, *answers)
            if not calls:
                return "".join(block.text for block in reply.content if block.type == "text")


parser = argparse.ArgumentParser(
    usage="%(prog)s [-h] QUESTION -- COMMAND [ARGUMENT ...]",
    description=__doc__,
    formatter_class=argparse.RawDescriptionHelpFormatter,
)
parser.add_argument("question", help='such as "Open example.com."')
parser.add_argument("command", nargs="+", help="what starts the MCP server")
given = parser.parse_args()
if not os.environ.get("ANTHROPIC_API_KEY"):
    sys.exit("Set ANTHROPIC_API_KEY to a key of Anthropic.")
try:
    print(anyio.run(main, given.question, *given.command))
except* MCPError:
    sys.exit(
        f"The connection failed. Try whether this starts a server: {shlex.join(given.command)}"
    )
except* (PagefaultError, AnthropicError, OSError) as errors:
    error = errors
    # The tasks of the connection to the server are a group, and so are their errors.
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    sys.exit(f"{type(error).__name__}: {error}")
