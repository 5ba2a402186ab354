"""Accesses of pages: how often, and the last time."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, case

from app.stores.records.prepared_statements import IsAmong, Offered
from app.stores.records.scope import in_batches, scoped_select
from app.stores.records.tables import page_accesses, pages
from app.stores.records.unit_of_work import Repository

# Held, so that none of them is removed before its row is there.
_HOLD = (
    scoped_select(pages, pages.c.page_id)
    .where(IsAmong(pages.c.page_id, "page_ids"))
    .order_by(pages.c.page_id)
    .with_for_update(read=True, key_share=True)
)


class PageAccessRecords(Repository):
    """The accesses of one project's pages."""

    def add(self, counts: Mapping[str, tuple[int, datetime]]) -> None:
        """Add to the counts of pages.

        Args:
            counts: For each page id how many accesses, and the last of them. A page that is gone
                meanwhile is passed over; an access earlier than the noted one changes no time.
        """
        for wanted in in_batches(counts):
            held = {row.page_id for row in self._scope.kept(_HOLD, page_ids=wanted)}
            rows = [
                {"page_id": each, "access_count": counts[each][0], "last_accessed": counts[each][1]}
                for each in sorted(held)
            ]
            self._scope.merge_all(page_accesses, rows, _merged)


def _merged(offered: Offered) -> dict[str, ColumnElement[Any]]:
    last = page_accesses.c.last_accessed
    return {
        "access_count": page_accesses.c.access_count + offered.access_count,
        "last_accessed": case((offered.last_accessed > last, offered.last_accessed), else_=last),
    }
