"""Put the MCP servers in a host's configuration behind the proxy: `pagefault proxy --config`.

Claude Desktop and Cursor have their servers under `mcpServers`, VS Code under `servers`, or in its
settings under `mcp`. Only the command or URL of a server is rewritten. Comments, order, white space
and other members of the file are preserved, character for character.

`--dry-run` prints the changes without secrets. Any value of a server may be a secret: an argument,
a URL with a password or a key in its path, a server that is commented out. So only the words of the
proxy's own command are printed, and words that match a pattern of harmless ones. All other words
are masked.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from pagefault_mcp.errors import one_line
from pagefault_mcp.hosts.host_servers import URLS, ConfigError, HostServer, read_servers
from pagefault_mcp.messages.json_spans import Span

_MASK = "•••"
_NAME = re.compile(r"[A-Za-z][A-Za-z-]{0,39}")
_OPTION = re.compile(r"-[A-Za-z]|--[A-Za-z][A-Za-z-]{0,29}")
_COMMAND = re.compile(r"(?:[A-Za-z]:)?[\w.+~/\\-]+")
_PACKAGE = re.compile(r"(?:@[a-z][a-z-]*/)?[a-z][a-z-]*(?:@[a-z]{1,10}|@\d{1,4}(?:\.\d{1,4})*)?")
_SCHEME = re.compile(r"(?:https?|wss?)://", re.IGNORECASE)
# Commands whose first argument is the package to run; `_FLAGS` may precede it.
_RUNNERS = frozenset({"npx", "uvx", "bunx", "npx.cmd", "uvx.exe"})
_FLAGS = frozenset({"-y", "--yes", "-q", "--quiet"})
# Options of the proxy that have a value.
_PROXY_OPTIONS = frozenset(
    {"--session", "--url", "--project", "--data-dir", "--env-file", "--files", "--prefix"}
    | {"--max-bytes", "--max-images", "--max-tokens", "--max-text", "--max-image-pixels"}
)
_PROXY_VALUE = re.compile(r"(?:https?://)?[\w.:/\\ ~-]*")


def describe_difference(path: Path, before: bytes, after: bytes) -> str:
    """Return the old and new command line of each changed server, without secrets."""
    lines = [str(path)]
    for old, new in zip(read_servers(before), read_servers(after), strict=True):
        if old.values != new.values:
            before_lines, after_lines = list(_describe_server(old)), list(_describe_server(new))
            lines.append(f"  {json.dumps(old.name, ensure_ascii=False)}")
            lines += [
                f"-   {before_line}"
                for before_line in before_lines
                if before_line not in after_lines
            ]
            lines += [
                f"+   {after_line}" for after_line in after_lines if after_line not in before_lines
            ]
    return "".join(f"{one_line(line)}\n" for line in lines)


def _describe_server(server: HostServer) -> Iterator[str]:
    """Yield a line for each member with the command or URL of a server, without secrets."""
    command = server.values.get("command")
    members: dict[str, object] = {}
    if isinstance(command, str):
        members["command"] = command if server.is_behind_proxy else _mask_command(command)
        members["args"] = list(_describe_arguments(server, command))
    else:
        members = {key: _mask_url(str(server.values[key])) for key in URLS if key in server.values}
        headers = server.values.get("headers")
        if isinstance(headers, dict):
            members["headers"] = {_mask_unknown(_NAME, name): _MASK for name in headers}
    for key, value in members.items():
        yield f'"{key}": {json.dumps(value, ensure_ascii=False)}'


def _describe_arguments(server: HostServer, command: str) -> Iterator[str]:
    args = server.args
    if not server.is_behind_proxy:
        yield from _mask_words(command, args)
        return
    end = min((args.index(name) for name in ("--", "--upstream") if name in args), default=None)
    proxy_args, server_args = args[:end], args[len(args) if end is None else end :]
    for previous, word in pairwise(["", *proxy_args]):
        yield _mask_unknown(_PROXY_VALUE if previous in _PROXY_OPTIONS else _OPTION, word, "proxy")
    yield from server_args[:1]
    if server_args[:1] == ["--"]:
        yield from map(_mask_command, server_args[1:2])
        yield from _mask_words("".join(server_args[1:2]), server_args[2:])
    else:
        yield from map(_mask_url, server_args[1:2])
        yield from map(_mask_header, server_args[2:])


def _mask_words(command: str, args: Sequence[str]) -> Iterator[str]:
    """Yield a server's arguments; all are masked except names of options and of the package."""
    is_package_next = re.split(r"[/\\]", command)[-1].lower() in _RUNNERS
    for word in args:
        option, equals, _ = word.partition("=")
        if _OPTION.fullmatch(option):
            yield f"{option}={_MASK}" if equals else option
        else:
            yield _mask_unknown(_PACKAGE, word) if is_package_next else _MASK
        is_package_next = is_package_next and word in _FLAGS


def _mask_command(command: str) -> str:
    return _mask_unknown(_COMMAND, command)


