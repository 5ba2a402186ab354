"""OpenAI's Agents SDK for JavaScript: items of Responses with members of their own.

Items in Python have the form of OpenAI's Responses. In JavaScript, names are in camelCase, results
have types of their own, and the member `image` or `file` of a block has the medium. OpenAI's API
does not accept these items, so they are written anew for it.

In both languages, a run yields items that contain such an item, and events that contain those. Its
state (`RunState`) has the input and the items.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper, by_value
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
    accept_any,
    is_content,
    is_object,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm
from pagefault_dialects.json.values import JsonObject, JsonValue

_CALLS = ("function_call", "computer_call", "shell_call", "apply_patch_call")
_FRAME_MEMBERS = frozenset(("type", "id", "callId", "status", "caller", "providerData"))
"""Members of a call that are not arguments."""
_OPTIONAL_MEMBERS = {
    **dict.fromkeys(("id", "name", "namespace", "status"), is_string),
    "caller": is_object,
    "providerData": is_object,
    "maxOutputLength": accept_any,
}
_MEDIA_BLOCKS = {"input_image": "image", "input_file": "file"}
"""The member with the medium, by the type of the block."""


def _is_content(value: object) -> bool:
    """Return whether the output of a function is a text, a block or a list of blocks."""
    return is_content(value) or is_object(value)


def _make_envelope(kind: str) -> Envelope:
    """Return the envelope of an item with the result of a call."""
    return Envelope(
        marks=(("type", kind),),
        shape=shape(
            {"type": one_of(kind), "callId": is_string},
            {**_OPTIONAL_MEMBERS, "output": _is_content},
        ),
        contents=(("output",),),
        read_as="content",
        call_id=("callId",),
        name=("name",),
        failure=by_value("status", "failed"),
        ignored_members=frozenset(),
    )


_RESULTS = (
    *("function_call_result", "computer_call_result"),
    *("shell_call_output", "apply_patch_call_output"),
)


def _read_item(item: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    """Yield the message of an item with a call or its result."""
    kind, call_id = item["type"], item["callId"]
    if kind in _RESULTS:
        blocks = [*reader.read_blocks(item, "")]
        if blocks == [("", item)]:
            # An item with members of a later version.
            blocks = [("", {**item, "type": "function_call_output", "call_id": call_id})]
        yield compose_message("tool", blocks, pointer)
        return
    arguments = {name: value for name, value in item.items() if name not in _FRAME_MEMBERS}
    call = call_block(call_id, kind.removesuffix("_call"), arguments)
    if kind == "function_call":
        call = call_block(call_id, item.get("name"), item.get("arguments"))
    yield compose_message("assistant", [("", call)], pointer, continues_turn=True)


def _read_hosted_call(
    item: JsonObject, pointer: str, reader: InnerReader
) -> Iterator[ForeignMessage]:
    """Yield the message of a call that the provider has executed."""
    del reader
    yield compose_message("assistant", [("", item)], pointer, continues_turn=True)


def _read_thought(item: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    del reader
    texts = [text for part in item["content"] if isinstance(text := part.get("text"), str)]
    block = thought_block("\n".join(texts))
    yield compose_message("assistant", [("", block)], pointer, continues_turn=True)


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    message = reader.read_role_message(value, pointer)
    # Texts are blocks of Responses, so the dialect that was found by them is replaced.
    yield replace(message, dialect=None, dialect_name="openai-agents", has_request_form=False)


_RUN_ITEMS = (
    *("input_item", "message_output_item", "tool_search_call_item", "tool_search_output_item"),
    *("handoff_call_item", "handoff_output_item", "tool_call_item", "tool_call_output_item"),
    *("reasoning_item", "mcp_list_tools_item", "mcp_approval_request_item"),
    *("mcp_approval_response_item", "compaction_item", "tool_approval_item"),
)
_RUN_EVENTS = (
    *("run_item_stream_event", "raw_response_event", "raw_model_stream_event"),
    "agent_updated_stream_event",
)


_RUN_RESULT = Wrapper(
    marks=tuple(("type", kind) for kind in _RUN_ITEMS if kind.endswith("_output_item")),
    shape=shape(
        {"type": one_of(*_RUN_ITEMS), "rawItem": is_object},
        # The output is the value that the tool returned, before the SDK made the content of it.
        (
            "agent",
            "output",
            "toolOrigin",
            "customData",
            "sourceAgent",
            "targetAgent",
            "executionStatus",
        ),
    ),
    inner="rawItem",
    label="item",
)


def _read_run_item(item: JsonObject, pointer: str, reader: InnerReader) -> list[ForeignMessage]:
    name = "raw_item" if "raw_item" in item else "rawItem"
    return reader.read_message(item[name], f"{pointer}/{name}")


def _read_run_event(event: JsonObject, pointer: str, reader: InnerReader) -> list[ForeignMessage]:
    return reader.read_message(event["item"], f"{pointer}/item")


def _is_outside_conversation(value: JsonObject) -> bool:
    """Return whether an item or event has no item, or repeats the call that needs an approval."""
    item = value.get("item") if value.get("type") == "run_item_stream_event" else value
    return (
        not isinstance(item, dict)
        or item.get("type") == "tool_approval_item"
        or item.get("type") in _RUN_EVENTS
    )


def _read_run(items: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    for index, item in enumerate(items):
        if not (isinstance(item, dict) and _is_outside_conversation(item)):
            yield f"/{index}", item


# The members of a state with the input of the run and with the items that the run made.
_STATE_MEMBERS = (("original_input", "generated_items"), ("originalInput", "generatedItems"))


def _read_state(state: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield the input of a run and its items, in the order in which the model gets them."""
    [input_name, items_name] = _find_state_members(state)
    sent = state[input_name]
    if isinstance(sent, str):
        yield f"/{input_name}", {"role": "user", "content": sent}
    else:
        yield from ((f"/{input_name}/{index}", item) for index, item in enumerate(sent))
    for pointer, item in _read_run(state[items_name]):
        yield f"/{items_name}{pointer}", item


