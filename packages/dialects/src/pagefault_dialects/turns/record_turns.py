"""A canonical tool result as a turn: its parts in order, media with what the record knows of them.

Source: spec 002, "Canonical Types"; MCP annotations are honoured.
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
from pagefault_dialects.turns.handles import text_line
from pagefault_dialects.turns.mirrored_structures import Said, is_told

# What the pipeline notes of a block beside the members of its tool.
_OWN_META = frozenset({"mimeType", "block"})
_WORDS_OF_META = ("caption", "transcript", "alt", "description")
_LONGEST_NAMED = 200
_ROLES = frozenset({"assistant", "user"})
_STRUCTURED = "/sanitized/meta/structuredContent"
_STRUCTURED_REFERENCE = b'"structuredContent":"@blob:'
_NONE_READ: Mapping[str, JsonValue] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class KeptApart:
    """Structured content that was too long for its record: its digest, as hex, and its length."""

    digest: str
    size_bytes: int


def kept_apart(sanitized: bytes) -> KeptApart | None:
    """Return where the structured content of a stored record is kept, if that is a resource."""
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
    """Return a tool's answer.

    Args:
        sanitized: The record as it is stored.
        origin: The path it is read from.
        audience: For whom; what is for others only is left out.
        seq: The number of its entry, where it is one of a session.
        apart: Structured content that was kept apart and has been read, by its digest.
    """
    record = parse_stored_json(sanitized)
    meta = record["meta"]
    resources = {each["uri"]: each for each in record["resources"]}
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
    """Return whether MCP annotations let something be shown to somebody; without any, to all."""
    named = _audiences(annotations)
    return not named or audience == "everyone" or audience in (name.casefold() for name in named)


def _known(annotations: object) -> Annotations:
    """Return what MCP's own types allow of annotations: for anything else hosts refuse a result."""
    given = annotations if isinstance(annotations, Mapping) else {}
    known: dict[str, JsonValue] = {}
    named = dict.fromkeys(name.casefold() for name in _audiences(given))
    if roles := [name for name in named if name in _ROLES]:
        known["audience"] = roles
    priority = given.get("priority")
    if isinstance(priority, int | float | Decimal) and not isinstance(priority, bool):
        known |= {"priority": priority} if 0 <= priority <= 1 else {}
    if isinstance(modified := given.get("lastModified"), str):
        known["lastModified"] = modified
    return known


def left_out_for(pointer: str, what: str, annotations: object) -> Omission:
    """Return what is left out because its annotations name others only."""
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
    return _medium(part, pointer, resources)


def _of_provider(item: Item, part: Mapping[str, Any], dialect: str | None) -> Item:
    """Return a block that only its own provider understands as one, and any other item as it is."""
    block = (part.get("_meta") or {}).get("block")
    if not isinstance(item, TextItem) or not isinstance(block, dict):
        return item
    own = find_provider_file(block) or describe_block(block)
    owner = own and (own.dialect or dialect)
    if own is None or owner is None or own.text != item.text:
        # A tool gave a member of its own the name.
        return item
    # A medium in it was moved out of it.
    forms = {} if "@blob:" in json_text(block) else {owner: block}
    reason = f"Other dialects have no place for `{own.kind}`."
    return ProviderBlock(item.pointer, forms, own.kind, "no-place", reason, item.text)


def _label(part: Mapping[str, Any]) -> BlockLabel | None:
    """Return what a part carries beside its content, if it carries something."""
    name, uri, meta = part.get("name"), part.get("uri"), part.get("_meta") or {}
    if not (name or uri or meta):
        return None
    kept = {key: value for key, value in meta.items() if key not in _OWN_META}
    mime_type = meta.get("mimeType")
    return BlockLabel(name, uri, kept, mime_type if isinstance(mime_type, str) else None)


