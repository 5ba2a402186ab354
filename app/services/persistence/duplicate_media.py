"""A medium that a result holds twice, once to show and once in a structure, becomes one.

Servers repeat in `structuredContent` what their blocks carry. A block may know the type and the
structure the name, or the other way round; told apart by these they would be two resources. Two
blocks that show the same bytes under two names are two files, and stay two.
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

# What a draft has in memory of its own.
_HEAD_BYTES = 4_096


def may_hold_twice(normalized: NormalizedToolResult) -> bool:
    """Return whether two media may have the same bytes, by their sizes and first bytes."""
    beginnings = {_beginning(medium.source) for medium in normalized.media}
    return len(beginnings) < len(normalized.media)


def with_one_of_each(normalized: NormalizedToolResult) -> NormalizedToolResult:
    """Return the result with the better name and type for what stands in it twice. Blocks.

    Raises:
        StoreUnavailableError: A draft cannot be read.
    """
    shown = {
        part.slot.index
        for part in normalized.parts
        if isinstance(part, NormalizedMediaPart) and not part.extracted
    }
    media = list(normalized.media)
    for group in _same_bytes(media):
        for twins in _twins(group, media, shown):
            _join(twins, media)
    return replace(normalized, media=tuple(media))


def _same_bytes(media: Sequence[NormalizedMedia]) -> list[list[int]]:
    """Return the media of the same bytes, by their numbers; those that begin alike are read."""
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


def _twins(group: list[int], media: list[NormalizedMedia], shown: set[int]) -> list[list[int]]:
    """Return which of the media of the same bytes are one: each lifted one with the one it is of.

    A lifted one is of the shown one with its name, else of the first. Where none is shown, one
    without a name is of the first with a name.
    """
    heads = [number for number in group if number in shown]
    lifted = [number for number in group if number not in shown]
    if not heads:
        heads = [number for number in lifted if media[number].filename][:1] or lifted[:1]
        lifted = [number for number in lifted if not media[number].filename and number != heads[0]]
    by_name: dict[str | None, list[int]] = defaultdict(list)
    for head in heads:
        by_name[media[head].filename].append(head)
    first = by_name[media[heads[0]].filename]
    joined: dict[int, list[int]] = {}
    for number in lifted:
        twins = by_name.get(media[number].filename, first)
        twins.append(number)
        joined[id(twins)] = twins
    return list(joined.values())


def _join(twins: list[int], media: list[NormalizedMedia]) -> None:
    filename = next((media[each].filename for each in twins if media[each].filename), None)
    declared = [media[each].source.declared_mime_type for each in twins]
    says_nothing = (None, OCTET_STREAM)
    specific = (each for each in declared if each and canonical_mime_type(each) not in says_nothing)
    mime_type = next(specific, declared[0])
    # One handle for all: what is kept of it is kept once.
    source = _under_type(media[twins[0]].source, mime_type)
    for each in twins:
        # What a structure refers to has to be stored, however small it is.
        media[each] = replace(media[each], source=source, filename=filename, must_be_stored=True)


def _under_type(source: MediaSource, mime_type: str | None) -> MediaSource:
    if source.declared_mime_type == mime_type:
        return source
    if isinstance(source, DraftMedia):
        return DraftMedia(source.draft, mime_type)
    return InMemoryMedia(source.head(source.size_bytes), mime_type)
