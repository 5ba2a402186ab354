"""Limits of media: whether one may be sent as it is, why not, and which image has to be made.

Sizes, pixels and types are those measured when the medium was stored; a client's claims do not
count. The plan of media to read or make follows from known properties alone, so the ladder decides
without I/O.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pagefault_dialects.media.raw_audio import WAV_TYPE, WavFile, wav_of
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.conversation import Address, ComposedTurn, Medium, StoredBytes
from pagefault_dialects.model.render_options import RenderOptions, base64_length
from pagefault_dialects.model.resource import DECODED_TYPES, DerivedImage, ImageRecipe
from pagefault_dialects.targets.media_lines import size_words
from pagefault_dialects.targets.profile import MediaClass, MediaRule, Profile, matches, media_class
from pagefault_dialects.texts.file_texts import FileText

# Their pixels are counted when they are stored; without a count they are unreadable.
_MEASURED = DECODED_TYPES | {"image/tiff"}
# The side of an image that is reduced to make room for newer ones, if there is little room.
_TIGHT_SIDE = 1_024
_AMPLE_BYTES = 1 << 20
_LEAST_ROOM_BITS = 18


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The reason why a medium cannot be sent as it is.

    With `fixable_by_resize`, an image derived from it could be sent; its rung is `becomes`.
    """

    code: str
    reason: str
    fixable_by_resize: bool = False
    becomes: Literal["smaller", "larger", "repaired"] = "smaller"


_EVICTED = Obstacle(
    "evicted", "The conversation has to fit its limits; the oldest media make room first."
)

_COLLECTED = Obstacle(
    "collected", "It is a file that the tool left in a folder, and no part of its answer."
)


@dataclass(frozen=True, slots=True)
class MediumRef:
    """A medium in its place; places are numbered in reading order, from the oldest."""

    index: int
    turn: ComposedTurn
    medium: Medium

    @property
    def media_class(self) -> MediaClass:
        """The class whose rule applies to the medium."""
        return media_class(self.medium.kind)


def places_of(turns: Sequence[ComposedTurn]) -> list[MediumRef]:
    """Return all media of a conversation, in reading order."""
    media = ((turn, item) for turn in turns for item in turn.items if isinstance(item, Medium))
    return [MediumRef(index, *found) for index, found in enumerate(media)]


