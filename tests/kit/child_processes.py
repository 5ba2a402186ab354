"""Processes that a service has started, as the system knows them."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

_POLL_SECONDS = 0.01


@dataclass(frozen=True)
class ChildProcess:
    """A process that another one has started."""

    pid: int

    @property
    def environment(self) -> bytes:
        """Its variables."""
        return self._read("environ")

    @property
    def command(self) -> list[str]:
        """The command line; empty for a process that has ended."""
        return self._read("cmdline").decode().split("\0")

    @property
    def is_stopped(self) -> bool:
        """True if a signal has stopped it."""
        return self._read("stat").rpartition(b")")[2].split()[0] == b"T"

    @property
    def niceness(self) -> int:
        """Its priority: the higher, the later its turn."""
        return int(self._read("stat").rpartition(b")")[2].split()[16])

    @property
    def address_space(self) -> int:
        """The most bytes that it may map."""
        limits = self._read("limits").decode().splitlines()
        return next(int(line.split()[3]) for line in limits if line.startswith("Max address"))

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def wait_until_gone(self, seconds: float) -> None:
        """Return when it has ended, even if its status was not read."""
        until = time.monotonic() + seconds
        while self._read("cmdline"):
            assert time.monotonic() < until, f"process {self.pid} still runs"
            time.sleep(_POLL_SECONDS)

    def peak_bytes(self) -> int:
        """The most it has had resident at once."""
        lines = self._read("status").decode().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

    def _read(self, name: str) -> bytes:
        try:
            return Path(f"/proc/{self.pid}/{name}").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return b""


def children_of(pid: int) -> list[ChildProcess]:
    """The processes that a process has started and that have not ended."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [ChildProcess(int(child)) for task in tasks for child in task.read_text().split()]
