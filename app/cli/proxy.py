"""`pagefault proxy`: between a host and its MCP server, to store what the server's tools return."""

import signal
import subprocess
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread
import httpx
import typer

from app.cli.pipes import standard_input, write_out
from app.cli.stores_of_hosts import opened_beside_others
from app.cli.terminal import CANNOT, complain
from app.config.settings import Settings
from app.mcp.proxy import Proxy, received
from app.mcp.result_store import HandedFiles, ResultStore
from app.models.identity import CLIENT_ID
from app.models.rendering import RenderOptions
from app.models.tool import ToolDefinition
from app.services.agents.toolbox import definitions

# A server is told to end, then made to.
_GRACE_SECONDS = 5.0
_CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server at an address, and the headers that every request to it carries."""

    url: str
    headers: Sequence[tuple[str, str]]


def run_proxy(
    settings: Settings,
    project_id: str,
    session_id: str,
    server: Sequence[str] | Upstream,
    *,
    options: RenderOptions,
    prefix: str | None,
    files: Path | None,
) -> None:
    """Put a server between this process's standard input and output; end with its status.

    Args:
        settings: Where the stores are.
        project_id: Whose the session is.
        session_id: Where calls and results are kept.
        server: The command that runs it, or where it is.
        options: What the host takes of a result.
        prefix: What stands before the names of our own tools; `None` to add none of them.
        files: Where files that tools are given by their paths are written; `None` to write none.

    Raises:
        SystemExit: Always, with the status of the server.
    """
    if not CLIENT_ID.match(session_id):
        raise typer.BadParameter("is not the id of a session", param_hint="--session")
    handed = None if files is None else HandedFiles(files)
    opened = _opened(settings, project_id, session_id, options, handed)
    own_tools = {} if prefix is None else {f"{prefix}{tool.name}": tool for tool in definitions()}
    takes_paths = handed is not None
    if isinstance(server, Upstream):
        run = partial(_upstream, opened, server, own_tools, takes_paths=takes_paths)
    else:
        run = partial(_proxied, opened, server, own_tools, takes_paths=takes_paths)
    try:
        status = anyio.run(run)
    finally:
        if handed is not None:
            handed.clean_up()
    raise SystemExit(status)


async def _proxied(
    opened: AbstractAsyncContextManager[ResultStore],
    command: Sequence[str],
    own_tools: Mapping[str, ToolDefinition],
    *,
    takes_paths: bool,
) -> int:
    try:
        process = await anyio.open_process(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None
        )
    except OSError as exc:
        complain(f"cannot start {command[0]}: {exc.strerror}")
        return CANNOT
    assert process.stdin is not None  # noqa: S101 - asked for
    assert process.stdout is not None  # noqa: S101 - asked for
    send = process.stdin.send
    proxy = Proxy(write_out, send, complain, own_tools=own_tools, takes_paths=takes_paths)
    is_over = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(proxy.keep_store, opened, is_over)
        async with anyio.create_task_group() as host:
            host.start_soon(_pass_on_from_host, proxy, process)
            host.start_soon(_end_on_signals, process)
            await proxy.from_server(received(process.stdout))
            host.cancel_scope.cancel()
        is_over.set()
    status = await process.wait()
    if status:
        complain(f"the server {command[0]} ended with {_told(status)}")
    return status if status >= 0 else 128 - status


async def _upstream(
    opened: AbstractAsyncContextManager[ResultStore],
    server: Upstream,
    own_tools: Mapping[str, ToolDefinition],
    *,
    takes_paths: bool,
) -> int:
    from app.mcp.http_upstream import HttpUpstream  # noqa: PLC0415 - it loads the SDK

    timeout = httpx.Timeout(None, connect=_CONNECT_SECONDS)
    async with httpx.AsyncClient(headers=list(server.headers), timeout=timeout) as client:
        upstream = HttpUpstream(client, server.url, complain)
        proxy = Proxy(
            write_out, upstream.write, complain, own_tools=own_tools, takes_paths=takes_paths
        )
        is_over = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(proxy.keep_store, opened, is_over)
            async with anyio.create_task_group() as server_side:
                server_side.start_soon(proxy.from_server, upstream.received())
                async with upstream.running():
                    await proxy.from_host(standard_input())
            is_over.set()
    return 0


async def _pass_on_from_host(proxy: Proxy, process: anyio.abc.Process) -> None:
    """Pass on what the host says; when it leaves, see to it that the server ends."""
    try:
        await proxy.from_host(standard_input())
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        # The server has ended; its status says why.
        return
    assert process.stdin is not None  # noqa: S101 - asked for
    await process.stdin.aclose()
    await _end(process)


async def _end_on_signals(process: anyio.abc.Process) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            process.terminate()


async def _end(process: anyio.abc.Process) -> None:
    for end in (process.terminate, process.kill):
        with anyio.move_on_after(_GRACE_SECONDS):
            await process.wait()
            return
        end()


@asynccontextmanager
async def _opened(
    settings: Settings,
    project_id: str,
    session_id: str,
    options: RenderOptions,
    files: HandedFiles | None,
) -> AsyncGenerator[ResultStore, None]:
    async with opened_beside_others(settings, project_id) as container:
        yield ResultStore(container, project_id, session_id, options, files)


def _told(status: int) -> str:
    return f"status {status}" if status > 0 else f"signal {-status}"
