"""The messages of `vercel` and `vercel-6`: `ModelMessage`s of the AI SDK, as JSON.

JSON cannot contain the `URL` objects of the SDK. In a message of the user or the assistant, the URL
of a file is a string. In the output of a tool, version 7 accepts a string only in a `file-url`,
which is a part of version 6 too.

The SDK has the outputs `error-text` and `error-json`, but no output for an error with media. The
output of a failed call with media is a `content` whose first text says that the tool failed.

A JSON value with numbers that JavaScript would round, such as long ids, is sent as text. Arguments
with such numbers are sent as `{"json": "<their JSON text>"}`, because `input` has to be an object.

In version 6 of the SDK, an image in the output of a tool is an `image-data` or `image-url`, without
a name, and any other file is a `file-data` or `file-url`. The providers of version 6 do not send
images in a `file-data` to a model.

Source: ai 7 and ai 6, `modelMessageSchema`.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import groupby

from pagefault_dialects.json.values import (
    JsonObject,
    JsonValue,
    iterate_values,
    json_text,
    text_member,
)
from pagefault_dialects.model.conversation import (
    DataItem,
    MediaItem,
    NativeMessage,
    ProviderBlock,
    ResolvedTurn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.render_options import ImageDetail, RenderOptions
from pagefault_dialects.targets.base64_leaves import (
    JsonLeaf,
    Node,
    WriteMedium,
    base64_leaf,
    blocks_of,
    content_of,
    join_texts,
    text_of,
)
from pagefault_dialects.targets.media_lines import ERROR_LINE
from pagefault_dialects.targets.native_messages import select_request_members, write_or_copy_turns
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.request_shapes import (
    NON_EMPTY_TEXT,
    Shape,
    fits_type,
    has_known_shape,
)

_ROLES = ("user", "assistant", "tool")
_MEMBERS = frozenset({"role", "content", "providerOptions"})
_PART_TYPES = frozenset(
    {
        *("text", "image", "file", "reasoning", "reasoning-file", "custom"),
        *("tool-call", "tool-result", "tool-approval-request", "tool-approval-response"),
    }
)
_PART_SHAPES: Mapping[str, Shape] = {
    "text": {"text": NON_EMPTY_TEXT},
    "reasoning": {"text": str},
    "image": {"image": str},
    "file": {"data": (str, dict), "mediaType": str},
    "tool-call": {"toolCallId": str, "toolName": str, "input": dict},
    "tool-result": {"toolCallId": str, "toolName": str, "output": {"type": str}},
}
_OUTPUT_SHAPES: Mapping[str, Shape] = {
    "text": {"value": str},
    "error-text": {"value": str},
    "content": {"value": list},
}
_FILE_ID_SHAPE: Shape = {"fileId": (str, dict)}
_FILE_REFERENCE_SHAPE: Shape = {"providerReference": dict}
_OUTPUT_PART_SHAPES_6: Mapping[str, Shape] = {
    "file-id": _FILE_ID_SHAPE,
    "image-file-id": _FILE_ID_SHAPE,
    "custom": {},
}
_OUTPUT_PART_SHAPES: Mapping[str, Shape] = {
    **_OUTPUT_PART_SHAPES_6,
    "file": {"data": dict, "mediaType": str},
    "file-reference": _FILE_REFERENCE_SHAPE,
    "image-file-reference": _FILE_REFERENCE_SHAPE,
}
_LARGEST_SAFE_INTEGER = 2**53 - 1


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return the messages of resolved turns: `copied_messages` of a turn, or new messages.

    Turns of the user or the assistant without content have no message.

    `detail` is not used, since these messages have no member for it.
    """
    return write_or_copy_turns(
        turns, partial(_write_turns, profile=profile, output_file=_write_output_file)
    )


