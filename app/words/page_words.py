"""The words of a page that a search looks in."""

from app.words.search_terms import SearchableText
from pagefault_dialects.model.page import Body, Page
from pagefault_dialects.pages.page_text import list_page_texts


def searchable_text(page: Page, text: str | None) -> SearchableText:
    """Return the words of a page that a search looks in.

    Args:
        page: The page.
        text: The text of the resource that its content refers to, if any.
    """
    body = page.full
    if text is not None:
        body = Body("text" if page.fields.modality == "text" else "json", text)
    heading, words = list_page_texts(page.fields, body.kind, body.value)
    return SearchableText(heading=tuple(heading), text=tuple(words))
