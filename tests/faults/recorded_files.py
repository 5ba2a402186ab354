"""Records what this process does to the files below a directory, and when it commits to SQLite.

What SQLite itself does to its file is one step, the commit. It is noted where it begins: a power
loss behind that may find it done.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event

from tests.faults.lossy_disk import (
    Committed,
    FileSynced,
    FolderSynced,
    Named,
    Operation,
    Unnamed,
    Written,
)

_NEEDED = "SELECT digest FROM resources UNION SELECT digest FROM upload_segments"
_TABLES = "SELECT count(*) FROM sqlite_master WHERE name IN ('resources', 'upload_segments')"
_FULL = 2


@dataclass
class Recorder:
    """Stands between Python and the operating system."""

    root: Path
    operations: list[Operation] = field(default_factory=list)
    _files: dict[Path, int] = field(default_factory=dict)
    _opened: dict[int, Path | int] = field(default_factory=dict)
    _numbers: int = 0
    # What is done and the note of it are one, whatever other threads do.
    _lock: RLock = field(default_factory=RLock)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record for the length of the block."""
        with pytest.MonkeyPatch.context() as patch:
            for name in ("open", "close", "write", "fsync", "mkdir", "replace", "unlink"):
                patch.setattr(os, name, self._between(getattr(os, name), getattr(self, f"_{name}")))
            event.listen(Engine, "commit", self._commit)
            try:
                yield
            finally:
                event.remove(Engine, "commit", self._commit)

    def _between(self, call: Any, note: Any) -> Any:  # noqa: ANN401 - any function of `os`
        def called(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - what it is called with
            with self._lock:
                if call is close:
                    note(None, *given)
                    return call(*given, **named)
                done = call(*given, **named)
                note(done, *given)
                return done

        close = os.close
        return called

    def _open(self, descriptor: int, path: Any, flags: int, *_: object) -> None:  # noqa: ANN401
        place = Path(os.fspath(path)) if isinstance(path, str | Path) else None
        if place is None or not place.is_relative_to(self.root):
            return
        if flags & os.O_DIRECTORY:
            self._opened[descriptor] = place
            return
        if flags & os.O_CREAT and place not in self._files:
            self._numbers += 1
            self._files[place] = self._numbers
            self.operations.append(Named(place, self._numbers))
        if place in self._files:
            self._opened[descriptor] = self._files[place]

    def _close(self, _: None, descriptor: int) -> None:
        self._opened.pop(descriptor, None)

    def _write(self, size_bytes: int, descriptor: int, data: Any) -> None:  # noqa: ANN401
        file = self._opened.get(descriptor)
        if isinstance(file, int):
            self.operations.append(Written(file, bytes(data[:size_bytes])))

    def _fsync(self, _: None, descriptor: int) -> None:
        match self._opened.get(descriptor):
            case int(file):
                self.operations.append(FileSynced(file))
            case Path() as folder:
                self.operations.append(FolderSynced(folder))

    def _mkdir(self, _: None, path: Any, *__: object) -> None:  # noqa: ANN401
        if Path(path).is_relative_to(self.root):
            self.operations.append(Named(Path(path)))

    def _replace(self, _: None, source: Any, target: Any) -> None:  # noqa: ANN401
        file = self._files.pop(Path(source), None)
        if file is not None:
            self._files[Path(target)] = file
            self.operations += [Named(Path(target), file), Unnamed(Path(source))]

    def _unlink(self, _: None, path: Any, **__: object) -> None:  # noqa: ANN401
        if self._files.pop(Path(path), None) is not None:
            self.operations.append(Unnamed(Path(path)))

    def _commit(self, connection: Connection) -> None:
        run = connection.exec_driver_sql
        assert run("PRAGMA synchronous").scalar_one() == _FULL
        has_tables = run(_TABLES).scalar_one() == 2
        digests = frozenset(run(_NEEDED).scalars()) if has_tables else frozenset()
        with self._lock:
            self.operations.append(Committed(digests))
