"""Reads blocks that only one dialect has, by the forms in the dialect's table.

Such blocks are read only inside an envelope of the dialect. The members of a block beside its
payload become the provenance of the part: its name and URI, if the form has their paths, and the
other members in `_meta`. The dialect defines these members, so models do not need them as JSON.
"""

from collections.abc import Iterable
from dataclasses import replace

from pagefault_dialects.dialects.envelope import without_paths
from pagefault_dialects.dialects.provider_files import (
    DescribedBlock,
    describe_block,
    find_provider_file,
)
from pagefault_dialects.dialects.tool_output import BlockForm
from pagefault_dialects.media.block_shapes import match_at, value_at
from pagefault_dialects.media.block_table import MemberPath
from pagefault_dialects.model.normalized import (
    NO_PROVENANCE,
    NormalizedLink,
    NormalizedMediaPart,
    NormalizedPart,
    Provenance,
)
from pagefault_dialects.results.blocks import BlockOutcome, NestedContent
from pagefault_dialects.results.parts import ReadContext, read_as_json, read_payload, read_string
from pagefault_dialects.results.side_information import JsonBlock
from pagefault_dialects.results.structures import MediaExtractor, extract_media

# Members that a block of any form may have. They do not decide whether a block has the form.
_MEMBERS_OF_ANY_BLOCK = frozenset(
    (
        *("filename", "mediaType", "media_type", "mimeType", "mime_type", "metadata", "meta"),
        *("outcome", "created_by", "cachePoint", "citations"),
        *("mediaProcessing", "media_processing"),
    )
)


def read_dialect_block(block: JsonBlock, context: ReadContext) -> BlockOutcome | None:
    """Return the parts of a block by the forms of the enclosing dialect; `None` if none fits."""
    for form in context.forms:
        if form.mark is not None and block.get(form.mark[0]) != form.mark[1]:
            continue
        outcome = _read_form(block, form, context)
        if outcome is not None:
            return outcome
    return None


def read_unknown_block(block: JsonBlock, context: ReadContext) -> list[NormalizedPart] | None:
    """Return a text about a block that only its own provider understands.

    The text has the title, the name and the URL of the block, or only its type. The whole block is
    in `_meta`. The result is `None` for an object without a type, which is data of a tool.
    """
    return _read_description(block, describe_block(block), context)


def read_provider_file(block: JsonBlock, context: ReadContext) -> list[NormalizedPart] | None:
    """Return a text about a file that only its own provider has; `None` for other blocks."""
    return _read_description(block, find_provider_file(block), context)


def _read_description(
    block: JsonBlock, description: DescribedBlock | None, context: ReadContext
) -> list[NormalizedPart] | None:
    """Return the text of a description, with the block in `_meta`; `None` without a description."""
    if description is None:
        return None
    parts = read_string(description.text, context)
    whole = extract_media(block, context.pointer, MediaExtractor(context.collector))
    return add_provenance(parts, Provenance(meta={"block": whole}))


def _read_form(block: JsonBlock, form: BlockForm, context: ReadContext) -> BlockOutcome | None:
    """Return the parts of a block of a form, or its nested content; `None` for other blocks."""
    if form.payload_kind == "nothing":
        return []
    if form.payload_kind == "media":
        return _read_media(block, form, context)
    paths = [path for path in form.payloads if value_at(block, path) is not None]
    if not paths or (form.mark is None and not _has_only_known_members(block, form)):
        return None
    if form.payload_kind == "text":
        is_text = all(isinstance(value_at(block, path), str) for path in paths)
        return _read_texts(block, form, context, paths) if is_text else None
    # Of payloads other than texts, only the first is read.
    payload, payload_context = value_at(block, paths[0]), context.descend(*paths[0])
    if form.payload_kind == "json":
        parts = read_as_json(payload, payload_context)
        return add_provenance(parts, _find_provenance(block, form, paths[:1], context))
    provenance = _find_provenance(block, form, paths[:1], context)
    return NestedContent(payload, payload_context, [], provenance)


