"""Pydantic AI's toolsets, down to what its model gets."""

import dataclasses
import datetime
from collections.abc import Callable

import pytest
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    BinaryContent,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolset,
    ImageUrl,
    RunContext,
    ToolDenied,
    ToolReturn,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import AbstractToolset

from clients.python.tests.rendered import lines_of
from clients.python.tests.servers import CuttingProxy
from pagefault_client import AsyncPagefault, NotFoundError, Session
from pagefault_client.adapters.pydantic_ai import (
    PagefaultMessageHistory,
    RememberingToolset,
    memory_tools,
)

pytestmark = pytest.mark.anyio

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


async def test_model_gets_the_picture_and_the_session_the_result(
    url: str, session: Session, png: bytes
) -> None:
    def shot(address: str) -> list[object]:
        """Take a picture of a page."""
        return [address, BinaryContent(png, media_type="image/png")]

    received: list[ToolReturnPart] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        received.extend(
            part
            for message in messages
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        )
        if received:
            return ModelResponse([TextPart("A shop.")])
        return ModelResponse([ToolCallPart("shot", {"address": "x"}, "call_1")])

    async with AsyncPagefault(url) as client:
        toolset = RememberingToolset(FunctionToolset([shot]), client.session(session.id))
        done = await Agent(FunctionModel(answer), toolsets=[toolset]).run("What is it?")
    _, entry = session.messages()
    assert entry["entry"] == "tool_result"
    assert (done.output, entry["name"], entry["toolCallId"]) == ("A shop.", "shot", "call_1")
    (part,) = received
    assert isinstance(part.content, list)
    assert [type(item) for item in part.content] == [str, BinaryContent, str]
    assert part.content[1].data == png
    assert f"@{entry['sanitized']['resources'][0]['uri']}" in part.content[2]
    assert part.metadata == entry["sanitized"]


@pytest.mark.parametrize("own", [{"mine": 1}, ["mine"]])
async def test_metadata_of_the_tool_is_kept(url: str, session: Session, own: object) -> None:
    def shot(address: str) -> ToolReturn:
        """Take a picture of a page."""
        return ToolReturn(return_value=address, metadata=own)

    received: list[ToolReturnPart] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        received.extend(part for part in parts if isinstance(part, ToolReturnPart))
        return ModelResponse(
            [TextPart("A shop.") if received else ToolCallPart("shot", {"address": "x"}, "call_1")]
        )

    async with AsyncPagefault(url) as client:
        toolset = RememberingToolset(FunctionToolset([shot]), client.session(session.id))
        await Agent(FunctionModel(answer), toolsets=[toolset]).run("What is it?")
    _, entry = session.messages()
    assert entry["entry"] == "tool_result"
    record = {"pagefault": entry["sanitized"]}
    assert [part.metadata for part in received] == [
        {**own, **record} if isinstance(own, dict) else own
    ]


async def parts_read(
    toolset: AbstractToolset[None], *, calls: int = 1, between: Callable[[], None] = lambda: None
) -> list[ToolReturnPart | UserPromptPart]:
    """Run an agent that calls `shot`, and return what its model gets of the results."""
    received: list[ModelMessage] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        made = sum(isinstance(message, ModelResponse) for message in messages)
        if made == calls:
            received.extend(messages)
            return ModelResponse([TextPart("A shop.")])
        if made:
            between()
        return ModelResponse([ToolCallPart("shot", {"address": "x"}, f"call_{made}")])

    await Agent(FunctionModel(answer), toolsets=[toolset]).run("What is it?")
    parts = [part for item in received if isinstance(item, ModelRequest) for part in item.parts]
    prompt_parts = [part for part in parts if isinstance(part, ToolReturnPart | UserPromptPart)]
    return [dataclasses.replace(part, timestamp=START) for part in prompt_parts[1:]]


def toolset_of(value: object) -> FunctionToolset[None]:
    def shot(address: str) -> object:
        """Take a picture of a page."""
        return value

    return FunctionToolset([shot])


