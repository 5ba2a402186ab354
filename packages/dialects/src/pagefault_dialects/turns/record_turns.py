"""Turns of canonical tool results: one item for each part, in order, and structured content.

Parts whose MCP annotations name other audiences are omitted with a note.

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
from pagefault_dialects.pages.line_formats import escape_line_breaks, quote_short
from pagefault_dialects.texts.cuts import find_whole_text_uri
from pagefault_dialects.turns.handles import format_medium_line, format_text_line
from pagefault_dialects.turns.mirrored_structures import RenderedPart, is_mirrored

COLLECTED = "pagefault/collected"
"""The member of a part's `_meta` with the path of a file that the tool left in a folder."""

APP = "pagefault/app"
"""The member of a part's `_meta` with the policy of a page of an MCP App."""

# Members of `_meta` that the service adds to those of the tool.
_SERVICE_META_NAMES = frozenset({"mimeType", "block"})
# Members of the `_meta` of a medium with a text that can replace the medium, by priority.
_ALTERNATIVE_TEXTS = ("caption", "transcript", "alt", "description")
_MAX_AUDIENCE_CHARS = 200
_AUDIENCES = frozenset({"assistant", "user"})
_STRUCTURED_POINTER = "/sanitized/meta/structuredContent"
_STRUCTURED_REFERENCE = b'"structuredContent":"@blob:'
_NO_CONTENTS: Mapping[str, JsonValue] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StructuredResource:
    """A resource with the structured content of a record, which was too long for the record."""

    digest: str
    size_bytes: int


def find_structured_resource(sanitized: bytes) -> StructuredResource | None:
    """Return the resource with the structured content of a stored record, if there is one."""
    if _STRUCTURED_REFERENCE not in sanitized:
        return None
    record = parse_stored_json(sanitized)
    resource = _find_resource(record, record["meta"].get("structuredContent"))
    if resource is None or resource["kind"] != "text":
        return None
    return StructuredResource(_read_digest(resource), resource["size"])


def make_tool_result_turn(
    sanitized: bytes,
    *,
    origin: str,
    audience: Audience,
    seq: int | None = None,
    structured_contents: Mapping[str, JsonValue] = _NO_CONTENTS,
) -> ComposedTurn:
    """Return the turn of a tool result.

    Args:
        sanitized: The stored record, as JSON.
        origin: The path of the record.
        audience: The reader. Parts for other audiences are omitted, each with a note.
        seq: The number of its entry, if it is in a session.
        structured_contents: Structured contents that were loaded from resources, by digest.
    """
    record = parse_stored_json(sanitized)
    meta = record["meta"]
    resources = {resource["uri"]: resource for resource in record["resources"]}
    items = [
        _read_part(part, f"/sanitized/parts/{index}", audience, resources)
        for index, part in enumerate(record["parts"])
    ]
    structured, items = _read_structured(record, items, structured_contents)
    dialect = (meta.get("envelope") or {}).get("dialect")
    # One item for each part; an item for structured content may follow.
    items[: len(record["parts"])] = map(
        _make_provider_block, items, record["parts"], repeat(dialect)
    )
    return Turn(
        role="tool",
        items=tuple(items),
        origin=origin,
        seq=seq,
        call_id=meta["toolCallId"],
        tool_name=meta["toolName"],
        is_error=not meta["success"],
        structured=structured,
        is_stored_alone=True,
        meta=meta.get("_meta") or {},
        annotations={
            f"/sanitized/parts/{index}": annotations
            for index, part in enumerate(record["parts"])
            if (annotations := _select_annotations(part.get("annotations")))
        },
    )


def allows_audience(annotations: object, audience: Audience) -> bool:
    """Return whether MCP annotations allow an audience.

    All audiences are allowed if the annotations name none. `everyone` is always allowed.
    """
    names = _list_audiences(annotations)
    return not names or audience == "everyone" or audience in (name.casefold() for name in names)


def _select_annotations(annotations: object) -> Annotations:
    """Return the valid annotations that MCP defines. Hosts refuse results with any others."""
    members = annotations if isinstance(annotations, Mapping) else {}
    valid: dict[str, JsonValue] = {}
    names = dict.fromkeys(name.casefold() for name in _list_audiences(members))
    if audiences := [name for name in names if name in _AUDIENCES]:
        valid["audience"] = audiences
    priority = members.get("priority")
    if isinstance(priority, int | float | Decimal) and not isinstance(priority, bool):
        valid |= {"priority": priority} if 0 <= priority <= 1 else {}
    if isinstance(modified := members.get("lastModified"), str):
        valid["lastModified"] = modified
    return valid


