"""Sessions: the history, replayed in order."""

from collections.abc import Sequence

from app.errors import NotFoundError
from app.models.cursor import decode_cursor, encode_cursor
from app.models.message import StoredHistoryMessage, StoredMessage
from app.stores.records import Records


class Sessions:
    """What happened in the sessions of a project."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def messages(
        self, project_id: str, session_id: str, *, cursor: str | None, limit: int
    ) -> tuple[Sequence[StoredMessage | StoredHistoryMessage], str | None]:
        """Up to `limit` messages in the order of `seq`, and the cursor of the next page.

        Raises:
            NotFoundError: Nothing was ever written to the session.
            InvalidCursorError: The cursor is not this list's.
        """
        after_seq = 0
        if cursor is not None:
            after_seq = int(decode_cursor("messages", cursor, (int,))[0])
        async with self._records.read(project_id) as unit:
            if await unit.sessions.find(session_id) is None:
                raise NotFoundError("session")
            found = await unit.sessions.messages(session_id, after_seq=after_seq, limit=limit + 1)
        page = found[:limit]
        more = len(found) > limit
        return page, encode_cursor("messages", page[-1].seq) if more else None
