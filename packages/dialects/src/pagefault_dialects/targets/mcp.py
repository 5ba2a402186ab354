"""The messages of `mcp`: results of tool calls, and messages of a prompt.

A result is a `CallToolResult`. It has no member for its call, since a connection knows the call; so
`_meta` names it here. Messages of users and models are `PromptMessage`s with one block each. Calls
are in a `SamplingMessage`.

Structured content may be any value since revision 2026-07-28, only an object since 2025-06-18, and
does not exist before that. If a revision does not support a value, the value is written as text,
unless the content has it as text already. Links exist since 2025-06-18; before that, a URL is text.
Audio exists since 2025-03-26; before that, it is a file. A text or a medium with a URI is written
as the resource or the link that it was read from, with its `_meta`, which blocks have since
2025-06-18. `resultType` exists since 2026-07-28; older clients ignore it.

Source: Model Context Protocol, revisions 2024-11-05 to 2026-07-28.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from urllib.parse import quote

from pagefault_dialects.json.values import JsonObject, JsonValue, json_text, text_member
from pagefault_dialects.media.types import mime_type_for_filename
from pagefault_dialects.model.conversation import (
    Address,
    BlockLabel,
    DataItem,
    MediaItem,
    NativeMessage,
    ResolvedItem,
    ResolvedTurn,
    StoredBytes,
    TextItem,
    TurnRole,
)
from pagefault_dialects.model.render_options import ImageDetail, McpRevision, RenderOptions
from pagefault_dialects.targets.base64_leaves import (
    JsonLeaf,
    Node,
    base64_leaf,
    blocks_of,
    file_name_of,
)
from pagefault_dialects.targets.native_messages import write_or_copy_turns
from pagefault_dialects.targets.profile import Profile, make_tool_use_block
from pagefault_dialects.targets.request_shapes import Shape, has_known_shape

_APP_URI_PREFIX = "ui://"
_MIME_TYPE = re.compile(r"[\w.+*-]+/[\w.+*-]+(?:;.*)?")
_SIZE = re.compile(r"(\d{1,18}) bytes")
_CALL_META_NAMES = frozenset({"pagefault/toolCallId", "pagefault/toolName"})
_MEMBERS = frozenset({"role", "content", "_meta"})
_ADDRESS = re.compile(r"[^\s\x00-\x1f\x7f]+")
_BLOCK_SHAPES: Mapping[str, Shape] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "resource": {"resource": {"uri": _ADDRESS}},
    "resource_link": {"uri": _ADDRESS, "name": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"toolUseId": str, "content": list},
}
_AUDIO_SINCE: McpRevision = "2025-03-26"
_LINKS_AND_OBJECTS_SINCE: McpRevision = "2025-06-18"
_ANY_STRUCTURED_SINCE: McpRevision = "2026-07-28"


def narrow_to_revision(profile: Profile, revision: McpRevision) -> Profile:
    """Return the profile of the newest revision, narrowed to what another revision accepts."""
    profile = replace(
        profile,
        revision=revision,
        accepts_structured=partial(accepts_structured, revision=revision),
        accepts_block=partial(accepts_block, revision=revision),
    )
    if revision >= _LINKS_AND_OBJECTS_SINCE:
        return profile
    media = {kind: replace(rule, addresses=()) for kind, rule in profile.media.items()}
    return replace(profile, media=MappingProxyType(media))


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return resolved turns as messages. `detail` is not used: they have no member for it."""
    return write_or_copy_turns(turns, partial(_write_turns, profile=profile))


def as_request(native: NativeMessage, options: RenderOptions) -> JsonObject | None:
    """Return a message unchanged; `None` for other dialects, and for older revisions."""
    sent = native.message
    is_mcp = native.dialect == "mcp" or _is_sampling(sent.get("content"))
    if not is_mcp or options.protocol_version < _ANY_STRUCTURED_SINCE:
        return None
    if "role" in sent:
        is_message = sent["role"] in ("user", "assistant") and sent.keys() <= _MEMBERS
        content = sent.get("content")
        blocks = content if isinstance(content, list) else [content]
        return sent if is_message and blocks and all(map(_is_mcp_block, blocks)) else None
    content = sent.get("content")
    has_blocks = isinstance(content, list) and all(map(_is_mcp_block, content))
    is_complete = sent.get("resultType") == "complete" and _has_valid_call_meta(sent.get("_meta"))
    return sent if has_blocks and is_complete and "jsonrpc" not in sent else None


