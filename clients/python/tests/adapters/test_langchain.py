"""LangChain's tools, whose messages have content and an artifact."""

import base64
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import anyio
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware, after_model
from langchain.tools import ToolRuntime
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolOutputMixin
from langchain_core.tools import BaseTool, InjectedToolCallId, ToolException, tool
from langgraph.types import Command as GraphCommand

from clients.python.tests.rendered import lines_of
from clients.python.tests.servers import CuttingProxy
from pagefault_client import AsyncPagefault, Pagefault, Session
from pagefault_client.adapters.langchain import (
    PagefaultChatMessageHistory,
    memory_tools,
    remember,
)

Invoke: TypeAlias = Callable[[BaseTool, str], Any]


def call(identity: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": identity, "name": "shot", "args": {"address": "x"}}


def test_message_has_content_for_the_model_and_the_record(session: Session, png: bytes) -> None:
    def shot(address: str) -> dict[str, object]:
        """Take a picture of a page."""
        return {"address": address, "image": png}

    remembered = remember(shot, session)
    message = remembered.invoke(call("call_1"))
    _, entry = session.messages()
    assert entry["entry"] == "tool_result"
    handle = f"@{entry['sanitized']['resources'][0]['uri']}"
    assert isinstance(message, ToolMessage)
    assert (message.tool_call_id, message.artifact) == ("call_1", entry["sanitized"])
    assert message.content_blocks[:2] == [
        {"type": "text", "text": f'{{"address":"x","image":"{handle}"}}'},
        {
            "type": "image",
            "mime_type": "image/png",
            "base64": base64.b64encode(png).decode(),
        },
    ]
    assert handle in str(message.content_blocks[2])
    assert (remembered.name, remembered.args, entry["toolCallId"]) == (
        *("shot", tool(shot).args),
        "call_1",
    )


@pytest.mark.anyio
async def test_tools_that_await_and_tools_that_fail(
    url: str, pf: Pagefault, session: Session
) -> None:
    @tool
    async def clock() -> str:
        """Tell the time."""
        return "ten"

    @tool
    def fail() -> str:
        """Fail."""
        raise ValueError("no")

    async with AsyncPagefault(url) as client:
        kept = client.session(session.id)
        message = await remember(clock, kept).ainvoke(
            {"type": "tool_call", "id": "call_1", "name": "clock", "args": {}}
        )
        with pytest.raises(ValueError, match="no"):
            await remember(fail, kept).ainvoke({})
        with pytest.raises(TypeError, match="ainvoke"):
            remember(clock, kept).invoke({})
    stored = [entry for entry in session.messages() if entry["entry"] == "tool_result"]
    assert message.text == "ten"
    assert [item["sanitized"]["meta"]["success"] for item in stored] == [True, False]


class GraphBubbleUp(Exception):  # noqa: N818 - LangGraph's name for it
    """The exception with which LangGraph pauses a graph."""


class GraphInterrupt(GraphBubbleUp):
    """A question to a person."""


class Command(ToolOutputMixin):
    """A command of LangGraph."""


def outcomes(session: Session) -> list[tuple[str, bool, object]]:
    return [
        (
            message["toolCallId"],
            message["sanitized"]["meta"]["success"],
            message["sanitized"]["parts"],
        )
        for message in session.messages()
        if message["entry"] == "tool_result"
    ]


@pytest.fixture(params=["blocking", "awaited", "blocking session awaited"])
def invoked(request: pytest.FixtureRequest, url: str, session: Session) -> Invoke:
    """A function that calls a remembered tool, synchronously or asynchronously."""

    def invoke(inner: BaseTool, identity: str) -> Any:  # noqa: ANN401 - LangChain's
        tool_input = {**call(identity), "name": inner.name}
        if request.param == "blocking":
            return remember(inner, session).invoke(tool_input)

        async def awaited() -> Any:  # noqa: ANN401 - LangChain's
            if request.param != "awaited":
                return await remember(inner, session).ainvoke(tool_input)
            async with AsyncPagefault(url) as client:
                return await remember(inner, client.session(session.id)).ainvoke(tool_input)

        return anyio.run(awaited)

    return invoke


def test_the_id_of_the_call_is_injected(session: Session, invoked: Invoke) -> None:
    @tool
    def shot(address: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Take a picture of a page."""
        return f"{address} in {tool_call_id}"

    message = invoked(shot, "call_7")
    assert (message.text, message.tool_call_id, message.status) == (
        *("x in call_7", "call_7"),
        "success",
    )
    assert outcomes(session) == [("call_7", True, [{"type": "text", "text": "x in call_7"}])]


def test_an_error_that_a_tool_handles_stays_an_error(session: Session, invoked: Invoke) -> None:
    @tool
    def shot(address: str) -> str:
        """Take a picture of a page."""
        raise ToolException("no such page")

    shot.handle_tool_error = True
    message = invoked(shot, "call_1")
    assert (message.text, message.status, message.artifact) == ("no such page", "error", None)
    assert outcomes(session) == [
        ("call_1", False, [{"type": "text", "text": "ToolException: no such page"}])
    ]


def test_a_tool_that_asks_a_person_has_not_failed(session: Session, invoked: Invoke) -> None:
    answers = iter([GraphInterrupt("May I?"), "sent"])

    @tool
    def send(address: str) -> str:
        """Send something, if a person agrees."""
        if isinstance(answer := next(answers), Exception):
            raise answer
        return f"{answer} to {address}"

    with pytest.raises(GraphInterrupt):
        invoked(send, "call_1")
    assert invoked(send, "call_1").text == "sent to x"
    assert outcomes(session) == [("call_1", True, [{"type": "text", "text": "sent to x"}])]


def test_arguments_that_a_tool_refuses_are_an_error(session: Session, invoked: Invoke) -> None:
    @tool
    def shot(address: int) -> str:
        """Take a picture of a page."""
        return "never"

    shot.handle_validation_error = "A number, please."
    message = invoked(shot, "call_1")
    assert (message.text, message.status, message.artifact) == ("A number, please.", "error", None)
    assert outcomes(session) == [("call_1", False, [{"type": "text", "text": "A number, please."}])]


def test_a_tool_keeps_its_own_artifact(session: Session, invoked: Invoke, png: bytes) -> None:
    @tool(response_format="content_and_artifact")
    def shot(address: str) -> tuple[object, object]:
        """Take a picture of a page."""
        return {"image": png}, {"mine": 1}

    message = invoked(shot, "call_1")
    _, entry = session.messages()
    assert entry["entry"] == "tool_result"
    assert (message.artifact, message.response_metadata) == (
        {"mine": 1},
        {"pagefault": entry["sanitized"]},
    )
    assert [block["type"] for block in message.content_blocks] == ["image", "text"]


def test_what_is_more_than_content_stays_what_it_is(session: Session, invoked: Invoke) -> None:
    command = Command()

    @tool
    def shot(address: str) -> Command:
        """Take a picture of a page."""
        return command

    assert invoked(shot, "call_1") is command


def test_a_message_of_the_tool_has_its_content_replaced(session: Session, invoked: Invoke) -> None:
    @tool
    def shot(address: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Take a picture of a page."""
        return ToolMessage("line\n" * 10_000, tool_call_id=tool_call_id, name="mine")

    message = invoked(shot, "call_1")
    assert (message.name, len(message.text) < 6_000) == ("mine", True)
    assert "characters left out" in message.text


def test_without_a_call_the_content_alone_comes_back(session: Session) -> None:
    @tool
    def clock() -> str:
        """Tell the time."""
        return "ten"

    assert remember(clock, session).invoke({}) == "ten"
    assert [success for _, success, _ in outcomes(session)] == [True]


def values(png: bytes) -> dict[str, object]:
    """Return results of every kind that LangChain makes something of."""
    image = {"type": "image", "base64": base64.b64encode(png).decode(), "mime_type": "image/png"}
    message = ToolMessage([image], tool_call_id="call_1", artifact={"mine": 1})
    return {
        "text": "A shop.",
        "nothing": None,
        "object": {"address": "x", "count": 1},
        "bytes": png,
        "blocks": ["A shop.", image],
        "message": message,
        "command": Command(),
    }


def tool_of(value: object) -> BaseTool:
    @tool
    def shot(address: str) -> Any:  # noqa: ANN401 - of every kind
        """Take a picture of a page."""
        if isinstance(value, Exception):
            raise value
        return value

    shot.handle_tool_error = True
    return shot


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "A tool of LangChain gets the tool's own result if it cannot be stored",
    kept_by="clients/python/src/pagefault_client/adapters/langchain.py",
    tried="12 outages: down, silent, cut, 401, 413, 500, 503, other answers",
)
@pytest.mark.anyio
async def test_model_reads_the_result_of_the_tool_if_it_could_not_be_stored(
    outage: str, png: bytes
) -> None:
    results = {**values(png), "error": ToolException("no such page")}
    blocking = Pagefault(outage, timeout=0.05, max_retries=0).session("s")
    async with AsyncPagefault(outage, timeout=0.05, max_retries=0) as client:
        for name, value in results.items():
            inner = tool_of(value)
            for tool_input in (call("call_1"), {"address": "x"}):
                alone = inner.invoke(tool_input)
                content = await remember(inner, client.session("s")).ainvoke(tool_input)
                assert (name, content) == (name, alone)
                assert (name, remember(inner, blocking).invoke(tool_input)) == (name, alone)
                assert (name, await remember(inner, blocking).ainvoke(tool_input)) == (name, alone)


def test_an_artifact_of_the_tool_stays_if_it_could_not_be_stored(outage: str) -> None:
    @tool(response_format="content_and_artifact")
    def shot(address: str) -> tuple[str, dict[str, int]]:
        """Take a picture of a page."""
        return address, {"mine": 1}

    session = Pagefault(outage, timeout=0.05, max_retries=0).session("s")
    assert remember(shot, session).invoke(call("call_1")) == shot.invoke(call("call_1"))


def test_model_reads_the_result_of_the_tool_if_the_service_dies(
    proxy: CuttingProxy, session: Session, png: bytes
) -> None:
    inner = tool_of(values(png)["blocks"])
    remembered = remember(inner, Pagefault(proxy.url, timeout=5, max_retries=0).session(session.id))
    first = remembered.invoke(call("call_1"))
    proxy.close()
    assert "@blob:" in str(first)
    assert remembered.invoke(call("call_2")) == inner.invoke(call("call_2"))
    assert len(session.messages().all()) == 2


class ScriptedModel(GenericFakeChatModel):
    """A model whose answers are known before."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptedModel":  # noqa: ANN401 - LangChain's
        return self


def calling(text: str, *calls: tuple[str, str, dict[str, object]]) -> AIMessage:
    listed = [{"type": "tool_call", "name": n, "id": i, "args": args} for n, i, args in calls]
    return AIMessage(text, tool_calls=listed)


def run_agent(
    history: PagefaultChatMessageHistory,
    prompt: str,
    answers: list[AIMessage],
    tools: list[BaseTool],
) -> None:
    """Run an agent whose messages come from a history, and go there."""
    middleware: list[Any] = [
        ToolRetryMiddleware(max_retries=2, initial_delay=0),
        after_model(history.add_state),
    ]
    agent = create_agent(ScriptedModel(messages=iter(answers)), tools, middleware=middleware)
    history.add_user_message(prompt)
    agent.invoke({"messages": history.messages})


def test_next_run_begins_with_what_was_said(pf: Pagefault, session: Session) -> None:
    @tool
    def clock(zone: str, runtime: ToolRuntime) -> str:
        """Tell the time."""
        return f"ten in {zone} of {len(runtime.state['messages'])}"

    history = PagefaultChatMessageHistory(session)
    first = calling(
        "Let me see.",
        ("clock", "call_1", {"zone": "UTC"}),
        ("list_media", "call_2", {"session": None, "kind": None}),
    )
    tools = [remember(clock, history), *memory_tools(history)]
    run_agent(history, "What time?", [first, AIMessage("It is ten.")], tools)
    again = PagefaultChatMessageHistory(pf.session(session.id))
    run_agent(again, "Sure?", [AIMessage("Yes.")], tools)
    assert lines_of(session) == [
        "user: What time?",
        "assistant: Let me see.",
        'call_1: clock{"zone":"UTC"}',
        'call_2: list_media{"session":null,"kind":null}',
        "call_1: ten in UTC of 2",
        "call_2: There are no stored media.",
        "assistant: It is ten.",
        "user: Sure?",
        "assistant: Yes.",
    ]
    assert [message.type for message in again.messages] == [
        *("human", "ai", "tool", "tool", "ai", "human", "ai")
    ]


def failing_clock() -> BaseTool:
    attempts = iter([TimeoutError("no answer"), TimeoutError("still none")])

    @tool
    def clock(zone: str) -> str:
        """Tell the time."""
        if (error := next(attempts, None)) is not None:
            raise error
        return f"ten in {zone}"

    return clock


def test_retried_call_of_a_history_keeps_each_attempt_and_the_last_outcome(
    session: Session,
) -> None:
    history = PagefaultChatMessageHistory(session)
    answers = [
        calling("Let me see.", ("clock", "call_1", {"zone": "UTC"})),
        AIMessage("It is ten."),
    ]
    run_agent(history, "What time?", answers, [remember(failing_clock(), history)])
    assert lines_of(session) == [
        "user: What time?",
        "assistant: Let me see.",
        'call_1: clock{"zone":"UTC"}',
        "call_1: [The tool reported an error.]",
        'call_1-2: clock{"zone":"UTC"}',
        "call_1-2: [The tool reported an error.]",
        'call_1-3: clock{"zone":"UTC"}',
        "call_1-3: ten in UTC",
        "assistant: It is ten.",
    ]


@pytest.mark.anyio
async def test_messages_may_be_stored_after_the_run_as_well(session: Session) -> None:
    history = PagefaultChatMessageHistory(session)
    answers = [
        calling("Let me see.", ("clock", "call_1", {"zone": "UTC"})),
        AIMessage("It is ten."),
    ]
    agent = create_agent(
        ScriptedModel(messages=iter(answers)),
        [remember(failing_clock(), history)],
        middleware=[ToolRetryMiddleware(max_retries=2, initial_delay=0)],
    )
    await history.aadd_messages([HumanMessage("What time?")])
    messages: list[Any] = await history.aget_messages()
    done = await agent.ainvoke({"messages": messages})
    for _ in range(2):
        history.add_messages(done["messages"])
    assert lines_of(session) == [
        "user: What time?",
        'call_1: clock{"zone":"UTC"}',
        "call_1: [The tool reported an error.]",
        'call_1-2: clock{"zone":"UTC"}',
        "call_1-2: [The tool reported an error.]",
        "assistant: Let me see.",
        'call_1-3: clock{"zone":"UTC"}',
        "call_1-3: ten in UTC",
        "assistant: It is ten.",
    ]


def test_retried_call_keeps_each_attempt_and_the_last_outcome(session: Session) -> None:
    answers = [calling("", ("clock", "call_1", {"zone": "UTC"})), AIMessage("It is ten.")]
    create_agent(
        ScriptedModel(messages=iter(answers)),
        [remember(failing_clock(), session)],
        middleware=[ToolRetryMiddleware(max_retries=2, initial_delay=0)],
    ).invoke({"messages": [HumanMessage("What time?")]})
    assert lines_of(session) == [
        'call_1: clock{"zone":"UTC"}',
        "call_1: [The tool reported an error.]",
        'call_1-2: clock{"zone":"UTC"}',
        "call_1-2: [The tool reported an error.]",
        'call_1-3: clock{"zone":"UTC"}',
        "call_1-3: ten in UTC",
    ]


def test_what_was_said_is_stored_before_a_tool_runs(session: Session) -> None:
    stored: list[str | None] = []

    @tool
    def look() -> str:
        """Look at the history."""
        stored.extend(line["title"] for line in session.outline())
        return "seen"

    history = PagefaultChatMessageHistory(session)
    answers = [calling("I look.", ("look", "call_1", {})), AIMessage("Seen.")]
    run_agent(history, "Look.", answers, [remember(look, history)])
    assert stored == ["Look.", "I look."]


def test_command_is_stored_as_the_message_that_the_model_reads(session: Session) -> None:
    @tool
    def note(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> GraphCommand[str]:
        """Note something."""
        messages = [ToolMessage(f"noted {text}", tool_call_id=tool_call_id, status="error")]
        return GraphCommand(update={"messages": messages})

    history = PagefaultChatMessageHistory(session)
    answers = [calling("", ("note", "call_1", {"text": "x"})), AIMessage("Done.")]
    run_agent(history, "Note x.", answers, [remember(note, history)])
    assert outcomes(session) == [("call_1", False, [{"type": "text", "text": "noted x"}])]


def test_history_is_rendered_within_a_budget_and_cleared(session: Session) -> None:
    history = PagefaultChatMessageHistory(session, max_tokens=2_000)
    assert history.messages == []
    history.add_messages([HumanMessage(f"{n} {'sheep ' * 500}") for n in range(9)])
    assert sum(len(message.text) for message in history.messages) < 12_000
    history.clear()
    history.clear()
    assert history.messages == []


def test_memory_tools_answer_with_pictures(session: Session, png: bytes) -> None:
    stored = session.tool_result("shot", "call_0", png)
    view = {each.name: each for each in memory_tools(session)}["view_media"]
    handle = f"@{stored['sanitized']['resources'][0]['uri']}"
    message = view.invoke(
        {
            "type": "tool_call",
            "id": "call_1",
            "name": view.name,
            "args": {"ref": handle, "level": 0},
        }
    )
    assert "image" in [block["type"] for block in message.content_blocks]
    assert view.invoke({"ref": "@blob:none", "level": 0}).startswith("There is no")