def values(png: bytes) -> list[object]:
    """Return results of every kind that Pydantic AI makes something of."""
    picture = BinaryContent(png, media_type="image/png")
    return [
        *("A shop.", None, {"url": "x", "count": 1}, picture, ["A shop.", picture]),
        ToolReturn(return_value="A shop.", content=["Look:", picture], metadata={"mine": 1}),
    ]


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "An agent of Pydantic AI gets the tool's own result if it cannot be stored",
    kept_by="clients/python/src/pagefault_client/adapters/pydantic_ai.py",
    tried="12 outages: down, silent, cut, 401, 413, 500, 503, other answers",
)
async def test_model_reads_the_result_of_the_tool_if_it_could_not_be_stored(
    outage: str, png: bytes
) -> None:
    async with AsyncPagefault(outage, timeout=0.05, max_retries=0) as client:
        for value in values(png):
            alone = await parts_read(toolset_of(value))
            received = await parts_read(RememberingToolset(toolset_of(value), client.session("s")))
            assert received == alone


async def test_model_reads_the_result_of_the_tool_if_the_service_dies(
    proxy: CuttingProxy, session: Session, png: bytes
) -> None:
    value = ["A shop.", BinaryContent(png, media_type="image/png")]
    *_, alone = await parts_read(toolset_of(value), calls=2)
    async with AsyncPagefault(proxy.url, timeout=5, max_retries=0) as client:
        toolset = RememberingToolset(toolset_of(value), client.session(session.id))
        first, *_, second = await parts_read(toolset, calls=2, between=proxy.close)
    assert "@blob:" in str(first)
    assert (second, len(session.messages().all())) == (alone, 2)


async def test_media_that_are_elsewhere_reach_the_model_as_the_tool_names_them(
    url: str, session: Session
) -> None:
    image = ImageUrl(url="https://shop.example/shop.png")
    async with AsyncPagefault(url) as client:
        for value in (image, ["A shop.", image], ToolReturn(return_value={"shot": image})):
            (alone,) = await parts_read(toolset_of(value))
            toolset = RememberingToolset(toolset_of(value), client.session(session.id))
            (received,) = await parts_read(toolset)
            assert isinstance(received, ToolReturnPart)
            assert received.metadata is not None
            assert dataclasses.replace(received, metadata=None) == alone
            session.delete()


@pytest.mark.parametrize("asks", [ApprovalRequired, CallDeferred])
async def test_a_tool_that_waits_for_somebody_has_not_failed(
    url: str, session: Session, asks: type[Exception]
) -> None:
    def send(address: str) -> str:
        """Send something."""
        raise asks

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([ToolCallPart("send", {"address": "x"}, "call_1")])

    async with AsyncPagefault(url) as client:
        toolset = RememberingToolset(FunctionToolset([send]), client.session(session.id))
        kinds = [str, DeferredToolRequests]
        done = await Agent(FunctionModel(answer), toolsets=[toolset], output_type=kinds).run("?")
    assert isinstance(done.output, DeferredToolRequests)
    assert len([*done.output.approvals, *done.output.calls]) == 1
    with pytest.raises(NotFoundError, match="no such session"):
        session.get()


def scripted_model(*answers: list[ModelResponsePart]) -> FunctionModel:
    """A model whose answers are known before."""
    left = iter(answers)
    return FunctionModel(lambda messages, info: ModelResponse(next(left)))


def clock(zone: str) -> str:
    """Tell the time."""
    return f"ten in {zone}"


NO_ARGUMENTS = {"session": None, "kind": None}


async def test_calls_are_stored_with_their_arguments(url: str, session: Session) -> None:
    calls: list[ModelResponsePart] = [
        ToolCallPart("clock", {"zone": "UTC"}, "call_1"),
        ToolCallPart("list_media", NO_ARGUMENTS, "call_2"),
    ]
    async with AsyncPagefault(url) as client:
        kept = client.session(session.id)
        toolset = RememberingToolset(FunctionToolset([clock]), kept)
        model = scripted_model(calls, [TextPart("It is ten.")])
        await Agent(model, toolsets=[toolset], tools=await memory_tools(kept)).run("What time?")
    assert sorted(lines_of(session)) == [
        'call_1: clock{"zone":"UTC"}',
        "call_1: ten in UTC",
        "call_2: There are no stored media.",
        'call_2: list_media{"session":null,"kind":null}',
    ]


