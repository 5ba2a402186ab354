"""Keeps the members of a block beside its payload, such as URI, name and annotations.

Annotations, URI, name and `_meta` become the provenance of the part. The other members become
another part, a JSON text, so that no member is lost. Members that are `null`, `{}` or `[]` are
dropped, because most SDKs write them for every unset field.

The Python SDK of MCP dumps blocks with `meta` for `_meta` and, since its second version, with names
in snake_case. Such names are replaced by those of the protocol, but only in blocks that have no
other members than the protocol's.
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
from pagefault_dialects.results.parts import ReadContext, make_json_part, make_media_parts
from pagefault_dialects.results.structures import MediaExtractor, extract_media
from pagefault_dialects.text_windows import without_lone_surrogates

_MCP_TYPES = frozenset(("text", "image", "audio", "resource", "resource_link"))
# The members of MCP's blocks, of the resources in them, and of icons and annotations. They are in
# the order in which the SDK writes them, and kept members are sorted by it.
_BLOCK_MEMBERS = (
    *("name", "title", "uri", "description", "mimeType", "mime_type", "size", "icons"),
    *("type", "text", "data", "resource", "annotations", "meta", "_meta"),
)
_RESOURCE_MEMBERS = ("uri", "mimeType", "mime_type", "meta", "_meta", "text", "blob")
_INNER_MEMBERS = ("src", "mimeType", "sizes", "theme", "audience", "priority", "lastModified")
_CAMEL_CASE_NAMES = {"last_modified": "lastModified", "mime_type": "mimeType"}

JsonBlock = dict[str, object]
_T = TypeVar("_T")
# The paths of the members of a block that become its provenance, by priority.
_ANNOTATIONS: tuple[MemberPath, ...] = (("annotations",), ("resource", "annotations"))
_META: tuple[MemberPath, ...] = (("_meta",), ("resource", "_meta"))
_URIS: tuple[MemberPath, ...] = (("resource", "uri"), ("uri",))
_NAMES: tuple[MemberPath, ...] = (
    ("resource", "name"),
    ("resource", "title"),
    ("name",),
    ("title",),
)
# In media of pydantic-ai, models know a medium by its identifier.
_BINARY_NAMES = (*_NAMES, ("identifier",))


def _rename_block_members(rest: JsonBlock, block: JsonBlock) -> JsonBlock:
    """Return a copy of members of a block with the names that MCP defines.

    Args:
        rest: The members besides the payload.
        block: The whole block, by which blocks of MCP are recognized.
    """
    members = _BLOCK_MEMBERS if block.get("type") in _MCP_TYPES else ()
    rest = _rename_members(rest, is_protocol=block.keys() <= {*members})
    resource, whole = rest.get("resource"), block.get("resource")
    if isinstance(resource, dict) and isinstance(whole, dict):
        is_protocol = whole.keys() <= {*_RESOURCE_MEMBERS}
        rest["resource"] = _rename_members(resource, is_protocol=is_protocol)
        if not rest["resource"]:
            del rest["resource"]
    return rest


def _rename_members(members: JsonBlock, *, is_protocol: bool) -> JsonBlock:
    """Return a copy of the members of a block or a resource with the names that MCP defines.

    Args:
        members: The members.
        is_protocol: Whether the object has only members that MCP defines, in any spelling.
    """
    kept: JsonBlock = {}
    for key in _sort_names(members, _BLOCK_MEMBERS) if is_protocol else members:
        name, value = key, members[key]
        if key == "annotations" and isinstance(value, dict):
            value = _rename_inner_members(value)
        elif key == "icons" and is_protocol and isinstance(value, list):
            value = [
                _rename_inner_members(icon) if isinstance(icon, dict) else icon for icon in value
            ]
        elif key == "meta" and is_protocol and isinstance(value, dict) and "_meta" not in members:
            name = "_meta"
        if value != {}:
            kept[name] = value
    return kept


def _rename_inner_members(members: JsonBlock) -> JsonBlock:
    """Return annotations or an icon with the names that MCP defines, and without nulls."""
    present = {key: member for key, member in members.items() if member is not None}
    renamed: JsonBlock = {}
    for name, value in present.items():
        camel_case_name = _CAMEL_CASE_NAMES.get(name, name)
        # If there is a member in each spelling, both are kept.
        renamed[name if camel_case_name in present else camel_case_name] = value
    return {name: renamed[name] for name in _sort_names(renamed, _INNER_MEMBERS)}


def _sort_names(members: JsonBlock, names: tuple[str, ...]) -> list[str]:
    """Return the names of members: those in `names` in that order, then all others."""
    return sorted(members, key=lambda name: names.index(name) if name in names else len(names))


def add_side_information(
    parts: list[NormalizedPart],
    block: JsonBlock,
    consumed: Iterable[MemberPath],
    context: ReadContext,
    *,
    filename: str | None = None,
) -> list[NormalizedPart]:
    """Return the parts of a payload and of the other members of its block.

    The first part gets the provenance. Members that are neither payload nor provenance follow as
    JSON, with their media moved out.

    Args:
        parts: The parts of the payload.
        block: The block.
        consumed: The paths of the payload and of redundant members.
        context: The context of the block.
        filename: The name of the first part, if it has no member for a file name.
    """
    # Most blocks have only a payload.
    rest = remove_members(block, consumed)
    provenance, following = _read_rest(rest, block, context) if rest else (NO_PROVENANCE, [])
    first, *following_parts = parts
    if first.provenance.meta:
        # If the block has the same members of `_meta`, they replace those of the payload.
        provenance = replace(provenance, meta=first.provenance.meta | (provenance.meta or {}))
    if (
        filename
        and not provenance.name
        and not isinstance(first, NormalizedMediaPart | NormalizedLink)
    ):
        provenance = replace(provenance, name=without_lone_surrogates(filename))
    return [replace(first, provenance=provenance), *following_parts, *following]


def _read_rest(
    rest: JsonBlock, block: JsonBlock, context: ReadContext
) -> tuple[Provenance, list[NormalizedPart]]:
    """Return the provenance in the members besides a payload, and parts for all other members."""
    extractor = MediaExtractor(context.collector)
    extracted = extract_media(rest, context.pointer, extractor)
    if not isinstance(extracted, dict):
        return NO_PROVENANCE, []
    members = _rename_block_members(extracted, block)
    names = _BINARY_NAMES if is_binary_content(block) else _NAMES
    annotations, annotations_path = _find_first(members, _ANNOTATIONS, dict)
    meta, meta_path = _find_first(members, _META, dict)
    uri, uri_path = _find_first(members, _URIS, str)
    name, name_path = _find_first(members, names, str)
    provenance = Provenance(annotations=annotations, uri=uri, name=name, meta=meta)
    provenance_paths = (annotations_path, meta_path, uri_path, name_path)
    rest = remove_members(members, filter(None, provenance_paths))
    return provenance, [
        *([make_json_part(rest)] if rest else []),
        *make_media_parts(extractor.slots),
    ]


def remove_members(block: JsonBlock, paths: Iterable[MemberPath]) -> JsonBlock:
    """Return a copy of a block without the members at the paths and without empty ones."""
    return _remove_members_below(block, (), set(paths))


def _remove_members_below(
    members: JsonBlock, parent: MemberPath, removed: set[MemberPath]
) -> JsonBlock:
    """Return a copy of an object inside a block without the members at the paths in `removed`.

    Args:
        members: The object.
        parent: The path of the object in the block.
        removed: Paths in the block. They have at most three keys, which bounds the recursion.
    """
    kept: JsonBlock = {}
    for key, member in members.items():
        path = (*parent, key)
        if path in removed:
            continue
        remaining = member
        is_above_removed = any(other[: len(path)] == path for other in removed)
        if is_above_removed and isinstance(member, dict):
            remaining = _remove_members_below(member, path, removed)
        if remaining is not None and remaining not in ({}, []):
            kept[key] = remaining
    return kept


def _find_first(
    rest: JsonBlock, paths: tuple[MemberPath, ...], kind: type[_T]
) -> tuple[_T | None, MemberPath | None]:
    """Return the first value of a kind at one of the paths, and that path."""
    for path in paths:
        value = value_at(rest, path)
        if isinstance(value, kind):
            return value, path
    return None, None
