"""Frontiers: for each session and name, how a rendering shortens the old steps of the session."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam

from app.stores.records.statements import scoped_select, scoped_update
from app.stores.records.tables import frontiers
from app.stores.records.unit_of_work import Repository
from pagefault_dialects.model.frontier import Frontier, StoredFrontier

_FIND = scoped_select(frontiers, by=["session_id", "name"])
_LIST = scoped_select(frontiers, by=["session_id"])
_REPLACE = scoped_update(frontiers, by={"session_id": "of_session", "name": "of_name"}).where(
    frontiers.c.version == bindparam("replaced_version")
)


class FrontierRecords(Repository):
    """The frontiers of one project's sessions."""

    def find(self, session_id: str, name: str) -> StoredFrontier | None:
        """Return the frontier of a session with this name, if there is one."""
        row = self._scope.first(_FIND, session_id=session_id, name=name)
        return _frontier(row) if row else None

    def all_of(self, session_id: str) -> Sequence[StoredFrontier]:
        """Return all frontiers of a session, in the order of their names."""
        rows = self._scope.all(_LIST, session_id=session_id)
        return sorted(map(_frontier, rows), key=lambda item: item.name)

    def put(
        self, session_id: str, new: StoredFrontier, now: datetime, *, replaces: int | None
    ) -> bool:
        """Store a frontier of a session that the caller has locked.

        Args:
            session_id: The session, which exists.
            new: The frontier.
            now: The time.
            replaces: The version of the stored frontier to replace; `None` for a new frontier.

        Returns:
            False, and nothing is stored, if the frontier has another version.
        """
        state = new.frontier.model_dump_json(by_alias=True)
        values = {"state": state, "sent": new.sent, "version": new.version, "updated_at": now}
        if replaces is None:
            key = {"session_id": session_id, "name": new.name}
            return self._scope.insert_if_absent(frontiers, **key, **values)
        replaced = {"of_session": session_id, "of_name": new.name, "replaced_version": replaces}
        return self._scope.run(_REPLACE, **replaced, **values) == 1


def _frontier(row: Row[Any]) -> StoredFrontier:
    frontier = Frontier.model_validate_json(row.state)
    return StoredFrontier(row.name, frontier, row.sent, row.version)
