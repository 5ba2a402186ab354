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
    """A folder with the files that tools are given; to be removed when their server has ended."""

    folder: Path
    """Where they are written. It is made, and stays if it was there."""
    _written: dict[Path, set[object]] = field(default_factory=dict)
    """The files, and the servers whose tools were given them."""
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

        One that was written before stays as it is: a tool may be reading it.

        Args:
            server: Stands for the server whose tool is given it.
            resource_id: What it is a copy of.
            filename: What it is called there.
            mime_type: What it is.
            data: What it holds.
        """
        with self._one_at_a_time:
            path = self._path(resource_id, filename, mime_type)
            if path not in self._written or not path.is_file():
                # What somebody else has put there under this name is not followed.
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
                with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
                    file.write(data)
            self._written.setdefault(path, set()).add(server)
            return str(path)

    def _path(self, resource_id: str, filename: str | None, mime_type: str | None) -> Path:
        if not self.folder.exists():
            self.folder.mkdir(parents=True)
            self._is_made = True
        name = safe_file_name(filename) or f"file{extension_for(mime_type) or ''}"
        return self.folder.resolve() / f"{resource_id[:8]}-{name}"

    def clean_up(self, server: object = None) -> None:
        """Remove what was written, and the folder if it was made for that.

        Args:
            server: The one that has ended: what others' tools were given stays. `None` for all.
        """
        with self._one_at_a_time:
            for path, servers in [*self._written.items()]:
                servers.discard(server)
                if server is None or not servers:
                    path.unlink(missing_ok=True)
                    del self._written[path]
            if self._is_made and not self._written:
                with suppress(OSError):
                    self.folder.rmdir()
