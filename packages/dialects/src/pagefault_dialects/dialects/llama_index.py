"""LlamaIndex: chat messages, outputs of tools, and events that contain them."""

from collections.abc import Iterator
from dataclasses import replace

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper, by_flag
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    call_block,
    compose_message,
    medium_block,
    result_block,
    text_block,
    thought_block,
)
from pagefault_dialects.dialects.message_forms import (
    ConversationForm,
    InnerReader,
    MessageForm,
)
from pagefault_dialects.dialects.shapes import (
    Members,
    accept_any,
    is_array,
    is_boolean,
    is_object,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm
from pagefault_dialects.json.values import JsonObject, JsonValue

# The members of an output of a tool, besides its content.
_OUTPUT_MEMBERS = {"tool_name": is_string, "raw_input": is_object, "raw_output": accept_any}


def _make_output_envelope(member: str) -> Envelope:
    """Return the envelope of an output of a tool, whose content is in this member."""
    return Envelope(
        marks=("raw_output",),
        shape=shape(
            {member: is_object_array if member == "blocks" else is_string, **_OUTPUT_MEMBERS},
            {"is_error": is_boolean},
            nullable=("raw_output",),
        ),
        contents=((member,),),
        read_as="content",
        name=("tool_name",),
        failure=by_flag("is_error"),
        ignored_members=frozenset({"is_error"}),
    )


def _is_mcp_output(members: Members) -> bool:
    """Return whether the only block is a text that `str` made of the MCP result beside it."""
    blocks, result = members["blocks"], members["raw_output"]
    text = blocks[0].get("text") if isinstance(blocks, list) and len(blocks) == 1 else None
    return (
        isinstance(text, str)
        and text.startswith("meta=")
        and " content=[" in text
        and isinstance(result, dict)
        and is_array(result.get("content"))
        and _find_mcp_failure(members) is not None
    )


def _find_mcp_failure(members: Members) -> bool | None:
    result = members["raw_output"]
    flags = (result.get("isError"), result.get("is_error")) if isinstance(result, dict) else ()
    return next((flag for flag in flags if isinstance(flag, bool)), None)


# The output of a tool of an MCP server. Its own `is_error` is false even if the tool failed.
_MCP_OUTPUT = replace(
    _make_output_envelope("blocks"),
    contents=(("raw_output",),),
    read_as="any",
    accepts=_is_mcp_output,
    failure=_find_mcp_failure,
    ignored_members=frozenset({"is_error", "blocks"}),
)


_TYPE_NAME = "block_type"
_ROLES = {
    **{role: role for role in ("system", "user", "assistant", "tool")},
    "developer": "system",
    "function": "tool",
    "chatbot": "assistant",
    "model": "assistant",
}


def _is_message(value: JsonObject) -> bool:
    """Return whether an object is a chat message, of blocks or, in earlier versions, of a text."""
    if "blocks" not in value and not value.keys() <= {"role", "content", "additional_kwargs"}:
        return False
    has_content = (
        is_object_array(value["blocks"]) if "blocks" in value else is_string(value.get("content"))
    )
    members = value.get("additional_kwargs")
    return one_of(*_ROLES)(value.get("role")) and has_content and isinstance(members, dict | None)


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    role = _ROLES[value["role"]]
    blocks = [*_read_blocks(value)]
    members = value.get("additional_kwargs") or {}
    if role == "tool":
        content = [block for _, block in blocks]
        result = result_block(members.get("tool_call_id"), members.get("name"), content)
        content_pointer = "/blocks" if "blocks" in value else "/content"
        yield compose_message(role, [(content_pointer, result)], pointer)
        return
    call_ids = [block.get("id") for _, block in blocks if block.get("type") == "tool_use"]
    # `additional_kwargs` has calls in the form of the provider. Newer versions also have blocks.
    calls = members.get("tool_calls")
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict) and call.get("id") not in call_ids:
            blocks.append((f"/additional_kwargs/tool_calls/{index}", _convert_call(call)))
    del reader
    yield compose_message(role, blocks, pointer)


def _convert_call(call: JsonObject) -> JsonValue:
    """Return a call of OpenAI or Anthropic as a block in common form."""
    function = call.get("function")
    members = function if isinstance(function, dict) else call
    arguments = members.get("arguments", members.get("input"))
    return call_block(call.get("id"), members.get("name"), arguments)


