"""Transcripts of Codex: lines that contain items of OpenAI's Responses API, or are such items."""

from collections.abc import Iterator

from pagefault_dialects.dialects.envelope import DialectTables
from pagefault_dialects.dialects.message_forms import ConversationForm
from pagefault_dialects.json.values import JsonObject, JsonValue

_LINE_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_ITEM_TYPE = "response_item"
# Types of items that are no part of the conversation.
_SKIPPED_ITEMS = ("ghost_snapshot", "other")


def _is_line(value: JsonObject) -> bool:
    return value.get("type") in _LINE_TYPES and isinstance(value.get("payload"), dict)


def _is_first_line(value: JsonObject) -> bool:
    """Return whether an object is the first line of a file whose other lines are the items.

    Early versions wrote such files.
    """
    return "type" not in value and isinstance(value.get("timestamp"), str) and "id" in value


def _is_item(line: JsonObject) -> bool:
    """Return whether a line has an item of the conversation, or is one, or is a compaction."""
    if line.get("type") == "compacted":
        return isinstance(line.get("payload"), dict)
    if isinstance(line.get("payload"), dict) and line.get("type") != _ITEM_TYPE:
        # A type of line that later versions added.
        return False
    item = line.get("payload") if line.get("type") == _ITEM_TYPE else line
    if not isinstance(item, dict):
        return False
    kind = item.get("type")
    # A message of another dialect may have no type.
    return "role" in item if kind is None else kind not in (*_SKIPPED_ITEMS, *_LINE_TYPES)


def read_items(lines: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield the items of the conversation in order, each after its pointer.

    A compaction replaces the items before it; see `_apply_compaction`.
    """
    conversation: list[tuple[str, JsonValue]] = []
    for index, line in enumerate(lines):
        if not isinstance(line, dict) or not _is_item(line):
            continue
        if line.get("type") == "compacted":
            conversation = _apply_compaction(conversation, line["payload"], f"/{index}/payload")
        elif line.get("type") == _ITEM_TYPE:
            conversation.append((f"/{index}/payload", line["payload"]))
        else:
            conversation.append((f"/{index}", line))
    yield from conversation


def _apply_compaction(
    items: list[tuple[str, JsonValue]], payload: JsonObject, pointer: str
) -> list[tuple[str, JsonValue]]:
    """Return the items of the conversation after a compaction.

    They are the items that the compaction lists. If it lists none, they are the messages of the
    user, and the summary of the compaction.

    Args:
        items: The pointers and values of the items before the compaction.
        payload: The content of the line with the compaction.
        pointer: The pointer to the content.
    """
    replacement = payload.get("replacement_history")
    if isinstance(replacement, list):
        return [
            (f"{pointer}/replacement_history/{index}", item)
            for index, item in enumerate(replacement)
        ]
    user_items = [
        item for item in items if isinstance(item[1], dict) and item[1].get("role") == "user"
    ]
    summary = {"type": "message", "role": "user", "content": payload.get("message") or ""}
    return [*user_items, (pointer, summary)]


DIALECT = DialectTables(
    "codex",
    (),
    conversations=(
        ConversationForm(
            marks=(*(("type", kind) for kind in _LINE_TYPES), "timestamp"),
            accepts=lambda value: _is_line(value) or _is_first_line(value),
            read=read_items,
            is_list=True,
            is_skipped=lambda line: not _is_item(line),
            message_dialect="openai-responses",
        ),
    ),
)
