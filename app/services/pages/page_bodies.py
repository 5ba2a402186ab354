"""Bodies of pages: which media a modality takes, and which texts they refer to."""

from dataclasses import asdict

import anyio.to_thread

from app.services.inline_media.stored_media import StoredMedia
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.media.embedded_data_uris import SOUND
from pagefault_dialects.media.types import OCTET_STREAM, canonical_mime_type, is_textual
from pagefault_dialects.model.media import MediaSource
from pagefault_dialects.model.page import Body, Modality, Page, PageMedia
from pagefault_dialects.model.resource import Resource, resource_kind
from pagefault_dialects.pages.descriptors import body_mime_type


def refers_to_text(modality: Modality, body: Body) -> bool:
    """Return whether the content of a text or structured page is a reference to a text."""
    is_reference = modality in ("text", "structured") and body.kind == "blob"
    return is_reference and body.media is not None and is_textual(body.media.mime_type)


def blob_body(resource: Resource) -> Body:
    """Return the body of a level that is a stored medium."""
    return Body("blob", resource.reference, page_media(resource))


def page_media(resource: Resource) -> PageMedia:
    """Return what a page says of a medium it refers to."""
    return PageMedia(
        uri=resource.reference,
        mime_type=resource.mime_type,
        size_bytes=resource.size_bytes,
        filename=resource.filename,
        **asdict(resource.hints),
    )


async def read_referred_text(
    media: StoredMedia,
    modality: Modality,
    body: Body,
    *,
    source: MediaSource | None = None,
    limit_bytes: int,
) -> str | None:
    """Return the text that the content of a text or structured page refers to, if it does.

    Args:
        media: Where it is.
        modality: The page's.
        body: The page's content.
        source: What it refers to, where that is at hand.
        limit_bytes: How long the text of a page may be.

    Raises:
        PayloadTooLargeError: It is longer than that.
        StoreUnavailableError: The store did not answer.
    """
    if not refers_to_text(modality, body):
        return None
    if source is None:
        data = await media.read(str(body.value), limit_bytes=limit_bytes)
    elif source.size_bytes > limit_bytes:
        raise too_long_text(limit_bytes)
    else:
        data = await anyio.to_thread.run_sync(source.head, source.size_bytes)
    return data.decode("utf-8", "replace")


def too_long_text(limit_bytes: int) -> PayloadTooLargeError:
    """Return the error for a page whose text is longer than the limit."""
    return PayloadTooLargeError(
        f"The text of a page may have {limit_bytes} bytes. Store it as a "
        "resource, and let the page hold an excerpt and refer to it. Nothing was stored."
    )


def is_url(text: str) -> bool:
    """Return whether a content is an address, and not a sentence that begins with one."""
    return text[:8].lower().startswith(("http://", "https://")) and not any(map(str.isspace, text))


def address_mime_type(page: Page, body: Body) -> str:
    """Return the type of the medium at an address, as page and address say; `image/*` if unknown.

    Args:
        page: The page.
        body: A level of it that is an address.
    """
    modality = page.fields.modality
    claims = [canonical_mime_type(page.fields.mime_type or ""), body_mime_type(body)]
    if body.value != page.full.value:
        # The type of a page is that of its content, and this is another file.
        claims.reverse()
    known = (claim for claim in claims if claim and claim != OCTET_STREAM and fits(modality, claim))
    return next(known, f"{modality}/*")


def fits(modality: Modality, mime_type: str) -> bool:
    """Return whether a medium is of a modality, or of a type that says nothing."""
    kind = resource_kind(mime_type)
    if modality in ("text", "structured") or kind == modality or mime_type == OCTET_STREAM:
        return True
    # MP4, Ogg and WebM hold either, and the bytes do not always say which.
    is_container = kind in SOUND or mime_type == "application/ogg"
    return is_container and modality in SOUND
