"""The members of a block beside its payload: origin, annotations, and others.

Annotations, origin, name and `_meta` go with the part; the rest becomes a JSON text of its own, so
that no field of a block is lost. Members that are `null`, `{}` or `[]` are dropped (most SDKs write
them for every unset field).

The Python SDK dumps MCP's blocks with `meta` for `_meta` and, since its second version, with names
in snake_case. Only blocks that have no other members than the protocol's are respelled.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from pagefault_dialects.media.block_shapes import is_binary_content, value_at
from pagefault_dialects.media.block_table import MemberPath
from pagefault_dialects.model.normalized import (
    NO_PROVENANCE,
    NormalizedLink,
    NormalizedMediaPart,
    NormalizedPart,
    Provenance,
)
from pagefault_dialects.results.parts import ReadContext, extracted_parts, json_part
from pagefault_dialects.results.structures import Rewriting, rewrite_value
from pagefault_dialects.text_windows import without_lone_surrogates

_TYPES = frozenset(("text", "image", "audio", "resource", "resource_link"))
# In the order of the SDK, as in every dump.
_BLOCK_MEMBERS = (
    *("name", "title", "uri", "description", "mimeType", "mime_type", "size", "icons"),
    *("type", "text", "data", "resource", "annotations", "meta", "_meta"),
)
_RESOURCE_MEMBERS = ("uri", "mimeType", "mime_type", "meta", "_meta", "text", "blob")
_OTHER_MEMBERS = ("src", "mimeType", "sizes", "theme", "audience", "priority", "lastModified")
_SPELLINGS = {"last_modified": "lastModified", "mime_type": "mimeType"}

JsonBlock = dict[str, object]
_T = TypeVar("_T")
_ANNOTATIONS: tuple[MemberPath, ...] = (("annotations",), ("resource", "annotations"))
_META: tuple[MemberPath, ...] = (("_meta",), ("resource", "_meta"))
_URIS: tuple[MemberPath, ...] = (("resource", "uri"), ("uri",))
_NAMES: tuple[MemberPath, ...] = (
    ("resource", "name"),
    ("resource", "title"),
    ("name",),
    ("title",),
)
# Names of pydantic-ai's media, which it sends to the model: {"kind": "binary", "identifier": …}.
_BINARY_NAMES = (*_NAMES, ("identifier",))


def _in_protocol_words(rest: JsonBlock, block: JsonBlock) -> JsonBlock:
    """Return a copy of a block's remaining members, with the protocol's names."""
    members = _BLOCK_MEMBERS if block.get("type") in _TYPES else ()
    rest = _respelled(rest, is_protocol=block.keys() <= {*members})
    resource, whole = rest.get("resource"), block.get("resource")
    if isinstance(resource, dict) and isinstance(whole, dict):
        rest["resource"] = _respelled(resource, is_protocol=whole.keys() <= {*_RESOURCE_MEMBERS})
        if not rest["resource"]:
            del rest["resource"]
    return rest


def _respelled(members: JsonBlock, *, is_protocol: bool) -> JsonBlock:
    kept: JsonBlock = {}
    for key in _in_order(members, _BLOCK_MEMBERS) if is_protocol else members:
        name, value = key, members[key]
        if key == "annotations" and isinstance(value, dict):
            value = _respell_members(value)
        elif key == "icons" and is_protocol and isinstance(value, list):
            value = [_respell_members(icon) if isinstance(icon, dict) else icon for icon in value]
        elif key == "meta" and is_protocol and isinstance(value, dict) and "_meta" not in members:
            name = "_meta"
        if value != {}:
            kept[name] = value
    return kept


def _respell_members(members: JsonBlock) -> JsonBlock:
    present = {key: member for key, member in members.items() if member is not None}
    named = {
        key if _SPELLINGS.get(key, key) in present else _SPELLINGS[key]: value
        for key, value in present.items()
    }
    return {name: named[name] for name in _in_order(named, _OTHER_MEMBERS)}


def _in_order(members: JsonBlock, names: tuple[str, ...]) -> list[str]:
    return sorted(members, key=lambda name: names.index(name) if name in names else len(names))


def with_side_information(
    parts: list[NormalizedPart],
    block: JsonBlock,
    consumed: Iterable[MemberPath],
    place: ReadContext,
    *,
    filename: str | None = None,
) -> list[NormalizedPart]:
    """Return the parts of a block: the first has the provenance, the other members follow.

    Args:
        parts: The parts of the payload.
        block: The block.
        consumed: The places of the payload and of redundant members; media elsewhere are moved out.
        place: The place of the block.
        filename: The name of a part that has no member for a file name.
    """
    # Most blocks have only a payload.
    rest = without(block, consumed)
    provenance, following = _read_rest(rest, block, place) if rest else (NO_PROVENANCE, [])
    first, *following_parts = parts
    if first.provenance.meta:
        # The tool's own keys take precedence over notes about the payload.
        provenance = replace(provenance, meta=first.provenance.meta | (provenance.meta or {}))
    if (
        filename
        and not provenance.name
        and not isinstance(first, NormalizedMediaPart | NormalizedLink)
    ):
        provenance = replace(provenance, name=without_lone_surrogates(filename))
    return [replace(first, provenance=provenance), *following_parts, *following]


def _read_rest(
    rest: JsonBlock, block: JsonBlock, place: ReadContext
) -> tuple[Provenance, list[NormalizedPart]]:
    """Return the provenance in the members beside a payload, and the parts of the others."""
    rewriting = Rewriting(place.collector)
    rewritten = rewrite_value(rest, place.pointer, rewriting)
    if not isinstance(rewritten, dict):
        return NO_PROVENANCE, []
    members = _in_protocol_words(rewritten, block)
    names = _BINARY_NAMES if is_binary_content(block) else _NAMES
    annotations, annotations_path = _first(members, _ANNOTATIONS, dict)
    meta, meta_path = _first(members, _META, dict)
    uri, uri_path = _first(members, _URIS, str)
    name, name_path = _first(members, names, str)
    provenance = Provenance(annotations=annotations, uri=uri, name=name, meta=meta)
    provenance_paths = (annotations_path, meta_path, uri_path, name_path)
    rest = without(members, filter(None, provenance_paths))
    return provenance, [*([json_part(rest)] if rest else []), *extracted_parts(rewriting.slots)]


def without(block: JsonBlock, paths: Iterable[MemberPath]) -> JsonBlock:
    """Return a copy of a block without the members at the paths and without empty ones."""
    removed = set(paths)
    containers = {path[:-1] for path in removed if len(path) > 1}
    return _without(block, (), removed, containers)


def _without(
    members: JsonBlock, here: MemberPath, removed: set[MemberPath], containers: set[MemberPath]
) -> JsonBlock:
    # Recurses only along the paths, which have three keys at most.
    kept: JsonBlock = {}
    for key, member in members.items():
        path = (*here, key)
        if path in removed:
            continue
        rest = member
        leads_on = any(container[: len(path)] == path for container in containers)
        if leads_on and isinstance(member, dict):
            rest = _without(member, path, removed, containers)
        if rest is not None and rest not in ({}, []):
            kept[key] = rest
    return kept


def _first(
    rest: JsonBlock, paths: tuple[MemberPath, ...], kind: type[_T]
) -> tuple[_T | None, MemberPath | None]:
    """Return the first value of a kind at one of the paths, and that path."""
    for path in paths:
        value = value_at(rest, path)
        if isinstance(value, kind):
            return value, path
    return None, None
