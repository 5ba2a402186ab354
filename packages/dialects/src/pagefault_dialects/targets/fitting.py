"""Limits of media: whether a medium can be sent unchanged, and the plan of images to derive.

Sizes, pixels and types are those measured when the medium was stored, not those that a client
declared. The plan needs only these properties, so it is made without I/O. Its media are loaded
before `ladder.py` decides on the form of each medium.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pagefault_dialects.media.raw_audio import WAV_TYPE, WavFile, plan_wav_file
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.conversation import Address, ComposedTurn, Medium, StoredBytes
from pagefault_dialects.model.render_options import RenderOptions, base64_length
from pagefault_dialects.model.resource import DECODED_TYPES, DerivedImage, ImageRecipe
from pagefault_dialects.targets.media_lines import format_size
from pagefault_dialects.targets.profile import MediaClass, MediaRule, Profile, matches, media_class
from pagefault_dialects.texts.file_texts import FileText

# The size in pixels of sound images of these types is known: it is measured when they are stored.
_MEASURED_TYPES = DECODED_TYPES | {"image/tiff"}
# If an image has to have less than 1 MiB, its longer side is limited to 1,024 pixels as well.
_LARGE_IMAGE_BYTES = 1 << 20
_MAX_SIDE_OF_SMALL_IMAGE = 1_024
# A smaller image may always have 256 KiB: this power of two.
_MIN_ROOM_BITS = 18


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The reason why a medium cannot be sent unchanged."""

    code: str
    reason: str
    fixable_by_resize: bool = False
    """True if an image derived from the medium could be sent instead."""
    rung: Literal["smaller", "larger", "repaired"] = "smaller"
    """The rung of the media ladder that the derived image is on."""


_EVICTED = Obstacle(
    "evicted", "The conversation has to fit its limits; the oldest media make room first."
)

_COLLECTED = Obstacle(
    "collected", "It is a file that the tool left in a folder, and no part of its answer."
)


@dataclass(frozen=True, slots=True)
class MediumRef:
    """A medium of a conversation, with its turn."""

    index: int
    """The index among all media in reading order, from the oldest."""
    turn: ComposedTurn
    medium: Medium

    @property
    def media_class(self) -> MediaClass:
        """The class whose rule applies to the medium."""
        return media_class(self.medium.kind)


def list_media(turns: Sequence[ComposedTurn]) -> list[MediumRef]:
    """Return all media of a conversation, in reading order."""
    media = ((turn, item) for turn in turns for item in turn.items if isinstance(item, Medium))
    return [MediumRef(index, *found) for index, found in enumerate(media)]


