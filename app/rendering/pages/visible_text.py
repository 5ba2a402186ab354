"""The text that is shown of a page at a level, so that a higher level never shows more words."""

from app.models.json_value import JsonValue, json_text
from app.models.page import Level, Page
from app.rendering.pages.descriptors import tags
from app.rendering.pages.recordings import passages, passages_text, words_level
from app.rendering.pages.words import body_text, caption_of, content_words, structured_data

_RECORDINGS = frozenset({"audio", "video"})


def shown_text(page: Page, level: Level) -> str | None:
    """The text a level shows, without what is said about it; `None` where there is none.

    It is what `max_chars` and `offset` count: the text, the JSON, the transcript (of a video with
    its scenes before it), the caption, the tag. A REDUCED level that does not exist shows what
    ABSTRACT holds.
    """
    modality = page.fields.modality
    representation = page.at(_held_level(page, level))
    if level is Level.REFERENCE:
        return body_text(representation.body) if representation else _tag(page)
    if modality in _RECORDINGS:
        shown = passages(page, level)
        return passages_text(shown) if shown else None
    if level is Level.FULL and modality == "image":
        return content_words(page.full)
    if representation is None:
        return None
    if modality == "structured":
        return json_text(level_data(page, level))
    body = representation.body
    has_words = body.kind in ("text", "json") or (modality == "text" and body.media is None)
    return body_text(body) if has_words else None


def image_text(page: Page, level: Level) -> str | None:
    """What is shown of an image that is not attached: the level's words, else its caption.

    Where the level is a medium, or FULL is nothing, that is the longest description there is at it
    or above it. What is only made of the descriptor is no caption.
    """
    if level is Level.REFERENCE:
        return shown_text(page, level)
    representation = page.at(level)
    is_words = representation is not None and not representation.body.is_media
    has_own = level is not Level.FULL or content_words(page.full) is not None
    if has_own and (is_words or representation is None):
        return _caption_at(page, level)
    above = (_caption_at(page, at) for at in (Level.REDUCED, Level.ABSTRACT) if at > level)
    described = [caption_of(page.fields, page.full), *above]
    return max((text for text in described if text is not None), key=len, default=None)


def level_data(page: Page, level: Level) -> JsonValue:
    """The data a structured page shows at a level; `None` where there is none."""
    representation = page.at(_held_level(page, level))
    if representation is None:
        return None
    body = representation.body
    is_as_sent = isinstance(body.value, str) and body.value == page.full.value
    # What was derived is data already: a string among it is a string.
    if representation.origin == "derived" and not is_as_sent:
        return body.value
    return structured_data(body)


def _held_level(page: Page, level: Level) -> Level:
    """ABSTRACT for a REDUCED level that does not exist, any other level itself."""
    return words_level(page, level) if level is Level.REDUCED else level


def _caption_at(page: Page, level: Level) -> str | None:
    is_abstract = _held_level(page, level) is Level.ABSTRACT
    return None if is_abstract and _is_nameless(page) else shown_text(page, level)


def _is_nameless(page: Page) -> bool:
    """Whether an image's ABSTRACT level could only be made of its descriptor."""
    abstract = page.levels.get(Level.ABSTRACT)
    if abstract is None or abstract.origin != "derived":
        return False
    reduced = page.levels.get(Level.REDUCED)
    has_words = reduced is not None and reduced.origin == "supplied" and not reduced.body.is_media
    return not has_words and caption_of(page.fields, page.full) is None


def _tag(page: Page) -> str:
    return tags(page.page_id, page.fields, page.full)[0]
