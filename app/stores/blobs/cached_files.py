"""Small files that the kernel holds in memory, read without waiting for a disk.

Handing a read to a worker thread costs ten times what the read itself does, if nothing has to be
waited for. Linux can be asked for just that: to open a file if all of its path is known already
(`openat2` with `RESOLVE_CACHED`), and to read it if its pages are there (`RWF_NOWAIT`). Where it
cannot, or may not, everything is read in worker threads.
"""

import ctypes
import errno
import os
import sys
from stat import S_ISREG

MOST_BYTES = 64 * 1024
"""Copying more than this would itself be felt by those who wait for the loop."""

# Linux gives it the same number on every processor Python 3.11 is built for.
_OPENAT2 = 437
_RESOLVE_CACHED = 0x20
_AT_FDCWD = -100
_NOWAIT = getattr(os, "RWF_NOWAIT", 0)


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


_OPEN_HOW = _OpenHow(os.O_RDONLY | getattr(os, "O_CLOEXEC", 0), 0, _RESOLVE_CACHED)
_HOW = ctypes.byref(_OPEN_HOW)
_HOW_BYTES = ctypes.sizeof(_OPEN_HOW)


class CachedFiles:
    """Reads files of one file system without waiting, unless that turns out not to be possible."""

    def __init__(self) -> None:
        self._is_offered = sys.platform == "linux" and _NOWAIT != 0
        if self._is_offered:
            self._system_call = ctypes.CDLL(None, use_errno=True).syscall
            self._system_call.argtypes = (
                ctypes.c_long,
                ctypes.c_int,
                ctypes.c_char_p,
                ctypes.c_void_p,
                ctypes.c_size_t,
            )

    def read(self, path: str, start: int, end: int | None) -> bytes | None:
        """The bytes from `start` up to, not including, `end`, clamped like a slice.

        Returns:
            `None` if they are more than `MOST_BYTES` or would have to be waited for, and if there
            is no such file, which is not looked for either.
        """
        if end is not None and end - start > MOST_BYTES:
            return None
        descriptor = self._open(path)
        if descriptor is None:
            return None
        try:
            status = os.fstat(descriptor)
            size_bytes = status.st_size
            wanted = (size_bytes if end is None else min(end, size_bytes)) - start
            if wanted > MOST_BYTES or not S_ISREG(status.st_mode):
                return None
            return self._pages(descriptor, start, wanted) if wanted > 0 else b""
        finally:
            os.close(descriptor)

    def has(self, path: str) -> bool:
        """Whether the file is known to be there; if not, it has to be looked for."""
        descriptor = self._open(path)
        if descriptor is None:
            return False
        os.close(descriptor)
        return True

    def _open(self, path: str) -> int | None:
        if not self._is_offered:
            return None
        descriptor: int = self._system_call(
            _OPENAT2, _AT_FDCWD, os.fsencode(path), _HOW, _HOW_BYTES
        )
        if descriptor >= 0:
            return descriptor
        # An older kernel does not know the call; the guard of a container may forbid it.
        if ctypes.get_errno() in (errno.ENOSYS, errno.EPERM, errno.EINVAL):
            self._is_offered = False
        return None

    def _pages(self, descriptor: int, start: int, wanted: int) -> bytes | None:
        """So many bytes, if all of them are in memory."""
        buffer = bytearray(wanted)
        try:
            read = os.preadv(descriptor, [buffer], start, _NOWAIT)
        except OSError as exc:
            # A file system that cannot say; or not in memory, and whoever waits for it will see.
            if exc.errno == errno.EOPNOTSUPP:
                self._is_offered = False
            return None
        return bytes(buffer) if read == wanted else None
