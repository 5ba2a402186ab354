"""Anthropic's Messages API: messages, responses, and blocks, also those of Anthropic's tools."""

from collections.abc import Iterable, Iterator

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper, by_flag
from pagefault_dialects.dialects.foreign_message import ForeignMessage, call_block, text_block
from pagefault_dialects.dialects.message_forms import (
    ConversationForm,
    InnerReader,
    MessageBlock,
    MessageForm,
)
from pagefault_dialects.dialects.shapes import (
    Members,
    accept_any,
    is_array,
    is_boolean,
    is_content,
    is_object,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content
from pagefault_dialects.json.values import JsonObject, JsonValue


def _choose_contents(members: Members) -> Iterable[Content]:
    """Yield the content; for a block of MCP's sampling, an MCP result with its other members."""
    if "structuredContent" in members or ("_meta" in members and "content" in members):
        names = ("content", "structuredContent", "_meta")
        result = {name: members[name] for name in names if name in members}
        yield Content(result, ())
    elif "content" in members:
        yield Content(members["content"], members.path("content"), "content")


_TOOL_RESULT = Envelope(
    marks=(("type", "tool_result"),),
    shape=shape(
        {"type": one_of("tool_result")},
        {
            "tool_use_id": is_string,
            "content": is_content,
            "is_error": is_boolean,
            "cache_control": is_object,
            "toolset_name": is_string,
            # MCP's sampling.
            "structuredContent": accept_any,
            "_meta": is_object,
        },
    ),
    contents=(),
    call_id=("tool_use_id",),
    failure=by_flag("is_error"),
    ignored_members=frozenset({"type", "is_error", "content", "structuredContent", "_meta"}),
    accepts=lambda members: "tool_use_id" in members,
    choose_contents=_choose_contents,
)
_MCP_TOOL_RESULT = Envelope(
    marks=(("type", "mcp_tool_result"),),
    shape=shape(
        {"type": one_of("mcp_tool_result"), "tool_use_id": is_string},
        {"content": is_content, "is_error": is_boolean, "cache_control": is_object},
    ),
    contents=(("content",),),
    read_as="content",
    call_id=("tool_use_id",),
    failure=by_flag("is_error"),
    ignored_members=frozenset({"is_error"}),
)
# The block of the Claude Agent SDK for Python, which is a class and has no type.
_UNTYPED_RESULT = Envelope(
    marks=("tool_use_id",),
    shape=shape(
        {"tool_use_id": is_string, "content": is_content},
        {"is_error": is_boolean},
        nullable=("content",),
    ),
    contents=(("content",),),
    read_as="content",
    call_id=("tool_use_id",),
    failure=by_flag("is_error"),
    ignored_members=frozenset({"is_error"}),
)
_USER_MESSAGE = Wrapper(
    marks=(("role", "user"),),
    shape=shape({"role": one_of("user"), "content": is_array}),
    inner="content",
    label="message",
)


def _read_response(
    message: JsonObject, pointer: str, reader: InnerReader
) -> Iterator[ForeignMessage]:
    yield reader.read_role_message(message, pointer, "anthropic")


def _is_response(message: JsonObject) -> bool:
    response_members = ("model", "stop_reason", "usage")
    return isinstance(message.get("content"), list) and any(
        name in message for name in response_members
    )


def _read_response_body(message: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    yield "", message


def _read_mcp_call(block: JsonObject) -> list[JsonValue]:
    return [call_block(block["id"], block.get("name"), block.get("input"))]


def _read_document(block: JsonObject) -> list[JsonValue] | None:
    """Return the title, the context and the text of a document as blocks of text.

    A document with a file stays a document, after its context; without a context, return `None`.
    """
    source = block.get("source")
    content = (
        source.get("data") if isinstance(source, dict) and source.get("type") == "text" else None
    )
    if isinstance(source, dict) and source.get("type") == "content":
        content = source.get("content")
    if content is None:
        if block.get("context") is None:
            return None
        document = {name: member for name, member in block.items() if name != "context"}
        return [*_make_context_blocks(block), document]
    text_blocks = [text_block(content)] if isinstance(content, str) else content
    title_blocks = [text_block(f"[document: {block['title']}]")] if block.get("title") else []
    return (
        [*title_blocks, *_make_context_blocks(block), *text_blocks]
        if isinstance(text_blocks, list)
        else None
    )


def _make_context_blocks(block: JsonObject) -> list[JsonValue]:
    context = block.get("context")
    return [text_block(context)] if isinstance(context, str) and context else []


# The types of blocks that only Anthropic's API has.
_DISTINCTIVE_TYPES = (
    *("tool_use", "thinking", "redacted_thinking", "document", "server_tool_use"),
    *("search_result", "container_upload", "web_search_tool_result"),
    *("web_fetch_tool_result", "code_execution_tool_result"),
    *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
    *("tool_search_tool_result", "advisor_tool_result", "mcp_tool_listing"),
    *("compaction", "fallback", "tool_addition", "tool_removal"),
)
BLOCK_TYPES = frozenset(
    {
        *_DISTINCTIVE_TYPES,
        *("text", "image", "tool_result", "mcp_tool_use", "mcp_tool_result"),
        *("tool_reference", "browser_state"),
    }
)
"""The types of blocks that requests may have, including blocks inside results."""
_BLOCKS = (
    MessageBlock(marks=(("type", "document"),), read=_read_document),
    MessageBlock(marks=tuple(("type", kind) for kind in _DISTINCTIVE_TYPES)),
    MessageBlock(
        marks=(("type", "mcp_tool_use"),),
        read=_read_mcp_call,
        accepts=lambda block: isinstance(block.get("id"), str),
    ),
    MessageBlock(
        marks=(("type", "image"),),
        # A source of AG-UI has its data or URL in `value`.
        accepts=lambda block: (
            isinstance(block.get("source"), dict) and "value" not in block["source"]
        ),
    ),
    MessageBlock(
        marks=(("type", "text"),),
        accepts=lambda block: isinstance(block.get("cache_control"), dict),
    ),
)

DIALECT = DialectTables(
    "anthropic",
    (_TOOL_RESULT, _MCP_TOOL_RESULT, _UNTYPED_RESULT, _USER_MESSAGE),
    (
        BlockForm(
            (("content",),),
            "content",
            ("type", "search_result"),
            name=("title",),
            uri=("source",),
        ),
        BlockForm(
            (("source", "data"), ("source", "url")),
            "media",
            ("type", "document"),
            name=("title",),
        ),
        BlockForm((("source", "content"),), "content", ("type", "document"), name=("title",)),
        BlockForm((("tool_name",),), "text", ("type", "tool_reference")),
        BlockForm((("text",),), "text", ("type", "text")),
    ),
    has_closed_content=True,
    messages=(
        MessageForm(
            marks=(("type", "message"),),
            accepts=lambda message: message.get("role") == "assistant" and _is_response(message),
            read=_read_response,
        ),
    ),
    message_blocks=_BLOCKS,
    conversations=(
        ConversationForm(
            marks=(("type", "message"),),
            accepts=lambda message: message.get("role") == "assistant" and _is_response(message),
            read=_read_response_body,
            is_response=True,
        ),
    ),
    ignored_members=frozenset(
        {
            *("id", "type", "model", "container", "context_management", "diagnostics"),
            *("stop_reason", "stop_sequence", "stop_details", "usage"),
        }
    ),
)
