"""What each level can be made of, by modality: the best form first, plainer ones behind it."""

from collections.abc import Callable
from dataclasses import dataclass

from app.models.json_value import JsonValue
from app.models.page import Body, Level, Modality, PageFields
from app.rendering.pages.cuts import cut_short, head_and_tail, sentences
from app.rendering.pages.descriptors import facts, measured_dimensions, tags
from app.rendering.pages.reduced_data import outline, truncated
from app.rendering.pages.words import (
    body_text,
    caption_of,
    scene_lines,
    structured_data,
    transcript_of,
    video_words,
)

REDUCED_LIMIT_CHARS = 4_000
ABSTRACT_LIMIT_CHARS = 800

# An image no larger is its own smaller form.
_SMALL_IMAGE_PIXELS = 512
_MORE_SCENES_CHARS = 40


@dataclass(frozen=True, slots=True)
class LevelSource:
    """What levels are derived from.

    Attributes:
        page_id: For the tag.
        fields: What the client says of the page.
        full: The content; where it refers to a text, that text.
        reduced_image: A smaller form of the image, made elsewhere.
        supplied: The nearest level below that the client supplied, if it is words or data.
    """

    page_id: str
    fields: PageFields
    full: Body
    reduced_image: Body | None
    supplied: Body | None


def candidates(source: LevelSource, level: Level) -> list[Body]:
    """What a level may hold, the best first; nothing where there is nothing to derive it from."""
    if level is Level.REFERENCE:
        return [_text(tag) for tag in tags(source.page_id, source.fields, source.full)]
    derive = (_REDUCED if level is Level.REDUCED else _ABSTRACT)[source.fields.modality]
    body = derive(source)
    return [] if body is None else [body]


def _text(value: str) -> Body:
    return Body("text", value)


def _words_body(words: str | None) -> Body | None:
    return None if words is None else _text(words)


def _reduced_text(source: LevelSource) -> Body | None:
    words = _plain_text(source.full)
    return None if words is None else _text(head_and_tail(words, REDUCED_LIMIT_CHARS))


def _abstract_text(source: LevelSource) -> Body | None:
    words = body_text(source.supplied) if source.supplied else _plain_text(source.full)
    return None if words is None else _text(sentences(words, ABSTRACT_LIMIT_CHARS))


def _plain_text(full: Body) -> str | None:
    is_text = full.kind == "text" or (full.kind != "none" and full.media is None)
    return body_text(full) if is_text else None


def _reduced_image(source: LevelSource) -> Body | None:
    full = source.full
    if source.reduced_image is not None or full.kind == "url":
        return source.reduced_image or full
    if full.media is None:
        return None
    measured = measured_dimensions(full)
    is_small = measured is not None and max(measured) <= _SMALL_IMAGE_PIXELS
    return full if full.kind in ("data", "blob") and is_small else None


def _abstract_image(source: LevelSource) -> Body | None:
    caption = caption_of(source.fields, source.full)
    if caption is None and source.supplied is not None:
        caption = body_text(source.supplied)
    if caption is not None:
        return _text(sentences(caption, ABSTRACT_LIMIT_CHARS))
    return _words_body(facts(source.fields, source.full))


def _reduced_audio(source: LevelSource) -> Body | None:
    return _words_body(transcript_of(source.fields, source.full))


def _abstract_audio(source: LevelSource) -> Body | None:
    if source.supplied is not None:
        return _text(sentences(body_text(source.supplied), ABSTRACT_LIMIT_CHARS))
    words = transcript_of(source.fields, source.full)
    return None if words is None else _text(sentences(words, ABSTRACT_LIMIT_CHARS))


def _reduced_video(source: LevelSource) -> Body | None:
    return _words_body(video_words(source.fields, source.full))


def _abstract_video(source: LevelSource) -> Body | None:
    scenes = scene_lines(source.fields)
    return _text(_some_scenes(scenes)) if scenes else _abstract_audio(source)


def _some_scenes(lines: list[str]) -> str:
    whole = "\n".join(lines)
    if len(whole) <= ABSTRACT_LIMIT_CHARS:
        return whole
    room = ABSTRACT_LIMIT_CHARS - _MORE_SCENES_CHARS
    kept = [cut_short(lines[0], room)]
    used = len(kept[0])
    for line in lines[1:]:
        used += len(line) + 1
        if used > room:
            break
        kept.append(line)
    left_out = len(lines) - len(kept)
    return "\n".join([*kept, f"  - … {left_out} more"] if left_out else kept)


def _reduced_structured(source: LevelSource) -> Body | None:
    data, is_known = _data(source.full)
    return Body("json", truncated(data)) if is_known else None


def _abstract_structured(source: LevelSource) -> Body | None:
    if source.supplied is not None and source.supplied.kind == "text":
        return _text(sentences(body_text(source.supplied), ABSTRACT_LIMIT_CHARS))
    data, is_known = _data(source.supplied or source.full)
    return Body("json", outline(data)) if is_known else None


def _data(body: Body) -> tuple[JsonValue, bool]:
    """The data of a body, which may be null, and whether there is any."""
    return structured_data(body), body.kind in ("json", "text")


_Derivation = Callable[[LevelSource], Body | None]

_REDUCED: dict[Modality, _Derivation] = {
    "text": _reduced_text,
    "image": _reduced_image,
    "audio": _reduced_audio,
    "video": _reduced_video,
    "structured": _reduced_structured,
}
_ABSTRACT: dict[Modality, _Derivation] = {
    "text": _abstract_text,
    "image": _abstract_image,
    "audio": _abstract_audio,
    "video": _abstract_video,
    "structured": _abstract_structured,
}
