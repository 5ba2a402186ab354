"""Frontiers of sessions, each under a name."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from app.stores.records.tables import frontiers
from app.stores.records.unit_of_work import Repository
from pagefault_dialects.model.frontier import Frontier, StoredFrontier


class FrontierRecords(Repository):
    """The frontiers of one project's sessions: how far renderings have evicted, by name."""

    def find(self, session_id: str, name: str) -> StoredFrontier | None:
        """Return what is stored under a name, if anything is."""
        row = self._scope.find(frontiers, session_id=session_id, name=name)
        return _frontier(row) if row else None

    def all_of(self, session_id: str) -> Sequence[StoredFrontier]:
        """Return all of a session, in the order of their names."""
        listed = self._scope.select(frontiers, frontiers.c.session_id == session_id)
        rows = self._scope.all(listed)
        return sorted(map(_frontier, rows), key=lambda each: each.name)

    def put(
        self, session_id: str, new: StoredFrontier, now: datetime, *, replaces: int | None
    ) -> bool:
        """Store a frontier of a session that the caller holds.

        Args:
            session_id: The session, which exists.
            new: What is to be stored.
            now: The moment.
            replaces: The version that is there; `None` if none is.

        Returns:
            Whether it was stored; not if there is another version meanwhile.
        """
        state = new.frontier.model_dump_json(by_alias=True)
        values = {"state": state, "sent": new.sent, "version": new.version, "updated_at": now}
        key = {"session_id": session_id, "name": new.name}
        if replaces is None:
            return self._scope.insert_if_absent(frontiers, **key, **values)
        is_it = (frontiers.c[name] == value for name, value in key.items())
        is_replaced = frontiers.c.version == replaces
        return self._scope.set_values(frontiers, *is_it, is_replaced, **values) == 1


def _frontier(row: Row[Any]) -> StoredFrontier:
    frontier = Frontier.model_validate_json(row.state)
    return StoredFrontier(row.name, frontier, row.sent, row.version)
