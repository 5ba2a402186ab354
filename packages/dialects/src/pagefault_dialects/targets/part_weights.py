"""What parts of a conversation count against the limits of the whole.

Media step down where there are too many of them, or too much. A part may be settled by itself if
all parts together stay within those limits, since then none steps down for that.
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
from pagefault_dialects.targets.fitting import Fitting, places_of
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.profile import MediaClass, Profile
from pagefault_dialects.targets.tokens import request_text_bytes

_NOTHING_BYTES = request_text_bytes(())


@dataclass(frozen=True, slots=True)
class PartWeight:
    """What a part of a conversation takes of a request."""

    text_bytes: int = 0
    """Its texts, and what stands around them."""
    media: Counter[MediaClass] = field(default_factory=Counter)
    """How many media of each class it has."""
    base64_chars: int = 0
    """Of its media: as they are, or as they were made if that is more."""
    inline_media: int = 0
    """How many of them are no files of their own."""
    links: tuple[str, ...] = ()
    """The addresses of media that are elsewhere."""

    def __add__(self, other: "PartWeight") -> "PartWeight":
        return PartWeight(
            self.text_bytes + other.text_bytes,
            self.media + other.media,
            self.base64_chars + other.base64_chars,
            self.inline_media + other.inline_media,
            self.links + other.links,
        )


def part_weight(
    turns: Sequence[ComposedTurn], settled: ResolvedTurns, profile: Profile, options: RenderOptions
) -> PartWeight:
    """Return what a part takes.

    Args:
        turns: Its turns, with all lines that are written into them.
        settled: The same, settled.
        profile: The target.
        options: How it is rendered.
    """
    places = places_of(turns)
    fitting = Fitting(profile, options, places)
    attached = [i for turn in settled.turns for i in turn.items if isinstance(i, MediaItem)]
    made = sum(base64_length(each.size_bytes) for each in attached if each.address is None)
    sources = [place.medium.source for place in places]
    return PartWeight(
        request_text_bytes(turns) - _NOTHING_BYTES,
        Counter(place.media_class for place in places),
        max(made, sum(map(fitting.base64_chars, places))),
        sum(not isinstance(each, Address | StoredBytes) for each in sources),
        tuple(each.url for each in sources if isinstance(each, Address)),
    )


def has_room(
    weight: PartWeight, profile: Profile, options: RenderOptions, most_base64: int
) -> bool:
    """Return whether no medium of a conversation has to step down for the others.

    Args:
        weight: That of all of it.
        profile: The target.
        options: How it is rendered.
        most_base64: The most characters of base64 where the target sets no limit.
    """
    fitting = Fitting(profile, options, ())
    rule = profile.media.get("image")
    limits = [(fitting.most(kind), count) for kind, count in weight.media.items()]
    if rule is not None and rule.crowd is not None:
        limits.append((rule.crowd[0], weight.media["image"]))
    most = [most_base64]
    if profile.request_bytes is not None:
        most.append(profile.request_bytes - _NOTHING_BYTES - weight.text_bytes)
    if options.max_bytes is not None:
        most.append(options.max_bytes)
    is_few = all(limit is None or count <= limit for limit, count in limits)
    return is_few and weight.base64_chars <= max(0, min(most))
