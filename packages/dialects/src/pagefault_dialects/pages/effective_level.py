"""The level that is really rendered, and whether a fuller one has more content.

A level with the same content as a fuller one counts as the fuller one: REDUCED of a short text is
FULL. Levels are compared by the text and the attached image that a model gets.
"""

from dataclasses import dataclass
from typing import TypeAlias

from pagefault_dialects.json.values import values_in
from pagefault_dialects.model.page import Body, Level, Page
from pagefault_dialects.pages.page_text import image_text, level_with_text, visible_text

_RECORDINGS = frozenset({"audio", "video"})


@dataclass(frozen=True, slots=True)
class EffectiveLevel:
    """The rendered level; `has_more` if a fuller one has more content."""

    level: Level
    has_more: bool


_Sight: TypeAlias = tuple[Body | None, str | None]
"""The content that a model gets of a level: the image, else the text."""


def attached_image(page: Page, level: Level) -> Body | None:
    """Return the image that is attached at a level: an address, or a medium that is an image.

    A data URI of an unreadable image is attached as it was sent (spec 000: content that starts with
    `data:` is a block), unless it is known to be damaged.
    """
    representation = page.at(level)
    if representation is None or level > Level.REDUCED or page.fields.modality != "image":
        return None
    if page.unreadable(level):
        return None
    body = representation.body
    if body.media is not None:
        return body if body.media.mime_type.startswith("image/") else None
    is_unread = body.kind == "data" and str(body.value)[:11].lower() == "data:image/"
    return body if is_unread or body.kind == "url" else None


def effective_level(page: Page, level: Level, *, with_recordings: bool = False) -> EffectiveLevel:
    """Return the level that is rendered if `level` is requested.

    It is the fullest level with the same content. It is not fuller than the page's own level if
    that or a higher one is requested: content stored at `compression_level` ABSTRACT was compressed
    before it was sent, and there is nothing fuller. If the requested level does not exist, the
    nearest one with content replaces it.

    Args:
        page: The page.
        level: The requested level.
        with_recordings: Whether the recording itself is returned at FULL, so that its words alone
            are less.
    """
    existing = _standing_in(page, level)
    sight = _sight(page, existing)
    image, words = sight
    is_address = image is not None and image.kind == "url"
    own = page.fields.compression_level
    floor = own if own <= level else Level.FULL
    has_recording = with_recordings and page.full.is_media and page.fields.modality in _RECORDINGS
    has_more = False
    for fuller in Level:
        if fuller >= existing:
            break
        is_heard = has_recording and fuller is Level.FULL
        if is_heard or (words is not None and _outgrows(page, fuller, len(words))):
            has_more = True
        elif (other := _sight(page, fuller)) == sight:
            # The address of an image may serve a smaller copy, so the level keeps its name.
            effective = existing if is_address else max(fuller, floor)
            return EffectiveLevel(effective, has_more)
        else:
            # The fuller level differs; it has more if it has any content.
            is_more = other[0] is not None or (image is None and other[1] is not None)
            has_more = has_more or is_more
    return EffectiveLevel(existing, has_more)


def whole_text(page: Page) -> str | None:
    """Return the text of a page's fullest level, which `offset` counts; `None` if there is none."""
    level = effective_level(page, Level.FULL).level
    return (image_text if page.fields.modality == "image" else visible_text)(page, level)


def _sight(page: Page, level: Level) -> _Sight:
    image = attached_image(page, level)
    if image is not None:
        return image, None
    return None, (image_text if page.fields.modality == "image" else visible_text)(page, level)


def _standing_in(page: Page, level: Level) -> Level:
    """Return the level that replaces a requested one that does not exist."""
    if page.at(level) is not None:
        return level
    if level is Level.REDUCED:
        return level_with_text(page, level)
    if level is not Level.FULL or page.fields.modality in _RECORDINGS:
        return level
    if page.fields.modality == "image":
        return Level.REDUCED if attached_image(page, Level.REDUCED) else level
    above = (at for at in (Level.REDUCED, Level.ABSTRACT) if page.at(at) is not None)
    return next(above, level)


def _outgrows(page: Page, fuller: Level, room: int) -> bool:
    """Return whether a fuller level's data takes more characters, without serializing it."""
    representation = page.at(fuller)
    if page.fields.modality != "structured" or representation is None:
        return False
    data = representation.body.value
    if isinstance(data, str):
        # JSON in a string: blanks are removed, and an escape of six characters becomes one.
        return len(data) - sum(map(data.count, " \t\r\n")) > 6 * room
    for value, _ in values_in(data):
        # Every value takes a character at least, and every item a comma or a bracket.
        room -= len(value) if isinstance(value, str | list | dict) else 1
        if room < 0:
            return True
    return False
