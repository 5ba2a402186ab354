"""Where the proxies of a user find the service that stores for all of them, and each other.

They share a service if nothing that decides how it stores differs: the program, the settings, the
data directory, the project. Each such setup has a folder in the data directory:

socket      where the service listens, unless its path is too long, or there can be none here
address     the path of that socket, wherever it is
used        locked, with others, by each proxy for as long as it runs
starting    locked by the proxy that starts the service
serving     locked by the service for as long as it runs; has its process id then
log         what the service has to say

Only the user gets into these folders. The kernel gives a lock back when its holder has ended, in
whatever way.
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
# Settings, and what the libraries for buckets and databases read themselves.
_DECIDING = ("PAGEFAULT_", "AWS_", "DECTO_", "PG")
_NOT_DECIDING = ("PAGEFAULT_API_KEY", "PAGEFAULT_DATA_DIR")
# The same, and what any program reads.
_INHERITED = re.compile(
    "(PAGEFAULT|AWS|DECTO|PROMETHEUS|SSL|LC|LD|DYLD|XDG|NIX|CONDA|MALLOC)_.*|(PG|PYTHON).*"
    "|.*_PROXY|[A-Z]+_CA_BUNDLE|PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|TZ|TMPDIR|TEMP|TMP"
    "|TERM|COLUMNS|VIRTUAL_ENV",
    re.IGNORECASE,
)
_AGAIN_SECONDS = 0.02

KEY_PATH = "/host-key"
"""Where the service answers 204 to a key of its project, and 401 to any other."""


@dataclass(frozen=True, slots=True)
class SharedSetup:
    """What proxies have in common that share a service."""

    data_dir: Path
    """The data directory."""
    project: str | None
    """The project of what they store; `None` for the default one."""
    env_file: Path | None
    """The file of settings; `None` for the one in the data directory, if there is one."""
    version: str
    """The version of the service."""

    def folder(self) -> Path:
        """Return their folder."""
        deciding = [
            (name, value)
            for name, value in sorted(os.environ.items())
            if name.upper().startswith(_DECIDING) and name not in _NOT_DECIDING
        ]
        # A data directory may be on a disk that several machines share.
        program = [os.uname().nodename, self.version, pagefault_mcp.__file__]
        setup = json.dumps([program, self.project, deciding])
        digest = hashlib.sha256(setup.encode())
        file = self.env_file or self.data_dir / ".env"
        with suppress(OSError):
            digest.update(file.read_bytes())
        return self.data_dir / _FOLDER / digest.hexdigest()[:16]


def filter_environment() -> dict[str, str]:
    """Return the environment of the service: it outlives a proxy, whose server may have tokens."""
    return {
        name: value
        for name, value in os.environ.items()
        if name != "PAGEFAULT_API_KEY" and _INHERITED.fullmatch(name)
    }


def make_folder(folder: Path) -> None:
    """Make a folder that only the user gets into, and those above it which are not there.

    Raises:
        OSError: It cannot be made.
    """
    # The data directory may be among them; `Path.mkdir` would let others read that.
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)


def socket_of(folder: Path) -> Path | None:
    """Return where the service listens, or has listened when it was killed; `None` for nowhere."""
    with suppress(FileNotFoundError):
        written = (folder / "address").read_bytes()
        # A full disk, or the end of the machine's power, leaves nothing or zeros.
        if written and b"\0" not in written:
            return Path(os.fsdecode(written))
    return None


@asynccontextmanager
async def lock_file(path: Path, how: int) -> AsyncIterator[int]:
    """Lock a file for the length of the block, once others let it be; it is made if need be.

    Yields the number of the open file.

    Args:
        path: The file.
        how: `fcntl.LOCK_SH` or `fcntl.LOCK_EX`.

    Raises:
        OSError: It cannot be locked.
    """
    # NFS locks nothing with others that is not open for reading.
    with path.open("a+b") as file:
        # Nobody is told when a lock is given back.
        while not try_to_lock(file.fileno(), how):  # noqa: ASYNC110
            await anyio.sleep(_AGAIN_SECONDS)
        yield file.fileno()


def try_to_lock(file: int, how: int) -> bool:
    """Lock an open file, unless others keep it from being."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_at(path: Path, file: os.stat_result) -> bool:
    """Tell whether a path still leads to a file, and not to another one, or to none."""
    try:
        return os.path.samestat(path.stat(), file)
    except OSError:
        return False
