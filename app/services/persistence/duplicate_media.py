"""Merges duplicates: a medium that a result has both in a block and in its structured content.

MCP servers repeat the media of their blocks in `structuredContent`. Often only one of the two has a
type, and only the other one has a file name, so without merging they would be stored as two
resources. Two blocks with the same bytes and different names are two files, and are not merged.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from app.stores.blobs.draft_media import DraftMedia, digest_of
from pagefault_dialects.media.types import OCTET_STREAM, canonical_mime_type
from pagefault_dialects.model.media import InMemoryMedia, MediaSource
from pagefault_dialects.model.normalized import (
    NormalizedMedia,
    NormalizedMediaPart,
    NormalizedToolResult,
)

# A draft has this many of its first bytes in memory, so they are fast to compare.
_HEAD_BYTES = 4_096


def may_have_duplicates(normalized: NormalizedToolResult) -> bool:
    """Return True if two media have the same size and the same first bytes."""
    beginnings = {_read_beginning(medium.source) for medium in normalized.media}
    return len(beginnings) < len(normalized.media)


def merge_duplicates(normalized: NormalizedToolResult) -> NormalizedToolResult:
    """Return a result whose duplicate media have the same source, name and type.

    Reads media, so call it in a thread.

    Raises:
        StoreUnavailableError: A draft cannot be read.
    """
    block_media = {
        part.slot.index
        for part in normalized.parts
        if isinstance(part, NormalizedMediaPart) and not part.extracted
    }
    media = list(normalized.media)
    for group in _group_by_bytes(media):
        for duplicates in _find_duplicates(group, media, block_media):
            _merge(duplicates, media)
    return replace(normalized, media=tuple(media))


def _group_by_bytes(media: Sequence[NormalizedMedia]) -> list[list[int]]:
    """Return the indexes of media in groups with the same bytes.

    Only media with the same beginning are read.
    """
    by_beginning: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for index, medium in enumerate(media):
        by_beginning[_read_beginning(medium.source)].append(index)
    groups: dict[tuple[int, str], list[int]] = defaultdict(list)
    for (size, _), indexes in by_beginning.items():
        for index in indexes if len(indexes) > 1 else ():
            groups[size, digest_of(media[index].source)].append(index)
    return [indexes for indexes in groups.values() if len(indexes) > 1]


def _read_beginning(source: MediaSource) -> tuple[int, bytes]:
    """Return the size and the first bytes of a medium."""
    return source.size_bytes, source.head(min(_HEAD_BYTES, source.size_bytes))


def _find_duplicates(
    group: list[int], media: list[NormalizedMedia], block_media: set[int]
) -> list[list[int]]:
    """Return, for a group of media with the same bytes, lists of media to be merged.

    A medium in structured content is merged with the block that has its name, or with the first
    block. If there are no blocks, media without a name are merged with the first one with a name.
    """
    targets = [index for index in group if index in block_media]
    in_structures = [index for index in group if index not in block_media]
    if not targets:
        first_named = next((index for index in in_structures if media[index].filename), None)
        targets = in_structures[:1] if first_named is None else [first_named]
        in_structures = [
            index for index in in_structures if not media[index].filename and index != targets[0]
        ]
    by_name: dict[str | None, list[int]] = defaultdict(list)
    for target in targets:
        by_name[media[target].filename].append(target)
    default = by_name[media[targets[0]].filename]
    # Only lists to which a medium is added are returned. They are distinguished by identity.
    merged: dict[int, list[int]] = {}
    for index in in_structures:
        duplicates = by_name.get(media[index].filename, default)
        duplicates.append(index)
        merged[id(duplicates)] = duplicates
    return list(merged.values())


def _merge(duplicates: list[int], media: list[NormalizedMedia]) -> None:
    """Give duplicates one source, with the first file name and the first specific type."""
    filename = next((media[index].filename for index in duplicates if media[index].filename), None)
    declared = [media[index].source.declared_mime_type for index in duplicates]
    unspecific = (None, OCTET_STREAM)
    specific = (item for item in declared if item and canonical_mime_type(item) not in unspecific)
    mime_type = next(specific, declared[0])
    # Media with the same source are stored once.
    source = _with_type(media[duplicates[0]].source, mime_type)
    for index in duplicates:
        # Structured content has references to media, so even a small medium is stored.
        media[index] = replace(media[index], source=source, filename=filename, must_be_stored=True)


def _with_type(source: MediaSource, mime_type: str | None) -> MediaSource:
    if source.declared_mime_type == mime_type:
        return source
    if isinstance(source, DraftMedia):
        return DraftMedia(source.draft, mime_type)
    return InMemoryMedia(source.head(source.size_bytes), mime_type)
