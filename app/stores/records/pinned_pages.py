"""Which pages are pinned."""

from collections.abc import Collection

from app.stores.records.tables import pages
from app.stores.records.unit_of_work import Repository


class PinnedPageRecords(Repository):
    """The pinned pages of one project."""

    def among(self, page_ids: Collection[str]) -> set[str]:
        """Return which of these pages are pinned."""
        page_id = pages.c.page_id
        pinned = self._scope.select(pages, pages.c.pinned, columns=[page_id])
        return {row.page_id for row in self._scope.rows_with(page_id, page_ids, pinned)}
