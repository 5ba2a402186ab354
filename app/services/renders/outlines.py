"""Makes outlines of sessions: lists with a short summary of each entry, for viewers.

A summary is made from the turns of an entry, like a rendering. So calls and results are listed in
the same way for messages of every dialect.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from app.models.identity import ListName, encode_cursor
from app.services.memory_budget.responses import ResponseBudget
from app.services.renders.loaded_sessions import (
    LoadedSession,
    find_referenced_ids,
)
from app.services.renders.outline_entries import summarize_entry
from app.services.renders.queries import RenderQuery
from app.services.renders.turn_cache import TurnCache
from app.services.renders.working_sets import WorkingSets
from app.services.requests.validation import require_found
from app.services.sessions.list_positions import find_list_start
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.outlines import StepLevel
from app.wire.shape import encode_cursor_list

_CURSOR: ListName = "outline"
_MAX_READ_BYTES = 4 * 1024 * 1024
"""The maximum size of the entries of one response."""
_UNRESERVED_BYTES = 64 * 1024
"""The size of entries up to which no memory is reserved and no thread is used."""
_COPIES = 4
"""The number of copies of the entries in memory: rows, parsed values, turns and summaries."""


@dataclass(frozen=True, slots=True, eq=False)
class Outlines:
    """Makes outlines of sessions."""

    records: Records
    """Reads histories."""
    memory: ResponseBudget
    """Limits the memory of responses."""
    working_sets: WorkingSets
    """Finds how far entries are evicted in a rendering."""

    async def list(
        self,
        project_id: str,
        session_id: str,
        *,
        cursor: str | None,
        after_seq: int | None,
        limit: int,
        query: RenderQuery | None = None,
    ) -> tuple[bytes, str | None]:
        """Return the outline of up to `limit` entries as JSON, and the cursor for the next entries.

        Args:
            project_id: The project of the session.
            session_id: The session.
            cursor: The cursor that the call for the entries before these has returned.
            after_seq: The `seq` before the first entry; `None` for 0.
            limit: The maximum number of entries. Fewer are returned if they are large.
            query: If set, summaries have the levels to which this rendering evicts the entries.

        Returns:
            The JSON, and the cursor; `None` if there are no further entries.

        Raises:
            InvalidCursorError: The cursor is invalid.
            InvalidPayloadError: `cursor` and `after_seq` are both set.
            NotFoundError: The project has no such session.
            OverloadedError: There is not enough memory for the entries. They were not read.
        """
        start = find_list_start(_CURSOR, "An outline", cursor, after_seq)
        measure = partial(_measure_entries, session_id=session_id, after_seq=start, limit=limit)
        count, size_bytes, next_cursor = await self.records.read(project_id, measure)
        if not count:
            return encode_cursor_list((), None), None
        levels: Mapping[int, StepLevel] = {}
        if query is not None:
            levels = await self.working_sets.step_levels(project_id, session_id, query)

        def read(unit: UnitOfWork) -> LoadedSession:
            # Entries never change, so they are those that were measured. They are read once, so
            # their turns are not cached.
            turn_cache = TurnCache(max_bytes=0)
            entries = unit[SessionHistory].entries(session_id, after_seq=start, limit=count)
            resources = unit[ResourceRecords].find_in_session(
                find_referenced_ids(entries, turn_cache), session_id
            )
            return LoadedSession(
                session_id, entries, resources, structured_contents={}, turn_cache=turn_cache
            )

        if size_bytes <= _UNRESERVED_BYTES:
            body = _write_outline(await self.records.read(project_id, read), next_cursor, levels)
        else:
            memory = await self.memory.reserve(_COPIES * size_bytes)
            try:
                loaded = await self.records.read(project_id, read)
                body = await anyio.to_thread.run_sync(_write_outline, loaded, next_cursor, levels)
            finally:
                memory.release()
        return body, next_cursor


def _measure_entries(
    unit: UnitOfWork, *, session_id: str, after_seq: int, limit: int
) -> tuple[int, int, str | None]:
    """Return the number of entries to read, their size in bytes, and the next cursor."""
    head = require_found(unit[SessionHistory].find_head(session_id), "session")
    batch = unit[SessionHistory].find_batch(
        session_id, after_seq=after_seq, limit=limit, max_bytes=_MAX_READ_BYTES
    )
    last_seq = batch.rows[-1].seq if batch.rows else head.last_seq
    # The last `seq` of a session may belong to no entry, so `last_seq < head.last_seq` is not
    # enough.
    has_more = last_seq < head.last_seq and unit[SessionHistory].has_entries(
        session_id, after_seq=last_seq
    )
    next_cursor = encode_cursor(_CURSOR, last_seq) if has_more else None
    return len(batch.rows), batch.size_bytes, next_cursor


def _write_outline(
    loaded: LoadedSession, next_cursor: str | None, levels: Mapping[int, StepLevel]
) -> bytes:
    """Return the summaries of the entries of a session as JSON, with the next cursor."""
    summaries = (
        summarize_entry(
            entry,
            loaded.read_entry_turns(entry, audience="assistant"),
            step_level=levels.get(entry.seq),
        ).encode()
        for entry in loaded.entries
    )
    return encode_cursor_list(summaries, next_cursor)
