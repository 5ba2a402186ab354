"""Bodies taken in while they arrive, with their long base64 strings in drafts.

One piece of a large body is worked on while the next one is on its way, and no more of it is in
memory but what is no base64. A body of one piece is in memory as a whole, its drafts as well, and
what is quick is worked on in the event loop. What all that takes comes out of the budget of the
process.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from app.services.concurrency.large_work import LARGE_BYTES, QUICK_BYTES, LargeWork, is_quick
from app.services.memory_budget.request_bodies import (
    FREE_BYTES,
    QUICKLY_WEIGHED_BYTES,
    BodyBudget,
    BodyMemory,
)
from app.services.requests.json_stream import LONG_CHARS, JsonStream
from app.services.requests.memory_drafts import HeldDraft
from app.stores.blobs import BlobDraft, BlobStore

_COPIES = 2


class ReceivedBody:
    """A whole body, of which the last piece is still to be worked on.

    Args:
        json: What was worked on.
        last_piece: What was not.
        size_bytes: The size of the whole.
        memory: What it holds.
    """

    def __init__(
        self, json: JsonStream, last_piece: list[bytes], size_bytes: int, memory: BodyMemory
    ) -> None:
        self._json = json
        self._last_piece = last_piece
        self._memory = memory
        self.size_bytes = size_bytes

    @property
    def bytes_in_memory(self) -> int:
        """How much there is to parse, without what is in drafts."""
        return self._json.kept_bytes + self.bytes_in_last_piece

    @property
    def bytes_in_last_piece(self) -> int:
        """How much is still to be worked on."""
        return sum(map(len, self._last_piece))

    @property
    def is_quick(self) -> bool:
        """Whether the event loop can do what is done with its text: `finish`, parsing and more."""
        if self._json.is_begun or self.bytes_in_last_piece > QUICK_BYTES:
            return False
        self._last_piece[:] = [b"".join(self._last_piece)]
        return is_quick(self._last_piece[0])

    def weigh(self) -> None:
        """Look at the last piece. Blocks; once, before `finish`."""
        for data in self._last_piece:
            self._memory.weigh(data)

    def finish(self) -> JsonStream:
        """Its JSON, in which long strings may be drafts. Blocks unless it is quick; once.

        What working on its text takes is held from now on.

        Raises:
            OverloadedError: The memory that it takes is not free now.
            PayloadTooLargeError: A string is larger than a medium may be, or it is too much text.
            StoreUnavailableError: It cannot be kept.
        """
        data = b"".join(self._last_piece)
        self._last_piece.clear()
        if self._json.is_begun:
            self._json.feed(data)
        else:
            self._json.take(data)
        self._json.finish()
        self._memory.hold_work(self._json.kept_bytes)
        return self._json

    def hold_text(self, text_bytes: int) -> None:
        """Hold what a long string takes that is worked on as text after all. Blocks.

        Raises:
            OverloadedError: That is not free now.
            PayloadTooLargeError: It is too much text.
        """
        self._memory.hold_work(text_bytes)


class StreamedBodies:
    """Takes bodies of JSON in.

    Args:
        blobs: Where drafts are.
        work: Keeps what is done at once in bounds.
        budget: What bodies take their memory from.
        limit_bytes: The largest medium taken.
        piece_bytes: How much of a body is worked on at once; one of no more is kept in memory.
        long_chars: From where on strings become drafts.
    """

    def __init__(
        self,
        blobs: BlobStore,
        work: LargeWork,
        budget: BodyBudget,
        *,
        limit_bytes: int,
        piece_bytes: int = LARGE_BYTES,
        long_chars: int = LONG_CHARS,
    ) -> None:
        self._blobs = blobs
        self._work = work
        self._budget = budget
        self._limit_bytes = limit_bytes
        self._piece_bytes = piece_bytes
        self._long_chars = long_chars

    @asynccontextmanager
    async def received(
        self, project_id: str, chunks: AsyncIterator[bytes]
    ) -> AsyncIterator[ReceivedBody]:
        """The body, as long as the block lasts; drafts that are not committed then are gone.

        How many bytes may come is for whoever gives the chunks to limit.

        Raises:
            OverloadedError: The memory that it takes is not free now.
            PayloadTooLargeError: A string is larger than a medium may be, or there is too much
                text; known before the rest of the body is there.
            StoreUnavailableError: It cannot be kept.
        """
        memory = BodyMemory(self._budget)
        drafts: list[BlobDraft] = []

        def new_draft() -> BlobDraft:
            if not receiving.is_in_pieces:
                return HeldDraft(self._blobs, project_id, limit_bytes=self._limit_bytes)
            drafts.append(self._blobs.draft(project_id, limit_bytes=self._limit_bytes))
            return drafts[-1]

        def keep_text(text_bytes: int) -> None:
            memory.keep_text(text_bytes, _COPIES * self._piece_bytes)

        json = JsonStream(new_draft, keep_text, long_chars=self._long_chars)
        receiving = _Receiving(json, self._work, memory, self._piece_bytes)
        try:
            async with memory.arrival():
                body = await receiving.body(memory.paced(chunks))
            if body.size_bytes > FREE_BYTES:
                if body.bytes_in_last_piece <= QUICKLY_WEIGHED_BYTES:
                    body.weigh()
                else:
                    await self._work.run(body.bytes_in_last_piece, body.weigh)
                await memory.begin_work(body.bytes_in_memory)
            yield body
        finally:
            with anyio.CancelScope(shield=True):
                await receiving.rest()
                try:
                    for draft in drafts:
                        await draft.discard()
                finally:
                    memory.release()


class _Receiving:
    """One body on its way. The step that is under way has a task of its own.

    Pieces have one size, so that what comes of a body does not depend on how it was sent.
    """

    def __init__(
        self, json: JsonStream, work: LargeWork, memory: BodyMemory, piece_bytes: int
    ) -> None:
        self._json = json
        self._work = work
        self._memory = memory
        self._piece_bytes = piece_bytes
        self._kept_bytes = 0
        self._step: asyncio.Future[None] | None = None
        self.is_in_pieces = False
        """Whether there is more than one piece, as far as is known."""

    async def body(self, chunks: AsyncIterator[bytes]) -> ReceivedBody:
        piece: list[bytes] = []
        size_bytes = waiting = 0
        async for chunk in chunks:
            piece.append(chunk)
            size_bytes += len(chunk)
            waiting += len(chunk)
            await self._hold(waiting)
            while waiting > self._piece_bytes:
                waiting -= self._piece_bytes
                rest = piece[-1][len(piece[-1]) - waiting :] if waiting else b""
                piece[-1] = piece[-1][: len(piece[-1]) - waiting]
                await self._begin(piece)
                piece = [rest]
                await self._hold(waiting)
        await self._ended()
        await self._hold(waiting)
        return ReceivedBody(self._json, piece, size_bytes, self._memory)

    async def rest(self) -> None:
        """Wait for the step that is under way, whatever comes of it."""
        if self._step is not None:
            await asyncio.gather(self._step, return_exceptions=True)

    async def _hold(self, waiting: int) -> None:
        if self._kept_bytes + waiting > self._memory.size_bytes:
            await self._memory.keep(self._kept_bytes + waiting)

    async def _begin(self, piece: list[bytes]) -> None:
        await self._ended()
        self.is_in_pieces = True
        # Both the pieces that arrived and the one that they are joined to.
        self._kept_bytes += _COPIES * self._piece_bytes
        self._step = asyncio.ensure_future(self._work.run(self._piece_bytes, self._feed, piece))

    async def _ended(self) -> None:
        if self._step is not None:
            # A cancelled caller goes on at once; `rest` waits.
            await asyncio.shield(self._step)
            self._step = None
            self._kept_bytes = self._json.kept_bytes
            self._memory.check_text(self._kept_bytes)

    def _feed(self, piece: list[bytes]) -> None:
        data = b"".join(piece)
        piece.clear()
        self._memory.weigh(data)
        self._json.feed(data)
