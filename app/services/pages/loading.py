"""Pages of a unit of work that have to be there."""

from app.errors import NotFoundError
from app.models.page import Page, StoredPage
from app.services.pages.versions import read_page
from app.stores.records import UnitOfWork


def find_page(unit: UnitOfWork, page_id: str, *, with_content: bool) -> StoredPage:
    """Return a page as it is stored, with its content or without.

    Raises:
        NotFoundError: The project has none.
    """
    stored = unit.pages.find(page_id, with_content=with_content)
    if stored is None:
        raise NotFoundError("page")
    return stored


def load_page(unit: UnitOfWork, page_id: str) -> tuple[StoredPage, Page]:
    """Return a page as it is stored, and as it is read.

    Raises:
        NotFoundError: The project has none.
    """
    stored = find_page(unit, page_id, with_content=True)
    return stored, read_page(stored, unit.page_levels.of(page_id))
