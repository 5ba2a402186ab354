"""Forks: sessions that begin as a copy of the first entries of another session.

A fork is copied in one transaction, so it is never visible in part. Up to 10,000 entries are copied
while the client waits. Longer forks are copied in the background, one after the other, and do not
exist for other requests until they are complete. If a restart interrupts a copy, the same request
starts the copy again.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import structlog

from app.errors import OverloadedError
from app.models.session import ForkOrigin
from app.services.concurrency.background import log_failures
from app.services.sessions.fork_copies import find_origin, fork_exists_error, write_fork
from app.services.sessions.sessions import SessionWithUse, find_uses
from app.stores.records.records import Records
from app.stores.records.session_copies import HistoryBeginning, SessionCopyRecords
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork

_log = structlog.get_logger(__name__)
_MAX_DIRECT_ENTRIES = 10_000
_MAX_DIRECT_BYTES = 128 * 1024 * 1024
MAX_PENDING = 4
"""The maximum number of long forks in the background. Each blocks other writers for seconds."""


@dataclass(frozen=True, slots=True)
class PendingSession:
    """A fork that is being copied in the background."""

    fork_id: str
    origin: ForkOrigin
    entries: int
    """The number of entries to copy."""


@dataclass(frozen=True, slots=True, eq=False)
class SessionForks:
    """Creates forks of sessions."""

    records: Records
    _pending: dict[tuple[str, str], PendingSession] = field(init=False, default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(init=False, default_factory=set)
    _slot: anyio.CapacityLimiter = field(
        init=False, default_factory=lambda: anyio.CapacityLimiter(1)
    )

    async def fork(
        self, project_id: str, session_id: str, *, up_to: int, fork_id: str
    ) -> SessionWithUse | PendingSession:
        """Create a session with the entries of another session up to the entry `up_to`.

        Returns:
            The session with its storage use, or the pending fork if the copy takes long.

        Raises:
            NotFoundError: The session to be copied does not exist.
            InvalidPayloadError: That session has no entry `up_to`.
            ConflictError: Another session has the id `fork_id`.
            OverloadedError: `MAX_PENDING` long forks are not complete yet.
            StoreUnavailableError: The database did not respond; nothing was stored.
        """
        if (pending := self._find_pending(project_id, session_id, up_to, fork_id)) is not None:
            return pending

        def measure(unit: UnitOfWork) -> HistoryBeginning:
            find_origin(unit, session_id, up_to)
            return unit[SessionCopyRecords].measure(session_id, up_to)

        beginning = await self.records.read(project_id, measure)
        is_long = (
            beginning.entries > _MAX_DIRECT_ENTRIES or beginning.size_bytes > _MAX_DIRECT_BYTES
        )
        if is_long:
            existing: SessionWithUse | PendingSession | None = await self.records.read(
                project_id, lambda unit: _find_existing(unit, session_id, up_to, fork_id)
            )
            # An equal request may have started the copy during the reads.
            existing = existing or self._find_pending(project_id, session_id, up_to, fork_id)
            return existing or self._start_copy(
                project_id, session_id, up_to, fork_id, beginning.entries
            )
        return await self._write(project_id, session_id, up_to, fork_id)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Wait at the end of the block until the copies in the background are complete."""
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                while self._tasks:
                    await asyncio.wait(self._tasks)

    def _find_pending(
        self, project_id: str, session_id: str, up_to: int, fork_id: str
    ) -> PendingSession | None:
        """Return the fork if it is being copied in the background.

        Raises:
            ConflictError: Another fork with its id is being copied.
        """
        pending = self._pending.get((project_id, fork_id))
        if pending is None or pending.origin == ForkOrigin(session_id, up_to):
            return pending
        raise fork_exists_error(fork_id)

    async def _write(
        self, project_id: str, session_id: str, up_to: int, fork_id: str
    ) -> SessionWithUse:
        def write(unit: UnitOfWork) -> SessionWithUse:
            if (existing := _find_existing(unit, session_id, up_to, fork_id)) is not None:
                return existing
            session = write_fork(unit, session_id, up_to, fork_id)
            return SessionWithUse(session, find_uses(unit, [fork_id])[fork_id], is_new=True)

        return await self.records.write(project_id, write, is_alone=True)

    def _start_copy(
        self, project_id: str, session_id: str, up_to: int, fork_id: str, entries: int
    ) -> PendingSession:
        """Start to copy a fork in the background."""
        if len(self._pending) >= MAX_PENDING:
            raise OverloadedError
        key = (project_id, fork_id)
        pending = PendingSession(fork_id, ForkOrigin(session_id, up_to), entries)

        async def copy() -> None:
            try:
                with log_failures(_log, "session not forked"):
                    async with self._slot:
                        await self._write(project_id, session_id, up_to, fork_id)
            finally:
                del self._pending[key]

        self._pending[key] = pending
        task = asyncio.create_task(copy())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return pending


def _find_existing(
    unit: UnitOfWork, session_id: str, up_to: int, fork_id: str
) -> SessionWithUse | None:
    """Return the session with the id `fork_id`, if an earlier request has created this fork.

    Raises:
        ConflictError: The session with that id is not this fork.
        NotFoundError, InvalidPayloadError: See `find_origin`.
    """
    origin = find_origin(unit, session_id, up_to)
    session = unit[SessionRecords].find(fork_id)
    if session is None:
        return None
    if session.forked_from != origin:
        raise fork_exists_error(fork_id)
    return SessionWithUse(session, find_uses(unit, [fork_id])[fork_id])
