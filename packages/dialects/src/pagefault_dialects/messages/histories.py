"""Foreign histories as messages: out of whatever a host wrote around them, each with its dialect.

What is read are requests as they were sent, lists of messages, and what SDKs and hosts write into
files: OpenAI Chat and Responses, Anthropic, Gemini, Bedrock, MCP, LangChain, the Vercel AI SDK, and
Pydantic AI, for which nothing is written.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from typing_extensions import TypeAliasType

from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.messages.pydantic_ai import is_pydantic_ai, part_messages

Dialect = TypeAliasType(
    "Dialect",
    Literal[
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
        "mcp",
        "langchain",
        "vercel",
    ],
)
DIALECTS: Sequence[Dialect] = get_args(Dialect.__value__)

_LISTS = ("messages", "input", "contents", "history")
SYSTEM_NAMES = ("system", "instructions", "systemInstruction", "system_instruction")
"""The members of a body with what the system says."""
_ROLES = {
    **{role: role for role in ("system", "developer", "user", "assistant", "model", "tool")},
    "function": "function",
    "human": "user",
    "ai": "assistant",
    "bot": "assistant",
    "toolResult": "tool",
    "tool_result": "tool",
}
_LANGCHAIN = {
    **{role: role for role in ("system", "tool", "function", "developer")},
    **{"human": "user", "ai": "assistant", "chat": "user"},
}
_RESPONSES_ANSWERS = ("function_call_output", "custom_tool_call_output")
_RESPONSES_ITEMS = frozenset(
    {
        *("compaction", "compaction_summary", "item_reference", "mcp_list_tools"),
        *("mcp_approval_request", "mcp_approval_response", "local_shell_call_output"),
    }
)
_RESPONSES_SAID = ("function_call", "custom_tool_call", "reasoning", "image_generation_call")
# What tells a dialect: the type of a block, or the only member of one that has no type.
_TYPES: Mapping[Dialect, str] = {
    "anthropic": "tool_use tool_result thinking redacted_thinking document",
    "openai-chat": "image_url input_audio",
    "openai-responses": "input_text output_text input_image input_file",
    "vercel": "tool-call tool-result",
    "mcp": "resource resource_link",
}
_OF_TYPES = {kind: dialect for dialect, kinds in _TYPES.items() for kind in kinds.split()}
_BEDROCK_MEMBERS = frozenset(("toolUse", "toolResult", "reasoningContent", "cachePoint"))
_OF_LANGCHAIN = ("additional_kwargs", "response_metadata", "invalid_tool_calls")
_MOST_AROUND = 3


@dataclass(frozen=True, slots=True)
class ForeignMessage:
    """One entry of a foreign history."""

    pointer: str
    """Where it stands in what was sent."""
    message: dict[str, Any] | None
    """The message, with a role that dialects know; `None` for what is none."""
    dialect: Dialect | None = None
    """What it is written in, where that shows."""
    said_role: str | None = None
    """The role that it says, where no dialect knows it."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Where blocks really stand, by where they stand in `message`."""
    joins: bool = False
    """Whether it belongs to the turn before it, if that is the assistant's as well."""
    is_apart: bool = False
    """Whether it is what the system says, beside the list of messages."""
    is_as_sent: bool = True
    """Whether it is in a form that requests have; not in one of files, logs or interfaces."""

    def place(self, pointer: str) -> str:
        """Return where in what was sent a pointer into the message leads."""
        steps = pointer.split("/", 3)
        head, rest = "/".join(steps[:3]), "".join(f"/{step}" for step in steps[3:])
        return self.pointer + self.places.get(head, head) + rest


def foreign_messages(value: JsonValue) -> list[ForeignMessage] | None:
    """Return the messages of a history, in order; `None` if there is none in a value.

    Args:
        value: A list of messages, or an object that holds one: a request, a file of a host.
    """
    if isinstance(value, list):
        return [*_messages(value, "")]
    if not isinstance(value, dict):
        return None
    name = list_name(value)
    if name is None:
        return None
    return [*_system(value), *_messages(sent_messages(value), f"/{name}")]


