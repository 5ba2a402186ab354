"""An agent on Claude with the tools of an MCP server, whose results the memory keeps.

    python examples/mcp_host.py "Open example.com." -- npx -y @playwright/mcp --headless

It needs the packages `anthropic`, `httpx` and `mcp`, a running Pagefault, and ANTHROPIC_API_KEY.
"""

import os
import sys

import anyio
import httpx
from anthropic import AsyncAnthropic
from mcp import Client, StdioServerParameters

url = os.environ.get("PAGEFAULT_URL", "http://127.0.0.1:8000")
memory = httpx.AsyncClient(base_url=url, timeout=60)
render = {"target": "anthropic", "memory": ["instructions", "manifest"]}


async def step(*entries):
    """Append what was said and run what was called; return all messages for the model."""
    body = {"entries": entries, "render": render}
    answer = await memory.post("/api/sessions/demo/turns", json=body)
    return answer.raise_for_status().json()["rendering"]


async def entry(server, ours, call):
    """Return a call of the memory's tools as it is, or run another one and return its result."""
    if call.name in ours:
        return {"toolCall": {"id": call.id, "name": call.name, "arguments": call.input}}
    result = (await server.call_tool(call.name, call.input)).model_dump(mode="json", by_alias=True)
    return {"toolResult": {"toolName": call.name, "toolCallId": call.id, "result": result}}


async def main(question, command, *arguments):
    """Answer a question with the tools of a server, and those of the memory."""
    tools = (await memory.get("/api/tools", params={"target": "anthropic"})).json()["tools"]
    ours = {tool["name"] for tool in tools}
    async with Client(StdioServerParameters(command=command, args=arguments)) as server:
        for tool in (await server.list_tools()).tools:
            named = {"name": tool.name, "description": tool.description}
            tools.append({**named, "input_schema": tool.input_schema})
        sent = await step({"message": {"role": "user", "content": question}})
        while True:
            reply = await AsyncAnthropic().messages.create(
                model="claude-sonnet-5",
                max_tokens=4096,
                tools=tools,
                system=sent["system"],
                messages=sent["messages"],
            )
            said = {"role": "assistant", "content": reply.model_dump()["content"]}
            calls = [block for block in reply.content if block.type == "tool_use"]
            answers = [await entry(server, ours, call) for call in calls]
            sent = await step({"message": said}, *answers)
            if not calls:
                return "".join(block.text for block in reply.content if block.type == "text")


print(anyio.run(main, sys.argv[1], *sys.argv[3:]))
