"""A host hears through the proxy all that a real server says and asks, as it hears it directly.

All messages of the server are compared, with their ids, from the first to the last. The proxy is
tried between two pipes, and as a server of Streamable HTTP.
"""

import base64
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters, types
from pydantic import BaseModel, ValidationError

from packages.mcp.tests.e2e.test_proxy_listen import listening
from peers.hosts import Heard, Json, Place, host_of, without_own_tools
from peers.servers import FOLDER, servers
from tests.kit import media
from tests.kit.process import ROOT, WAIT_SECONDS, environment, program
from tests.kit.servers import with_a_database

pytestmark = [
    pytest.mark.anyio,
    # The server supports revisions with features that the newest one has dropped.
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

Ways: TypeAlias = Mapping[str, Place]
Work: TypeAlias = Callable[[Client, Heard], Awaitable[None]]

_DOCUMENT = "demo://resource/static/document/features.md"
_TEXT = "demo://resource/dynamic/text"
_LOGGED = "notifications/message"
_PICTURE = base64.b64encode(media.png()).decode()


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    """The addresses of the server with the whole protocol: alone, and behind proxies."""
    folder = tmp_path_factory.mktemp("ways")
    data = with_a_database(folder / "piped")
    fixed = f"--import={(FOLDER / 'fixed.mjs').as_uri()}"
    server = servers(folder)["everything"].command
    proxy = [*program(), "proxy", "--session", "demo", "--data-dir", str(data), "--", *server]

    def started(command: str, *arguments: str) -> StdioServerParameters:
        env = environment({"NODE_OPTIONS": fixed})
        return StdioServerParameters(command=command, args=[*arguments], env=env, cwd=ROOT)

    with listening(folder, "--", *server, NODE_OPTIONS=fixed) as running:
        yield {"directly": started(*server), "piped": started(*proxy), "listening": running.url}
        # A server whose task is kept goes on after its host has left, until it is ended.
        running.process.terminate()
        running.process.wait(WAIT_SECONDS)


async def heard_on(
    ways: Ways, work: Work, answers: Mapping[str, Sequence[BaseModel]]
) -> Mapping[str, list[Json]]:
    """Return the received messages of a host on each way."""
    heard: dict[str, list[Json]] = {}
    is_complete = anyio.Event()

    async def hear(name: str) -> None:
        async with host_of(ways[name], answers) as (host, said):
            await work(host, said)
            await host.session.send_ping()
            heard[name] = said.messages
            if name == "directly":
                is_complete.set()
            # Messages of another stream may come after the last answer.
            await is_complete.wait()
            await said.until(lambda messages: len(messages) >= len(heard["directly"]))

    async with anyio.create_task_group() as group:
        for name in ways:
            group.start_soon(hear, name)
    return {name: without_own_tools(value) for name, value in heard.items()}


async def heard_alike(ways: Ways, work: Work, **answers: Sequence[BaseModel]) -> list[Json]:
    """Check that a host receives the same messages on each way; return them."""
    heard = await heard_on(ways, work, answers)
    assert heard["piped"] == heard["directly"]
    assert by_stream(heard["listening"]) == by_stream(heard["directly"])
    return heard["directly"]


def by_stream(messages: list[Json]) -> list[Json]:
    """Sort messages by their kind, since they come on several streams over HTTP."""

    def kind(message: Json) -> str:
        # Progress comes on the stream of the answer, and before it.
        return str(message.get("method", "")).removeprefix("notifications/progress")

    return sorted(messages, key=kind)


def told(messages: list[Json], method: str) -> list[Any]:
    """Return what came with a method, each time."""
    return [message.get("params") for message in messages if message.get("method") == method]


def texts(messages: list[Json]) -> list[str]:
    """Return the texts of all results of tools."""
    results = [message.get("result", {}) for message in messages]
    return [block["text"] for result in results for block in result.get("content", ())]


def last_results(messages: list[Json], many: int) -> list[Any]:
    """Return the last results and errors before that of the ping."""
    answers = [message for message in messages if "method" not in message]
    return [answer.get("result", answer.get("error")) for answer in answers[-many - 1 : -1]]


def sampled(content: types.TextContent | types.ImageContent) -> types.CreateMessageResult:
    return types.CreateMessageResult(role="assistant", content=content, model="a model")


async def test_model_of_the_host_is_asked(ways: Ways) -> None:
    said = types.TextContent(type="text", text="Zehn Schafe, 十只羊")
    refusal = types.ErrorData(code=-1, message="a person has refused it", data={"by": [1.5]})

    async def work(host: Client, heard: Heard) -> None:
        for number in (1, 2):
            query = {"prompt": "How many?", "maxTokens": number}
            await host.call_tool("trigger-sampling-request", query)

    heard = await heard_alike(ways, work, sampling_callback=[sampled(said), refusal])
    text = told(heard, "sampling/createMessage")
    assert [item["maxTokens"] for item in text] == [1, 2]
    answer, error = texts(heard)
    assert said.text in answer
    assert refusal.message in error


async def test_picture_of_the_hosts_model_reaches_the_server(ways: Ways) -> None:
    picture = types.ImageContent(type="image", mime_type="image/png", data=_PICTURE)

    async def work(host: Client, heard: Heard) -> None:
        await host.call_tool("trigger-sampling-request", {"prompt": "Draw it."})

    heard = await heard_on(ways, work, {"sampling_callback": [sampled(picture)]})
    (said,) = texts(heard["directly"])
    for name in ("piped", "listening"):
        # The result, which repeats the picture, is rendered.
        (shown,) = [item for item in heard[name] if "content" in item.get("result", ())]
        handle = shown["result"]["content"][-1]["text"].split()[1]
        content = [
            {"type": "text", "text": said.replace(_PICTURE, handle)},
            {"type": "image", "data": _PICTURE, "mimeType": "image/png"},
            {"type": "text", "text": f"[image {handle} 64\N{MULTIPLICATION SIGN}48]"},
        ]
        assert shown["result"] == {"content": content}
        others = [[item for item in heard[way] if item.get("id") != shown["id"]] for way in ways]
        assert [*map(by_stream, others)] == [by_stream(others[0])] * len(ways)


async def test_person_at_the_host_is_asked(ways: Ways) -> None:
    filled_in: dict[str, Any] = {"name": "Zoë 北京", "check": False, "integer": 42, "number": 1e-7}
    filled_in["untitledMultipleSelectEnum"] = ["Guitar", "Drums"]
    answers = [
        types.ElicitResult(action="accept", content=filled_in),
        types.ElicitResult(action="decline"),
        types.ElicitResult(action="cancel"),
    ]
    given = {"url": "https://example.com/pay?a=%20b", "elicitationId": "a payment"}

    async def work(host: Client, heard: Heard) -> None:
        for _ in answers:
            await host.call_tool("trigger-elicitation-request")
        for _ in answers:
            await host.call_tool("trigger-url-elicitation", given)
        with pytest.raises(MCPError):
            await host.call_tool("trigger-url-elicitation", {**given, "errorPath": True})

    heard = await heard_alike(ways, work, elicitation_callback=[*answers, *answers])
    text = told(heard, "elicitation/create")
    assert [item.get("url") for item in text] == [None] * 3 + [given["url"]] * 3
    assert "Zoë 北京" in texts(heard)[1]
    (error,) = last_results(heard, 1)
    assert error["data"]["elicitations"][0]["url"] == "https://modelcontextprotocol.io"


async def test_roots_of_the_host_are_asked_for_again_when_they_change(ways: Ways) -> None:
    before = [types.Root(uri="file:///a/b%20c", name="Zoë"), types.Root(uri="file:///d")]
    answers = [types.ListRootsResult(roots=before), types.ListRootsResult(roots=before[1:])]

    async def work(host: Client, heard: Heard) -> None:
        await heard.until(lambda messages: len(told(messages, _LOGGED)) == 1)
        await host.call_tool("get-roots-list")
        await host.send_roots_list_changed()
        await heard.until(lambda messages: len(told(messages, _LOGGED)) == 2)
        await host.call_tool("get-roots-list")

    heard = await heard_alike(ways, work, list_roots_callback=answers)
    listed = [text.count("URI: file://") for text in texts(heard)]
    assert (listed, len(told(heard, "roots/list"))) == ([2, 1], 2)


async def test_log_comes_from_the_level_that_the_host_has_set(ways: Ways) -> None:
    async def work(host: Client, heard: Heard) -> None:
        for level in ("debug", "error", "emergency"):
            await host.set_logging_level(level)
            # It logs an error at once, and more until a request stops it.
            for _ in ("start", "stop"):
                await host.call_tool("toggle-simulated-logging")

    heard = await heard_alike(ways, work)
    assert told(heard, _LOGGED) == [{"level": "error", "data": "Error-level message"}] * 2


async def test_progress_is_told_to_a_host_that_asks_for_it(ways: Ways) -> None:
    async def note(progress: float, total: float | None, message: str | None) -> None:
        pass

    async def work(host: Client, heard: Heard) -> None:
        given = {"duration": 0.1, "steps": 4}
        await host.call_tool("trigger-long-running-operation", given, progress_callback=note)
        await host.call_tool("trigger-long-running-operation", given)

    heard = await heard_alike(ways, work)
    progress = [(item["progress"], item["total"]) for item in told(heard, "notifications/progress")]
    assert progress == [(1, 4), (2, 4), (3, 4), (4, 4)]


async def test_call_that_the_host_has_cancelled_is_not_answered(ways: Ways) -> None:
    async def work(host: Client, heard: Heard) -> None:
        begun = anyio.Event()

        async def begin(progress: float, total: float | None, message: str | None) -> None:
            begun.set()

        run = partial(host.call_tool, "trigger-long-running-operation")
        async with anyio.create_task_group() as group:
            group.start_soon(partial(run, {"duration": 2, "steps": 4}, progress_callback=begin))
            await begun.wait()
            group.cancel_scope.cancel()
        # This one ends later.
        await run({"duration": 2, "steps": 1})

    heard = await heard_alike(ways, work)
    assert len(told(heard, "notifications/progress")) == 4
    assert texts(heard) == ["Long running operation completed. Duration: 2 seconds, Steps: 1."]


async def test_prompts_are_listed_and_filled_in(ways: Ways) -> None:
    async def work(host: Client, heard: Heard) -> None:
        await host.list_prompts()
        await host.get_prompt("simple-prompt")
        await host.get_prompt("args-prompt", {"city": "Köln"})
        for kind in ("Text", "Blob"):
            await host.get_prompt("resource-prompt", {"resourceType": kind, "resourceId": "3"})
        for name in ("args-prompt", "unknown"):
            with pytest.raises(MCPError):
                await host.get_prompt(name)
        await host.get_prompt("args-prompt", {"city": "Köln", "state": "北京"})

    (result,) = last_results(await heard_alike(ways, work), 1)
    (message,) = result["messages"]
    assert message["content"] == {"type": "text", "text": "What's weather in Köln, 北京?"}


async def test_resources_are_listed_and_read(ways: Ways) -> None:
    async def work(host: Client, heard: Heard) -> None:
        await host.list_resources()
        await host.list_resource_templates()
        for uri in (_DOCUMENT, f"{_TEXT}/1", "demo://resource/dynamic/blob/2"):
            await host.read_resource(uri)
        with pytest.raises(MCPError):
            await host.read_resource(f"{_TEXT}/none")
        await host.call_tool("gzip-file-as-resource", {"name": "a.gz", "data": "data:,said"})
        await host.list_resources()
        await host.read_resource("demo://resource/session/a.gz")

    heard = await heard_alike(ways, work)
    assert len(told(heard, "notifications/resources/list_changed")) == 1
    (result,) = last_results(heard, 1)
    assert [content["uri"] for content in result["contents"]] == ["demo://resource/session/a.gz"]


async def test_changes_are_told_of_resources_that_the_host_has_subscribed_to(ways: Ways) -> None:
    async def work(host: Client, heard: Heard) -> None:
        await host.subscribe_resource(_DOCUMENT)
        await host.subscribe_resource(f"{_TEXT}/1")
        # It notifies of both at once, and more until a request stops it.
        for _ in ("start", "stop"):
            await host.call_tool("toggle-subscriber-updates")
        await host.unsubscribe_resource(_DOCUMENT)
        for _ in ("start", "stop"):
            await host.call_tool("toggle-subscriber-updates")

    heard = await heard_alike(ways, work)
    changed = [resource["uri"] for resource in told(heard, "notifications/resources/updated")]
    assert changed == [_DOCUMENT, f"{_TEXT}/1", f"{_TEXT}/1"]


async def test_arguments_are_completed(ways: Ways) -> None:
    prompt = types.PromptReference(name="completable-prompt")
    template = types.ResourceTemplateReference(uri=f"{_TEXT}/{{resourceId}}")

    async def work(host: Client, heard: Heard) -> None:
        await host.complete(prompt, {"name": "department", "value": "S"})
        await host.complete(prompt, {"name": "name", "value": "E"}, {"department": "Sales"})
        await host.complete(template, {"name": "resourceId", "value": "7"})

    results = last_results(await heard_alike(ways, work), 3)
    values = [result["completion"]["values"] for result in results]
    assert values == [["Sales", "Support"], ["Eve"], ["7"]]


async def test_task_asks_the_person_at_the_host_before_its_result(ways: Ways) -> None:
    def request(method: str, **params: object) -> types.Request[Any, Any]:
        return types.Request[Json, str](method=method, params=params)

    async def work(host: Client, heard: Heard) -> None:
        given = {"topic": "python", "ambiguous": True}
        call = request("tools/call", name="simulate-research-query", arguments=given, task={})
        # The client takes nothing but a result of a tool, though it hears what the task is.
        with pytest.raises(ValidationError):
            await host.session.send_request(call, types.CreateTaskResult)
        (created,) = [message for message in heard.messages if "task" in message.get("result", ())]
        task_id = created["result"]["task"]["taskId"]
        for method in ("tasks/result", "tasks/get"):
            await host.session.send_request(request(method, taskId=task_id), types.Result)

    answer = types.ElicitResult(action="accept", content={"interpretation": "snake"})
    heard = await heard_alike(ways, work, elicitation_callback=[answer])
    (report,) = texts(heard)
    assert report.startswith("# Research Report: python (snake)")
