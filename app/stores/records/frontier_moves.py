"""Moves of frontiers, so that the rendering of an earlier entry can be made again.

A move has the levels of a frontier and the newest entry of the session when they changed. Orphans
are not in it: an answer that was shown behind a call that was written for it stays there, so those
of an earlier entry are those of today up to it. A move with the number 0 stands for all that are
not known: of an earlier version, or more than are kept. Its levels are held to the entry that is
asked for.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement

from app.stores.records.prepared_statements import Offered
from app.stores.records.tables import frontier_moves
from app.stores.records.unit_of_work import Repository
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier, StoredFrontier

MOST_MOVES = 10_000
"""So many of the newest moves of a frontier are kept."""


class FrontierMove(NamedTuple):
    """A move of a frontier: the newest entry when it was moved, and where it has stood since."""

    seq: int
    levels: Frontier


class FrontierMoveRecords(Repository):
    """The moves of the frontiers of one project's sessions."""

    def frontier_at(self, session_id: str, stored: StoredFrontier, seq: int) -> Frontier:
        """Return a frontier as it stood when an entry was the newest.

        Args:
            session_id: The session.
            stored: The frontier as it stands now.
            seq: The entry.
        """
        newest = self.newest(session_id, stored.name)
        if (newest is None or newest.seq < seq) and _levels(stored.frontier) != _of(newest):
            # A process of an earlier version has moved it since.
            return stored.frontier.up_to(seq)
        levels = _of(self.newest(session_id, stored.name, up_to=seq))
        return levels.model_copy(update={"orphans": stored.frontier.orphans}).up_to(seq)

    def newest(
        self, session_id: str, name: str, *, up_to: int | None = None
    ) -> FrontierMove | None:
        """Return the newest move of a frontier, if any is known, or the newest up to an entry."""
        moves = frontier_moves.c
        conditions = [*_is_of(session_id, name)]
        if up_to is not None:
            conditions.append(moves.seq <= up_to)
        found = self._scope.select(frontier_moves, *conditions).order_by(moves.seq.desc()).limit(1)
        row = self._scope.first(found)
        return FrontierMove(row.seq, Frontier.model_validate_json(row.levels)) if row else None

    def all_of(self, session_id: str, name: str) -> Sequence[FrontierMove]:
        """Return all moves of a frontier that are known, in the order of their numbers."""
        seq = frontier_moves.c.seq
        rows = self._scope.all(
            self._scope.select(frontier_moves, *_is_of(session_id, name)).order_by(seq)
        )
        return [FrontierMove(row.seq, Frontier.model_validate_json(row.levels)) for row in rows]

    def put_all(self, session_id: str, name: str, moves: Iterable[FrontierMove]) -> None:
        """Store moves of a frontier of a session that the caller holds."""
        values = [
            {
                "session_id": session_id,
                "name": name,
                "seq": move.seq,
                "levels": move.levels.model_dump_json(by_alias=True, exclude_defaults=True),
            }
            for move in moves
        ]
        self._scope.merge_all(frontier_moves, values, _replaced)

    def add(self, session_id: str, old: Frontier, new: StoredFrontier, seq: int) -> None:
        """Store a move of a frontier of a session that the caller holds.

        Args:
            session_id: The session, which exists.
            old: The frontier before it.
            new: The frontier after it.
            seq: The newest entry when it was moved.
        """
        name, levels = new.name, _levels(new.frontier)
        if levels == _levels(old):
            return
        newest = self.newest(session_id, name)
        begins = 0 if newest is None else newest.seq + 1
        if begins < seq and _levels(old) != _of(newest):
            # A process of an earlier version has moved it, at an entry that nothing tells.
            self.put_all(session_id, name, [FrontierMove(begins, _levels(old))])
        # Another request may have read more of the session, and moved the frontier before.
        self.put_all(session_id, name, [FrontierMove(max(seq, begins - 1), levels)])
        self._remove_oldest(session_id, name)

    def _remove_oldest(self, session_id: str, name: str) -> None:
        """Remove moves beyond the most that are kept; the oldest then stands for these."""
        seq, is_of = frontier_moves.c.seq, _is_of(session_id, name)
        kept = self._scope.select(frontier_moves, *is_of, columns=[seq]).order_by(seq.desc())
        oldest = self._scope.first(kept.offset(MOST_MOVES - 1).limit(1))
        if oldest and self._scope.remove(frontier_moves, *is_of, seq < oldest.seq):
            self._scope.set_values(frontier_moves, *is_of, seq == oldest.seq, seq=0)


def _levels(frontier: Frontier) -> Frontier:
    return frontier.model_copy(update={"orphans": ()})


def _of(move: FrontierMove | None) -> Frontier:
    return move.levels if move else NOTHING_EVICTED


def _is_of(session_id: str, name: str) -> tuple[ColumnElement[bool], ...]:
    return frontier_moves.c.session_id == session_id, frontier_moves.c.name == name


def _replaced(offered: Offered) -> Mapping[str, ColumnElement[Any]]:
    return {"levels": offered["levels"]}
