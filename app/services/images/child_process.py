"""Start and limit the child processes that decode hostile bytes.

The service calls `start_child`. It passes no environment variables, so a child process has no
secrets. The programs (`image_process.py`, `poster_process.py`) call the other functions, to limit
their own memory and time before they read any data.
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
"""The time that a child process gets beyond its deadline before it ends itself.

Normally the service ends the process at the deadline. This is for a service that has died.
"""

_NICENESS = 5
_PROC_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """A child process, with the pipes to its standard input and output."""

    process: Process
    stdin: ByteSendStream
    stdout: ByteReceiveStream

    async def end(self) -> int:
        """Kill the process if it still runs, wait for its end, and return its exit status.

        A cancelled caller also waits.
        """
        with anyio.CancelScope(shield=True):
            if self.process.returncode is None:
                self.process.kill()
            # asyncio closes the pipe only after it has been read to its end.
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for _ in self.stdout:
                    pass
            await self.process.aclose()
        return await self.process.wait()


async def start_child(module: str, *arguments: str) -> ChildProcess:
    """Start a module of the service as a program. The caller has to call `ChildProcess.end`.

    Args:
        module: The full name of the module.
        arguments: The arguments of the command line.

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
    """Limit the time and the memory of this process. A second call replaces the limits.

    Args:
        seconds: The time from now after which the system ends the process.
        memory_bytes: The limit of mapped memory, only on Linux; `None` for no limit.
    """
    if sys.platform == "linux":
        _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
        soft_limit = hard_limit if memory_bytes is None else memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (soft_limit, hard_limit))
    # The process has no handler for SIGALRM, so the signal ends it even inside of a decoder in C.
    signal.setitimer(signal.ITIMER_REAL, seconds)


def read_mapped_bytes() -> int:
    """Return the size of the mapped memory of this process; 0 outside of Linux."""
    return _read_proc_status("VmSize")


def read_peak_mapped_bytes() -> int:
    """Return the largest size so far of the mapped memory of this process; 0 outside of Linux."""
    return _read_proc_status("VmPeak")


def _read_proc_status(field: str) -> int:
    """Return a field of `/proc/self/status` in bytes; 0 if it does not exist."""
    if not _PROC_STATUS.exists():
        return 0
    match = re.search(rf"^{field}:\s+(\d+) kB$", _PROC_STATUS.read_text(), re.MULTILINE)
    return int(match[1]) * 1024 if match else 0
