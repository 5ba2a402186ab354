"""Detect a full disk by the error of the system."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import StoreFullError

DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def translate_disk_full() -> Iterator[None]:
    """Translate the OSError of a full disk or quota into StoreFullError."""
    try:
        yield
    except OSError as exc:
        if exc.errno in DISK_FULL_ERRNOS:
            raise StoreFullError from exc
        raise
