"""Blocks of a single dialect, read by its table inside its own envelopes.

Other members of a block go with the part: a name and an address if the table has them, the rest in
`_meta`. The protocol defines these members, so models do not need to read them as JSON.
"""

from collections.abc import Iterable
from dataclasses import replace

from pagefault_dialects.dialects.envelope import without_paths
from pagefault_dialects.dialects.provider_files import (
    OwnBlock,
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
from pagefault_dialects.results.parts import ReadContext, declared_parts, json_parts, text_parts
from pagefault_dialects.results.side_information import JsonBlock
from pagefault_dialects.results.structures import Rewriting, rewrite_value


def read_dialect_block(block: JsonBlock, place: ReadContext) -> BlockOutcome | None:
    """Return the parts of a block that only the enclosing dialect writes, `None` for others."""
    for form in place.forms:
        if form.mark is not None and block.get(form.mark[0]) != form.mark[1]:
            continue
        read = _read(block, form, place)
        if read is not None:
            return read
    return None


def read_unknown_block(block: JsonBlock, place: ReadContext) -> list[NormalizedPart] | None:
    """Return a text for a block that only its own provider understands; `None` for data.

    The text is its title, its name or its address, else its type. The whole block is in `_meta`.
    """
    return _in_words(block, describe_block(block), place)


def read_provider_file(block: JsonBlock, place: ReadContext) -> list[NormalizedPart] | None:
    """Return a text for a file that only its own provider has; `None` for other blocks."""
    return _in_words(block, find_provider_file(block), place)


def _in_words(
    block: JsonBlock, described: OwnBlock | None, place: ReadContext
) -> list[NormalizedPart] | None:
    if described is None:
        return None
    parts = text_parts(described.text, place)
    whole = rewrite_value(block, place.pointer, Rewriting(place.collector))
    return with_provenance(parts, Provenance(meta={"block": whole}))


def _read(block: JsonBlock, form: BlockForm, place: ReadContext) -> BlockOutcome | None:
    if form.holds == "nothing":
        return []
    if form.holds == "media":
        return _media(block, form, place)
    paths = [path for path in form.payloads if value_at(block, path) is not None]
    if not paths or (form.mark is None and not _is_alone(block, form)):
        return None
    values = [value_at(block, path) for path in paths]
    if form.holds == "text":
        return _texts(block, form, place, paths) if all(map(_is_string, values)) else None
    if form.holds == "json":
        return _with_rest(
            json_parts(values[0], place.inside(*paths[0])), block, form, paths[:1], place
        )
    inner = place.inside(*paths[0])
    carried = _provenance(block, form, paths[:1], place)
    return NestedContent(values[0], inner, [], carried)


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _is_alone(block: JsonBlock, form: BlockForm) -> bool:
    """Return whether no other member of a block has its type."""
    known = {path[0] for path in form.payloads} | {*form.mime_type[:1]} | _BESIDE
    return all(key in known for key, value in block.items() if value is not None)


_BESIDE = frozenset(
    (
        *("filename", "mediaType", "media_type", "mimeType", "mime_type", "metadata", "meta"),
        *("outcome", "created_by", "cachePoint", "citations"),
        *("mediaProcessing", "media_processing"),
    )
)


def _media(block: JsonBlock, form: BlockForm, place: ReadContext) -> list[NormalizedPart] | None:
    path = next((path for path in form.payloads if value_at(block, path) is not None), None)
    if path is None or (form.mark is None and not _is_alone(block, form)):
        return None
    match = match_at(block, path, form.kind)
    if match is None:
        return None
    claim, consumed = match.claim, list(match.consumed)
    mime_type = value_at(block, form.mime_type) if form.mime_type else None
    if isinstance(mime_type, str):
        claim = replace(claim, mime_type=mime_type)
        consumed.append(form.mime_type)
    parts = declared_parts(match.payload, claim, place.inside(*match.path))
    return _with_rest(parts, block, form, consumed, place)


def _texts(
    block: JsonBlock, form: BlockForm, place: ReadContext, paths: list[MemberPath]
) -> list[NormalizedPart]:
    texts = [path for path in paths if value_at(block, path)] or paths[:1]
    parts: list[NormalizedPart] = []
    for path in texts:
        parts += text_parts(str(value_at(block, path)), place.inside(*path))
    return _with_rest(parts, block, form, paths, place)


def _with_rest(
    parts: list[NormalizedPart],
    block: JsonBlock,
    form: BlockForm,
    consumed: Iterable[MemberPath],
    place: ReadContext,
) -> list[NormalizedPart]:
    carried = _provenance(block, form, consumed, place)
    return with_provenance(parts, carried)


def with_provenance(parts: list[NormalizedPart], carried: Provenance) -> list[NormalizedPart]:
    """Return parts of which the first has the provenance."""
    if carried == NO_PROVENANCE or not parts:
        return parts
    first, *following = parts
    own = first.provenance
    name = own.name or carried.name
    if isinstance(first, NormalizedMediaPart | NormalizedLink) and carried.name:
        name = carried.name
    meta = (own.meta or {}) | (carried.meta or {})
    both = Provenance(
        annotations=own.annotations or carried.annotations,
        uri=own.uri or carried.uri,
        name=name,
        meta=meta or None,
    )
    return [replace(first, provenance=both), *following]


def _provenance(
    block: JsonBlock, form: BlockForm, consumed: Iterable[MemberPath], place: ReadContext
) -> Provenance:
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
    annotations = rest.pop("annotations") if isinstance(rest.get("annotations"), dict) else None
    meta = rewrite_value(rest, place.pointer, Rewriting(place.collector)) if rest else None
    return Provenance(
        annotations=annotations if isinstance(annotations, dict) else None,
        uri=uri if isinstance(uri, str) else None,
        name=name if isinstance(name, str) and name else None,
        meta=meta if isinstance(meta, dict) else None,
    )