def note_other_audience(pointer: str, what: str, annotations: object) -> Omission:
    """Return the note for an item that is omitted because its annotations name other audiences."""
    names = ", ".join(escape_line_breaks(name) for name in _list_audiences(annotations))
    reason = f"Its annotations say whom it is for: {quote_short(names, _MAX_AUDIENCE_CHARS)}."
    return Omission(pointer, what, "other-audience", reason)


def _list_audiences(annotations: object) -> list[str]:
    """Return the names of the audiences in annotations, which may be a list or a single name."""
    audience = annotations.get("audience") if isinstance(annotations, Mapping) else None
    names = audience if isinstance(audience, list) else [audience]
    return [name for name in names if isinstance(name, str)]


def _read_part(
    part: dict[str, Any], pointer: str, audience: Audience, resources: Mapping[str, Any]
) -> Item:
    """Return a part as an item, or as a note that it is omitted.

    Args:
        part: The part in the record.
        pointer: The pointer to the part.
        audience: The reader of the turn.
        resources: The resources of the record, by URI.
    """
    if not allows_audience(part.get("annotations"), audience):
        return note_other_audience(pointer, part["type"], part["annotations"])
    if part["type"] == "text":
        return TextItem(pointer, part["text"], label=_read_label(part))
    is_app = APP in (part.get("_meta") or {})
    if is_app and (resource_id := parse_resource_id(part.get("data") or "")):
        reason = "It is the page of an app, which people see and models do not."
        restore = f"GET /api/resources/{resource_id}/content"
        return Omission(pointer, "app", "app", reason, restore)
    return _read_medium(part, pointer, resources)


def _make_provider_block(item: Item, part: Mapping[str, Any], dialect: str | None) -> Item:
    """Return a `ProviderBlock` if a part is a block of one provider, otherwise the item unchanged.

    Args:
        item: The item of the part.
        part: The part. Normalization describes a block of one provider in the part's text, and
            keeps the block in its `_meta`.
        dialect: The dialect of the envelope around the result, if there is one.
    """
    block = (part.get("_meta") or {}).get("block")
    if not isinstance(item, TextItem) or not isinstance(block, dict):
        return item
    described = find_provider_file(block) or describe_block(block)
    block_dialect = described and (described.dialect or dialect)
    if described is None or block_dialect is None or described.text != item.text:
        # The `block` in `_meta` is the tool's, and was not added by normalization.
        return item
    # A block cannot be sent back if its medium was moved to the store.
    has_reference = "@blob:" in json_text(block)
    forms = {} if has_reference else {block_dialect: block}
    reason = f"Other dialects have no place for `{described.kind}`."
    return ProviderBlock(item.pointer, forms, described.kind, "no-place", reason, item.text)


def _read_label(part: Mapping[str, Any]) -> BlockLabel | None:
    """Return the name, URI and metadata of a part, if it has any."""
    name, uri, meta = part.get("name"), part.get("uri"), part.get("_meta") or {}
    if not (name or uri or meta):
        return None
    tool_meta = {key: value for key, value in meta.items() if key not in _SERVICE_META_NAMES}
    mime_type = meta.get("mimeType")
    return BlockLabel(name, uri, tool_meta, mime_type if isinstance(mime_type, str) else None)


def _read_medium(part: dict[str, Any], pointer: str, resources: Mapping[str, Any]) -> Medium:
    """Return a part with a medium, with the properties that its resource has."""
    is_image = part["type"] == "image"
    payload: str = part["image"] if is_image else part["data"]
    resource_id = parse_resource_id(payload)
    resource = resources.get(f"blob:{resource_id}", {}) if resource_id else {}
    source = _find_source(payload, resource_id, resource)
    kind: ResourceKind = "image" if is_image else resource.get("kind") or part["mediaKind"]
    medium = Medium(
        pointer=pointer,
        source=source,
        kind="text" if kind == "binary" and resource_kind(part["mimeType"]) == "text" else kind,
        mime_type=part["mimeType"],
        filename=part.get("filename") or resource.get("filename") or part.get("name"),
        size_bytes=len(source.data) if isinstance(source, InlineBytes) else resource.get("size"),
        hints=MediaHints(
            resource.get("width"), resource.get("height"), resource.get("durationSeconds")
        ),
        words=find_alternative_text(part.get("_meta")),
        label=_read_label(part),
    )
    if resource_id is None or COLLECTED not in (part.get("_meta") or {}):
        return medium
    return replace(
        medium, is_collected=True, instead=format_medium_line(medium, f"@blob:{resource_id}")
    )


