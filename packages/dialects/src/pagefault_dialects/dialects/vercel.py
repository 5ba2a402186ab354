"""The Vercel AI SDK and Mastra: messages for models or for user interfaces, both made of parts."""

from collections.abc import Iterable, Iterator
from typing import TypeGuard

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper, by_value
from pagefault_dialects.dialects.foreign_message import ForeignMessage, compose_message, denial_text
from pagefault_dialects.dialects.message_forms import InnerReader, MessageBlock, MessageForm
from pagefault_dialects.dialects.shapes import (
    Check,
    Members,
    ResultShape,
    accept_any,
    is_array,
    is_boolean,
    is_object,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import Content, ContentKind
from pagefault_dialects.json.values import JsonObject, JsonValue

DENIED = "The tool was not allowed to run."
"""The text for a denial without a reason."""

# The check of an output's value and the way in which it is read, by the type of the output.
_OUTPUT_TYPES: dict[str, tuple[Check, ContentKind]] = {
    "text": (is_string, "any"),
    "json": (accept_any, "json"),
    "error-text": (is_string, "any"),
    "error-json": (accept_any, "json"),
    "content": (is_array, "content"),
}
_OPTIONS = {"providerOptions": is_object, "providerMetadata": is_object}


def _make_output_shape(kind: str) -> ResultShape:
    """Return the shape of an output of a type."""
    if kind == "execution-denied":
        return shape({"type": one_of(kind)}, {"reason": is_string, **_OPTIONS})
    check, _ = _OUTPUT_TYPES[kind]
    return shape({"type": one_of(kind), "value": check}, _OPTIONS, nullable=("value",))


_OUTPUT_SHAPES = {kind: _make_output_shape(kind) for kind in (*_OUTPUT_TYPES, "execution-denied")}
_PART_MEMBERS = {
    **dict.fromkeys(("toolCallId", "toolName"), is_string),
    **dict.fromkeys(("input", "args", "output", "result", "error"), accept_any),
    **dict.fromkeys(("providerExecuted", "dynamic", "preliminary", "isError"), is_boolean),
    **dict.fromkeys(("title",), is_string),
    **dict.fromkeys(("toolMetadata", *_OPTIONS), is_object),
}


def _unwrap_output(value: object, path: tuple[str, ...]) -> Iterable[Content]:
    """Yield the value inside an output; if the value is no output with a type, the value itself."""
    kind = value.get("type") if isinstance(value, dict) else None
    output_shape = _OUTPUT_SHAPES.get(kind) if isinstance(kind, str) else None
    if not isinstance(value, dict) or output_shape is None or output_shape.read(value) is None:
        yield Content(value, path)
    elif kind == "execution-denied":
        yield Content(value.get("reason") or DENIED, (*path, "reason"))
    else:
        yield Content(value["value"], (*path, "value"), _OUTPUT_TYPES[str(kind)][1])


def _find_output_failure(value: object) -> bool | None:
    """Return true for an output whose type is that of an error or a denial, otherwise `None`."""
    kind = value.get("type") if isinstance(value, dict) else None
    output_shape = _OUTPUT_SHAPES.get(kind) if isinstance(kind, str) else None
    if not isinstance(value, dict) or output_shape is None or output_shape.read(value) is None:
        return None
    return str(kind) == "execution-denied" or str(kind).startswith("error") or None


def _make_part_envelope(kind: str | None, member: str) -> Envelope:
    """Return the envelope of a part of a type, or of none, with its output in a member."""
    optional = {
        name: check for name, check in _PART_MEMBERS.items() if name not in ("toolCallId", member)
    }
    type_check = {} if kind is None else {"type": one_of(kind)}
    return Envelope(
        marks=() if kind is None else (("type", kind),),
        shape=shape(
            {**type_check, "toolCallId": is_string, member: accept_any},
            optional,
            nullable=(member,),
        ),
        contents=(),
        call_id=("toolCallId",),
        name=("toolName",),
        failure=lambda members: _find_part_failure(members, member),
        ignored_members=frozenset({"type", "isError"}),
        choose_contents=lambda members: (
            _unwrap_output(members[member], members.path(member)) if member in members else ()
        ),
    )


def _find_part_failure(members: Members, member: str) -> bool | None:
    """Return true if a part with an output in a member is that of a failed tool."""
    if member == "error" or members["isError"] is True:
        return True
    return _find_output_failure(members[member]) if member == "output" else None


def _make_chunk_wrapper(kind: str, member: str) -> Wrapper:
    """Return the wrapper of a chunk of Mastra, whose payload is a part without its type."""
    return Wrapper(
        marks=(("type", kind),),
        shape=shape(
            {"type": one_of(kind), "payload": is_object},
            {"runId": is_string, "from": is_string, "metadata": is_object},
        ),
        inner="payload",
        label="chunk",
        envelope=_make_part_envelope(None, member),
    )


def _make_output_envelope(kind: str) -> Envelope:
    """Return the envelope of an output of a type that was sent without its part."""
    return Envelope(
        marks=(("type", kind),),
        shape=_OUTPUT_SHAPES[kind],
        contents=(),
        failure=lambda members: _find_output_failure(members.value),
        choose_contents=lambda members: _unwrap_output(members.value, ()),
        ignored_members=frozenset({"type", "value", "reason"}),
    )


def _choose_ui_contents(members: Members) -> Iterable[Content]:
    """Yield the output, the error or the reason of the denial, by the state of a part."""
    match members["state"]:
        case "output-available" if "output" in members:
            yield Content(members["output"], members.path("output"))
        case "output-error":
            yield Content(members["errorText"], members.path("errorText"))
        case "output-denied":
            approval = members["approval"]
            reason = approval.get("reason") if isinstance(approval, dict) else None
            yield Content(reason or DENIED, members.path("approval", "reason"))


_UI_PART = Envelope(
    marks=(
        ("state", "output-available"),
        ("state", "output-error"),
        ("state", "output-denied"),
    ),
    shape=shape(
        {
            "type": lambda value: (
                isinstance(value, str) and (value == "dynamic-tool" or value.startswith("tool-"))
            ),
            "toolCallId": is_string,
            "state": is_string,
        },
        {
            **dict.fromkeys(("input", "rawInput", "output"), accept_any),
            **dict.fromkeys(("toolName", "errorText", "title"), is_string),
            **dict.fromkeys(("providerExecuted", "preliminary"), is_boolean),
            **dict.fromkeys(("approval", "toolMetadata"), is_object),
            **dict.fromkeys(("callProviderMetadata", "resultProviderMetadata"), is_object),
        },
    ),
    contents=(),
    call_id=("toolCallId",),
    name=("toolName",),
    failure=by_value("state", "output-error", "output-denied"),
    accepts=lambda members: members["state"] != "output-error" or "errorText" in members,
    ignored_members=frozenset({"state"}),
    choose_contents=_choose_ui_contents,
)


def _read_ui_message(value: JsonObject, pointer: str, reader: InnerReader) -> list[ForeignMessage]:
    """Return the messages of a message for user interfaces.

    A part of a tool has a call and its result. Texts of the user between two steps of the
    assistant (steering messages) are messages of their own.
    """
    del reader
    members = (name for name in ("parts", "toolInvocations") if isinstance(value.get(name), list))
    member = next(members, "")
    blocks: list[tuple[str, JsonValue]] = []
    # The role and the blocks of each message.
    messages = [(value["role"], blocks)]
    for index, part in enumerate(value.get(member, ())):
        if _is_steering_message(part):
            steering_pointer = f"/{member}/{index}/parts"
            steering = [
                (f"{steering_pointer}/{number}", item) for number, item in enumerate(part["parts"])
            ]
            blocks = []
            messages += [("user", steering), (value["role"], blocks)]
        else:
            blocks += ((f"/{member}/{index}", block) for block in _convert_ui_part(part))
    if member != "parts" and isinstance(text := value.get("content"), str):
        blocks.append(("/content", {"type": "text", "text": text}))
    blocks += _convert_attachments(value)
    read_names = (
        *("parts", "content", "toolInvocations", "role", "id", "createdAt", "metadata"),
        "experimental_attachments",
    )
    other_members = {name: item for name, item in value.items() if name not in read_names}
    first = compose_message(*messages[0], pointer, extra=other_members)
    later = (compose_message(role, blocks, pointer) for role, blocks in messages[1:] if blocks)
    return [first, *later]


def _convert_attachments(value: JsonObject) -> Iterator[tuple[str, JsonValue]]:
    """Yield a block for each attachment of version 4, unless a part has the same file."""
    parts = value.get("parts")
    urls = {
        url
        for part in (parts if isinstance(parts, list) else ())
        for name in ("url", "data")
        if isinstance(part, dict) and isinstance(url := part.get(name), str)
    }
    attachments = value.get("experimental_attachments")
    for index, attachment in enumerate(attachments if isinstance(attachments, list) else ()):
        url = attachment.get("url") if isinstance(attachment, dict) else None
        if not isinstance(url, str) or url in urls:
            continue
        urls.add(url)
        members = {"mediaType": attachment.get("contentType"), "filename": attachment.get("name")}
        present = {name: member for name, member in members.items() if member is not None}
        yield f"/experimental_attachments/{index}", {"type": "file", "url": url, **present}


def _is_message_with_attachments(value: JsonObject) -> bool:
    has_role = value.get("role") in ("system", "user", "assistant")
    return has_role and is_object_array(value["experimental_attachments"])


def _read_mastra_message(
    value: JsonObject, pointer: str, reader: InnerReader
) -> list[ForeignMessage]:
    """Return the messages of a message in Mastra's memory.

    Its content is a message for user interfaces without a role. The other members of the content
    repeat what is in the parts.
    """
    content = value["content"]
    names = ("parts", "experimental_attachments")
    message = {name: content[name] for name in names if content.get(name) is not None}
    return _read_ui_message({**message, "role": value["role"]}, f"{pointer}/content", reader)


def _is_mastra_message(value: JsonObject) -> bool:
    content = value.get("content")
    return (
        isinstance(content, dict)
        and content.get("format") == 2
        and is_object_array(content.get("parts"))
        and value["role"] in ("system", "user", "assistant")
    )


def _is_steering_message(part: JsonValue) -> TypeGuard[JsonObject]:
    if not isinstance(part, dict) or part.get("type") != "steering-message":
        return False
    return is_object_array(part.get("parts"))


def _is_ui_message(value: JsonObject) -> bool:
    parts = value.get("parts", value.get("toolInvocations"))
    return (
        value.get("role") in ("system", "user", "assistant")
        and isinstance(parts, list)
        and any(isinstance(part, dict) and _is_ui_part(part) for part in parts)
    )


def _is_ui_part(part: JsonObject) -> bool:
    """Return whether a part is one for user interfaces, and not a part of another dialect."""
    kind = part.get("type")
    is_other_dialect = kind in _FOREIGN_TYPES and "text" not in part
    return "state" in part or not (kind is None or is_other_dialect or "file_id" in part)


# Types of parts that other dialects have too.
_FOREIGN_TYPES = (
    *("text", "reasoning", "tool_call", "tool_call_response"),
    *("blob", "uri", "compaction", "server_tool_call", "server_tool_call_response"),
)


def _convert_ui_part(part: JsonValue) -> Iterator[JsonValue]:
    """Yield the blocks of a part of a message for user interfaces."""
    if isinstance(part, dict) and isinstance(part.get("toolInvocation"), dict):
        part = part["toolInvocation"]
    kind = part.get("type", "") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str):
        yield part
        return
    if kind == "step-start":
        return
    if "toolCallId" not in part or kind in ("tool-call", "tool-result"):
        # The state of streaming is dropped.
        yield {name: item for name, item in part.items() if name != "state"}
        return
    name = part.get("toolName", kind.removeprefix("tool-"))
    call: dict[str, JsonValue] = {"toolCallId": part["toolCallId"], "toolName": name}
    yield {"type": "tool-call", **call, "input": part.get("input") or part.get("args") or {}}
    if part.get("state") in ("output-available", "result"):
        yield {"type": "tool-result", **call, "result": part.get("output", part.get("result"))}
    elif part.get("state") == "output-denied" or _is_denied(part.get("approval")):
        denial = _make_denial_text(part.get("approval"))
        yield {"type": "tool-result", **call, "result": denial, "isError": True}
    elif part.get("state") == "output-error":
        error_block = {"type": "tool-result", **call, "result": part.get("errorText") or ""}
        yield {**error_block, "isError": True}


