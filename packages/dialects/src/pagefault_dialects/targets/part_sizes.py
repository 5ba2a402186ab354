"""The sizes of parts of a conversation, which are added and compared with the limits of requests.

If a request would have too many or too large media, some of them are replaced by smaller forms. If
all parts together are within the limits, nothing is replaced, so each part can be resolved alone.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    MediaItem,
    StoredBytes,
)
from pagefault_dialects.model.render_options import RenderOptions, base64_length
from pagefault_dialects.targets.fitting import MediaLimits, list_media
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.profile import MediaClass, Profile
from pagefault_dialects.targets.tokens import estimate_text_bytes

# `estimate_text_bytes` counts the envelope of the request, which a part does not have.
_EMPTY_REQUEST_BYTES = estimate_text_bytes(())


@dataclass(frozen=True, slots=True)
class PartSize:
    """The size of a part of a conversation in a request."""

    text_bytes: int = 0
    """The bytes of its texts and their envelopes."""
    media: Counter[MediaClass] = field(default_factory=Counter)
    """The number of its media by class."""
    base64_chars: int = 0
    """The characters of base64 of its media: those of the originals or those of the forms that
    replace them, whichever are more."""
    inline_media: int = 0
    """The number of media whose bytes are in the record, not in the blob store."""
    links: tuple[str, ...] = ()
    """The URLs of media that are not stored, in order."""

    def __add__(self, other: "PartSize") -> "PartSize":
        return PartSize(
            self.text_bytes + other.text_bytes,
            self.media + other.media,
            self.base64_chars + other.base64_chars,
            self.inline_media + other.inline_media,
            self.links + other.links,
        )


def measure_part(
    turns: Sequence[ComposedTurn], resolved: ResolvedTurns, profile: Profile, options: RenderOptions
) -> PartSize:
    """Return the size of a part of a conversation.

    Args:
        turns: Its turns, with the lines of `opening_turns.insert_required_lines`.
        resolved: The same turns, resolved.
        profile: The target.
        options: The options of the rendering.
    """
    refs = list_media(turns)
    limits = MediaLimits(profile, options, refs)
    items = (item for turn in resolved.turns for item in turn.items)
    resolved_chars = sum(
        base64_length(item.size_bytes)
        for item in items
        if isinstance(item, MediaItem) and item.address is None
    )
    sources = [ref.medium.source for ref in refs]
    return PartSize(
        estimate_text_bytes(turns) - _EMPTY_REQUEST_BYTES,
        Counter(ref.media_class for ref in refs),
        max(resolved_chars, sum(map(limits.count_base64_chars, refs))),
        sum(not isinstance(source, Address | StoredBytes) for source in sources),
        tuple(source.url for source in sources if isinstance(source, Address)),
    )


def has_room(size: PartSize, profile: Profile, options: RenderOptions, max_base64: int) -> bool:
    """Return whether a conversation has room for all its media in their requested forms.

    Args:
        size: The size of the whole conversation.
        profile: The target.
        options: The options of the rendering.
        max_base64: The most characters of base64, besides the limits of the target and the options.
    """
    limits = MediaLimits(profile, options, ())
    rule = profile.media.get("image")
    counts = [(limits.find_max_media(kind), count) for kind, count in size.media.items()]
    if rule is not None and rule.max_side_of_many is not None:
        counts.append((rule.max_side_of_many[0], size.media["image"]))
    max_chars = [max_base64]
    if profile.request_bytes is not None:
        max_chars.append(profile.request_bytes - _EMPTY_REQUEST_BYTES - size.text_bytes)
    if options.max_bytes is not None:
        max_chars.append(options.max_bytes)
    is_within_counts = all(limit is None or count <= limit for limit, count in counts)
    return is_within_counts and size.base64_chars <= max(0, min(max_chars))
