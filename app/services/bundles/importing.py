"""Import a session: spool its bundle, check it, store its blobs, then its rows together."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import TypeVar

import anyio
import anyio.to_thread

from app.models.event import NewEvent
from app.models.identity import utc_now
from app.models.limits import Limits
from app.models.message import Session, SessionUse
from app.services.bundles.archive import BLOBS
from app.services.bundles.checking import BundleCheck, CheckedBundle
from app.services.bundles.reading import BundleFile, read_bundle
from app.services.bundles.temporary_files import spool
from app.services.bundles.writing import BundleWriter
from app.services.concurrency.background import run_to_completion
from app.services.quotas.stored_bytes import StoredBytes
from app.services.sessions.sessions import ShownSession
from app.stores.blobs import BlobStore
from app.stores.records import Records, UnitOfWork
from app.wire.sessions import imported_entries

_BUNDLES_AT_ONCE = 2
_BLOBS_AT_ONCE = 8

_Item = TypeVar("_Item")


class BundleImports:
    """Imports of bundles."""

    def __init__(
        self,
        records: Records,
        blobs: BlobStore,
        limits: Limits,
        stored_bytes: StoredBytes | None = None,
    ) -> None:
        self._stored_bytes = stored_bytes
        self._records = records
        self._blobs = blobs
        self._limits = limits
        # A check takes a processor, and some memory for each line.
        self._limiter = anyio.CapacityLimiter(_BUNDLES_AT_ONCE)

    async def import_session(self, project_id: str, chunks: AsyncIterator[bytes]) -> ShownSession:
        """Store the session in a bundle, with the ids it has, all of it or nothing.

        Args:
            project_id: The caller's project.
            chunks: The bytes of the bundle, within the caller's limit.

        Raises:
            InvalidBundleError: It is damaged, or no bundle; nothing is visible.
            ConflictError: The session, a page or a record of it is there already.
            StoredBytesQuotaError: The project has no room for its blobs.
            StoreUnavailableError: A store did not answer; nothing is visible, send it again.
        """
        async with spool(chunks) as file, self._limiter:
            bundle = await anyio.to_thread.run_sync(read_bundle, file, self._limits.bundle_bytes)
            check = BundleCheck(bundle, project_id, self._limits)
            checked = await anyio.to_thread.run_sync(check.run)
            if self._stored_bytes is not None:
                # Before any of them is put: those that still fit would stay until a sweep.
                await self._stored_bytes.check_room_for(project_id, bundle.blobs)
            await self._put_blobs(project_id, bundle)
            # To its end: it reads the file, which is closed behind it.
            use = await run_to_completion(self._commit(project_id, checked))
        return ShownSession(checked.session, use, is_new=True)

    async def _put_blobs(self, project_id: str, bundle: BundleFile) -> None:
        blobs = iter(bundle.blobs.items())
        while batch := list(islice(blobs, _BLOBS_AT_ONCE)):
            puts = (self._put(project_id, bundle, *each_blob) for each_blob in batch)
            for outcome in await asyncio.gather(*puts, return_exceptions=True):
                if outcome is not None:
                    raise outcome

    async def _put(self, project_id: str, bundle: BundleFile, digest: str, size_bytes: int) -> None:
        async with self._blobs.writer(project_id, limit_bytes=size_bytes) as writer:
            async for chunk in iterate_in_threads(bundle.chunks(BLOBS + digest)):
                await writer.write(chunk)
            await writer.commit(digest)

    async def _commit(self, project_id: str, checked: CheckedBundle) -> SessionUse:
        def write(unit: UnitOfWork) -> SessionUse:
            BundleWriter(unit, checked).write()
            session_id = checked.session.session_id
            unit.events.note(_event(checked.session))
            return unit.session_resources.use_of([session_id])[session_id]

        return await self._records.write(project_id, write, is_alone=True)


def _event(session: Session) -> NewEvent:
    """Return the event of an import, one for the session: its parts are older than the log."""
    return NewEvent(
        "session:imported",
        session.session_id,
        utc_now(),
        session_id=session.session_id,
        seq=session.last_seq,
        members={"imported": imported_entries(session.counts).as_value()},
    )


async def iterate_in_threads(items: Iterator[_Item]) -> AsyncIterator[_Item]:
    """Yield the items of an iterator that blocks, fetching each in a worker thread."""

    def step() -> list[_Item]:
        return [item for item in [next(items, None)] if item is not None]

    while got := await anyio.to_thread.run_sync(step):
        yield got[0]