def foreign_message(value: JsonValue, pointer: str) -> ForeignMessage:
    """Return one message of a history, by what it is read from."""
    return next(read_at(value, pointer))


def sent_messages(value: JsonValue) -> list[JsonValue]:
    """Return the messages of a history as they were sent, without what stands around them."""
    name = list_name(value)
    held = value if name is None else value[name]
    return [{"role": "user", "content": held}] if isinstance(held, str) else held


def list_name(value: JsonValue) -> str | None:
    """Return the member of a body that has the messages; `None` for a list of them."""
    if not isinstance(value, dict):
        return None
    return next((each for each in _LISTS if isinstance(value.get(each), list | str)), None)


def body_dialect(value: JsonValue, messages: Sequence[ForeignMessage]) -> Dialect | None:
    """Return the dialect of a body: by what stands around its messages, else by most of these."""
    system = value.get("system") if isinstance(value, dict) else None
    if system and "max_tokens" in value and (isinstance(system, str) or _are_typed(system)):
        return "anthropic"
    if isinstance(system, list) and system and not _are_typed(system):
        return "bedrock"
    found = main_dialect(messages)
    return "openai-responses" if found is None and list_name(value) == "input" else found


def _are_typed(blocks: JsonValue) -> bool:
    return isinstance(blocks, list) and all(
        isinstance(each, dict) and isinstance(each.get("type"), str) for each in blocks
    )


def _messages(listed: list[Any], pointer: str) -> Iterator[ForeignMessage]:
    for index, value in enumerate(listed):
        yield from read_at(value, f"{pointer}/{index}")


def read_at(value: JsonValue, here: str) -> Iterator[ForeignMessage]:
    """Yield the messages that a value of a history is, which stands at a pointer."""
    if not is_pydantic_ai(value):
        message = _message(value, here)
        is_as_sent = message.is_as_sent and message.pointer == here
        yield replace(message, is_as_sent=is_as_sent)
        return
    for part, inner, places in part_messages(value):
        yield ForeignMessage(here + part, inner, places=places, is_as_sent=False)


def _system(request: Mapping[str, JsonValue]) -> Iterator[ForeignMessage]:
    for name in SYSTEM_NAMES:
        said = request.get(name)
        if not said:
            continue
        parts = said.get("parts") if isinstance(said, dict) else None
        content, around = (said, "") if parts is None else (parts, "/parts")
        count = len(content) if isinstance(content, list) else 0
        places = {f"/content/{index}": f"{around}/{index}" for index in range(count)}
        message = {"role": "system", "content": content}
        yield ForeignMessage(f"/{name}", message, places={"/content": "", **places}, is_apart=True)


def _message(value: JsonValue, pointer: str) -> ForeignMessage:
    """Return an entry of a history as a message."""
    found: Dialect | None = None
    for _ in range(_MOST_AROUND):
        if not isinstance(value, dict):
            return ForeignMessage(pointer, None)
        inner, name, dialect = _inside(value)
        if inner is None:
            break
        value, found = inner, dialect or found
        pointer = child_pointer(pointer, name)
    if not isinstance(value, dict):
        return ForeignMessage(pointer, None)
    if value.get("jsonrpc") == "2.0":
        return _of_json_rpc(value, pointer)
    role, kind = value.get("role"), value.get("type")
    if not isinstance(role, str):
        return _without_role(value, kind, pointer, found)
    if role not in _ROLES:
        message = {**value, "role": "user"}
        dialect = found or _dialect_of(value)
        return ForeignMessage(pointer, _with_ids(message), dialect, said_role=role)
    return _told(ForeignMessage(pointer, {**value, "role": _ROLES[role]}, found))


def _inside(value: dict[str, Any]) -> tuple[dict[str, Any] | None, str, Dialect | None]:
    """Return the message that a host has written something around, if it has."""
    kwargs, data, message = value.get("kwargs"), value.get("data"), value.get("message")
    if "lc" in value and isinstance(kwargs, dict):
        named = value.get("id")
        kind = named[-1] if isinstance(named, list) and named else ""
        return {"type": _langchain_type(str(kind)), **kwargs}, "kwargs", "langchain"
    if isinstance(data, dict) and "content" in data and isinstance(value.get("type"), str):
        return {**data, "type": value["type"]}, "data", "langchain"
    if isinstance(message, dict) and isinstance(message.get("role"), str):
        return message, "message", None
    return None, "", None


