"""The levels of a page: what the client supplied as it is, the rest derived from what is below.

A level is never longer than the one below it. What cannot be derived is not there; nothing is
made up.
"""

from collections.abc import Mapping
from typing import Literal

from app.errors import Fault, InvalidPayloadError
from app.models.page import Body, Level, Modality, Page, PageFields, Representation
from app.rendering.pages.derivations import LevelSource, candidates
from app.rendering.pages.sizes import body_size_bytes, is_longer
from app.rendering.pages.words import body_text

DERIVED_LEVELS = (Level.REDUCED, Level.ABSTRACT, Level.REFERENCE)


def derive_levels(
    page_id: str,
    fields: PageFields,
    full: Body,
    *,
    reduced_image: Body | None,
    supplied: Mapping[Level, Body],
    text: str | None = None,
) -> dict[Level, Representation]:
    """REDUCED, ABSTRACT and REFERENCE of a page, as far as they exist.

    Args:
        page_id: The page's id, for its tag.
        fields: What the client says of the page.
        full: Its content.
        reduced_image: A smaller form of the image; `None` where none could be made.
        supplied: The levels the client supplied; they are taken as they are.
        text: What the content stands for where it refers to a text resource.

    Returns:
        The levels in order. A derived one that would be longer than the level below it holds what
        that level holds.

    Raises:
        InvalidPayloadError: A supplied level does not fit over the one below it.
    Source: spec 000, "Compression pipeline".
    """
    content = full if text is None else Body(_kind_of_text(fields.modality), text)
    levels: dict[Level, Representation] = {}
    below = None if content.kind == "none" else Representation(Level.FULL, "stored", content)
    words: Body | None = None
    for level in DERIVED_LEVELS:
        if level in supplied:
            body = supplied[level]
            _check_fit(fields.modality, level, body, below)
            words = None if body.is_media else body
            representation: Representation | None = Representation(level, "supplied", body)
        else:
            source = LevelSource(page_id, fields, content, reduced_image, words)
            representation = _derived(source, level, below)
        if representation is not None:
            levels[level] = below = representation
    return levels


def check_supplied(page: Page, level: Level, body: Body) -> None:
    """Refuse a level that a client supplies if it does not fit where it is to be.

    Args:
        page: The page with its levels as they are.
        level: REDUCED, ABSTRACT or REFERENCE.
        body: What it is to hold.

    Raises:
        InvalidPayloadError: It is longer than the level below, shorter than a supplied level above,
            or a medium where only words may be; the error says what fits.
    """
    modality = page.fields.modality
    lower = [representation for at in Level if at < level and (representation := page.at(at))]
    _check_fit(modality, level, body, lower[-1] if lower else None)
    below = Representation(level, "supplied", body)
    for above in DERIVED_LEVELS:
        held = page.levels.get(above)
        if above > level and held is not None and held.origin == "supplied":
            _check_fit(modality, above, held.body, below)
            below = held


def _kind_of_text(modality: Modality) -> Literal["text", "json"]:
    return "json" if modality == "structured" else "text"


def _derived(
    source: LevelSource, level: Level, below: Representation | None
) -> Representation | None:
    bodies = candidates(source, level)
    if not bodies:
        return None
    fitting = (body for body in bodies if below is None or not is_longer(body, below.body))
    lower = below.body if below else bodies[0]
    return Representation(level, "derived", next(fitting, lower))


def _check_fit(modality: Modality, level: Level, body: Body, below: Representation | None) -> None:
    if body.kind == "none":
        raise _misfit(level, "has to hold something; leave it out to have it derived")
    if body.is_media and (level is not Level.REDUCED or modality != "image"):
        raise _misfit(
            level,
            "holds words or, on a structured page, data; only the REDUCED level of an image page "
            "is a medium",
        )
    if below is None or not is_longer(body, below.body):
        return
    if body.is_media and below.body.is_media:
        limit = f"{body_size_bytes(below.body)} bytes"
    elif body.is_media:
        limit = f"{len(body_text(below.body))} characters, and no medium"
    else:
        limit = f"{len(body_text(below.body))} characters (JSON counted as compact text)"
    raise _misfit(
        level, f"may not be longer than the level below it, {below.level.name}: at most {limit}"
    )


def _misfit(level: Level, sentence: str) -> InvalidPayloadError:
    return InvalidPayloadError(
        f"The {level.name} level of this page {sentence}.",
        faults=[Fault("/content", sentence)],
    )
