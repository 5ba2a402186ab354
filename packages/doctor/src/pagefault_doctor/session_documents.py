"""Sessions as HTML documents with everything inside, which can be read without the service.

A document is written to a temporary file from one snapshot of the history, with gaps for its files.
So its exact size is known before anything is sent. The files are read from the store while the
document is sent, a chunk at a time.
"""

import hashlib
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import IO, cast

import anyio.to_thread

from app.models.message import StoredEntry, StoredMessage
from app.models.session import Session, SessionUse
from app.services.concurrency.large_work import ProjectTurns
from app.services.memory_budget.budget import MemoryBudget, MemoryReservation
from app.services.renders.loaded_sessions import LoadedSession, find_referenced_ids
from app.services.renders.prompt_turns import read_prompt_model, read_prompt_turns
from app.services.renders.turn_cache import TurnCache
from app.services.requests.validation import require_found
from app.services.sessions.sessions import find_uses
from app.stores.blobs.store import BlobMissingError, BlobStore
from app.stores.disk_full import translate_disk_full
from app.stores.records.history import SessionHistory
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.session_prompts import SessionPromptRecords
from app.stores.records.session_resources import SessionResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.json.values import JsonObject, parse_stored_json
from pagefault_dialects.model.media import CHUNK_BYTES
from pagefault_dialects.model.render_options import base64_length
from pagefault_dialects.model.resource import parse_resource_id
from pagefault_dialects.texts.json_strings import Base64Writer
from pagefault_doctor.document_html import (
    EntryWriter,
    FileGap,
    Piece,
    TextEscaper,
    Totals,
    write_head,
    write_tail,
)

MAX_DOCUMENT_BYTES = 50 * 1024 * 1024
"""The limit of a document. Browsers open documents of this size without trouble."""
_IN_MEMORY_BYTES = 1024 * 1024
_ENTRIES_AT_ONCE = 200
_DOCUMENTS_AT_ONCE = 2
"""The number of documents of all projects whose text is written at a time."""
_BATCH_BYTES = 1024 * 1024
_COPIES = 5
"""The copies of entries in memory: rows, values, turns and HTML."""
# The memory that sending a document takes: its text, if that is short, and chunks of files.
_SENDING_BYTES = _IN_MEMORY_BYTES + 6 * CHUNK_BYTES


@dataclass(frozen=True, slots=True)
class _Plan:
    """A session before its document is written: its size, and the files that it may show."""

    session: Session
    use: SessionUse
    last_seq: int
    text_bytes: int
    batch_bytes: int
    digests: frozenset[str]


class _Draft:
    """The text of a document in a temporary file, and the gaps in it for files.

    `gaps` has each gap with its position in the text, in bytes.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115
        self.text_bytes = 0
        self.gaps: list[tuple[int, FileGap]] = []

    @property
    def base64_bytes(self) -> int:
        """The size of all files that are written as base64."""
        return sum(base64_length(gap.size_bytes) for _, gap in self.gaps if gap.form == "base64")

    def write(self, piece: Piece) -> None:
        """Append a piece. Text beyond the limit of a document is only counted."""
        if isinstance(piece, FileGap):
            self.gaps.append((self.text_bytes, piece))
            return
        data = piece.encode()
        self.text_bytes += len(data)
        if self.text_bytes <= MAX_DOCUMENT_BYTES:
            with translate_disk_full():
                self._file.write(data)

    def flush(self) -> None:
        """Write buffered text, so that a full disk is detected before the response begins."""
        with translate_disk_full():
            self._file.flush()

    async def read(self, start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Yield the text between two positions."""
        await anyio.to_thread.run_sync(self._file.seek, start)
        while start < end:
            chunk = await anyio.to_thread.run_sync(self._file.read, min(CHUNK_BYTES, end - start))
            start += len(chunk)
            yield chunk

    def close(self) -> None:
        """Remove the file; may be called again."""
        with suppress(OSError):
            self._file.close()


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A document ready to be sent. Callers read it to its end, or close it."""

    blobs: BlobStore
    project_id: str
    head: bytes
    draft: _Draft
    size_bytes: int
    memory: MemoryReservation
    """The memory that sending it takes."""

    def close(self) -> None:
        """Release the memory, and remove the temporary file; may be called again."""
        self.draft.close()
        self.memory.release()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the document, with its files in the gaps.

        Raises:
            StoreUnavailableError: A file cannot be read or is damaged, so the response is cut off.
        """
        try:
            yield self.head
            start = 0
            for end, gap in [*self.draft.gaps, (self.draft.text_bytes, None)]:
                async with aclosing(self.draft.read(start, end)) as text:
                    async for chunk in text:
                        yield chunk
                start = end
                if gap is not None:
                    async with aclosing(_encode_file(self.blobs, self.project_id, gap)) as written:
                        async for chunk in written:
                            yield chunk
        finally:
            self.close()


