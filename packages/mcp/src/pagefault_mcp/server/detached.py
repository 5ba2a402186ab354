"""A process that goes on when whoever started it has ended, and tells it that it serves."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

Tell: TypeAlias = Callable[[], None]
"""Lets the process end that was started, unless it has ended."""

_SERVES = b"1"


def detach(*, failed: int) -> Tell:
    """Go on in a process of its own, in no group with the one that was started, and no child of it.

    The one that was started never returns from here. It waits, and ends: with status 0 once the
    other one calls what this returns, with another status if that ends before. Hosts that end a
    proxy end all of its group, or all that came of it.

    Args:
        failed: That other status.
    """
    said, to_say = os.pipe()
    if os.fork() > 0:
        os.close(to_say)
        os._exit(0 if os.read(said, 1) == _SERVES else failed)
    os.close(said)
    os.setsid()

    def tell() -> None:
        # It is killed when the proxy that has started it leaves meanwhile.
        with suppress(BrokenPipeError):
            os.write(to_say, _SERVES)
        os.close(to_say)

    return tell
