"""Turns of canonical tool results: parts in order, and media with their facts in the record.

MCP annotations are honoured.

Source: spec 002, "Canonical Types".
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import repeat
from types import MappingProxyType
from typing import Any

import pybase64

from pagefault_dialects.dialects.provider_files import describe_block, find_provider_file
from pagefault_dialects.json.values import JsonValue, json_text, parse_stored_json
from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    Annotations,
    BlockLabel,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Item,
    Medium,
    MediumSource,
    Omission,
    ProviderBlock,
    StoredBytes,
    TextItem,
    Turn,
)
from pagefault_dialects.model.render_options import Audience
from pagefault_dialects.model.resource import (
    MediaHints,
    ResourceKind,
    parse_resource_id,
    resource_kind,
)
from pagefault_dialects.pages.one_line import one_line, quoted_short
from pagefault_dialects.texts.cuts import whole_text_uri
from pagefault_dialects.turns.handles import handle_line, text_line
from pagefault_dialects.turns.mirrored_structures import RenderedPart, is_mirrored

COLLECTED = "pagefault/collected"
"""The member of a part's `_meta` with the path of a file that the tool left in a folder."""

APP = "pagefault/app"
"""The member of a part's `_meta` with the policy of a page of an MCP App."""

# Members that the pipeline adds to those of the tool.
_OWN_META = frozenset({"mimeType", "block"})
_WORDS_OF_META = ("caption", "transcript", "alt", "description")
_LONGEST_NAMED = 200
_ROLES = frozenset({"assistant", "user"})
_STRUCTURED = "/sanitized/meta/structuredContent"
_STRUCTURED_REFERENCE = b'"structuredContent":"@blob:'
_NONE_READ: Mapping[str, JsonValue] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class KeptApart:
    """A resource with structured content that was too long for its record."""

    digest: str
    size_bytes: int


def kept_apart(sanitized: bytes) -> KeptApart | None:
    """Return the resource that has the structured content of a stored record, if there is one."""
    if _STRUCTURED_REFERENCE not in sanitized:
        return None
    record = parse_stored_json(sanitized)
    kept = _resource_of(record, record["meta"].get("structuredContent"))
    if kept is None or kept["kind"] != "text":
        return None
    return KeptApart(_digest(kept), kept["size"])


def tool_result_turn(
    sanitized: bytes,
    *,
    origin: str,
    audience: Audience,
    seq: int | None = None,
    apart: Mapping[str, JsonValue] = _NONE_READ,
) -> ComposedTurn:
    """Return the turn of a tool result.

    Args:
        sanitized: The stored record.
        origin: The path of the record.
        audience: The reader. Parts for others only are left out.
        seq: The number of its entry, if it is in a session.
        apart: Structured content that was loaded from resources, by its digest.
    """
    record = parse_stored_json(sanitized)
    meta = record["meta"]
    resources = {resource["uri"]: resource for resource in record["resources"]}
    items = [
        _of_audience(part, f"/sanitized/parts/{index}", audience, resources)
        for index, part in enumerate(record["parts"])
    ]
    structured, items = _structured(record, items, apart)
    opened = (meta.get("envelope") or {}).get("dialect")
    items[: len(record["parts"])] = map(_of_provider, items, record["parts"], repeat(opened))
    return Turn(
        role="tool",
        items=tuple(items),
        origin=origin,
        seq=seq,
        call_id=meta["toolCallId"],
        tool_name=meta["toolName"],
        is_error=not meta["success"],
        structured=structured,
        is_apart=True,
        meta=meta.get("_meta") or {},
        annotations={
            f"/sanitized/parts/{index}": known
            for index, part in enumerate(record["parts"])
            if (known := _known(part.get("annotations")))
        },
    )


def is_for(annotations: object, audience: Audience) -> bool:
    """Return whether MCP annotations allow an audience; without annotations, all are allowed."""
    named = _audiences(annotations)
    return not named or audience == "everyone" or audience in (name.casefold() for name in named)


