"""LangChain's tools, whose messages have content and an artifact."""

import base64
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import anyio
import pytest
from langchain_core.messages import ToolMessage
from langchain_core.messages.tool import ToolOutputMixin
from langchain_core.tools import BaseTool, InjectedToolCallId, ToolException, tool

from clients.python.tests.servers import CuttingProxy
from pagefault_client import AsyncPagefault, Pagefault, Session
from pagefault_client.adapters.langchain import remember

Invoke: TypeAlias = Callable[[BaseTool, str], Any]


def call(identity: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": identity, "name": "shot", "args": {"address": "x"}}


def test_message_has_content_for_the_model_and_the_record(session: Session, png: bytes) -> None:
    def shot(address: str) -> dict[str, object]:
        """Take a picture of a page."""
        return {"address": address, "image": png}

    remembered = remember(shot, session)
    message = remembered.invoke(call("call_1"))
    (entry,) = session.messages()
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
    (entry,) = session.messages()
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
    blocking = Pagefault(outage, timeout=0.05, retries=0).session("s")
    async with AsyncPagefault(outage, timeout=0.05, retries=0) as client:
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

    session = Pagefault(outage, timeout=0.05, retries=0).session("s")
    assert remember(shot, session).invoke(call("call_1")) == shot.invoke(call("call_1"))


def test_model_reads_the_result_of_the_tool_if_the_service_dies(
    proxy: CuttingProxy, session: Session, png: bytes
) -> None:
    inner = tool_of(values(png)["blocks"])
    remembered = remember(inner, Pagefault(proxy.url, timeout=5, retries=0).session(session.id))
    first = remembered.invoke(call("call_1"))
    proxy.close()
    assert "@blob:" in str(first)
    assert remembered.invoke(call("call_2")) == inner.invoke(call("call_2"))
    assert len(session.messages().all()) == 1
