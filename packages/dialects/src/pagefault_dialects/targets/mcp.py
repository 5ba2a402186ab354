"""The messages of `mcp`: what a server answers a tool call with, and messages of a prompt.

An answer is a `CallToolResult`. It has no room for the call it answers, since a connection knows
that; here `_meta` says it. What people and models said are `PromptMessage`s, which hold one block
each. Only a `SamplingMessage` can hold tool calls.

Before revision 2026-07-28 structured content is an object, and before 2025-06-18 there is none;
what is not taken is told in words, unless the words say it already. Links came with 2025-06-18, so
before that an address is told in words. Audio came with 2025-03-26, and is a file before that.
`resultType` is new in 2026-07-28, and passed over before.

Source: Model Context Protocol, revisions 2024-11-05 to 2026-07-28.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from urllib.parse import quote

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import (
    Address,
    DataItem,
    MediaItem,
    SettledItem,
    SettledTurn,
    StoredBytes,
)
from pagefault_dialects.model.render_options import ImageDetail, McpRevision
from pagefault_dialects.targets.base64_leaves import JsonLeaf, Node, b64, blocks_of, file_name_of
from pagefault_dialects.targets.profile import Profile, tool_use

_AUDIO: McpRevision = "2025-03-26"
_LINKS_AND_STRUCTURED_OBJECTS: McpRevision = "2025-06-18"
_ANY_STRUCTURED_VALUE: McpRevision = "2026-07-28"


def of_revision(profile: Profile, revision: McpRevision) -> Profile:
    """Return what a revision of the protocol takes, of what the newest one does."""
    profile = replace(
        profile, revision=revision, takes_structured=partial(takes_structured, revision=revision)
    )
    if revision >= _LINKS_AND_STRUCTURED_OBJECTS:
        return profile
    media = {kind: replace(rule, addresses=()) for kind, rule in profile.media.items()}
    return replace(profile, media=MappingProxyType(media))


def write(turns: Sequence[SettledTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Return settled turns as messages; `detail` has no place in them."""
    messages: list[Node] = []
    medium = partial(_medium, profile.revision)
    for turn in turns:
        if turn.role == "tool":
            messages.append(_result(turn, profile))
            continue
        messages += (
            {"role": turn.role, "content": block} for block in blocks_of(turn.items, medium)
        )
        if turn.calls:
            uses: list[Node] = [tool_use(call, profile) for call in turn.calls]
            messages.append({"role": turn.role, "content": uses})
    return messages


def _result(turn: SettledTurn, profile: Profile) -> Node:
    if turn.structured is not None and not profile.takes_structured(turn.structured[0]):
        turn = replace(turn, structured=None)
    # What stands in `structuredContent` is said in words only where there is nothing else: clients
    # that know no other place read `content`.
    apart = [item for item in turn.items if not _is_structured(item, turn)]
    result: dict[str, Node] = {
        "resultType": "complete",
        "content": _content(turn, apart, profile) or _content(turn, turn.items, profile),
    }
    if turn.structured is not None:
        result["structuredContent"] = JsonLeaf(turn.structured[0])
    return result | {
        "isError": turn.is_error,
        "_meta": {
            "pagefault/toolCallId": profile.call_id.fit(turn.call_id),
            "pagefault/toolName": profile.tool_name.fit(turn.tool_name),
        },
    }


def _content(turn: SettledTurn, items: Sequence[SettledItem], profile: Profile) -> list[Node]:
    """Return items as blocks, each with the annotations of what it is, or tells of."""
    medium = partial(_medium, profile.revision)
    content: list[Node] = []
    for item in items:
        about = item.medium if isinstance(item, MediaItem) else item
        annotations = _annotations(turn, about.pointer, profile.revision)
        content += (
            {**block, **annotations} if isinstance(block, dict) else block
            for block in blocks_of((item,), medium)
        )
    return content


def _annotations(turn: SettledTurn, pointer: str, revision: McpRevision) -> dict[str, Node]:
    """Return the member of a block that has its annotations, if it has any."""
    annotations = dict(turn.annotations.get(pointer, {}))
    if revision < _LINKS_AND_STRUCTURED_OBJECTS:
        annotations.pop("lastModified", None)
    return {"annotations": JsonLeaf(annotations)} if annotations else {}


def takes_structured(value: JsonValue, *, revision: McpRevision = _ANY_STRUCTURED_VALUE) -> bool:
    """Return whether a revision takes a value as `structuredContent`."""
    if revision >= _ANY_STRUCTURED_VALUE:
        return True
    return revision >= _LINKS_AND_STRUCTURED_OBJECTS and isinstance(value, dict)


def _is_structured(item: SettledItem, turn: SettledTurn) -> bool:
    if turn.structured is None or not isinstance(item, DataItem):
        return False
    value = turn.structured[0]
    # As texts, since in Python true equals 1, and deep values cannot be compared.
    return item.value is value or json_text(item.value) == json_text(value)


def _medium(revision: McpRevision, attachment: MediaItem) -> Node:
    if attachment.address is not None and revision >= _LINKS_AND_STRUCTURED_OBJECTS:
        return _link(attachment, attachment.address)
    if attachment.kind == "image" or (attachment.kind == "audio" and revision >= _AUDIO):
        return {
            "type": attachment.kind,
            "data": b64(attachment),
            "mimeType": attachment.mime_type,
        }
    return {
        "type": "resource",
        "resource": {
            "uri": _uri(attachment),
            "mimeType": attachment.mime_type,
            "blob": b64(attachment),
        },
    }


def _link(attachment: MediaItem, address: str) -> Node:
    link: dict[str, Node] = {
        "type": "resource_link",
        "uri": address.removeprefix("@") if attachment.is_reference else address,
        "name": file_name_of(attachment),
        "mimeType": attachment.mime_type,
    }
    if not isinstance(attachment.source, Address):
        link["size"] = attachment.size_bytes
    return link


def _uri(attachment: MediaItem) -> str:
    if isinstance(attachment.source, StoredBytes):
        return f"blob:{attachment.source.resource_id}"
    return f"file:///{quote(file_name_of(attachment), safe='', errors='replace')}"
