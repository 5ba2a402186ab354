"""The folder through which the proxies of a user find their shared service.

Proxies share a service if they have the same setup: program, settings, data directory and project.
Each setup has a folder in the data directory, with these files:

socket      the socket of the service, unless its path is too long or the file system has no sockets
address     the path of the socket
used        each proxy has a shared lock on it while it runs
starting    the proxy that starts the service has an exclusive lock on it
serving     the service has an exclusive lock on it while it runs; contains its process id
log         the log of the service

Only the user can access these folders. The kernel releases the locks of a process when it ends.
"""

import fcntl
import hashlib
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

import pagefault_mcp

_FOLDER = "proxies"
# Variables that belong to a setup: settings, and what the libraries of buckets and databases read.
_SETUP_PREFIXES = ("PAGEFAULT_", "AWS_", "DECTO_", "PG")
_NOT_IN_SETUP = ("PAGEFAULT_API_KEY", "PAGEFAULT_DATA_DIR")
# Variables that the service inherits: those of the setup, and those that all programs read.
_INHERITED = re.compile(
    "(PAGEFAULT|AWS|DECTO|PROMETHEUS|OTEL|SSL|LC|LD|DYLD|XDG|NIX|CONDA|MALLOC)_.*|(PG|PYTHON).*"
    "|.*_PROXY|[A-Z]+_CA_BUNDLE|PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|TZ|TMPDIR|TEMP|TMP"
    "|TERM|COLUMNS|VIRTUAL_ENV",
    re.IGNORECASE,
)
_AGAIN_SECONDS = 0.02

KEY_PATH = "/host-key"
"""The path that answers 204 to a key of the service's project, and 401 to any other key."""


@dataclass(frozen=True, slots=True)
class SharedSetup:
    """The configuration that all proxies of a shared service have in common."""

    data_dir: Path
    """The data directory."""
    project: str | None
    """The project; `None` for the default one."""
    env_file: Path | None
    """The file of settings; `None` for the one in the data directory, if there is one."""
    version: str
    """The version of the service."""

    def folder(self) -> Path:
        """Return the folder of the setup."""
        variables = [
            (name, value)
            for name, value in sorted(os.environ.items())
            if name.upper().startswith(_SETUP_PREFIXES) and name not in _NOT_IN_SETUP
        ]
        # The host name, since several machines may share a data directory.
        program = [os.uname().nodename, self.version, pagefault_mcp.__file__]
        setup = json.dumps([program, self.project, variables])
        digest = hashlib.sha256(setup.encode())
        env_file = self.env_file or self.data_dir / ".env"
        with suppress(OSError):
            digest.update(env_file.read_bytes())
        return self.data_dir / _FOLDER / digest.hexdigest()[:16]


def filter_environment() -> dict[str, str]:
    """Return the environment for the service, without secrets meant for a proxy's server."""
    return {
        name: value
        for name, value in os.environ.items()
        if name != "PAGEFAULT_API_KEY" and _INHERITED.fullmatch(name)
    }


def make_folder(folder: Path) -> None:
    """Create a folder that only the user can access, with its missing parents.

    Raises:
        OSError: It cannot be created.
    """
    # `Path.mkdir` would create parents, such as the data directory, that others can read.
    for parent in (*reversed(folder.parents), folder):
        if not parent.exists():
            parent.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)


def find_socket(folder: Path) -> Path | None:
    """Return the path of the service's socket; `None` if there is none.

    The service may have been killed, and its socket be unused.
    """
    with suppress(FileNotFoundError):
        address = (folder / "address").read_bytes()
        # A full disk or a loss of power may leave an empty file, or zeros.
        if address and b"\0" not in address:
            return Path(os.fsdecode(address))
    return None


@asynccontextmanager
async def lock_file(path: Path, mode: int) -> AsyncIterator[int]:
    """Lock a file for the length of the block; wait for its lock, and create it if needed.

    Yields the descriptor of the open file.

    Args:
        path: The file.
        mode: `fcntl.LOCK_SH` or `fcntl.LOCK_EX`.

    Raises:
        OSError: It cannot be locked.
    """
    # NFS requires a file that is open for reading.
    with path.open("a+b") as file:
        # There is no notification of a released lock.
        while not try_to_lock(file.fileno(), mode):  # noqa: ASYNC110
            await anyio.sleep(_AGAIN_SECONDS)
        yield file.fileno()


def try_to_lock(file: int, mode: int) -> bool:
    """Lock an open file; return False if it is locked by others."""
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_same_file(path: Path, status: os.stat_result) -> bool:
    """Return whether the file at a path is still the one with a status."""
    try:
        return os.path.samestat(path.stat(), status)
    except OSError:
        return False
