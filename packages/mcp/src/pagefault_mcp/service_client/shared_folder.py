"""The folder through which the proxies of a user find their shared service.

Proxies share a service if they have the same setup: program, settings, data directory and project.
Each setup has a folder in the data directory:

socket      the socket of the service, unless its path is too long or the file system has no sockets
address     the path of the socket
used        locked, shared, by each proxy while it runs
starting    locked by the proxy that starts the service
serving     locked by the service while it runs; contains its process id
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
# Settings, and variables that the libraries for buckets and databases read.
_DECIDING = ("PAGEFAULT_", "AWS_", "DECTO_", "PG")
_NOT_DECIDING = ("PAGEFAULT_API_KEY", "PAGEFAULT_DATA_DIR")
# The same, and variables that all programs read.
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
    """The setup that proxies with a shared service have in common."""

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
        deciding = [
            (name, value)
            for name, value in sorted(os.environ.items())
            if name.upper().startswith(_DECIDING) and name not in _NOT_DECIDING
        ]
        # The host name, since several machines may share a data directory.
        program = [os.uname().nodename, self.version, pagefault_mcp.__file__]
        setup = json.dumps([program, self.project, deciding])
        digest = hashlib.sha256(setup.encode())
        file = self.env_file or self.data_dir / ".env"
        with suppress(OSError):
            digest.update(file.read_bytes())
        return self.data_dir / _FOLDER / digest.hexdigest()[:16]


def filter_environment() -> dict[str, str]:
    """Return the environment of the service, without the tokens of a proxy's server."""
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


def socket_of(folder: Path) -> Path | None:
    """Return the socket of the service, which may have been killed; `None` without an address."""
    with suppress(FileNotFoundError):
        written = (folder / "address").read_bytes()
        # A full disk or a loss of power may leave an empty file, or zeros.
        if written and b"\0" not in written:
            return Path(os.fsdecode(written))
    return None


@asynccontextmanager
async def lock_file(path: Path, how: int) -> AsyncIterator[int]:
    """Lock a file for the length of the block; wait for its lock, and create it if needed.

    Yields the descriptor of the open file.

    Args:
        path: The file.
        how: `fcntl.LOCK_SH` or `fcntl.LOCK_EX`.

    Raises:
        OSError: It cannot be locked.
    """
    # NFS requires a file that is open for reading.
    with path.open("a+b") as file:
        # There is no notification of a released lock.
        while not try_to_lock(file.fileno(), how):  # noqa: ASYNC110
            await anyio.sleep(_AGAIN_SECONDS)
        yield file.fileno()


def try_to_lock(file: int, how: int) -> bool:
    """Lock an open file; return False if it is locked by others."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_at(path: Path, file: os.stat_result) -> bool:
    """Return whether a path still leads to a file, and not to another one."""
    try:
        return os.path.samestat(path.stat(), file)
    except OSError:
        return False
