"""Reads the entries of sessions for renderings: a whole session, or a *batch* of its entries.

A batch is a run of consecutive entries that is small enough to be read in one query.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.models.message import StoredEntry, StoredHistoryMessage, StoredMessage
from app.services.renders.loaded_sessions import (
    LoadedSession,
    entry_size_bytes,
    find_referenced_ids,
    result_records,
)
from app.services.renders.structured_contents import read_structured_contents
from app.services.renders.turn_cache import TurnCache
from app.services.requests.validation import require_found
from app.services.resources.link_files import read_links
from app.stores.blobs.store import BlobStore
from app.stores.records.history import EntryBatch, HistoryHead, SessionHistory
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.session_prompts import SessionPromptRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.model.resource import Resource

# The number of entries of one query of `read_entries`.
_QUERY_ENTRIES = 200
# The usual size of a batch, by which `find_batch_end` divides a session.
_BATCH_ENTRIES = 1_000
_BATCH_BYTES = 2 * 1024 * 1024
MAX_TEXT_BYTES = 16 * 1024 * 1024
"""The maximum size of the entries of one rendering, without their media."""


class WholeSessionNeededError(Exception):
    """A session cannot be rendered from a part of its entries. All of them have to be read."""


async def load_session(
    records: Records,
    blobs: BlobStore,
    project_id: str,
    session_id: str,
    turn_cache: TurnCache | None = None,
    *,
    up_to: int | None = None,
) -> LoadedSession:
    """Load the entries of a session, and everything that their turns need.

    Args:
        records: Reads the entries and resources.
        blobs: Reads structured contents and links.
        project_id: The project.
        session_id: The session.
        turn_cache: The cache of entries and their turns. Entries in it are not read again.
        up_to: The `seq` of the last entry to load; `None` for the newest entry.

    Raises:
        NotFoundError: The project has no such session.
        PayloadTooLargeError: The session is too long to be rendered at once.
        StoreUnavailableError: A store did not answer.
    """
    turn_cache = turn_cache or TurnCache()
    entries, resources, last_seq, prompt = await records.read_snapshot(
        project_id, lambda unit: _read_session(unit, session_id, turn_cache, up_to)
    )
    structured = await read_structured_contents(blobs, project_id, result_records(entries))
    links = await read_links(blobs, project_id, resources)
    return LoadedSession(
        session_id, entries, resources, structured, turn_cache, last_seq, prompt, links
    )


def _read_session(
    unit: UnitOfWork, session_id: str, turn_cache: TurnCache, up_to: int | None
) -> tuple[Sequence[StoredEntry], Mapping[str, Resource], int, bytes | None]:
    """Return the entries, the resources that they refer to, the last `seq`, and the prompt."""
    head = require_found(unit[SessionHistory].find_head(session_id), "session")
    last_seq = head.last_seq if up_to is None else min(up_to, head.last_seq)
    entries = read_entries(unit, session_id, head, turn_cache, after_seq=0, to_seq=last_seq)
    resources = unit[ResourceRecords].find_in_session(
        find_referenced_ids(entries, turn_cache), session_id
    )
    prompt = unit[SessionPromptRecords].find(session_id)
    return entries, resources, last_seq, prompt.prompt if prompt else None


def read_entries(
    unit: UnitOfWork,
    session_id: str,
    head: HistoryHead,
    turn_cache: TurnCache,
    *,
    after_seq: int,
    to_seq: int,
    since: int = 0,
) -> Sequence[StoredEntry]:
    """Return the entries after `after_seq`, up to and including `to_seq`.

    Args:
        unit: Reads the history.
        session_id: The session.
        head: The state of the session's history.
        turn_cache: The cache of entries. Entries in it are not read again, and others are added.
        after_seq: The `seq` before the first entry.
        to_seq: The `seq` of the last entry.
        since: The `seq` after which the sizes of entries count for the limit.

    Raises:
        PayloadTooLargeError: The entries after `since` are too long to be rendered at once.
    """
    incarnation = head.incarnation
    entries: list[StoredEntry] = []
    if incarnation is not None:
        entries += turn_cache.entries(incarnation, after_seq=after_seq, to_seq=to_seq)
    batches: list[EntryBatch] = []
    size_bytes = sum(entry_size_bytes(entry) for entry in entries if entry.seq > since)
    after_seq += len(entries)
    while after_seq < to_seq:
        limit = min(_QUERY_ENTRIES, to_seq - after_seq)
        batch = unit[SessionHistory].find_batch(session_id, after_seq=after_seq, limit=limit)
        rows = [row for row in batch.rows if row.seq <= to_seq]
        if not rows:
            break
        size_bytes += sum(row.size_bytes for row in rows if row.seq > since)
        if size_bytes > MAX_TEXT_BYTES:
            break
        batches.append(replace(batch, rows=rows))
        after_seq = rows[-1].seq
    if size_bytes > MAX_TEXT_BYTES:
        raise PayloadTooLargeError(
            f"The session has more than {MAX_TEXT_BYTES} bytes beside its media, which is more "
            "than any model reads. Render it within a budget (`maxTokens`), or read its entries in "
            f"parts: GET /api/sessions/{session_id}/messages lists them."
        )
    for batch in batches:
        batch_entries = batch.read_entries()
        for entry in batch_entries:
            if incarnation is not None and isinstance(entry, StoredMessage | StoredHistoryMessage):
                turn_cache.put(incarnation, entry)
        entries += batch_entries
    return entries


def find_batch_end(
    unit: UnitOfWork, session_id: str, *, after_seq: int, to_seq: int, factor: int = 1
) -> int:
    """Return the `seq` of the last entry of a batch of the usual size.

    Args:
        unit: Reads the sizes of entries.
        session_id: The session.
        after_seq: The `seq` before the batch.
        to_seq: The largest `seq` to return.
        factor: The size of the batch, as a multiple of the usual size.
    """
    limit, max_bytes = factor * _BATCH_ENTRIES, factor * _BATCH_BYTES
    rows = (
        unit[SessionHistory]
        .find_batch(session_id, after_seq=after_seq, limit=limit, max_bytes=max_bytes)
        .rows
    )
    return min(to_seq, rows[-1].seq) if rows else to_seq
