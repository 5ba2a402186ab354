"""Receives bodies of JSON, and processes them while they arrive.

Long base64 strings are decoded into temporary files, called *drafts*; only the other text is kept
in memory. A large body is divided into pieces of 1 MiB: one piece is processed while the next piece
arrives. A body of only one piece stays in memory as a whole, with its drafts. All of this memory is
reserved in the memory budget of the process.
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

# A piece is in memory twice while it is processed: as the chunks of the client, and joined.
_PIECE_COPIES = 2


@dataclass(frozen=True, slots=True)
class ReceivedBody:
    """A complete body, whose last piece is not processed yet."""

    json: JsonStream[BlobDraft]
    """The processed pieces."""
    last_piece: list[bytes]
    """The chunks of the last piece."""
    size_bytes: int
    """The size of the body."""
    memory: BodyMemory
    """The memory that is reserved for the body."""

    @property
    def bytes_in_memory(self) -> int:
        """The size of the text that is kept in memory, without drafts."""
        return self.json.kept_bytes + size_of(self.last_piece)

    @property
    def is_quick(self) -> bool:
        """True if the body is so short that `finish` and parsing can run in the event loop."""
        if self.json.has_data or size_of(self.last_piece) > QUICK_BYTES:
            return False
        self.last_piece[:] = [b"".join(self.last_piece)]
        return is_quick(self.last_piece[0])

    def finish(self) -> JsonStream[BlobDraft]:
        """Process the last piece, and reserve the memory for processing the text.

        Call this once, in a thread unless `is_quick` is true.

        Returns:
            The JSON, in which long strings may be drafts.

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
        """Reserve memory for a long string that turned out to be a text. Call this in a thread.

        Raises:
            OverloadedError: There is not enough free memory.
            PayloadTooLargeError: There is too much text.
        """
        self.memory.reserve_work(text_bytes)


@dataclass(frozen=True, slots=True)
class StreamedBodies:
    """Receives bodies of JSON."""

    blobs: BlobStore
    """Stores drafts."""
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
        """Receive a body, and yield it. Drafts that were not committed are discarded at the end.

        Args:
            project_id: The project of the drafts.
            chunks: The body. The caller limits its size.

        Raises:
            OverloadedError: There is not enough free memory.
            PayloadTooLargeError: A string is larger than the limit of media, or there is too much
                text. The rest of the body is not received.
            StoreUnavailableError: A draft cannot be written.
        """
        memory = BodyMemory(self.budget)
        drafts: list[BlobDraft] = []

        def create_draft() -> BlobDraft:
            if not receiver.has_several_pieces:
                return InMemoryDraft(self.blobs, project_id, limit_bytes=self.limit_bytes)
            drafts.append(self.blobs.draft(project_id, limit_bytes=self.limit_bytes))
            return drafts[-1]

        def keep_text(text_bytes: int) -> None:
            memory.keep_text(text_bytes, _PIECE_COPIES * self.piece_bytes)

        json = JsonStream(create_draft, keep_text, long_chars=self.long_chars)
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
    """Receives one body, and processes each piece in a task while the next piece arrives.

    All pieces except the last one have the same size, so that the result does not depend on the
    chunks of the client. The processing of a piece is called a *step*.
    """

    json: JsonStream[BlobDraft]
    work: LargeWork
    memory: BodyMemory
    piece_bytes: int
    has_several_pieces: bool = False
    """True if the body is larger than one piece."""
    _kept_bytes: int = 0
    """The number of bytes in memory, without the piece that arrives."""
    _step: asyncio.Future[None] | None = None

    async def receive(self, chunks: AsyncIterator[bytes]) -> ReceivedBody:
        """Receive all chunks, and process all pieces except the last one."""
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
        """Reserve memory for the bytes that are kept, and for the piece that arrives."""
        if self._kept_bytes + piece_bytes > self.memory.size_bytes:
            await self.memory.keep(self._kept_bytes + piece_bytes)

    async def _start_step(self, piece: list[bytes]) -> None:
        """Process a piece in a task, after the piece before it."""
        await self._finish_step()
        self.has_several_pieces = True
        self._kept_bytes += _PIECE_COPIES * self.piece_bytes
        self._step = asyncio.ensure_future(self.work.run(self.piece_bytes, self._feed, piece))

    async def _finish_step(self) -> None:
        """Wait for the current step, and raise its error."""
        if self._step is not None:
            # If the caller is cancelled, the step goes on, and `wait_for_step` waits for it.
            await asyncio.shield(self._step)
            self._step = None
            self._kept_bytes = self.json.kept_bytes
            self.memory.check_text(self._kept_bytes)

    def _feed(self, piece: list[bytes]) -> None:
        """Process a piece, in a thread. The list is emptied, to free the chunks."""
        data = b"".join(piece)
        piece.clear()
        self.memory.weigh(data)
        self.json.feed(data)


@dataclass(slots=True, eq=False)
class InMemoryDraft:
    """A `BlobDraft` in memory, which is not written before `commit`."""

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
        """See `BlobDraft.digest`. Do not append bytes after this call."""
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
