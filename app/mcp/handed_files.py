"""Files that tools of a server are given, in the place of handles."""

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from app.rendering.names.file_names import extension_for, safe_file_name

MOST_HANDED_BYTES = 64 * 1024 * 1024
"""The largest file that a tool is given in the place of a handle."""


@dataclass(slots=True, eq=False)
class HandedFiles:
    """A folder with the files that tools are given; to be removed when the server has ended."""

    folder: Path
    """Where they are written. It is made, and stays if it was there."""
    _written: set[Path] = field(default_factory=set)
    _one_at_a_time: Lock = field(default_factory=Lock)
    _is_made: bool = False

    def write(
        self, resource_id: str, filename: str | None, mime_type: str | None, data: bytes
    ) -> str:
        """Write a file under a safe name of its own; return its absolute path.

        One that was written before stays as it is: a tool may be reading it.
        """
        with self._one_at_a_time:
            return self._write(resource_id, filename, mime_type, data)

    def _write(
        self, resource_id: str, filename: str | None, mime_type: str | None, data: bytes
    ) -> str:
        if not self.folder.exists():
            self.folder.mkdir(parents=True)
            self._is_made = True
        name = safe_file_name(filename) or f"file{extension_for(mime_type) or ''}"
        path = self.folder.resolve() / f"{resource_id[:8]}-{name}"
        if path in self._written and path.is_file():
            return str(path)
        # What somebody else has put there under this name is not followed.
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(opened, "wb") as file:
            file.write(data)
        self._written.add(path)
        return str(path)

    def clean_up(self) -> None:
        """Remove what was written, and the folder if it was made for that."""
        for path in self._written:
            path.unlink(missing_ok=True)
        if self._is_made:
            with suppress(OSError):
                self.folder.rmdir()
