"""The weight of parts of a conversation against the limits of the whole.

Media step down if there are too many or too large ones. A part can be resolved alone if all parts
together stay within those limits, since no medium steps down for others then.
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
from pagefault_dialects.targets.tokens import request_text_bytes

_NOTHING_BYTES = request_text_bytes(())


@dataclass(frozen=True, slots=True)
class PartWeight:
    """The weight of a part of a conversation in a request."""

    text_bytes: int = 0
    """The bytes of its texts and their envelopes."""
    media: Counter[MediaClass] = field(default_factory=Counter)
    """The number of its media by class."""
    base64_chars: int = 0
    """The base64 of its media: originals, or derived ones if they are larger."""
    inline_media: int = 0
    """The number of media that are not files of their own."""
    links: tuple[str, ...] = ()
    """The addresses of media that are not stored."""

    def __add__(self, other: "PartWeight") -> "PartWeight":
        return PartWeight(
            self.text_bytes + other.text_bytes,
            self.media + other.media,
            self.base64_chars + other.base64_chars,
            self.inline_media + other.inline_media,
            self.links + other.links,
        )


def part_weight(
    turns: Sequence[ComposedTurn], resolved: ResolvedTurns, profile: Profile, options: RenderOptions
) -> PartWeight:
    """Return the weight of a part.

    Args:
        turns: Its turns, with all lines written into them.
        resolved: The same turns, resolved.
        profile: The target.
        options: The options of the rendering.
    """
    refs = list_media(turns)
    limits = MediaLimits(profile, options, refs)
    attached = [i for turn in resolved.turns for i in turn.items if isinstance(i, MediaItem)]
    made = sum(base64_length(item.size_bytes) for item in attached if item.address is None)
    sources = [ref.medium.source for ref in refs]
    return PartWeight(
        request_text_bytes(turns) - _NOTHING_BYTES,
        Counter(ref.media_class for ref in refs),
        max(made, sum(map(limits.base64_chars, refs))),
        sum(not isinstance(source, Address | StoredBytes) for source in sources),
        tuple(source.url for source in sources if isinstance(source, Address)),
    )


def has_room(weight: PartWeight, profile: Profile, options: RenderOptions, max_base64: int) -> bool:
    """Return whether no medium of a conversation has to step down for others.

    Args:
        weight: The weight of the whole conversation.
        profile: The target.
        options: The options of the rendering.
        max_base64: The most characters of base64 where the target sets no limit.
    """
    limits = MediaLimits(profile, options, ())
    rule = profile.media.get("image")
    counts = [(limits.max_media(kind), count) for kind, count in weight.media.items()]
    if rule is not None and rule.max_side_of_many is not None:
        counts.append((rule.max_side_of_many[0], weight.media["image"]))
    max_chars = [max_base64]
    if profile.request_bytes is not None:
        max_chars.append(profile.request_bytes - _NOTHING_BYTES - weight.text_bytes)
    if options.max_bytes is not None:
        max_chars.append(options.max_bytes)
    is_within_counts = all(limit is None or count <= limit for limit, count in counts)
    return is_within_counts and weight.base64_chars <= max(0, min(max_chars))
