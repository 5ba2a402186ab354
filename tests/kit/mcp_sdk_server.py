"""A server of MCP made with the official SDK, over pipes, Streamable HTTP or HTTP+SSE of 2024.

Run as a program with `stdio`, or with `http` or `sse` and a port, of which 0 is a free one. Over
HTTP it writes its URL to standard output.
"""

import hashlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import anyio
import uvicorn
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import CallToolRequestParams, JSONRPCMessage, RequestParams
from pydantic import BaseModel, Field

from tests.kit import media
from tests.kit.process import ROOT, environment, program

PNG = media.png(noise=True)


class Choice(BaseModel):
    """The answer of a person to an elicitation."""

    colour: str


class Events(EventStore):
    """Events by their numbers, so that streams that break off can be resumed."""

    def __init__(self) -> None:
        self._events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        after = int(last_event_id)
        stream_id, _ = self._events[after - 1]
        for number, (of_stream, message) in enumerate(self._events[after:], after + 1):
            if of_stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


class TaskParams(RequestParams):
    """The parameters of a task."""

    task_id: str


class Tasks(Extension):
    """The tool `later` is answered by a task, which has ended when it is asked for again."""

    identifier = "io.modelcontextprotocol/tasks"

    async def intercept_tool_call(
        self,
        params: CallToolRequestParams,
        ctx: ServerRequestContext[Any, Any],
        call_next: CallNext,
    ) -> HandlerResult:
        if params.name != "later":
            return await call_next(ctx)
        task_id = str((params.arguments or {})["ends"])
        return {"resultType": "task", **TASK, "taskId": task_id, "status": "working"}

    def methods(self) -> Sequence[MethodBinding]:
        return (MethodBinding("tasks/get", TaskParams, self._get),)

    async def _get(self, ctx: ServerRequestContext[Any, Any], params: TaskParams) -> HandlerResult:
        # Over HTTP a header names the task as well.
        named = [] if ctx.request is None else [ctx.request.headers.get("mcp-name", "nothing")]
        text = " ".join(["done at last", *named])
        result = {"content": [{"type": "text", "text": text}], "isError": False}
        ended = {"result": result} if params.task_id == "completed" else {"error": FAILED}
        return {**TASK, "taskId": params.task_id, "status": params.task_id, **ended}


TASK = {
    "createdAt": "2026-07-28T10:00:00Z",
    "lastUpdatedAt": "2026-07-28T10:00:00Z",
    "ttlMs": None,
}
FAILED = {"code": -32603, "message": "the limit of a service"}
cancelled: list[str] = []
server = MCPServer("kit", extensions=[Tasks()])


@server.tool(structured_output=False)
def later(ends: str) -> str:
    """Be answered by a task that ends so: `completed` or `failed`."""
    return ends


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Report progress, then answer."""
    for number in range(to):
        await ctx.report_progress(number, to)
    return f"counted to {to}"


@server.tool()
async def ask(ctx: Context) -> str:
    """Ask the person at the host, in the revisions in which a server asks."""
    answer = await ctx.elicit("Which colour?", Choice)
    return answer.data.colour if answer.action == "accept" else answer.action


@server.tool()
async def break_off(ctx: Context) -> str:
    """End the stream before the answer, where it can be resumed."""
    await ctx.close_sse_stream()
    return "resumed"


@server.tool()
async def wait(name: str, ctx: Context) -> str:
    """Wait to be cancelled."""
    await ctx.report_progress(0)
    try:
        await anyio.sleep_forever()
    finally:
        cancelled.append(name)
    return ""


@server.tool()
def was_cancelled() -> list[str]:
    """Return the cancelled calls."""
    return cancelled


@server.tool()
def picture() -> Image:
    """Return a picture."""
    return Image(data=PNG, format="png")


@server.tool()
def look(
    picture: Annotated[
        str, Field(json_schema_extra={"contentEncoding": "base64", "x-mcp-header": "Picture"})
    ],
    ctx: Context,
) -> list[str]:
    """Tell the digests of an argument, and of the header that repeats it where there is one."""
    header = (ctx.headers or {}).get("mcp-param-picture", "")
    return [hashlib.sha256(name.encode()).hexdigest() for name in (picture, header)]


@server.tool()
def process() -> str:
    """Return the id of this process."""
    return str(os.getpid())


@server.tool()
def give_up() -> None:
    """End at once."""
    sys.stderr.write("the server gives up\n")
    os._exit(3)


@contextmanager
def serving_mcp(transport: str, port: int = 0) -> Iterator[str]:
    """Run the server over HTTP, on a port or on a free one; its URL."""
    with subprocess.Popen(  # noqa: S603 - our own program
        [*program("mcp_sdk_server"), transport, str(port)],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()
            # It may be a fork of another process: its port is free when all writers have ended.
            process.stdout.read()


def main() -> None:
    """Serve until told to end."""
    transport = sys.argv[1]
    if transport == "stdio":
        server.run("stdio")
        return
    app = (
        server.sse_app()
        if transport == "sse"
        else server.streamable_http_app(event_store=Events(), retry_interval=50)
    )
    listening = socket.create_server(("127.0.0.1", int(sys.argv[2])))
    path = "/sse" if transport == "sse" else "/mcp"
    sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}{path}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    main()
