"""OpenAI's Responses API: the items of a request's input and of a response's output."""

from collections.abc import Iterable, Iterator

from pagefault_dialects.dialects.envelope import (
    DialectTables,
    Envelope,
    ReadOutcome,
    by_presence,
    by_value,
    has_no_outcome,
)
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    call_block,
    compose_message,
    denial_text,
    text_block,
)
from pagefault_dialects.dialects.message_forms import (
    ConversationForm,
    InnerReader,
    MessageBlock,
    MessageForm,
)
from pagefault_dialects.dialects.shapes import (
    Check,
    Members,
    accept_any,
    is_array,
    is_content,
    is_object,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content, ContentKind
from pagefault_dialects.json.values import JsonObject, JsonValue, json_text

_HANDLE_PREFIX = "pagefault."
_OPTIONAL_MEMBERS: dict[str, Check] = {
    **dict.fromkeys(("id", "call_id", "name", "namespace", "status"), is_string),
    "caller": is_object,
    "created_by": accept_any,
}
_FAILED = by_value("status", "failed")


def _make_output_envelope(
    kind: str,
    output: Check,
    *more_members: str,
    member: str = "output",
    call_id: str = "call_id",
    read_as: ContentKind = "content",
    failure: ReadOutcome = has_no_outcome,
    is_required: bool = True,
) -> Envelope:
    """Return the envelope of an item with the output of a call.

    Args:
        kind: The type of the item.
        output: The check of the output.
        more_members: The optional members that only items of this type have.
        member: The name of the member with the output.
        call_id: The name of the member with the id of the call.
        read_as: The way in which the output is read.
        failure: Returns whether the tool failed.
        is_required: Whether the item must have an output.
    """
    required: dict[str, Check] = {"type": one_of(kind)}
    optional = _OPTIONAL_MEMBERS | dict.fromkeys(more_members, accept_any)
    (required if is_required else optional)[member] = output
    if call_id == "id" or kind not in ("function_call_output", "tool_search_output"):
        required[call_id] = is_string
        del optional[call_id]
    return Envelope(
        marks=(("type", kind),),
        shape=shape(required, optional),
        contents=((member,),),
        read_as=read_as,
        call_id=(call_id,),
        name=("name",),
        failure=failure,
        # Items of several types have the same members, so `type` has to be kept.
        ignored_members=frozenset(),
    )


def _choose_mcp_contents(members: Members) -> Iterable[Content]:
    """Yield the content or the message of an error, and the output."""
    error = members["error"]
    if isinstance(error, dict):
        member = "content" if error.get("content") is not None else "message"
        if error.get(member) is not None:
            yield Content(error[member], members.path("error", member))
    if "output" in members:
        yield Content(members["output"], members.path("output"))


_MCP_CALL = Envelope(
    marks=(("type", "mcp_call"),),
    shape=shape(
        {
            "type": one_of("mcp_call"),
            "id": is_string,
            "arguments": is_string,
            "name": is_string,
            "server_label": is_string,
        },
        {
            "approval_request_id": is_string,
            "error": accept_any,
            "output": is_string,
            "status": is_string,
        },
    ),
    contents=(),
    call_id=("id",),
    name=("name",),
    failure=by_presence("error"),
    ignored_members=frozenset(),
    accepts=lambda members: "error" in members or "output" in members,
    choose_contents=_choose_mcp_contents,
)


_COMMON_CALLS = frozenset(("function_call", "custom_tool_call", "reasoning"))
"""The types of items that are blocks in common form."""
_HOST_CALLS = (
    *("computer_call", "shell_call", "local_shell_call", "apply_patch_call", "tool_search_call"),
    "program",
)
"""The types of calls of tools that the provider defines and the host executes."""
# Calls that are items of the Agents SDK for JavaScript if they have a `callId`. Earlier versions
# stored them with the dialect of this module, whose forms are then tried first.
_AGENTS_SDK_CALLS = ("function_call", "computer_call", "shell_call", "apply_patch_call")
_PROVIDER_CALLS = (
    *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"),
    "mcp_call",
)
"""The types of calls that the provider executes itself."""
# The types of items that are no messages, calls or outputs.
_OTHER_ITEMS = frozenset(
    {
        *("compaction", "compaction_summary", "compaction_trigger", "item_reference"),
        *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
        *("additional_tools", "configuration_update"),
    }
)
_OUTPUTS = (
    *("function_call_output", "custom_tool_call_output", "computer_call_output"),
    *("local_shell_call_output", "shell_call_output", "apply_patch_call_output"),
    *("tool_search_output", "program_output"),
)
# Members of a call that are not arguments.
_FRAME_MEMBERS = frozenset(
    ("type", "id", "call_id", "status", "caller", "created_by", "environment", "fingerprint")
)


def _read_item(item: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    """Yield the message of an item without a role."""
    kind = item["type"]
    if kind == "mcp_approval_response" and item.get("approve") is False:
        denial = text_block(denial_text(item.get("reason")))
        yield compose_message("user", [("", denial)], pointer, has_request_form=True)
        return
    blocks = _convert_item(item, kind, reader)
    if kind in _OUTPUTS or (kind.endswith("_output") and "call_id" in item):
        yield compose_message("tool", blocks, pointer, has_request_form=True)
    else:
        continues_turn = kind not in _OTHER_ITEMS
        yield compose_message(
            "assistant", blocks, pointer, continues_turn=continues_turn, has_request_form=True
        )


def _convert_item(
    item: JsonObject, kind: str, reader: InnerReader
) -> Iterable[tuple[str, JsonValue]]:
    """Return the blocks of an item in common form, each after its pointer in the item."""
    if kind == "mcp_call":
        results = reader.read_blocks(item, "") if "output" in item or "error" in item else ()
        call = call_block(item.get("id"), item.get("name"), item.get("arguments"))
        return [("", call), *results]
    if kind in _HOST_CALLS and "call_id" in item:
        return [("", _make_function_call(item, kind))]
    if kind.endswith("_output"):
        blocks = [*reader.read_blocks(item, "")]
        if blocks == [("", item)]:
            return [("", {**item, "type": "function_call_output"})]
        return blocks
    if kind.endswith("_call") and kind not in _PROVIDER_CALLS and "call_id" in item:
        is_common = kind in _COMMON_CALLS
        return [("", item if is_common else _make_function_call(item, kind))]
    return [("", item)]


def _make_function_call(item: JsonObject, kind: str) -> JsonValue:
    """Return a call of a provider-defined tool as a function call."""
    arguments = {name: value for name, value in item.items() if name not in _FRAME_MEMBERS}
    arguments_member = arguments.get("arguments")
    if len(arguments) == 1 and isinstance(arguments_member, str | dict):
        text = (
            arguments_member if isinstance(arguments_member, str) else json_text(arguments_member)
        )
    else:
        text = json_text(arguments)
    return {
        "type": "function_call",
        "call_id": item["call_id"],
        "name": kind.removesuffix("_call"),
        "arguments": text,
    }


def _is_item(value: JsonObject) -> bool:
    """Return whether an object with a type is an item, also one of a later version of the API."""
    kind = value["type"]
    is_message = "role" in value and kind != "additional_tools"
    if is_message or (kind in _AGENTS_SDK_CALLS and is_string(value.get("callId"))):
        return False
    if kind in ("function_call", "custom_tool_call"):
        return isinstance(value.get("name"), str)
    if kind == "reasoning" or kind in _OTHER_ITEMS or kind in ("program", *_OUTPUTS):
        return True
    if kind in _PROVIDER_CALLS:
        return is_string(value.get("id"))
    # Later types of items have the id of a call, or an id of their own and a status.
    if kind.endswith("_call") and is_string(value.get("id")) and is_string(value.get("status")):
        return True
    return kind.endswith(("_call", "_output")) and is_string(value.get("call_id"))


def _read_message(item: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    yield reader.read_role_message(item, pointer, "openai-responses")


def _read_response(body: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    for index, item in enumerate(body["output"]):
        yield f"/output/{index}", item


_MESSAGES = (
    MessageForm(
        marks=(("type", "message"),),
        # Responses of Anthropic have the same type, and a model. In files of hosts, an object of
        # the same type has the message in a member.
        accepts=lambda item: "role" in item and "model" not in item and "content" in item,
        read=_read_message,
    ),
    MessageForm(
        marks=("type",),
        accepts=lambda item: isinstance(item["type"], str) and _is_item(item),
        read=_read_item,
    ),
)
_BLOCK_TYPES = ("input_text", "output_text", "input_image", "input_file")
_RESPONSE = ConversationForm(
    marks=("output",),
    accepts=lambda body: is_object_array(body["output"]) and "choices" not in body,
    read=_read_response,
    is_response=True,
)

DIALECT = DialectTables(
    "openai-responses",
    (
        _make_output_envelope("function_call_output", is_content),
        _make_output_envelope("custom_tool_call_output", is_content),
        _make_output_envelope(
            "computer_call_output", is_object, "acknowledged_safety_checks", failure=_FAILED
        ),
        _make_output_envelope("local_shell_call_output", is_string, call_id="id"),
        _make_output_envelope("shell_call_output", is_object_array, "max_output_length"),
        _make_output_envelope(
            "apply_patch_call_output", is_string, failure=_FAILED, is_required=False
        ),
        _make_output_envelope(
            "tool_search_output", is_array, "execution", member="tools", read_as="json"
        ),
        _make_output_envelope("program_output", is_string, member="result"),
        _MCP_CALL,
    ),
    (
        BlockForm((("text",),), "text", ("type", "input_text")),
        BlockForm((("image_url",),), "media", ("type", "input_image"), kind="image"),
        BlockForm((("image_url",),), "media", ("type", "computer_screenshot"), kind="image"),
        BlockForm(
            (("file_data",), ("file_url",)), "media", ("type", "input_file"), name=("filename",)
        ),
        # The output of a shell. Its exit code is kept in the rest.
        BlockForm((("stdout",), ("stderr",)), "text"),
    ),
    has_closed_content=True,
    messages=_MESSAGES,
    message_blocks=(MessageBlock(marks=tuple(("type", kind) for kind in _BLOCK_TYPES)),),
    conversations=(_RESPONSE,),
    ignored_members=frozenset(("id", "status", "phase")),
)


def make_compaction_item(item_id: str, handle: str) -> JsonObject:
    """Return a compaction item that has a handle in place of encrypted content."""
    return {"id": item_id, "type": "compaction", "encrypted_content": _HANDLE_PREFIX + handle}


def find_compaction_handle(item: JsonValue) -> str | None:
    """Return the handle in a compaction item of this service; `None` for any other item."""
    if not isinstance(item, dict) or item.get("type") != "compaction":
        return None
    content = item.get("encrypted_content")
    if not isinstance(content, str) or not content.startswith(_HANDLE_PREFIX):
        return None
    return content.removeprefix(_HANDLE_PREFIX)
