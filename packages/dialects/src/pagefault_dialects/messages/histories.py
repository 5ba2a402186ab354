"""Finds the messages of a history in a body: a request, a list, or a file of an SDK or a host.

The member with the list of messages is `messages`, `input`, `contents` or `history`. The modules in
`dialects` read the messages themselves.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from pagefault_dialects.dialects.foreign_message import Dialect, ForeignMessage
from pagefault_dialects.dialects.message_registry import find_conversation, read_message
from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonObject, JsonValue

_LIST_NAMES = ("messages", "input", "contents", "history")
# The dialects of requests, by the name of their list.
_LIST_DIALECTS: Mapping[str, Dialect] = {"input": "openai-responses", "contents": "gemini"}
MASTRA_SYSTEM_NAMES = ("systemMessages", "taggedSystemMessages")
"""The members of Mastra's `MessageList` with the system prompt: a list of system messages, and an
object with a list for each tag."""
SYSTEM_NAMES = (
    *("system", "instructions", "systemInstruction", "system_instruction"),
    *("systemPrompt", "system_prompt"),
    *MASTRA_SYSTEM_NAMES,
)
"""The members of a body with the system prompt."""


def read_history_messages(value: JsonValue) -> list[ForeignMessage] | None:
    """Return the messages of a history in common form, in order; `None` if there is no history.

    The system prompt of a request is the first message.

    Args:
        value: A list of messages, or an object that has one, such as a request or a file of a host.
    """
    sent_messages = find_messages(value)
    if sent_messages is None:
        return None
    is_request = find_list_name(value) is not None or isinstance(value, list)
    messages = [*_read_system_prompts(value)] if isinstance(value, dict) and is_request else []
    for pointer, item in sent_messages:
        messages += read_message(item, pointer)
    return (
        messages
        if is_request
        else [replace(message, has_request_form=False) for message in messages]
    )


def find_messages(value: JsonValue) -> list[tuple[str, JsonValue]] | None:
    """Return the messages in a body, each with its pointer, as a reader of messages expects them.

    A text in place of a list is a message of the user, and so is a text in Gemini's `contents`.

    Args:
        value: A list of messages, or an object that has one.

    Returns:
        `None` if there is no list of messages.
    """
    name = find_list_name(value)
    prefix = "" if name is None else f"/{name}"
    body = value if name is None else value[name]
    conversation = find_conversation(body) if name is None or isinstance(body, list) else None
    if conversation is not None:
        _, form = conversation
        return [(prefix + pointer, item) for pointer, item in form.read(body)]
    if name is None and not isinstance(value, list):
        return None
    if name is not None and not isinstance(body, list):
        return [(prefix, message) for message in list_sent_messages(value)]
    if name == "contents":
        return [(f"{prefix}/{index}", _as_content(item)) for index, item in enumerate(body)]
    return [(f"{prefix}/{index}", item) for index, item in enumerate(body)]


def list_sent_messages(value: JsonValue) -> list[JsonValue]:
    """Return the messages of a body as they were sent.

    A text in place of a list is a message of the user. Elements of the list that are no messages
    are returned as well.
    """
    name = find_list_name(value)
    body = value if name is None else value[name]
    if name == "contents" and not isinstance(body, list):
        return [_as_content(body)]
    conversation = find_conversation(body) if name is None or isinstance(body, list) else None
    if conversation is not None:
        _, form = conversation
        return [item for _, item in form.read(body)]
    return [{"role": "user", "content": body}] if isinstance(body, str) else body


def _as_content(value: JsonValue) -> JsonValue:
    """Return a text as a `Content` of Gemini, and other values unchanged. SDKs accept both."""
    return {"role": "user", "parts": [{"text": value}]} if isinstance(value, str) else value


def find_list_name(value: JsonValue) -> str | None:
    """Return the name of the member of a body with the messages; `None` if there is none."""
    if not isinstance(value, dict):
        return None
    name = next((name for name in _LIST_NAMES if isinstance(value.get(name), list | str)), None)
    is_content = name is None and isinstance(value.get("contents"), dict)
    return "contents" if is_content else name


def find_body_dialect(value: JsonValue, messages: Sequence[ForeignMessage]) -> Dialect | None:
    """Return the dialect of a body, or `None` if any dialect has such a body.

    The form of the system prompt decides first, then the dialects of the messages, then the name of
    the member with the messages.

    Args:
        value: The body.
        messages: The messages of the body.
    """
    system = value.get("system") if isinstance(value, dict) else None
    if system and "max_tokens" in value and (isinstance(system, str) or _are_typed(system)):
        return "anthropic"
    if isinstance(system, list) and system and not (_are_typed(system) or _are_messages(system)):
        return "bedrock"
    main_dialect = find_main_dialect(messages)
    if main_dialect is not None:
        return main_dialect
    return _LIST_DIALECTS.get(find_list_name(value) or "")


def _are_typed(blocks: JsonValue) -> bool:
    """Return whether a value is a list of blocks with a `type`, which Bedrock's blocks lack."""
    return isinstance(blocks, list) and all(
        isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks
    )


def merge_config(request: JsonObject) -> JsonObject:
    """Return a request of Gemini's SDK with the members of its `config` moved up."""
    config = request.get("config")
    return {**config, **request} if "contents" in request and isinstance(config, dict) else request


def _read_system_prompts(request: JsonObject) -> Iterator[ForeignMessage]:
    """Yield each system prompt of a request as a message in common form."""
    for pointer, prompt in _list_system_prompts(request):
        members = prompt if isinstance(prompt, dict) else {}
        name = next((name for name in ("parts", "content") if members.get(name) is not None), None)
        content, content_pointer = (prompt, "") if name is None else (members[name], f"/{name}")
        count = len(content) if isinstance(content, list) else 0
        block_pointers = {
            f"/content/{index}": f"{content_pointer}/{index}" for index in range(count)
        }
        whole_pointer = "/content" if name == "content" else ""
        yield ForeignMessage(
            pointer,
            {"role": "system", "content": content},
            original_pointers={"/content": whole_pointer, **block_pointers},
            is_system_prompt=True,
        )


def _list_system_prompts(request: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    """Yield each system prompt of a request with its pointer. Each message of a list is one."""
    members = merge_config(request)
    for name in SYSTEM_NAMES:
        prompt = members.get(name)
        pointer = f"/{name}" if name in request else f"/config/{name}"
        lists = {pointer: prompt}
        if name == MASTRA_SYSTEM_NAMES[1] and isinstance(prompt, dict):
            lists = {child_pointer(pointer, tag): item for tag, item in prompt.items()}
        for list_pointer, item in lists.items():
            if _are_messages(item):
                yield from ((f"{list_pointer}/{index}", one) for index, one in enumerate(item))
            elif item:
                yield list_pointer, item


def _are_messages(prompt: JsonValue) -> TypeGuard[list[JsonValue]]:
    """Return whether a system prompt is a list of messages, as the AI SDK and Mastra have it."""
    return isinstance(prompt, list) and any(
        isinstance(item, dict) and "role" in item for item in prompt
    )


def find_main_dialect(messages: Sequence[ForeignMessage]) -> Dialect | None:
    """Return the most frequent dialect of messages; `None` if all could be of any dialect.

    Of equally frequent dialects, the one that occurs first is returned.
    """
    counts = Counter(message.dialect for message in messages if message.dialect is not None)
    # Results of MCP sampling have the form of Anthropic's.
    if counts.keys() == {"anthropic", "mcp"}:
        return "mcp"
    return counts.most_common(1)[0][0] if counts else None
