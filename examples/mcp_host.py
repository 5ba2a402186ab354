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
    """Append what was said and returned; return all that the model is sent."""
    body = {"entries": entries, "render": render}
    answer = await memory.post("/api/sessions/demo/turns", json=body)
    answer.raise_for_status()
    return {name: answer.json()["rendering"][name] for name in ("messages", "system")}


async def returned(server, ours, call):
    """Run a call; return the entry that answers it."""
    if call.name in ours:
        return {"toolCall": {"id": call.id, "name": call.name, "arguments": call.input}}
    result = await server.call_tool(call.name, call.input)
    raw = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"toolResult": {"toolName": call.name, "toolCallId": call.id, "result": raw}}


async def main(question, command, *arguments):
    """Answer a question with the tools of a server, and those of the memory."""
    defined = await memory.get("/api/tools", params={"target": "anthropic"})
    tools = defined.json()["tools"]
    ours = {tool["name"] for tool in tools}
    async with Client(StdioServerParameters(command=command, args=arguments)) as server:
        for tool in (await server.list_tools()).tools:
            named = {"name": tool.name, "description": tool.description}
            tools.append({**named, "input_schema": tool.input_schema})
        sent = await step({"message": {"role": "user", "content": question}})
        while True:
            reply = await AsyncAnthropic().messages.create(
                model="claude-sonnet-5", max_tokens=4096, tools=tools, **sent
            )
            said = {"role": "assistant", "content": reply.model_dump(exclude_none=True)["content"]}
            calls = [block for block in reply.content if block.type == "tool_use"]
            sent = await step(
                {"message": said}, *[await returned(server, ours, each) for each in calls]
            )
            if not calls:
                return "".join(block.text for block in reply.content if block.type == "text")


print(anyio.run(main, sys.argv[1], *sys.argv[3:]))
