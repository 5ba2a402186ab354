"""Totals of a project: its records and bytes."""

from sqlalchemy import func

from app.models.project import ProjectTotals
from app.stores.records.scope import scoped_from
from app.stores.records.tables import (
    interactions,
    messages,
    pages,
    resources,
    sessions,
    tool_results,
)
from app.stores.records.unit_of_work import Repository


class ProjectTotalRecords(Repository):
    """Counts of one project's records."""

    def count(self) -> ProjectTotals:
        """Count them; bytes that several resources share count once."""
        columns = [resources.c.digest, func.max(resources.c.size_bytes).label("size_bytes")]
        grouped = self._scope.select(resources, columns=columns).group_by(resources.c.digest)
        blobs = grouped.subquery()
        summed = func.coalesce(func.sum(blobs.c.size_bytes), 0).label("bytes")
        (row,) = self._scope.all(scoped_from(blobs, summed))
        return ProjectTotals(
            sessions=self._scope.count(sessions),
            results=self._scope.count(tool_results),
            messages=self._scope.count(messages),
            interactions=self._scope.count(interactions),
            pages=self._scope.count(pages),
            resources=self._scope.count(resources),
            bytes=int(row.bytes),
        )
