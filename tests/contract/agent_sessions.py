"""Sessions with the histories of agents at work, stored as hosts store them."""

from collections.abc import Iterator
from typing import Any

import httpx

from packages.dialects.tests.context.agent_histories import agent_history
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Medium,
    ProviderBlock,
    TextItem,
    TurnCall,
)
from tests.kit import media
from tests.kit.media import b64

Json = dict[str, Any]

_PICTURE = f"data:image/png;base64,{b64(media.png(640, 480))}"


def entries_of(seed: int) -> Iterator[Json]:
    """Yield the entries of the history of an agent, as `POST …/turns` takes them."""
    yield from map(_entry, agent_history(seed).turns)


def store(client: httpx.Client, session_id: str, *entries: Json) -> None:
    """Append entries to a session."""
    path = f"/api/sessions/{session_id}/turns"
    stored = client.post(path, json={"entries": entries})
    assert stored.status_code == 200, stored.text[:500]


def _entry(turn: ComposedTurn) -> Json:
    if turn.role == "tool":
        blocks = [_block(item) for item in turn.items if not isinstance(item, DataItem)]
        values = [item.value for item in turn.items if isinstance(item, DataItem)]
        result: Any = values[0] if values else {"content": blocks, "isError": turn.is_error}
        named = {"toolName": turn.tool_name, "toolCallId": turn.call_id}
        return {"toolResult": {**named, "result": result}}
    if any(isinstance(item, ProviderBlock) for item in turn.items):
        blocks = [_block(item) for item in turn.items]
        content = [*blocks, *map(_use, turn.calls)]
        return {"message": {"role": turn.role, "content": content}}
    said = [_said(item) for item in turn.items]
    message: Json = {"role": turn.role, "content": said or None}
    if turn.calls:
        message["tool_calls"] = [*map(_call, turn.calls)]
    return {"message": message}


def _block(item: object) -> Json:
    match item:
        case TextItem():
            return {"type": "text", "text": item.text}
        case Medium():
            return {"type": "image", "mimeType": "image/png", "data": _PICTURE.partition(",")[2]}
        case ProviderBlock():
            return dict(item.forms["anthropic"])
    raise AssertionError(item)


def _said(item: object) -> Json:
    if isinstance(item, Medium):
        return {"type": "image_url", "image_url": {"url": _PICTURE}}
    assert isinstance(item, TextItem)
    return {"type": "text", "text": item.text}


def _call(call: TurnCall) -> Json:
    function = {"name": call.name, "arguments": json_text(call.arguments)}
    return {"id": call.call_id, "type": "function", "function": function}


def _use(call: TurnCall) -> Json:
    return {"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.arguments}