@dataclass(frozen=True, slots=True, eq=False)
class SessionDocuments:
    """Writes sessions as documents."""

    records: Records
    blobs: BlobStore
    budget: MemoryBudget
    # The text of a long session takes seconds of a processor.
    _turns: ProjectTurns = field(
        init=False, default_factory=lambda: ProjectTurns(max_running=_DOCUMENTS_AT_ONCE)
    )

    async def write(self, project_id: str, session_id: str, *, has_files: bool = True) -> Document:
        """Return the document of a session, the same bytes for the same session.

        Args:
            project_id: The project of the session.
            session_id: The session.
            has_files: False to name files, and leave them out.

        Raises:
            NotFoundError: The session does not exist.
            PayloadTooLargeError: The document has more than 50 MiB.
            StoreUnavailableError: A store did not answer, or there is no room for temporary files.
            OverloadedError: There is no memory for it, or too many wait for their turn.
        """
        async with self._turns.turn(project_id):
            return await self._write(project_id, session_id, has_files=has_files)

    async def _write(self, project_id: str, session_id: str, *, has_files: bool) -> Document:
        plan = await self.records.read(project_id, lambda unit: _plan(unit, session_id))
        if plan.text_bytes > MAX_DOCUMENT_BYTES:
            raise _make_too_large_error(
                session_id, plan.text_bytes, has_files=False, is_exact=False
            )
        memory = await self.budget.reserve(_SENDING_BYTES + _COPIES * plan.batch_bytes)
        draft = _Draft()
        try:
            sizes = await self.blobs.sizes(project_id, plan.digests)
            writer = EntryWriter(sizes, has_files)
            write = partial(_write, plan=plan, writer=writer, draft=draft)
            head = await self.records.read_snapshot(project_id, write)
            size_bytes = len(head) + draft.text_bytes + draft.base64_bytes
            if size_bytes <= MAX_DOCUMENT_BYTES:
                size_bytes += await self._measure_text_files(project_id, draft)
            if size_bytes > MAX_DOCUMENT_BYTES:
                raise _make_too_large_error(session_id, size_bytes, has_files=has_files)
            memory.resize(min(memory.size_bytes, _SENDING_BYTES))
        except BaseException:
            draft.close()
            memory.release()
            raise
        return Document(self.blobs, project_id, head, draft, size_bytes, memory)

    async def _measure_text_files(self, project_id: str, draft: _Draft) -> int:
        """Return the size of all text files as HTML; if they are huge, the size of the files."""
        size_bytes = sum(gap.size_bytes for _, gap in draft.gaps if gap.form == "text")
        if size_bytes > 2 * MAX_DOCUMENT_BYTES:
            # As HTML in UTF-8, a text has at least half as many bytes, which is above the limit.
            return size_bytes
        size_bytes = 0
        for _, gap in draft.gaps:
            if gap.form == "text":
                async with aclosing(_encode_file(self.blobs, project_id, gap)) as written:
                    async for chunk in written:
                        size_bytes += len(chunk)
        return size_bytes


def _plan(unit: UnitOfWork, session_id: str) -> _Plan:
    session = require_found(unit[SessionRecords].find(session_id), "session")
    text_bytes = batch_bytes = last_seq = 0
    while rows := (
        batch := unit[SessionHistory].find_batch(
            session_id, after_seq=last_seq, limit=_ENTRIES_AT_ONCE, max_bytes=_BATCH_BYTES
        )
    ).rows:
        text_bytes += batch.size_bytes
        batch_bytes = max(batch_bytes, batch.size_bytes)
        last_seq = rows[-1].seq
    resources = unit[SessionResourceRecords].all_of(session_id)
    digests = frozenset(resource.digest for resource in resources)
    use = find_uses(unit, [session_id])[session_id]
    return _Plan(session, use, last_seq, text_bytes, batch_bytes, digests)


