"""AutoGen: messages of models and of agents, and results of function executions and workbenches."""

from collections.abc import Iterator

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper, by_flag
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    call_block,
    compose_message,
    medium_block,
    text_block,
    thought_block,
)
from pagefault_dialects.dialects.message_forms import (
    ConversationForm,
    InnerReader,
    MessageForm,
)
from pagefault_dialects.dialects.shapes import (
    accept_any,
    is_boolean,
    is_object,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm
from pagefault_dialects.json.values import JsonObject, JsonValue, json_text, text_member

_FAILURE = by_flag("is_error")


def _make_results_wrapper(kind: str, *optional: str) -> Wrapper:
    """Return the wrapper of a message with results.

    Args:
        kind: The type of the message.
        optional: The members with texts that the message may have.
    """
    return Wrapper(
        marks=(("type", kind),),
        shape=shape(
            {"type": one_of(kind), "content": is_object_array},
            {
                **dict.fromkeys(optional, is_string),
                "models_usage": accept_any,
                "metadata": is_object,
            },
        ),
        inner="content",
        label="message",
    )


# The types of messages: with texts, calls, and results.
_TEXT_TYPES = (
    *("TextMessage", "MultiModalMessage", "StopMessage", "HandoffMessage"),
    "ToolCallSummaryMessage",
)
_CALL_TYPES = ("AssistantMessage", "ToolCallRequestEvent")
_RESULT_TYPES = ("FunctionExecutionResultMessage", "ToolCallExecutionEvent")
_REPORT_TYPES = (
    *("MemoryQueryEvent", "ModelClientStreamingChunkEvent", "UserInputRequestedEvent"),
    *("SelectSpeakerEvent", "SelectorEvent", "CodeGenerationEvent", "CodeExecutionEvent"),
)
"""The types of reports of agents, which are no part of the conversation."""
_TYPES = ("UserMessage", "ThoughtEvent", *_TEXT_TYPES, *_CALL_TYPES, *_RESULT_TYPES, *_REPORT_TYPES)
# The type of a structured message has the class of its content in brackets.
_STRUCTURED = "StructuredMessage["


def _is_message(value: JsonObject) -> bool:
    return "content" in value and ("source" in value or value["type"] in _RESULT_TYPES)


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    blocks = [*_read_blocks(value, reader)]
    if value["type"] in _RESULT_TYPES:
        yield compose_message("tool", blocks, pointer)
        return
    is_user = value["type"] == "UserMessage" or value.get("source") == "user"
    yield compose_message("user" if is_user else "assistant", blocks, pointer)


def _read_blocks(value: JsonObject, reader: InnerReader) -> Iterator[tuple[str, JsonValue]]:
    """Yield the blocks of a message, each after its pointer; nothing for a report."""
    kind, content = value["type"], value["content"]
    if kind == "ThoughtEvent":
        yield "/content", thought_block(content)
    if kind == "ThoughtEvent" or kind in _REPORT_TYPES:
        return
    if isinstance(value.get("thought"), str):
        yield "/thought", thought_block(value["thought"])
    if not isinstance(content, list):
        yield "/content", text_block(content if isinstance(content, str) else json_text(content))
        return
    for index, item in enumerate(content):
        yield from ((f"/content/{index}", block) for block in _read_part(item, reader))


def _read_part(part: JsonValue, reader: InnerReader) -> Iterator[JsonValue]:
    if isinstance(part, str):
        yield text_block(part)
    elif isinstance(part, dict) and isinstance(part.get("data"), str):
        # AutoGen writes all pictures as PNG.
        yield medium_block("image", part["data"], "image/png", None)
    elif isinstance(part, dict) and "arguments" in part:
        yield call_block(part.get("id"), part.get("name"), part["arguments"])
    else:
        yield from (block for _, block in reader.read_blocks([part], ""))


def _is_create_result(value: JsonObject) -> bool:
    return is_object(value.get("usage")) and is_boolean(value["cached"]) and "content" in value


def _read_create_result(
    value: JsonObject, pointer: str, reader: InnerReader
) -> Iterator[ForeignMessage]:
    """Yield the message of a model's response, which has neither type nor source."""
    yield from _read_message({**value, "type": "AssistantMessage"}, pointer, reader)


def _read_state(state: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    for index, message in enumerate(state["llm_context"]["messages"]):
        yield f"/llm_context/messages/{index}", message


def _has_messages(state: JsonObject) -> bool:
    context = state["llm_context"]
    return isinstance(context, dict) and is_object_array(context.get("messages"))


def _is_outside_conversation(value: JsonObject) -> bool:
    return value.get("type") in _REPORT_TYPES


def _read_events(events: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    for index, event in enumerate(events):
        if not (isinstance(event, dict) and _is_outside_conversation(event)):
            yield f"/{index}", event


DIALECT = DialectTables(
    "autogen",
    (
        Envelope(
            marks=("call_id",),
            shape=shape(
                {"content": is_string, "name": is_string, "call_id": is_string},
                {"is_error": is_boolean},
            ),
            contents=(("content",),),
            read_as="content",
            call_id=("call_id",),
            name=("name",),
            failure=_FAILURE,
            ignored_members=frozenset({"is_error"}),
        ),
        Envelope(
            marks=(("type", "ToolResult"),),
            shape=shape(
                {"type": one_of("ToolResult"), "name": is_string, "result": is_object_array},
                {"is_error": is_boolean},
            ),
            contents=(("result",),),
            read_as="content",
            name=("name",),
            failure=_FAILURE,
            ignored_members=frozenset({"type", "is_error"}),
        ),
        _make_results_wrapper("FunctionExecutionResultMessage"),
        _make_results_wrapper("ToolCallExecutionEvent", "id", "source", "created_at"),
    ),
    (
        BlockForm((("content",),), "text", ("type", "TextResultContent")),
        BlockForm((("content", "data"),), "media", ("type", "ImageResultContent"), kind="image"),
    ),
    has_closed_content=True,
    messages=(
        MessageForm(
            marks=tuple(("type", kind) for kind in _TYPES), accepts=_is_message, read=_read_message
        ),
        MessageForm(
            marks=("source",),
            accepts=lambda value: (
                "content" in value and text_member(value, "type").startswith(_STRUCTURED)
            ),
            read=_read_message,
        ),
        MessageForm(marks=("cached",), accepts=_is_create_result, read=_read_create_result),
    ),
    conversations=(
        ConversationForm(marks=("llm_context",), accepts=_has_messages, read=_read_state),
        ConversationForm(
            marks=tuple(("type", kind) for kind in _TYPES),
            accepts=_is_message,
            read=_read_events,
            is_list=True,
            is_skipped=_is_outside_conversation,
        ),
    ),
)
