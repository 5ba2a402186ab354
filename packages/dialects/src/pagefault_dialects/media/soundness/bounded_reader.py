"""A bounded random-access reader of files.

Bytes, reads and steps are limited, so that no file blocks a thread and no video is read twice. The
limits do not depend on where the bytes are stored, so the same bytes always give the same result.
Files beyond them are not checked.
"""

from collections.abc import Callable

_FIRST_READ_BYTES = 64 * 1024
_NEXT_READ_BYTES = 1024 * 1024
_MOST_BYTES = 64 * 1024 * 1024
_MOST_READS = 256
_MOST_STEPS = 100_000


class TooComplexError(Exception):
    """The file needs more steps or reads than allowed."""


class DamagedError(Exception):
    """The file is damaged; the message says how, as the end of "The file is damaged: …"."""


class BoundedReader:
    """A reader of a file for one check.

    Args:
        read_at: Returns a number of bytes from a position; never called beyond the end.
        size_bytes: The size of the file.

    Raises:
        EOFError: On reading, if fewer bytes are returned than the file has.
    """

    def __init__(self, read_at: Callable[[int, int], bytes], size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._read_at = read_at
        self._start = 0
        self._buffer = memoryview(b"")
        self._bytes_left = _MOST_BYTES
        self._reads_left = _MOST_READS
        self._steps_left = _MOST_STEPS

    def step(self, count: int = 1) -> None:
        """Count a step from one structure of the file to the next.

        Raises:
            TooComplexError: There were too many.
        """
        self._steps_left -= count
        if self._steps_left < 0:
            raise TooComplexError

    def piece(self, start: int, size_bytes: int) -> bytes:
        """Return `size_bytes` bytes from a position, fewer only at the end of the file.

        Raises:
            TooComplexError: The limit of reads or bytes is reached.
        """
        offset = start - self._start
        if offset < 0 or offset + size_bytes > len(self._buffer):
            self._hold(start, size_bytes)
            offset = 0
        return bytes(self._buffer[offset : offset + size_bytes])

    def window(self, start: int) -> memoryview:
        """Return buffered bytes from a position on; empty only at the end of the file.

        Raises:
            TooComplexError: The limit of reads or bytes is reached.
        """
        offset = start - self._start
        if not 0 <= offset < len(self._buffer):
            self._hold(start, 1)
            offset = 0
        return self._buffer[offset:]

    def _hold(self, start: int, size_bytes: int) -> None:
        end = self._start + len(self._buffer)
        goes_on = bool(self._buffer) and self._start <= start <= end
        ahead = _NEXT_READ_BYTES if goes_on else _FIRST_READ_BYTES
        size = max(0, min(self.size_bytes - start, max(size_bytes, ahead)))
        if size:
            self._reads_left -= 1
            self._bytes_left -= size
            if self._reads_left < 0 or self._bytes_left < 0:
                raise TooComplexError
        self._buffer = memoryview(self._read_at(start, size) if size else b"")
        self._start = start
        if len(self._buffer) != size:
            # A part that was lost says nothing about the file.
            msg = "The file ends before its end."
            raise EOFError(msg)
