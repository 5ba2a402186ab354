"""A random-access file reader with limits.

The number of bytes, reads and steps of one check is limited, so that the check ends soon and does
not read a whole video. The limits do not depend on the store, so the same bytes always have the
same result. A file that exceeds a limit is not checked.
"""

from collections.abc import Callable

_FIRST_READ_BYTES = 64 * 1024
_NEXT_READ_BYTES = 1024 * 1024
_MAX_BYTES = 64 * 1024 * 1024
_MAX_READS = 256
_MAX_STEPS = 100_000


class TooComplexError(Exception):
    """The check exceeds a limit of the reader."""


class DamagedError(Exception):
    """The file is damaged; the message completes "The file is damaged: …"."""


class BoundedReader:
    """A reader of a file for one check.

    Args:
        read_at: A function of a position and a number of bytes, which returns these bytes of the
            file. It is never called beyond the end.
        size_bytes: The size of the file.

    Raises:
        EOFError: By reading, if the store returns fewer bytes than the file has.
    """

    def __init__(self, read_at: Callable[[int, int], bytes], size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._read_at = read_at
        self._start = 0
        self._buffer = memoryview(b"")
        self._bytes_left = _MAX_BYTES
        self._reads_left = _MAX_READS
        self._steps_left = _MAX_STEPS

    def count_step(self, count: int = 1) -> None:
        """Count a step from one structure of the file to the next.

        Raises:
            TooComplexError: The limit of steps is exceeded.
        """
        self._steps_left -= count
        if self._steps_left < 0:
            raise TooComplexError

    def read(self, start: int, size_bytes: int) -> bytes:
        """Return `size_bytes` bytes from a position, fewer only at the end of the file.

        Raises:
            TooComplexError: The limit of reads or bytes is exceeded.
        """
        offset = start - self._start
        if offset < 0 or offset + size_bytes > len(self._buffer):
            self._fill_buffer(start, size_bytes)
            offset = 0
        return bytes(self._buffer[offset : offset + size_bytes])

    def read_buffered(self, start: int) -> memoryview:
        """Return buffered bytes from a position on; empty only at the end of the file.

        Raises:
            TooComplexError: The limit of reads or bytes is exceeded.
        """
        offset = start - self._start
        if not 0 <= offset < len(self._buffer):
            self._fill_buffer(start, 1)
            offset = 0
        return self._buffer[offset:]

    def _fill_buffer(self, start: int, size_bytes: int) -> None:
        end = self._start + len(self._buffer)
        is_sequential = bool(self._buffer) and self._start <= start <= end
        ahead = _NEXT_READ_BYTES if is_sequential else _FIRST_READ_BYTES
        size = max(0, min(self.size_bytes - start, max(size_bytes, ahead)))
        if size:
            self._reads_left -= 1
            self._bytes_left -= size
            if self._reads_left < 0 or self._bytes_left < 0:
                raise TooComplexError
        self._buffer = memoryview(self._read_at(start, size) if size else b"")
        self._start = start
        if len(self._buffer) != size:
            # Not a `DamagedError`: the store failed, and the file may be intact.
            msg = "The store returned fewer bytes than the file has."
            raise EOFError(msg)