def _find_source(
    payload: str, resource_id: str | None, resource: Mapping[str, Any]
) -> MediumSource:
    """Return the source of a medium: its resource, its URL, or the bytes of base64."""
    if resource_id is not None:
        return StoredBytes(resource_id, str(resource.get("digest", "")).removeprefix("sha-256:"))
    if payload.startswith(("http://", "https://")):
        return Address(payload)
    return InlineBytes(pybase64.b64decode(payload))


def find_alternative_text(meta: object) -> AlternativeText | None:
    """Return the caption or transcript in the `_meta` of a medium, if there is one."""
    if not isinstance(meta, Mapping):
        return None
    for name in _ALTERNATIVE_TEXTS:
        text = meta.get(name)
        if isinstance(text, str) and text.strip():
            return AlternativeText("transcript" if name == "transcript" else "caption", text)
    return None


def _read_structured(
    record: dict[str, Any], items: list[Item], structured_contents: Mapping[str, JsonValue]
) -> tuple[tuple[JsonValue] | None, list[Item]]:
    """Return the structured content of a record, and the items of the record.

    The structured content is in a tuple of one; `None` if there is none, or if it was not loaded.
    Unless the items repeat the structured content, an item for it is added.
    """
    if "structuredContent" not in record["meta"]:
        return None, items
    value = record["meta"]["structuredContent"]
    if value is None:
        # Earlier versions stored `null` for no structured content, and then a part with the text
        # `null` if the result had no parts.
        return None, [
            replace(item, text="") if isinstance(item, TextItem) and item.text == "null" else item
            for item in items
        ]
    digests = {item["uri"]: _read_digest(item) for item in record["resources"]}
    parts = [
        RenderedPart(item, part, _find_whole_digest(item, digests))
        for part, item in zip(record["parts"], items, strict=True)
    ]
    resource = _find_resource(record, value)
    if resource is None:
        is_repeated = is_mirrored(value, parts, digests)
        return (value,), items if is_repeated else [*items, DataItem(_STRUCTURED_POINTER, value)]
    if resource["kind"] != "text":
        # The structured content was a single medium, which is a part of the result as well.
        return None, items
    # A part with the same text was shortened, too, and has the same digest.
    digest = _read_digest(resource)
    structured = (structured_contents[digest],) if digest in structured_contents else None
    is_repeated = any(part.digest == digest for part in parts)
    if structured is not None and not is_repeated:
        is_repeated = is_mirrored(structured[0], parts, digests)
    reason = "It is too long for the record, and kept as a resource."
    restore = f"GET /api/resources/{resource['uri'].removeprefix('blob:')}/text"
    note = Omission(
        _STRUCTURED_POINTER,
        "structuredContent",
        "stored-apart",
        reason,
        restore,
        handle_line=format_text_line(
            f"@{resource['uri']}", f"structuredContent, {resource['size']:,} bytes"
        ),
    )
    return structured, items if is_repeated else [*items, note]


def _find_resource(record: dict[str, Any], value: JsonValue) -> dict[str, Any] | None:
    """Return the resource of the record to which a value refers, if there is one."""
    resource_id = parse_resource_id(value) if isinstance(value, str) else None
    uri = f"blob:{resource_id}"
    return next((resource for resource in record["resources"] if resource["uri"] == uri), None)


def _find_whole_digest(item: Item, digests: Mapping[str, str]) -> str:
    """Return the digest of the full text of a shortened item; an empty string for other items."""
    uri = find_whole_text_uri(item.text) if isinstance(item, TextItem) else None
    return digests.get(uri, "") if uri else ""


def _read_digest(resource: Mapping[str, Any]) -> str:
    digest: str = resource["digest"]
    return digest.removeprefix("sha-256:")
