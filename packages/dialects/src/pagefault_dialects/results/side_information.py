"""What a block carries beside its payload: where it is from, how it is meant, and all the rest.

Annotations, origin, name and `_meta` go with the part; whatever else is left becomes a JSON text of
its own, so that no field of a block is ever lost. Members that are `null`, `{}` or `[]` say nothing
(most SDKs write them for every field that was not given) and are left out.

The Python SDK dumps MCP's blocks with `meta` for `_meta` and, since its second version, with names
in snake_case. Only what stands in a block of nothing but the protocol's members is respelled.
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
# In the order of the SDK, which every dump has.
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
# What pydantic-ai calls a medium, which it tells the model: {"kind": "binary", "identifier": …}.
_BINARY_NAMES = (*_NAMES, ("identifier",))


def _in_protocol_words(rest: JsonBlock, block: JsonBlock) -> JsonBlock:
    """Return a copy of the members that are left of a block, in the protocol's words."""
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
        name, said = key, members[key]
        if key == "annotations" and isinstance(said, dict):
            said = _respell_others(said)
        elif key == "icons" and is_protocol and isinstance(said, list):
            said = [_respell_others(icon) if isinstance(icon, dict) else icon for icon in said]
        elif key == "meta" and is_protocol and isinstance(said, dict) and "_meta" not in members:
            name = "_meta"
        if said != {}:
            kept[name] = said
    return kept


def _respell_others(members: JsonBlock) -> JsonBlock:
    said = {key: each for key, each in members.items() if each is not None}
    named = {
        key if _SPELLINGS.get(key, key) in said else _SPELLINGS[key]: each
        for key, each in said.items()
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
    """Return the parts of a block: the first carries the provenance, the rest of it follows.

    Args:
        parts: What the payload became.
        block: The block.
        consumed: Where the payload is, and what says nothing else; media elsewhere are lifted out.
        place: Where the block stands.
        filename: Kept as the name of a part that has no room for a file name.
    """
    # Most blocks say nothing beside their payload.
    rest = without(block, consumed)
    provenance, following = _read_rest(rest, block, place) if rest else (NO_PROVENANCE, [])
    first, *others = parts
    if first.provenance.meta:
        # The tool's own keys win over what was noted about the payload.
        provenance = replace(provenance, meta=first.provenance.meta | (provenance.meta or {}))
    if (
        filename
        and not provenance.name
        and not isinstance(first, NormalizedMediaPart | NormalizedLink)
    ):
        provenance = replace(provenance, name=without_lone_surrogates(filename))
    return [replace(first, provenance=provenance), *others, *following]


def _read_rest(
    rest: JsonBlock, block: JsonBlock, place: ReadContext
) -> tuple[Provenance, list[NormalizedPart]]:
    """Return what stands beside a payload: what goes with its part, and the parts of all else."""
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
    taken = (annotations_path, meta_path, uri_path, name_path)
    left = without(members, filter(None, taken))
    return provenance, [*([json_part(left)] if left else []), *extracted_parts(rewriting.slots)]


def without(block: JsonBlock, paths: Iterable[MemberPath]) -> JsonBlock:
    """Return a copy of a block without the members at the paths and those that say nothing."""
    gone = set(paths)
    containers = {path[:-1] for path in gone if len(path) > 1}
    return _without(block, (), gone, containers)


def _without(
    members: JsonBlock, here: MemberPath, gone: set[MemberPath], containers: set[MemberPath]
) -> JsonBlock:
    # Recurses along the paths only, which are three keys long at most.
    kept: JsonBlock = {}
    for key, member in members.items():
        path = (*here, key)
        if path in gone:
            continue
        rest = member
        leads_on = any(container[: len(path)] == path for container in containers)
        if leads_on and isinstance(member, dict):
            rest = _without(member, path, gone, containers)
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
