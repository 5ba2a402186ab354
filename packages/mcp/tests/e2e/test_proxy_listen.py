"""`pagefault proxy --listen`: hosts over Streamable HTTP, each session with a server of its own."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
from mcp import Client, MCPError, types

from app.config.settings import Settings
from tests.kit.hostile_messages import LISTS
from tests.kit.loaded_command import LoadedCommand
from tests.kit.mcp_sdk_server import serving_mcp
from tests.kit.process import COMMAND, ROOT, WAIT_SECONDS, environment, program
from tests.kit.servers import serving, with_a_database

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
REVISION = "io.modelcontextprotocol/protocolVersion"
ACCEPT = {"accept": "application/json, text/event-stream"}
SAID = ["sh", "-c", 'read x; echo \'{"jsonrpc":"2.0","id":1,"result":{}}\'; cat > /dev/null']
"""A server that answers once, and costs little."""


class Listening:
    """A proxy that listens."""

    def __init__(self, process: subprocess.Popen[str], data: Path) -> None:
        assert process.stderr is not None
        self.process = process
        self.data = data
        self.errors = process.stderr
        self.url = self.errors.readline().split()[-1]

    def post(self, body: object, **headers: str) -> httpx.Response:
        """Post a message."""
        sent = {"content-type": "application/json", **ACCEPT, **header_names(headers)}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return httpx.post(
            self.url, content=content, headers=sent, timeout=WAIT_SECONDS, trust_env=False
        )

    def session(self) -> dict[str, str]:
        """Begin a session; the header that names it."""
        answer = self.post(initialize())
        assert answer.status_code == 200
        return {"mcp_session_id": answer.headers["mcp-session-id"]}


def header_names(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def initialize(version: str = "2025-03-26") -> Json:
    params = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def call(number: object, tool: str, **arguments: object) -> Json:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@contextmanager
def listening(
    folder: Path,
    *server: str,
    options: tuple[str, ...] = (),
    is_installed: bool = False,
    **more: str,
) -> Iterator[Listening]:
    """Run a proxy that listens on a free port of loopback; the installed command, or a fork."""
    data = with_a_database(folder / "data")
    arguments = [
        "--session",
        "demo",
        "--data-dir",
        str(data),
        "--listen",
        "127.0.0.1:0",
        *options,
    ]
    with subprocess.Popen(  # noqa: S603 - our own command
        [*([COMMAND] if is_installed else program()), "proxy", *arguments, *server],
        cwd=ROOT,
        env={**environment(), **more},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Listening(process, data)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """A proxy before a server of the official SDK."""
    folder = tmp_path_factory.mktemp("listening")
    with listening(folder, "--", *program("mcp_sdk_server"), "stdio") as running:
        yield running


def texts(result: types.CallToolResult) -> list[str]:
    return [part.text for part in result.content if isinstance(part, types.TextContent)]


async def accept(context: object, params: object) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"colour": "blue"})


async def working(host: Client, name: str) -> str:
    """Use the features of a host; return the process of the server."""
    steps: list[float] = []
    begun = anyio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    async def begin(progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    names = [tool.name for tool in (await host.list_tools()).tools]
    assert {"count", "page_fault"}.issubset(names)
    counted = await host.call_tool("count", {"to": 3}, progress_callback=note)
    assert (texts(counted), steps) == (["counted to 3"], [0, 1, 2])
    picture = await host.call_tool("picture")
    assert [item.type for item in picture.content] == ["image", "text"]
    async with anyio.create_task_group() as group:
        group.start_soon(partial(host.call_tool, "wait", {"name": name}, progress_callback=begin))
        await begun.wait()
        group.cancel_scope.cancel()
    with anyio.fail_after(WAIT_SECONDS):
        while name not in texts(await host.call_tool("was_cancelled")):
            pass
    return texts(await host.call_tool("process"))[0]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_hosts_at_the_same_time_get_their_own_answers(proxy: Listening, mode: Any) -> None:  # noqa: ANN401
    processes: dict[str, str] = {}

    async def work(name: str) -> None:
        async with Client(proxy.url, mode=mode, elicitation_callback=accept) as host:
            if mode == "legacy":
                assert texts(await host.call_tool("ask")) == ["blue"]
            processes[name] = await working(host, f"{mode} {name}")

    async with anyio.create_task_group() as group:
        for name in ("a", "b"):
            group.start_soon(work, name)
    # Hosts of 2026-07-28 have no sessions, and share a server.
    assert len(set(processes.values())) == (2 if mode == "legacy" else 1)


async def test_results_are_stored_in_the_session(proxy: Listening) -> None:
    async with Client(proxy.url, mode="legacy") as host:
        await host.call_tool("count", {"to": 0})
        own = await host.call_tool("read_text", {"ref": "@entry:2"})
    assert not own.is_error
    settings = Settings(data_dir=proxy.data, auth="none", log_level="error")

    def stored() -> list[Json]:
        with serving(settings) as near:
            address = f"{near.base_url}/api/sessions/demo/messages"
            listed: list[Json] = httpx.get(address, params={"limit": 200}).json()["items"]
        return listed

    results = [item for item in await anyio.to_thread.run_sync(stored) if "sanitized" in item]
    names = {result["sanitized"]["meta"]["toolName"] for result in results}
    assert {"count", "read_text"}.issubset(names)


def test_answers_that_nothing_comes_before_are_json(proxy: Listening) -> None:
    session = proxy.session()
    ready = proxy.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
    answer = proxy.post(call("a", "process"), mcp_protocol_version="2025-03-26", **session)
    assert (ready.status_code, ready.content) == (202, b"")
    assert answer.headers["content-type"] == "application/json"
    assert (answer.json()["id"], len(answer.json()["result"]["content"])) == ("a", 1)


def test_batch_is_answered_on_one_stream_with_what_comes_before(tmp_path: Path) -> None:
    server = [sys.executable, "-m", "tests.kit.mcp_server"]
    with listening(tmp_path, "--", *server) as own:
        session = own.session()
        own.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, **session)
        answer = own.post([call(2, "picture"), call(3, "list_media"), call(4, "word")], **session)
    messages = [
        json.loads(line.removeprefix("data: "))
        for line in answer.text.splitlines()
        if line.startswith("data: ")
    ]
    # The memory answers separately, before or after the server.
    of_the_server = [
        message for message in messages if isinstance(message, list) or "method" in message
    ]
    (alone,) = (message for message in messages if message not in of_the_server)
    ids = [[one.get("id", one.get("method")) for one in _batch(item)] for item in of_the_server]
    assert (ids, alone["id"]) == ([["notifications/progress"], [2, 4]], 3)


def _batch(value: Json | list[Json]) -> list[Json]:
    return value if isinstance(value, list) else [value]


def test_call_with_numbers_that_are_none_ends_nobody_elses_server(tmp_path: Path) -> None:
    about = {REVISION: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    params = {"name": "upload", "arguments": {"image": "@blob:", "t": 0}, "_meta": about}
    written = json.dumps({**body, "params": params})
    with listening(tmp_path, "--", sys.executable, "-m", "tests.kit.mcp_server", "paged") as own:
        answers = [
            own.post(written.replace('"t": 0', f'"t": {t}').encode(), **headers, mcp_name="upload")
            for t in ("1e999", "NaN", "1")
        ]
    texts = [answer.json()["result"]["content"][0]["text"] for answer in answers]
    assert texts == [f'{{"image": "@blob:", "t": {t}}}' for t in ("Infinity", "NaN", "1")]


@pytest.mark.parametrize("slash", ["", "/"])
def test_session_ends_with_delete(proxy: Listening, slash: str) -> None:
    url = f"{proxy.url}{slash}"
    session = proxy.session()
    proxy.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
    answer = proxy.post(call(1, "process"), **session).json()
    pid = int(answer["result"]["content"][0]["text"])
    with httpx.stream(
        "GET", url, headers={**ACCEPT, **header_names(session)}, trust_env=False
    ) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        deleted = httpx.delete(url, headers=header_names(session), trust_env=False)
        # The stream ends when the server has.
        assert (deleted.status_code, stream.read()) == (204, b"")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert proxy.post(call(2, "process"), **session).status_code == 404


@pytest.mark.parametrize(
    ("body", "headers", "status", "message"),
    [
        (call(1, "count"), {}, 400, "send `initialize` first"),
        (call(1, "count"), {"mcp_session_id": "none"}, 404, "no such session"),
        (call(1, "count"), {"mcp_protocol_version": "2031-01-01"}, 400, "no revision 2031-01-01"),
        (call(1, "count"), {"mcp_protocol_version": "2026-07-28"}, 400, "params._meta"),
        ([call(1, "count")], {"mcp_protocol_version": "2026-07-28"}, 400, "no batches"),
        (
            {**call(1, "count"), "params": {"_meta": {REVISION: ["2026-07-28"]}}},
            {},
            400,
            "send `initialize` first",
        ),
        (b'{"id": 1, "method": "a", "params": %s}' % (b"9" * 5_000), {}, 400, "send `initialize`"),
        (b'{"id": %s, "method": "a"}' % (b"9" * 5_000), {}, 400, "a whole number"),
        ({"id": "i" * 1_025, "method": "a"}, {}, 400, "an id or a token has at most 1024"),
        (
            {"id": 1, "method": "a", "params": {"_meta": {"progressToken": "t" * 1_025}}},
            {},
            400,
            "an id or a token has at most 1024",
        ),
        (b'{"id": "\\ud800", "method": "a"}', {}, 400, "send `initialize` first"),
        (b"[1, null]", {}, 400, "a JSON object"),
        (b"{", {}, 400, "no JSON"),
        (b"[" * 5_000, {}, 413, "nested deeper than 1024"),
        (LISTS, {}, 413, "1048576 bytes at most"),
        (LISTS, {"mcp_protocol_version": "2026-07-28"}, 413, "more than 20000 values"),
        ('{"jsonrpc": "2.0"}'.encode("utf-16"), {}, 400, "no JSON"),
        ('{"jsonrpc": "2.0"}'.encode("utf-8-sig"), {}, 400, "no JSON"),
        ([call(1, "count")] * 1_001, {}, 413, "at most 1000 messages"),
        (b"[]", {}, 400, "a JSON object"),
        (call(1.5, "count"), {}, 400, "a whole number"),
        (initialize(), {"accept": "application/json"}, 406, "accept"),
        (initialize(), {"content_type": "text/plain"}, 415, "application/json"),
    ],
)
def test_refused_requests_get_the_reason(
    proxy: Listening, body: object, headers: dict[str, str], status: int, message: str
) -> None:
    answer = proxy.post(body, **headers)
    assert (answer.status_code, message in answer.text) == (status, True)
    assert answer.json()["error"]["code"] < 0


@pytest.mark.promise(
    "security.md#calls-from-a-browser",
    "A page of another origin, or under a rebound name, starts no server of a proxy that listens",
    kept_by="packages/mcp/src/pagefault_mcp/http_server/host_listener.py",
    tried="3 headers",
)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "rebound.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_page_of_another_origin_starts_no_server(
    proxy: Listening, headers: dict[str, str], status: int
) -> None:
    answer = proxy.post(initialize(), **headers)
    assert (answer.status_code, "mcp-session-id" in answer.headers) == (status, False)
    error = answer.json()["error"]
    assert (error["code"], error["message"]) == (-32600, error["data"]["detail"])


async def test_server_that_dies_is_reported_to_its_host_alone(tmp_path: Path) -> None:
    with listening(tmp_path, "--", *program("mcp_sdk_server"), "stdio") as own:
        async with Client(own.url, mode="legacy") as other:
            async with Client(own.url, mode="legacy") as host:
                with pytest.raises(MCPError, match=r"ended with status 3"):
                    await host.call_tool("give_up")
            assert texts(await other.call_tool("count", {"to": 0})) == ["counted to 0"]
        own.process.terminate()
        assert own.process.wait(WAIT_SECONDS) == 0
        stderr = own.errors.read()
    assert "the server gives up" in stderr
    assert f"the server {sys.executable} ended with status 3" in stderr


def test_stop_ends_sessions_and_their_servers(tmp_path: Path) -> None:
    with listening(tmp_path, "--", *program("mcp_sdk_server"), "stdio") as own:
        session = own.session()
        own.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
        pid = int(own.post(call(1, "process"), **session).json()["result"]["content"][0]["text"])
        with httpx.stream(
            "GET", own.url, headers={**ACCEPT, **header_names(session)}, trust_env=False
        ) as stream:
            own.process.send_signal(signal.SIGTERM)
            assert stream.read() == b""
        assert own.process.wait(WAIT_SECONDS) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_files_of_tools_are_removed_with_the_last_session_that_was_given_them(
    tmp_path: Path,
) -> None:
    files = tmp_path / "files"
    server = ("--", sys.executable, "-m", "tests.kit.mcp_server")
    with listening(tmp_path, *server, options=("--files", str(files))) as own:
        first, second = own.session(), own.session()
        for session in (first, second):
            listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            own.post({**listed, "params": {"cursor": "more"}}, **session)
        answers = [own.post(call(2, tool, seconds=1), **first) for tool in ("picture", "sound")]
        picture, sound = (re.findall("@blob:[0-9a-f]{32}", answer.text)[0] for answer in answers)
        uploads = [
            own.post(call(3, "upload", file_path=handle), **session)
            for handle, session in ((picture, first), (picture, second), (sound, first))
        ]
        paths = [
            Path(json.loads(upload.json()["result"]["content"][0]["text"])["file_path"])
            for upload in uploads
        ]
        assert {*files.iterdir()} == {*paths}
        with httpx.stream("GET", own.url, headers={**ACCEPT, **header_names(first)}) as stream:
            httpx.delete(own.url, headers=header_names(first), trust_env=False)
            # The stream ends when the server has.
            assert stream.read() == b""
        assert {*files.iterdir()} == {paths[1]}
        own.process.terminate()
        assert own.process.wait(WAIT_SECONDS) == 0
    assert not files.exists()


@pytest.mark.slow
@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A proxy that listens starts a limited number of servers",
    kept_by="packages/mcp/src/pagefault_mcp/http_server/host_sessions.py",
    tried="32 sessions, and one more: 503",
)
def test_sessions_are_limited_in_number(tmp_path: Path) -> None:
    with listening(tmp_path, "--", *SAID) as own:
        sessions = [own.session() for _ in range(32)]
        refused = own.post(initialize())
        assert refused.status_code == 503
        assert (refused.headers["retry-after"], refused.json()["id"]) == ("10", 1)
        httpx.delete(own.url, headers=header_names(sessions[0]), trust_env=False)
        own.session()


async def test_server_at_an_address_is_served_to_hosts(tmp_path: Path) -> None:
    with (
        serving_mcp("http") as far,
        listening(tmp_path, options=("--upstream", far)) as own,
    ):
        for mode in ("legacy", "auto"):
            async with Client(own.url, mode=mode) as host:
                await working(host, mode)


def test_command_that_is_not_there_is_named_at_start(
    pagefault: LoadedCommand, tmp_path: Path
) -> None:
    options = ("--session", "s", "--data-dir", str(tmp_path))
    cases = [
        (("--listen", "127.0.0.1:0", "--", "no-such-server"), "cannot start no-such-server"),
        (("--listen", "0.0.0.0:0", "--", "sh"), "is not loopback"),
        (("--listen", "here", "--", "sh"), "HOST:PORT"),
    ]
    for arguments, message in cases:
        done = pagefault.run("proxy", *options, *arguments)
        assert (done.returncode, message in done.stderr) == (2, True)


@pytest.mark.promise(
    "security.md#links-and-keys",
    "A proxy that listens takes the keys of its project alone",
    kept_by="packages/mcp/src/pagefault_mcp/http_server/host_listener.py",
    tried="4 keys",
)
def test_where_keys_are_asked_for_hosts_need_one(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", auth="api-key", log_level="error")
    with serving(settings) as near:
        key, other = near.new_key("default"), near.new_key("other")
    with listening(tmp_path, "--", *SAID, PAGEFAULT_AUTH="api-key") as own:
        answers = [
            own.post(initialize(), **headers)
            for headers in (
                {},
                {"authorization": "Bearer pf_none"},
                {"authorization": f"Bearer {other}"},
                {"authorization": f"Bearer {key}"},
            )
        ]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 200]
    refused = [answer.json()["error"]["data"]["code"] for answer in answers[:3]]
    assert refused == ["unauthorized"] * 3
