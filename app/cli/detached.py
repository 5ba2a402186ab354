"""A process that goes on when whoever started it has ended, and tells it that it serves."""

import os
from contextlib import suppress

_SERVES = b"1"


class Detached:
    """Makes this process one of its own, away from the one that was started.

    The one that was started waits, and ends: with status 0 once `tell` is called, with `failed` if
    this ends before. Hosts that end a proxy end all of its group, or all that came of it.
    """

    def __init__(self, *, failed: int) -> None:
        said, self._to_say = os.pipe()
        if os.fork() > 0:
            os.close(self._to_say)
            os._exit(0 if os.read(said, 1) == _SERVES else failed)
        os.close(said)
        os.setsid()

    def tell(self) -> None:
        """Let the one that was started end, unless it has ended."""
        # It is killed when the proxy that has started it leaves meanwhile.
        with suppress(BrokenPipeError):
            os.write(self._to_say, _SERVES)
        os.close(self._to_say)