def _medium(part: dict[str, Any], pointer: str, resources: Mapping[str, Any]) -> Medium:
    is_image = part["type"] == "image"
    held: str = part["image"] if is_image else part["data"]
    resource_id = parse_resource_id(held)
    known = resources.get(f"blob:{resource_id}", {}) if resource_id else {}
    source = _source(held, resource_id, known)
    kind: ResourceKind = "image" if is_image else known.get("kind") or part["mediaKind"]
    return Medium(
        pointer=pointer,
        source=source,
        kind="text" if kind == "binary" and resource_kind(part["mimeType"]) == "text" else kind,
        mime_type=part["mimeType"],
        filename=part.get("filename") or known.get("filename") or part.get("name"),
        size_bytes=len(source.data) if isinstance(source, InlineBytes) else known.get("size"),
        hints=MediaHints(known.get("width"), known.get("height"), known.get("durationSeconds")),
        words=words_of(part.get("_meta")),
        label=_label(part),
    )


def _source(held: str, resource_id: str | None, known: Mapping[str, Any]) -> MediumSource:
    if resource_id is not None:
        return StoredBytes(resource_id, str(known.get("digest", "")).removeprefix("sha-256:"))
    if held.startswith(("http://", "https://")):
        return Address(held)
    return InlineBytes(pybase64.b64decode(held))


def words_of(meta: object) -> AlternativeText | None:
    """Return what somebody said a medium shows or says, in its `_meta`."""
    if not isinstance(meta, Mapping):
        return None
    for name in _WORDS_OF_META:
        said = meta.get(name)
        if isinstance(said, str) and said.strip():
            return AlternativeText("transcript" if name == "transcript" else "caption", said)
    return None


def _structured(
    record: dict[str, Any], shown: list[Item], apart: Mapping[str, JsonValue]
) -> tuple[tuple[JsonValue] | None, list[Item]]:
    """Return `structuredContent`, and all that is to be read of the result, which is told once."""
    if "structuredContent" not in record["meta"]:
        return None, shown
    value = record["meta"]["structuredContent"]
    if value is None:
        # Only earlier versions stored it. Where there were no parts, they made one of it.
        return None, [
            replace(item, text="") if isinstance(item, TextItem) and item.text == "null" else item
            for item in shown
        ]
    digests = {each["uri"]: _digest(each) for each in record["resources"]}
    said = [
        Said(item, part, _whole_digest(item, digests))
        for part, item in zip(record["parts"], shown, strict=True)
    ]
    kept = _resource_of(record, value)
    if kept is None:
        is_shown = is_told(value, said, digests)
        return (value,), shown if is_shown else [*shown, DataItem(_STRUCTURED, value)]
    if kept["kind"] != "text":
        # It was a medium and nothing else, which is a part of its own.
        return None, shown
    # It was too long for the record, and so may the text have been that says the same.
    digest = _digest(kept)
    structured = (apart[digest],) if digest in apart else None
    is_shown = any(each.digest == digest for each in said)
    if structured is not None and not is_shown:
        is_shown = is_told(structured[0], said, digests)
    reason = "It is too long for the record, and kept as a resource."
    restore = f"GET /api/resources/{kept['uri'].removeprefix('blob:')}/text"
    apart_note = Omission(
        *(_STRUCTURED, "structuredContent", "stored-apart", reason, restore),
        handle_line=text_line(f"@{kept['uri']}", f"structuredContent, {kept['size']:,} bytes"),
    )
    return structured, shown if is_shown else [*shown, apart_note]


def _resource_of(record: dict[str, Any], value: JsonValue) -> dict[str, Any] | None:
    """Return the resource of the record that stands in the place of a value, if one does."""
    moved = parse_resource_id(value) if isinstance(value, str) else None
    return next((each for each in record["resources"] if each["uri"] == f"blob:{moved}"), None)


def _whole_digest(item: Item, digests: Mapping[str, str]) -> str:
    """Return the digest of the whole text of an item that shows it shortened."""
    uri = whole_text_uri(item.text) if isinstance(item, TextItem) else None
    return digests.get(uri, "") if uri else ""


def _digest(resource: Mapping[str, Any]) -> str:
    digest: str = resource["digest"]
    return digest.removeprefix("sha-256:")
