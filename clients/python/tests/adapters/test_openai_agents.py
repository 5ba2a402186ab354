"""The adapter for the OpenAI Agents SDK, with the requests that the SDK sends to the provider."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    OpenAIResponsesModel,
    RunConfig,
    RunContextWrapper,
    Runner,
    Tool,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
    function_tool,
)
from openai import AsyncOpenAI

from clients.python.tests.rendered import lines_of
from clients.python.tests.servers import CuttingProxy, Reply, Request, ScriptedService
from pagefault_client import AsyncPagefault, Session
from pagefault_client.adapters.openai_agents import PagefaultSession, memory_tools, remember

pytestmark = pytest.mark.anyio


def response(*output: dict[str, Any]) -> Reply:
    """Return a response of OpenAI."""
    return Reply(
        200,
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 0,
            "model": "stub",
            "output": list(output),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "status": "completed",
        },
        {"content-type": "application/json"},
    )


CALLED = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "shot",
    "arguments": '{"url": "https://shop.example"}',
    "status": "completed",
}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "A shop.", "annotations": []}],
}


async def outputs(provider: ScriptedService, tool: Tool) -> list[Any]:
    """Run an agent, and return the tool outputs that it sends to the provider."""
    model = OpenAIResponsesModel("stub", AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="stub"))
    agent = Agent(name="a", model=model, tools=[tool])
    done = await Runner.run(agent, "What is it?", run_config=RunConfig(tracing_disabled=True))
    assert done.final_output == "A shop."
    sent = json.loads(provider.requests[-1].body)["input"]
    return [item["output"] for item in sent if item.get("type") == "function_call_output"]


def describe_error(context: RunContextWrapper[Any], error: Exception) -> str:
    return f"It said {error}."


@pytest.mark.parametrize("failure", [None, describe_error])
async def test_an_error_is_stored_and_the_model_sees_what_the_sdk_makes_of_it(
    url: str,
    session: Session,
    scripted: Callable[..., ScriptedService],
    failure: Callable[[RunContextWrapper[Any], Exception], str] | None,
) -> None:
    def shot(url: str) -> str:
        """Take a picture of a page."""
        raise ValueError("no such page")

    tool = function_tool(shot, failure_error_function=failure) if failure else function_tool(shot)
    alone = await outputs(scripted(response(CALLED), response(SAID)), tool)
    async with AsyncPagefault(url) as client:
        provider = scripted(response(CALLED), response(SAID))
        stored_outputs = await outputs(provider, remember(tool, client.session(session.id)))
    _, entry = session.messages()
    assert entry["entry"] == "tool_result"
    assert (stored_outputs, entry["sanitized"]["meta"]["success"], entry["sanitized"]["parts"]) == (
        *(alone, False),
        [{"type": "text", "text": "ValueError: no such page"}],
    )
    assert failure is None or stored_outputs == ["It said no such page."]


async def test_an_error_that_ends_the_run_is_stored(
    url: str, session: Session, scripted: Callable[..., ScriptedService]
) -> None:
    @function_tool(failure_error_function=None)
    def shot(url: str) -> str:
        """Take a picture of a page."""
        raise ValueError("no such page")

    async with AsyncPagefault(url) as client:
        remembered = remember(shot, client.session(session.id))
        with pytest.raises(Exception, match="no such page"):
            await outputs(scripted(response(CALLED), response(SAID)), remembered)
    _, entry = session.messages()
    assert entry["entry"] == "tool_result"
    assert entry["sanitized"]["meta"]["success"] is False


async def test_model_gets_the_picture_and_the_session_the_result(
    url: str, session: Session, png: bytes, scripted: Callable[..., ScriptedService]
) -> None:
    provider = scripted(response(CALLED), response(SAID))

    def shot(url: str) -> dict[str, object]:
        """Take a picture of a page."""
        return {"url": url, "image": png}

    async with AsyncPagefault(url) as client:
        remembered = remember(shot, client.session(session.id))
        (output,) = await outputs(provider, remembered)
    _, entry = session.messages()
    assert entry["entry"] == "tool_result"
    handle = f"@{entry['sanitized']['resources'][0]['uri']}"
    assert (entry["name"], entry["toolCallId"]) == ("shot", "call_1")
    assert [block["type"] for block in output] == ["input_text", "input_image", "input_text"]
    assert output[0]["text"] == f'{{"url":"https://shop.example","image":"{handle}"}}'
    assert output[1]["image_url"].startswith("data:image/png;base64,")
    assert handle in output[2]["text"]


def values(png: bytes) -> dict[str, object]:
    """Return results of every kind that the SDK makes something of."""
    uri = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    image = ToolOutputImage(image_url=uri, detail="low")
    return {
        "text": "A shop.",
        "nothing": None,
        "object": {"url": "https://shop.example", "image": png},
        "list of values": ["A shop.", {"type": "image", "data": uri}],
        "image": image,
        "blocks": [
            ToolOutputText(text="A shop."),
            image,
            ToolOutputFileContent(file_data=uri, filename="shop.png"),
        ],
        "blocks as dicts": [{"type": "image", "image_url": uri}, {"type": "text", "text": "A"}],
    }


def tool_of(value: object) -> FunctionTool:
    def shot(url: str) -> object:
        """Take a picture of a page."""
        return value

    return function_tool(shot)


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "An agent of the OpenAI Agents SDK gets the tool's own result if it cannot be stored",
    kept_by="clients/python/src/pagefault_client/adapters/openai_agents.py",
    tried="12 outages: down, silent, cut, 401, 413, 500, 503, other answers",
)
async def test_model_reads_the_result_of_the_tool_if_it_could_not_be_stored(
    outage: str, png: bytes, scripted: Callable[..., ScriptedService]
) -> None:
    async with AsyncPagefault(outage, timeout=0.05, max_retries=0) as client:
        for name, value in values(png).items():
            tool = tool_of(value)
            alone = await outputs(scripted(response(CALLED), response(SAID)), tool)
            provider = scripted(response(CALLED), response(SAID))
            stored_outputs = await outputs(provider, remember(tool, client.session("s")))
            assert (name, stored_outputs) == (name, alone)


async def test_files_of_the_provider_reach_the_model_as_the_tool_names_them(
    url: str, session: Session, scripted: Callable[..., ScriptedService]
) -> None:
    image = ToolOutputImage(file_id="file-123", detail="low")
    file = {"type": "file", "file_id": "file-124"}
    async with AsyncPagefault(url) as client:
        for value in (image, [ToolOutputText(text="A shop."), image], [file]):
            tool = tool_of(value)
            alone = await outputs(scripted(response(CALLED), response(SAID)), tool)
            provider = scripted(response(CALLED), response(SAID))
            assert await outputs(provider, remember(tool, client.session(session.id))) == alone
            assert len(session.messages().all()) == 2
            session.delete()


async def test_model_reads_the_result_of_the_tool_if_the_service_dies(
    proxy: CuttingProxy, session: Session, png: bytes, scripted: Callable[..., ScriptedService]
) -> None:
    def dies(_: Request) -> Reply:
        proxy.close()
        return response({**CALLED, "id": "fc_2", "call_id": "call_2"})

    tool = tool_of(values(png)["blocks"])
    (alone,) = await outputs(scripted(response(CALLED), response(SAID)), tool)
    provider = scripted(response(CALLED), dies, response(SAID))
    async with AsyncPagefault(proxy.url, timeout=5, max_retries=0) as client:
        first, second = await outputs(provider, remember(tool, client.session(session.id)))
    assert "@blob:" in str(first)
    assert second == alone
    assert len(session.messages().all()) == 2


def say(text: str, identity: str = "msg_0") -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {**SAID, "id": identity, "content": content}


def call(name: str, identity: str, **arguments: object) -> dict[str, Any]:
    return {**CALLED, "call_id": identity, "name": name, "arguments": json.dumps(arguments)}


async def run(
    provider: ScriptedService,
    prompt: str,
    tools: list[Tool],
    session: PagefaultSession | None,
    hooks: PagefaultSession | None = None,
) -> list[Any]:
    """Run an agent, and return the input of the last request to the provider."""
    model = OpenAIResponsesModel("stub", AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="stub"))
    agent = Agent(name="a", model=model, tools=tools)
    config = RunConfig(tracing_disabled=True)
    await Runner.run(agent, prompt, session=session, hooks=hooks, run_config=config)
    sent: list[Any] = json.loads(provider.requests[-1].body)["input"]
    return sent


def clock(zone: str) -> str:
    """Tell the time."""
    return f"ten in {zone}"


async def test_calls_are_stored_with_their_arguments(
    url: str, session: Session, scripted: Callable[..., ScriptedService]
) -> None:
    calls = [
        call("clock", "call_1", zone="UTC"),
        call("list_media", "call_2", session=None, kind=None),
    ]
    async with AsyncPagefault(url) as client:
        kept = client.session(session.id)
        tools: list[Tool] = [remember(clock, kept), *await memory_tools(kept)]
        await run(scripted(response(*calls), response(SAID)), "What time?", tools, None)
    assert sorted(lines_of(session)) == [
        'call_1: clock{"zone":"UTC"}',
        "call_1: ten in UTC",
        "call_2: There are no stored media.",
        'call_2: list_media{"session":null,"kind":null}',
    ]


@pytest.mark.parametrize("has_hooks", [False, True])
async def test_next_run_of_a_session_begins_with_what_was_said(
    url: str, session: Session, scripted: Callable[..., ScriptedService], has_hooks: bool
) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}
    provider = scripted(
        response(thought, say("Let me see."), call("clock", "call_1", zone="UTC")),
        response(call("list_media", "call_2", session=None, kind=None)),
        response(say("It is ten.", "msg_1")),
        response(say("Yes.", "msg_2")),
    )
    async with AsyncPagefault(url) as client:
        kept = PagefaultSession(client.session(session.id))
        tools: list[Tool] = [remember(clock, kept), *await memory_tools(kept)]
        first = await run(provider, "What time?", tools, kept, kept if has_hooks else None)
        again = PagefaultSession(client.session(session.id))
        second = await run(provider, "Sure?", tools, again)
    assert [item.get("type") for item in second[:7]] == [item.get("type") for item in first]
    assert second[1]["encrypted_content"] == "abc"
    assert lines_of(session) == [
        "user: What time?",
        "assistant: Let me see.",
        'call_1: clock{"zone":"UTC"}',
        "call_1: ten in UTC",
        'call_2: list_media{"session":null,"kind":null}',
        "call_2: There are no stored media.",
        "assistant: It is ten.",
        "user: Sure?",
        "assistant: Yes.",
    ]


async def test_what_was_said_is_stored_before_a_tool_runs(
    url: str, session: Session, scripted: Callable[..., ScriptedService]
) -> None:
    stored: list[str | None] = []

    @function_tool
    def look() -> str:
        """Look at the history."""
        stored.extend(line["title"] for line in session.outline())
        return "seen"

    provider = scripted(response(say("I look."), call("look", "call_1")), response(SAID))
    async with AsyncPagefault(url) as client:
        kept = PagefaultSession(client.session(session.id))
        await run(provider, "Look.", [remember(look, kept)], kept, kept)
    assert stored[:2] == ["Look.", "I look."]
    assert lines_of(session) == [
        "user: Look.",
        "assistant: I look.",
        "call_1: look{}",
        "call_1: seen",
        "assistant: A shop.",
    ]


@pytest.mark.parametrize("has_hooks", [False, True])
async def test_approved_and_rejected_calls_keep_their_last_outcome(
    url: str, session: Session, scripted: Callable[..., ScriptedService], has_hooks: bool
) -> None:
    @function_tool(needs_approval=True)
    def send(text: str) -> str:
        """Send something."""
        return f"sent {text}"

    calls = [call("send", "call_1", text="x"), call("send", "call_2", text="y")]
    provider = scripted(response(say("I ask."), *calls), response(SAID))
    model = OpenAIResponsesModel("stub", AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="stub"))
    config = RunConfig(tracing_disabled=True)
    async with AsyncPagefault(url) as client:
        kept = PagefaultSession(client.session(session.id))
        hooks = kept if has_hooks else None
        agent = Agent(name="a", model=model, tools=[remember(send, kept)])
        asked = await Runner.run(agent, "Send.", session=kept, hooks=hooks, run_config=config)
        state = asked.to_state()
        state.approve(asked.interruptions[0])
        state.reject(asked.interruptions[1])
        await Runner.run(agent, state, session=kept, hooks=hooks, run_config=config)
    assert lines_of(session) == [
        "user: Send.",
        "assistant: I ask.",
        'call_1: send{"text":"x"}',
        'call_2: send{"text":"y"}',
        "call_1: sent x",
        "call_2: Tool execution was not approved.",
        "assistant: A shop.",
    ]


async def test_calls_that_are_numbered_anew_in_each_run_are_all_stored(
    url: str, session: Session, scripted: Callable[..., ScriptedService]
) -> None:
    runs = ["UTC", "CET", "CET"]
    provider = scripted(
        *(
            response(*output)
            for zone in runs
            for output in (
                [say(f"In {zone}?"), call("clock", "call_0", zone=zone)],
                [say(f"Ten in {zone}.")],
            )
        )
    )
    async with AsyncPagefault(url) as client:
        kept = PagefaultSession(client.session(session.id))
        for _ in runs:
            await run(provider, "What time?", [remember(clock, kept)], kept)
        unwrapped = scripted(response(call("clock", "call_0", zone="CET")), response(SAID))
        await run(unwrapped, "What time?", [function_tool(clock)], kept)
    answers = [line for line in lines_of(session) if line.startswith("call_")]
    assert answers == [
        'call_0: clock{"zone":"UTC"}',
        "call_0: ten in UTC",
        *(
            line
            for number in (2, 3, 4)
            for line in (f'call_0-{number}: clock{{"zone":"CET"}}', f"call_0-{number}: ten in CET")
        ),
    ]


async def test_session_is_rendered_within_a_budget_and_cleared(url: str, session: Session) -> None:
    async with AsyncPagefault(url) as client:
        kept = PagefaultSession(client.session(session.id), max_tokens=2_000)
        assert await kept.get_items() == []
        await kept.add_items(
            [{"role": "user", "content": f"{n} {'sheep ' * 500}"} for n in range(9)]
        )
        items = await kept.get_items()
        assert len(json.dumps(items)) < 12_000
        assert await kept.get_items(limit=1) == items[-1:]
        with pytest.raises(NotImplementedError, match="fork"):
            await kept.pop_item()
        await kept.clear_session()
        await kept.clear_session()
        assert await kept.get_items() == []


async def test_memory_tool_says_that_the_memory_is_away(
    url: str, session: Session, scripted: Callable[..., ScriptedService], proxy: CuttingProxy
) -> None:
    called = response(call("list_media", "call_1", session=None, kind=None))
    async with AsyncPagefault(proxy.url, timeout=5, max_retries=0) as client:
        tools = await memory_tools(client.session(session.id))
        proxy.close()
        sent = await run(scripted(called, response(SAID)), "What is stored?", [*tools], None)
    assert sent[-1]["output"].startswith("The memory is not available")
