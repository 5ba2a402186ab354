"""Counts what a project keeps."""

from app.models.project import ProjectTotals
from app.stores.records.project_totals import ProjectTotalRecords
from app.stores.records.records import Records


async def count_project(records: Records, project_id: str) -> ProjectTotals:
    """Return how much a project keeps; of one that is not there, nothing.

    Raises:
        StoreUnavailableError: The database did not answer.
    """
    return await records.read(project_id, lambda unit: unit[ProjectTotalRecords].count())
