"""Faults of original messages, which are lost when they are read as turns.

Most are violations of the rules of one provider, and are checked in histories of its dialect only.
Renderings for other providers follow their rules anyway.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from pagefault_dialects.json.surrogates import has_lone_surrogate
from pagefault_dialects.json.values import json_text, text_member
from pagefault_dialects.messages.histories import Dialect, ForeignMessage
from pagefault_dialects.messages.message_calls import as_answer, as_call, has_own_id, list_calls
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.targets.rules import make_finding, shorten_quote

_SPELLING: frozenset[Dialect] = frozenset(("openai-chat", "openai-responses"))
_APART: frozenset[Dialect] = frozenset(("anthropic", "gemini", "bedrock", "mcp"))
_RESULTS_FIRST: frozenset[Dialect] = frozenset(("anthropic", "bedrock"))
_NAMED: frozenset[Dialect] = _SPELLING | _RESULTS_FIRST
_SIDES = {"model": "assistant", "tool": "user", "function": "user"}


def message_faults(messages: Sequence[ForeignMessage], main: Dialect | None) -> Iterator[Finding]:
    """Yield the faults of messages.

    Args:
        messages: The messages of a history, in order.
        main: The intended dialect; `None` for plain messages.
    """
    dialect: Dialect = main or "openai-chat"
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
        is_as_in_mcp = (message.dialect, main) == ("anthropic", "mcp")
        if message.dialect not in (None, main) and not is_as_in_mcp:
            yield make_finding(
                "mixed-dialects", message.pointer, limit=main, actual=message.dialect
            )
        yield from _check_types(message)
        yield from _check_media(message)
        yield from _check_calls(message, dialect)
        if dialect == "openai-chat" and message.message.get("tool_calls") == []:
            yield make_finding("empty-calls", f"{message.pointer}/tool_calls", actual="[]")
    if dialect in _APART:
        yield from _check_system(messages)
    if dialect in _RESULTS_FIRST:
        yield from _check_results(messages)
    if dialect == "bedrock":
        yield from _check_sides(messages)


def call_faults(foreign: ForeignMessage) -> Iterator[Finding]:
    """Yield the faults of the calls in a message, by the rules of its own dialect."""
    return _check_calls(foreign, foreign.dialect or "openai-chat")


def _check_types(foreign: ForeignMessage) -> Iterator[Finding]:
    content = (foreign.message or {}).get("content")
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict) and "type" in block and not text_member(block, "type"):
            place = foreign.original_pointer(f"/content/{index}/type")
            yield make_finding("no-type", place, actual=shorten_quote(json_text(block["type"])))


def _check_media(foreign: ForeignMessage) -> Iterator[Finding]:
    """Yield media without bytes, which are read as a text."""
    content = (foreign.message or {}).get("content")
    for pointer, block in _blocks(content, "/content"):
        inner = block.get("content") if block.get("type") == "tool_result" else None
        is_at_place = foreign.original_pointer(pointer) == foreign.pointer + pointer
        for place, item in [(pointer, block), *_blocks(inner, f"{pointer}/content")]:
            if _is_empty_medium(item):
                # A result that was read from an item of another form is named as a whole.
                where = foreign.original_pointer(place if is_at_place else pointer)
                yield make_finding("unreadable", where, actual="no bytes")


def _blocks(content: Any, pointer: str) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 - a value of JSON
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict):
            yield f"{pointer}/{index}", block


def _is_empty_medium(block: dict[str, Any]) -> bool:
    source, url = block.get("source"), block.get("image_url")
    if isinstance(source, dict):
        return source.get("type") == "base64" and source.get("data") == ""
    address = url.get("url") if isinstance(url, dict) else url
    return isinstance(address, str) and address.startswith("data:") and address.endswith(",")


def _check_calls(foreign: ForeignMessage, dialect: Dialect) -> Iterator[Finding]:
    message = foreign.message or {}
    for pointer, call, arguments, name in _calls(message):
        place = foreign.original_pointer(pointer)
        call_id = next((value for key in _IDS if isinstance(value := call.get(key), str)), None)
        if not has_own_id(call) and dialect in _NAMED:
            yield make_finding("no-id", place)
        where = foreign.original_pointer(f"{pointer}/{name}") if name else place
        if isinstance(arguments, str) and (name.endswith("arguments") or dialect in _SPELLING):
            if not _is_object(arguments):
                yield make_finding(
                    "bad-arguments", where, actual=shorten_quote(arguments), call_id=call_id
                )
            elif has_lone_surrogate(json.loads(arguments)):
                yield make_finding("half-surrogate", where, call_id=call_id)
        elif isinstance(arguments, dict):
            is_own = foreign.is_as_sent and foreign.dialect in (None, dialect)
            if dialect in _SPELLING and is_own:
                text = shorten_quote(json.dumps(arguments, default=str))
                yield make_finding("unspelled-arguments", where, actual=text, call_id=call_id)
        elif arguments is not None or dialect in _NAMED:
            text = shorten_quote(json.dumps(arguments, default=str))
            yield make_finding("bad-arguments", where, actual=text, call_id=call_id)


_IDS = ("toolCallId", "toolUseId", "tool_call_id", "call_id", "id")
_ARGUMENTS = ("arguments", "input", "args")


def _calls(message: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any, str]]:
    """Yield the calls of a message: pointer, call, arguments, and their relative pointer."""
    for pointer, call in list_calls(message):
        if isinstance(inner := call.get("function"), dict):
            yield pointer, {**inner, **call}, inner.get("arguments"), "function/arguments"
        elif "custom" not in call:
            yield pointer, call, *_arguments(call)
    if message.get("role") not in ("assistant", "model"):
        return
    for name in ("content", "parts"):
        blocks = message.get(name)
        for index, block in enumerate(blocks if isinstance(blocks, list) else []):
            if as_call(block, 0, 0) is None or block.get("type") == "custom_tool_call":
                continue
            key = next(
                (wrapper for wrapper in _WRAPPERS if isinstance(block.get(wrapper), dict)), None
            )
            call, pointer = (block, "") if key is None else (block[key], f"/{key}")
            yield f"/{name}/{index}{pointer}", call, *_arguments(call)


_WRAPPERS = ("toolUse", "functionCall", "function_call")


def _arguments(call: dict[str, Any]) -> tuple[Any, str]:
    name = next((argument for argument in _ARGUMENTS if argument in call), "")
    return call.get(name), name


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(name: str) -> None:
    raise ValueError(name)


def _check_system(messages: Sequence[ForeignMessage]) -> Iterator[Finding]:
    """Yield system prompts at the beginning; later ones are in the loss account."""
    for foreign in messages:
        role = (foreign.message or {}).get("role")
        if role not in ("system", "developer"):
            return
        if not foreign.is_apart:
            yield make_finding("system-among-messages", foreign.pointer, actual=role)


def _side(foreign: ForeignMessage) -> str | None:
    if foreign.message is None:
        return None
    role: str = foreign.message["role"]
    return _SIDES.get(role, role)


def _check_results(messages: Sequence[ForeignMessage]) -> Iterator[Finding]:
    """Yield results behind other content; consecutive messages of one side count as one."""
    called: set[str] = set()
    for side, run in groupby(messages, _side):
        if side != "user":
            contents = ((foreign.message or {}).get("content") for foreign in run)
            blocks = (item for content in contents if isinstance(content, list) for item in content)
            calls = (as_call(block, 0, 0) for block in blocks)
            called = {call.call_id for call in calls if call is not None}
            continue
        is_behind = False
        for foreign in run:
            content = (foreign.message or {}).get("content")
            for index, block in enumerate(content if isinstance(content, list) else [content]):
                answer = as_answer(block)
                if answer is None:
                    is_behind = is_behind or block not in (None, "")
                elif is_behind and answer.call_id in called:
                    pointer = foreign.original_pointer(f"/content/{index}")
                    call_id = answer.call_id or None
                    yield make_finding("results-not-first", pointer, call_id=call_id)


def _check_sides(messages: Sequence[ForeignMessage]) -> Iterator[Finding]:
    before: str | None = "system"
    for foreign in messages:
        side = _side(foreign)
        if side == before != "system":
            yield make_finding("same-side-twice", foreign.pointer, actual=side)
        before = side or before