def _langchain_type(name: str) -> str:
    return name.removesuffix("Chunk").removesuffix("Message").lower()


def _without_role(
    value: dict[str, Any], kind: object, pointer: str, found: Dialect | None
) -> ForeignMessage:
    kind = kind if isinstance(kind, str) else ""
    role = _LANGCHAIN.get(_langchain_type(kind))
    if role and "content" in value:
        return _told(ForeignMessage(pointer, {**value, "role": role}, found or "langchain"))
    if kind in _RESPONSES_ANSWERS or (kind.endswith("_call_output") and "call_id" in value):
        message = {"role": "tool", "content": [{**value, "type": "function_call_output"}]}
        return ForeignMessage(pointer, message, "openai-responses", places={"/content/0": ""})
    is_item = kind in _RESPONSES_ITEMS
    if is_item or kind in _RESPONSES_SAID or kind.endswith("_call"):
        message = {"role": "assistant", "content": [_as_function_call(value, kind)]}
        return ForeignMessage(
            *(pointer, message, "openai-responses"), places={"/content/0": ""}, joins=not is_item
        )
    if isinstance(value.get("parts"), list):
        return _told(ForeignMessage(pointer, {**value, "role": "user"}, found or "gemini"))
    if "content" in value and ("isError" in value or "structuredContent" in value):
        return _of_result(value, pointer, "")
    return ForeignMessage(pointer, None)


def _as_function_call(item: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return a call of a tool that the provider brings along as one of a function."""
    if kind in _RESPONSES_SAID or "call_id" not in item:
        return item
    known = {"type": "function_call", "call_id": item["call_id"]}
    apart = ("type", "id", "call_id", "status")
    arguments = {name: each for name, each in item.items() if name not in apart}
    return {**known, "name": kind.removesuffix("_call"), "arguments": json_text(arguments)}


def _of_json_rpc(value: dict[str, Any], pointer: str) -> ForeignMessage:
    """Return a call of a tool over MCP, or its result, as a message."""
    params, result, call_id = value.get("params"), value.get("result"), str(value.get("id", ""))
    if value.get("method") == "tools/call" and isinstance(params, dict):
        call = {"type": "tool_use", "id": call_id, "name": params.get("name", "")}
        call["input"] = params.get("arguments") or {}
        message = {"role": "assistant", "content": [call]}
        places = {"/content/0": "/params"}
        return ForeignMessage(pointer, message, "mcp", places=places, joins=True, is_as_sent=False)
    if isinstance(result, dict) and "content" in result:
        return _of_result(result, child_pointer(pointer, "result"), call_id)
    return ForeignMessage(pointer, None, "mcp")


def _of_result(result: dict[str, Any], pointer: str, call_id: str) -> ForeignMessage:
    # What a rendering for MCP says of the call, for which the protocol has no place.
    told = result.get("_meta")
    meta = told if isinstance(told, dict) else {}
    block = {
        "type": "tool_result",
        "tool_use_id": call_id or meta.get("pagefault/toolCallId"),
        "name": meta.get("pagefault/toolName"),
        "content": result,
    }
    message = {"role": "tool", "content": [block]}
    places = {"/content/0": ""}
    return ForeignMessage(pointer, message, "mcp", places=places, is_as_sent=False)


def _with_ids(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message whose call is named by a text, as hosts that count them do not."""
    call_id = message.get("tool_call_id")
    if call_id is None or isinstance(call_id, str):
        return message
    named = str(call_id) if isinstance(call_id, int) else None
    return {**message, "tool_call_id": named}


def _told(foreign: ForeignMessage) -> ForeignMessage:
    """Return a message with its dialect, and with parts of the Vercel AI SDK as its blocks."""
    message = _with_ids(foreign.message or {})
    dialect = foreign.dialect or _dialect_of(message)
    held = "parts" if isinstance(message.get("parts"), list) else "toolInvocations"
    parts = message.get(held)
    if dialect != "vercel" or not isinstance(parts, list):
        return ForeignMessage(foreign.pointer, message, dialect, places=foreign.places)
    blocks: list[Any] = []
    places = {}
    for index, part in enumerate(parts):
        for block in _of_ui_part(part):
            places[f"/content/{len(blocks)}"] = f"/{held}/{index}"
            blocks.append(block)
    if held == "toolInvocations" and isinstance(said := message.get("content"), str):
        places[f"/content/{len(blocks)}"] = "/content"
        blocks.append({"type": "text", "text": said})
    read = ("parts", "content", "toolInvocations")
    rest = {name: each for name, each in message.items() if name not in read}
    return ForeignMessage(
        foreign.pointer, {**rest, "content": blocks}, dialect, places=places, is_as_sent=False
    )


def _of_ui_part(part: JsonValue) -> Iterator[JsonValue]:
    """Yield the blocks that a part of a message of the Vercel AI SDK's user interface is."""
    if isinstance(part, dict) and isinstance(part.get("toolInvocation"), dict):
        part = part["toolInvocation"]
    kind = part.get("type", "") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str):
        yield part
        return
    if kind == "step-start":
        return
    if "toolCallId" not in part or kind in ("tool-call", "tool-result"):
        # Whether a text is still being written is nothing that is said.
        yield {name: each for name, each in part.items() if name != "state"}
        return
    name = part.get("toolName", kind.removeprefix("tool-"))
    known: dict[str, JsonValue] = {"toolCallId": part["toolCallId"], "toolName": name}
    yield {"type": "tool-call", **known, "input": part.get("input") or part.get("args") or {}}
    if part.get("state") in ("output-available", "result"):
        yield {"type": "tool-result", **known, "result": part.get("output", part.get("result"))}
    elif part.get("state") == "output-denied" or _is_denied(part.get("approval")):
        reason = (part.get("approval") or {}).get("reason")
        said = (
            f"[The user denied this call: {reason}]" if reason else "[The user denied this call.]"
        )
        yield {"type": "tool-result", **known, "result": said, "isError": True}
    elif part.get("state") == "output-error":
        failed = {"type": "tool-result", **known, "result": part.get("errorText") or ""}
        yield {**failed, "isError": True}