def accepts_block(
    block: JsonObject, role: TurnRole, revision: McpRevision = _ANY_STRUCTURED_SINCE
) -> bool:
    """Return whether a revision accepts a resource or a link in a rewritten message."""
    kind = text_member(block, "type")
    is_link = kind == "resource_link" and revision >= _LINKS_AND_OBJECTS_SINCE
    return (is_link or kind == "resource") and _is_mcp_block(block)


def _has_valid_call_meta(meta: JsonValue) -> bool:
    """Return whether the `_meta` of a result has both the id and the tool of its call, or none."""
    return not isinstance(meta, dict) or len(_CALL_META_NAMES & meta.keys()) != 1


def _is_mcp_block(block: JsonValue) -> bool:
    return has_known_shape(block, _BLOCK_SHAPES)


def _is_sampling(content: JsonValue) -> bool:
    """Return whether content has calls, or results with the member names of MCP's sampling."""
    blocks = content if isinstance(content, list) else []
    return bool(blocks) and all(
        isinstance(block, dict) and (block.get("type") == "tool_use" or "toolUseId" in block)
        for block in blocks
    )


def _write_turns(turns: Sequence[ResolvedTurn], profile: Profile) -> list[Node]:
    messages: list[Node] = []
    for turn in turns:
        if turn.role == "tool":
            messages.append(_write_result(turn, profile))
            continue
        messages += (
            {"role": turn.role, "content": block}
            for item in turn.items
            for block in _write_blocks(item, profile.revision)
        )
        if turn.calls:
            uses: list[Node] = [make_tool_use_block(call, profile) for call in turn.calls]
            messages.append({"role": turn.role, "content": uses})
    return messages


def _write_result(turn: ResolvedTurn, profile: Profile) -> Node:
    if turn.structured is not None and not profile.accepts_structured(turn.structured[0]):
        turn = replace(turn, structured=None)
    # `structuredContent` is repeated as text only if there is no other content, for clients that
    # read only `content`.
    unstructured = [item for item in turn.items if not _is_structured(item, turn)]
    result: dict[str, Node] = {
        "resultType": "complete",
        "content": _write_content(turn, unstructured, profile)
        or _write_content(turn, turn.items, profile),
    }
    if turn.structured is not None:
        result["structuredContent"] = JsonLeaf(turn.structured[0])
    return result | {
        "isError": turn.is_error,
        "_meta": {
            **{key: JsonLeaf(value) for key, value in turn.meta.items()},
            "pagefault/toolCallId": profile.call_id.fit(turn.call_id),
            "pagefault/toolName": profile.tool_name.fit(turn.tool_name),
        },
    }


def _write_content(
    turn: ResolvedTurn, items: Sequence[ResolvedItem], profile: Profile
) -> list[Node]:
    """Return items as blocks, each with the annotations of its item."""
    content: list[Node] = []
    for item in items:
        pointer = item.medium.pointer if isinstance(item, MediaItem) else item.pointer
        annotations = _write_annotations(turn, pointer, profile.revision)
        content += (
            {**block, **annotations} if isinstance(block, dict) else block
            for block in _write_blocks(item, profile.revision)
        )
    return content


def _write_blocks(item: ResolvedItem, revision: McpRevision) -> list[Node]:
    """Return an item as blocks. An item with a URI is the resource or the link that it was."""
    label = item.medium.label if isinstance(item, MediaItem) else getattr(item, "label", None)
    blocks = blocks_of((item,), partial(_write_medium, revision))
    if label is None or not blocks:
        return blocks
    meta: dict[str, Node] = {"_meta": JsonLeaf(dict(label.meta))} if label.meta else {}
    if isinstance(item, TextItem) and label.uri is not None:
        blocks = [
            _parse_link_text(item.text, label, revision) or _write_text_resource(item.text, label)
        ]
    is_app = (label.uri or "").startswith(_APP_URI_PREFIX)
    return [
        _with_meta(block, meta, is_of_resource=is_app)
        if isinstance(block, dict) and revision >= _LINKS_AND_OBJECTS_SINCE
        else block
        for block in blocks
    ]


def _with_meta(block: dict[str, Node], meta: dict[str, Node], *, is_of_resource: bool) -> Node:
    """Return a block with a `_meta`, which for an app is a member of the resource in the block."""
    resource = block.get("resource")
    if is_of_resource and isinstance(resource, dict):
        return {**block, "resource": {**resource, **meta}}
    return {**block, **meta}


def _write_text_resource(text: str, label: BlockLabel) -> Node:
    mime_type = label.mime_type or _guess_text_type(label.uri or "")
    return {
        "type": "resource",
        "resource": {"uri": _escape_uri(label.uri or ""), "mimeType": mime_type, "text": text},
    }


