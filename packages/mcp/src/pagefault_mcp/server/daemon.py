"""Detach a process from its parent, and report readiness through a pipe."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

Notify: TypeAlias = Callable[[], None]
"""Reports that the detached process is ready, so that the original one exits."""

_READY = b"1"


def detach(*, failed: int) -> Notify:
    """Continue in a child process, in a POSIX session of its own.

    The original process does not return. It exits with status 0 when the child calls the returned
    function, or with `failed` when the child exits before. Hosts that end a proxy also end its
    process group or its descendants; the detached process is in neither.

    Args:
        failed: The exit status if the child fails.
    """
    read_end, write_end = os.pipe()
    if os.fork() > 0:
        os.close(write_end)
        os._exit(0 if os.read(read_end, 1) == _READY else failed)
    os.close(read_end)
    os.setsid()

    def notify() -> None:
        # The original process is killed if its proxy disconnects meanwhile.
        with suppress(BrokenPipeError):
            os.write(write_end, _READY)
        os.close(write_end)

    return notify
