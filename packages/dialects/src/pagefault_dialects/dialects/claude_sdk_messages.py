"""Messages of the Claude Agent SDK for Python, as `dataclasses.asdict` writes them.

Messages and blocks have no role and no type. `asdict` writes every member of a class, also those
that are `null`, so the names of the members show the class of a message.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.dialects.message_forms import ConversationForm, InnerReader, MessageForm
from pagefault_dialects.json.values import JsonObject, JsonValue, text_member

_MESSAGE_MEMBERS = frozenset(("content", "uuid", "parent_tool_use_id"))
_TYPED_MEMBERS = frozenset(("role", "type"))
# The members that show a report: of the system, of a run, of a stream, of limits, of a reset.
_REPORT_MEMBERS = (
    frozenset(("subtype", "data")),
    frozenset(("subtype", "duration_ms", "num_turns", "session_id")),
    frozenset(("event", "uuid", "session_id", "parent_tool_use_id")),
    frozenset(("rate_limit_info", "uuid", "session_id")),
    frozenset(("new_conversation_id", "uuid", "session_id")),
)
# The SDK says that these names show the calls of Anthropic's tools. Other tools of Claude Code have
# names in capitals, or with a prefix.
_SERVER_TOOLS = frozenset(
    (
        *("advisor", "web_search", "web_fetch", "code_execution", "bash_code_execution"),
        *("text_editor_code_execution", "tool_search_tool_regex", "tool_search_tool_bm25"),
    )
)


def _is_message(value: JsonObject) -> bool:
    names = value.keys()
    # The first versions of assistant's messages have no `uuid`.
    has_members = names >= _MESSAGE_MEMBERS or {"content", "model", "parent_tool_use_id"} <= names
    return has_members and _TYPED_MEMBERS.isdisjoint(names)


def _has_content(value: JsonObject) -> bool:
    content = value.get("content")
    if isinstance(content, str):
        return "model" not in value
    return isinstance(content, list) and all(
        isinstance(block, dict) and _find_type(block) is not None for block in content
    )


def _find_type(block: JsonObject) -> str | None:
    """Return the type of a block in Anthropic's API; `None` for a block of another class."""
    names = block.keys()
    if isinstance(block.get("type"), str):
        return str(block["type"])
    if "tool_use_id" in names:
        return "advisor_tool_result" if isinstance(block.get("content"), dict) else "tool_result"
    if {"id", "name", "input"} <= names:
        return "server_tool_use" if text_member(block, "name") in _SERVER_TOOLS else "tool_use"
    return next((name for name in ("thinking", "text") if name in names), None)


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    content = value["content"]
    if isinstance(content, list):
        content = [{**block, "type": _find_type(block)} for block in content]
    is_reply = "model" in value
    message = {"role": "assistant" if is_reply else "user", "content": content}
    foreign = reader.read_role_message(message, pointer, "anthropic")
    # The SDK yields each block of a reply as a message of its own.
    yield replace(foreign, has_request_form=False, continues_turn=is_reply)


def _is_report(value: JsonObject) -> bool:
    names = value.keys()
    return _TYPED_MEMBERS.isdisjoint(names) and any(members <= names for members in _REPORT_MEMBERS)


def _is_skipped(value: JsonObject) -> bool:
    return _is_report(value) or (_is_message(value) and value.get("parent_tool_use_id") is not None)


def _read_list(values: Sequence[JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """Yield the messages of a list, without those of subagents."""
    for index, value in enumerate(values):
        if not (isinstance(value, dict) and _is_skipped(value)):
            yield f"/{index}", value


MESSAGES = (
    MessageForm(
        marks=("content",),
        accepts_sent=_is_message,
        accepts=_has_content,
        read=_read_message,
        overrides_dialect=True,
    ),
)
CONVERSATIONS = (
    ConversationForm(
        marks=("content", "subtype", "event", "rate_limit_info"),
        accepts_sent=lambda first: _is_message(first) or _is_report(first),
        read=_read_list,
        is_list=True,
        is_skipped=_is_skipped,
        message_dialect="anthropic",
    ),
)
