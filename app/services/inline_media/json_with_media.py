"""Bodies of responses with stored media, which are read from the blob store while they are sent."""

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
    """The body of a response: JSON text with stored files, which are read while it is sent."""

    blobs: BlobStore
    project_id: str
    """The project of the files."""
    rendering: Rendering
    """The text and the files in it."""
    memory: ResponseMemory | None = None
    """The memory that was reserved for the text, to release when the text is sent."""
    on_delivery: Callable[[], None] | None = None
    """Called when the body is sent. It is not called for a `304 Not Modified`."""

    def record_delivery(self) -> None:
        """Call `on_delivery`."""
        if self.on_delivery is not None:
            self.on_delivery()

    async def check(self) -> Self:
        """Check that all files exist before anything is sent; return this body.

        Raises:
            StoreUnavailableError: A file is missing, or its size has changed.
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
        """Yield all bytes of the body in order.

        Raises:
            StoreUnavailableError: A file cannot be read, or its size has changed.
        """
        for piece in self.rendering.pieces:
            if isinstance(piece, bytes):
                yield piece
                continue
            async with aclosing(self._encode_file(piece)) as encoded:
                async for chunk in encoded:
                    yield chunk

    async def _encode_file(
        self, piece: MediaPiece | StoredTextPiece
    ) -> AsyncGenerator[bytes, None]:
        writer: StringWriter
        if isinstance(piece, MediaPiece):
            writer = Base64Writer(is_urlsafe=piece.is_urlsafe, is_padded=piece.is_padded)
        else:
            writer = TextWriter("utf-8" if piece.is_verbatim else None)
        opened: BlobReader = await self.blobs.open(self.project_id, piece.digest)
        remaining = piece.size_bytes
        async with aclosing(opened) as reader:
            async for read in reader:
                remaining -= len(read)
                for chunk in writer.feed(read):
                    yield chunk
        if remaining:
            # The `Content-Length` is sent already, so the response has to fail.
            raise StoreUnavailableError(_STORE)
        if rest := writer.finish():
            yield rest
