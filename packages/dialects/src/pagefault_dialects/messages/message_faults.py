"""Finds the faults of messages as they were sent, which are lost when messages become turns.

Most faults violate the rules of one provider, and are looked for only in histories of its dialect.
A rendering for any target repairs the faults.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from pagefault_dialects.dialects.foreign_message import Dialect, ForeignMessage
from pagefault_dialects.json.pointers import follow
from pagefault_dialects.json.surrogates import has_lone_surrogate
from pagefault_dialects.json.values import JsonObject, json_text, text_member
from pagefault_dialects.messages.message_calls import (
    has_id,
    list_calls,
    read_call,
    read_tool_result,
)
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.targets.rules import make_finding, shorten_quote

# Dialects by their rules: arguments are JSON texts; the system prompt is beside the messages;
# results precede other content; calls have ids.
_ARGUMENT_TEXTS: frozenset[Dialect] = frozenset(("openai-chat", "openai-responses"))
_SYSTEM_BESIDE_MESSAGES: frozenset[Dialect] = frozenset(("anthropic", "gemini", "bedrock", "mcp"))
_RESULTS_FIRST: frozenset[Dialect] = frozenset(("anthropic", "bedrock"))
_CALL_IDS: frozenset[Dialect] = _ARGUMENT_TEXTS | _RESULTS_FIRST
# Anthropic and Bedrock require that the sides `user` and `assistant` alternate. These are the sides
# of other roles.
_SIDES = {"model": "assistant", "tool": "user", "function": "user"}
_ID_NAMES = ("toolCallId", "toolUseId", "tool_call_id", "call_id", "id")
_ARGUMENT_NAMES = ("arguments", "input", "args")
# Members of a block whose value is an object with the call.
_CALL_MEMBERS = ("toolUse", "functionCall", "function_call")


def find_message_faults(
    messages: Sequence[ForeignMessage], main_dialect: Dialect | None
) -> Iterator[Finding]:
    """Yield the faults of messages.

    Args:
        messages: The messages of a history, in order.
        main_dialect: The dialect of the history; `None` if all messages could be of any dialect.
    """
    dialect: Dialect = main_dialect or "openai-chat"
    for message in messages:
        if message.unknown_role is not None:
            yield make_finding(
                "unknown-role",
                f"{message.pointer}/role",
                actual=shorten_quote(message.unknown_role),
            )
        if message.message is None:
            yield make_finding("not-a-message", message.pointer)
            continue
        # Calls and results of MCP sampling have the same form as Anthropic's.
        is_mcp_sampling = (message.dialect, main_dialect) == ("anthropic", "mcp")
        if message.dialect not in (None, main_dialect) and not is_mcp_sampling:
            yield make_finding(
                "mixed-dialects", message.pointer, limit=main_dialect, actual=message.dialect
            )
        yield from _check_types(message)
        yield from _check_media(message)
        yield from _check_calls(message, dialect)
        if dialect == "openai-chat" and message.message.get("tool_calls") == []:
            yield make_finding("empty-calls", f"{message.pointer}/tool_calls", actual="[]")
    if dialect in _SYSTEM_BESIDE_MESSAGES:
        yield from _check_system(messages)
    if dialect in _RESULTS_FIRST:
        yield from _check_results(messages)
    if dialect == "bedrock":
        yield from _check_sides(messages)


def find_call_faults(foreign: ForeignMessage) -> Iterator[Finding]:
    """Yield the faults of the calls in a message, by the rules of its own dialect."""
    return _check_calls(foreign, foreign.dialect or "openai-chat")


def _check_types(foreign: ForeignMessage) -> Iterator[Finding]:
    """Yield the blocks whose `type` is no text, or empty."""
    content = (foreign.message or {}).get("content")
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict) and "type" in block and not text_member(block, "type"):
            pointer = foreign.original_pointer(f"/content/{index}/type")
            yield make_finding("no-type", pointer, actual=shorten_quote(json_text(block["type"])))


def _check_media(foreign: ForeignMessage) -> Iterator[Finding]:
    """Yield the media without bytes. In turns, they are texts."""
    content = (foreign.message or {}).get("content")
    for pointer, block in _list_blocks(content, "/content"):
        inner = block.get("content") if block.get("type") == "tool_result" else None
        is_at_place = foreign.original_pointer(pointer) == foreign.pointer + pointer
        for item_pointer, item in [(pointer, block), *_list_blocks(inner, f"{pointer}/content")]:
            if _is_empty_medium(item):
                # If the block was converted to common form, the pointers inside it are unknown.
                is_as_sent = is_at_place and _is_sent(foreign, item, item_pointer)
                original = foreign.original_pointer(item_pointer if is_as_sent else pointer)
                yield make_finding("unreadable", original, actual="no bytes")


def _is_sent(foreign: ForeignMessage, block: JsonObject, pointer: str) -> bool:
    """Return whether a message has a block at a pointer, or was only a part of what was sent."""
    names = tuple(pointer.split("/")[1:])
    return foreign.sent is None or follow(foreign.sent, names).value == block


def _list_blocks(content: object, pointer: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the blocks of a content, each with its pointer.

    Args:
        content: The content; only a list has blocks.
        pointer: The pointer to the content.
    """
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict):
            yield f"{pointer}/{index}", block


