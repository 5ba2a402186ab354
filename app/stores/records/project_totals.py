"""Totals of a project: how many rows of each kind it has, and the bytes of its blobs."""

from sqlalchemy import func

from app.models.project import ProjectTotals
from app.stores.records.statements import count_rows, scoped_from, scoped_select
from app.stores.records.tables import (
    interactions,
    messages,
    pages,
    resources,
    sessions,
    tool_results,
)
from app.stores.records.unit_of_work import Repository

_BLOBS = (
    scoped_select(
        resources, resources.c.digest, func.max(resources.c.size_bytes).label("size_bytes")
    )
    .group_by(resources.c.digest)
    .subquery()
)
_BYTES = scoped_from(_BLOBS, func.coalesce(func.sum(_BLOBS.c.size_bytes), 0))
_COUNTS = {
    "sessions": count_rows(sessions),
    "results": count_rows(tool_results),
    "messages": count_rows(messages),
    "interactions": count_rows(interactions),
    "pages": count_rows(pages),
    "resources": count_rows(resources),
    "bytes": _BYTES,
}


class ProjectTotalRecords(Repository):
    """Counts the rows of one project."""

    def count(self) -> ProjectTotals:
        """Return the numbers of rows, and the bytes of blobs, each of which counts once."""
        counts = {name: self._scope.execute(value).scalar_one() for name, value in _COUNTS.items()}
        return ProjectTotals(**{name: int(count) for name, count in counts.items()})
