"""The proxy between a host and a server, where one of them has left."""

import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx
import pytest

from pagefault_dialects.model.render_options import RenderOptions
from pagefault_mcp.messages.request_tracker import REVISION_MEMBER
from pagefault_mcp.proxy.call_traces import NoCallTraces
from pagefault_mcp.proxy.proxy import Proxy
from pagefault_mcp.proxy.proxy_process import HostOptions, make_remote_service, make_shared_service
from pagefault_mcp.service_client.shared_folder import SharedSetup
from pagefault_mcp.upstreams.server_connections import start_server

pytestmark = pytest.mark.anyio


async def ignore(piece: bytes) -> None:
    """Drop the output for the host."""


async def pipe_of(*lines: bytes) -> AsyncIterator[bytes]:
    """Yield lines, as the pipe of a host."""
    for line in lines:
        yield line


async def test_server_that_no_longer_reads_ends_by_itself_with_its_own_status(
    tmp_path: Path,
) -> None:
    is_over = tmp_path / "is-over"
    os.mkfifo(is_over)
    script = 'exec <&-; echo "reads no more"; read _ <"$0"; exit 7'
    async with start_server(["sh", "-c", script, str(is_over)]) as server:
        assert await anext(server.receive_pieces()) == b"reads no more\n"
        host = HostOptions(RenderOptions(), prefix=None)
        setup = SharedSetup(tmp_path / "data", project=None, env_file=None, version="1")
        store = make_shared_service(setup, "s", host, pytest.fail).store
        proxy = Proxy(ignore, server.write, store, pytest.fail, {}, takes_paths=False)
        await proxy.forward_from_host(
            pipe_of(*[b'{"jsonrpc":"2.0","method":"ping","id":1}\n'] * 3), server
        )
        is_over.write_text("")
        assert await server.wait_for_exit() == (7, "the server sh ended with status 7")


async def test_call_that_is_never_answered_is_not_held(tmp_path: Path) -> None:
    async with start_server(["sh", "-c", "cat >/dev/null"]) as server:
        host = HostOptions(RenderOptions(), prefix=None)
        setup = SharedSetup(tmp_path / "file", project=None, env_file=None, version="1")
        setup.data_dir.touch()
        warned: list[str] = []
        store = make_shared_service(setup, "s", host, warned.append).store
        proxy = Proxy(ignore, server.write, store, warned.append, {}, takes_paths=False)
        called = b'{"jsonrpc":"2.0","method":"tools/call","id":1,"params":{"name":"a"}}\n'
        cancelled = (
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n'
        )
        async with store.client, anyio.create_task_group() as group:
            group.start_soon(proxy.forward_from_server, server.receive_pieces())
            await proxy.forward_from_host(pipe_of(called, cancelled), server)
        assert len(warned) == 1
        assert not proxy._recordings


class ListedTraces(NoCallTraces):
    """Lists the tools of the calls that have begun and not ended."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.open: dict[str, str] = {}

    def begin(self, call_id: str, tool: str, traceparent: str | None) -> None:
        self.begun.append(tool)
        self.open[call_id] = tool

    @contextmanager
    def end(self, call_id: str) -> Iterator[None]:
        del self.open[call_id]
        yield


async def test_trace_of_a_memory_call_with_unreadable_arguments_ends(tmp_path: Path) -> None:
    written: list[bytes] = []

    async def hear(piece: bytes) -> None:
        written.append(piece)

    traces = ListedTraces()
    async with start_server(["sh", "-c", "cat >/dev/null"]) as server:
        host = HostOptions(RenderOptions(), prefix="")
        setup = SharedSetup(tmp_path / "data", project=None, env_file=None, version="1")
        store = make_shared_service(setup, "s", host, pytest.fail).store
        proxy = Proxy(
            *(hear, server.write, store, pytest.fail, host.find_memory_tools()),
            takes_paths=False,
            traces=traces,
        )
        params = b'{"name":"read_text","arguments":{"limit":NaN}}'
        called = b'{"jsonrpc":"2.0","method":"tools/call","id":1,"params":%s}\n' % params
        await proxy.forward_from_host(pipe_of(called), server)
    assert json.loads(b"".join(written))["result"]["isError"]
    assert (traces.begun, traces.open) == (["read_text"], {})


async def test_call_waits_a_while_for_its_file_and_then_passes_with_its_handle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pagefault_mcp.proxy.proxy._FILES_SECONDS", 0.1)
    arguments = {"image": f"@blob:{'0' * 32}"}
    params = {"name": "upload", "arguments": arguments, "_meta": {REVISION_MEMBER: "2026-07-28"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    written: list[bytes] = []
    warned: list[str] = []

    async def hear(piece: bytes) -> None:
        written.append(piece)

    hanging = socket.create_server(("127.0.0.1", 0))
    url = httpx.URL(f"http://127.0.0.1:{hanging.getsockname()[1]}")
    service = make_remote_service(
        url, httpx.Headers(), "s", HostOptions(RenderOptions(), prefix=None), warned.append
    )
    async with (
        service.store.client,
        start_server([sys.executable, "-m", "tests.kit.mcp_server", "paged"]) as server,
        anyio.create_task_group() as group,
    ):

        async def tell(piece: bytes) -> None:
            await server.write(piece)
            if b"tools/call" in piece:
                # Storing the call must not wait for the answer.
                hanging.close()

        proxy = Proxy(hear, tell, service.store, warned.append, {}, takes_paths=False)
        group.start_soon(proxy.forward_from_server, server.receive_pieces())
        await proxy.forward_from_host(pipe_of(json.dumps(call).encode() + b"\n"), server)
    (answer,) = json.loads(b"".join(written))["result"]["content"]
    assert json.loads(answer["text"]) == arguments
    assert warned[0] == (
        "a handle for upload is passed on as it is: its file was not there after 0.1 seconds"
    )
