"""Messages of MCP: the types of its SDK, and the rules that types do not state."""

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from mcp import types
from mcp.types import methods

from tests.providers.answers import Step, check_answers
from tests.providers.encoded import check_encoded

Json: TypeAlias = dict[str, Any]

_REVISION = "2026-07-28"
_META = {"pagefault/toolCallId", "pagefault/toolName"}
_LINK = re.compile(r"[a-z][a-z0-9+.-]*:\S+")
_EMBEDDED = re.compile(r"[a-z][a-z0-9+.-]*:\S+")


def check_mcp_types(messages: list[Json]) -> None:
    """Raise unless the messages are of the types of a prompt, or of sampling where they call."""
    for message in messages:
        if isinstance(message["content"], list):
            read = types.SamplingMessage.model_validate(message, by_name=False)
            dumped = read.model_dump(by_alias=True, exclude_unset=True, mode="json")
            assert dumped == message, f"the types know only {dumped} of {message}"
        else:
            _check_prompt_type(message)


def check_mcp(messages: list[Json]) -> None:
    """Raise unless the messages are results of tool calls, and messages of a prompt."""
    for message in messages:
        if "role" not in message:
            _check_result(message)
        elif isinstance(message["content"], list):
            _check_calls(message)
        else:
            _check_prompt_message(message)
    check_answers(_steps(messages))


def _check_result(message: Json) -> None:
    # Any JSON will do there, at depths that the SDK can read but not write.
    shallow = message | {key: None for key in message if key == "structuredContent"}
    parsed = methods.parse_server_result("tools/call", _REVISION, shallow)
    dumped = parsed.model_dump(by_alias=True, exclude_unset=True, mode="json")
    assert dumped == shallow, f"the types know only {dumped} of {shallow}"
    assert message["resultType"] == "complete", f"a result of type {message['resultType']}"
    assert isinstance(message.get("isError", False), bool), f"isError is {message['isError']!r}"
    named = _META & (message.get("_meta") or {}).keys()
    assert named in (set(), _META), f"_meta has {list(named)}"
    assert all(message["_meta"][name] for name in _META), "an id or a name is empty"
    for block in message["content"]:
        _check_block(block)


def _check_prompt_message(message: Json) -> None:
    _check_prompt_type(message)
    _check_block(message["content"])


def _check_prompt_type(message: Json) -> None:
    prompt = {"resultType": "complete", "messages": [message]}
    parsed = methods.parse_server_result("prompts/get", _REVISION, prompt)
    dumped = parsed.model_dump(by_alias=True, exclude_unset=True, mode="json")
    assert dumped == prompt, f"the types know only {dumped['messages'][0]} of {message}"


def _check_calls(message: Json) -> None:
    types.SamplingMessage.model_validate(message, by_name=False)
    assert set(message) == {"role", "content"}, f"members {list(message)}"
    assert message["role"] == "assistant", f"calls of the {message['role']}"
    assert message["content"], "no calls"
    for use in message["content"]:
        assert set(use) == {"type", "id", "name", "input"}, f"members {list(use)}"
        assert use["type"] == "tool_use", f"a block of type {use['type']}"
        assert use["name"], "a tool without a name"


def _check_block(block: Json) -> None:
    match block:
        case {"type": "text", "text": text}:
            assert text, "an empty text"
        case {"type": "image" | "audio" as kind, "data": data, "mimeType": mime_type}:
            assert mime_type.startswith(f"{kind}/"), f"{mime_type} as {kind}"
            check_encoded(data, mime_type)
        case {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "blob": blob}}:
            assert _EMBEDDED.fullmatch(uri), f"a resource at {uri!r}"
            check_encoded(blob, mime_type)
        case {"type": "resource", "resource": {"uri": uri, "mimeType": str(), "text": str()}}:
            assert _EMBEDDED.fullmatch(uri), f"a resource at {uri!r}"
        case {"type": "resource_link", "uri": uri, "name": name}:
            assert _LINK.fullmatch(uri), f"a link to {uri!r}"
            assert name, "a link without a name"
        case _:
            raise AssertionError(f"no block for any reader: {block}")


def _steps(messages: list[Json]) -> Iterator[Step]:
    for message in messages:
        if "role" not in message:
            yield "answers", message["_meta"]["pagefault/toolCallId"]
        elif isinstance(message["content"], list):
            for use in message["content"]:
                yield "calls", use["id"]
        else:
            yield "says", ""
