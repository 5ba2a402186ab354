"""The length of the queue of the search index, over all projects."""

from sqlalchemy import func, select

from app.models.search_entry import EntryQueue
from app.stores.records.projects import ProjectRecords
from app.stores.records.scope import read_row
from app.stores.records.search_tables import search_entries

_QUEUE = (
    select(
        func.count().label("waiting"),
        func.min(search_entries.c.entry_number).label("oldest"),
        select(func.coalesce(func.max(search_entries.c.entry_number), 0))
        .scalar_subquery()
        .label("newest"),
    )
    .select_from(search_entries)
    .where(search_entries.c.indexed < search_entries.c.revision)
)


def measure_queue(project_records: ProjectRecords) -> EntryQueue:
    """Return the length of the queue of all projects. The time grows with the waiting entries."""
    return read_row(EntryQueue, project_records.select_one(_QUEUE))
