"""Merges a medium that a result contains twice, in a block and in a structure, into one.

Servers repeat the media of their blocks in `structuredContent`. If one of the two has the type, and
the other the file name, they would be stored as two resources. Two blocks with the same bytes and
different names are two files, and are not merged.
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

# The beginning of a draft, which it has in memory.
_HEAD_BYTES = 4_096


def may_have_duplicates(normalized: NormalizedToolResult) -> bool:
    """Return whether two media may have the same bytes, by their sizes and first bytes."""
    beginnings = {_beginning(medium.source) for medium in normalized.media}
    return len(beginnings) < len(normalized.media)


def merge_duplicates(normalized: NormalizedToolResult) -> NormalizedToolResult:
    """Give media that the result contains twice the same name and type. Blocks.

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
        for twins in _twins(group, media, block_media):
            _merge(twins, media)
    return replace(normalized, media=tuple(media))


def _group_by_bytes(media: Sequence[NormalizedMedia]) -> list[list[int]]:
    """Return groups of media with the same bytes. Only media with the same beginning are read."""
    alike: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for number, medium in enumerate(media):
        alike[_beginning(medium.source)].append(number)
    groups: dict[tuple[int, str], list[int]] = defaultdict(list)
    for (size, _), numbers in alike.items():
        for number in numbers if len(numbers) > 1 else ():
            groups[size, digest_of(media[number].source)].append(number)
    return [numbers for numbers in groups.values() if len(numbers) > 1]


def _beginning(source: MediaSource) -> tuple[int, bytes]:
    return source.size_bytes, source.head(min(_HEAD_BYTES, source.size_bytes))


def _twins(group: list[int], media: list[NormalizedMedia], in_blocks: set[int]) -> list[list[int]]:
    """Return the media to be merged, of a group with the same bytes.

    A medium in a structure is merged with the block that has its name, or with the first block.
    Without blocks, media without a name are merged with the first one that has a name.
    """
    targets = [number for number in group if number in in_blocks]
    in_structures = [number for number in group if number not in in_blocks]
    if not targets:
        targets = [number for number in in_structures if media[number].filename][
            :1
        ] or in_structures[:1]
        in_structures = [
            number
            for number in in_structures
            if not media[number].filename and number != targets[0]
        ]
    by_name: dict[str | None, list[int]] = defaultdict(list)
    for target in targets:
        by_name[media[target].filename].append(target)
    first = by_name[media[targets[0]].filename]
    joined: dict[int, list[int]] = {}
    for number in in_structures:
        twins = by_name.get(media[number].filename, first)
        twins.append(number)
        joined[id(twins)] = twins
    return list(joined.values())


def _merge(twins: list[int], media: list[NormalizedMedia]) -> None:
    filename = next((media[twin].filename for twin in twins if media[twin].filename), None)
    declared = [media[twin].source.declared_mime_type for twin in twins]
    unspecific = (None, OCTET_STREAM)
    specific = (item for item in declared if item and canonical_mime_type(item) not in unspecific)
    mime_type = next(specific, declared[0])
    # They share one source, so it is stored once.
    source = _with_type(media[twins[0]].source, mime_type)
    for twin in twins:
        # A structure needs a reference, so even a small medium is stored.
        media[twin] = replace(media[twin], source=source, filename=filename, must_be_stored=True)


def _with_type(source: MediaSource, mime_type: str | None) -> MediaSource:
    if source.declared_mime_type == mime_type:
        return source
    if isinstance(source, DraftMedia):
        return DraftMedia(source.draft, mime_type)
    return InMemoryMedia(source.head(source.size_bytes), mime_type)
