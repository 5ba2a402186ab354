"""AG-UI: messages, and the events that stream them."""

from collections.abc import Iterable, Iterator

from pagefault_dialects.dialects.ag_ui_events import EVENTS, is_outside_conversation, read_events
from pagefault_dialects.dialects.common_results import convert_result
from pagefault_dialects.dialects.envelope import DialectTables, Envelope, by_presence
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    call_block,
    compose_message,
    medium_block,
    thought_block,
)
from pagefault_dialects.dialects.message_forms import (
    ConversationForm,
    InnerReader,
    MessageBlock,
    MessageForm,
)
from pagefault_dialects.dialects.shapes import (
    Members,
    accept_any,
    is_content,
    is_object,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content
from pagefault_dialects.json.values import JsonObject, JsonValue, text_member


def _choose_contents(members: Members) -> Iterable[Content]:
    """Yield the content; the error, if there is no content."""
    name = "content" if members["content"] or "error" not in members else "error"
    yield Content(members[name], members.path(name), "content")


_TOOL_MESSAGE = Envelope(
    marks=(("role", "tool"),),
    shape=shape(
        {
            "role": one_of("tool"),
            "id": is_string,
            "toolCallId": is_string,
            "content": is_content,
        },
        {
            **dict.fromkeys(("error", "encryptedValue", "subagentRunId"), is_string),
            "metadata": is_object,
        },
    ),
    contents=(),
    call_id=("toolCallId",),
    failure=by_presence("error"),
    choose_contents=_choose_contents,
)
_BLOCKS = (
    BlockForm((("text",),), "text", ("type", "text")),
    BlockForm((("source", "value"),), "media", ("type", "image"), kind="image"),
    BlockForm((("source", "value"),), "media", ("type", "audio"), kind="audio"),
    BlockForm((("source", "value"),), "media", ("type", "video"), kind="video"),
    BlockForm((("source", "value"),), "media", ("type", "document")),
)
_ROLES = {
    **{role: role for role in ("user", "assistant", "system")},
    "developer": "system",
    "reasoning": "assistant",
    "activity": "assistant",
}
_is_source_type = one_of("data", "url")
# Members that only messages of AG-UI have.
_MARKS = ("toolCalls", "encryptedValue", "encrypted_value", "subagentRunId", "subagent_run_id")
_ROLE_MARKS: tuple[tuple[str, str], ...] = (("role", "reasoning"), ("role", "activity"))


def _is_message(value: JsonObject) -> bool:
    """Return whether an object is a message of AG-UI other than a tool result."""
    calls = value.get("toolCalls", value.get("tool_calls", []))
    return (
        is_string(value.get("id"))
        and one_of(*_ROLES)(value.get("role"))
        and isinstance(calls, list)
        and all(isinstance(call, dict) and is_object(call.get("function")) for call in calls)
    )


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    blocks = [*_read_content(value, reader), *_read_calls(value)]
    yield compose_message(_ROLES[value["role"]], blocks, pointer)


def _read_content(value: JsonObject, reader: InnerReader) -> Iterator[tuple[str, JsonValue]]:
    """Yield the blocks of the content. Activities have none, since only people see them."""
    content = value.get("content")
    if value["role"] == "reasoning":
        yield "/content", thought_block(content)
    elif value["role"] != "activity":
        yield from reader.read_blocks(content, "/content")


def _read_calls(value: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    name = "toolCalls" if "toolCalls" in value else "tool_calls"
    for index, call in enumerate(value.get(name) or ()):
        function = call["function"]
        arguments = function.get("arguments")
        yield f"/{name}/{index}", call_block(call.get("id"), function.get("name"), arguments)


def _read_result(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    """Yield the message of an event with a result; nothing if the event has another form."""
    results = [*reader.read_blocks(value, "")]
    if results != [("", value)]:
        yield compose_message("tool", results, pointer)


def _read_tool_message(
    value: JsonObject, pointer: str, reader: InnerReader
) -> Iterator[ForeignMessage]:
    """Yield a message with a result; nothing if the message has another form."""
    del reader
    output = _TOOL_MESSAGE.open("ag-ui", value)
    if output is not None:
        result = convert_result(output, _BLOCKS, _convert_block)
        yield compose_message("tool", [("/content", result)], pointer)


def _convert_block(block: JsonObject) -> list[JsonValue] | None:
    return _read_medium(block) if _is_medium(block) else None


def _read_medium(block: JsonObject) -> list[JsonValue]:
    source = block["source"]
    kind = "file" if block.get("type") == "document" else text_member(block, "type")
    mime_type = source.get("mimeType", source.get("mime_type"))
    return [medium_block(kind, source["value"], mime_type, None)]


def _is_medium(block: JsonObject) -> bool:
    source = block.get("source")
    return isinstance(source, dict) and _is_source_type(source.get("type")) and "value" in source


def _read_binary(block: JsonObject) -> list[JsonValue]:
    mime_type = block.get("mimeType", block.get("mime_type"))
    data = block.get("data") or block.get("url")
    return [medium_block("file", data, mime_type, block.get("filename"))]


DIALECT = DialectTables(
    "ag-ui",
    (
        Envelope(
            marks=(("type", "TOOL_CALL_RESULT"),),
            shape=shape(
                {
                    "type": one_of("TOOL_CALL_RESULT"),
                    "messageId": is_string,
                    "toolCallId": is_string,
                    "content": is_content,
                },
                {
                    "role": one_of("tool"),
                    "metadata": is_object,
                    "subagentRunId": is_string,
                    **dict.fromkeys(("timestamp", "rawEvent"), accept_any),
                },
            ),
            contents=(("content",),),
            read_as="content",
            call_id=("toolCallId",),
        ),
        _TOOL_MESSAGE,
    ),
    _BLOCKS,
    has_closed_content=True,
    messages=(
        MessageForm(marks=(*_MARKS, *_ROLE_MARKS), accepts=_is_message, read=_read_message),
        MessageForm(marks=(("role", "tool"),), read=_read_tool_message),
        MessageForm(marks=(("type", "TOOL_CALL_RESULT"),), read=_read_result),
    ),
    message_blocks=(
        MessageBlock(
            marks=tuple(("type", kind) for kind in ("image", "audio", "video", "document")),
            accepts=_is_medium,
            read=_read_medium,
        ),
        MessageBlock(
            marks=(("type", "binary"),),
            accepts=lambda block: bool(block.get("data") or block.get("url")),
            read=_read_binary,
        ),
    ),
    conversations=(
        ConversationForm(
            marks=tuple(("type", kind) for kind in sorted(EVENTS)),
            read=read_events,
            is_list=True,
            is_skipped=is_outside_conversation,
        ),
    ),
    ignored_members=frozenset(
        (
            *("id", "name", "metadata", "encryptedValue", "encrypted_value"),
            *("subagentRunId", "subagent_run_id"),
        )
    ),
)
