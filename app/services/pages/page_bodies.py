"""The bodies of levels of pages: stored media, URLs, and references to text files."""

from dataclasses import asdict

import anyio.to_thread

from app.services.inline_media.stored_media import StoredMedia
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.media.embedded_data_uris import PLAYABLE_KINDS
from pagefault_dialects.media.types import OCTET_STREAM, canonical_mime_type, is_textual
from pagefault_dialects.model.media import MediaSource
from pagefault_dialects.model.page import Body, Modality, Page, PageMedia
from pagefault_dialects.model.resource import Resource, resource_kind
from pagefault_dialects.pages.descriptors import body_mime_type


def refers_to_text(modality: Modality, body: Body) -> bool:
    """Return True if the content of a text or structured page is a reference to a text file."""
    is_reference = modality in ("text", "structured") and body.kind == "blob"
    return is_reference and body.media is not None and is_textual(body.media.mime_type)


def make_blob_body(resource: Resource) -> Body:
    """Return the body of a level with a stored medium."""
    return Body("blob", resource.reference, make_page_media(resource))


def make_page_media(resource: Resource) -> PageMedia:
    """Return the description of a medium in a page."""
    return PageMedia(
        uri=resource.reference,
        mime_type=resource.mime_type,
        size_bytes=resource.size_bytes,
        filename=resource.filename,
        **asdict(resource.hints),
    )


async def read_referenced_text(
    media: StoredMedia,
    modality: Modality,
    body: Body,
    *,
    source: MediaSource | None = None,
    limit_bytes: int,
) -> str | None:
    """Return the text file that the content of a text or structured page refers to, if any.

    Args:
        media: The store of the text.
        modality: The modality of the page.
        body: The content of the page.
        source: The text file, if it is in the request.
        limit_bytes: The maximum size of the text.

    Raises:
        PayloadTooLargeError: The text is larger than the limit.
        StoreUnavailableError: The store did not respond.
    """
    if not refers_to_text(modality, body):
        return None
    if source is None:
        data = await media.read(str(body.value), limit_bytes=limit_bytes)
    elif source.size_bytes > limit_bytes:
        raise text_too_long_error(limit_bytes)
    else:
        data = await anyio.to_thread.run_sync(source.head, source.size_bytes)
    return data.decode("utf-8", "replace")


def text_too_long_error(limit_bytes: int) -> PayloadTooLargeError:
    """Return the error for a text above the limit."""
    return PayloadTooLargeError(
        f"The text of a page may have {limit_bytes} bytes. Store it as a "
        "resource, and let the page hold an excerpt and refer to it. Nothing was stored."
    )


def is_url(text: str) -> bool:
    """Return True if a content is a URL, and not a sentence that begins with a URL."""
    return text[:8].lower().startswith(("http://", "https://")) and not any(map(str.isspace, text))


def guess_url_mime_type(page: Page, body: Body) -> str:
    """Return the likely MIME type of the medium at a URL, without fetching it.

    It is the type in the fields of the page, or that of the file extension in the URL. If both are
    unknown, it is for example `image/*`, by the modality.

    Args:
        page: The page.
        body: A level of the page that is a URL.
    """
    modality = page.fields.modality
    candidates = [canonical_mime_type(page.fields.mime_type or ""), body_mime_type(body)]
    if body.value != page.full.value:
        # The MIME type in the fields is that of the content, but this level is another file.
        candidates.reverse()
    fitting = (
        item
        for item in candidates
        if item and item != OCTET_STREAM and fits_modality(modality, item)
    )
    return next(fitting, f"{modality}/*")


def fits_modality(modality: Modality, mime_type: str) -> bool:
    """Return True if a medium with a MIME type can be in a page of a modality."""
    kind = resource_kind(mime_type)
    if modality in ("text", "structured") or kind == modality or mime_type == OCTET_STREAM:
        return True
    # MP4, Ogg and WebM contain audio or video. Which of the two cannot always be detected.
    is_container = kind in PLAYABLE_KINDS or mime_type == "application/ogg"
    return is_container and modality in PLAYABLE_KINDS
