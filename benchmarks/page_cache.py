"""Files that stay in memory while something is measured.

A kernel may take back pages that nobody has looked at for a while, however much memory is free, and
what is measured next then waits for the disk.
"""

import ctypes
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_READ_BYTES = 8 << 20
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.mlock.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value


@contextmanager
def held_in_memory(folder: Path) -> Iterator[None]:
    """Read all files below a folder, and keep the system from dropping them during the block.

    Where it does not permit that, they are only read.
    """
    held: list[tuple[int, int]] = []
    try:
        for place in folder.rglob("*"):
            # A server may remove files of its own meanwhile.
            with suppress(OSError), place.open("rb", buffering=0) as file:
                while file.read(_READ_BYTES):
                    pass
                held += _locked(file.fileno())
        yield
    finally:
        for address, length in held:
            _libc.munmap(address, length)


def _locked(descriptor: int) -> list[tuple[int, int]]:
    """Return the address and the length of a mapped file; an empty file has none."""
    length = os.fstat(descriptor).st_size
    if not length:
        return []
    address = _libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address == _FAILED:
        return []
    _libc.mlock(address, length)
    return [(address, length)]