def _read_blocks(value: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    if "blocks" not in value:
        yield "/content", text_block(value["content"])
        return
    for index, block in enumerate(value["blocks"]):
        yield from ((f"/blocks/{index}", item) for item in _convert_block(block))


def _convert_block(block: JsonObject) -> Iterator[JsonValue]:
    """Yield the blocks in common form for a block; none for a cache point."""
    kind = block.get(_TYPE_NAME)
    if kind == "text":
        yield text_block(block.get("text") or "")
    elif kind == "thinking":
        yield thought_block(block.get("content") or "")
    elif kind == "tool_call":
        name, arguments = block.get("tool_name"), block.get("tool_kwargs")
        yield call_block(block.get("tool_call_id"), name, arguments)
    elif kind in ("image", "audio", "video", "document"):
        yield _convert_medium(block, kind)
    elif kind in ("citable", "citation"):
        yield text_block(f"[{block.get('title')}]")
        content = block.get("content", block.get("cited_content"))
        for item in content if isinstance(content, list) else [content]:
            if isinstance(item, dict):
                yield from _convert_block(item)
    elif kind != "cache":
        yield block


def _convert_medium(block: JsonObject, kind: str) -> JsonValue:
    """Return the block of a medium in common form. A block without data stays as it is."""
    data = block.get("data" if kind == "document" else kind) or block.get("url")
    mime_type = block.get(f"{kind}_mimetype")
    if data is None:
        return {**block, "type": kind}
    return medium_block("file" if kind == "document" else kind, data, mime_type, block.get("title"))


def _read_response(body: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    yield "/message", body["message"]


DIALECT = DialectTables(
    "llama-index",
    (
        _MCP_OUTPUT,
        _make_output_envelope("blocks"),
        # Before blocks were added, an output was a text.
        _make_output_envelope("content"),
        Wrapper(
            marks=("tool_output",),
            shape=shape(
                {"tool_output": is_object, "tool_name": is_string, "tool_id": is_string},
                {"tool_kwargs": is_object, "return_direct": is_boolean},
            ),
            inner="tool_output",
            label="event",
            call_id=("tool_id",),
            ignored_members=frozenset({"tool_name", "tool_id"}),
        ),
        Envelope(
            marks=("blocks",),
            shape=shape(
                {
                    "role": one_of("tool", "function"),
                    "blocks": is_object_array,
                    "additional_kwargs": is_object,
                }
            ),
            contents=(("blocks",),),
            read_as="content",
            call_id=("additional_kwargs", "tool_call_id"),
            name=("additional_kwargs", "name"),
        ),
    ),
    (
        BlockForm((("text",),), "text", (_TYPE_NAME, "text")),
        BlockForm(
            (("image",), ("url",)),
            "media",
            (_TYPE_NAME, "image"),
            kind="image",
            mime_type=("image_mimetype",),
        ),
        BlockForm((("audio",), ("url",)), "media", (_TYPE_NAME, "audio"), kind="audio"),
        BlockForm(
            (("video",), ("url",)),
            "media",
            (_TYPE_NAME, "video"),
            kind="video",
            mime_type=("video_mimetype",),
        ),
        BlockForm(
            (("data",), ("url",)),
            "media",
            (_TYPE_NAME, "document"),
            name=("title",),
            mime_type=("document_mimetype",),
        ),
        BlockForm(
            (("content",),), "content", (_TYPE_NAME, "citable"), name=("title",), uri=("source",)
        ),
        BlockForm((), "nothing", (_TYPE_NAME, "cache")),
        # Dumps without unset members lack the type.
        *(
            BlockForm(((kind,),), "media", kind=kind, mime_type=(f"{kind}_mimetype",))
            for kind in ("image", "video")
        ),
    ),
    has_closed_content=True,
    messages=(
        MessageForm(marks=("blocks", "additional_kwargs"), accepts=_is_message, read=_read_message),
    ),
    conversations=(
        # The response of its models.
        ConversationForm(
            marks=("raw",),
            accepts=lambda body: (
                isinstance(body.get("message"), dict) and "blocks" in body["message"]
            ),
            read=_read_response,
            is_response=True,
        ),
    ),
)
