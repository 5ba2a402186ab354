"""Copies of stored files on disk, for tools of MCP servers that take the path of a file.

A stored file is a resource of the service. If an argument of a call is the handle of a resource
(`@blob:…`), the proxy writes a copy of the file and replaces the handle by the path of the copy.
"""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from pagefault_dialects.media.file_names import extension_for, safe_file_name

LARGEST_TOOL_FILE_BYTES = 64 * 1024 * 1024
"""The size of the largest file that is copied; `ServiceStore` checks it before the download."""


@dataclass(slots=True, eq=False)
class ToolFiles:
    """A folder of copies for tools. A copy is removed when all servers that use it have exited."""

    folder: Path
    """The folder. If it is missing, it is created with access for the current user only."""
    _copies: dict[str, Path] = field(default_factory=dict)
    """The paths of the copies, by resource id."""
    _servers: dict[str, set[object]] = field(default_factory=dict)
    """The servers whose tools use a copy, by the id of its resource."""
    _lock: Lock = field(default_factory=Lock)
    _has_created_folder: bool = False

    def write(
        self,
        server: object,
        resource_id: str,
        filename: str | None,
        mime_type: str | None,
        data: bytes,
    ) -> str:
        """Write a copy of a resource, unless there is one; return the absolute path of the copy.

        The name of a new copy is valid on every system, and unique: existing files are never
        overwritten, since a tool may be reading them, or another program may have written them.

        Args:
            server: Identifies the server whose tool uses the copy; see `clean_up`.
            resource_id: The id of the resource.
            filename: The file name of the resource, if it has one.
            mime_type: The media type of the resource, if it is known.
            data: The content of the resource.

        Raises:
            OSError: The copy cannot be written.
        """
        original_name = safe_file_name(filename) or f"file{extension_for(mime_type) or ''}"
        name = safe_file_name(f"{resource_id[:8]}-{original_name}") or resource_id
        with self._lock:
            path = self._copies.get(resource_id)
            if path is None or not path.is_file():
                self._copies[resource_id] = path = self._write_new_file(name, data)
            self._servers.setdefault(resource_id, set()).add(server)
            return str(path)

    def _write_new_file(self, name: str, data: bytes) -> Path:
        if not self.folder.exists():
            # Other users must not list the folder, since names of resources may be private.
            self.folder.mkdir(mode=0o700, parents=True)
            self._has_created_folder = True
        path, file = _create_file(self.folder.resolve(), name)
        try:
            with file:
                file.write(data)
        except BaseException:
            path.unlink()
            raise
        return path

    def clean_up(self, server: object = None) -> None:
        """Remove copies; also remove the folder if `write` created it, and it has no copies.

        Args:
            server: A server that has exited. Only copies that no other server uses are removed.
                `None` to remove all copies.
        """
        with self._lock:
            for resource_id, servers in [*self._servers.items()]:
                servers.discard(server)
                if server is None or not servers:
                    del self._servers[resource_id]
                    # A tool may have replaced the file by a folder, for instance.
                    with suppress(OSError):
                        self._copies.pop(resource_id).unlink()
            if self._has_created_folder and not self._copies:
                with suppress(OSError):
                    self.folder.rmdir()


def _create_file(folder: Path, name: str) -> tuple[Path, BinaryIO]:
    """Create a file and open it; if the name exists, put the first free number before it."""
    for candidate in chain([name], (f"{number}-{name}" for number in count(2))):
        # `safe_file_name` also shortens a name that the number has made too long.
        path = folder / (safe_file_name(candidate) or candidate)
        with suppress(FileExistsError):
            # `O_EXCL` also fails if the path is a symbolic link.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            return path, os.fdopen(descriptor, "wb")
    raise AssertionError
