"""Messages of histories in requests, lists, and files of SDKs and hosts.

The modules in `dialects` read the messages themselves.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pagefault_dialects.dialects.foreign_message import DIALECTS, Dialect, ForeignMessage
from pagefault_dialects.dialects.message_registry import find_conversation, read_message
from pagefault_dialects.json.values import JsonObject, JsonValue

__all__ = [
    "DIALECTS",
    "SYSTEM_NAMES",
    "Dialect",
    "ForeignMessage",
    "body_dialect",
    "foreign_message",
    "foreign_messages",
    "list_name",
    "main_dialect",
    "merge_config",
    "sent_messages",
]

_LIST_NAMES = ("messages", "input", "contents", "history")
_LIST_DIALECTS: Mapping[str, Dialect] = {"input": "openai-responses", "contents": "gemini"}
SYSTEM_NAMES = (
    *("system", "instructions", "systemInstruction", "system_instruction"),
    *("systemPrompt", "system_prompt"),
)
"""The members of a body with the system prompt."""


def foreign_messages(value: JsonValue) -> list[ForeignMessage] | None:
    """Return the messages of a history in order; `None` if the value has no history.

    Args:
        value: A list of messages, or an object that has one, such as a request or a file of a host.
    """
    found = find_messages(value)
    if found is None:
        return None
    is_sent = list_name(value) is not None or isinstance(value, list)
    messages = [*_system(value)] if isinstance(value, dict) and is_sent else []
    for pointer, item in found:
        messages += read_message(item, pointer)
    return messages if is_sent else [replace(message, is_as_sent=False) for message in messages]


def find_messages(value: JsonValue) -> list[tuple[str, JsonValue]] | None:
    """Return the messages in a body, each with its pointer; `None` if there are none."""
    name = list_name(value)
    prefix = "" if name is None else f"/{name}"
    body = value if name is None else value[name]
    found = find_conversation(body) if name is None or isinstance(body, list) else None
    if found is not None:
        return [(prefix + pointer, item) for pointer, item in found[1].read(body)]
    if name is None and not isinstance(value, list):
        return None
    if name is not None and not isinstance(body, list):
        return [(prefix, sent_message) for sent_message in sent_messages(value)]
    if name == "contents":
        return [(f"{prefix}/{index}", _as_content(item)) for index, item in enumerate(body)]
    return [(f"{prefix}/{index}", item) for index, item in enumerate(body)]


def foreign_message(value: JsonValue, pointer: str) -> ForeignMessage:
    """Read one message of a history."""
    return read_message(value, pointer)[0]


def sent_messages(value: JsonValue) -> list[JsonValue]:
    """Return the messages of a body unchanged."""
    name = list_name(value)
    body = value if name is None else value[name]
    if name == "contents" and not isinstance(body, list):
        return [_as_content(body)]
    found = find_conversation(body) if name is None or isinstance(body, list) else None
    if found is not None:
        return [item for _, item in found[1].read(body)]
    return [{"role": "user", "content": body}] if isinstance(body, str) else body


def _as_content(value: JsonValue) -> JsonValue:
    """Return a Content of Gemini. Its SDK accepts a string in place of one."""
    return {"role": "user", "parts": [{"text": value}]} if isinstance(value, str) else value


def list_name(value: JsonValue) -> str | None:
    """Return the name of the member with the messages; `None` if the body is a list."""
    if not isinstance(value, dict):
        return None
    found = next((name for name in _LIST_NAMES if isinstance(value.get(name), list | str)), None)
    is_content = found is None and isinstance(value.get("contents"), dict)
    return "contents" if is_content else found


def body_dialect(value: JsonValue, messages: Sequence[ForeignMessage]) -> Dialect | None:
    """Return the dialect of a body: by its system prompt, its messages, or their member."""
    system = value.get("system") if isinstance(value, dict) else None
    if system and "max_tokens" in value and (isinstance(system, str) or _are_typed(system)):
        return "anthropic"
    if isinstance(system, list) and system and not _are_typed(system):
        return "bedrock"
    found = main_dialect(messages)
    return _LIST_DIALECTS.get(list_name(value) or "") if found is None else found


def _are_typed(blocks: JsonValue) -> bool:
    return isinstance(blocks, list) and all(
        isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks
    )


def merge_config(request: JsonObject) -> JsonObject:
    """Return a request of Gemini's SDK with the members of its `config` moved up."""
    config = request.get("config")
    return {**config, **request} if "contents" in request and isinstance(config, dict) else request


def _system(request: JsonObject) -> Iterator[ForeignMessage]:
    members = merge_config(request)
    for name in SYSTEM_NAMES:
        prompt = members.get(name)
        if not prompt:
            continue
        pointer = f"/{name}" if name in request else f"/config/{name}"
        parts = prompt.get("parts") if isinstance(prompt, dict) else None
        content, inner = (prompt, "") if parts is None else (parts, "/parts")
        count = len(content) if isinstance(content, list) else 0
        places = {f"/content/{index}": f"{inner}/{index}" for index in range(count)}
        message = {"role": "system", "content": content}
        yield ForeignMessage(
            pointer, message, original_pointers={"/content": "", **places}, is_apart=True
        )


def main_dialect(messages: Sequence[ForeignMessage]) -> Dialect | None:
    """Return the first of the most frequent dialects of messages; `None` for plain messages."""
    counts = Counter(message.dialect for message in messages if message.dialect is not None)
    if counts.keys() == {"anthropic", "mcp"}:
        return "mcp"
    return counts.most_common(1)[0][0] if counts else None
