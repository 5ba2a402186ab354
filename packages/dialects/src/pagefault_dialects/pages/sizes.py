"""The size of a level: to compare it with the one below, and for budgets."""

from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.page import Body, Level, Page, PageFields
from pagefault_dialects.model.resource import resource_kind
from pagefault_dialects.pages.descriptors import body_mime_type, measured_dimensions
from pagefault_dialects.pages.page_text import body_text, visible_text

CHARS_PER_TOKEN = 4
PIXELS_PER_TOKEN = 750
SMALLEST_IMAGE_TOKENS = 258


def body_size_bytes(body: Body) -> int | None:
    """Return a body's size: text and JSON in UTF-8, a medium decoded; `None` for an address."""
    if body.kind == "url":
        return None
    if body.media is not None and body.is_media:
        return body.media.size_bytes
    return len(body_text(body).encode("utf-8", "replace"))


def is_longer(body: Body, below: Body) -> bool:
    """Return whether a body is longer than the one of the level below it.

    Texts are measured in characters, JSON by its compact text. Every medium is longer than any
    text; two media are compared by their bytes if both are known.
    """
    if not (body.is_media or below.is_media):
        return len(body_text(body)) > len(body_text(below))
    if not (body.is_media and below.is_media):
        return body.is_media
    size, size_below = body_size_bytes(body), body_size_bytes(below)
    return size is not None and size_below is not None and size > size_below


def estimate_tokens(body: Body, fields: PageFields | None = None) -> int:
    """Return the approximate tokens of a body.

    A text costs a quarter of its characters, a stored one of its bytes. An image costs a token for
    750 pixels and at least 258, which is also the cost of an image of unknown size. A recording
    costs its reference or address; `page_tokens` adds its words.

    Args:
        body: The body.
        fields: The page's fields, which may have properties that the body lacks.
    """
    if not body.is_media:
        return text_tokens(body_text(body))
    # A body of unknown type counts as an image.
    mime_type = body_mime_type(body) or "image/*"
    kind = resource_kind(mime_type)
    is_image = fields.modality == "image" if fields else kind not in ("audio", "video", "text")
    if is_image:
        size = measured_dimensions(body) or (fields.dimensions if fields else None)
        return image_tokens(*(size or (None, None)))
    if body.media is not None and is_textual(mime_type):
        return -(-body.media.size_bytes // CHARS_PER_TOKEN)
    return text_tokens(str(body.value))


def image_tokens(width: int | None, height: int | None) -> int:
    """Return the approximate tokens of an image of this size; of unknown size, the minimum."""
    pixels = (width or 0) * (height or 0)
    return max(SMALLEST_IMAGE_TOKENS, -(-pixels // PIXELS_PER_TOKEN))


def text_tokens(text: str) -> int:
    """Return the approximate tokens of a text."""
    return -(-len(text) // CHARS_PER_TOKEN)


def page_tokens(page: Page) -> dict[Level, int]:
    """Return the approximate tokens of each existing level of a page, with FULL's words.

    The cost never grows with a higher level: a caption that costs more than the picture's estimate
    raises the picture's, so that a request for less never exceeds a budget.
    """
    tokens: dict[Level, int] = {}
    most = 0
    for level in reversed(page.existing_levels):
        representation = page.at(level)
        medium = estimate_tokens(representation.body, page.fields) if representation else 0
        most = max(most, medium, text_tokens(visible_text(page, level) or ""))
        tokens[level] = most
    return dict(sorted(tokens.items()))