def _is_denied(approval: JsonValue) -> bool:
    return isinstance(approval, dict) and approval.get("approved") is False


def _dialect_of(message: Mapping[str, Any]) -> Dialect | None:
    """Return the dialect that a message shows; words alone are of any."""
    content, calls = message.get("content"), message.get("tool_calls")
    if isinstance(parts := message.get("parts", message.get("toolInvocations")), list):
        typed = any(
            isinstance(each, dict) and ("type" in each or "state" in each) for each in parts
        )
        return "vercel" if typed else "gemini"
    if any(message.get(name) for name in _OF_LANGCHAIN):
        return "langchain"
    if isinstance(calls, list) and calls and isinstance(calls[0], dict):
        return "langchain" if "args" in calls[0] else "openai-chat"
    if isinstance(content, dict):
        return "mcp"
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and (found := _dialect_of_block(block)):
            return found
    return "openai-chat" if message.get("tool_call_id") else None


def _dialect_of_block(block: Mapping[str, Any]) -> Dialect | None:
    kind = block.get("type")
    if not isinstance(kind, str):
        is_of_bedrock = len(block) == 1 or not _BEDROCK_MEMBERS.isdisjoint(block)
        return "bedrock" if is_of_bedrock else None
    if kind in ("image", "audio"):
        if isinstance(block.get("source"), dict):
            return "anthropic"
        return "mcp" if isinstance(block.get("data"), str) and "mimeType" in block else None
    if kind == "file":
        return "openai-chat" if isinstance(block.get("file"), dict) else "vercel"
    return _OF_TYPES.get(kind)


def main_dialect(messages: Sequence[ForeignMessage]) -> Dialect | None:
    """Return the dialect of most messages; the first of several; `None` for words alone."""
    counts = Counter(each.dialect for each in messages if each.dialect is not None)
    if counts.keys() == {"anthropic", "mcp"}:
        return "mcp"
    return counts.most_common(1)[0][0] if counts else None