def _known(annotations: object) -> Annotations:
    """Return the annotations that MCP defines: hosts refuse a result with any others."""
    members = annotations if isinstance(annotations, Mapping) else {}
    known: dict[str, JsonValue] = {}
    named = dict.fromkeys(name.casefold() for name in _audiences(members))
    if roles := [name for name in named if name in _ROLES]:
        known["audience"] = roles
    priority = members.get("priority")
    if isinstance(priority, int | float | Decimal) and not isinstance(priority, bool):
        known |= {"priority": priority} if 0 <= priority <= 1 else {}
    if isinstance(modified := members.get("lastModified"), str):
        known["lastModified"] = modified
    return known


def left_out_for(pointer: str, what: str, annotations: object) -> Omission:
    """Return the note of an item that is left out, because its annotations name others only."""
    named = ", ".join(one_line(name) for name in _audiences(annotations))
    return Omission(
        pointer,
        what,
        "other-audience",
        f"Its annotations say whom it is for: {quoted_short(named, _LONGEST_NAMED)}.",
    )


def _audiences(annotations: object) -> list[str]:
    named = annotations.get("audience") if isinstance(annotations, Mapping) else None
    names = named if isinstance(named, list) else [named]
    return [name for name in names if isinstance(name, str)]


def _of_audience(
    part: dict[str, Any], pointer: str, audience: Audience, resources: Mapping[str, Any]
) -> Item:
    if not is_for(part.get("annotations"), audience):
        return left_out_for(pointer, part["type"], part["annotations"])
    if part["type"] == "text":
        return TextItem(pointer, part["text"], label=_label(part))
    if APP in (part.get("_meta") or {}) and (page := parse_resource_id(part.get("data") or "")):
        reason = "It is the page of an app, which people see and models do not."
        restore = f"GET /api/resources/{page}/content"
        return Omission(pointer, "app", "app", reason, restore)
    return _medium(part, pointer, resources)


def _of_provider(item: Item, part: Mapping[str, Any], dialect: str | None) -> Item:
    """Return a `ProviderBlock` for a block of one provider only, and any other item unchanged."""
    block = (part.get("_meta") or {}).get("block")
    if not isinstance(item, TextItem) or not isinstance(block, dict):
        return item
    own = find_provider_file(block) or describe_block(block)
    owner = own and (own.dialect or dialect)
    if own is None or owner is None or own.text != item.text:
        # The tool has a member of this name.
        return item
    # Without its medium, which was moved to the store, the block cannot be sent back.
    forms = {} if "@blob:" in json_text(block) else {owner: block}
    reason = f"Other dialects have no place for `{own.kind}`."
    return ProviderBlock(item.pointer, forms, own.kind, "no-place", reason, item.text)


def _label(part: Mapping[str, Any]) -> BlockLabel | None:
    """Return the name, address and metadata of a part, if it has any."""
    name, uri, meta = part.get("name"), part.get("uri"), part.get("_meta") or {}
    if not (name or uri or meta):
        return None
    kept = {key: value for key, value in meta.items() if key not in _OWN_META}
    mime_type = meta.get("mimeType")
    return BlockLabel(name, uri, kept, mime_type if isinstance(mime_type, str) else None)


def _medium(part: dict[str, Any], pointer: str, resources: Mapping[str, Any]) -> Medium:
    is_image = part["type"] == "image"
    payload: str = part["image"] if is_image else part["data"]
    resource_id = parse_resource_id(payload)
    known = resources.get(f"blob:{resource_id}", {}) if resource_id else {}
    source = _source(payload, resource_id, known)
    kind: ResourceKind = "image" if is_image else known.get("kind") or part["mediaKind"]
    medium = Medium(
        pointer=pointer,
        source=source,
        kind="text" if kind == "binary" and resource_kind(part["mimeType"]) == "text" else kind,
        mime_type=part["mimeType"],
        filename=part.get("filename") or known.get("filename") or part.get("name"),
        size_bytes=len(source.data) if isinstance(source, InlineBytes) else known.get("size"),
        hints=MediaHints(known.get("width"), known.get("height"), known.get("durationSeconds")),
        words=find_words(part.get("_meta")),
        label=_label(part),
    )
    if resource_id is None or COLLECTED not in (part.get("_meta") or {}):
        return medium
    return replace(medium, is_collected=True, instead=handle_line(medium, f"@blob:{resource_id}"))


