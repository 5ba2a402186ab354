"""Derive the levels REDUCED, ABSTRACT and REFERENCE of a page.

A level that the client supplied is used unchanged; any other level is derived from the level below
it. FULL is the lowest level, and a level is never longer than the level below. If a level has
several possible bodies, the best one that fits is used. A level without a possible body does not
exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.page import Body, Level, Modality, Page, PageFields, Representation
from pagefault_dialects.pages.descriptors import build_tags, describe_medium, measured_dimensions
from pagefault_dialects.pages.page_text import (
    build_video_text,
    find_caption,
    find_transcript,
    list_scene_lines,
    parse_structured_data,
    read_body_text,
)
from pagefault_dialects.pages.reduced_data import (
    ABSTRACT_LIMIT_CHARS,
    REDUCED_LIMIT_CHARS,
    outline_data,
    truncate_data,
)
from pagefault_dialects.pages.sizes import body_size_bytes, is_longer
from pagefault_dialects.texts.cuts import cut_short, keep_head_and_tail, take_sentences

DERIVED_LEVELS = (Level.REDUCED, Level.ABSTRACT, Level.REFERENCE)
# An image whose longer side has at most this many pixels is used as its own REDUCED level.
_MAX_SMALL_IMAGE_SIDE = 512
# The length of the line with the number of scenes that are left out.
_MORE_SCENES_CHARS = 40


@dataclass(frozen=True, slots=True)
class _Source:
    """The values that a level is derived from."""

    page_id: str
    fields: PageFields
    """The client's description of the page."""
    full: Body
    """The content. If the content refers to a stored text, the text itself."""
    reduced_image: Body | None
    """A smaller form of the image, if the caller has one."""
    supplied: Body | None
    """The nearest level below that the client supplied, if it is text or data."""


def derive_levels(
    page_id: str,
    fields: PageFields,
    full: Body,
    *,
    reduced_image: Body | None,
    supplied: Mapping[Level, Body],
    text: str | None = None,
) -> dict[Level, Representation]:
    """Derive REDUCED, ABSTRACT and REFERENCE of a page, as far as they exist.

    Args:
        page_id: The id of the page.
        fields: The client's description of the page.
        full: The content.
        reduced_image: A smaller form of the image, if there is one.
        supplied: The levels that the client supplied.
        text: The stored text that the content refers to, if there is one.

    Returns:
        The levels in order. A derived level that would be longer than the level below it has the
        content of that level.

    Raises:
        InvalidPayloadError: A supplied level is longer than the level below it.

    Source: spec 000, "Compression pipeline".
    """
    is_data = fields.modality == "structured"
    content = full if text is None else Body("json" if is_data else "text", text)
    levels: dict[Level, Representation] = {}
    below = None if content.kind == "none" else Representation(Level.FULL, "stored", content)
    nearest_supplied: Body | None = None
    for level in DERIVED_LEVELS:
        if level in supplied:
            body = supplied[level]
            _check_fit(fields.modality, level, body, below)
            nearest_supplied = None if body.is_media else body
            representation: Representation | None = Representation(level, "supplied", body)
        else:
            source = _Source(page_id, fields, content, reduced_image, nearest_supplied)
            representation = _derive_level(source, level, below)
        if representation is not None:
            levels[level] = below = representation
    return levels


def check_supplied_level(page: Page, level: Level, body: Body) -> None:
    """Check that a level that a client supplies fits between the levels below and above it.

    Args:
        page: The page with its current levels.
        level: REDUCED, ABSTRACT or REFERENCE.
        body: The new content.

    Raises:
        InvalidPayloadError: The body is longer than the level below, shorter than a supplied level
            above, or a medium at a level that can only be text. The error names the limit.
    """
    modality = page.fields.modality
    lower_levels = [page.at(lower) for lower in page.existing_levels if lower < level]
    _check_fit(modality, level, body, lower_levels[-1] if lower_levels else None)
    below = Representation(level, "supplied", body)
    for above in DERIVED_LEVELS:
        supplied = page.levels.get(above)
        if above > level and supplied is not None and supplied.origin == "supplied":
            _check_fit(modality, above, supplied.body, below)
            below = supplied


def _derive_level(
    source: _Source, level: Level, below: Representation | None
) -> Representation | None:
    if level is Level.REFERENCE:
        bodies = [
            Body("text", tag) for tag in build_tags(source.page_id, source.fields, source.full)
        ]
    else:
        bodies = (_reduced_bodies if level is Level.REDUCED else _abstract_bodies)(source)
    if not bodies:
        return None
    fitting = (body for body in bodies if below is None or not is_longer(body, below.body))
    lower = below.body if below else bodies[0]
    return Representation(level, "derived", next(fitting, lower))


