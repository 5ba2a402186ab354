"""Lists the tools that sessions have called, and the sessions that have called a tool."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import InvalidCursorError
from app.models.identity import decode_cursor, encode_cursor
from app.models.session import SessionFilter, ToolSessions
from app.services.search.indexing import SearchIndexing
from app.services.sessions.sessions import Sessions, SessionWithUse
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.words.entry_tools import is_listed


@dataclass(frozen=True, slots=True, eq=False)
class CalledTools:
    """Lists called tools, and sessions by tool. The search index stores the tools of an entry."""

    records: Records
    sessions: Sessions
    indexing: SearchIndexing

    async def list_sessions(
        self, project_id: str, filters: SessionFilter, *, cursor: str | None, limit: int
    ) -> tuple[Sequence[SessionWithUse], str | None]:
        """Return a list of sessions; see `Sessions.list`.

        If the filter has a tool, the newest entries are indexed first.

        Raises:
            InvalidCursorError: The cursor is of another list, or of a list with other filters.
        """
        if filters.tool is not None:
            if not is_listed(filters.tool):
                return [], None
            await self.indexing.catch_up(project_id)
        return await self.sessions.list(project_id, filters, cursor=cursor, limit=limit)

    async def list(
        self, project_id: str, *, cursor: str | None, limit: int
    ) -> tuple[Sequence[ToolSessions], str | None]:
        """Return up to `limit` tools, by name, and the next cursor.

        Raises:
            InvalidCursorError: The cursor is of another list.
        """
        after = ""
        if cursor is not None:
            (name,) = decode_cursor("called-tools", cursor, (str,))
            try:
                after = bytes.fromhex(str(name)).decode()
            except ValueError as exc:
                raise InvalidCursorError from exc
            if not is_listed(after):
                raise InvalidCursorError
        await self.indexing.catch_up(project_id)
        found = await self.records.read(
            project_id,
            lambda unit: unit[SessionRecords].called_tools(after=after, limit=limit + 1),
        )
        if len(found) <= limit:
            return found, None
        last = found[limit - 1].name.encode().hex()
        return found[:limit], encode_cursor("called-tools", last)
