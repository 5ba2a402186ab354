"""Counts the records and bytes of a project."""

from app.models.project import ProjectTotals
from app.stores.records.project_totals import ProjectTotalRecords
from app.stores.records.records import Records


async def count_project(records: Records, project_id: str) -> ProjectTotals:
    """Return the totals of a project; zeros if it does not exist.

    Raises:
        StoreUnavailableError: The database did not answer.
    """
    return await records.read(project_id, lambda unit: unit[ProjectTotalRecords].count())
