"""Files that replace handles in the arguments of a server's tools, for tools that take paths."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from pagefault_dialects.media.file_names import extension_for, safe_file_name

LARGEST_TOOL_FILE_BYTES = 64 * 1024 * 1024
"""The largest file that replaces a handle."""


@dataclass(slots=True, eq=False)
class ToolFiles:
    """A folder of files for tools. A file is removed when the servers that use it have exited."""

    folder: Path
    """The folder of the files. A missing folder is created for its user only; an existing one keeps
    its mode."""
    _written: dict[str, Path] = field(default_factory=dict)
    """The files, by the ids of their resources."""
    _servers: dict[str, set[object]] = field(default_factory=dict)
    """The servers whose tools use a file."""
    _lock: Lock = field(default_factory=Lock)
    _is_created: bool = False

    def write(
        self,
        server: object,
        resource_id: str,
        filename: str | None,
        mime_type: str | None,
        data: bytes,
    ) -> str:
        """Write a file under a safe, unique name; return its absolute path.

        Existing files are never overwritten: a tool may be reading them, or another program wrote
        them.

        Args:
            server: The key of the server whose tool uses the file.
            resource_id: The resource that the file is a copy of.
            filename: The name of the resource.
            mime_type: Its media type.
            data: Its content.
        """
        suffix = safe_file_name(filename) or f"file{extension_for(mime_type) or ''}"
        name = safe_file_name(f"{resource_id[:8]}-{suffix}") or resource_id
        with self._lock:
            path = self._written.get(resource_id)
            if path is None or not path.is_file():
                self._written[resource_id] = path = self._new_file(name, data)
            self._servers.setdefault(resource_id, set()).add(server)
            return str(path)

    def _new_file(self, name: str, data: bytes) -> Path:
        if not self.folder.exists():
            # Only the user may list it: the names of resources may be private.
            self.folder.mkdir(mode=0o700, parents=True)
            self._is_created = True
        path, file = _create(self.folder.resolve(), name)
        try:
            with file:
                file.write(data)
        except BaseException:
            path.unlink()
            raise
        return path

    def clean_up(self, server: object = None) -> None:
        """Remove written files, and the folder if it was created here.

        Args:
            server: The server that has exited; files that others use stay. `None` for all files.
        """
        with self._lock:
            for resource_id, servers in [*self._servers.items()]:
                servers.discard(server)
                if server is None or not servers:
                    del self._servers[resource_id]
                    # A tool may have replaced the file by a folder, for instance.
                    with suppress(OSError):
                        self._written.pop(resource_id).unlink()
            if self._is_created and not self._written:
                with suppress(OSError):
                    self.folder.rmdir()


def _create(folder: Path, name: str) -> tuple[Path, BinaryIO]:
    """Create a new file, with a number before its name if the name exists."""
    for item in chain([name], (f"{number}-{name}" for number in count(2))):
        # The number may make the name too long.
        path = folder / (safe_file_name(item) or item)
        with suppress(FileExistsError):
            # `O_EXCL` also refuses a symbolic link.
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            return path, os.fdopen(opened, "wb")
    raise AssertionError