def _write(unit: UnitOfWork, *, plan: _Plan, writer: EntryWriter, draft: _Draft) -> bytes:
    """Write the entries of a session, and return the head of the document."""
    session_id = plan.session.session_id
    prompt = unit[SessionPromptRecords].find(session_id)
    if prompt is not None:
        turns = read_prompt_turns(prompt.prompt, origin="")
        for piece in writer.write_prompt(turns, read_prompt_model(prompt.prompt)):
            draft.write(piece)
    began = ended = plan.session.created_at
    count = after_seq = 0
    while after_seq < plan.last_seq:
        entries = [
            entry
            for entry in unit[SessionHistory]
            .find_batch(
                session_id, after_seq=after_seq, limit=_ENTRIES_AT_ONCE, max_bytes=_BATCH_BYTES
            )
            .read_entries()
            if entry.seq <= plan.last_seq
        ]
        if not entries:
            break
        _write_entries(unit, session_id, entries, writer, draft)
        began = began if count else entries[0].created_at
        ended = entries[-1].created_at
        count += len(entries)
        after_seq = entries[-1].seq
    draft.write(write_tail())
    draft.flush()
    totals = Totals(
        began=began,
        ended=ended,
        entries=count,
        failed=writer.failed,
        calls=writer.calls,
        tokens=writer.tokens,
        missing=len(writer.missing),
    )
    return write_head(plan.session, plan.use, totals, has_files=writer.has_files).encode()


def _write_entries(
    unit: UnitOfWork,
    session_id: str,
    entries: Sequence[StoredEntry],
    writer: EntryWriter,
    draft: _Draft,
) -> None:
    turn_cache = TurnCache(max_bytes=0)
    records = {
        entry.seq: cast("JsonObject", parse_stored_json(entry.sanitized))
        for entry in entries
        if isinstance(entry, StoredMessage)
    }
    ids = {seq: _list_resource_ids(record) for seq, record in records.items()}
    ids |= {
        entry.seq: sorted(find_referenced_ids([entry], turn_cache))
        for entry in entries
        if entry.seq not in ids
    }
    all_ids = {resource_id for named in ids.values() for resource_id in named}
    resources = unit[ResourceRecords].find_in_session(all_ids, session_id)
    loaded = LoadedSession(session_id, entries, resources, {}, turn_cache)
    for entry in entries:
        found = [resources[item] for item in ids[entry.seq] if item in resources]
        warnings = records.get(entry.seq, {}).get("meta", {}).get("warnings", ())
        turns = loaded.read_entry_turns(entry, "everyone")
        for piece in writer.write_entry(entry, turns, found, warnings):
            draft.write(piece)


def _list_resource_ids(record: Mapping[str, object]) -> list[str]:
    """Return the ids of the resources of a tool result, in their order."""
    descriptors = cast("list[JsonObject]", record.get("resources", []))
    return [item for each in descriptors if (item := parse_resource_id(each["uri"]))]


async def _encode_file(
    blobs: BlobStore, project_id: str, gap: FileGap
) -> AsyncGenerator[bytes, None]:
    """Yield a file as it is written into a document: as base64, or as escaped text.

    Raises:
        StoreUnavailableError: The file is missing or damaged.
    """
    hashing = hashlib.sha256()
    base64_writer, text_escaper = Base64Writer(), TextEscaper()
    async with aclosing(await blobs.open(project_id, gap.digest)) as reader:
        async for data in reader:
            await anyio.to_thread.run_sync(hashing.update, data)
            if gap.form == "text":
                yield text_escaper.feed(data)
                continue
            for chunk in base64_writer.feed(data):
                yield chunk
    if hashing.hexdigest() != gap.digest:
        # The response is cut off, so the client detects the missing part.
        raise BlobMissingError
    rest = base64_writer.finish() if gap.form == "base64" else text_escaper.feed(b"", is_last=True)
    if rest:
        yield rest


def _make_too_large_error(
    session_id: str, size_bytes: int, *, has_files: bool, is_exact: bool = True
) -> PayloadTooLargeError:
    instead = "Leave its files out with `?media=none`, or export" if has_files else "Export"
    return PayloadTooLargeError(
        f"The document of this session has {'' if is_exact else 'at least '}{size_bytes:,} bytes, "
        f"and a document may have {MAX_DOCUMENT_BYTES:,} (50 MiB). {instead} the session as a "
        f"bundle: GET /api/sessions/{session_id}/bundle."
    )