def _check_fit(modality: Modality, level: Level, body: Body, below: Representation | None) -> None:
    """Raise unless a supplied level may have a body that is not longer than the level below."""
    if body.kind == "none":
        raise _make_level_error(level, "has to hold something; leave it out to have it derived")
    if body.is_media and (level is not Level.REDUCED or modality != "image"):
        raise _make_level_error(
            level,
            "holds words or, on a structured page, data; only the REDUCED level of an image page "
            "is a medium",
        )
    if below is None or not is_longer(body, below.body):
        return
    if body.is_media and below.body.is_media:
        limit = f"{body_size_bytes(below.body)} bytes"
    elif body.is_media:
        limit = f"{len(read_body_text(below.body))} characters, and no medium"
    else:
        limit = f"{len(read_body_text(below.body))} characters (JSON counted as compact text)"
    raise _make_level_error(
        level, f"may not be longer than the level below it, {below.level.name}: at most {limit}"
    )


def _make_level_error(level: Level, sentence: str) -> InvalidPayloadError:
    return InvalidPayloadError(
        f"The {level.name} level of this page {sentence}.",
        faults=[Fault("/content", sentence)],
    )


# The functions below return the possible bodies of a level, the best first.


def _text_bodies(words: str | None) -> list[Body]:
    return [] if words is None else [Body("text", words)]


def _summary_bodies(words: str | None) -> list[Body]:
    return _text_bodies(None if words is None else take_sentences(words, ABSTRACT_LIMIT_CHARS))


def _reduced_bodies(source: _Source) -> list[Body]:
    fields, full = source.fields, source.full
    match fields.modality:
        case "text":
            words = _plain_text(full)
            return _text_bodies(
                None if words is None else keep_head_and_tail(words, REDUCED_LIMIT_CHARS)
            )
        case "image":
            return _reduced_image_bodies(source)
        case "audio":
            return _text_bodies(find_transcript(fields, full))
        case "video":
            return _text_bodies(build_video_text(fields, full))
        case "structured":
            return (
                [Body("json", truncate_data(parse_structured_data(full)))] if _is_data(full) else []
            )


def _abstract_bodies(source: _Source) -> list[Body]:
    fields, full = source.fields, source.full
    supplied = read_body_text(source.supplied) if source.supplied else None
    match fields.modality:
        case "text":
            return _summary_bodies(_plain_text(full) if supplied is None else supplied)
        case "image":
            caption = find_caption(fields, full)
            text = supplied if caption is None else caption
            return (
                _text_bodies(describe_medium(fields, full))
                if text is None
                else _summary_bodies(text)
            )
        case "video" if scenes := list_scene_lines(fields):
            return _text_bodies(_take_scenes(scenes))
        case "audio" | "video":
            return _summary_bodies(find_transcript(fields, full) if supplied is None else supplied)
        case "structured":
            if source.supplied is not None and source.supplied.kind == "text":
                return _summary_bodies(supplied)
            body = source.supplied or full
            return (
                [Body("json", outline_data(parse_structured_data(body)))] if _is_data(body) else []
            )


def _plain_text(full: Body) -> str | None:
    """Return the text of the content; `None` for a medium, and without content."""
    is_text = full.kind == "text" or (full.kind != "none" and full.media is None)
    return read_body_text(full) if is_text else None


def _is_data(body: Body) -> bool:
    return body.kind in ("json", "text")


def _reduced_image_bodies(source: _Source) -> list[Body]:
    full = source.full
    if source.reduced_image is not None or full.kind == "url":
        return [source.reduced_image or full]
    measured = measured_dimensions(full)
    is_small = measured is not None and max(measured) <= _MAX_SMALL_IMAGE_SIDE
    return [full] if full.kind in ("data", "blob") and is_small else []


def _take_scenes(lines: list[str]) -> str:
    """Return the first lines that fit into an abstract, and the number of the others."""
    whole = "\n".join(lines)
    if len(whole) <= ABSTRACT_LIMIT_CHARS:
        return whole
    max_chars = ABSTRACT_LIMIT_CHARS - _MORE_SCENES_CHARS
    kept = [cut_short(lines[0], max_chars)]
    used_chars = len(kept[0])
    for line in lines[1:]:
        used_chars += len(line) + 1
        if used_chars > max_chars:
            break
        kept.append(line)
    omitted = len(lines) - len(kept)
    return "\n".join([*kept, f"  - … {omitted} more"] if omitted else kept)