def _mask_header(word: str) -> str:
    name, colon, _ = word.partition(":")
    return f"{_mask_unknown(_NAME, name)}: {_MASK}" if colon else _mask_unknown(_OPTION, word)


def _mask_url(url: str) -> str:
    scheme = _SCHEME.match(url)
    return f"{scheme.group() if scheme else ''}{_MASK}"


def _mask_unknown(pattern: re.Pattern[str], word: str, *allowed: str) -> str:
    return word if pattern.fullmatch(word) or word in allowed else _MASK


_BACKUP = ".before-pagefault"
# Members with the command or URL of a server. The proxy's command replaces them.
_LOCATORS = frozenset({*URLS, "headers", "command", "args"})
_Edit: TypeAlias = tuple[Span, bytes]


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The command line of a proxy, to which the command of a server is appended."""

    command: str
    """The path of the `pagefault` command."""
    options: Sequence[str]
    """The options of `pagefault proxy`."""

    def wrap(self, text: bytes) -> bytes:
        """Return a configuration with every server behind the proxy.

        Servers that are behind the proxy already are not changed. Only one of the proxies offers
        the memory's tools, or none if a server in the file offers them already.

        Raises:
            ConfigError: The text is not the configuration of a host.
        """
        servers = list(read_servers(text))
        unproxied = [item for item in servers if not (item.is_behind_proxy or item.reason_to_skip)]
        tools_server = None
        if not any(item.offers_tools for item in servers):
            tools_server = next(
                (item for item in unproxied if item.is_enabled), next(iter(unproxied), None)
            )
        edits: list[_Edit] = []
        for server in unproxied:
            drops_tools = server is not tools_server and "--no-tools" not in self.options
            options = [*self.options, "--no-tools"] if drops_tools else self.options
            edits += replace(self, options=options).edits(text, server)
        return _apply_edits(text, edits)

    def edits(
        self, text: bytes, server: HostServer, *, replaces_all: bool = False
    ) -> Iterator[_Edit]:
        """Yield the edits of a configuration that put one of its servers behind the proxy.

        Args:
            text: The configuration.
            server: The server.
            replaces_all: Whether to replace the whole object of a server at a URL, as earlier
                versions of this command did, so that their edits can be undone.
        """
        values = server.values
        if values.get("command") is None:
            yield from self._edits_of_url(text, server, replaces_all=replaces_all)
            return
        members = {member.name: member.value for member in server.members}
        args = _json(["proxy", *self.options, "--", values["command"], *server.args])
        command = _json(self.command)
        if "args" in members:
            yield members["args"], args
        else:
            command += b', "args": ' + args
        yield members["command"], command

    def _edits_of_url(
        self, text: bytes, server: HostServer, *, replaces_all: bool
    ) -> Iterator[_Edit]:
        """Yield the edits that replace the URL of a server by a command and arguments."""
        headers = server.values.get("headers")
        pairs = headers.items() if isinstance(headers, dict) else ()
        words = [word for name, value in pairs for word in ("--header", f"{name}: {value}")]
        args = ["proxy", *self.options, "--upstream", server.url, *words]
        if replaces_all:
            replaced = {*_LOCATORS, "type"}
            others = {key: value for key, value in server.values.items() if key not in replaced}
            line = text[text.rfind(b"\n", 0, server.span.start) + 1 : server.span.start]
            indent = line[: len(line) - len(line.lstrip())]
            whole = _json({"command": self.command, "args": args, **others}, indent=2)
            yield server.span, whole.replace(b"\n", b"\n" + indent)
            return
        command = b'"command": ' + _json(self.command) + b', "args": ' + _json(args)
        # VS Code and Cursor require a type, although a command implies it.
        yield from ((item.value, b'"stdio"') for item in server.members if item.name == "type")
        first, *removed = (item for item in server.members if item.name in _LOCATORS)
        yield Span(first.key.start, first.value.end), command
        for member in removed:
            end, suffix = member.value.end, text[member.value.end : member.end + 1].lstrip()
            if suffix.startswith(b","):
                # A comma may follow the last member too.
                end = text.index(b",", end) + 1
            elif member is not server.members[-1]:
                end = member.end + 1
            else:
                previous = next(item for item in reversed(server.members) if item not in removed)
                yield Span(previous.end, previous.end + 1), b""
            yield _with_blanks(text, Span(member.key.start, end)), b""


def _with_blanks(text: bytes, span: Span) -> Span:
    """Return a span with the blanks before it; if nothing else is on its line, the whole line."""
    start = text.rfind(b"\n", 0, span.start) + 1
    end = text.find(b"\n", span.end)
    before, after = text[start : span.start], text[span.end : max(end, span.end)]
    if end > 0 and not before.strip() and not after.strip():
        return Span(start, end + 1)
    return Span(start + len(before.rstrip()), span.end)


def _json(value: object, indent: int | None = None) -> bytes:
    # UTF-8 cannot encode lone surrogates, so they are written as escapes.
    return json.dumps(value, indent=indent, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _apply_edits(text: bytes, edits: Iterable[_Edit]) -> bytes:
    pieces, position = [], 0
    for span, replacement in sorted(edits):
        pieces += [text[position : span.start], replacement]
        position = span.end
    return b"".join([*pieces, text[position:]])


def find_wrapping(options: Sequence[str]) -> Wrapping:
    """Return a wrapping with the absolute path of the `pagefault` command that runs."""
    folder, name = os.path.split(sys.argv[0])
    own_path = sys.argv[0] if folder and name == "pagefault" else None
    sibling = shutil.which("pagefault", path=str(Path(sys.executable).parent))
    command = own_path or sibling or shutil.which("pagefault") or sys.argv[0]
    # Symbolic links are not resolved, so that a link to the newest version stays in use.
    return Wrapping(os.path.abspath(command), options)


def rewrite(path: Path, wrapping: Wrapping, *, undo: bool, dry_run: bool) -> None:
    """Put the servers of a file behind the proxy, or restore the file, and print the changes.

    Args:
        path: The configuration.
        wrapping: The command line of the proxy.
        undo: Restore the file from its backup.
        dry_run: Only print the changes, without secrets.

    Raises:
        ConfigError: The file cannot be read or changed.
    """
    path = Path(os.path.realpath(path))
    backup = path.with_name(path.name + _BACKUP)
    try:
        before = path.read_bytes()
        after = _undo_edits(before, backup) if undo else wrapping.wrap(before)
        keeps_backup = backup.exists() and _is_current_backup(backup.read_bytes(), before)
    except OSError as exc:
        raise ConfigError(f"cannot read {exc.filename}: {exc.strerror}") from exc
    except ConfigError as exc:
        raise ConfigError(f"{path}: {exc}") from exc
    if after == before:
        has_servers = any(True for _ in read_servers(before))
        report = f"{path}: {'nothing to change' if has_servers else 'no servers were found'}\n"
    elif dry_run:
        report = describe_difference(path, before, after)
    else:
        try:
            if not undo and not keeps_backup:
                _replace(backup, before, like=path)
            _replace(path, after, like=path)
            if undo:
                backup.unlink()
        except OSError as exc:
            raise ConfigError(f"cannot change {path}: {exc.strerror}") from exc
        when = " before the first change" if keeps_backup else ""
        report = f"{path}: changed; {backup.name} has it as it was{when}\n"
        report = f"{path}: as it was\n" if undo else report
    report += "" if undo else "".join(_describe_skipped(before))
    # The file is changed by now, so a character that the terminal cannot show must not be an error.
    encoding = sys.stdout.encoding
    sys.stdout.write(report.encode(encoding, "replace").decode(encoding))


def _describe_skipped(text: bytes) -> Iterator[str]:
    """Yield a line for each server that is not put behind the proxy."""
    for server in read_servers(text):
        if reason := server.reason_to_skip:
            yield one_line(f'"{server.name}" is left alone: {reason}') + "\n"


def _is_current_backup(backup: bytes, now: bytes) -> bool:
    """Return whether a backup is the file as it was before its present changes.

    If no server of the backup is behind the proxy now, the file was restored by hand. Then its next
    change needs a new backup.

    Args:
        backup: The content of the backup.
        now: The present content of the file.
    """
    behind = {server.name for server in read_servers(now) if server.is_behind_proxy}
    try:
        bare = {server.name for server in read_servers(backup) if not server.is_behind_proxy}
    except ConfigError:
        return bool(behind)
    return not behind.isdisjoint(bare)


def _undo_edits(now: bytes, backup: Path) -> bytes:
    if not backup.exists():
        raise ConfigError(f"there is no {backup.name}: this file was not changed here")
    before = backup.read_bytes()
    # The backup is edited with the options of the present file. If the result is the present file,
    # nothing else was changed, and the backup can be restored.
    wrapped = {server.name: server for server in read_servers(now) if server.is_behind_proxy}
    for replaces_all in (False, True):
        edits: list[_Edit] = []
        for server in read_servers(before):
            if server.name in wrapped and not server.is_behind_proxy:
                current = wrapped[server.name]
                wrapping = Wrapping(current.values["command"], current.proxy_options)
                edits += wrapping.edits(before, server, replaces_all=replaces_all)
        if _apply_edits(before, edits) == now:
            return before
    raise ConfigError(
        f"it was changed since. {backup.name} has it as it was before the first change: "
        "compare the two, and copy back what you want"
    )


def _replace(path: Path, text: bytes, *, like: Path) -> None:
    """Write a file atomically, with the owner and the permissions of another."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".pagefault-")
    new = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            # Without this call, a loss of power could leave an empty file.
            os.fsync(descriptor)
        status = like.stat()
        # The user remains the owner if changing the owner is not permitted or not supported.
        with suppress(OSError, AttributeError):
            os.chown(new, status.st_uid, status.st_gid)
        shutil.copymode(like, new)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