class Fitting:
    """The limits of each medium in one rendering.

    Args:
        profile: The target.
        options: The options of the rendering.
        places: All media, for the limits that depend on how many there are.

    Attributes:
        max_image_base64: The most characters of base64 that one image may have.
        max_side: The most pixels of the longer side of an image.
        min_side: The least pixels of the shorter side of an image.
    """

    def __init__(
        self, profile: Profile, options: RenderOptions, places: Sequence[MediumRef]
    ) -> None:
        self._profile = profile
        self._options = options
        rule = profile.media.get("image")
        self.max_image_base64 = rule.max_base64 if rule else None
        self.max_side = self._side(rule, places) if rule else None
        self.min_side = rule.min_side if rule else None

    def obstacle(self, place: MediumRef) -> Obstacle | None:
        """Return why a medium cannot be attached as it is; `None` if it can."""
        medium = place.medium
        return (
            (_EVICTED if medium.is_evicted else None)
            or (_COLLECTED if medium.is_collected else None)
            or self._by_place(place)
            or self._by_address(place)
            or self._by_type(medium)
            or _by_bytes(medium)
            or self._by_size(medium)
            or _by_damage(medium)
        )

    def image_types(self) -> tuple[str, ...]:
        """Return the types that an image may be encoded as, the preferred ones first."""
        rule = self._profile.media.get("image")
        made = ("image/jpeg", "image/png", "image/webp")
        return tuple(item for item in made if rule and rule.takes(item) and self._accepts(item))

    def most(self, kind: MediaClass) -> int | None:
        """Return the most media of a class."""
        rule = self._profile.media.get(kind)
        limits = (
            rule.most if rule else None,
            self._options.max_images if kind == "image" else None,
        )
        return min((limit for limit in limits if limit is not None), default=None)

    def base64_chars(self, place: MediumRef) -> int:
        """Return the characters that a medium takes in a request as it is."""
        medium = place.medium
        rule = self._profile.rule(medium.kind)
        is_loaded = rule and rule.addresses and place.turn.role in self._profile.address_roles
        is_given_by_url = self._options.media == "signed-url" and is_loaded
        is_elsewhere = self._options.media == "reference" or is_given_by_url
        is_stored = isinstance(medium.source, StoredBytes)
        if isinstance(medium.source, Address) or (is_stored and is_elsewhere):
            return 0
        return base64_length(medium.size_bytes or 0)

    def is_wanted(self, place: MediumRef) -> bool:
        """Return whether a medium could be attached if its bytes are sound."""
        medium = place.medium
        if medium.is_line or self._by_place(place) or self._by_address(place):
            return False
        can_be_made = medium.mime_type in DECODED_TYPES and bool(self.image_types())
        return self._by_type(medium) is None or can_be_made or self.wav(place) is not None

    def wav(self, place: MediumRef) -> WavFile | None:
        """Return the WAV file to attach in place of samples without a header.

        Return `None` if the target takes them as they are or takes no WAV, and for other media.
        """
        medium, rule = place.medium, self._profile.rule(place.medium.kind)
        is_there = not medium.is_line and not isinstance(medium.source, Address)
        if rule is None or not is_there or self._by_place(place) or not self._by_type(medium):
            return None
        wav = wav_of(medium.mime_type, medium.size_bytes or 0)
        if wav is None or not (rule.takes(WAV_TYPE) and self._accepts(WAV_TYPE)):
            return None
        limit = rule.max_base64
        return wav if limit is None or base64_length(wav.size_bytes) <= limit else None

    def _by_place(self, place: MediumRef) -> Obstacle | None:
        role = place.turn.role
        if role in self._profile.media_roles:
            return None
        return Obstacle(
            "no-media-here", f"{self._profile.target} takes no media in the {role}'s turns."
        )

    def _by_type(self, medium: Medium) -> Obstacle | None:
        rule = self._profile.rule(medium.kind)
        if rule is None or not (rule.takes(medium.mime_type) or _is_loaded(medium, rule)):
            return Obstacle(
                "type-not-taken",
                f"{self._profile.target} takes no {medium.mime_type}.",
                fixable_by_resize=True,
            )
        if not self._accepts(medium.mime_type):
            return Obstacle(
                "not-accepted",
                f"{medium.mime_type} is not among what `accept` names.",
                fixable_by_resize=True,
            )
        return None

    def _by_address(self, place: MediumRef) -> Obstacle | None:
        medium = place.medium
        rule = self._profile.rule(medium.kind)
        # If the kind is not accepted at all, that is the reason, whatever the address.
        if rule is None or not isinstance(medium.source, Address):
            return None
        if medium.damage is not None:
            return Obstacle(medium.damage.code, medium.damage.detail)
        if self._profile.loads(medium.source.url, medium.kind, place.turn.role):
            return None
        return Obstacle(
            "address-not-taken",
            f"{self._profile.target} loads nothing from such an address, and nothing is "
            "fetched here.",
        )

    def _by_size(self, medium: Medium) -> Obstacle | None:
        rule = self._profile.rule(medium.kind)
        if rule is None or medium.size_bytes is None:
            return None
        if rule.max_base64 is not None and base64_length(medium.size_bytes) > rule.max_base64:
            return Obstacle(
                "too-many-bytes",
                f"{self._profile.target} takes {size_words(rule.max_base64)} of base64 for one, "
                f"and this has {size_words(base64_length(medium.size_bytes))}.",
                fixable_by_resize=True,
            )
        side = max(medium.hints.width or 0, medium.hints.height or 0)
        if medium.kind == "image" and self.max_side is not None and side > self.max_side:
            return Obstacle(
                "too-many-pixels",
                f"{self._profile.target} takes {self.max_side} pixels a side here, and this has "
                f"{side}.",
                fixable_by_resize=True,
            )
        if self.is_too_small(medium):
            return Obstacle(
                "too-few-pixels",
                f"{self._profile.target} takes no image with a side below {self.min_side} "
                f"pixels, and this has {_shorter_side(medium)}.",
                fixable_by_resize=True,
                becomes="larger",
            )
        return None

    def is_too_small(self, medium: Medium) -> bool:
        """Return whether an image has too few pixels and can be enlarged within the limits."""
        shorter = _shorter_side(medium)
        if medium.kind != "image" or self.min_side is None or not shorter:
            return False
        longer = max(medium.hints.width or 0, medium.hints.height or 0)
        is_enlargeable = self.max_side is None or longer * self.min_side <= self.max_side * shorter
        return shorter < self.min_side and is_enlargeable

    def _accepts(self, mime_type: str) -> bool:
        return self._options.accept is None or matches(mime_type, self._options.accept)

    def _side(self, rule: MediaRule, places: Sequence[MediumRef]) -> int | None:
        if rule.crowd is None:
            return rule.max_side
        # Only images that could be attached but for their sizes count.
        images = sum(
            place.media_class == "image"
            and self.is_wanted(place)
            and _by_bytes(place.medium) is None
            and (self._by_type(place.medium) is None or has_pixels(place.medium))
            for place in places
        )
        most = self.most("image")
        above, side = rule.crowd
        return side if min(images, most if most is not None else images) > above else rule.max_side


