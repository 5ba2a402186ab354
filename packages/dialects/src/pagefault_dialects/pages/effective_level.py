"""Find the level of a page that is rendered for a request, and whether there is more content.

A level is *fuller* than another one if it has more detail; FULL is the fullest. If a level has the
same content as a fuller one, the response names the fuller one: REDUCED of a short text is FULL.
Levels are compared by the text and the attached image that a model gets.
"""

from dataclasses import dataclass
from typing import NamedTuple

from pagefault_dialects.json.values import iterate_values
from pagefault_dialects.model.page import Body, Level, Page
from pagefault_dialects.pages.page_text import (
    find_level_with_text,
    read_image_text,
    read_level_text,
)

_RECORDINGS = frozenset({"audio", "video"})


@dataclass(frozen=True, slots=True)
class EffectiveLevel:
    """The level that is rendered."""

    level: Level
    has_more: bool
    """True if a fuller level has more content."""


class _VisibleContent(NamedTuple):
    """The content that a model gets of a level: an image, or a text if there is no image."""

    image: Body | None
    text: str | None


def find_attached_image(page: Page, level: Level) -> Body | None:
    """Return the image that is attached at a level: a URL, or a medium that is an image.

    A data URI that cannot be decoded is attached as it was sent (spec 000: content that starts with
    `data:` is a block). A damaged image is not attached.
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


def find_effective_level(
    page: Page, level: Level, *, with_recordings: bool = False
) -> EffectiveLevel:
    """Return the level that is rendered if `level` is requested.

    This is the fullest level with the same content as the requested level. If the requested level
    does not exist, the nearest level with content is used in its place. A page whose
    `compression_level` is ABSTRACT was compressed before it was sent, so the result for ABSTRACT is
    never fuller than ABSTRACT.

    Args:
        page: The page.
        level: The requested level.
        with_recordings: True if the caller returns the recording itself at FULL. Then FULL has more
            content than a level with the same transcript.
    """
    existing = _find_existing_level(page, level)
    content = _find_visible_content(page, existing)
    is_url = content.image is not None and content.image.kind == "url"
    sent_level = page.fields.compression_level
    fullest_allowed = sent_level if sent_level <= level else Level.FULL
    has_recording = with_recordings and page.full.is_media and page.fields.modality in _RECORDINGS
    has_more = False
    for fuller in Level:
        if fuller >= existing:
            break
        has_file = has_recording and fuller is Level.FULL
        text = content.text
        if has_file or (text is not None and _has_longer_data(page, fuller, len(text))):
            has_more = True
        elif (other := _find_visible_content(page, fuller)) == content:
            # A URL may return a smaller copy of the image, so the level is not FULL.
            effective = existing if is_url else max(fuller, fullest_allowed)
            return EffectiveLevel(effective, has_more)
        else:
            # The fuller level differs, so it has more if it has any content.
            has_other_text = content.image is None and other.text is not None
            has_more = has_more or other.image is not None or has_other_text
    return EffectiveLevel(existing, has_more)


def read_whole_text(page: Page) -> str | None:
    """Return the text of a page's fullest level; `None` if it has no text.

    The offsets in requests count characters of this text.
    """
    level = find_effective_level(page, Level.FULL).level
    return (read_image_text if page.fields.modality == "image" else read_level_text)(page, level)


def _find_visible_content(page: Page, level: Level) -> _VisibleContent:
    image = find_attached_image(page, level)
    if image is not None:
        return _VisibleContent(image, None)
    read_text = read_image_text if page.fields.modality == "image" else read_level_text
    return _VisibleContent(None, read_text(page, level))


def _find_existing_level(page: Page, level: Level) -> Level:
    """Return the requested level; if it does not exist, the level that replaces it."""
    if page.at(level) is not None:
        return level
    if level is Level.REDUCED:
        return find_level_with_text(page, level)
    if level is not Level.FULL or page.fields.modality in _RECORDINGS:
        return level
    if page.fields.modality == "image":
        return Level.REDUCED if find_attached_image(page, Level.REDUCED) else level
    shorter = (item for item in (Level.REDUCED, Level.ABSTRACT) if page.at(item) is not None)
    return next(shorter, level)


def _has_longer_data(page: Page, fuller: Level, max_chars: int) -> bool:
    """Return whether the data of a level surely has more than `max_chars` as compact JSON.

    The data is not serialised, which would take too long for large data.
    """
    representation = page.at(fuller)
    if page.fields.modality != "structured" or representation is None:
        return False
    data = representation.body.value
    if isinstance(data, str):
        # The string is JSON text. In compact JSON it has no blanks, and one character instead of an
        # escape of six.
        return len(data) - sum(map(data.count, " \t\r\n")) > 6 * max_chars
    for value, _ in iterate_values(data):
        # Every value has at least one character, and every item a comma or a bracket.
        max_chars -= len(value) if isinstance(value, str | list | dict) else 1
        if max_chars < 0:
            return True
    return False
