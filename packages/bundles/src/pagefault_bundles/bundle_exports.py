"""Export of a session: all rows are read in one snapshot, and then the blobs are streamed."""

import hashlib
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass
from itertools import starmap
from typing import IO

import anyio
import anyio.to_thread
import msgspec
from msgspec import Raw

from app.models.session import Session
from app.services.pages.accesses import AccessCounts
from app.services.requests.validation import require_found
from app.stores.blobs.store import BlobMissingError, BlobStore
from app.stores.disk_full import translate_disk_full
from app.stores.records.aliases import AliasRecords
from app.stores.records.frontier_moves import FrontierMoveRecords
from app.stores.records.frontiers import FrontierRecords
from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.session_prompts import SessionPromptRecords
from app.stores.records.session_resources import SessionResourceRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_bundles import line_types
from pagefault_bundles.archive import (
    BLOBS,
    LINE_FILES,
    MANIFEST,
    ArchiveWriter,
    ChunkBuffer,
)
from pagefault_bundles.bundle_lines import (
    make_fork_line,
    make_frontier_line,
    make_history_line,
    make_interaction_line,
    make_page_line,
    make_resource_line,
)
from pagefault_bundles.bundle_records import BundleRecords
from pagefault_dialects.model.media import CHUNK_BYTES
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.model.timestamps import rfc3339

_NO_PROMPT = b"{}"
_SPOOL_MEMORY_BYTES = 1024 * 1024
# Larger than the content of any page, so that contents are read whole.
_MAX_CONTENT_BYTES = 2**40
_PIECE_BYTES = 64 * 1024
_RESOURCE_BATCH = 20
# The chunk that is read, the chunks that are read ahead, and those that the connection buffers.
_TRANSFER_BYTES = 6 * CHUNK_BYTES

EXPORT_BYTES = len(LINE_FILES) * _SPOOL_MEMORY_BYTES + _TRANSFER_BYTES
"""The maximum memory for the export of one bundle."""


class _LineFile:
    """A temporary file of JSON lines, with its size and digest. Writing blocks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.size_bytes = 0
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_SPOOL_MEMORY_BYTES)  # noqa: SIM115
        self.digest = hashlib.sha256()

    def write(self, lines: Iterable[msgspec.Struct]) -> None:
        """Write all lines."""
        with translate_disk_full():
            for line in lines:
                text = line_types.encode(line) + b"\n"
                self.size_bytes += len(text)
                self.digest.update(text)
                self._file.write(text)
            # A full disk is detected here, before the response begins.
            self._file.flush()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the content in chunks."""
        await anyio.to_thread.run_sync(self._file.seek, 0)
        while chunk := await anyio.to_thread.run_sync(self._file.read, CHUNK_BYTES):
            yield chunk

    def close(self) -> None:
        """Remove the file."""
        # Bytes that a full disk refused are still buffered, and are dropped.
        with suppress(OSError):
            self._file.close()


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """A bundle that is ready to be sent. Callers read it to its end, or close it."""

    blobs: BlobStore
    """The store of the blobs."""
    project_id: str
    """The project of the session."""
    session: Session
    """The session at the time of the snapshot."""
    frontiers: Sequence[line_types.FrontierLine]
    """The lines of the frontiers of the session."""
    files: Sequence[_LineFile]
    """The files with the lines of all other rows, at the time of the snapshot."""
    blob_sizes: Sequence[tuple[str, int]]
    """The digests of the blobs, in order, with their sizes."""

    @property
    def memory_bytes(self) -> int:
        """The memory that is needed to send the bundle."""
        sizes = [file.size_bytes for file in self.files]
        return _TRANSFER_BYTES + sum(size for size in sizes if size <= _SPOOL_MEMORY_BYTES)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the zip.

        Raises:
            StoreUnavailableError: A blob cannot be read, so the response is cut off.
        """
        buffer = ChunkBuffer()
        archive = ArchiveWriter(buffer)
        try:
            for file in self.files:
                with archive.member(file.name, file.size_bytes) as member:
                    async for chunk in file.chunks():
                        member.write(chunk)
                        if buffer.size_bytes >= _PIECE_BYTES:
                            yield buffer.take()
            for digest, size_bytes in self.blob_sizes:
                with archive.member(BLOBS + digest, size_bytes) as member:
                    hashing = hashlib.sha256()
                    blob = await self.blobs.open(self.project_id, digest)
                    async with aclosing(blob) as reader:
                        async for chunk in reader:
                            await anyio.to_thread.run_sync(hashing.update, chunk)
                            member.write(chunk)
                            if buffer.size_bytes >= _PIECE_BYTES:
                                yield buffer.take()
                    if hashing.hexdigest() != digest:
                        # The response is cut off, so the client detects the missing part.
                        raise BlobMissingError
            manifest = line_types.encode(self._make_manifest())
            with archive.member(MANIFEST, len(manifest)) as member:
                member.write(manifest)
            archive.close()
            yield buffer.take()
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Remove the temporary files; may be called again."""
        for file in self.files:
            file.close()

    def _make_manifest(self) -> line_types.BundleManifest:
        session, origin = self.session, self.session.forked_from
        line = line_types.SessionLine(
            id=session.session_id,
            created_at=rfc3339(session.created_at),
            updated_at=rfc3339(session.updated_at),
            last_seq=session.last_seq,
            frontiers=tuple(self.frontiers),
            forked_from=None if origin is None else make_fork_line(origin),
            pinned=session.marks.pinned,
            tags=session.marks.tags,
            note=session.marks.note,
        )
        files = [
            line_types.FileLine(file.name, file.size_bytes, file.digest.hexdigest())
            for file in self.files
        ]
        files += (
            line_types.FileLine(BLOBS + digest, size, digest) for digest, size in self.blob_sizes
        )
        return line_types.BundleManifest(line_types.FORMAT, line_types.VERSION, line, tuple(files))