def _is_empty_medium(block: dict[str, Any]) -> bool:
    """Return whether a block has a medium in base64 or in a data URI, but no bytes."""
    source, url = block.get("source"), block.get("image_url")
    if isinstance(source, dict):
        return source.get("type") == "base64" and source.get("data") == ""
    data_uri = url.get("url") if isinstance(url, dict) else url
    return isinstance(data_uri, str) and data_uri.startswith("data:") and data_uri.endswith(",")


def _check_calls(foreign: ForeignMessage, dialect: Dialect) -> Iterator[Finding]:
    """Yield the calls without an id, or whose arguments are no JSON object, by the dialect's rules.

    Args:
        foreign: The message.
        dialect: The dialect whose rules apply.
    """
    for call in _find_calls(foreign.message or {}):
        arguments = call.arguments
        call_pointer = foreign.original_pointer(call.pointer)
        ids = (call.members.get(name) for name in _ID_NAMES)
        call_id = next((value for value in ids if isinstance(value, str)), None)
        if not has_id(call.members) and dialect in _CALL_IDS:
            yield make_finding("no-id", call_pointer)
        arguments_pointer = call_pointer
        if call.arguments_path:
            arguments_pointer = foreign.original_pointer(f"{call.pointer}/{call.arguments_path}")
        # In some dialects, arguments are JSON text; in others, they are an object, and a string may
        # only be in a member `arguments`.
        if isinstance(arguments, str) and (
            call.arguments_path.endswith("arguments") or dialect in _ARGUMENT_TEXTS
        ):
            if not _is_json_object(arguments):
                yield make_finding(
                    "bad-arguments",
                    arguments_pointer,
                    actual=shorten_quote(arguments),
                    call_id=call_id,
                )
            elif has_lone_surrogate(json.loads(arguments)):
                yield make_finding("half-surrogate", arguments_pointer, call_id=call_id)
        elif isinstance(arguments, dict):
            is_request = foreign.has_request_form and foreign.dialect in (None, dialect)
            if dialect in _ARGUMENT_TEXTS and is_request:
                text = shorten_quote(json.dumps(arguments, default=str))
                yield make_finding(
                    "unspelled-arguments", arguments_pointer, actual=text, call_id=call_id
                )
        elif arguments is not None or dialect in _CALL_IDS:
            text = shorten_quote(json.dumps(arguments, default=str))
            yield make_finding("bad-arguments", arguments_pointer, actual=text, call_id=call_id)