async def test_next_run_begins_with_what_was_said(url: str, session: Session) -> None:
    model = scripted_model(
        [TextPart("Let me see."), ToolCallPart("clock", {"zone": "UTC"}, "call_1")],
        [ToolCallPart("list_media", NO_ARGUMENTS, "call_2")],
        [TextPart("It is ten.")],
        [TextPart("Yes.")],
    )
    async with AsyncPagefault(url) as client:
        history = PagefaultMessageHistory(client.session(session.id))
        toolset = RememberingToolset(FunctionToolset([clock]), history)
        tools = await memory_tools(history)
        agent = Agent(model, toolsets=[toolset], tools=tools, instructions="Be brief.")
        first = await agent.run("What time?", message_history=await history.messages())
        await history.add(first.new_messages())
        second = await agent.run("Sure?", message_history=await history.messages())
        await history.add(second.all_messages())
    assert [message.kind for message in second.all_messages()] == [
        *("request", "response", "request", "response", "request", "response"),
        *("request", "response"),
    ]
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


async def test_what_was_said_is_stored_before_a_tool_runs(url: str, session: Session) -> None:
    stored: list[str | None] = []

    def look() -> str:
        """Look at the history."""
        stored.extend(line["title"] for line in session.outline())
        return "seen"

    async with AsyncPagefault(url) as client:
        history = PagefaultMessageHistory(client.session(session.id))
        toolset = RememberingToolset(FunctionToolset([look]), history)
        calls: list[ModelResponsePart] = [TextPart("I look."), ToolCallPart("look", {}, "call_1")]
        model = scripted_model(calls, [TextPart("Seen.")])
        await Agent(model, toolsets=[toolset]).run("Look.")
    assert stored == ["Look.", "I look."]


async def test_approved_and_denied_calls_keep_their_last_outcome(
    url: str, session: Session
) -> None:
    def send(ctx: RunContext[None], text: str) -> str:
        """Send something."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return f"sent {text}"

    model = scripted_model(
        [
            ToolCallPart("send", {"text": "x"}, "call_1"),
            ToolCallPart("send", {"text": "y"}, "call_2"),
        ],
        [TextPart("One was sent.")],
    )
    decisions = DeferredToolResults(approvals={"call_1": True, "call_2": ToolDenied("Not y.")})
    async with AsyncPagefault(url) as client:
        history = PagefaultMessageHistory(client.session(session.id))
        toolset = RememberingToolset(FunctionToolset([send]), history)
        agent = Agent(model, toolsets=[toolset], output_type=[str, DeferredToolRequests])
        asked = await agent.run("Send x and y.")
        await history.add(asked.new_messages())
        stored = await history.messages()
        done = await agent.run(message_history=stored, deferred_tool_results=decisions)
        await history.add(done.new_messages())
    assert lines_of(session) == [
        "user: Send x and y.",
        'call_1: send{"text":"x"}',
        'call_2: send{"text":"y"}',
        "call_1: sent x",
        "call_2: [The tool reported an error.]",
        "assistant: One was sent.",
    ]


async def test_tool_of_a_history_returns_its_result_if_the_service_is_away(
    proxy: CuttingProxy, session: Session
) -> None:
    (alone,) = await parts_read(toolset_of("A shop."))
    async with AsyncPagefault(proxy.url, timeout=5, max_retries=0) as client:
        proxy.close()
        history = PagefaultMessageHistory(client.session(session.id))
        assert await parts_read(RememberingToolset(toolset_of("A shop."), history)) == [alone]


async def test_history_is_rendered_within_a_budget_and_cleared(url: str, session: Session) -> None:
    async with AsyncPagefault(url) as client:
        history = PagefaultMessageHistory(client.session(session.id), max_tokens=2_000)
        assert await history.messages() == []
        said = [ModelRequest.user_text_prompt(f"{n} {'sheep ' * 500}") for n in range(9)]
        await history.add(said)
        assert len(str(await history.messages())) < 12_000
        await history.clear()
        assert await history.messages() == []
