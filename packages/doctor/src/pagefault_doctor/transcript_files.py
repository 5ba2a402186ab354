"""Reading and replacing of transcripts: files of JSON lines to which a coding agent appends.

A file is read line by line, and only the messages of the conversation are kept in memory. The sizes
of a line and of the conversation are limited, and the size of the file is not. To change a file, a
new one is written and renamed to the old name. The old file is kept as `FILE.bak`.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from app.cli.terminal import CommandError
from app.models.limits import Limits
from pagefault_dialects.dialects.claude_code import group_lines
from pagefault_dialects.errors import InvalidJsonError, PayloadTooLargeError
from pagefault_dialects.json.values import JsonObject, JsonValue, json_bytes, parse_json

Host = Literal["claude-code", "codex"]
HOST_NAMES: Mapping[Host, str] = {"claude-code": "Claude Code", "codex": "Codex"}
TARGETS: Mapping[Host, str] = {"claude-code": "anthropic", "codex": "openai-responses"}
"""The target whose messages each host sends."""

_LIMITS = Limits()
_MIB = 1024 * 1024
_MAX_LEADING_LINES = 1_000
"""A file is no transcript if there is no message in this number of lines at its beginning."""
_TRANSCRIPT_MEMBERS = (b'"uuid"', b'"payload"')
_CODEX_LINES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_OUTLINE_MEMBERS = ("type", "uuid", "parentUuid", "isSidechain", "timestamp", "subtype")
_PROCESSES = Path("/proc")


class TranscriptError(CommandError):
    """The transcript cannot be read or changed; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The lines of a transcript, with the members that are needed to examine them."""

    host: Host
    lines: list[JsonObject]
    """The value of each line. Only lines of the conversation have their messages."""
    broken: frozenset[int]
    """The indexes of the lines that are no JSON."""
    is_cut: bool
    """True if the last line is no JSON, and has no line end."""

    def body(self) -> bytes:
        """Return the lines as a JSON array."""
        return json_bytes(self.lines)


def parse_line(line: bytes) -> JsonValue:
    """Return the value of a line; numbers keep their spelling."""
    return parse_json(
        line, max_depth=_LIMITS.json_depth, max_nodes=_LIMITS.json_nodes, keeps_spelling=True
    )


def find_host(file: Path) -> Host | None:
    """Return the agent that wrote a file; `None` if it is no transcript of JSON lines.

    Raises:
        TranscriptError: The file cannot be read.
    """
    with _open_file(file) as source:
        for number, line in enumerate(_read_lines(source, file)):
            if number == _MAX_LEADING_LINES:
                break
            if not any(mark in line for mark in _TRANSCRIPT_MEMBERS):
                continue
            with suppress(InvalidJsonError):
                host = _find_line_host(parse_line(line))
                if host is not None:
                    return host
    return None


def _find_line_host(line: JsonValue) -> Host | None:
    if not isinstance(line, dict):
        return None
    if line.get("type") in _CODEX_LINES and isinstance(line.get("payload"), dict):
        return "codex"
    is_message = line.get("type") in ("user", "assistant") and "uuid" in line
    return "claude-code" if is_message and isinstance(line.get("message"), dict) else None


def read_transcript(file: Path, host: Host) -> Transcript:
    """Return the transcript in a file, with the messages of its conversation.

    Raises:
        TranscriptError: The file cannot be read, or a line or the conversation is too large.
    """
    lines: list[JsonObject] = []
    broken: set[int] = set()
    raw = b""
    make_outline = _outline_claude_code_line if host == "claude-code" else _outline_codex_line
    size = 0
    with _open_file(file) as source:
        for raw in _read_lines(source, file):
            try:
                value = parse_line(raw)
                outline = make_outline(value)
            except InvalidJsonError:
                if raw.strip():
                    broken.add(len(lines))
                outline = make_outline(None)
            except PayloadTooLargeError as exc:
                text = f"line {len(lines) + 1} of {file} has too many JSON values to examine."
                raise TranscriptError(text) from exc
            else:
                # Only lines that are kept whole count.
                size += len(raw) if outline is value else 0
                _check_size(size, file)
            lines.append(outline)
        if host == "claude-code":
            _add_messages(lines, source, file)
    is_cut = bool(lines) and len(lines) - 1 in broken and not raw.endswith(b"\n")
    return Transcript(host, lines, frozenset(broken), is_cut)


def _outline_claude_code_line(line: JsonValue) -> JsonObject:
    """Return the outline of a line of Claude Code: its members, and the types of its blocks.

    The outline is enough to find the lines of the conversation.
    """
    if not isinstance(line, dict):
        return {"type": "", "sessionId": ""}
    outline = {name: line[name] for name in _OUTLINE_MEMBERS if name in line} | {"sessionId": ""}
    message = line.get("message")
    if not isinstance(message, dict):
        return outline
    content = message.get("content")
    if isinstance(content, list):
        content = [
            {"type": block.get("type")} if isinstance(block, dict) else block for block in content
        ]
    return {**outline, "message": {"id": message.get("id"), "content": content}}


def _outline_codex_line(line: JsonValue) -> JsonObject:
    """Return a line of Codex without the payload of lines that are no messages."""
    if not isinstance(line, dict):
        return {"type": "event_msg", "payload": {}}
    has_messages = line.get("type") in ("response_item", "compacted") or "payload" not in line
    return line if has_messages else {**line, "payload": {}}


def _add_messages(lines: list[JsonObject], source: BinaryIO, file: Path) -> None:
    """Add the messages of the lines of the conversation, and remove those of other lines."""
    in_conversation = {index for group in group_lines(lines) for index in group}
    size = 0
    source.seek(0)
    for index, raw in enumerate(_read_lines(source, file)):
        outline = lines[index]
        outline.pop("message", None)
        if index in in_conversation:
            outline["message"] = parse_line(raw)["message"]
            size += len(json_bytes(outline["message"]))
            _check_size(size, file)


def _check_size(size: int, file: Path) -> None:
    if size > _LIMITS.history_bytes:
        raise TranscriptError(
            f"the conversation in {file} has more than {_LIMITS.history_bytes // _MIB} MiB, which "
            "no model reads: compact it, or start a new session."
        )


@contextmanager
def _open_file(file: Path) -> Iterator[BinaryIO]:
    try:
        with file.open("rb") as source:
            yield source
    except OSError as exc:
        raise TranscriptError(f"{file} cannot be read: {exc.strerror}.") from exc


def _read_lines(source: BinaryIO, file: Path) -> Iterator[bytes]:
    limit = _LIMITS.history_bytes
    number = 0
    while line := source.readline(limit + 1):
        number += 1
        if len(line) > limit:
            raise TranscriptError(f"line {number} of {file} has more than {limit // _MIB} MiB.")
        yield line


def replace_file(
    file: Path,
    status: os.stat_result,
    change: Callable[[int, bytes], bytes],
    check: Callable[[Path], Any],
) -> Path:
    """Replace a file by a changed one; return the path of its backup.

    Args:
        file: The path, without symbolic links.
        status: The state of the file when it was examined.
        change: Returns the new bytes of a line, given its index and its bytes.
        check: Is called with the path of the new file before the old file is replaced.

    Raises:
        TranscriptError: Another process has the file open or has changed it, or the new file cannot
            be written. The file is then unchanged.
    """
    descriptor, name = -1, None
    try:
        with file.open("rb") as source:
            _check_unused(file, source, status)
            descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
            with os.fdopen(descriptor, "wb") as output:
                for index, line in enumerate(_read_lines(source, file)):
                    output.write(change(index, line))
                _copy_owner(output.fileno(), status)
                output.flush()
                os.fsync(output.fileno())
            check(Path(name))
            backup = _back_up(file)
            try:
                _check_unused(file, source, status)
            except TranscriptError:
                backup.unlink()
                raise
            Path(name).replace(file)
            name = None
        _sync_folder(file.parent)
        return backup
    except OSError as exc:
        raise TranscriptError(f"{file} cannot be replaced: {exc.strerror}.") from exc
    finally:
        if name is not None:
            Path(name).unlink(missing_ok=True)


def _check_unused(file: Path, source: BinaryIO, status: os.stat_result) -> None:
    current = file.stat()
    opened = os.fstat(source.fileno())
    if not _file_identity(current) == _file_identity(status) == _file_identity(opened):
        raise TranscriptError(f"{file} has changed meanwhile: end the session that writes it.")
    words = _find_user(current) if _PROCESSES.is_dir() else _try_lock(source)
    if words is not None:
        raise TranscriptError(f"{file} is in use{words}: end the session that writes it.")


def _file_identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _find_user(status: os.stat_result) -> str | None:
    """Return words such as ` by process 12` if another process has a file open, else `None`."""
    for folder in _PROCESSES.glob("[0-9]*/fd"):
        process = folder.parent.name
        if process == str(os.getpid()):
            continue
        # Processes of other users cannot be read, and any process may end meanwhile.
        with suppress(OSError):
            for link in folder.iterdir():
                with suppress(OSError):
                    if os.path.samestat(link.stat(), status):
                        return f" by process {process}"
    return None


def _try_lock(source: BinaryIO) -> str | None:
    """Lock a file on a system without `/proc`; return an empty text if it is locked already."""
    try:
        fcntl.flock(source, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return ""
    return None


def _copy_owner(descriptor: int, status: os.stat_result) -> None:
    os.fchmod(descriptor, status.st_mode & 0o7777)
    current = os.fstat(descriptor)
    if (current.st_uid, current.st_gid) != (status.st_uid, status.st_gid):
        os.fchown(descriptor, status.st_uid, status.st_gid)
        os.fchmod(descriptor, status.st_mode & 0o7777)


def _back_up(file: Path) -> Path:
    """Link a file to a new name for its backup, and return the name. Older backups are kept."""
    number = 1
    while True:
        backup = file.with_name(f"{file.name}.bak{'' if number == 1 else f'.{number}'}")
        try:
            os.link(file, backup)
        except FileExistsError:
            number += 1
        except OSError:
            # Some file systems have no links.
            with backup.open("xb"):
                shutil.copy2(file, backup)
            return backup
        else:
            return backup


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
