"""Reads messages and bodies of any dialect, by the first form in `DIALECTS` that accepts them.

Hosts mix dialects in one history and even in one message, so the form of each block is searched
separately.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pagefault_dialects.dialects.common_results import convert_result
from pagefault_dialects.dialects.foreign_message import DIALECTS as TARGETS
from pagefault_dialects.dialects.foreign_message import Dialect, ForeignMessage
from pagefault_dialects.dialects.mark_index import MarkIndex
from pagefault_dialects.dialects.message_forms import ConversationForm, MessageBlock, MessageForm
from pagefault_dialects.dialects.registry import DIALECTS, find_dialect, find_results
from pagefault_dialects.json.values import JsonObject, JsonValue

_MESSAGES: MarkIndex[MessageForm] = MarkIndex(
    (dialect.name, form) for dialect in DIALECTS for form in dialect.messages
)
_MESSAGES_OF_DIALECT: Mapping[str, MarkIndex[MessageForm]] = {
    dialect.name: MarkIndex((dialect.name, form) for form in dialect.messages)
    for dialect in DIALECTS
}
_BLOCKS: MarkIndex[MessageBlock] = MarkIndex(
    (dialect.name, block) for dialect in DIALECTS for block in dialect.message_blocks
)
_CONVERSATIONS: MarkIndex[ConversationForm] = MarkIndex(
    (dialect.name, form)
    for dialect in DIALECTS
    for form in dialect.conversations
    if not form.is_list
)
_LISTS: MarkIndex[ConversationForm] = MarkIndex(
    (dialect.name, form) for dialect in DIALECTS for form in dialect.conversations if form.is_list
)
_TARGETS: Mapping[str, Dialect] = {name: name for name in TARGETS}
_ROLES = {
    **{role: role for role in ("system", "developer", "user", "assistant", "model", "tool")},
    "function": "function",
    "human": "user",
    "ai": "assistant",
    "bot": "assistant",
    # Roles of smolagents, with the roles that it sends to models: its texts have no ids of calls.
    "tool-call": "assistant",
    "tool-response": "user",
    "toolResult": "tool",
    "tool_result": "tool",
}
_CONTENT_NAMES = ("content", "parts")
# Enough for a message in an event, which is in a line of a file.
_MAX_DEPTH = 4


def read_message(
    value: JsonValue, pointer: str, dialect: str | None = None
) -> list[ForeignMessage]:
    """Return the messages in a value of a history, at least one.

    For a value without messages, that is a `ForeignMessage` without a `message`.

    Args:
        value: Any JSON value.
        pointer: The pointer to the value.
        dialect: The dialect whose forms are tried first, if the dialect is known.
    """
    messages = _Reader(0, dialect).read_message(value, pointer)
    sent = value if len(messages) == 1 and messages[0].pointer == pointer else None
    return [
        replace(
            message,
            sent=sent,
            has_request_form=message.has_request_form and message.pointer == pointer,
        )
        for message in messages
    ]


def find_conversation(value: JsonValue) -> tuple[str, ConversationForm] | None:
    """Return the form of a body, with the name of its dialect; `None` for a plain list of messages.

    The form of a list is that of its first object.
    """
    is_list = isinstance(value, list)
    first = next((item for item in value if isinstance(item, dict)), None) if is_list else value
    if not isinstance(first, dict):
        return None
    present = _remove_nulls(first)
    for name, form in (_LISTS if is_list else _CONVERSATIONS).find_candidates(present):
        if form.accepts_sent(first) and form.accepts(present):
            return name, form
    return None


class _Reader:
    """Reads messages, and messages inside them. See `InnerReader`."""

    __slots__ = ("_depth", "_dialect")

    def __init__(self, depth: int, dialect: str | None = None) -> None:
        self._depth = depth
        self._dialect = dialect

    def read_message(self, value: JsonValue, pointer: str) -> list[ForeignMessage]:
        if isinstance(value, dict) and self._depth < _MAX_DEPTH:
            present = _remove_nulls(value)
            inner = _Reader(self._depth + 1)
            without_messages: list[ForeignMessage] = []
            for name, form in self._find_candidates(present):
                is_accepted = form.accepts_sent(value) and form.accepts(present)
                messages = [*form.read(present, pointer, inner)] if is_accepted else []
                if any(item.message is not None for item in messages):
                    if not form.determines_dialect:
                        return messages
                    overrides = form.overrides_dialect
                    return [_set_dialect(item, name, overrides=overrides) for item in messages]
                without_messages = without_messages or messages
            if without_messages:
                return without_messages
        return [ForeignMessage(pointer, None)]

    def _find_candidates(self, value: JsonObject) -> Iterator[tuple[str, MessageForm]]:
        dialect_forms = _MESSAGES_OF_DIALECT.get(self._dialect or "")
        if dialect_forms is not None:
            yield from dialect_forms.find_candidates(value)
        yield from _MESSAGES.find_candidates(value)

    def read_role_message(
        self, value: JsonObject, pointer: str, dialect: Dialect | None = None
    ) -> ForeignMessage:
        role_name = value.get("role")
        role = _ROLES.get(role_name) if isinstance(role_name, str) else None
        message = {**value, "role": role or "user"}
        found: str | None = dialect
        original_pointers: dict[str, str] = {}
        for name in _CONTENT_NAMES:
            content = value.get(name)
            if not isinstance(content, list | dict):
                continue
            kind, blocks, moved_pointers = _read_content(content, f"/{name}")
            found = found or kind
            if moved_pointers is not None:
                message[name] = blocks
                original_pointers |= moved_pointers
        dialect_name = found or ""
        ignored = find_dialect(dialect_name).ignored_members if dialect_name else frozenset[str]()
        for name in ignored & message.keys():
            del message[name]
        return ForeignMessage(
            pointer,
            _make_call_id_text(message),
            _TARGETS.get(dialect_name),
            unknown_role=None if role or not isinstance(role_name, str) else role_name,
            original_pointers=original_pointers,
            dialect_name=dialect_name,
        )

    def read_blocks(self, content: JsonValue, pointer: str) -> Iterator[tuple[str, JsonValue]]:
        if not isinstance(content, list | dict):
            if content not in (None, ""):
                yield pointer, content
            return
        _, blocks, moved_pointers = _read_content(content, pointer)
        for index, block in enumerate(blocks):
            source_pointer = f"{pointer}/{index}" if isinstance(content, list) else pointer
            yield (moved_pointers or {}).get(f"{pointer}/{index}", source_pointer), block


def _read_content(
    content: list[JsonValue] | JsonObject, pointer: str
) -> tuple[str | None, list[JsonValue], dict[str, str] | None]:
    """Return the dialect of a content, its blocks in common form, and their original pointers.

    The dialect is `None` if the blocks do not determine it. The pointers are `None` if all blocks
    were in common form already.
    """
    block_list = content if isinstance(content, list) else [content]
    found: str | None = None
    blocks: list[JsonValue] = []
    original_pointers: dict[str, str] = {}
    is_changed = False
    for index, block in enumerate(block_list):
        source_pointer = f"{pointer}/{index}" if isinstance(content, list) else pointer
        name, common_blocks = _convert_block(block) if isinstance(block, dict) else (None, None)
        found = found or name
        is_changed = is_changed or common_blocks is not None
        for item in (block,) if common_blocks is None else common_blocks:
            original_pointers[f"{pointer}/{len(blocks)}"] = source_pointer
            blocks.append(item)
    return found, blocks, original_pointers if is_changed else None


def _convert_block(block: JsonObject) -> tuple[str | None, list[JsonValue] | None]:
    """Return the dialect of a block, if the block determines it, and its blocks in common form.

    `None` in place of the blocks means that the block is in common form already.
    """
    if block.get("type") == "text" and "text" in block and "cache_control" not in block:
        # Most blocks have this form, in any dialect.
        return None, None
    present = _remove_nulls(block)
    found = _find_block(present)
    if found is not None:
        return found
    if "role" in present:
        return None, None
    results = find_results(present)
    if results and all(result.call_id or result.name for result in results):
        common_blocks = [
            convert_result(result, find_dialect(result.dialect).blocks, _convert_result_block)
            for result in results
        ]
        return results[0].dialect, common_blocks
    return None, None


def _find_block(block: JsonObject) -> tuple[str | None, list[JsonValue] | None] | None:
    """Return dialect and blocks like `_convert_block`; `None` if no form accepts the block."""
    for name, form in _BLOCKS.find_candidates(block):
        if not form.accepts(block):
            continue
        common_blocks = form.read(block) if form.read is not None else None
        if form.read is None or common_blocks is not None:
            dialect = name if form.determines_dialect else None
            return dialect, None if common_blocks is None else [*common_blocks]
    return None


def _convert_result_block(block: JsonObject) -> list[JsonValue] | None:
    found = _find_block(_remove_nulls(block))
    return None if found is None else found[1]


def _set_dialect(message: ForeignMessage, name: str, *, overrides: bool) -> ForeignMessage:
    """Return a message with a dialect, unless it has another one that is not overridden."""
    if message.dialect_name and not overrides:
        return message
    return replace(message, dialect_name=name, dialect=message.dialect or _TARGETS.get(name))


def _make_call_id_text(message: JsonObject) -> JsonObject:
    """Return a message with the id of its call as text, since some hosts number calls."""
    call_id = message.get("tool_call_id")
    if call_id is None or isinstance(call_id, str):
        return message
    text_id = str(call_id) if isinstance(call_id, int) else None
    return {**message, "tool_call_id": text_id}


def _remove_nulls(value: JsonObject) -> JsonObject:
    if None not in value.values():
        return value
    return {name: member for name, member in value.items() if member is not None}
