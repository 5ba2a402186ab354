"""LangChain's tools, whose messages have content and an artifact."""

import base64
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from pagefault_client import AsyncPagefault, Pagefault, Session
from pagefault_client.adapters.langchain import remember


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
    assert [each["sanitized"]["meta"]["success"] for each in stored] == [True, False]
