"""Units of work: the repositories of one project, in one transaction over one connection."""

from typing import Any, TypeVar

from sqlalchemy import Connection

from app.models.event import NewEvent
from app.stores.records.blob_sizes import SizesByClaim
from app.stores.records.scope import ProjectScope

_Kind = TypeVar("_Kind", bound="Repository")


class UnitOfWork:
    """The repositories of one project over one connection, by type: `unit[UploadRecords]`.

    Each repository is created when it is first used. `new_events` are written at the end of the
    transaction.

    Args:
        connection: The connection.
        project_id: The project.
        blob_sizes: Sizes of blobs that were looked up before the transaction.
    """

    def __init__(self, connection: Connection, project_id: str, blob_sizes: SizesByClaim) -> None:
        self.scope = ProjectScope(connection, project_id)
        self.blob_sizes = blob_sizes
        self.new_events: list[NewEvent] = []
        self._repositories: dict[type[Repository], Any] = {}

    def __getitem__(self, kind: type[_Kind]) -> _Kind:
        """Return the repository of a type."""
        found: _Kind | None = self._repositories.get(kind)
        if found is None:
            found = self._repositories[kind] = kind(self)
        return found

    def add_event(self, event: NewEvent) -> None:
        """Add an event, which is written at the end of the transaction."""
        self.new_events.append(event)


class Repository:
    """The base class of repositories, each of which reads and writes records of one project.

    A repository that uses other repositories gets them from the unit of work.
    """

    def __init__(self, unit: UnitOfWork) -> None:
        self._scope = unit.scope
