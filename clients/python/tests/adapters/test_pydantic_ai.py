"""Pydantic AI's toolsets, down to what its model gets."""

import pytest
from pydantic_ai import Agent, BinaryContent, FunctionToolset, ToolReturn
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from pagefault_client import AsyncPagefault, Session
from pagefault_client.adapters.pydantic_ai import RememberingToolset

pytestmark = pytest.mark.anyio


async def test_model_gets_the_picture_and_the_session_the_result(
    url: str, session: Session, png: bytes
) -> None:
    def shot(address: str) -> list[object]:
        """Take a picture of a page."""
        return [address, BinaryContent(png, media_type="image/png")]

    seen: list[ToolReturnPart] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.extend(
            part
            for message in messages
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        )
        if seen:
            return ModelResponse([TextPart("A shop.")])
        return ModelResponse([ToolCallPart("shot", {"address": "x"}, "call_1")])

    async with AsyncPagefault(url) as client:
        toolset = RememberingToolset(FunctionToolset([shot]), client.session(session.id))
        done = await Agent(FunctionModel(answer), toolsets=[toolset]).run("What is it?")
    (entry,) = session.messages()
    assert entry["entry"] == "tool_result"
    assert (done.output, entry["name"], entry["toolCallId"]) == ("A shop.", "shot", "call_1")
    (part,) = seen
    assert isinstance(part.content, list)
    assert [type(each) for each in part.content] == [str, BinaryContent, str]
    assert part.content[1].data == png
    assert f"@{entry['sanitized']['resources'][0]['uri']}" in part.content[2]
    assert part.metadata == entry["sanitized"]


@pytest.mark.parametrize("own", [{"mine": 1}, ["mine"]])
async def test_metadata_of_the_tool_is_kept(url: str, session: Session, own: object) -> None:
    def shot(address: str) -> ToolReturn:
        """Take a picture of a page."""
        return ToolReturn(return_value=address, metadata=own)

    seen: list[ToolReturnPart] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        seen.extend(part for part in parts if isinstance(part, ToolReturnPart))
        return ModelResponse(
            [TextPart("A shop.") if seen else ToolCallPart("shot", {"address": "x"}, "call_1")]
        )

    async with AsyncPagefault(url) as client:
        toolset = RememberingToolset(FunctionToolset([shot]), client.session(session.id))
        await Agent(FunctionModel(answer), toolsets=[toolset]).run("What is it?")
    (entry,) = session.messages()
    assert entry["entry"] == "tool_result"
    record = {"pagefault": entry["sanitized"]}
    assert [part.metadata for part in seen] == [{**own, **record} if isinstance(own, dict) else own]
