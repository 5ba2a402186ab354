"""The messages of `mcp`: what a server answers a tool call with, and messages of a prompt.

An answer is a `CallToolResult`. It has no room for the call it answers, since a connection knows
that; here `_meta` says it. What people and models said are `PromptMessage`s, which hold one block
each. Only a `SamplingMessage` can hold tool calls.

Before revision 2026-07-28 structured content is an object; any other value is told in words there,
unless the words say it already. `resultType` is new in that revision, and passed over before.

Source: Model Context Protocol, revision 2026-07-28.
"""

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

from app.models.conversation import (
    Address,
    Attachment,
    Call,
    DataItem,
    SettledItem,
    SettledTurn,
    StoredBytes,
)
from app.models.json_value import JsonValue, json_text
from app.models.rendering import ImageDetail
from app.rendering.targets.leaves import JsonLeaf, Node, base64_of, blocks_of, file_name_of
from app.rendering.targets.profile import Profile


def write(turns: Sequence[SettledTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Settled turns as messages; `detail` has no place in them."""
    messages: list[Node] = []
    for turn in turns:
        if turn.role == "tool":
            messages.append(_result(turn, profile))
            continue
        messages += (
            {"role": turn.role, "content": block} for block in blocks_of(turn.items, _medium)
        )
        if turn.calls:
            uses: list[Node] = [_use(call, profile) for call in turn.calls]
            messages.append({"role": turn.role, "content": uses})
    return messages


def _result(turn: SettledTurn, profile: Profile) -> Node:
    if not (profile.has_structured_values or _is_object(turn.structured)):
        turn = replace(turn, structured=None)
    # What stands in `structuredContent` is said in words only where there is nothing else: clients
    # that know no other place read `content`.
    content = blocks_of((item for item in turn.items if not _is_structured(item, turn)), _medium)
    result: dict[str, Node] = {
        "resultType": "complete",
        "content": content or blocks_of(turn.items, _medium),
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


def _is_object(structured: tuple[JsonValue] | None) -> bool:
    return structured is not None and isinstance(structured[0], dict)


def _is_structured(item: SettledItem, turn: SettledTurn) -> bool:
    if turn.structured is None or not isinstance(item, DataItem):
        return False
    value = turn.structured[0]
    # As texts, since in Python true equals 1, and deep values cannot be compared.
    return item.value is value or json_text(item.value) == json_text(value)


def _use(call: Call, profile: Profile) -> Node:
    return {
        "type": "tool_use",
        "id": profile.call_id.fit(call.call_id),
        "name": profile.tool_name.fit(call.name),
        "input": JsonLeaf(call.arguments),
    }


def _medium(attachment: Attachment) -> Node:
    if attachment.address is not None:
        return _link(attachment, attachment.address)
    if attachment.kind in ("image", "audio"):
        return {
            "type": attachment.kind,
            "data": base64_of(attachment),
            "mimeType": attachment.mime_type,
        }
    return {
        "type": "resource",
        "resource": {
            "uri": _uri(attachment),
            "mimeType": attachment.mime_type,
            "blob": base64_of(attachment),
        },
    }


def _link(attachment: Attachment, address: str) -> Node:
    link: dict[str, Node] = {
        "type": "resource_link",
        "uri": address.removeprefix("@") if attachment.is_reference else address,
        "name": file_name_of(attachment),
        "mimeType": attachment.mime_type,
    }
    if not isinstance(attachment.source, Address):
        link["size"] = attachment.size_bytes
    return link


def _uri(attachment: Attachment) -> str:
    if isinstance(attachment.source, StoredBytes):
        return f"blob:{attachment.source.resource_id}"
    return f"file:///{quote(file_name_of(attachment), safe='', errors='replace')}"
