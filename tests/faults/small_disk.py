"""A real file system of a few MiB: a tmpfs that only the processes of a namespace of their own see.

    outside: <directory>/            empty, whatever is written inside
    inside:  <directory>/            the small file system, for whoever is in its `namespaces`

Whoever runs the tests need not be root: the mount then belongs to a user namespace as well. It
lasts as long as the block, so that a service can be ended and started again on the same disk, as
full as it was.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

MIB = 1024 * 1024
# Root has no need of the second, in which the files of other users would be closed to it.
_NAMESPACES = ("--mount",) if os.geteuid() == 0 else ("--user", "--mount")
_FILES = {"--mount": "mnt", "--user": "user"}
_MOUNT = 'mount -t tmpfs -o "size=$1,mode=700" none "$2" && echo mounted && exec cat'


class SmallDisk:
    """A file system of so many bytes at a directory; used as a context it is there.

    Args:
        directory: Where it is seen; made if need be.
        size_bytes: All that it holds, the names of its files aside.
        user: The user that it belongs to, if not that of the tests.
    """

    def __init__(self, directory: Path, *, size_bytes: int, user: int | None = None) -> None:
        self.directory = directory
        self._size_bytes = size_bytes
        self._user = user
        self._holder: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "SmallDisk":
        self.directory.mkdir(parents=True, exist_ok=True)
        self._holder = subprocess.Popen(  # noqa: S603 - our own words
            [
                *_unshare(self._user),
                "sh",
                "-c",
                _MOUNT,
                "sh",
                str(self._size_bytes),
                str(self.directory),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            user=self._user,
        )
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != b"mounted\n":
            _, said = self._holder.communicate()
            raise AssertionError(f"no mount in a namespace is to be had here: {said.decode()}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # It ends with its standard input, and the file system with the last process that sees it.
        self._held.communicate()

    @property
    def namespaces(self) -> Sequence[Path]:
        """The namespaces of whoever is to see it, in the order in which they are entered."""
        return [Path(f"/proc/{self._held.pid}/ns/{_FILES[namespace]}") for namespace in _NAMESPACES]

    @property
    def seen(self) -> Path:
        """The directory as those inside see it, for those outside."""
        return Path(f"/proc/{self._held.pid}/root{self.directory.absolute()}")

    @property
    def free_bytes(self) -> int:
        """The free bytes."""
        found = os.statvfs(self.seen)
        return found.f_bavail * found.f_frsize

    def fill(self, name: str) -> Path:
        """Write a file of somebody else's until nothing is left; returns it."""
        place = self.seen / name
        with place.open("wb", buffering=0) as file:
            size_bytes = MIB
            while size_bytes:
                try:
                    file.write(bytes(size_bytes))
                except OSError:
                    size_bytes //= 2
        assert self.free_bytes == 0
        return place

    @property
    def _held(self) -> subprocess.Popen[bytes]:
        assert self._holder is not None
        return self._holder


def _unshare(user: int | None) -> Sequence[str]:
    if user is None and "--user" not in _NAMESPACES:
        return ("unshare", *_NAMESPACES)
    return ("unshare", "--user", "--mount", "--map-root-user")