def _shorter_side(medium: Medium) -> int:
    return min(medium.hints.width or 0, medium.hints.height or 0)


def _is_loaded(medium: Medium, rule: MediaRule) -> bool:
    """Return whether a target loads an image at an address whose type is unknown."""
    is_at_address = isinstance(medium.source, Address) and rule.loads(medium.source.url)
    return is_at_address and medium.mime_type == "image/*" and medium.kind == "image"


def can_be_read_out(medium: Medium) -> bool:
    """Return whether a medium is a text, which can replace it."""
    is_text = is_textual(medium.mime_type) or medium.mime_type == "image/svg+xml"
    return is_text and not isinstance(medium.source, Address)


def has_pixels(medium: Medium) -> bool:
    """Return whether a smaller image can be derived from a medium."""
    is_whole = medium.damage is None or medium.damage.is_repairable
    known = medium.hints.width is not None and is_whole
    return medium.mime_type in DECODED_TYPES and known and not isinstance(medium.source, Address)


def _by_bytes(medium: Medium) -> Obstacle | None:
    """Return why the bytes of a medium are unusable."""
    if isinstance(medium.source, Address):
        return None
    if medium.damage is not None and not medium.damage.is_repairable:
        return Obstacle("unreadable", medium.damage.detail)
    if medium.mime_type in _MEASURED and medium.hints.width is None:
        return Obstacle("unreadable", f"The bytes are not those of a sound {medium.mime_type}.")
    return None


def _by_damage(medium: Medium) -> Obstacle | None:
    """Return why an image with a whole picture is not sent as it is."""
    if (damage := medium.damage) is None:
        return None
    return Obstacle(damage.code, damage.detail, fixable_by_resize=True, becomes="repaired")


@dataclass(frozen=True, slots=True)
class MediaPlan:
    """Media, by their number in reading order: images and WAV files to make, texts to read."""

    images: Mapping[int, ImageRecipe] = field(default_factory=dict)
    texts: frozenset[int] = frozenset()
    wavs: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class LoadedMedia:
    """The loaded media of a plan, by the same numbers; failed ones are missing."""

    images: Mapping[int, DerivedImage] = field(default_factory=dict)
    texts: Mapping[int, FileText] = field(default_factory=dict)
    costly: Mapping[int, str] = field(default_factory=dict)
    """Why images were not decoded: a sentence for each."""
    wavs: Mapping[int, DerivedImage] = field(default_factory=dict)
    """WAV files of stored samples, derived like images."""

    def explain(self, place: MediumRef, obstacle: Obstacle) -> Obstacle:
        """Return an obstacle, with the reason why no smaller image avoids it, if there is one."""
        reason = self.costly.get(place.index) if obstacle.fixable_by_resize else None
        if reason is None:
            return obstacle
        return replace(obstacle, reason=f"{obstacle.reason} {reason}")


