"""Loads the medium of a memory page for `Renders.render_page`."""

from app.services.pages.page_bodies import guess_url_mime_type
from app.services.pages.page_views import PageView
from pagefault_dialects.media.data_uris import split_data_uri
from pagefault_dialects.model.conversation import (
    Address,
    InlineBytes,
    Medium,
    MediumSource,
    StoredBytes,
)
from pagefault_dialects.model.page import Body, Level
from pagefault_dialects.model.resource import MediaHints, resource_kind


async def load_page_medium(view: PageView) -> Medium | None:
    """Return the medium that a page has at the level of a view.

    Returns:
        `None` if the page has only text at this level.

    Raises:
        NotFoundError: The resource with the medium was deleted.
    """
    # The levels below REDUCED have only text.
    body = view.representation.body if view.representation and view.level <= Level.REDUCED else None
    if body is None or not body.is_media:
        return None
    if body.kind == "url":
        return _build_remote_medium(body, view)
    media = body.media
    if media is None:
        return None
    source: MediumSource
    if body.kind == "blob":
        resource = await view.media.media.resource(str(body.value))
        source = StoredBytes(resource.resource_id, resource.digest)
    elif (uri := split_data_uri(str(body.value))) and uri.data is not None:
        source = InlineBytes(uri.data)
    else:
        return None
    return Medium(
        pointer="/content",
        source=source,
        kind=resource_kind(media.mime_type),
        mime_type=media.mime_type,
        filename=media.filename,
        size_bytes=media.size_bytes,
        hints=MediaHints(media.width, media.height, media.duration_seconds),
    )


def _build_remote_medium(body: Body, view: PageView) -> Medium | None:
    """Return the medium at the URL of a page, which is not read.

    Its type is guessed from the modality of the page and from the URL. `None` for a modality that
    is not a kind of medium.
    """
    modality = view.page.fields.modality
    if modality not in ("image", "audio", "video"):
        return None
    mime_type = guess_url_mime_type(view.page, body)
    return Medium("/content", Address(str(body.value)), modality, mime_type, None, None)
