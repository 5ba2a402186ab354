"""The content of a resource as a file of the standard library."""

# `_async/content_files.py` is written by hand as well.
import io
from typing import TYPE_CHECKING, TypeAlias

from pagefault_client._sync.content import Content
from pagefault_client.models import ResourceDescriptor

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

OpenedContent: TypeAlias = io.BufferedReader


class ContentFile(io.RawIOBase):
    """A resource as a seekable, read-only, binary file.

    It can be passed to `io.BufferedReader`, `io.TextIOWrapper`, `zipfile.ZipFile`,
    `PIL.Image.open`, `pandas.read_csv` and other readers of files.

    Attributes:
        name: The filename of the resource, or its URI.
        descriptor: The type, name, size and digest of the resource.
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
        """Read bytes into a buffer, and return their number; 0 at the end."""
        self._check_open()
        view = memoryview(buffer).cast("B")
        piece = self._content.read(len(view))
        view[: len(piece)] = piece
        return len(piece)

    def readall(self) -> bytes:
        """Read and return the remaining bytes."""
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


def open_content(content: Content) -> io.BufferedReader:
    """Return the content as a buffered file."""
    return io.BufferedReader(ContentFile(content))
