"""JSON text with stored media in it, which are read from the store while it is sent."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Self

from app.errors import StoreUnavailableError
from app.services.memory_budget.responses import ResponseMemory
from app.stores.blobs.store import BlobMissingError, BlobReader, BlobStore
from pagefault_dialects.model.render_options import MediaPiece, Rendering, StoredTextPiece
from pagefault_dialects.texts.json_strings import Base64Writer, StringWriter, TextWriter

_STORE = "blob store"


@dataclass(frozen=True, slots=True)
class RenderedBody:
    """The bytes of one answer; holds a piece of one file, and some of what is written of it."""

    blobs: BlobStore
    """Where the files are."""
    project_id: str
    """Whose they are."""
    rendering: Rendering
    """What is to be sent."""
    held: ResponseMemory | None = None
    """What was taken for its text, if anything; to be released when it is sent."""
    given: Callable[[], None] | None = None
    """Called once somebody is given it, and not only told that it has not changed."""

    def give(self) -> None:
        """Note that somebody is given it."""
        if self.given is not None:
            self.given()

    async def check(self) -> Self:
        """Make sure that all files are there before anything is sent; return this body.

        Raises:
            StoreUnavailableError: One is not, or has not the size it had.
        """
        expected = {
            (piece.digest, piece.size_bytes)
            for piece in self.rendering.pieces
            if not isinstance(piece, bytes)
        }
        if not expected:
            return self
        sizes = await self.blobs.sizes(self.project_id, {digest for digest, _ in expected})
        for digest, size_bytes in expected:
            if digest not in sizes:
                raise BlobMissingError
            if sizes[digest] != size_bytes:
                raise StoreUnavailableError(_STORE)
        return self

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield all of it, in order.

        Raises:
            StoreUnavailableError: A file cannot be read, or has not the bytes it had.
        """
        for piece in self.rendering.pieces:
            if isinstance(piece, bytes):
                yield piece
                continue
            async with aclosing(self._written(piece)) as written:
                async for chunk in written:
                    yield chunk

    async def _written(self, piece: MediaPiece | StoredTextPiece) -> AsyncGenerator[bytes, None]:
        writer: StringWriter
        if isinstance(piece, MediaPiece):
            writer = Base64Writer(is_urlsafe=piece.is_urlsafe, is_padded=piece.is_padded)
        else:
            writer = TextWriter("utf-8" if piece.is_verbatim else None)
        opened: BlobReader = await self.blobs.open(self.project_id, piece.digest)
        left = piece.size_bytes
        async with aclosing(opened) as reader:
            async for read in reader:
                left -= len(read)
                for chunk in writer.feed(read):
                    yield chunk
        if left:
            # The length was announced: a body of another one must not pass for whole.
            raise StoreUnavailableError(_STORE)
        if rest := writer.finish():
            yield rest