def _find_state_members(body: JsonObject) -> Sequence[str]:
    """Return the names of the members with input and items; nothing for a body that is no state."""
    for names in _STATE_MEMBERS:
        sent, items = map(body.get, names)
        if isinstance(sent, str | list) and isinstance(items, list):
            return names
    return ()


def _is_message(value: JsonObject) -> bool:
    """Return whether a message has a block of the SDK."""
    content = value.get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and _has_medium(block) for block in content
    )


def _has_medium(block: JsonObject) -> bool:
    """Return whether a block has its medium in a member of the SDK."""
    kind = block.get("type")
    return isinstance(kind, str) and _MEDIA_BLOCKS.get(kind) in block


def _read_medium(block: JsonObject) -> list[JsonValue]:
    """Return the block of a medium: base64, a data URI, a URL, or the id of a file at OpenAI."""
    kind = _MEDIA_BLOCKS[block["type"]]
    source = block[kind]
    members = source if isinstance(source, dict) else {"url": source}
    file_id = members.get("id") or members.get("fileId")
    if file_id is not None:
        return [{"type": block["type"], "file_id": file_id}]
    data = members.get("data") or members.get("url")
    name = block.get("filename") or members.get("filename")
    medium = medium_block(kind, data, members.get("mediaType"), name)
    detail = {"detail": block["detail"]} if "detail" in block else {}
    return [{**medium, **detail}]


DIALECT = DialectTables(
    "openai-agents",
    (*map(_make_envelope, _RESULTS), _RUN_RESULT),
    (
        BlockForm((("text",),), "text", ("type", "input_text")),
        *(
            BlockForm(
                ((member, "data"), (member, "url"), (member,)),
                "media",
                ("type", kind),
                kind="image" if member == "image" else None,
                name=("filename",),
                mime_type=(member, "mediaType"),
            )
            for member in ("image", "file")
            for kind in (member, f"input_{member}")
        ),
        BlockForm((("data",),), "media", ("type", "computer_screenshot"), kind="image"),
        # The output of a shell. Its exit code is kept in the rest.
        BlockForm((("stdout",), ("stderr",)), "text"),
    ),
    messages=(
        MessageForm(
            marks=("callId",),
            accepts=lambda item: (
                is_string(item["callId"]) and item.get("type") in (*_CALLS, *_RESULTS)
            ),
            read=_read_item,
        ),
        MessageForm(marks=(("type", "hosted_tool_call"),), read=_read_hosted_call),
        MessageForm(
            marks=(("type", "reasoning"),),
            # Items of Responses have a summary.
            accepts=lambda item: "summary" not in item and is_object_array(item.get("content")),
            read=_read_thought,
        ),
        MessageForm(marks=(("role", "user"),), accepts=_is_message, read=_read_message),
        MessageForm(
            marks=("raw_item", "rawItem"),
            accepts=lambda item: item.get("type") in _RUN_ITEMS,
            read=_read_run_item,
            determines_dialect=False,
        ),
        MessageForm(
            marks=(("type", "run_item_stream_event"),),
            accepts=lambda event: is_object(event.get("item")),
            read=_read_run_event,
            determines_dialect=False,
        ),
    ),
    message_blocks=(
        MessageBlock(
            marks=tuple(("type", kind) for kind in _MEDIA_BLOCKS),
            accepts=_has_medium,
            read=_read_medium,
        ),
    ),
    conversations=(
        ConversationForm(
            marks=tuple(name for name, _ in _STATE_MEMBERS),
            accepts=lambda body: bool(_find_state_members(body)),
            read=_read_state,
        ),
        ConversationForm(
            marks=tuple(("type", kind) for kind in (*_RUN_ITEMS, *_RUN_EVENTS)),
            read=_read_run,
            is_list=True,
            is_skipped=_is_outside_conversation,
        ),
    ),
)
