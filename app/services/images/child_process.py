"""Processes that decode hostile bytes: started with nothing of the service's, and always ended.

They get no variable of the environment, so none of the secrets in it. Each bounds its own memory
and time before it is handed anything.
"""

import os
import re
import resource
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

GRACE_SECONDS = 1.0
"""The time after the service's own deadline at which a process ends itself: the service may have
died."""

_NICENESS = 5
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """A running process, and pipes to it."""

    process: Process
    stdin: ByteSendStream
    stdout: ByteReceiveStream

    async def end(self) -> int:
        """Kill the process if it still runs; return its status when it is gone.

        That is waited for even if the caller is cancelled.
        """
        with anyio.CancelScope(shield=True):
            if self.process.returncode is None:
                self.process.kill()
            # Until its end is read, the pipe stays open.
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for _ in self.stdout:
                    pass
            await self.process.aclose()
        return await self.process.wait()


async def start_child(module: str, *arguments: str) -> ChildProcess:
    """Start a module of the service as a program; the caller ends it.

    Raises:
        OSError: The system has no room for another process.
    """
    # `-P`: nothing of the folder that the service was started in is imported.
    command = [sys.executable, "-P", "-m", module, *arguments]
    # Cancelled in between, it would leave a process that no one ends.
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={})
    if process.stdin is None or process.stdout is None:
        raise OSError("a process without pipes")
    return ChildProcess(process, process.stdin, process.stdout)


def lower_priority() -> None:
    """Let the service, which answers all others, have the processor before this process."""
    os.nice(_NICENESS)


def limit_process(*, seconds: float, memory_bytes: int | None = None) -> None:
    """Bound this process from now on.

    Args:
        seconds: When it is ended, in whatever it is doing, and even if the service has died.
        memory_bytes: All that it may map, on Linux; `None` is no bound.
    """
    if sys.platform == "linux":
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        bound = most if memory_bytes is None else memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (bound, most))
    # Without a handler, the signal ends a process inside of a decoder too.
    signal.setitimer(signal.ITIMER_REAL, seconds)


def mapped_bytes() -> int:
    """Return how much this process has mapped, 0 where the system does not say."""
    return _status_bytes("VmSize")


def most_mapped_bytes() -> int:
    """Return the most that this process has had mapped, 0 where the system does not say."""
    return _status_bytes("VmPeak")


def _status_bytes(name: str) -> int:
    if not _STATUS.exists():
        return 0
    found = re.search(rf"^{name}:\s+(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0
