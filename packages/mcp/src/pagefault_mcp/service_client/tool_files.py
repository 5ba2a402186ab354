"""Files that tools of a server are given, in the place of handles."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from pagefault_dialects.media.file_names import extension_for, safe_file_name

LARGEST_TOOL_FILE_BYTES = 64 * 1024 * 1024
"""The largest file that a tool is given in the place of a handle."""


@dataclass(slots=True, eq=False)
class ToolFiles:
    """A folder with the files that tools are given; to be removed when their server has ended."""

    folder: Path
    """The folder of the files. If it is not there, it is made for its user alone; one that is there
    keeps its mode."""
    _written: dict[str, Path] = field(default_factory=dict)
    """The files, by the ids of what they are copies of."""
    _servers: dict[str, set[object]] = field(default_factory=dict)
    """Whose tools were given them."""
    _one_at_a_time: Lock = field(default_factory=Lock)
    _is_made: bool = False

    def write(
        self,
        server: object,
        resource_id: str,
        filename: str | None,
        mime_type: str | None,
        data: bytes,
    ) -> str:
        """Write a file under a safe name of its own; return its absolute path.

        One that was written before stays as it is: a tool may be reading it. So may a tool of
        another proxy that writes to the same folder, and whatever else is there is not ours.

        Args:
            server: Stands for the server whose tool is given it.
            resource_id: What it is a copy of.
            filename: What it is called there.
            mime_type: What it is.
            data: What it holds.
        """
        called = safe_file_name(filename) or f"file{extension_for(mime_type) or ''}"
        name = safe_file_name(f"{resource_id[:8]}-{called}") or resource_id
        with self._one_at_a_time:
            path = self._written.get(resource_id)
            if path is None or not path.is_file():
                self._written[resource_id] = path = self._new_file(name, data)
            self._servers.setdefault(resource_id, set()).add(server)
            return str(path)

    def _new_file(self, name: str, data: bytes) -> Path:
        if not self.folder.exists():
            # The names of the files are names of stored resources.
            self.folder.mkdir(mode=0o700, parents=True)
            self._is_made = True
        path, file = _create(self.folder.resolve(), name)
        try:
            with file:
                file.write(data)
        except BaseException:
            path.unlink()
            raise
        return path

    def clean_up(self, server: object = None) -> None:
        """Remove what was written, and the folder if it was made for that.

        Args:
            server: The one that has ended: what others' tools were given stays. `None` for all.
        """
        with self._one_at_a_time:
            for resource_id, servers in [*self._servers.items()]:
                servers.discard(server)
                if server is None or not servers:
                    del self._servers[resource_id]
                    # A tool may have put a folder in its place, for instance.
                    with suppress(OSError):
                        self._written.pop(resource_id).unlink()
            if self._is_made and not self._written:
                with suppress(OSError):
                    self.folder.rmdir()


def _create(folder: Path, name: str) -> tuple[Path, BinaryIO]:
    """Make a file that was not there, with a number before its name if that is taken."""
    for each in chain([name], (f"{number}-{name}" for number in count(2))):
        # A number may make it longer than a name can be.
        path = folder / (safe_file_name(each) or each)
        with suppress(FileExistsError):
            # A link is there, wherever it leads.
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            return path, os.fdopen(opened, "wb")
    raise AssertionError
