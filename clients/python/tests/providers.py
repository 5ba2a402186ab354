"""A provider with OpenAI's two APIs whose model calls the tool `shot` once, and then answers."""

import json

from clients.python.tests.servers import Reply, Request

ARGUMENTS = '{"url":"https://shop.example"}'
ANSWER = "A shop with a red door."


def answer_as_model(request: Request) -> Reply:
    """Return the answer of the model, by the API of the request."""
    body = json.loads(request.body)
    messages = body["input"] if request.path.endswith("/responses") else body["messages"]
    is_answered = any(
        item.get("type") == "function_call_output" or item.get("role") == "tool"
        for item in messages
        if isinstance(item, dict)
    )
    compose = _response if request.path.endswith("/responses") else _completion
    return Reply(200, compose(is_answered), {"content-type": "application/json"})


def _response(is_answered: bool) -> dict[str, object]:
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "shot"}
    text = {"type": "output_text", "text": ANSWER, "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "content": [text]}
    output = message if is_answered else {**call, "arguments": ARGUMENTS}
    return {
        "id": f"resp_{1 + is_answered}",
        "object": "response",
        "created_at": 0,
        "model": "gpt-5",
        "output": [{**output, "status": "completed"}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "completed",
    }


def _completion(is_answered: bool) -> dict[str, object]:
    function = {"name": "shot", "arguments": ARGUMENTS}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    message = {"content": ANSWER} if is_answered else {"content": None, "tool_calls": calls}
    choice = {
        "index": 0,
        "message": {"role": "assistant", **message},
        "finish_reason": "stop" if is_answered else "tool_calls",
    }
    return {
        "id": f"chatcmpl_{1 + is_answered}",
        "object": "chat.completion",
        "created": 0,
        "model": "gpt-5",
        "choices": [choice],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
