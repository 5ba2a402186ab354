"""The levels of pages above FULL: supplied by the client, or derived once and kept."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row, bindparam

from app.models.page import Level, StoredRepresentation
from app.stores.records.lookups import Lookup
from app.stores.records.scope import ProjectScope, scoped_select
from app.stores.records.tables import page_levels

_IDS_AT_ONCE = 1_000
_OF_PAGE = Lookup(
    scoped_select(
        page_levels,
        page_levels.c.level,
        page_levels.c.origin,
        page_levels.c.created_at,
        page_levels.c.body,
    )
    .where(page_levels.c.page_id == bindparam("page_id"))
    .order_by(page_levels.c.level),
    large=[page_levels.c.body],
)


class PageLevelRecords:
    """The levels of one project's pages."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope

    def of(self, page_id: str) -> Sequence[StoredRepresentation]:
        """The levels of a page, in order."""
        return [_stored(row) for row in self._scope.look_up(_OF_PAGE, page_id=page_id)]

    def replace_many(self, levels: Mapping[str, Sequence[StoredRepresentation]]) -> None:
        """Make these the levels of pages, by page id; the caller holds or has created them."""
        ordered = sorted(levels)
        for start in range(0, len(ordered), _IDS_AT_ONCE):
            self._scope.run(
                self._scope.delete(page_levels).where(
                    page_levels.c.page_id.in_(ordered[start : start + _IDS_AT_ONCE])
                )
            )
        self._scope.insert_new(
            page_levels,
            [
                {
                    "page_id": page_id,
                    "level": int(each.level),
                    "origin": each.origin,
                    "created_at": each.created_at,
                    "body": each.body,
                }
                for page_id in ordered
                for each in levels[page_id]
            ],
        )


def _stored(row: Row[Any]) -> StoredRepresentation:
    return StoredRepresentation(
        level=Level(row.level), origin=row.origin, body=row.body, created_at=row.created_at
    )
