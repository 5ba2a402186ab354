"""Pinned pages."""

from collections.abc import Collection

from app.stores.records.statements import is_among, scoped_select
from app.stores.records.tables import pages
from app.stores.records.unit_of_work import Repository

_PINNED = scoped_select(pages, pages.c.page_id).where(
    is_among(pages.c.page_id, "values"), pages.c.pinned
)


class PinnedPageRecords(Repository):
    """Finds the pinned pages of one project."""

    def among(self, page_ids: Collection[str]) -> set[str]:
        """Return the ids of these pages that are pinned."""
        return {row.page_id for row in self._scope.rows_in_batches(_PINNED, page_ids)}
