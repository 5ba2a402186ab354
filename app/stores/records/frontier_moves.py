"""Moves of frontiers, with which an earlier rendering of a session can be repeated.

A move has the levels of a frontier after the move, and the newest entry of the session at that
time. Orphans, which are answers without a recorded call, are not stored in moves: they never
change, so the orphans at an earlier entry are the current orphans up to this entry.

Some moves are unknown: those before the newest `MAX_MOVES`, and those that earlier versions of the
service have made. One stored move replaces consecutive unknown moves. It has the levels after them,
and the `seq` 0, or the `seq` after that of the last known move. As these levels may be those of
later entries, `find_frontier_at` cuts them at the requested entry.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, bindparam

from app.stores.records.statements import Excluded, scoped_delete, scoped_select, scoped_update
from app.stores.records.tables import frontier_moves
from app.stores.records.unit_of_work import Repository
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier, StoredFrontier

MAX_MOVES = 10_000
"""The maximum number of stored moves of a frontier; older ones are removed."""

_NEWEST_FIRST = scoped_select(frontier_moves, by=["session_id", "name"]).order_by(
    frontier_moves.c.seq.desc()
)
_NEWEST = _NEWEST_FIRST.limit(1)
_OLDEST_FIRST = scoped_select(frontier_moves, by=["session_id", "name"]).order_by(
    frontier_moves.c.seq
)
_NEWEST_UP_TO = _NEWEST.where(frontier_moves.c.seq <= bindparam("up_to"))
_OLDEST_KEPT = _NEWEST_FIRST.offset(MAX_MOVES - 1).limit(1)
_REMOVE_OLDER = scoped_delete(frontier_moves, by=["session_id", "name"]).where(
    frontier_moves.c.seq < bindparam("oldest")
)
_SET_UNKNOWN = scoped_update(
    frontier_moves, by={"session_id": "of_session", "name": "of_name", "seq": "oldest"}
).values(seq=0)


class FrontierMove(NamedTuple):
    """A move of a frontier: the newest `seq` when it was moved, and its new levels."""

    seq: int
    levels: Frontier


class FrontierMoveRecords(Repository):
    """The moves of the frontiers of one project's sessions."""

    def find_frontier_at(self, session_id: str, stored: StoredFrontier, seq: int) -> Frontier:
        """Return a frontier as it was when `seq` was the newest entry.

        Args:
            session_id: The session.
            stored: The current frontier.
            seq: The `seq` of the entry.
        """
        newest = self.find_newest(session_id, stored.name)
        if (newest is None or newest.seq < seq) and _without_orphans(
            stored.frontier
        ) != _levels_after(newest):
            # A process of an earlier version, which stores no moves, has moved the frontier.
            return stored.frontier.up_to(seq)
        levels = _levels_after(self.find_newest(session_id, stored.name, up_to=seq))
        return levels.model_copy(update={"orphans": stored.frontier.orphans}).up_to(seq)

    def find_newest(
        self, session_id: str, name: str, *, up_to: int | None = None
    ) -> FrontierMove | None:
        """Return the newest known move of a frontier, optionally up to an entry."""
        statement = _NEWEST if up_to is None else _NEWEST_UP_TO
        row = self._scope.first(statement, session_id=session_id, name=name, up_to=up_to)
        return FrontierMove(row.seq, Frontier.model_validate_json(row.levels)) if row else None

    def all_of(self, session_id: str, name: str) -> Sequence[FrontierMove]:
        """Return all known moves of a frontier, in the order of their numbers."""
        rows = self._scope.all(_OLDEST_FIRST, session_id=session_id, name=name)
        return [FrontierMove(row.seq, Frontier.model_validate_json(row.levels)) for row in rows]

    def put_all(self, session_id: str, name: str, moves: Iterable[FrontierMove]) -> None:
        """Store moves of a frontier of a session that the caller has locked."""
        values = [
            {
                "session_id": session_id,
                "name": name,
                "seq": move.seq,
                "levels": move.levels.model_dump_json(by_alias=True, exclude_defaults=True),
            }
            for move in moves
        ]
        self._scope.merge_all(frontier_moves, values, _replace)

    def add(self, session_id: str, old: Frontier, new: StoredFrontier, seq: int) -> None:
        """Store a move of a frontier of a session that the caller has locked.

        Args:
            session_id: The session, which exists.
            old: The frontier before the move.
            new: The frontier after the move.
            seq: The newest entry when the frontier was moved.
        """
        name, levels = new.name, _without_orphans(new.frontier)
        if levels == _without_orphans(old):
            return
        newest = self.find_newest(session_id, name)
        first_unknown_seq = 0 if newest is None else newest.seq + 1
        if first_unknown_seq < seq and _without_orphans(old) != _levels_after(newest):
            # A process of an earlier version has moved the frontier, at an unknown entry.
            self.put_all(session_id, name, [FrontierMove(first_unknown_seq, _without_orphans(old))])
        # Another request may have moved the frontier already, at a later entry.
        self.put_all(session_id, name, [FrontierMove(max(seq, first_unknown_seq - 1), levels)])
        self._remove_oldest(session_id, name)

    def _remove_oldest(self, session_id: str, name: str) -> None:
        """Remove the oldest moves beyond `MAX_MOVES`; the oldest remaining one gets the `seq` 0."""
        key = {"session_id": session_id, "name": name}
        oldest = self._scope.first(_OLDEST_KEPT, **key)
        if oldest and self._scope.run(_REMOVE_OLDER, **key, oldest=oldest.seq):
            self._scope.run(_SET_UNKNOWN, of_session=session_id, of_name=name, oldest=oldest.seq)


def _without_orphans(frontier: Frontier) -> Frontier:
    return frontier.model_copy(update={"orphans": ()})


def _levels_after(move: FrontierMove | None) -> Frontier:
    return move.levels if move else NOTHING_EVICTED


def _replace(excluded: Excluded) -> Mapping[str, ColumnElement[Any]]:
    return {"levels": excluded["levels"]}
