"""Find the files that tools write into a folder, to store them with the results of calls.

This is the option `--collect`. The folder is listed before and after each call. A new or changed
file is stored with every call that was open when the file appeared.

The folder is not trusted: a server may put links and pipes into it, or replace a file between two
checks. So each component of a path is opened separately, from `/` on, without following links, and
only regular files without hard links are read. Each file is copied first, so that later writes do
not change what is stored.
"""

import base64
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias, TypeVar, TypeVarTuple

import anyio
import anyio.to_thread

from pagefault_dialects.json.values import JsonValue, json_bytes
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.media.types import mime_type_for_filename
from pagefault_mcp.errors import describe_error, replace_unprintable
from pagefault_mcp.messages.file_mentions import find_paths

MAX_FILES = 100
"""The maximum number of files that are stored with a result."""
MAX_BYTES = 256 * 1024 * 1024
"""The maximum size of all files of a result."""

_MAX_THREADS = 4
_MAX_LISTED_FILES = 20_000
_MAX_DEPTH = 16
# A file is complete if it has not changed for this time.
_QUIET_SECONDS = 0.2
# The longest wait until the files of a call no longer change.
_GROWING_SECONDS = 5.0
# The longest time that the response to a call is delayed for its files.
_COLLECT_SECONDS = 10.0
# The longest time that a call is delayed for the listing before it.
_LISTING_SECONDS = 2.0
# The maximum number of open calls. Above it, the oldest call is forgotten, since a cancelled call
# may never end.
_MAX_CALLS = 1_000
# Divisible by three, so that the pieces of base64 can be joined.
_PIECE_BYTES = 192 * 1024
# The member of `_meta` with the path of the file.
_PATH_MEMBER = "pagefault/collected"
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileState(NamedTuple):
    """The properties of a file by which a change is recognised."""

    inode: int
    size_bytes: int
    modified_ns: int
    changed_ns: int


_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")

Listing: TypeAlias = Mapping[str, FileState]
"""The states of the files of a folder, by their relative paths."""


class _NotStoredError(Exception):
    """A file cannot be stored; the message has the reason."""


@dataclass(frozen=True, slots=True)
class CollectedFile:
    """A copy of a file that a tool has left in the folder."""

    path: str
    """The path of the file, relative to the folder."""
    copy: IO[bytes]
    size_bytes: int

    def encode_block(self) -> Iterator[bytes]:
        """Yield the JSON of the content block that has the file, in pieces."""
        path = os.fsencode(self.path).decode("utf-8", "replace")
        name = safe_file_name(path) or "file"
        mime_type = mime_type_for_filename(name) or "application/octet-stream"
        block_head = {"type": "file", "filename": name, "_meta": {_PATH_MEMBER: path}}
        # A data URI, since plain base64 of a short file could be taken for a text.
        yield json_bytes(block_head)[:-1] + f',"data":"data:{mime_type};base64,'.encode()
        self.copy.seek(0)
        while piece := self.copy.read(_PIECE_BYTES):
            yield base64.b64encode(piece)
        yield b'"}'