def _is_denied(approval: JsonValue) -> bool:
    return isinstance(approval, dict) and approval.get("approved") is False


def _make_denial_text(approval: JsonValue) -> str:
    """Return the text for a model about a denial, with its reason."""
    reason = approval.get("reason") if isinstance(approval, dict) else None
    return denial_text(reason)


def read_approval_request(block: JsonObject) -> tuple[str, str] | None:
    """Return the id of the call in an approval request, and the id of the request.

    The result is `None` for any other block.
    """
    call_id, approval_id = block.get("toolCallId"), block.get("approvalId")
    is_request = block.get("type") == "tool-approval-request"
    if not is_request or not isinstance(call_id, str) or not isinstance(approval_id, str):
        return None
    return call_id, approval_id


def read_approval_response(block: JsonObject) -> tuple[str, str | None] | None:
    """Return the id of the request in an approval response, and the text for the model.

    The text is `None` if the user allowed the call. The result is `None` for any other block.
    """
    approval_id = block.get("approvalId")
    if block.get("type") != "tool-approval-response" or not isinstance(approval_id, str):
        return None
    return approval_id, _make_denial_text(block) if _is_denied(block) else None


DIALECT = DialectTables(
    "vercel",
    (
        _make_part_envelope("tool-result", "output"),
        _make_part_envelope("tool-result", "result"),
        _make_part_envelope("tool-error", "error"),
        _make_chunk_wrapper("tool-result", "result"),
        _make_chunk_wrapper("tool-error", "error"),
        _UI_PART,
        *map(_make_output_envelope, _OUTPUT_SHAPES),
        Wrapper(
            marks=(("role", "tool"),),
            shape=shape(
                {"role": one_of("tool"), "content": is_array}, {"id": is_string, **_OPTIONS}
            ),
            inner="content",
            label="message",
        ),
    ),
    messages=(
        MessageForm(
            marks=("parts", "toolInvocations"), accepts=_is_ui_message, read=_read_ui_message
        ),
        MessageForm(
            marks=("experimental_attachments",),
            accepts=_is_message_with_attachments,
            read=_read_ui_message,
        ),
        MessageForm(marks=("role",), accepts=_is_mastra_message, read=_read_mastra_message),
    ),
    message_blocks=(
        MessageBlock(marks=(("type", "tool-call"),)),
        MessageBlock(marks=(("type", "image"),), accepts=lambda block: "image" in block),
        MessageBlock(
            marks=(("type", "file"),),
            accepts=lambda block: any(
                name in block for name in ("mediaType", "mimeType", "data", "url")
            ),
        ),
    ),
    ignored_members=frozenset(("id", "providerOptions", "providerMetadata")),
)
