"""The messages of `langchain`: dicts that `convert_to_messages` takes.

Content is one text if there are only texts, else a list of the standard content blocks. A plain
text file is a `file` as well: integrations read a `text-plain` block only with text in it, not
base64.

Source: langchain-core 1, `messages.content`.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from pagefault_dialects.json.values import JsonObject, JsonValue, text_member
from pagefault_dialects.model.conversation import MediaItem, NativeMessage, ResolvedTurn, TurnRole
from pagefault_dialects.model.render_options import ImageDetail, RenderOptions
from pagefault_dialects.targets.base64_leaves import (
    JsonLeaf,
    Node,
    base64_leaf,
    content_of,
    file_name_of,
)
from pagefault_dialects.targets.native_messages import write_runs
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.request_shapes import Shape, fits_type

_KINDS = frozenset({"human", "ai", "system", "tool", "function"})
_FILE: Shape = {"file_id?": str}
_SHAPES: Mapping[str, Shape] = dict.fromkeys(("image", "audio", "video", "file"), _FILE)
_TYPES: dict[TurnRole, str] = {"user": "human", "assistant": "ai"}


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages, without empty turns.

    `detail` has no place in them.
    """
    return write_runs(turns, partial(_write, profile=profile))


def as_request(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return a message as it is; `None` if it is of another dialect, or in a wrapper."""
    sent = native.message
    content = sent.get("content")
    # Messages with a role are read by LangChain, but not written.
    is_own = native.dialect == "langchain" and "role" not in sent
    is_own = is_own and text_member(sent, "type") in _KINDS
    is_list = isinstance(content, list) and all(map(_is_block, content))
    return sent if is_own and (is_list or isinstance(content, str)) else None


def accepts_block(block: JsonObject, role: TurnRole) -> bool:
    """Return whether the library accepts a block in a rewritten message."""
    return _is_block(block)


def _is_block(block: JsonValue) -> bool:
    # The library takes the members of a block without a type, such as `cachePoint`, as they are.
    if not isinstance(block, dict):
        return isinstance(block, str)
    has_type = bool(text_member(block, "type")) if "type" in block else True
    return has_type and fits_type(block, _SHAPES)


def _write(turns: Sequence[ResolvedTurn], profile: Profile) -> list[Node]:
    messages: list[Node] = []
    for turn in turns:
        content = content_of(turn.items, _medium)
        if content or turn.calls or turn.role == "tool":
            messages.append(_message(turn, content, profile))
    return messages


def _message(turn: ResolvedTurn, content: Node, profile: Profile) -> Node:
    message: dict[str, Node] = {"type": _TYPES.get(turn.role, turn.role), "content": content}
    if turn.role == "tool":
        message["tool_call_id"] = profile.call_id.fit(turn.call_id)
        message["name"] = profile.tool_name.fit(turn.tool_name)
        message["status"] = "error" if turn.is_error else "success"
    if turn.calls:
        message["tool_calls"] = [
            {
                "name": profile.tool_name.fit(call.name),
                "args": JsonLeaf(call.arguments),
                "id": profile.call_id.fit(call.call_id),
                "type": "tool_call",
            }
            for call in turn.calls
        ]
    return message


def _medium(attachment: MediaItem) -> Node:
    is_file = attachment.kind not in ("image", "audio", "video")
    block: dict[str, Node] = {"type": "file" if is_file else attachment.kind}
    # An image at an address may have no known type; the block itself says that it is one.
    if not attachment.mime_type.endswith("/*"):
        block["mime_type"] = attachment.mime_type
    if attachment.url is not None:
        block["url"] = attachment.url
    else:
        block["base64"] = base64_leaf(attachment)
    # Integrations read a file's name here, and warn and generate one if it is missing.
    if is_file or attachment.filename:
        block["extras"] = {"filename": file_name_of(attachment)}
    return block
