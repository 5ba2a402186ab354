"""What has to be read or made before the media of a conversation can be settled.

Found from what is known of the media alone, so that the ladder itself decides without asking back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.models.conversation import ComposedTurn, Medium
from app.models.rendering import RenderOptions, base64_length
from app.models.resource import DerivedImage, ImageRecipe
from app.rendering.targets.fitting import (
    Fitting,
    MediumRef,
    Obstacle,
    can_be_read_out,
    has_pixels,
    places_of,
)
from app.rendering.targets.profile import Profile

# What an image that has to make room for newer ones is made into, where there is little of it.
_TIGHT_SIDE = 1_024
_AMPLE_BYTES = 1 << 20
_LEAST_ROOM_BITS = 18


@dataclass(frozen=True, slots=True)
class MediaPlan:
    """Media, by their number in reading order: images to be made, and texts to be read."""

    images: Mapping[int, ImageRecipe] = field(default_factory=dict)
    texts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class LoadedMedia:
    """What became of the wishes, by the same numbers; what could not be had is missing."""

    images: Mapping[int, DerivedImage] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)


def plan_media(
    turns: Sequence[ComposedTurn], profile: Profile, options: RenderOptions, *, most_base64: int
) -> MediaPlan:
    """What to read and make for a conversation.

    Args:
        turns: The conversation.
        profile: The target.
        options: What the caller asked for.
        most_base64: The most characters of base64 in one rendering.
    """
    places = places_of(turns)
    fitting = Fitting(profile, options, places)
    obstacles = {place.index: fitting.obstacle(place) for place in places}
    return MediaPlan(
        images=_images(places, obstacles, fitting, most_base64),
        texts=frozenset(
            place.index
            for place in places
            if obstacles[place.index] is not None and _is_worth_reading(place.medium, profile)
        ),
    )


def _images(
    places: Sequence[MediumRef],
    obstacles: Mapping[int, Obstacle | None],
    fitting: Fitting,
    most_base64: int,
) -> dict[int, ImageRecipe]:
    types = fitting.image_types()
    most_images = fitting.most("image")
    wished: dict[int, ImageRecipe] = {}
    used, images = 0, 0
    # From the newest to the oldest: those that come before have to make room.
    for place in reversed(places):
        medium, obstacle = place.medium, obstacles[place.index]
        size = fitting.base64_chars(medium)
        has_smaller = bool(types) and has_pixels(medium)
        if obstacle is not None and not (has_smaller and obstacle.fixable_by_resize):
            continue
        if place.media_class == "image":
            images += 1
            if most_images is not None and images > most_images:
                # It will not be there at all.
                continue
        if obstacle is not None and fitting.most_image_base64 is not None:
            size = min(size, fitting.most_image_base64)
        recipe = None if obstacle is None else _recipe(types, fitting, None)
        if has_smaller and used + size > most_base64:
            recipe = _recipe(types, fitting, most_base64 - used)
            size = base64_length(recipe.most_bytes or 0)
        if recipe is not None:
            wished[place.index] = recipe
        if used + size <= most_base64:
            used += size
    return wished


def _recipe(types: tuple[str, ...], fitting: Fitting, room: int | None) -> ImageRecipe:
    """What an image is made into: what the target takes, and no larger than a room if there is one.

    A room is rounded, so that there are few recipes and not one for every other history.
    """
    most = fitting.most_image_base64
    most_bytes = None if most is None else most // 4 * 3
    if room is None:
        return ImageRecipe(types, fitting.most_side, most_bytes)
    bounded = 1 << max(_LEAST_ROOM_BITS, (max(room, 1) // 4 * 3).bit_length() - 1)
    side = _TIGHT_SIDE if fitting.most_side is None else min(_TIGHT_SIDE, fitting.most_side)
    if bounded >= _AMPLE_BYTES:
        return ImageRecipe(types, fitting.most_side, min(bounded, most_bytes or bounded))
    return ImageRecipe(types, side, bounded)


def _is_worth_reading(medium: Medium, profile: Profile) -> bool:
    size = medium.size_bytes
    if medium.words is not None or medium.instead is not None or size is None:
        return False
    return can_be_read_out(medium) and size <= profile.text_file_chars
