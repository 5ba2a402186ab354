"""Bodies of responses in which stored media are inserted while they are sent.

So the media of a rendering are never in memory as a whole.
"""

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
    """The body of a response: JSON with stored files, which are read while the body is sent."""

    blobs: BlobStore
    project_id: str
    """The project of the files."""
    rendering: Rendering
    """The pieces of the body: JSON text, and references to files."""
    memory: ResponseMemory | None = None
    """The memory that was reserved for the text. The sender releases it."""
    on_delivery: Callable[[], None] | None = None
    """Called once the body has been sent. It is not called for a `304 Not Modified`."""

    def record_delivery(self) -> None:
        """Call `on_delivery`, if there is one."""
        if self.on_delivery is not None:
            self.on_delivery()

    async def check(self) -> Self:
        """Check that all files exist, and return this body. Call this before the body is sent.

        Raises:
            StoreUnavailableError: A file is missing, or its size has changed.
        """
        files = {
            (piece.digest, piece.size_bytes)
            for piece in self.rendering.pieces
            if not isinstance(piece, bytes)
        }
        if not files:
            return self
        sizes = await self.blobs.sizes(self.project_id, {digest for digest, _ in files})
        for digest, size_bytes in files:
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
        """Yield a file as a part of a JSON string: media in base64, texts with JSON escapes.

        Raises:
            StoreUnavailableError: The file cannot be read, or its size has changed.
        """
        writer: StringWriter
        if isinstance(piece, MediaPiece):
            writer = Base64Writer(is_urlsafe=piece.is_urlsafe, is_padded=piece.is_padded)
        else:
            writer = TextWriter("utf-8" if piece.is_verbatim else None)
        remaining_bytes = piece.size_bytes
        blob: BlobReader = await self.blobs.open(self.project_id, piece.digest)
        async with aclosing(blob) as reader:
            async for data in reader:
                remaining_bytes -= len(data)
                for chunk in writer.feed(data):
                    yield chunk
        if remaining_bytes:
            # The `Content-Length` was sent already, so the response has to fail.
            raise StoreUnavailableError(_STORE)
        if rest := writer.finish():
            yield rest
