"""Fork a background process that survives its parent, and wait until it is ready.

Used by `pagefault serve-proxies`, which a proxy starts.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

ReportReady: TypeAlias = Callable[[], None]
"""A function that reports that the background process is ready."""

_READY = b"1"


def detach(*, failed: int) -> ReportReady:
    """Fork, and return in the child process only, which gets a POSIX session of its own.

    The original process exits here: with status 0 as soon as the child calls the returned function,
    or with the status `failed` if the child exits without a call. A host that ends a proxy also
    ends the process group and the descendants of the proxy. The child belongs to neither.

    Args:
        failed: The exit status of the original process if the child fails.
    """
    read_end, write_end = os.pipe()
    if os.fork() > 0:
        os.close(write_end)
        os._exit(0 if os.read(read_end, 1) == _READY else failed)
    os.close(read_end)
    os.setsid()

    def report_ready() -> None:
        # If the host has ended the proxy and the original process, nothing reads the pipe.
        with suppress(BrokenPipeError):
            os.write(write_end, _READY)
        os.close(write_end)

    return report_ready
