"""What a model is told beside a page's content: which level it sees, and what it does not see.

Source: spec 000, "Compression level annotation".
"""

from app.models.page import Body, Level, Page
from app.rendering.pages.descriptors import (
    data_uri_words,
    dimension_words,
    duration_seconds,
    facts,
    mime_type,
)
from app.rendering.pages.lines import duration_words, one_line, quoted
from app.rendering.pages.recordings import passages, words_level

INDENT = "  "

ATTACHED = "[image attached below]"
ATTACHED_ADDRESS = (
    "[image attached below: the address of the original, never fetched here; "
    "a reduced copy may exist elsewhere]"
)

_MISSING = {
    "text": "no text available",
    "image": "no image available",
    "audio": "no transcript available",
    "video": "no transcript available",
    "structured": "no data available",
}


def header(page: Page, level: Level, remark: str | None = None) -> str:
    """The first line: `Page img_001 (image, ABSTRACT — caption only):`."""
    name = level.name if remark is None else f"{level.name} — {remark}"
    return f"Page {one_line(page.page_id)} ({page.fields.modality}, {name}):"


def note(page: Page) -> str:
    """Return the sentence for a model that may fault in more than it is shown."""
    call = f"page_fault({quoted(page.page_id)}, target_level=0)"
    return f"This is a compressed summary. Use {call} for full content."


def missing(page: Page) -> str:
    """What a level that does not exist would have held: `no transcript available`."""
    return _MISSING[page.fields.modality]


def image_missing(page: Page) -> str:
    """The line for an image that is not there, with what is known of it."""
    known = facts(page.fields, page.full)
    return f"[no image available: {known}]" if known else "[no image available]"


def image_damaged(detail: str) -> str:
    """The line for an image that is there and that no model can be shown."""
    return f"[image not shown: {detail}]"


def caption_missing(page: Page) -> str:
    """The line for a caption that is not there, with what is known of the image."""
    known = facts(page.fields, page.full)
    return f"[no caption: {known}]" if known else "[no caption available]"


def recording_facts(page: Page, level: Level, *, has_words: bool) -> str:
    """The facts line of a recording: `[audio, 5:42 (342.0 s), audio/mpeg, transcript below]`."""
    fields = page.fields
    seconds = duration_seconds(fields, page.full)
    known = [fields.modality, *([] if seconds is None else [duration_words(seconds)])]
    if not has_words:
        return f"[{', '.join([*known, _MISSING['audio']])}]"
    size = dimension_words(fields, page.full) if fields.modality == "video" else None
    known += filter(None, [mime_type(fields, page.full), size])
    if words_level(page, level) is Level.ABSTRACT:
        return f"[{', '.join([*known, 'summary below'])}]"
    return f"[{', '.join([*known, _words_below(page, level)])}]"


def medium_line(page: Page, *, with_type: bool) -> str | None:
    """Where the medium itself is: `Resource: @blob:…` or `URL: https://…`, never cut.

    Args:
        page: The page.
        with_type: Whether the MIME type is added, where no other line tells it.
    """
    body = page.full
    known = mime_type(page.fields, body) if with_type else None
    suffix = f" ({known})" if known else ""
    if body.kind == "url":
        return f"URL: {one_line(str(body.value))}{suffix}"
    if body.kind == "blob":
        return f"Resource: {_reference(body)}{suffix}"
    return f"Medium: {data_uri_words(body)}" if body.kind == "data" else None


def _reference(body: Body) -> str:
    uri = body.media.uri if body.media else None
    return one_line(uri or str(body.value))


def _words_below(page: Page, level: Level) -> str:
    names = [passage.name for passage in passages(page, level)]
    scenes = names.count("scene")
    if not scenes:
        return "transcript below"
    counted = f"{scenes} scene{'' if scenes == 1 else 's'}"
    if "transcript" in names:
        return f"{counted} and transcript below"
    return f"{counted} below, {_MISSING['video']}"
