"""Find the pinned pages among the pages of a rendering."""

from collections.abc import Collection

from app.stores.records.statements import is_among, scoped_select
from app.stores.records.tables import pages
from app.stores.records.unit_of_work import Repository

_PINNED = scoped_select(pages, pages.c.page_id).where(
    is_among(pages.c.page_id, "values"), pages.c.pinned
)


class PinnedPageRecords(Repository):
    """Finds the pinned pages of one project."""

    def find_pinned(self, page_ids: Collection[str]) -> set[str]:
        """Return the ids of those of these pages that are pinned."""
        return {row.page_id for row in self._scope.rows_in_batches(_PINNED, page_ids)}
