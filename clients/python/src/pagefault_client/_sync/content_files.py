"""Content as a file of the standard library."""

# `_async/content_files.py` is written by hand, too.
import io
from typing import TYPE_CHECKING, TypeAlias

from pagefault_client._sync.reading import Content
from pagefault_client.models import ResourceDescriptor

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

OpenedContent: TypeAlias = io.BufferedReader


class ContentFile(io.RawIOBase):
    """A resource as a seekable, read-only, binary file.

    `io.BufferedReader` and `io.TextIOWrapper` take it, and so does what reads files: `zipfile`,
    `PIL.Image.open`, `pandas.read_csv`, `pypdf`.

    Attributes:
        name: The name that the resource was stored under, or its URI.
        descriptor: What the resource is.
    """

    def __init__(self, content: Content) -> None:
        super().__init__()
        self._content = content
        self.descriptor: ResourceDescriptor = content.descriptor
        self.name: str = content.descriptor.get("filename") or content.descriptor["uri"]
        self.mode = "rb"

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Fill a buffer, and return how many bytes are in it; 0 at the end."""
        self._check_open()
        view = memoryview(buffer).cast("B")
        piece = self._content.read(len(view))
        view[: len(piece)] = piece
        return len(piece)

    def readall(self) -> bytes:
        """Return all that follows."""
        self._check_open()
        return self._content.read()

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move the position, and return it."""
        self._check_open()
        return self._content.seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
        return self._content.tell()

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")


def opened(content: Content) -> io.BufferedReader:
    """Return content as a file."""
    return io.BufferedReader(ContentFile(content))