def plan_media(
    turns: Sequence[ComposedTurn], profile: Profile, options: RenderOptions, *, max_base64: int
) -> MediaPlan:
    """Return the plan of media to read and make for a conversation.

    Args:
        turns: The conversation.
        profile: The target.
        options: The options of the rendering.
        max_base64: The most characters of base64 in one rendering.
    """
    places = places_of(turns)
    fitting = Fitting(profile, options, places)
    obstacles = {place.index: fitting.obstacle(place) for place in places}
    readable = (
        place.index
        for place in places
        if obstacles[place.index] is not None and _is_worth_reading(place.medium, profile)
    )
    wavs = {place.index: wav for place in places if (wav := fitting.wav(place))}
    stored = (at for at in wavs if isinstance(places[at].medium.source, StoredBytes))
    images = _images(places, obstacles, fitting, max_base64, wavs)
    return MediaPlan(images, frozenset(readable), frozenset(stored))


def _images(
    places: Sequence[MediumRef],
    obstacles: Mapping[int, Obstacle | None],
    fitting: Fitting,
    max_base64: int,
    wavs: Mapping[int, WavFile],
) -> dict[int, ImageRecipe]:
    types = fitting.image_types()
    max_images = fitting.most("image")
    planned: dict[int, ImageRecipe] = {}
    used, images = 0, 0
    # From the newest to the oldest, since older ones make room.
    for place in reversed(places):
        medium, obstacle = place.medium, obstacles[place.index]
        size = fitting.base64_chars(place)
        if place.index in wavs:
            obstacle, size = None, base64_length(wavs[place.index].size_bytes)
        has_smaller = bool(types) and has_pixels(medium)
        if obstacle is not None and not (has_smaller and obstacle.fixable_by_resize):
            continue
        if place.media_class == "image":
            images += 1
            if max_images is not None and images > max_images:
                # It is not attached at all.
                continue
        if obstacle is not None and fitting.max_image_base64 is not None:
            size = min(size, fitting.max_image_base64)
        recipe = None if obstacle is None else _recipe(types, fitting, medium, None)
        if has_smaller and used + size > max_base64:
            recipe = _recipe(types, fitting, medium, max_base64 - used)
            size = base64_length(recipe.max_bytes or 0)
        if recipe is not None:
            planned[place.index] = recipe
        if used + size <= max_base64:
            used += size
    return planned


def _recipe(
    types: tuple[str, ...], fitting: Fitting, medium: Medium, room: int | None
) -> ImageRecipe:
    """Return the recipe of an image: the target's limits, and at most the given room.

    The room is rounded, so that histories share recipes.
    """
    most = fitting.max_image_base64
    max_bytes = None if most is None else most // 4 * 3
    if fitting.is_too_small(medium):
        # A PNG of few pixels is small, and lossless.
        exact = tuple(mime_type for mime_type in types if mime_type == "image/png") or types
        return ImageRecipe(exact, fitting.max_side, max_bytes, fitting.min_side)
    if room is None:
        return ImageRecipe(types, fitting.max_side, max_bytes)
    bounded = 1 << max(_LEAST_ROOM_BITS, (max(room, 1) // 4 * 3).bit_length() - 1)
    side = _TIGHT_SIDE if fitting.max_side is None else min(_TIGHT_SIDE, fitting.max_side)
    if bounded >= _AMPLE_BYTES:
        return ImageRecipe(types, fitting.max_side, min(bounded, max_bytes or bounded))
    return ImageRecipe(types, side, bounded)


def _is_worth_reading(medium: Medium, profile: Profile) -> bool:
    if medium.words is not None or medium.instead is not None or medium.size_bytes is None:
        return False
    return can_be_read_out(medium) and profile.text_file_chars > 0