def write_6(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages of version 6; see `write`."""
    return write_or_copy_turns(
        turns, partial(_write_turns, profile=profile, output_file=_write_output_file_6)
    )


def as_request(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return a `ModelMessage` as requests have it; `None` if requests do not accept the message.

    Unknown members without content are dropped. `options` is not used.
    """
    sent = native.message
    if sent.get("role") not in _ROLES or native.dialect not in (None, "vercel"):
        return None
    content = sent.get("content")
    is_text = isinstance(content, str) and sent["role"] != "tool"
    is_list = isinstance(content, list) and all(map(_is_part, content))
    # The SDK accepts an empty message, but providers do not.
    is_accepted = bool(content) and (is_text or is_list)
    return select_request_members(sent, _MEMBERS, frozenset()) if is_accepted else None


def as_request_6(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return a message as `as_request` does; `None` if it may have parts of version 7."""
    content = native.message.get("content")
    parts = content if isinstance(content, list) else []
    return None if any(map(_may_have_version_7_files, parts)) else as_request(native, options)


def accepts_part(part: JsonObject, role: TurnRole) -> bool:
    """Return whether the SDK accepts a part in a message or an output that is not copied."""
    return has_known_shape(part, _OUTPUT_PART_SHAPES) if role == "tool" else _is_part(part)


def accepts_part_6(part: JsonObject, role: TurnRole) -> bool:
    """Return whether version 6 of the SDK accepts a part; see `accepts_part`."""
    if role == "tool":
        return has_known_shape(part, _OUTPUT_PART_SHAPES_6)
    return _is_part(part) and not _may_have_version_7_files(part)


def _may_have_version_7_files(part: JsonValue) -> bool:
    """Return whether a part may have files in the form of version 7, which version 6 refuses."""
    if not isinstance(part, dict):
        return False
    output = part.get("output")
    is_content = isinstance(output, dict) and output.get("type") == "content"
    return is_content or isinstance(part.get("data"), dict)


def _is_part(part: JsonValue) -> bool:
    if not isinstance(part, dict) or text_member(part, "type") not in _PART_TYPES:
        return False
    output = part.get("output")
    is_output = not isinstance(output, dict) or fits_type(output, _OUTPUT_SHAPES)
    return is_output and fits_type(part, _PART_SHAPES)


def _write_turns(
    turns: Sequence[ResolvedTurn], profile: Profile, output_file: WriteMedium
) -> list[Node]:
    messages: list[Node] = []
    for are_results, group in groupby(turns, lambda turn: turn.role == "tool"):
        if are_results:
            results: list[Node] = [
                {
                    "type": "tool-result",
                    "toolCallId": profile.call_id.fit(turn.call_id),
                    "toolName": profile.tool_name.fit(turn.tool_name),
                    "output": _write_output(turn, output_file),
                }
                for turn in group
            ]
            messages.append({"role": "tool", "content": results})
        else:
            messages += (
                {"role": turn.role, "content": content}
                for turn in group
                if (content := _write_content(turn, profile))
            )
    return messages


def _write_content(turn: ResolvedTurn, profile: Profile) -> str | list[Node]:
    if not turn.calls:
        return content_of(turn.items, _write_file)
    calls = (_write_call(call, profile) for call in turn.calls)
    return [*blocks_of(turn.items, _write_file), *calls]


def _write_call(call: TurnCall, profile: Profile) -> Node:
    arguments = call.arguments
    return {
        "type": "tool-call",
        "toolCallId": profile.call_id.fit(call.call_id),
        "toolName": profile.tool_name.fit(call.name),
        "input": JsonLeaf(arguments)
        if _is_read_exactly(arguments)
        else {"json": json_text(arguments)},
    }


def _write_output(turn: ResolvedTurn, output_file: WriteMedium) -> Node:
    block_types = (MediaItem, ProviderBlock)
    items = [item for item in turn.items if isinstance(item, block_types) or text_of(item)]
    if any(isinstance(item, block_types) for item in items):
        first: list[Node] = [{"type": "text", "text": ERROR_LINE}] if turn.is_error else []
        return {"type": "content", "value": [*first, *blocks_of(items, output_file)]}
    kind = "error-" if turn.is_error else ""
    if len(items) == 1 and isinstance(items[0], DataItem) and _is_read_exactly(items[0].value):
        return {"type": f"{kind}json", "value": JsonLeaf(items[0].value)}
    return {"type": f"{kind}text", "value": join_texts(map(text_of, items))}


def _is_read_exactly(value: JsonValue) -> bool:
    """Return whether JavaScript reads every number of a JSON value exactly."""
    return all(_is_exact(node) for node, _ in iterate_values(value))


def _is_exact(node: JsonValue) -> bool:
    if isinstance(node, Decimal):
        return Decimal(repr(float(node))) == node
    return not isinstance(node, int) or abs(node) <= _LARGEST_SAFE_INTEGER


def _write_file(item: MediaItem) -> Node:
    data = base64_leaf(item) if item.url is None else item.url
    return {"type": "file", "data": data, **_describe_file(item)}


def _write_output_file(item: MediaItem) -> Node:
    if item.url is not None:
        return {"type": "file-url", "url": item.url, "mediaType": item.mime_type}
    data: Node = {"type": "data", "data": base64_leaf(item)}
    return {"type": "file", "data": data, **_describe_file(item)}


def _write_output_file_6(item: MediaItem) -> Node:
    is_image = item.mime_type.startswith("image/")
    if item.url is None:
        data = base64_leaf(item)
        if is_image:
            return {"type": "image-data", "data": data, "mediaType": item.mime_type}
        return {"type": "file-data", "data": data, **_describe_file(item)}
    if is_image:
        return {"type": "image-url", "url": item.url}
    return {"type": "file-url", "url": item.url, "mediaType": item.mime_type}


def _describe_file(item: MediaItem) -> dict[str, Node]:
    described: dict[str, Node] = {"mediaType": item.mime_type}
    if item.filename:
        described["filename"] = item.filename
    return described
