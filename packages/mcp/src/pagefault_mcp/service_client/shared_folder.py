"""The folder through which the proxies of a user find the service that they share.

Proxies share a service if they have the same setup: program, settings, data directory and project.
Each setup has a folder in the data directory, with these files:

socket      the socket of the service; in a temporary folder instead, if this path is too long or
            the file system does not support sockets
address     the path of the socket
used        each proxy has a shared lock on this file while the proxy runs
starting    a proxy has an exclusive lock on this file while it starts the service
serving     the service has an exclusive lock on this file while it runs; contains its process id
log         the log of the service

Only the user can access these folders. When a process ends, the kernel releases its locks.
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

_FOLDER_NAME = "proxies"
# Environment variables that belong to a setup: settings, and the variables that the libraries for
# S3 and PostgreSQL read.
_SETUP_PREFIXES = ("PAGEFAULT_", "AWS_", "DECTO_", "PG")
# The key is for a service at a URL, and the data directory is a part of the setup by itself.
_NOT_IN_SETUP = ("PAGEFAULT_API_KEY", "PAGEFAULT_DATA_DIR")
# Environment variables that the service inherits: those of a setup, and those that many programs
# read.
_INHERITED = re.compile(
    "(PAGEFAULT|AWS|DECTO|PROMETHEUS|OTEL|SSL|LC|LD|DYLD|XDG|NIX|CONDA|MALLOC)_.*|(PG|PYTHON).*"
    "|.*_PROXY|[A-Z]+_CA_BUNDLE|PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|TZ|TMPDIR|TEMP|TMP"
    "|TERM|COLUMNS|VIRTUAL_ENV",
    re.IGNORECASE,
)
_LOCK_POLL_SECONDS = 0.02

KEY_PATH = "/host-key"
"""The route that checks an API key: status 204 for a key of the service's project, else 401."""


@dataclass(frozen=True, slots=True)
class SharedSetup:
    """The configuration that all proxies of a shared service have in common."""

    data_dir: Path
    project: str | None
    """The name of the project; `None` for the default project."""
    env_file: Path | None
    """The settings file; `None` for `.env` in the data directory, which may be missing."""
    version: str
    """The version of this program."""

    def find_folder(self) -> Path:
        """Return the folder of the setup, whose name is a hash of everything in the setup.

        That includes variables of the environment, and the content of the settings file.
        """
        variables = [
            (name, value)
            for name, value in sorted(os.environ.items())
            if name.upper().startswith(_SETUP_PREFIXES) and name not in _NOT_IN_SETUP
        ]
        # With the name of the machine, since several machines may share a data directory.
        program = [os.uname().nodename, self.version, pagefault_mcp.__file__]
        setup = json.dumps([program, self.project, variables])
        digest = hashlib.sha256(setup.encode())
        env_file = self.env_file or self.data_dir / ".env"
        with suppress(OSError):
            digest.update(env_file.read_bytes())
        return self.data_dir / _FOLDER_NAME / digest.hexdigest()[:16]


def filter_environment() -> dict[str, str]:
    """Return the environment variables for the service.

    A host also passes secrets of the proxied MCP server in the environment of the proxy. The
    service does not get them.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name != "PAGEFAULT_API_KEY" and _INHERITED.fullmatch(name)
    }


def make_folder(folder: Path) -> None:
    """Create a folder that only the user can access, and its missing parents likewise.

    Raises:
        OSError: The folder cannot be created.
    """
    # `Path.mkdir(parents=True)` would create parents that others can read.
    for path in (*reversed(folder.parents), folder):
        if not path.exists():
            path.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)


def find_socket(folder: Path) -> Path | None:
    """Return the path in the file `address` of a folder; `None` if there is none.

    If the service was killed, nothing listens on the socket, or the socket is missing.
    """
    with suppress(FileNotFoundError):
        address = (folder / "address").read_bytes()
        # A full disk or a power failure may leave an empty file, or a file of zero bytes.
        if address and b"\0" not in address:
            return Path(os.fsdecode(address))
    return None


@asynccontextmanager
async def lock_file(path: Path, mode: int) -> AsyncIterator[int]:
    """Lock a file until the end of the block; wait if others have locked it.

    A missing file is created. Yields the descriptor of the open file.

    Args:
        path: The file.
        mode: `fcntl.LOCK_SH` or `fcntl.LOCK_EX`.

    Raises:
        OSError: The file cannot be opened or locked.
    """
    # NFS requires that the file is open for reading.
    with path.open("a+b") as file:
        # The lock is polled, since `flock` would block the event loop.
        while not try_to_lock(file.fileno(), mode):  # noqa: ASYNC110
            await anyio.sleep(_LOCK_POLL_SECONDS)
        yield file.fileno()


def try_to_lock(descriptor: int, mode: int) -> bool:
    """Lock an open file, with a mode as for `lock_file`; return False if others have locked it."""
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_same_file(path: Path, status: os.stat_result) -> bool:
    """Return whether the file at a path is the one that had this status before."""
    try:
        return os.path.samestat(path.stat(), status)
    except OSError:
        return False
