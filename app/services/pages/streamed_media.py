"""Which strings of a page's body are media as a whole, and so need not be in memory as text."""

from app.media.data_uris import DataUriText, bare_base64, split_data_uri
from app.services.pages.requests import PageDraft, RepresentationDraft
from app.services.requests.data_uris import is_to_be_moved, movable_media


def media_of_page(draft: PageDraft) -> list[DataUriText]:
    """Return the media that are moved out of a page's content, each a whole string of it."""
    content = draft.content
    if draft.modality == "structured":
        return [each.uri for each in movable_media(content) if each.uri is not None]
    if draft.modality == "text":
        return _data_uri(content)
    uri = (split_data_uri(content) or bare_base64(content)) if isinstance(content, str) else None
    return [uri] if uri is not None and (is_to_be_moved(uri) or not uri.head) else []


def media_of_pages(drafts: list[PageDraft]) -> list[DataUriText]:
    """Return the same of several pages."""
    return [uri for draft in drafts for uri in media_of_page(draft)]


def media_of_representation(draft: RepresentationDraft) -> list[DataUriText]:
    """Return the same of a supplied level, which is moved whatever the page's modality."""
    return _data_uri(draft.content)


def _data_uri(content: object) -> list[DataUriText]:
    uri = split_data_uri(content) if isinstance(content, str) else None
    return [uri] if uri is not None and uri.is_base64 and is_to_be_moved(uri) else []