def _has_only_known_members(block: JsonBlock, form: BlockForm) -> bool:
    """Return whether a block has the members of a form and those of any block, and no others."""
    known = {path[0] for path in form.payloads} | {*form.mime_type[:1]} | _MEMBERS_OF_ANY_BLOCK
    return all(key in known for key, value in block.items() if value is not None)


def _read_media(
    block: JsonBlock, form: BlockForm, context: ReadContext
) -> list[NormalizedPart] | None:
    """Return the parts of a block of a form with a medium; `None` if it has no such medium."""
    path = next((path for path in form.payloads if value_at(block, path) is not None), None)
    if path is None or (form.mark is None and not _has_only_known_members(block, form)):
        return None
    match = match_at(block, path, form.kind)
    if match is None:
        return None
    claim, consumed = match.claim, list(match.consumed)
    mime_type = value_at(block, form.mime_type) if form.mime_type else None
    if isinstance(mime_type, str):
        claim = replace(claim, mime_type=mime_type)
        consumed.append(form.mime_type)
    parts = read_payload(match.payload, claim, context.descend(*match.path))
    return add_provenance(parts, _find_provenance(block, form, consumed, context))


def _read_texts(
    block: JsonBlock, form: BlockForm, context: ReadContext, paths: list[MemberPath]
) -> list[NormalizedPart]:
    """Return the parts of the texts at some paths of a block, without the empty ones."""
    paths_to_read = [path for path in paths if value_at(block, path)] or paths[:1]
    parts: list[NormalizedPart] = []
    for path in paths_to_read:
        parts += read_string(str(value_at(block, path)), context.descend(*path))
    return add_provenance(parts, _find_provenance(block, form, paths, context))


def add_provenance(parts: list[NormalizedPart], provenance: Provenance) -> list[NormalizedPart]:
    """Return parts with a provenance added to that of the first part.

    Values that the first part has already are kept. Only the name of a medium or link, and members
    of `_meta`, are replaced.
    """
    if provenance == NO_PROVENANCE or not parts:
        return parts
    first, *following = parts
    present = first.provenance
    name = present.name or provenance.name
    if isinstance(first, NormalizedMediaPart | NormalizedLink) and provenance.name:
        name = provenance.name
    meta = (present.meta or {}) | (provenance.meta or {})
    merged = Provenance(
        annotations=present.annotations or provenance.annotations,
        uri=present.uri or provenance.uri,
        name=name,
        meta=meta or None,
    )
    return [replace(first, provenance=merged), *following]


def _find_provenance(
    block: JsonBlock, form: BlockForm, consumed: Iterable[MemberPath], context: ReadContext
) -> Provenance:
    """Return the provenance of a block's parts: the members that the parts do not have.

    Args:
        block: The block.
        form: The form of the block.
        consumed: The paths of the members from which the parts were read.
        context: The context of the block.
    """
    removed: list[MemberPath] = list(consumed)
    if form.mark is not None:
        removed.append((form.mark[0],))
    if block.keys() <= {path[0] for path in removed if len(path) == 1}:
        # Most blocks have nothing else.
        return NO_PROVENANCE
    name, uri = (value_at(block, path) if path else None for path in (form.name, form.uri))
    removed += [
        path for path, value in ((form.name, name), (form.uri, uri)) if isinstance(value, str)
    ]
    remaining = without_paths(block, [*removed, ("cache_control",)])
    rest = {key: value for key, value in remaining.items() if value is not None}
    annotations = rest.get("annotations")
    if isinstance(annotations, dict):
        del rest["annotations"]
    meta = extract_media(rest, context.pointer, MediaExtractor(context.collector)) if rest else None
    return Provenance(
        annotations=annotations if isinstance(annotations, dict) else None,
        uri=uri if isinstance(uri, str) else None,
        name=name if isinstance(name, str) and name else None,
        meta=meta if isinstance(meta, dict) else None,
    )
