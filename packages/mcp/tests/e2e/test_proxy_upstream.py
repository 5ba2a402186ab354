"""`pagefault proxy --upstream`: a server at an address, for a host that talks over pipes.

The server is another Pagefault, whose `/mcp` speaks both eras of the protocol.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
from mcp import Client, MCPError, StdioServerParameters, types

from app.config.settings import Settings
from packages.mcp.tests.e2e.test_proxy_command import talking
from tests.contract.session_requests import listed
from tests.kit.loaded_command import LoadedCommand
from tests.kit.mcp_sdk_server import PNG, serving_mcp
from tests.kit.media import b64
from tests.kit.process import ROOT, WAIT_SECONDS, environment, program, run_command
from tests.kit.servers import LiveService, serving, with_a_database

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
    """Return the entries that the proxy has stored."""
    with serving(Settings(data_dir=data_dir, auth="none", log_level="error")) as near:
        listed: list[Any] = httpx.get(f"{near.base_url}/api/sessions/near/messages").json()["items"]
    return listed


def started(data_dir: Path, service: LiveService, *options: str) -> StdioServerParameters:
    url = f"{service.base_url}/mcp?session=far"
    python, *forked = program()
    return StdioServerParameters(
        command=python,
        args=[
            *forked,
            *("proxy", "--session", "near", "--data-dir", str(with_a_database(data_dir))),
            *("--upstream", url),
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
        for exception in error.exceptions:
            yield from _leaves(exception)
    else:
        yield error


@pytest.fixture(scope="module")
def older() -> Iterator[str]:
    """A server that knows HTTP+SSE of 2024 alone."""
    with serving_mcp("sse") as url:
        yield url


@pytest.fixture(scope="module")
def newer() -> Iterator[str]:
    """A server that speaks Streamable HTTP, with sessions, streams and both eras."""
    with serving_mcp("http") as url:
        yield url


@pytest.fixture(scope="module")
def piped() -> None:
    """A server that is started by the proxy."""


def in_front_of(url: str | None, data_dir: Path, *options: str) -> StdioServerParameters:
    piped = ["--", *program("mcp_sdk_server"), "stdio"]
    server = piped if url is None else ["--upstream", url]
    python, *forked = program()
    return StdioServerParameters(
        command=python,
        args=[
            *forked,
            *("proxy", "--session", "near", "--data-dir", str(with_a_database(data_dir)), *options),
            *server,
        ],
        cwd=ROOT,
        env=environment(),
    )


def texts(result: types.CallToolResult) -> list[str]:
    return [part.text for part in result.content if isinstance(part, types.TextContent)]


@pytest.mark.parametrize(
    ("server", "mode", "options"),
    [
        ("older", "auto", ()),
        ("older", "legacy", ("--transport", "sse")),
        ("newer", "auto", ()),
        ("newer", "legacy", ("--transport", "http")),
        ("piped", "auto", ()),
        ("piped", "legacy", ()),
    ],
)
async def test_host_works_with_a_server_of_any_transport(
    server: str,
    mode: Any,  # noqa: ANN401
    options: tuple[str, ...],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    url = request.getfixturevalue(server)
    started = in_front_of(url, tmp_path / "data", *options)
    steps: list[float] = []
    begun = anyio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    async def begin(progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    async def answer(context: object, params: object) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"colour": "blue"})

    name = f"{server}-{mode}"
    async with Client(started, mode=mode, elicitation_callback=answer) as host:
        counted = await host.call_tool("count", {"to": 3}, progress_callback=note)
        assert (texts(counted), steps) == (["counted to 3"], [0, 1, 2])
        picture = await host.call_tool("picture")
        assert [item.type for item in picture.content] == ["image", "text"]
        async with anyio.create_task_group() as group:
            group.start_soon(
                partial(host.call_tool, "wait", {"name": name}, progress_callback=begin)
            )
            await begun.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(WAIT_SECONDS):
            while name not in texts(await host.call_tool("was_cancelled")):
                pass
        assert texts(await host.call_tool("break_off")) == ["resumed"]
        if mode == "legacy" or server == "older":
            assert texts(await host.call_tool("ask")) == ["blue"]
    stored = await anyio.to_thread.run_sync(history_of, tmp_path / "data")
    results = [item["sanitized"] for item in stored if "sanitized" in item]
    assert [result["meta"]["toolName"] for result in results][:2] == ["count", "picture"]


async def test_header_that_repeats_an_argument_repeats_the_file_of_a_handle(
    newer: str, tmp_path: Path
) -> None:
    async with Client(in_front_of(newer, tmp_path / "data")) as host:
        (line,) = texts(await host.call_tool("picture"))
        digests = texts(await host.call_tool("look", {"picture": line}))
    digest = hashlib.sha256(b64(PNG).encode()).hexdigest()
    assert digests == [digest, digest]


def test_header_repeats_an_argument_though_the_host_has_asked_for_no_list(
    newer: str, tmp_path: Path
) -> None:
    about = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    started = in_front_of(newer, tmp_path / "data")
    errors = tmp_path / "stderr"
    with talking(started.command, *started.args, stderr=errors, env=started.env) as host:
        called = {"name": "look", "arguments": {"picture": "a"}, "_meta": about}
        result = json.loads(host.ask(1, "tools/call", **called))["result"]
        assert host.leave() == 0
    digest = hashlib.sha256(b"a").hexdigest()
    assert [part["text"] for part in result["content"]] == [digest, digest]


def test_request_whose_number_is_no_id_to_the_server_is_answered_with_an_error(
    newer: str, tmp_path: Path
) -> None:
    started = in_front_of(newer, tmp_path / "data")
    errors = tmp_path / "stderr"
    with talking(started.command, *started.args, stderr=errors, env=started.env) as host:
        about = {"clientInfo": {"name": "a", "version": "1"}, "capabilities": {}}
        host.ask(1, "initialize", protocolVersion="2025-11-25", **about)
        host.say(b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}')
        assert host.leave() == 0
        answer = json.loads(host.hear())
    error = {"code": -32603, "message": "what the server answered with is no answer"}
    assert answer == {"jsonrpc": "2.0", "id": 1.5, "error": error}


def test_server_that_wants_no_slash_behind_its_address_is_reached_with_one(
    newer: str, tmp_path: Path
) -> None:
    started = in_front_of(f"{newer}/", tmp_path / "data")
    errors = tmp_path / "stderr"
    with talking(started.command, *started.args, stderr=errors, env=started.env) as host:
        about = {"clientInfo": {"name": "a", "version": "1"}, "capabilities": {}}
        host.ask(1, "initialize", protocolVersion="2025-11-25", **about)
        answer = json.loads(host.ask(2, "ping"))
        assert host.leave() == 0
    assert (answer, errors.read_text()) == ({"jsonrpc": "2.0", "id": 2, "result": {}}, "")


@pytest.mark.parametrize("transport", ["sse", "http"])
async def test_call_that_ends_the_server_is_answered_with_an_error(
    transport: str, tmp_path: Path
) -> None:
    with serving_mcp(transport) as url:
        async with Client(in_front_of(url, tmp_path / "data"), mode="legacy") as host:
            for _ in range(2):
                with pytest.raises(MCPError, match=r"the server (has ended|cannot be reached)"):
                    await host.call_tool("give_up")


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_host_works_on_with_a_server_that_was_started_again(
    transport: str, tmp_path: Path
) -> None:
    with ExitStack() as running:
        url = running.enter_context(serving_mcp(transport))
        async with Client(in_front_of(url, tmp_path / "data"), mode="legacy") as host:
            before = texts(await host.call_tool("process"))
            running.close()
            running.enter_context(serving_mcp(transport, httpx.URL(url).port or 0))
            after: list[list[str]] = []

            async def call() -> None:
                after.append(texts(await host.call_tool("process")))

            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(call)
    assert after == [after[0]] * 3
    assert after[0] != before


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--upstream", "ftp://x"), "--upstream: has to be as in https://example.com/mcp"),
        (("--upstream", "http://["), "--upstream: has to be as in https://example.com/mcp"),
        (("--upstream", "http://a:99999"), "--upstream: has to be as in https://example.com/mcp"),
        (("--upstream", "http://x/\udcff"), "--upstream: has to be as in https://example.com/mcp"),
        (("--header", "A"), "--header: has to be NAME: VALUE"),
        (("--header", "Ünï: x"), "--header: its name may have letters"),
        (("--header", "A b: x"), "--header: its name may have letters"),
        (("--header", "A: ü"), "--header: its value may have the printable"),
        (("--header", "A: b\nc"), "--header: its value may have the printable"),
    ],
    ids=lambda item: item[1] if isinstance(item, tuple) else "",
)
def test_address_or_header_that_cannot_be_sent_is_refused(
    pagefault: LoadedCommand, options: tuple[str, ...], complaint: str
) -> None:
    server = ("--upstream", "http://127.0.0.1:9/mcp")
    done = pagefault.run("proxy", "--session", "s", *server, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr


def test_one_server_has_to_be_named(tmp_path: Path) -> None:
    for options in ([], ["--upstream", "http://127.0.0.1:1/mcp", "--", "some-server"]):
        done = run_command("proxy", "--session", "s", "--data-dir", str(tmp_path), *options)
        assert done.returncode == 2
        assert "name a server" in done.stderr
