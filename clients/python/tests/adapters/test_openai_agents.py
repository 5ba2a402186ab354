"""The OpenAI Agents SDK, down to what it sends to the provider."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from agents import Agent, OpenAIResponsesModel, RunConfig, Runner
from openai import AsyncOpenAI

from clients.python.tests.servers import Reply, ScriptedService
from pagefault_client import AsyncPagefault, Session
from pagefault_client.adapters.openai_agents import remember

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


async def test_model_gets_the_picture_and_the_session_the_result(
    url: str, session: Session, png: bytes, scripted: Callable[..., ScriptedService]
) -> None:
    called = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "shot",
        "arguments": '{"url": "https://shop.example"}',
        "status": "completed",
    }
    said = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "A shop.", "annotations": []}],
    }
    provider = scripted(response(called), response(said))

    def shot(url: str) -> dict[str, object]:
        """Take a picture of a page."""
        return {"url": url, "image": png}

    async with AsyncPagefault(url) as client:
        kept = client.session(session.id)
        model = OpenAIResponsesModel(
            "stub", AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="stub")
        )
        agent = Agent(name="a", model=model, tools=[remember(shot, kept)])
        done = await Runner.run(agent, "What is it?", run_config=RunConfig(tracing_disabled=True))
    assert done.final_output == "A shop."
    sent = json.loads(provider.requests[1].body)["input"]
    (output,) = [each["output"] for each in sent if each.get("type") == "function_call_output"]
    (entry,) = session.messages()
    assert entry["entry"] == "tool_result"
    handle = f"@{entry['sanitized']['resources'][0]['uri']}"
    assert (entry["name"], entry["toolCallId"]) == ("shot", "call_1")
    assert [block["type"] for block in output] == ["input_text", "input_image", "input_text"]
    assert output[0]["text"] == f'{{"url":"https://shop.example","image":"{handle}"}}'
    assert output[1]["image_url"].startswith("data:image/png;base64,")
    assert handle in output[2]["text"]
