"""How often pages were read, and when last.

Apart from the pages: readers count in memory, and what they counted is added here in one go.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, bindparam, case

from app.stores.records.inserts import Offered
from app.stores.records.lookups import Lookup
from app.stores.records.scope import ProjectScope, scoped_select
from app.stores.records.tables import page_accesses, pages

_IDS_AT_ONCE = 32
# Held, so that none of them is removed before its row is there.
_HOLD = Lookup(
    scoped_select(pages, pages.c.page_id)
    .where(pages.c.page_id.in_([bindparam(f"id_{index}") for index in range(_IDS_AT_ONCE)]))
    .order_by(pages.c.page_id)
    .with_for_update(read=True, key_share=True)
)


class PageAccessRecords:
    """The accesses of one project's pages."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope

    def add(self, counts: Mapping[str, tuple[int, datetime]]) -> None:
        """Add to the counts of pages.

        Args:
            counts: For each page id how many accesses, and the last of them. A page that is gone
                meanwhile is passed over; an access earlier than the noted one changes no time.
        """
        ordered = sorted(counts)
        for start in range(0, len(ordered), _IDS_AT_ONCE):
            wanted = ordered[start : start + _IDS_AT_ONCE]
            # The last one again in the place of those that are not there.
            padded = wanted + wanted[-1:] * (_IDS_AT_ONCE - len(wanted))
            ids = {f"id_{index}": page_id for index, page_id in enumerate(padded)}
            held = self._scope.look_up(_HOLD, is_short=True, **ids)
            rows = [
                {
                    "page_id": row.page_id,
                    "access_count": counts[row.page_id][0],
                    "last_accessed": counts[row.page_id][1],
                }
                for row in held
            ]
            self._scope.merge_all(
                page_accesses, sorted(rows, key=lambda row: str(row["page_id"])), _merged
            )


def _merged(offered: Offered) -> dict[str, ColumnElement[Any]]:
    last = page_accesses.c.last_accessed
    return {
        "access_count": page_accesses.c.access_count + offered.access_count,
        "last_accessed": case((offered.last_accessed > last, offered.last_accessed), else_=last),
    }
