"""Import of a session: its bundle is spooled and checked, then its blobs and rows are stored.

All rows of a session are written in one transaction.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import anyio
import anyio.to_thread

from app.errors import ConflictError
from app.models.event import NewEvent
from app.models.identity import utc_now
from app.models.limits import Limits
from app.models.session import Session, SessionUse
from app.services.concurrency.background import run_to_completion
from app.services.pages.page_bodies import refers_to_text
from app.services.quotas.storage_quota import StorageQuota
from app.services.sessions.sessions import SessionWithUse, find_uses
from app.stores.blobs.store import BlobStore
from app.stores.records.aliases import AliasRecords
from app.stores.records.frontier_moves import FrontierMoveRecords
from app.stores.records.frontiers import FrontierRecords
from app.stores.records.page_accesses import PageAccessRecords
from app.stores.records.pages import PageLevelRecords, PageRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.session_prompts import SessionPromptRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.stores.records.word_index import IndexedRecord
from app.stores.records.word_indexes import choose_page_index
from app.wire.sessions import build_imported_entries
from app.words.page_words import searchable_text
from app.words.search_terms import SearchWords, search_words
from pagefault_bundles import archive, line_types
from pagefault_bundles.bundle_lines import (
    read_frontier,
    read_interaction,
    read_levels,
    read_message,
    read_move,
    read_tool_result,
)
from pagefault_bundles.bundle_reader import ENTRY_KINDS, BundleCheck, BundleFile, read_bundle
from pagefault_bundles.bundle_records import BundleRecords, Entry
from pagefault_bundles.record_checks import read_bundled_page
from pagefault_bundles.spooled_files import spool
from pagefault_dialects.model.page import Page

# The numbers of bundles that are checked, and of blobs that are stored, at a time.
_MAX_CHECKS = 2
_BLOB_BATCH = 8


@dataclass(frozen=True, slots=True, eq=False)
class BundleImports:
    """Imports bundles."""

    records: Records
    blobs: BlobStore
    limits: Limits
    stored_bytes: StorageQuota | None = None
    # A check uses one processor, and memory for the resources and links of a bundle.
    _limiter: anyio.CapacityLimiter = field(
        init=False, default_factory=lambda: anyio.CapacityLimiter(_MAX_CHECKS)
    )

    async def import_session(self, project_id: str, chunks: AsyncIterator[bytes]) -> SessionWithUse:
        """Store the session in a bundle with its ids, in one transaction.

        Args:
            project_id: The caller's project.
            chunks: The bytes of the bundle, within the caller's limit.

        Raises:
            InvalidBundleError: The file is damaged, or is no bundle. Nothing was stored.
            ConflictError: The session, a page or a record of it exists already.
            StoredBytesQuotaError: The project has no room for its blobs.
            StoreUnavailableError: A store did not answer. Nothing was stored; retry.
        """
        async with spool(chunks) as file, self._limiter:
            bundle = await anyio.to_thread.run_sync(read_bundle, file, self.limits.bundle_bytes)
            check = BundleCheck(bundle, project_id, self.limits)
            session = await anyio.to_thread.run_sync(check.run)
            if self.stored_bytes is not None:
                # Before the first blob is stored: stored blobs stay until the next sweep.
                await self.stored_bytes.check_room_for(project_id, bundle.blobs)
            await self._put_blobs(project_id, bundle)
            # The transaction reads the file that this block closes, so cancellation waits for it.
            use = await run_to_completion(self._commit(project_id, check, session))
        return SessionWithUse(session, use, is_new=True)

    async def _put_blobs(self, project_id: str, bundle: BundleFile) -> None:
        blobs = iter(bundle.blobs.items())
        while batch := list(islice(blobs, _BLOB_BATCH)):
            puts = (self._put_blob(project_id, bundle, *blob) for blob in batch)
            for error in await asyncio.gather(*puts, return_exceptions=True):
                if error is not None:
                    raise error

    async def _put_blob(
        self, project_id: str, bundle: BundleFile, digest: str, size_bytes: int
    ) -> None:
        async with self.blobs.writer(project_id, limit_bytes=size_bytes) as writer:
            chunks = bundle.chunks(archive.BLOBS + digest)
            # Reading and inflating block.
            while chunk := await anyio.to_thread.run_sync(next, chunks, b""):
                await writer.write(chunk)
            await writer.commit(digest)

    async def _commit(self, project_id: str, check: BundleCheck, session: Session) -> SessionUse:
        def write(unit: UnitOfWork) -> SessionUse:
            _BundleWriter(unit, check, session).write()
            # The import is one event. The entries have no events of their own: they are not new.
            event = NewEvent(
                "session:imported",
                session.session_id,
                utc_now(),
                session_id=session.session_id,
                seq=session.last_seq,
                members={"imported": build_imported_entries(session.counts).to_json_value()},
            )
            unit.add_event(event)
            return find_uses(unit, [session.session_id])[session.session_id]

        return await self.records.write(project_id, write, is_alone=True)


@dataclass(frozen=True, slots=True)
class _BundleWriter:
    """Writes all rows of one bundle in the transaction of a unit of work.

    Rows are locked in the order of all writers: session, pages, records, resources.
    """

    unit: UnitOfWork
    bundle: BundleCheck
    session: Session

    def write(self) -> None:
        """Store all rows of the bundle.

        Raises:
            ConflictError: One of the ids or aliases exists already.
            BlobSweptError: A concurrent sweep has removed one of the blobs.
        """
        if not self.unit[SessionRecords].add(self.session):
            raise _make_conflict("session", self.session.session_id)
        for item in self.bundle.file.manifest.session.frontiers:
            frontier = read_frontier(item)
            self.unit[FrontierRecords].put(
                self.session.session_id, frontier, utc_now(), replaces=None
            )
            moves = map(read_move, item.moves)
            self.unit[FrontierMoveRecords].put_all(self.session.session_id, item.name, moves)
        for lines in self.bundle.batches(archive.PAGES, line_types.PAGE_DECODER):
            self._add_pages(lines)
        if self.bundle.prompt is not None:
            unit, session_id = self.unit, self.session.session_id
            unit[SessionPromptRecords].put(session_id, self.bundle.prompt, utc_now())
        for history in self.bundle.batches(archive.HISTORY, line_types.HISTORY_DECODER):
            self._add_history(
                [item for item in history if not isinstance(item, line_types.PromptLine)]
            )
        for interactions in self.bundle.batches(
            archive.INTERACTIONS, line_types.INTERACTION_DECODER
        ):
            stored = [read_interaction(line, self.session.session_id) for line in interactions]
            for existing_id in self.unit[BundleRecords].add_interactions(stored):
                raise _make_conflict("interaction", existing_id)
        self._add_resources()

    def _add_pages(self, lines: Sequence[line_types.PageLine]) -> None:
        """Store pages, their levels, index entries and counters; the lines are oldest first."""
        unit = self.unit
        pages = [read_bundled_page(line) for line in lines]
        numbers = unit[PageRecords].insert_absent([version for _, version in pages])
        for line in lines:
            if line.page_id not in numbers:
                raise _make_conflict("page", line.page_id)
        unit[PageLevelRecords].replace_many({line.page_id: read_levels(line) for line in lines})
        choose_page_index(unit).index_all(
            {
                numbers[version.page_id]: IndexedRecord(
                    self._search_words(page), self.session.session_id, version.fields.modality
                )
                for page, version in pages
            }
        )
        unit[PageAccessRecords].add(
            {
                line.page_id: (line.access_count, line_types.parse_timestamp(line.last_accessed))
                for line in lines
                if line.last_accessed is not None
            }
        )
        for line in lines:
            if line.fetched_resource_id is not None:
                unit[PageRecords].set_fetched(
                    numbers[line.page_id], line.fetched_resource_id, digest=line.digest
                )

    def _add_history(self, batch: Sequence[line_types.HistoryLine]) -> None:
        """Store entries of the history with their records."""
        bundles = self.unit[BundleRecords]
        entries = [Entry(line.seq, ENTRY_KINDS[type(line)], line.id) for line in batch]
        bundles.add_entries(self.session.session_id, entries)
        results = [
            read_tool_result(line, self.session.session_id)
            for line in batch
            if isinstance(line, line_types.ToolResultLine)
        ]
        for existing_id in bundles.add_tool_results(results):
            raise _make_conflict("tool result", existing_id)
        messages = [
            read_message(line, failures=self.bundle.failures.get(line.id, 0))
            for line in batch
            if isinstance(line, line_types.MessageLine | line_types.PageFaultLine)
        ]
        for existing_id in bundles.add_messages(self.session.session_id, messages):
            raise _make_conflict("message", existing_id)

    def _add_resources(self) -> None:
        """Store missing descriptors, their aliases, and the links to them."""
        self.unit[ResourceRecords].ensure_all(self.bundle.resources.values())
        for existing_id in self.unit[AliasRecords].add_all(self.bundle.aliases):
            raise ConflictError(
                f"The alias {existing_id} names another resource in this project already, and an "
                "import replaces nothing. Delete the alias first, or import into another project. "
                "Nothing was stored.",
                code="alias-exists",
            )
        resource_ids = {alias.resource_id for alias in self.bundle.aliases.values()}
        self.unit[AliasRecords].check_count(resource_ids)
        self.unit[BundleRecords].set_entry_sizes(self.session.session_id)
        self.unit[BundleRecords].add_links(self.session.session_id, self.bundle.links)

    def _search_words(self, page: Page) -> SearchWords:
        text = None
        if refers_to_text(page.fields.modality, page.full):
            resource = self.bundle.resources[str(page.full.value).removeprefix("@blob:")]
            chunks = self.bundle.file.chunks(archive.BLOBS + resource.digest)
            text = b"".join(chunks).decode("utf-8", "replace")
        return search_words(searchable_text(page, text))


def _make_conflict(noun: str, existing_id: str) -> ConflictError:
    return ConflictError(
        f"There is a {noun} with the id {existing_id} in this project already, and an import "
        "replaces nothing. Delete the session it belongs to first, or import into another project. "
        "Nothing was stored.",
        code=f"{noun.replace(' ', '-')}-exists",
    )
