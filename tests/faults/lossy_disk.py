"""A disk that loses its power: what was not synced is lost, or is not, as it pleases.

File operations are replayed one after the other. Behind each, the power may fail. Then of every
name that was made, replaced or removed since its directory was synced, either may be found, each
for itself; and of every file what was written since it was synced is there, or is not.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TypeAlias

_FOLDER = -1
"""Stands for a directory, where a file has a number."""


@dataclass(frozen=True, slots=True)
class Named:
    """A file or, without a number, a directory got a name, its first or another one."""

    path: Path
    file: int = _FOLDER


@dataclass(frozen=True, slots=True)
class Unnamed:
    """A name was removed."""

    path: Path


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes were added to a file."""

    file: int
    data: bytes


@dataclass(frozen=True, slots=True)
class FileSynced:
    """The content of a file was synced."""

    file: int


@dataclass(frozen=True, slots=True)
class FolderSynced:
    """The names in a directory were synced."""

    path: Path


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit was begun; from here on rows may be found that need these blobs."""

    digests: frozenset[str]


@dataclass(frozen=True, slots=True)
class Answered:
    """A client was told that these blobs are kept."""

    digests: frozenset[str]


Operation: TypeAlias = Named | Unnamed | Written | FileSynced | FolderSynced | Committed | Answered
Found: TypeAlias = Mapping[Path, str]
"""The SHA-256 of the bytes of each file that can be reached."""


@dataclass
class LossyDisk:
    """A disk on which a directory and what is above it are there already."""

    root: Path
    _contents: dict[int, bytearray] = field(default_factory=dict)
    _synced_bytes: dict[int, int] = field(default_factory=dict)
    _names: dict[Path, int] = field(default_factory=dict)
    _synced_names: dict[Path, int] = field(default_factory=dict)
    _digests: dict[tuple[int, int], str] = field(default_factory=dict)

    def do(self, operation: Operation) -> None:
        """Do what was done."""
        match operation:
            case Named(path, file):
                self._names[path] = file
                self._contents.setdefault(file, bytearray())
            case Unnamed(path):
                self._names.pop(path, None)
            case Written(file, data):
                self._contents[file] += data
            case FileSynced(file):
                self._synced_bytes[file] = len(self._contents[file])
            case FolderSynced(path):
                for name in self._changed_names():
                    if name.parent == path:
                        self._sync_name(name)

    def after_power_loss(self) -> Iterator[Found]:
        """All that may be found if the power fails now."""
        changed = self._changed_names()
        for kept in product((False, True), repeat=len(changed)):
            names = dict(self._synced_names)
            for name in (name for name, is_kept in zip(changed, kept, strict=True) if is_kept):
                _set(names, name, self._names.get(name))
            files = {
                path: file
                for path, file in names.items()
                if file != _FOLDER and self._is_reached(path, names)
            }
            yield {path: self._digest(file, self._lost(file)) for path, file in files.items()}
            yield {path: self._digest(file, self._kept(file)) for path, file in files.items()}

    def _changed_names(self) -> list[Path]:
        paths = self._names.keys() | self._synced_names.keys()
        return [path for path in paths if self._names.get(path) != self._synced_names.get(path)]

    def _sync_name(self, name: Path) -> None:
        _set(self._synced_names, name, self._names.get(name))

    def _is_reached(self, path: Path, names: Mapping[Path, int]) -> bool:
        above = path.parent
        return above == self.root or (above in names and self._is_reached(above, names))

    def _lost(self, file: int) -> int:
        return self._synced_bytes.get(file, 0)

    def _kept(self, file: int) -> int:
        return len(self._contents[file])

    def _digest(self, file: int, size_bytes: int) -> str:
        if (file, size_bytes) not in self._digests:
            data = self._contents[file][:size_bytes]
            self._digests[file, size_bytes] = hashlib.sha256(data).hexdigest()
        return self._digests[file, size_bytes]


def faults(root: Path, operations: Iterable[Operation]) -> set[str]:
    """Yield the faults after a power loss behind each of the operations.

    `lost` is a blob that a row needs, `torn` is one under its final name with other bytes, and
    `forgotten` is one that a client was told of before its row was committed.
    """
    disk, found = LossyDisk(root), set[str]()
    committed: frozenset[str] = frozenset()
    for operation in operations:
        disk.do(operation)
        match operation:
            case Committed(digests):
                committed = digests
            case Answered(digests) if not digests <= committed:
                found.add("forgotten")
        for files in disk.after_power_loss():
            blobs = {path.name: digest for path, digest in files.items() if _is_blob(root, path)}
            if not committed <= blobs.keys():
                found.add("lost")
            if any(name != digest for name, digest in blobs.items()):
                found.add("torn")
    return found


def _is_blob(root: Path, path: Path) -> bool:
    return path.is_relative_to(root / "blobs")


def _set(names: dict[Path, int], name: Path, file: int | None) -> None:
    if file is None:
        names.pop(name, None)
    else:
        names[name] = file
