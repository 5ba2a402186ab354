"""Bodies that are processed while they arrive. Their long base64 strings become *drafts*.

A draft is a temporary file with the decoded bytes. One piece of a large body is processed while the
next piece arrives, and only the text without base64 is kept in memory. A body of only one piece is
kept in memory, its drafts as well, and short work on it runs in the event loop. All of this memory
is reserved from the budget of the process.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from app.services.concurrency.large_work import LARGE_BYTES, QUICK_BYTES, LargeWork, is_quick
from app.services.memory_budget.request_bodies import UNRESERVED_BYTES, BodyBudget, BodyMemory
from app.services.requests.whole_bodies import size_of, weigh_all
from app.stores.blobs.store import BlobDraft, BlobStore, StoredBlob
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.streams.json_stream import LONG_CHARS, JsonStream

_COPIES = 2


@dataclass(frozen=True, slots=True)
class ReceivedBody:
    """A complete body, whose last piece is not processed yet."""

    json: JsonStream[BlobDraft]
    """The processed pieces."""
    last_piece: list[bytes]
    """The unprocessed_bytes bytes."""
    size_bytes: int
    """The size of the body."""
    memory: BodyMemory
    """The reserved memory."""

    @property
    def bytes_in_memory(self) -> int:
        """The size of the text in memory, without drafts."""
        return self.json.kept_bytes + size_of(self.last_piece)

    @property
    def is_quick(self) -> bool:
        """True if the body is so short that `finish` and parsing can run in the event loop."""
        if self.json.has_data or size_of(self.last_piece) > QUICK_BYTES:
            return False
        self.last_piece[:] = [b"".join(self.last_piece)]
        return is_quick(self.last_piece[0])

    def finish(self) -> JsonStream[BlobDraft]:
        """Process the last piece; return the JSON, in which long strings may be drafts.

        Call it once; in a thread, unless `is_quick` is true. It reserves the memory for processing
        the text.

        Raises:
            OverloadedError: There is not enough free memory.
            PayloadTooLargeError: A string is larger than the limit of media, or there is too much
                text.
            StoreUnavailableError: A draft cannot be written.
        """
        data = b"".join(self.last_piece)
        self.last_piece.clear()
        if self.json.has_data:
            self.json.feed(data)
        else:
            self.json.feed_whole(data)
        self.json.finish()
        self.memory.reserve_work(self.json.kept_bytes)
        return self.json

    def reserve_text(self, text_bytes: int) -> None:
        """Reserve memory for a long string that is processed as text. Call it in a thread.

        Raises:
            OverloadedError: There is not enough free memory.
            PayloadTooLargeError: There is too much text.
        """
        self.memory.reserve_work(text_bytes)


@dataclass(frozen=True, slots=True)
class StreamedBodies:
    """Receives bodies of JSON."""

    blobs: BlobStore
    work: LargeWork
    """Runs work in threads."""
    budget: BodyBudget
    """The memory budget of bodies."""
    limit_bytes: int
    """The maximum size of a medium."""
    piece_bytes: int = LARGE_BYTES
    """The size of a piece. A body up to this size is kept in memory."""
    long_chars: int = LONG_CHARS
    """The minimum length of strings that become drafts."""

    @asynccontextmanager
    async def receive(
        self, project_id: str, chunks: AsyncIterator[bytes]
    ) -> AsyncIterator[ReceivedBody]:
        """Receive a body, and yield it. Uncommitted drafts are discarded after the block.

        The caller limits the size of the body.

        Raises:
            OverloadedError: There is not enough free memory.
            PayloadTooLargeError: A string is larger than the limit of media, or there is too much
                text. The rest of the body is not received.
            StoreUnavailableError: A draft cannot be written.
        """
        memory = BodyMemory(self.budget)
        drafts: list[BlobDraft] = []

        def new_draft() -> BlobDraft:
            if not receiver.is_in_pieces:
                return InMemoryDraft(self.blobs, project_id, limit_bytes=self.limit_bytes)
            drafts.append(self.blobs.draft(project_id, limit_bytes=self.limit_bytes))
            return drafts[-1]

        def keep_text(text_bytes: int) -> None:
            memory.keep_text(text_bytes, _COPIES * self.piece_bytes)

        json = JsonStream(new_draft, keep_text, long_chars=self.long_chars)
        receiver = _BodyReceiver(json, self.work, memory, self.piece_bytes)
        try:
            async with memory.arrival():
                body = await receiver.receive(memory.measure_pace(chunks))
            if body.size_bytes > UNRESERVED_BYTES:
                await weigh_all(body.last_piece, memory, self.work)
                await memory.begin_work(body.bytes_in_memory)
            yield body
        finally:
            with anyio.CancelScope(shield=True):
                await receiver.wait_for_step()
                json.clear()
                try:
                    for draft in drafts:
                        await draft.discard()
                finally:
                    memory.release()


@dataclass(slots=True, eq=False)
class _BodyReceiver:
    """Receives one body, and processes each piece in a task while the next one arrives.

    All pieces have the same size, so that the result does not depend on the chunks of the client.
    """

    json: JsonStream[BlobDraft]
    work: LargeWork
    memory: BodyMemory
    piece_bytes: int
    is_in_pieces: bool = False
    """True once there is more than one piece."""
    _kept_bytes: int = 0
    _step: asyncio.Future[None] | None = None

    async def receive(self, chunks: AsyncIterator[bytes]) -> ReceivedBody:
        """Receive all chunks. All pieces but the last one are processed."""
        piece: list[bytes] = []
        size_bytes = unprocessed_bytes = 0
        async for chunk in chunks:
            piece.append(chunk)
            size_bytes += len(chunk)
            unprocessed_bytes += len(chunk)
            await self._reserve(unprocessed_bytes)
            while unprocessed_bytes > self.piece_bytes:
                unprocessed_bytes -= self.piece_bytes
                rest = piece[-1][len(piece[-1]) - unprocessed_bytes :] if unprocessed_bytes else b""
                piece[-1] = piece[-1][: len(piece[-1]) - unprocessed_bytes]
                await self._start_step(piece)
                piece = [rest]
                await self._reserve(unprocessed_bytes)
        await self._finish_step()
        await self._reserve(unprocessed_bytes)
        return ReceivedBody(self.json, piece, size_bytes, self.memory)

    async def wait_for_step(self) -> None:
        """Wait for the current step, and ignore its result."""
        if self._step is not None:
            await asyncio.gather(self._step, return_exceptions=True)

    async def _reserve(self, piece_bytes: int) -> None:
        if self._kept_bytes + piece_bytes > self.memory.size_bytes:
            await self.memory.keep(self._kept_bytes + piece_bytes)

    async def _start_step(self, piece: list[bytes]) -> None:
        await self._finish_step()
        self.is_in_pieces = True
        # The chunks of the piece, and the bytes to which they are joined.
        self._kept_bytes += _COPIES * self.piece_bytes
        self._step = asyncio.ensure_future(self.work.run(self.piece_bytes, self._feed, piece))

    async def _finish_step(self) -> None:
        if self._step is not None:
            # If the caller is cancelled, the step goes on, and `wait_for_step` waits for it.
            await asyncio.shield(self._step)
            self._step = None
            self._kept_bytes = self.json.kept_bytes
            self.memory.check_text(self._kept_bytes)

    def _feed(self, piece: list[bytes]) -> None:
        data = b"".join(piece)
        piece.clear()
        self.memory.weigh(data)
        self.json.feed(data)


@dataclass(slots=True, eq=False)
class InMemoryDraft:
    """A `BlobDraft` in memory. Nothing is written before `commit`."""

    blobs: BlobStore
    """Stores the bytes on `commit`."""
    project_id: str
    """The project of the blob."""
    limit_bytes: int
    """The maximum size of the blob, which `commit` checks."""
    size_bytes: int = field(init=False, default=0)
    """See `BlobDraft.size_bytes`."""
    _pieces: list[bytes] = field(init=False, default_factory=list)
    _digest: str | None = field(init=False, default=None)
    _blob: StoredBlob | None = field(init=False, default=None)

    def digest(self) -> str:
        """See `BlobDraft.digest`; nothing is appended afterwards."""
        if self._digest is None:
            self._digest = hashlib.sha256(self._join()).hexdigest()
        return self._digest

    def append(self, data: bytes) -> None:
        """See `BlobDraft.append`."""
        self._pieces.append(data)
        self.size_bytes += len(data)

    def release(self) -> None:
        """See `BlobDraft.release`."""

    def read(self, start: int, size_bytes: int) -> bytes:
        """See `BlobDraft.read`."""
        return self._join()[start : start + size_bytes]

    async def commit(self) -> StoredBlob:
        """See `BlobDraft.commit`."""
        if self._blob is None:
            media = InMemoryMedia(self._join())
            self._blob = await self.blobs.put(self.project_id, media, limit_bytes=self.limit_bytes)
        return self._blob

    async def discard(self) -> None:
        """See `BlobDraft.discard`."""

    def _join(self) -> bytes:
        if len(self._pieces) != 1:
            self._pieces[:] = [b"".join(self._pieces)]
        return self._pieces[0]
