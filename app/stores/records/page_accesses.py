"""Accesses of pages by models: their number, and the time of the last one."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, case

from app.stores.records.scope import in_batches
from app.stores.records.statements import Excluded, is_among, scoped_select
from app.stores.records.tables import page_accesses, pages
from app.stores.records.unit_of_work import Repository

# A page must not be removed before the row of its accesses is inserted.
_LOCK = (
    scoped_select(pages, pages.c.page_id)
    .where(is_among(pages.c.page_id, "page_ids"))
    .order_by(pages.c.page_id)
    .with_for_update(read=True, key_share=True)
)


class PageAccessRecords(Repository):
    """The accesses of one project's pages."""

    def add(self, counts: Mapping[str, tuple[int, datetime]]) -> None:
        """Add to the counts of pages.

        Args:
            counts: The number of accesses and the time of the last, by page id. Pages that were
                removed are skipped. An earlier time does not replace a later one.
        """
        for page_ids in in_batches(counts):
            locked = {row.page_id for row in self._scope.all(_LOCK, page_ids=page_ids)}
            rows = [
                {"page_id": item, "access_count": counts[item][0], "last_accessed": counts[item][1]}
                for item in sorted(locked)
            ]
            self._scope.merge_all(page_accesses, rows, _merge)


def _merge(excluded: Excluded) -> dict[str, ColumnElement[Any]]:
    last = page_accesses.c.last_accessed
    return {
        "access_count": page_accesses.c.access_count + excluded.access_count,
        "last_accessed": case((excluded.last_accessed > last, excluded.last_accessed), else_=last),
    }
