"""Measure the size of a page's level, and estimate its tokens for a model."""

from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.page import Body, Level, Page, PageFields
from pagefault_dialects.model.resource import resource_kind
from pagefault_dialects.pages.descriptors import body_mime_type, measured_dimensions
from pagefault_dialects.pages.page_text import read_body_text, read_level_text

CHARS_PER_TOKEN = 4
PIXELS_PER_TOKEN = 750
SMALLEST_IMAGE_TOKENS = 258


def body_size_bytes(body: Body) -> int | None:
    """Return the size of a body in bytes; `None` for a URL.

    Text and JSON count in UTF-8, and media with their decoded bytes.
    """
    if body.kind == "url":
        return None
    if body.media is not None and body.is_media:
        return body.media.size_bytes
    return len(read_body_text(body).encode("utf-8", "replace"))


def is_longer(body: Body, below: Body) -> bool:
    """Return whether a body is longer than the body of the level below it.

    Texts are compared by their characters, JSON by its compact text. A medium is longer than any
    text. Two media are compared by their bytes; if a size is unknown, none is longer.
    """
    if not (body.is_media or below.is_media):
        return len(read_body_text(body)) > len(read_body_text(below))
    if not (body.is_media and below.is_media):
        return body.is_media
    size, size_below = body_size_bytes(body), body_size_bytes(below)
    return size is not None and size_below is not None and size > size_below


def estimate_tokens(body: Body, fields: PageFields | None = None) -> int:
    """Return the approximate tokens of a body.

    A text has a token for every four characters, a stored text for every four bytes. An image has a
    token for every 750 pixels, and at least 258; an image of unknown size has 258. For audio and
    video, only the reference or the URL is counted. `estimate_page_tokens` adds their transcripts.

    Args:
        body: The body.
        fields: The page's fields, which may have properties that the body lacks.
    """
    if not body.is_media:
        return estimate_text_tokens(read_body_text(body))
    # A body of unknown type counts as an image.
    mime_type = body_mime_type(body) or "image/*"
    kind = resource_kind(mime_type)
    is_image = fields.modality == "image" if fields else kind not in ("audio", "video", "text")
    if is_image:
        size = measured_dimensions(body) or (fields.dimensions if fields else None)
        return estimate_image_tokens(*(size or (None, None)))
    if body.media is not None and is_textual(mime_type):
        return -(-body.media.size_bytes // CHARS_PER_TOKEN)
    return estimate_text_tokens(str(body.value))


def estimate_image_tokens(width: int | None, height: int | None) -> int:
    """Return the approximate tokens of an image; the minimum if its size is unknown."""
    pixels = (width or 0) * (height or 0)
    return max(SMALLEST_IMAGE_TOKENS, -(-pixels // PIXELS_PER_TOKEN))


def estimate_text_tokens(text: str) -> int:
    """Return the approximate tokens of a text."""
    return -(-len(text) // CHARS_PER_TOKEN)


def estimate_page_tokens(page: Page) -> dict[Level, int]:
    """Return the approximate tokens of each existing level of a page.

    For audio and video, FULL includes the transcript. A higher level never has more tokens than a
    lower level: if a caption has more tokens than its picture, the picture gets as many. So a
    request for a higher level never exceeds a budget that the lower level fits.
    """
    tokens: dict[Level, int] = {}
    max_tokens = 0
    for level in reversed(page.existing_levels):
        representation = page.at(level)
        medium = estimate_tokens(representation.body, page.fields) if representation else 0
        max_tokens = max(
            max_tokens, medium, estimate_text_tokens(read_level_text(page, level) or "")
        )
        tokens[level] = max_tokens
    return dict(sorted(tokens.items()))
