"""Child processes that decode hostile bytes.

They get no environment variables, so no secrets. Each limits its own memory and time before it
reads any data.
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
"""The time after the deadline at which a process ends itself, in case the service has died."""

_NICENESS = 5
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """A running process, and pipes to it."""

    process: Process
    stdin: ByteSendStream
    stdout: ByteReceiveStream

    async def end(self) -> int:
        """Kill the process if it still runs, and return its status.

        This waits for the end of the process even if the caller is cancelled.
        """
        with anyio.CancelScope(shield=True):
            if self.process.returncode is None:
                self.process.kill()
            # The pipe stays open until it is read to its end.
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for _ in self.stdout:
                    pass
            await self.process.aclose()
        return await self.process.wait()


async def start_child(module: str, *arguments: str) -> ChildProcess:
    """Start a module of the service as a program; the caller ends it.

    Raises:
        OSError: The system cannot start another process.
    """
    # `-P`: modules in the working directory are not imported.
    command = [sys.executable, "-P", "-m", module, *arguments]
    # Shielded, since a cancelled start could leave a running process.
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={})
    if process.stdin is None or process.stdout is None:
        raise OSError("a process without pipes")
    return ChildProcess(process, process.stdin, process.stdout)


def lower_priority() -> None:
    """Lower the priority of this process below that of the service."""
    os.nice(_NICENESS)


def limit_process(*, seconds: float, memory_bytes: int | None = None) -> None:
    """Limit this process from now on.

    Args:
        seconds: The time after which it is ended, even if the service has died.
        memory_bytes: The limit of mapped memory, on Linux; `None` for no limit.
    """
    if sys.platform == "linux":
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        bound = most if memory_bytes is None else memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (bound, most))
    # Without a handler, the signal also ends a process that runs a decoder.
    signal.setitimer(signal.ITIMER_REAL, seconds)


def mapped_bytes() -> int:
    """Return the mapped memory of this process, or 0 if it is unknown."""
    return _status_bytes("VmSize")


def max_mapped_bytes() -> int:
    """Return the peak of mapped memory of this process, or 0 if it is unknown."""
    return _status_bytes("VmPeak")


def _status_bytes(name: str) -> int:
    if not _STATUS.exists():
        return 0
    found = re.search(rf"^{name}:\s+(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else 0
