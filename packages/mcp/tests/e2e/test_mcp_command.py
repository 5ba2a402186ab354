"""`pagefault mcp`: the memory over pipes, for a host that starts its servers itself."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.subscriptions import ResourceUpdated

from app.config.settings import Settings
from app.wiring.stores import open_access
from tests.kit.loaded_command import LoadedCommand
from tests.kit.process import WAIT_SECONDS, PagefaultProcess, environment, program
from tests.kit.servers import LiveService, serving

NOTES = "pagefault://pages/notes"
OLDER = pytest.mark.filterwarnings("ignore:.*:mcp.MCPDeprecationWarning")
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


def started(data_dir: Path, *options: str) -> StdioServerParameters:
    python, *forked = program()
    return StdioServerParameters(
        command=python,
        args=[*forked, "mcp", "--data-dir", str(data_dir), *options],
        env=environment(),
    )


@pytest.mark.anyio
@MODES
async def test_what_one_host_saves_another_one_finds(tmp_path: Path, mode: Any) -> None:  # noqa: ANN401
    data_dir = tmp_path / "data"
    async with Client(started(data_dir, "--session", "demo"), mode=mode) as client:
        saved = await client.call_tool("save_page", {"content": "Ten sheep.", "caption": "flock"})
        assert not saved.is_error
    async with Client(started(data_dir), mode=mode) as client:
        found = await client.call_tool("search_pages", {"query": "sheep", "session": "other"})
        (page,) = (await client.list_resources()).resources
    assert page.name in str(found.content)
    assert page.title == "flock"


def test_session_that_cannot_be_one_is_refused(tmp_path: Path, pagefault: LoadedCommand) -> None:
    for options in (["--data-dir", str(tmp_path)], ["--url", "http://127.0.0.1:9"]):
        done = pagefault.run("mcp", *options, "--session", "no name")
        assert done.returncode == 2
        assert "is not a session id" in done.stderr
        assert "128 of A-Z a-z 0-9 . _ : -" in " ".join(done.stderr.replace("│", " ").split())


INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "host", "version": "1"},
}
NO_MESSAGE = "This is no message of JSON-RPC: one object with jsonrpc, id, method and params."


def test_every_line_of_a_host_has_its_answer(tmp_path: Path) -> None:
    with subprocess.Popen(  # noqa: S603 - our own command
        [*program(), "mcp", "--data-dir", str(tmp_path / "data")],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def ask(line: str) -> Any:  # noqa: ANN401 - JSON
            stdin.write(f"{line}\n")
            stdin.flush()
            return json.loads(stdout.readline())

        def words(arguments: str) -> str:
            called = f'{{"name": "page_fault", "arguments": {arguments}}}'
            answer = ask(
                f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {called}}}'
            )
            assert answer["id"] == 1
            assert answer["result"]["isError"] is True
            return str(answer["result"]["content"][0]["text"])

        no_json = {"code": -32700, "message": "The message is not JSON (line 1, column 1)."}
        assert ask("no JSON") == {"jsonrpc": "2.0", "id": None, "error": no_json}
        initialize = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}
        assert ask(json.dumps(initialize))["id"] == 0
        # The first two lines have no answer.
        notification = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'
        no_message = ask(f'\n{notification}\n{{"jsonrpc": "2.0", "id": 2}}')
        refused = {"code": -32600, "message": NO_MESSAGE}
        assert no_message == {"jsonrpc": "2.0", "id": 2, "error": refused}
        long = ask(json.dumps({"jsonrpc": "2.0", "id": 3, "method": "m" * 100_000}))
        refused = {
            "code": -32600,
            "message": "The method of a message has 128 characters at most.",
        }
        assert long == {"jsonrpc": "2.0", "id": 3, "error": refused}
        method = "\\ud800" + "m" * 100_000
        assert ask(f'{{"jsonrpc": "2.0", "id": 4, "method": "{method}"}}') == long | {"id": 4}
        # A response of the host has no answer, even if its text was repaired.
        response = '{"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "\\ud800"}}'
        ping = ask(f'{response}\n{{"jsonrpc": "2.0", "id": 6, "method": "ping"}}')
        assert ping == {"jsonrpc": "2.0", "id": 6, "result": {}}
        assert words('{"page_id": "\\ud800"}').startswith('"\ufffd" is no page id.')
        assert words('{"page_id": 1e999}') == (
            "The call was not run: a number in its arguments is too large for JSON, such as 1e999."
        )
        stdin.close()
        assert process.wait(WAIT_SECONDS) == 0


class NotificationLog:
    """The notifications of a client in the older revisions: each with its method and its URI."""

    def __init__(self) -> None:
        self._notifications: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    async def take(self, message: Any) -> None:  # noqa: ANN401 - as the SDK calls it
        self._notifications.put_nowait((message.method, getattr(message.params, "uri", "")))

    async def next(self) -> tuple[str, str]:
        with anyio.fail_after(WAIT_SECONDS):
            return await self._notifications.get()


UPDATED, LISTED = "notifications/resources/updated", "notifications/resources/list_changed"


@OLDER
@pytest.mark.anyio
async def test_older_clients_are_told_what_another_process_changes_in_their_project(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / "data"
    here, there = NotificationLog(), NotificationLog()
    with PagefaultProcess(data_dir) as served, served.client() as http:
        put = {"modality": "text", "content": "Ten sheep."}
        http.put("/api/pages/notes", json=put).raise_for_status()
        async with (
            Client(started(data_dir), mode="legacy", message_handler=here.take) as client,
            Client(
                started(data_dir, "--project", "other"), mode="legacy", message_handler=there.take
            ) as other,
        ):
            resources = client.server_capabilities.resources
            assert resources is not None
            assert (resources.subscribe, resources.list_changed) == (True, True)
            for item in (client, other):
                await item.subscribe_resource(f"{NOTES}?level=2")
                await item.subscribe_resource(NOTES)
            with pytest.raises(MCPError, match="begin with pagefault://"):
                await client.subscribe_resource("file:///etc/passwd")
            http.put("/api/pages/notes", json={**put, "content": "Nine."}).raise_for_status()
            notifications = {await here.next(), await here.next()}
            assert notifications == {(UPDATED, NOTES), (UPDATED, f"{NOTES}?level=2")}
            await client.unsubscribe_resource(NOTES)
            await client.unsubscribe_resource(f"{NOTES}?level=2")
            http.put("/api/pages/notes", json={**put, "content": "Eight."}).raise_for_status()
            http.put("/api/pages/more", json=put).raise_for_status()
            assert await here.next() == (LISTED, "")
            http.post("/api/resources", content=b"Eleven.").raise_for_status()
            assert await here.next() == (LISTED, "")
            await other.call_tool("save_page", {"content": "Of another project.", "session": "s"})
            assert await there.next() == (LISTED, "")


class TestRunningService:
    pytestmark = pytest.mark.engines("embedded")

    @pytest.fixture
    def far(self, settings: Settings) -> Iterator[LiveService]:
        """A service that asks for a key."""
        with serving(settings) as service:
            yield service

    @pytest.fixture
    def key(self, far: LiveService) -> str:
        return far.new_key()

    def bridged(self, far: LiveService, key: str, *options: str) -> StdioServerParameters:
        python, *forked = program()
        return StdioServerParameters(
            command=python,
            args=[*forked, "mcp", "--url", far.base_url, "--session", "demo", *options],
            env=environment({"PAGEFAULT_API_KEY": key}),
        )

    @pytest.mark.anyio
    @MODES
    async def test_memory_of_a_running_service_is_offered(
        self,
        far: LiveService,
        key: str,
        mode: Any,  # noqa: ANN401
    ) -> None:
        async with Client(self.bridged(far, key), mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            saved = await client.call_tool("save_page", {"content": "Ten sheep."})
            (page,) = (await client.list_resources()).resources
            read = await client.read_resource(page.uri)
        assert "page_fault" in names
        assert not saved.is_error
        assert "Ten sheep." in str(read.contents)
        header = ("--header", f"Authorization: Bearer {key}")
        async with Client(self.bridged(far, "pf_wrong", *header), mode=mode) as client:
            assert len((await client.list_resources()).resources) == 1
        with far.client(key) as http:
            assert [item["id"] for item in http.get("/api/sessions").json()["items"]] == ["demo"]

    @pytest.mark.anyio
    async def test_subscription_reaches_the_host_and_ends_with_its_key(
        self, far: LiveService, key: str
    ) -> None:
        with far.client(key) as http:
            async with (
                Client(self.bridged(far, key)) as client,
                client.listen(resource_subscriptions=[f"{NOTES}?level=2"]) as subscription,
            ):
                page = {"modality": "text", "content": "Ten sheep."}
                http.put("/api/pages/notes", json=page).raise_for_status()
                with anyio.fail_after(WAIT_SECONDS):
                    assert await anext(subscription) == ResourceUpdated(f"{NOTES}?level=2")
                async with open_access(far.settings) as access:
                    assert await access.revoke_key(key.split("_")[1])
                with anyio.fail_after(WAIT_SECONDS):
                    assert [event async for event in subscription] == []

    @OLDER
    @pytest.mark.anyio
    async def test_older_clients_are_not_promised_what_no_connection_remembers(
        self, far: LiveService, key: str
    ) -> None:
        async with Client(self.bridged(far, key), mode="legacy") as client:
            resources = client.server_capabilities.resources
            assert resources is not None
            assert (resources.subscribe, resources.list_changed) == (False, False)
            with pytest.raises(MCPError, match="Method not found"):
                await client.subscribe_resource(NOTES)
        with far.client(key) as http:
            opened = http.get("/mcp", headers={"Accept": "text/event-stream"})
        assert (opened.status_code, opened.headers["allow"]) == (405, "POST")

    def test_service_that_cannot_be_used_is_reported(
        self, far: LiveService, key: str, pagefault: LoadedCommand
    ) -> None:
        def error_of(url: str, *options: str, **env: str) -> str:
            done = pagefault.run("mcp", "--url", url, *options, env=env)
            assert (done.returncode, done.stdout) == (2, "")
            return done.stderr

        nowhere = error_of("http://u:secret@127.0.0.1:9")
        assert "http://127.0.0.1:9/mcp cannot be reached: the connection was refused\n" in nowhere
        assert "secret" not in nowhere
        assert f"{far.base_url}/mcp asks for a key. Set PAGEFAULT_API_KEY" in error_of(far.base_url)
        wrong = error_of(far.base_url, PAGEFAULT_API_KEY=f"{key}x")
        assert f"{far.base_url}/mcp refuses the key" in wrong
        assert key not in wrong
        assert "answered 404" in error_of(f"{far.base_url}/api/nothing", PAGEFAULT_API_KEY=key)
        odd = error_of(f"{far.base_url}/mcp?sesion=a", PAGEFAULT_API_KEY=key)
        assert (
            f"{far.base_url}/mcp answered 422: The address has parameters that are not taken" in odd
        )
        for url in ("127.0.0.1:8000", "file:///mcp", "http://", "http://xn--.a"):
            assert "http://127.0.0.1:8000" in error_of(url)
        wrong = error_of(far.base_url, "--project", "p")
        assert "--project: cannot be combined with --url" in wrong
        line_end = error_of(far.base_url, "--header", f"Authorization: Bearer {key}\nA: b")
        assert "--header: its value may have the printable" in line_end
        assert key not in line_end