class MediaLimits:
    """The limits of each medium in one rendering.

    Args:
        profile: The target.
        options: The options of the rendering.
        refs: All media, for the limits that depend on their number.

    Attributes:
        max_image_base64: The most characters of base64 that one image may have.
        max_side: The most pixels of the longer side of an image.
        min_side: The least pixels of the shorter side of an image.
    """

    def __init__(self, profile: Profile, options: RenderOptions, refs: Sequence[MediumRef]) -> None:
        self._profile = profile
        self._options = options
        rule = profile.media.get("image")
        self.max_image_base64 = rule.max_base64 if rule else None
        self.max_side = self._find_max_side(rule, refs) if rule else None
        self.min_side = rule.min_side if rule else None

    def find_obstacle(self, ref: MediumRef) -> Obstacle | None:
        """Return why a medium cannot be attached unchanged; `None` if it can."""
        medium = ref.medium
        return (
            (_EVICTED if medium.is_evicted else None)
            or (_COLLECTED if medium.is_collected else None)
            or self._check_role(ref)
            or self._check_address(ref)
            or self._check_type(medium)
            or _check_bytes(medium)
            or self._check_size(medium)
            or _check_damage(medium)
        )

    def list_image_types(self) -> tuple[str, ...]:
        """Return the types that an image may be encoded as, the preferred ones first."""
        rule = self._profile.media.get("image")
        encodable = ("image/jpeg", "image/png", "image/webp")
        return tuple(
            item
            for item in encodable
            if rule and rule.accepts_type(item) and self._is_accepted_type(item)
        )

    def find_max_media(self, kind: MediaClass) -> int | None:
        """Return the most media of a class in one rendering; `None` without a limit."""
        rule = self._profile.media.get(kind)
        limits = (
            rule.max_count if rule else None,
            self._options.max_images if kind == "image" else None,
        )
        return min((limit for limit in limits if limit is not None), default=None)

    def count_base64_chars(self, ref: MediumRef) -> int:
        """Return the characters of base64 that an unchanged medium takes in a request."""
        medium = ref.medium
        rule = self._profile.find_media_rule(medium.kind)
        takes_urls = rule and rule.addresses and ref.turn.role in self._profile.address_roles
        is_sent_by_url = self._options.media == "signed-url" and takes_urls
        is_not_inline = self._options.media == "reference" or is_sent_by_url
        is_stored = isinstance(medium.source, StoredBytes)
        if isinstance(medium.source, Address) or (is_stored and is_not_inline):
            return 0
        return base64_length(medium.size_bytes or 0)

    def may_be_attached(self, ref: MediumRef) -> bool:
        """Return whether a medium could be attached if its bytes are sound."""
        medium = ref.medium
        if medium.is_line or self._check_role(ref) or self._check_address(ref):
            return False
        can_be_converted = medium.mime_type in DECODED_TYPES and bool(self.list_image_types())
        if self._check_type(medium) is None or can_be_converted:
            return True
        return self.find_wav(ref) is not None

    def find_wav(self, ref: MediumRef) -> WavFile | None:
        """Return the WAV file to attach instead of audio samples without a header.

        The result is `None` for other media. It is also `None` if the target accepts the samples
        unchanged, or does not accept WAV files.
        """
        medium, rule = ref.medium, self._profile.find_media_rule(ref.medium.kind)
        has_bytes = not medium.is_line and not isinstance(medium.source, Address)
        if rule is None or not has_bytes or self._check_role(ref) or not self._check_type(medium):
            return None
        wav = plan_wav_file(medium.mime_type, medium.size_bytes or 0)
        if wav is None or not (rule.accepts_type(WAV_TYPE) and self._is_accepted_type(WAV_TYPE)):
            return None
        limit = rule.max_base64
        return wav if limit is None or base64_length(wav.size_bytes) <= limit else None

    def _check_role(self, ref: MediumRef) -> Obstacle | None:
        role = ref.turn.role
        if role in self._profile.media_roles:
            return None
        return Obstacle(
            "no-media-here", f"{self._profile.target} takes no media in the {role}'s turns."
        )

    def _check_type(self, medium: Medium) -> Obstacle | None:
        rule = self._profile.find_media_rule(medium.kind)
        if rule is None or not (
            rule.accepts_type(medium.mime_type) or _is_loaded_by_url(medium, rule)
        ):
            return Obstacle(
                "type-not-taken",
                f"{self._profile.target} takes no {medium.mime_type}.",
                fixable_by_resize=True,
            )
        if not self._is_accepted_type(medium.mime_type):
            return Obstacle(
                "not-accepted",
                f"{medium.mime_type} is not among what `accept` names.",
                fixable_by_resize=True,
            )
        return None

    def _check_address(self, ref: MediumRef) -> Obstacle | None:
        medium = ref.medium
        rule = self._profile.find_media_rule(medium.kind)
        # `_check_type` returns the obstacle for a kind that is not accepted at all.
        if rule is None or not isinstance(medium.source, Address):
            return None
        if medium.damage is not None:
            return Obstacle(medium.damage.code, medium.damage.detail)
        if self._profile.accepts_url(medium.source.url, medium.kind, ref.turn.role):
            return None
        return Obstacle(
            "address-not-taken",
            f"{self._profile.target} loads nothing from such an address, and nothing is "
            "fetched here.",
        )

    def _check_size(self, medium: Medium) -> Obstacle | None:
        rule = self._profile.find_media_rule(medium.kind)
        if rule is None or medium.size_bytes is None:
            return None
        if rule.max_base64 is not None and base64_length(medium.size_bytes) > rule.max_base64:
            return Obstacle(
                "too-many-bytes",
                f"{self._profile.target} takes {format_size(rule.max_base64)} of base64 for one, "
                f"and this has {format_size(base64_length(medium.size_bytes))}.",
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
                rung="larger",
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

    def _is_accepted_type(self, mime_type: str) -> bool:
        return self._options.accept is None or matches(mime_type, self._options.accept)

    def _find_max_side(self, rule: MediaRule, refs: Sequence[MediumRef]) -> int | None:
        """Return the most pixels of the longer side of an image, given the number of images."""
        if rule.max_side_of_many is None:
            return rule.max_side
        # Only the images count that would be attached if none had too many pixels.
        images = sum(
            ref.media_class == "image"
            and self.may_be_attached(ref)
            and _check_bytes(ref.medium) is None
            and (self._check_type(ref.medium) is None or can_be_resized(ref.medium))
            for ref in refs
        )
        max_images = self.find_max_media("image")
        if max_images is not None:
            images = min(images, max_images)
        many, side_of_many = rule.max_side_of_many
        return side_of_many if images > many else rule.max_side


def _shorter_side(medium: Medium) -> int:
    return min(medium.hints.width or 0, medium.hints.height or 0)


def _is_loaded_by_url(medium: Medium, rule: MediaRule) -> bool:
    """Return whether a medium is an image of unknown type at a URL that the target loads."""
    is_at_address = isinstance(medium.source, Address) and rule.accepts_url(medium.source.url)
    return is_at_address and medium.mime_type == "image/*" and medium.kind == "image"


def is_text_file(medium: Medium) -> bool:
    """Return whether a medium is a text file, whose text can replace it."""
    is_text = is_textual(medium.mime_type) or medium.mime_type == "image/svg+xml"
    return is_text and not isinstance(medium.source, Address)


def can_be_resized(medium: Medium) -> bool:
    """Return whether an image of another size can be derived from a medium."""
    is_sound = medium.damage is None or medium.damage.is_repairable
    is_decodable = medium.mime_type in DECODED_TYPES and medium.hints.width is not None
    return is_decodable and is_sound and not isinstance(medium.source, Address)


def _check_bytes(medium: Medium) -> Obstacle | None:
    """Return the obstacle of a medium whose bytes are unusable; `None` if they are sound."""
    if isinstance(medium.source, Address):
        return None
    if medium.damage is not None and not medium.damage.is_repairable:
        return Obstacle("unreadable", medium.damage.detail)
    if medium.mime_type in _MEASURED_TYPES and medium.hints.width is None:
        return Obstacle("unreadable", f"The bytes are not those of a sound {medium.mime_type}.")
    return None


def _check_damage(medium: Medium) -> Obstacle | None:
    """Return the obstacle of an image that is damaged but can be repaired; `None` otherwise."""
    if (damage := medium.damage) is None:
        return None
    return Obstacle(damage.code, damage.detail, fixable_by_resize=True, rung="repaired")


@dataclass(frozen=True, slots=True)
class MediaPlan:
    """The media to load before a conversation is resolved, by `MediumRef.index`."""

    images: Mapping[int, ImageRecipe] = field(default_factory=dict)
    """The images to derive."""
    texts: frozenset[int] = frozenset()
    """The text files to read."""
    wavs: frozenset[int] = frozenset()
    """The stored samples to derive WAV files from."""


@dataclass(frozen=True, slots=True)
class LoadedMedia:
    """The loaded media of a plan, by `MediumRef.index`, without those that could not be loaded."""

    images: Mapping[int, DerivedImage] = field(default_factory=dict)
    texts: Mapping[int, FileText] = field(default_factory=dict)
    decode_refusals: Mapping[int, str] = field(default_factory=dict)
    """For each image that was too costly to decode, the sentence that says so."""
    wavs: Mapping[int, DerivedImage] = field(default_factory=dict)
    """WAV files of stored samples, derived like images."""

    def add_refusal(self, ref: MediumRef, obstacle: Obstacle) -> Obstacle:
        """Return an obstacle with the sentence of `decode_refusals` added to its reason, if any."""
        refusal = self.decode_refusals.get(ref.index) if obstacle.fixable_by_resize else None
        if refusal is None:
            return obstacle
        return replace(obstacle, reason=f"{obstacle.reason} {refusal}")


def plan_media(
    turns: Sequence[ComposedTurn], profile: Profile, options: RenderOptions, *, max_base64: int
) -> MediaPlan:
    """Return the plan of media to read and derive for a conversation.

    Args:
        turns: The conversation.
        profile: The target.
        options: The options of the rendering.
        max_base64: The most characters of base64 in one rendering.
    """
    refs = list_media(turns)
    limits = MediaLimits(profile, options, refs)
    obstacles = {ref.index: limits.find_obstacle(ref) for ref in refs}
    texts = (
        ref.index
        for ref in refs
        if obstacles[ref.index] is not None and _can_become_text(ref.medium, profile)
    )
    wavs = {ref.index: wav for ref in refs if (wav := limits.find_wav(ref))}
    stored_wavs = (index for index in wavs if isinstance(refs[index].medium.source, StoredBytes))
    images = _plan_images(refs, obstacles, limits, max_base64, wavs)
    return MediaPlan(images, frozenset(texts), frozenset(stored_wavs))


def _plan_images(
    refs: Sequence[MediumRef],
    obstacles: Mapping[int, Obstacle | None],
    limits: MediaLimits,
    max_base64: int,
    wavs: Mapping[int, WavFile],
) -> dict[int, ImageRecipe]:
    """Return the recipes of the images to derive, by `MediumRef.index`.

    Media are planned from the newest to the oldest, so an older image gets the characters of base64
    that newer media do not use.

    Args:
        refs: All media.
        obstacles: Why each medium cannot be sent unchanged, by `MediumRef.index`.
        limits: The limits of the target.
        max_base64: The most characters of base64 in one rendering.
        wavs: The WAV files that replace samples, by `MediumRef.index`.
    """
    types = limits.list_image_types()
    max_images = limits.find_max_media("image")
    recipes: dict[int, ImageRecipe] = {}
    used_chars, images = 0, 0
    for ref in reversed(refs):
        medium, obstacle = ref.medium, obstacles[ref.index]
        chars = limits.count_base64_chars(ref)
        if ref.index in wavs:
            obstacle, chars = None, base64_length(wavs[ref.index].size_bytes)
        is_resizable = bool(types) and can_be_resized(medium)
        if obstacle is not None and not (is_resizable and obstacle.fixable_by_resize):
            continue
        if ref.media_class == "image":
            images += 1
            if max_images is not None and images > max_images:
                # An image beyond the limit is replaced by text.
                continue
        if obstacle is not None and limits.max_image_base64 is not None:
            chars = min(chars, limits.max_image_base64)
        recipe = None if obstacle is None else _make_recipe(types, limits, medium, None)
        if is_resizable and used_chars + chars > max_base64:
            recipe = _make_recipe(types, limits, medium, max_base64 - used_chars)
            chars = base64_length(recipe.max_bytes or 0)
        if recipe is not None:
            recipes[ref.index] = recipe
        if used_chars + chars <= max_base64:
            used_chars += chars
    return recipes


def _make_recipe(
    types: tuple[str, ...], limits: MediaLimits, medium: Medium, max_chars: int | None
) -> ImageRecipe:
    """Return the recipe of an image within the target's limits, and within `max_chars`.

    Args:
        types: The types that it may be encoded as.
        limits: The limits of the target.
        medium: The image.
        max_chars: The most characters of base64; `None` for no other limit than the target's. The
            limit in bytes is rounded down to a power of two, so that renderings with similar limits
            share derived images.
    """
    max_base64 = limits.max_image_base64
    max_bytes = None if max_base64 is None else max_base64 // 4 * 3
    if limits.is_too_small(medium):
        # A PNG of few pixels is small, and lossless.
        lossless = tuple(mime_type for mime_type in types if mime_type == "image/png") or types
        return ImageRecipe(lossless, limits.max_side, max_bytes, limits.min_side)
    if max_chars is None:
        return ImageRecipe(types, limits.max_side, max_bytes)
    room_bytes = 1 << max(_MIN_ROOM_BITS, (max(max_chars, 1) // 4 * 3).bit_length() - 1)
    if room_bytes >= _LARGE_IMAGE_BYTES:
        return ImageRecipe(types, limits.max_side, min(room_bytes, max_bytes or room_bytes))
    max_side = min(_MAX_SIDE_OF_SMALL_IMAGE, limits.max_side or _MAX_SIDE_OF_SMALL_IMAGE)
    return ImageRecipe(types, max_side, room_bytes)


def _can_become_text(medium: Medium, profile: Profile) -> bool:
    """Return whether a medium is a text file that is read, to be rendered as text."""
    if medium.words is not None or medium.instead is not None or medium.size_bytes is None:
        return False
    return is_text_file(medium) and profile.text_file_chars > 0