class _SentCall(NamedTuple):
    """A call in a message, with its arguments as they were sent."""

    pointer: str
    """The pointer to the call in the message."""
    members: dict[str, Any]
    """The members of the call, also those of its `function`."""
    arguments: Any
    arguments_path: str
    """The pointer from the call to the arguments without the first slash; empty without any."""


def _find_calls(message: dict[str, Any]) -> Iterator[_SentCall]:
    """Yield the calls of a message, except those of custom tools, whose input is any text."""
    for pointer, call in list_calls(message):
        if isinstance(function := call.get("function"), dict):
            arguments = function.get("arguments")
            yield _SentCall(pointer, {**function, **call}, arguments, "function/arguments")
        elif "custom" not in call:
            yield _SentCall(pointer, call, *_find_arguments(call))
    if message.get("role") not in ("assistant", "model"):
        return
    for name in ("content", "parts"):
        blocks = message.get(name)
        for index, block in enumerate(blocks if isinstance(blocks, list) else []):
            if read_call(block, 0, 0) is None or block.get("type") == "custom_tool_call":
                continue
            member = next(
                (member for member in _CALL_MEMBERS if isinstance(block.get(member), dict)), None
            )
            call, call_path = (block, "") if member is None else (block[member], f"/{member}")
            yield _SentCall(f"/{name}/{index}{call_path}", call, *_find_arguments(call))


def _find_arguments(call: dict[str, Any]) -> tuple[Any, str]:
    """Return the arguments of a call and the name of their member; `None` and `""` without any."""
    name = next((name for name in _ARGUMENT_NAMES if name in call), "")
    return call.get(name), name


def _is_json_object(text: str) -> bool:
    """Return whether a text is a JSON object without `NaN` and `Infinity`."""
    try:
        return isinstance(json.loads(text, parse_constant=_refuse_constant), dict)
    except (ValueError, RecursionError):
        return False


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _check_system(messages: Sequence[ForeignMessage]) -> Iterator[Finding]:
    """Yield the system messages at the beginning of the list; the loss account has later ones."""
    for foreign in messages:
        role = (foreign.message or {}).get("role")
        if role not in ("system", "developer"):
            return
        if not foreign.is_system_prompt:
            yield make_finding("system-among-messages", foreign.pointer, actual=role)


def _find_side(foreign: ForeignMessage) -> str | None:
    """Return the side of a message: its role, where tool results count as the user's."""
    if foreign.message is None:
        return None
    role: str = foreign.message["role"]
    return _SIDES.get(role, role)


def _check_results(messages: Sequence[ForeignMessage]) -> Iterator[Finding]:
    """Yield the results that follow other content in the same message of the user.

    Consecutive messages of one side count as one message.
    """
    called_ids: set[str] = set()
    for side, run in groupby(messages, _find_side):
        if side != "user":
            contents = ((foreign.message or {}).get("content") for foreign in run)
            blocks = (item for content in contents if isinstance(content, list) for item in content)
            calls = (read_call(block, 0, 0) for block in blocks)
            called_ids = {call.call_id for call in calls if call is not None}
            continue
        has_other_content = False
        for foreign in run:
            content = (foreign.message or {}).get("content")
            for index, block in enumerate(content if isinstance(content, list) else [content]):
                result = read_tool_result(block)
                if result is None:
                    has_other_content = has_other_content or block not in (None, "")
                elif has_other_content and result.call_id in called_ids:
                    pointer = foreign.original_pointer(f"/content/{index}")
                    call_id = result.call_id or None
                    yield make_finding("results-not-first", pointer, call_id=call_id)


def _check_sides(messages: Sequence[ForeignMessage]) -> Iterator[Finding]:
    """Yield the messages that follow a message of the same side."""
    previous_side: str | None = "system"
    for foreign in messages:
        side = _find_side(foreign)
        if side == previous_side != "system":
            yield make_finding("same-side-twice", foreign.pointer, actual=side)
        previous_side = side or previous_side