def _guess_text_type(uri: str) -> str:
    """Return the MIME type of a text without a declared type: JSON or plain text, by its URI."""
    name = mime_type_for_filename(uri.rpartition("/")[2])
    return name if name == "application/json" else "text/plain"


def _parse_link_text(text: str, label: BlockLabel, revision: McpRevision) -> dict[str, Node] | None:
    """Return the link that the lines of a text describe; `None` for the text of a resource.

    The lines are title, name, URI, MIME type, size and description, in this order. All but the name
    and the URI are optional.
    """
    if revision < _LINKS_AND_OBJECTS_SINCE or label.name is None:
        return None
    titles, found, rest = text.partition(f"{label.name}\n{label.uri}")
    if not found or titles.count("\n") > 1 or (rest and not rest.startswith("\n")):
        return None
    uri = _escape_uri(label.uri or "")
    link: dict[str, Node] = {"type": "resource_link", "uri": uri, "name": label.name}
    if titles:
        link["title"] = titles.removesuffix("\n")
    lines = rest.removeprefix("\n")
    first, _, following = lines.partition("\n")
    if _MIME_TYPE.fullmatch(first):
        link["mimeType"] = first
        lines = following
    first, _, following = lines.partition("\n")
    if size := _SIZE.fullmatch(first):
        link["size"] = int(size[1])
        lines = following
    return link | ({"description": lines} if lines else {})


def _write_annotations(turn: ResolvedTurn, pointer: str, revision: McpRevision) -> dict[str, Node]:
    """Return the member with the annotations of a block, if it has any."""
    annotations = dict(turn.annotations.get(pointer, {}))
    if revision < _LINKS_AND_OBJECTS_SINCE:
        annotations.pop("lastModified", None)
    return {"annotations": JsonLeaf(annotations)} if annotations else {}


def accepts_structured(value: JsonValue, *, revision: McpRevision = _ANY_STRUCTURED_SINCE) -> bool:
    """Return whether a revision accepts a value as `structuredContent`."""
    if revision >= _ANY_STRUCTURED_SINCE:
        return True
    return revision >= _LINKS_AND_OBJECTS_SINCE and isinstance(value, dict)


def _is_structured(item: ResolvedItem, turn: ResolvedTurn) -> bool:
    """Return whether an item is the value of the turn's `structuredContent`."""
    if turn.structured is None or not isinstance(item, DataItem):
        return False
    value = turn.structured[0]
    # Compared as texts, since in Python true equals 1, and deep values cannot be compared.
    return item.value is value or json_text(item.value) == json_text(value)


def _write_medium(revision: McpRevision, attachment: MediaItem) -> Node:
    if attachment.address is not None and revision >= _LINKS_AND_OBJECTS_SINCE:
        return _write_link(attachment, attachment.address)
    label = attachment.medium.label
    if label is not None and label.uri is not None:
        return _write_resource(attachment, _escape_uri(label.uri))
    if attachment.kind == "image" or (attachment.kind == "audio" and revision >= _AUDIO_SINCE):
        return {
            "type": attachment.kind,
            "data": base64_leaf(attachment),
            "mimeType": attachment.mime_type,
        }
    return _write_resource(attachment, _make_uri(attachment))


def _write_resource(attachment: MediaItem, uri: str) -> Node:
    resource: Node = {"uri": uri, "mimeType": attachment.mime_type, "blob": base64_leaf(attachment)}
    return {"type": "resource", "resource": resource}


def _write_link(attachment: MediaItem, address: str) -> Node:
    link: dict[str, Node] = {
        "type": "resource_link",
        "uri": address.removeprefix("@") if attachment.is_reference else address,
        "name": file_name_of(attachment),
        "mimeType": attachment.mime_type,
    }
    if not isinstance(attachment.source, Address):
        link["size"] = attachment.size_bytes
    return link


def _escape_uri(address: str) -> str:
    """Return a URI with spaces and control characters percent-encoded."""
    return "".join(
        quote(character, safe="", errors="replace")
        if unicodedata.category(character)[0] in "ZC"
        else character
        for character in address
    )


def _make_uri(attachment: MediaItem) -> str:
    """Return the URI of a medium that had none: its blob, or its file name."""
    if isinstance(attachment.source, StoredBytes):
        return f"blob:{attachment.source.resource_id}"
    return f"file:///{quote(file_name_of(attachment), safe='', errors='replace')}"
