"""Reads the texts that a model names by `@entry:` and `@entries:` references.

`@entry:12` is the text of an entry, `@entry:12/arguments/0` an argument of a call in it, and
`@entries:2-30` a list with one line for each entry. The lines of a list are made from a few entries
at a time while the list is read, and are not stored.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import anyio.to_thread

from app.errors import NotFoundError
from app.models.message import StoredEntry
from app.services.renders.loaded_sessions import LoadedSession, load_entry
from app.services.renders.turn_cache import TurnCache
from app.stores.blobs.store import BlobStore
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.context.cut_marks import parse_argument_handle
from pagefault_dialects.context.entry_refs import (
    EntryRange,
    argument_text,
    describe_entry,
    entry_text_or_calls,
)
from pagefault_dialects.context.recalls import ENTRY_HANDLE
from pagefault_dialects.model.conversation import ComposedTurn
from pagefault_dialects.tools.tool_arguments import WrongArgumentsError

# The limits of one query for the entries of a list.
_QUERY_ENTRIES = 100
_QUERY_BYTES = 4 * 1024 * 1024
# The number of rows of one query that only counts entries.
_COUNTED_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class EntryLine:
    """The line of an entry in a list."""

    seq: int
    """The `seq` of the entry."""
    text: str


@dataclass(frozen=True, slots=True)
class ListStart:
    """The size of a list, and where to start reading it."""

    total_lines: int
    """The number of lines of the list."""
    after_seq: int
    """The `seq` of the entry before the entry of the requested line."""


@dataclass(frozen=True, slots=True, eq=False)
class HistoryTexts:
    """Reads the texts of `@entry:` and `@entries:` references."""

    records: Records
    blobs: BlobStore

    async def find(self, project_id: str, session_id: str, ref: str) -> tuple[str, str] | None:
        """Return the text of an `@entry:` reference, and its name for the model.

        Returns:
            The name and the text; `None` for other references, such as the handle of a medium.

        Raises:
            WrongArgumentsError: The session has no such entry, call or argument.
            StoreUnavailableError: A store did not answer.
        """
        handle = parse_argument_handle(ref)
        if handle is not None:
            turns = await self._load_turns(project_id, session_id, handle.seq)
            text = await anyio.to_thread.run_sync(argument_text, turns, handle)
            return f"argument of a call in entry {handle.seq}", text
        match = ENTRY_HANDLE.search(ref)
        if match is None or match.group(2) is not None or ref[match.end() :].startswith("/arg"):
            return None
        seq = int(match.group(1))
        turns = await self._load_turns(project_id, session_id, seq)
        return f"entry {seq}", await anyio.to_thread.run_sync(entry_text_or_calls, seq, turns)

    async def lines(
        self, project_id: str, session_id: str, entries: EntryRange, *, after_seq: int = 0
    ) -> AsyncGenerator[Sequence[EntryLine], None]:
        """Yield the lines of a list in batches.

        Args:
            project_id: The project.
            session_id: The session.
            entries: The entries of the list.
            after_seq: The `seq` after which the lines begin.

        Raises:
            StoreUnavailableError: A store did not answer.
        """
        after_seq = max(after_seq, entries.first - 1)
        while True:

            def read(
                unit: UnitOfWork, after_seq: int = after_seq
            ) -> tuple[int | None, Sequence[StoredEntry]]:
                batch = unit[SessionHistory].find_batch(
                    session_id,
                    after_seq=after_seq,
                    limit=_QUERY_ENTRIES,
                    max_bytes=_QUERY_BYTES,
                )
                return batch.rows[-1].seq if batch.rows else None, batch.read_entries()

            last_seq, read_entries = await self.records.read_snapshot(project_id, read)
            listed = [
                entry for entry in read_entries if entries.last is None or entry.seq <= entries.last
            ]
            if listed:
                yield await anyio.to_thread.run_sync(_format_lines, session_id, listed)
            if last_seq is None or (entries.last is not None and last_seq >= entries.last):
                return
            after_seq = last_seq

    async def measure(
        self, project_id: str, session_id: str, entries: EntryRange, line: int = 1
    ) -> ListStart:
        """Count the lines of a list, and find where a line begins, without reading the entries.

        Args:
            project_id: The project.
            session_id: The session.
            entries: The entries of the list.
            line: The number of the line, from 1.

        Raises:
            WrongArgumentsError: The list is empty.
        """

        def count(unit: UnitOfWork) -> ListStart:
            total, after_seq = 0, entries.first - 1
            start = after_seq
            while True:
                rows = (
                    unit[SessionHistory]
                    .find_batch(session_id, after_seq=after_seq, limit=_COUNTED_ROWS)
                    .rows
                )
                seqs = [row.seq for row in rows if entries.last is None or row.seq <= entries.last]
                if total < line - 1 <= total + len(seqs):
                    start = seqs[line - 2 - total]
                total += len(seqs)
                if not seqs or len(seqs) < len(rows):
                    return ListStart(total, start)
                after_seq = seqs[-1]

        # `read_snapshot` runs in a thread, because so many rows would block the event loop.
        list_start = await self.records.read_snapshot(project_id, count)
        if not list_start.total_lines:
            raise await self._build_missing_error(
                project_id, session_id, "no entry with such a number"
            )
        return list_start

    async def _load_turns(
        self, project_id: str, session_id: str, seq: int
    ) -> Sequence[ComposedTurn]:
        """Return the turns of an entry that a model may see.

        Raises:
            WrongArgumentsError: The session has no such entry.
        """
        try:
            loaded = await load_entry(self.records, self.blobs, project_id, session_id, seq)
        except NotFoundError as exc:
            raise await self._build_missing_error(
                project_id, session_id, f"no entry {seq}"
            ) from exc
        return await anyio.to_thread.run_sync(loaded.read_first_entry_turns, "assistant")

    async def _build_missing_error(
        self, project_id: str, session_id: str, missing: str
    ) -> WrongArgumentsError:
        """Return the error for missing entries, whose text names the existing entries.

        Args:
            project_id: The project.
            session_id: The session.
            missing: The missing entries, such as `no entry 12`.
        """
        head = await self.records.read(
            project_id, lambda unit: unit[SessionHistory].find_head(session_id)
        )
        last_seq = head.last_seq if head else 0
        hint = f" @entries:1-{last_seq} lists those there are." if last_seq else ""
        return WrongArgumentsError(f"This session has {missing}.{hint}")


def _format_lines(session_id: str, entries: Sequence[StoredEntry]) -> Sequence[EntryLine]:
    # A line only says how many media an entry has, so their resources are not loaded.
    loaded = LoadedSession(session_id, entries, {}, {}, TurnCache())
    return [
        EntryLine(entry.seq, describe_entry(entry.seq, loaded.read_entry_turns(entry, "assistant")))
        for entry in entries
    ]
