"""The machine under the figures: its kind, and the core of each process."""

import os
import platform
import sqlite3
from collections.abc import Iterator, Set
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

ALL = frozenset(os.sched_getaffinity(0))
SERVER = frozenset({min(ALL)})
"""The core that servers run on, one after the other."""
CLIENT = frozenset({max(ALL)})
"""The core of those who ask; the same one where there is no other."""

_PACKAGES = ("fastapi", "starlette", "uvicorn", "uvloop", "httptools", "sqlalchemy", "pybase64")


@contextmanager
def on_cores(cores: Set[int]) -> Iterator[None]:
    """Keep this thread, and every thread and process it starts meanwhile, on some cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def described() -> list[str]:
    """The machine and what runs on it, a line each."""
    return [
        f"{_processor()}, {len(ALL)} cores, {_memory_gib():.0f} GiB of memory",
        f"Linux {platform.release()}, {platform.python_implementation()} "
        f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}",
        ", ".join(f"{package} {version(package)}" for package in _PACKAGES),
    ]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
