"""Microsoft's Agent Framework: messages whose contents include calls and their results."""

from collections.abc import Container, Iterable, Iterator

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper, by_presence
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    call_block,
    compose_message,
    denial_text,
    medium_block,
    medium_kind,
    result_block,
    text_block,
    thought_block,
)
from pagefault_dialects.dialects.message_forms import InnerReader, MessageForm
from pagefault_dialects.dialects.shapes import (
    Members,
    accept_any,
    is_object,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content
from pagefault_dialects.json.values import JsonObject, JsonValue, text_member


def _choose_contents(members: Members) -> Iterable[Content]:
    """Yield the items of a result, if there are any: `result` repeats only their texts."""
    if members["items"]:
        yield Content(members["items"], members.path("items"), "content")
    elif "result" in members:
        yield Content(members["result"], members.path("result"))


_is_role = one_of("system", "user", "assistant", "tool")
# Types of contents about consent and usage, which are no part of the conversation.
_is_outside_conversation = one_of("usage", "oauth_consent_request", "function_approval_response")
# The ends of the types of calls of tools that the provider executes, and of their results.
_CALL_SUFFIX, _RESULT_SUFFIX = "_tool_call", "_tool_result"
# Members of a call of such a tool that are not arguments.
_FRAME_MEMBERS = frozenset(
    {
        *("type", "call_id", "tool_name", "server_name", "status", "id", "max_output_length"),
        *("timeout_ms", "pending_safety_checks", "merge_mode", "hosted"),
        *("additional_properties", "annotations", "raw_representation"),
    }
)
# The members of such a result with its output, by priority.
_OUTPUT_NAMES = ("output", "outputs", "items", "result", "screenshot")


def _is_message(value: JsonObject) -> bool:
    return _is_role(_find_role(value)) and is_object_array(value["contents"])


def _find_role(value: JsonObject) -> JsonValue:
    """Return the role of a message. Earlier versions wrote an object with the role as `value`."""
    role = value.get("role")
    return role.get("value") if isinstance(role, dict) else role


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    contents = value["contents"]
    call_ids = {
        text_member(content, "call_id")
        for content in contents
        if content.get("type") == "function_call"
    }
    blocks = [
        (f"/contents/{index}", block)
        for index, content in enumerate(contents)
        if not _requests_included_call(content, call_ids)
        for block in _convert_part(content, reader)
    ]
    yield compose_message(_find_role(value), blocks, pointer)


def _requests_included_call(part: JsonObject, call_ids: Container[str]) -> bool:
    """Return whether a part requests the approval of a call that is in the same message."""
    is_request = part.get("type") == "function_approval_request"
    return is_request and text_member(_find_call(part), "call_id") in call_ids


def _find_call(part: JsonObject) -> JsonObject:
    """Return the call that a part about an approval contains."""
    call = part.get("function_call")
    return call if isinstance(call, dict) else {}


def _convert_part(part: JsonObject, reader: InnerReader) -> Iterator[JsonValue]:
    """Yield the blocks in common form for a part of a message."""
    kind = str(part.get("type"))
    if kind == "function_approval_request":
        part, kind = _find_call(part), "function_call"
    if kind == "function_call":
        yield call_block(part.get("call_id"), part.get("name"), part.get("arguments"))
    elif kind == "function_approval_response" and part.get("approved") is False:
        call = _find_call(part)
        yield result_block(call.get("call_id"), call.get("name"), denial_text(None), is_error=True)
    elif kind.endswith((_CALL_SUFFIX, _RESULT_SUFFIX)) and isinstance(part.get("call_id"), str):
        yield _convert_provider_tool(part, kind, reader)
    elif kind == "text_reasoning":
        yield thought_block(part.get("text") or "")
    elif kind in ("data", "uri") and isinstance(part.get("uri"), str):
        mime_type = part.get("media_type")
        yield medium_block(medium_kind(mime_type), part["uri"], mime_type, None)
    elif kind == "error" and isinstance(part.get("message"), str):
        yield text_block(part["message"])
    elif kind == "shell_command_output":
        texts = (part.get(name) for name in ("stdout", "stderr"))
        yield from (text_block(text) for text in texts if isinstance(text, str) and text)
    elif not _is_outside_conversation(kind):
        yield from (block for _, block in reader.read_blocks([part], ""))


def _convert_provider_tool(part: JsonObject, kind: str, reader: InnerReader) -> JsonValue:
    """Return the call of a tool that the provider executes, or its result."""
    call_id, name = part["call_id"], part.get("tool_name")
    if kind.endswith(_RESULT_SUFFIX):
        output = next((part[item] for item in _OUTPUT_NAMES if part.get(item)), "")
        items: JsonValue = [output] if isinstance(output, dict) else output
        if is_object_array(items):
            output = [block for item in items for block in _convert_part(item, reader)]
        return result_block(call_id, name, output)
    arguments: JsonObject = {
        key: value for key, value in part.items() if value is not None and key not in _FRAME_MEMBERS
    }
    if is_object_array(inputs := arguments.pop("inputs", ())):
        arguments["code"] = "\n".join(
            input_value["text"] for input_value in inputs if is_string(input_value.get("text"))
        )
    return call_block(
        call_id, name or kind.removesuffix(_CALL_SUFFIX), arguments.get("arguments", arguments)
    )


DIALECT = DialectTables(
    "agent-framework",
    (
        Envelope(
            marks=(("type", "function_result"),),
            shape=shape(
                {"type": one_of("function_result"), "call_id": is_string},
                {
                    "result": accept_any,
                    "items": is_object_array,
                    # Only for the host, since it may contain secrets.
                    "exception": is_string,
                    "status": is_string,
                    "id": is_string,
                    "name": is_string,
                    "annotations": accept_any,
                    "additional_properties": is_object,
                    "raw_representation": accept_any,
                },
            ),
            contents=(),
            call_id=("call_id",),
            name=("name",),
            failure=by_presence("exception"),
            ignored_members=frozenset({"type", "result"}),
            accepts=lambda members: (
                "items" in members or "result" in members or "exception" in members
            ),
            choose_contents=_choose_contents,
        ),
        Wrapper(
            marks=("contents",),
            shape=shape(
                {"role": one_of("tool", "user"), "contents": is_object_array},
                {
                    "type": one_of("message", "chat_message"),
                    "author_name": is_string,
                    "message_id": is_string,
                    "additional_properties": is_object,
                    "raw_representation": accept_any,
                },
            ),
            inner="contents",
            label="message",
        ),
    ),
    (
        BlockForm((("text",),), "text", ("type", "text")),
        BlockForm((("uri",),), "media", ("type", "data")),
        BlockForm((("uri",),), "media", ("type", "uri")),
        BlockForm((("message",),), "text", ("type", "error")),
    ),
    has_closed_content=True,
    messages=(MessageForm(marks=("contents",), accepts=_is_message, read=_read_message),),
)