@dataclass(frozen=True, slots=True, eq=False)
class BundleExports:
    """Exports of sessions as bundles."""

    records: Records
    blobs: BlobStore
    accesses: AccessCounts

    async def export(self, project_id: str, session_id: str) -> Bundle:
        """Return the bundle of a session, from a snapshot of its rows.

        Raises:
            NotFoundError: The session does not exist.
            StoreUnavailableError: The database did not answer, or there is no room for
                temporary files.
        """
        # The export has the access counts of pages, which are buffered in memory.
        await self.accesses.flush()
        files = [_LineFile(name) for name in LINE_FILES]
        async with AsyncExitStack() as stack:
            for file in files:
                stack.callback(file.close)

            def write_lines(
                unit: UnitOfWork,
            ) -> tuple[Session, Sequence[line_types.FrontierLine], Sequence[Resource]]:
                session = require_found(unit[SessionRecords].find(session_id), "session")
                resources = unit[SessionResourceRecords].all_of(session_id)
                lines: tuple[Iterable[msgspec.Struct], ...] = (
                    _make_history_lines(unit, session_id),
                    map(make_interaction_line, unit[BundleRecords].interactions(session_id)),
                    _make_page_lines(unit, session_id),
                    _make_resource_lines(unit, resources, project_id),
                )
                for file, file_lines in zip(files, lines, strict=True):
                    file.write(file_lines)
                moves = unit[FrontierMoveRecords]
                frontiers = [
                    make_frontier_line(frontier, moves.all_of(session_id, frontier.name))
                    for frontier in unit[FrontierRecords].all_of(session_id)
                ]
                return session, frontiers, resources

            session, frontiers, resources = await self.records.read_snapshot(
                project_id, write_lines
            )
            stack.pop_all()
        sizes = {resource.digest: resource.size_bytes for resource in resources}
        return Bundle(self.blobs, project_id, session, frontiers, files, sorted(sizes.items()))


def _make_history_lines(
    unit: UnitOfWork, session_id: str
) -> Iterator[line_types.HistoryLine | line_types.PromptLine]:
    prompt = unit[SessionPromptRecords].find(session_id)
    if prompt is not None and prompt.prompt != _NO_PROMPT:
        yield line_types.PromptLine(prompt.dialect, Raw(prompt.prompt))
    yield from starmap(make_history_line, unit[BundleRecords].history(session_id))


def _make_page_lines(unit: UnitOfWork, session_id: str) -> Iterator[line_types.PageLine]:
    for numbers in unit[BundleRecords].page_numbers(session_id):
        stored = unit[PageRecords].find_numbered(numbers, content_up_to=_MAX_CONTENT_BYTES)
        levels = unit[BundleRecords].levels([page.page_id for page in stored.values()])
        for number in numbers:
            page = stored[number]
            yield make_page_line(page, levels.get(page.page_id, ()))


def _make_resource_lines(
    unit: UnitOfWork, resources: Sequence[Resource], project_id: str
) -> Iterator[line_types.ResourceLine]:
    for start in range(0, len(resources), _RESOURCE_BATCH):
        batch = resources[start : start + _RESOURCE_BATCH]
        aliases = unit[AliasRecords].of_resources([resource.resource_id for resource in batch])
        for resource in batch:
            yield make_resource_line(resource, project_id, aliases.get(resource.resource_id, {}))
