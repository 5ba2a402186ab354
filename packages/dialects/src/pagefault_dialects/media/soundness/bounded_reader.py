"""A file that is read at any place, a piece at a time, and never for long.

What is looked at is bounded in bytes, in reads and in steps, so that no file keeps a thread busy
and no video is read a second time. The bounds are the same wherever the bytes are, so the same
bytes are always judged the same. A file beyond them is not judged.
"""

from collections.abc import Callable

_FIRST_READ_BYTES = 64 * 1024
_NEXT_READ_BYTES = 1024 * 1024
_MOST_BYTES = 64 * 1024 * 1024
_MOST_READS = 256
_MOST_STEPS = 100_000


class TooComplexError(Exception):
    """There is more to look at than is looked at."""


class DamagedError(Exception):
    """The file is damaged; the message says how, as the end of "The file is damaged: …"."""


class BoundedReader:
    """Reads a file for one check.

    Args:
        read_at: Reads so many bytes from a position on; it is asked for none behind the end.
        size_bytes: The size of the file.

    Raises:
        EOFError: On reading, where fewer bytes come than the file has.
    """

    def __init__(self, read_at: Callable[[int, int], bytes], size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._read_at = read_at
        self._start = 0
        self._held = memoryview(b"")
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

    def piece(self, start: int, wanted: int) -> bytes:
        """Return so many bytes from a position on, fewer only at the end of the file.

        Raises:
            TooComplexError: Too much was read already.
        """
        offset = start - self._start
        if offset < 0 or offset + wanted > len(self._held):
            self._hold(start, wanted)
            offset = 0
        return bytes(self._held[offset : offset + wanted])

    def window(self, start: int) -> memoryview:
        """Return what is at hand from a position on: some bytes, none only at the end of the file.

        Raises:
            TooComplexError: Too much was read already.
        """
        offset = start - self._start
        if not 0 <= offset < len(self._held):
            self._hold(start, 1)
            offset = 0
        return self._held[offset:]

    def _hold(self, start: int, wanted: int) -> None:
        end = self._start + len(self._held)
        goes_on = bool(self._held) and self._start <= start <= end
        ahead = _NEXT_READ_BYTES if goes_on else _FIRST_READ_BYTES
        size = max(0, min(self.size_bytes - start, max(wanted, ahead)))
        if size:
            self._reads_left -= 1
            self._bytes_left -= size
            if self._reads_left < 0 or self._bytes_left < 0:
                raise TooComplexError
        self._held = memoryview(self._read_at(start, size) if size else b"")
        self._start = start
        if len(self._held) != size:
            # A part that was lost says nothing of how sound the file was.
            msg = "The file ends before its end."
            raise EOFError(msg)