def _source(payload: str, resource_id: str | None, known: Mapping[str, Any]) -> MediumSource:
    if resource_id is not None:
        return StoredBytes(resource_id, str(known.get("digest", "")).removeprefix("sha-256:"))
    if payload.startswith(("http://", "https://")):
        return Address(payload)
    return InlineBytes(pybase64.b64decode(payload))


def find_words(meta: object) -> AlternativeText | None:
    """Return the caption or transcript in the `_meta` of a medium, if there is one."""
    if not isinstance(meta, Mapping):
        return None
    for name in _WORDS_OF_META:
        text = meta.get(name)
        if isinstance(text, str) and text.strip():
            return AlternativeText("transcript" if name == "transcript" else "caption", text)
    return None


def _structured(
    record: dict[str, Any], items: list[Item], apart: Mapping[str, JsonValue]
) -> tuple[tuple[JsonValue] | None, list[Item]]:
    """Return `structuredContent`, and the items of the result, with it unless they repeat it."""
    if "structuredContent" not in record["meta"]:
        return None, items
    value = record["meta"]["structuredContent"]
    if value is None:
        # Earlier versions stored `null`, and a part of it for a result without parts.
        return None, [
            replace(item, text="") if isinstance(item, TextItem) and item.text == "null" else item
            for item in items
        ]
    digests = {resource["uri"]: _digest(resource) for resource in record["resources"]}
    parts = [
        RenderedPart(item, part, _whole_digest(item, digests))
        for part, item in zip(record["parts"], items, strict=True)
    ]
    kept = _resource_of(record, value)
    if kept is None:
        is_visible = is_mirrored(value, parts, digests)
        return (value,), items if is_visible else [*items, DataItem(_STRUCTURED, value)]
    if kept["kind"] != "text":
        # The value was nothing but a medium, which is a part of its own.
        return None, items
    # A part with the same text was shortened as well.
    digest = _digest(kept)
    structured = (apart[digest],) if digest in apart else None
    is_visible = any(part.digest == digest for part in parts)
    if structured is not None and not is_visible:
        is_visible = is_mirrored(structured[0], parts, digests)
    reason = "It is too long for the record, and kept as a resource."
    restore = f"GET /api/resources/{kept['uri'].removeprefix('blob:')}/text"
    note = Omission(
        *(_STRUCTURED, "structuredContent", "stored-apart", reason, restore),
        handle_line=text_line(f"@{kept['uri']}", f"structuredContent, {kept['size']:,} bytes"),
    )
    return structured, items if is_visible else [*items, note]


def _resource_of(record: dict[str, Any], value: JsonValue) -> dict[str, Any] | None:
    """Return the resource of the record that replaces a value, if there is one."""
    moved = parse_resource_id(value) if isinstance(value, str) else None
    return next(
        (resource for resource in record["resources"] if resource["uri"] == f"blob:{moved}"), None
    )


def _whole_digest(item: Item, digests: Mapping[str, str]) -> str:
    """Return the digest of the full text of a shortened item, or an empty text."""
    uri = whole_text_uri(item.text) if isinstance(item, TextItem) else None
    return digests.get(uri, "") if uri else ""


def _digest(resource: Mapping[str, Any]) -> str:
    digest: str = resource["digest"]
    return digest.removeprefix("sha-256:")