class CollectedFolder:
    """A folder into which tools write files.

    Args:
        folder: The folder, which may be missing.
        warn: Logs why a file is not stored.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self._root = str(folder.resolve())
        # The absolute paths by which results may name the folder; they differ if it is a link.
        self._folder_paths = (self._root, os.path.abspath(folder))
        # The folders to which relative paths in results may refer.
        self._base_folders = (self._root, str(Path.cwd()))
        self._warn = warn
        # The files of the last listing: for each path, its state, and the number of the first
        # listing that had the file in this state.
        self._files: Mapping[str, tuple[FileState, int]] = {}
        self._listing_number = 0
        # For each open call, the number of the listing before the call.
        self._start_numbers: dict[str, int] = {}
        self._listing_lock = anyio.Lock()
        # Files that were still growing at the end of an earlier call.
        self._growing: set[str] = set()
        # The last warning of a listing that failed, which is not repeated.
        self._listing_failure = ""
        self._threads = anyio.CapacityLimiter(_MAX_THREADS)

    async def begin(self, call_id: str) -> None:
        """List the files before a call, with a timeout.

        Without a listing, only files whose paths the result contains are stored for this call.
        """
        with anyio.move_on_after(_LISTING_SECONDS):
            if await self._update_files():
                while len(self._start_numbers) >= _MAX_CALLS:
                    del self._start_numbers[next(iter(self._start_numbers))]
                # If the host repeats a call with more input, the first listing counts.
                self._start_numbers.setdefault(call_id, self._listing_number)

    async def collect(
        self, call_id: str, result: JsonValue, files: ExitStack
    ) -> list[CollectedFile]:
        """Return copies of the files to store with a call that has ended.

        These are files whose paths its result contains, and files that are new or changed since
        `begin`.

        Args:
            call_id: The id of the call.
            result: The result of the call.
            files: The exit stack that closes the copies.
        """
        collected: list[CollectedFile] = []
        start_number = self._start_numbers.pop(call_id, None)
        with anyio.move_on_after(_COLLECT_SECONDS) as scope:
            mentioned = await self._run(self._find_mentioned_paths, result)
            found = await self._find_files(mentioned, start_number)
            found = await self._wait_until_complete(found, start_number)
            remaining_bytes = MAX_BYTES
            for path, state in found.items():
                try:
                    copied = await self._run(_copy_file, self._root, path, state, remaining_bytes)
                except (OSError, _NotStoredError) as exc:
                    self._warn_not_stored(path, describe_error(exc))
                    continue
                files.enter_context(copied.copy)
                collected.append(copied)
                remaining_bytes -= copied.size_bytes
        if scope.cancelled_caught:
            self._warn(f"not all files of a call were stored within {_COLLECT_SECONDS:g} seconds")
        return collected

    async def _run(self, function: Callable[[*_Arguments], _Result], *args: *_Arguments) -> _Result:
        """Call a function in a thread; the number of threads of a folder is limited.

        So a slow folder, such as one on a network, does not use up the threads of this process.
        """
        return await anyio.to_thread.run_sync(
            function, *args, abandon_on_cancel=True, limiter=self._threads
        )

    def _list_files(self) -> Listing | None:
        """Return the files of the folder.

        Return `None`, and log a warning, if they cannot be listed or there are too many.
        """
        try:
            listing = dict(islice(_walk_files(self._root), _MAX_LISTED_FILES + 1))
        except FileNotFoundError:
            # The folder may be created later.
            return {}
        except OSError as exc:
            failure = describe_error(exc)
        else:
            if len(listing) <= _MAX_LISTED_FILES:
                return listing
            failure = f"it has more than {_MAX_LISTED_FILES:,} files"
        if failure != self._listing_failure:
            self._listing_failure = failure
            self._warn(f"of {self._root}, only files that results name are stored: {failure}")
        return None

    async def _update_files(self) -> bool:
        """List the files of the folder, and set `_files`; return whether that was possible."""
        async with self._listing_lock:
            current = await self._run(self._list_files)
            if current is None:
                return False
            self._listing_number += 1
            previous, number = self._files, self._listing_number
            self._files = {
                path: previous[path]
                if path in previous and previous[path][0] == state
                else (state, number)
                for path, state in current.items()
            }
            return True

    def _find_mentioned_paths(self, result: JsonValue) -> list[str]:
        """Return the paths below the folder that the result contains, relative to the folder."""
        return list(dict.fromkeys(find_paths(result, self._folder_paths, self._base_folders)))

    async def _find_files(
        self, mentioned: Sequence[str], start_number: int | None
    ) -> dict[str, FileState]:
        """Return the files to store: mentioned files first, then new ones, the oldest first.

        Args:
            mentioned: The paths of files that the result contains.
            start_number: The number of the listing before the call; `None` if there is none.
        """
        if not await self._update_files():
            found = await self._run(_read_states, self._root, mentioned)
        else:
            files = self._files
            found = {path: files[path][0] for path in mentioned if path in files}
            new = {
                path: state
                for path, (state, _) in files.items()
                if self._is_new(path, start_number)
            }
            found |= dict(sorted(new.items(), key=lambda item: item[1].modified_ns))
        if len(found) > MAX_FILES:
            self._warn(
                f"{len(found) - MAX_FILES:,} of {len(found):,} files of a call are not stored"
            )
        return dict(islice(found.items(), MAX_FILES))

    def _is_new(self, path: str, start_number: int | None) -> bool:
        """Return whether a file has appeared or changed since a listing, given by its number."""
        return (
            start_number is not None and path in self._files and self._files[path][1] > start_number
        )

    async def _wait_until_complete(
        self, found: Mapping[str, FileState], start_number: int | None
    ) -> dict[str, FileState]:
        """Wait until the new files among `found` no longer change, with a timeout.

        Returns:
            The files that no longer change, without empty ones, in the same order.
        """
        growing = {
            path: state
            for path, state in found.items()
            if start_number is None or self._is_new(path, start_number)
        }
        complete = {path: state for path, state in found.items() if path not in growing}
        with anyio.move_on_after(_GROWING_SECONDS):
            while growing:
                await anyio.sleep(_QUIET_SECONDS)
                current = await self._run(_read_states, self._root, [*growing])
                unchanged = {
                    path: state for path, state in current.items() if growing[path] == state
                }
                complete |= unchanged
                # Files that an earlier call has waited for in vain are not waited for again.
                still_growing = current.keys() - unchanged.keys() - self._growing
                growing = {path: current[path] for path in still_growing}
        for path in growing:
            self._warn_not_stored(path, "it is still being written")
        self._growing = set(islice(self._growing - complete.keys(), MAX_FILES)) | growing.keys()
        # An empty file is one that the tool has created but not written yet.
        return {
            path: complete[path] for path in found if path in complete and complete[path].size_bytes
        }

    def _warn_not_stored(self, path: str, reason: str) -> None:
        self._warn(f"{replace_unprintable(path)} in {self._root} is not stored: {reason}")


def _walk_files(root: str) -> Iterator[tuple[str, FileState]]:
    """Yield the paths and states of the regular files below a folder, without following links."""
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            descriptor = _open_below(root, folder, os.O_DIRECTORY)
        except OSError:
            # Subfolders that cannot be opened are skipped.
            if not folder:
                raise
            continue
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    path = os.path.join(folder, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        folders += [path] if path.count(os.sep) < _MAX_DEPTH else []
                    elif entry.is_file(follow_symlinks=False):
                        with suppress(OSError):
                            yield path, _make_state(entry.stat(follow_symlinks=False))
        finally:
            os.close(descriptor)


def _open_below(root: str, path: str, flags: int = 0) -> int:
    """Open a file below a folder, without following links; return the descriptor.

    Args:
        root: The absolute path of the folder.
        path: The path of the file, relative to the folder.
        flags: Additional flags of `os.open`.

    Raises:
        OSError: The file does not exist, or a component of its path is a link.
    """
    names = [*Path(root).parts[1:], *Path(path).parts]
    descriptor = os.open(os.sep, _OPEN_FLAGS | os.O_DIRECTORY)
    for number, name in enumerate(names, 1):
        extra_flags = flags if number == len(names) else os.O_DIRECTORY
        try:
            next_descriptor = os.open(name, _OPEN_FLAGS | extra_flags, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = next_descriptor
    return descriptor


def _make_state(status: os.stat_result) -> FileState:
    return FileState(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _read_states(root: str, paths: Iterable[str]) -> dict[str, FileState]:
    """Return the states of those paths below a folder that are regular files."""
    states = {}
    for path in paths:
        with suppress(OSError, _NotStoredError):
            descriptor = _open_below(root, path)
            try:
                states[path] = _check_regular(os.fstat(descriptor))
            finally:
                os.close(descriptor)
    return states


def _check_regular(status: os.stat_result) -> FileState:
    """Return the state of a file; raise `_NotStoredError` unless it is a regular file."""
    if not stat.S_ISREG(status.st_mode):
        raise _NotStoredError("it is no regular file")
    return _make_state(status)


def _copy_file(root: str, path: str, state: FileState, max_bytes: int) -> CollectedFile:
    """Return a copy of a file.

    Args:
        root: The folder.
        path: The path of the file, relative to the folder.
        state: The state of the file when it was found.
        max_bytes: The maximum size of the file.

    Raises:
        OSError: The file cannot be read.
        _NotStoredError: The file has changed, is too large, or has a hard link.
    """
    if state.size_bytes > max_bytes:
        raise _NotStoredError(f"all files of a call may have {MAX_BYTES:,} bytes")
    descriptor = _open_below(root, path)
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the result
    try:
        status = os.fstat(descriptor)
        if status.st_nlink > 1:
            raise _NotStoredError("it has another name, a hard link")
        is_same = _check_regular(status) == state
        while is_same and (piece := os.read(descriptor, _PIECE_BYTES)):
            copy.write(piece)
            is_same = copy.tell() <= state.size_bytes
        if not is_same or _make_state(os.fstat(descriptor)) != state:
            raise _NotStoredError("it has changed")
    except BaseException:
        copy.close()
        raise
    finally:
        os.close(descriptor)
    return CollectedFile(path, copy, state.size_bytes)
