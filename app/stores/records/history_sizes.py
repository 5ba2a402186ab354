"""Sums of the sizes of history entries, without reading the records that they refer to."""

from sqlalchemy import BigInteger, bindparam, func

from app.stores.records.statements import scoped_select
from app.stores.records.tables import history_entries, sessions
from app.stores.records.unit_of_work import Repository

_LAST_SEQ = scoped_select(sessions, sessions.c.last_seq, by=["session_id"]).scalar_subquery()
_NEWEST = (
    scoped_select(
        history_entries, history_entries.c.seq, history_entries.c.size_bytes, by=["session_id"]
    )
    .where(
        history_entries.c.seq > bindparam("after_seq"),
        history_entries.c.seq <= func.coalesce(bindparam("to", type_=BigInteger()), _LAST_SEQ),
    )
    .order_by(history_entries.c.seq.desc())
    .limit(1_000)
)


class HistorySizes(Repository):
    """The sizes of the entries of one project's sessions."""

    def find_seq_before_newest(
        self, session_id: str, *, after_seq: int, to: int | None, max_bytes: int
    ) -> int:
        """Return the `seq` of the entry before the newest entries, which have at most `max_bytes`.

        There are as many newest entries as possible.

        Args:
            session_id: The session.
            after_seq: The smallest possible result.
            to: The last entry; by default the last of the session.
            max_bytes: The maximum of the summed sizes of the newest entries.
        """
        while rows := self._scope.all(_NEWEST, session_id=session_id, after_seq=after_seq, to=to):
            for row in rows:
                max_bytes -= row.size_bytes
                if max_bytes < 0:
                    return int(row.seq)
            to = rows[-1].seq - 1
        return after_seq
