"""The messages of `langchain`: dicts that `convert_to_messages` accepts.

Content is a string if there are only texts; else it is a list of standard content blocks. A plain
text file is a `file` block, since integrations do not read base64 in a `text-plain` block.

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
from pagefault_dialects.targets.native_messages import write_or_copy_turns
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.request_shapes import Shape, fits_type

_MESSAGE_TYPES = frozenset({"human", "ai", "system", "tool", "function"})
_FILE_SHAPE: Shape = {"file_id?": str}
_BLOCK_SHAPES: Mapping[str, Shape] = dict.fromkeys(("image", "audio", "video", "file"), _FILE_SHAPE)
_ROLE_TYPES: dict[TurnRole, str] = {"user": "human", "assistant": "ai"}


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages, without empty turns.

    `detail` is not used, since these messages have no member for it.
    """
    return write_or_copy_turns(turns, partial(_write_turns, profile=profile))


def as_request(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return a message unchanged; `None` if it is of another dialect, or in a wrapper."""
    sent = native.message
    content = sent.get("content")
    # LangChain reads messages with a role, but does not write them.
    is_langchain = native.dialect == "langchain" and "role" not in sent
    has_type = text_member(sent, "type") in _MESSAGE_TYPES
    is_list = isinstance(content, list) and all(map(_is_block, content))
    has_content = is_list or isinstance(content, str)
    return sent if is_langchain and has_type and has_content else None


def accepts_block(block: JsonObject, role: TurnRole) -> bool:
    """Return whether the library accepts a block in a rewritten message."""
    return _is_block(block)


def _is_block(block: JsonValue) -> bool:
    # The library passes on blocks without a type, such as `cachePoint`, unchanged.
    if not isinstance(block, dict):
        return isinstance(block, str)
    has_type = bool(text_member(block, "type")) if "type" in block else True
    return has_type and fits_type(block, _BLOCK_SHAPES)


def _write_turns(turns: Sequence[ResolvedTurn], profile: Profile) -> list[Node]:
    messages: list[Node] = []
    for turn in turns:
        content = content_of(turn.items, _write_medium)
        if content or turn.calls or turn.role == "tool":
            messages.append(_write_message(turn, content, profile))
    return messages


def _write_message(turn: ResolvedTurn, content: Node, profile: Profile) -> Node:
    message: dict[str, Node] = {"type": _ROLE_TYPES.get(turn.role, turn.role), "content": content}
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


def _write_medium(attachment: MediaItem) -> Node:
    is_file = attachment.kind not in ("image", "audio", "video")
    block: dict[str, Node] = {"type": "file" if is_file else attachment.kind}
    # The type of an image at a URL may be unknown; the type of the block says that it is an image.
    if not attachment.mime_type.endswith("/*"):
        block["mime_type"] = attachment.mime_type
    if attachment.url is not None:
        block["url"] = attachment.url
    else:
        block["base64"] = base64_leaf(attachment)
    # Integrations read the name of a file here. Without a name, they warn, and generate one.
    if is_file or attachment.filename:
        block["extras"] = {"filename": file_name_of(attachment)}
    return block
