"""Put the MCP servers in a host's configuration file behind the proxy.

`pagefault proxy --config FILE` calls `rewrite`, which replaces the command or URL of each server by
the command of a proxy. `--undo` restores the file.

Claude Desktop and Cursor have their servers under `mcpServers`, VS Code under `servers`, or in its
settings under `mcp`. Comments, order, white space and the other members of the file are preserved,
character for character.

`--dry-run` prints the changes without secrets. Any text in the file may be a secret: an argument,
a URL with a password or a key in its path, even a comment. So words are printed only if they belong
to the proxy's own command, or match one of the patterns below. All other words are masked.
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

from pagefault_mcp.errors import replace_unprintable
from pagefault_mcp.hosts.host_servers import URL_KEYS, ConfigError, HostServer, read_servers
from pagefault_mcp.messages.json_spans import Span

_MASK = "•••"
# The patterns of words that are printed: names of headers, names of options, paths of commands,
# names of packages, and schemes of URLs.
_HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z-]{0,39}")
_OPTION = re.compile(r"-[A-Za-z]|--[A-Za-z][A-Za-z-]{0,29}")
_COMMAND = re.compile(r"(?:[A-Za-z]:)?[\w.+~/\\-]+")
_PACKAGE = re.compile(r"(?:@[a-z][a-z-]*/)?[a-z][a-z-]*(?:@[a-z]{1,10}|@\d{1,4}(?:\.\d{1,4})*)?")
_SCHEME = re.compile(r"(?:https?|wss?)://", re.IGNORECASE)
# Commands whose first argument is a package to run; `_PACKAGE_RUNNER_FLAGS` may precede it.
_PACKAGE_RUNNERS = frozenset({"npx", "uvx", "bunx", "npx.cmd", "uvx.exe"})
_PACKAGE_RUNNER_FLAGS = frozenset({"-y", "--yes", "-q", "--quiet"})
# Options of the proxy that have a value; values that match `_PROXY_VALUE` are printed.
_PROXY_OPTIONS = frozenset(
    {"--session", "--url", "--project", "--data-dir", "--env-file", "--files", "--prefix"}
    | {"--max-bytes", "--max-images", "--max-tokens", "--max-text", "--max-image-pixels"}
)
_PROXY_VALUE = re.compile(r"(?:https?://)?[\w.:/\\ ~-]*")


def describe_difference(path: Path, before: bytes, after: bytes) -> str:
    """Return a diff of the changed servers, without secrets.

    Args:
        path: The configuration file, which the first line names.
        before: The content of the file.
        after: The changed content, with the same servers.
    """
    lines = [str(path)]
    for old, new in zip(read_servers(before), read_servers(after), strict=True):
        if old.values != new.values:
            old_lines, new_lines = list(_describe_server(old)), list(_describe_server(new))
            lines.append(f"  {json.dumps(old.name, ensure_ascii=False)}")
            lines += [f"-   {line}" for line in old_lines if line not in new_lines]
            lines += [f"+   {line}" for line in new_lines if line not in old_lines]
    return "".join(f"{replace_unprintable(line)}\n" for line in lines)


def _describe_server(server: HostServer) -> Iterator[str]:
    """Yield the members that say how to run or reach a server, one on a line, without secrets."""
    command = server.values.get("command")
    members: dict[str, object] = {}
    if isinstance(command, str):
        members["command"] = command if server.is_behind_proxy else _mask_command(command)
        members["args"] = list(_describe_arguments(server, command))
    else:
        members = {
            key: _mask_url(str(server.values[key])) for key in URL_KEYS if key in server.values
        }
        headers = server.values.get("headers")
        if isinstance(headers, dict):
            members["headers"] = {_mask_unless_match(_HEADER_NAME, name): _MASK for name in headers}
    for key, value in members.items():
        yield f'"{key}": {json.dumps(value, ensure_ascii=False)}'


def _describe_arguments(server: HostServer, command: str) -> Iterator[str]:
    """Yield the arguments of a server's command, without secrets.

    Behind a proxy, these are the options of the proxy, then `--` and the command of the server, or
    `--upstream`, its URL and the options for its headers.
    """
    args = server.args
    if not server.is_behind_proxy:
        yield from _mask_words(command, args)
        return
    end = min((args.index(name) for name in ("--", "--upstream") if name in args), default=None)
    proxy_args, server_args = args[:end], args[len(args) if end is None else end :]
    for previous, word in pairwise(["", *proxy_args]):
        yield _mask_unless_match(
            _PROXY_VALUE if previous in _PROXY_OPTIONS else _OPTION, word, "proxy"
        )
    yield from server_args[:1]
    if server_args[:1] == ["--"]:
        yield from map(_mask_command, server_args[1:2])
        yield from _mask_words("".join(server_args[1:2]), server_args[2:])
    else:
        yield from map(_mask_url, server_args[1:2])
        yield from map(_mask_header, server_args[2:])


def _mask_words(command: str, args: Sequence[str]) -> Iterator[str]:
    """Yield the arguments of a command. All are masked except options, and the package to run."""
    is_package_next = re.split(r"[/\\]", command)[-1].lower() in _PACKAGE_RUNNERS
    for word in args:
        option, equals, _ = word.partition("=")
        if _OPTION.fullmatch(option):
            yield f"{option}={_MASK}" if equals else option
        else:
            yield _mask_unless_match(_PACKAGE, word) if is_package_next else _MASK
        is_package_next = is_package_next and word in _PACKAGE_RUNNER_FLAGS


def _mask_command(command: str) -> str:
    return _mask_unless_match(_COMMAND, command)


def _mask_header(word: str) -> str:
    name, colon, _ = word.partition(":")
    return (
        f"{_mask_unless_match(_HEADER_NAME, name)}: {_MASK}"
        if colon
        else _mask_unless_match(_OPTION, word)
    )


def _mask_url(url: str) -> str:
    scheme = _SCHEME.match(url)
    return f"{scheme.group() if scheme else ''}{_MASK}"


def _mask_unless_match(pattern: re.Pattern[str], word: str, *allowed: str) -> str:
    """Return a word that matches a pattern or is one of the allowed words; otherwise the mask."""
    return word if pattern.fullmatch(word) or word in allowed else _MASK


_BACKUP_SUFFIX = ".before-pagefault"
# The members that say how to run or reach a server. The proxy's command replaces them.
_REPLACED_MEMBERS = frozenset({*URL_KEYS, "headers", "command", "args"})
_Edit: TypeAlias = tuple[Span, bytes]
"""A range of the text, and the bytes that replace it."""


@dataclass(frozen=True, slots=True)
class ProxyCommand:
    """The command line of a proxy, to which the command of a server is appended."""

    command: str
    """The path of the `pagefault` command."""
    options: Sequence[str]
    """The options of `pagefault proxy`."""

    def wrap(self, text: bytes) -> bytes:
        """Return a configuration with every server behind the proxy.

        Servers that already are behind the proxy are not changed. One of the new proxies offers the
        tools of Pagefault itself, unless another server of the file already offers them.

        Raises:
            ConfigError: The text is not the configuration of a host.
        """
        servers = list(read_servers(text))
        to_wrap = [
            server for server in servers if not (server.is_behind_proxy or server.reason_to_skip)
        ]
        tools_server = None
        if not any(server.offers_tools for server in servers):
            tools_server = next(
                (server for server in to_wrap if server.is_enabled), next(iter(to_wrap), None)
            )
        edits: list[_Edit] = []
        for server in to_wrap:
            needs_flag = server is not tools_server and "--no-tools" not in self.options
            options = [*self.options, "--no-tools"] if needs_flag else self.options
            edits += replace(self, options=options).make_edits(text, server)
        return _apply_edits(text, edits)

    def make_edits(
        self, text: bytes, server: HostServer, *, replaces_all: bool = False
    ) -> Iterator[_Edit]:
        """Yield the edits of a configuration that put one of its servers behind the proxy.

        Args:
            text: The configuration.
            server: The server.
            replaces_all: Replace the whole object of a server that has a URL, as earlier versions
                of this command did. `--undo` needs it for files that they have changed.
        """
        values = server.values
        if values.get("command") is None:
            yield from self._make_url_edits(text, server, replaces_all=replaces_all)
            return
        members = {member.name: member.value for member in server.members}
        args = _encode_json(["proxy", *self.options, "--", values["command"], *server.args])
        command = _encode_json(self.command)
        if "args" in members:
            yield members["args"], args
        else:
            command += b', "args": ' + args
        yield members["command"], command

    def _make_url_edits(
        self, text: bytes, server: HostServer, *, replaces_all: bool
    ) -> Iterator[_Edit]:
        """Yield the edits that replace the URL of a server by a command and arguments."""
        headers = server.values.get("headers")
        pairs = headers.items() if isinstance(headers, dict) else ()
        words = [word for name, value in pairs for word in ("--header", f"{name}: {value}")]
        args = ["proxy", *self.options, "--upstream", server.url, *words]
        if replaces_all:
            replaced = {*_REPLACED_MEMBERS, "type"}
            kept = {key: value for key, value in server.values.items() if key not in replaced}
            line = text[text.rfind(b"\n", 0, server.span.start) + 1 : server.span.start]
            indent = line[: len(line) - len(line.lstrip())]
            whole = _encode_json({"command": self.command, "args": args, **kept}, indent=2)
            yield server.span, whole.replace(b"\n", b"\n" + indent)
            return
        command = b'"command": ' + _encode_json(self.command) + b', "args": ' + _encode_json(args)
        # VS Code and Cursor require a `type`, although a command implies it.
        yield from (
            (member.value, b'"stdio"') for member in server.members if member.name == "type"
        )
        first, *removed = (member for member in server.members if member.name in _REPLACED_MEMBERS)
        yield Span(first.key.start, first.value.end), command
        for member in removed:
            end, suffix = member.value.end, text[member.value.end : member.end + 1].lstrip()
            if suffix.startswith(b","):
                # The member may be the last one even so: some hosts accept a comma after it.
                end = text.index(b",", end) + 1
            elif member is not server.members[-1]:
                end = member.end + 1
            else:
                # No comma follows the last member, so the comma before it is removed.
                previous = next(other for other in reversed(server.members) if other not in removed)
                yield Span(previous.end, previous.end + 1), b""
            yield _extend_over_blanks(text, Span(member.key.start, end)), b""


def _extend_over_blanks(text: bytes, span: Span) -> Span:
    """Return a span extended over the blanks before it.

    If nothing else is on its line, return the span of the whole line.
    """
    start = text.rfind(b"\n", 0, span.start) + 1
    end = text.find(b"\n", span.end)
    before, after = text[start : span.start], text[span.end : max(end, span.end)]
    if end > 0 and not before.strip() and not after.strip():
        return Span(start, end + 1)
    return Span(start + len(before.rstrip()), span.end)


def _encode_json(value: object, indent: int | None = None) -> bytes:
    # UTF-8 cannot encode lone surrogates, so they are written as escapes.
    return json.dumps(value, indent=indent, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _apply_edits(text: bytes, edits: Iterable[_Edit]) -> bytes:
    pieces, position = [], 0
    for span, replacement in sorted(edits):
        pieces += [text[position : span.start], replacement]
        position = span.end
    return b"".join([*pieces, text[position:]])


def make_proxy_command(options: Sequence[str]) -> ProxyCommand:
    """Return the command line of a proxy, with the path of the running `pagefault` command."""
    folder, name = os.path.split(sys.argv[0])
    running_command = sys.argv[0] if folder and name == "pagefault" else None
    beside_interpreter = shutil.which("pagefault", path=str(Path(sys.executable).parent))
    command = running_command or beside_interpreter or shutil.which("pagefault") or sys.argv[0]
    # Symbolic links are not resolved, so that a link to the newest version stays in use.
    return ProxyCommand(os.path.abspath(command), options)


def rewrite(path: Path, proxy_command: ProxyCommand, *, undo: bool, dry_run: bool) -> None:
    """Put the servers of a file behind the proxy, or restore the file, and print the changes.

    Args:
        path: The configuration.
        proxy_command: The command line of the proxy.
        undo: Restore the file from its backup.
        dry_run: Only print the changes, without secrets.

    Raises:
        ConfigError: The file cannot be read or changed.
    """
    path = Path(os.path.realpath(path))
    backup = path.with_name(path.name + _BACKUP_SUFFIX)
    try:
        before = path.read_bytes()
        after = _undo_edits(before, backup) if undo else proxy_command.wrap(before)
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
                _write_atomically(backup, before, like=path)
            _write_atomically(path, after, like=path)
            if undo:
                backup.unlink()
        except OSError as exc:
            raise ConfigError(f"cannot change {path}: {exc.strerror}") from exc
        if undo:
            report = f"{path}: restored\n"
        else:
            saved = "the file from before the first change" if keeps_backup else "the original"
            report = f"{path}: changed; {saved} is in {backup.name}\n"
    if not undo:
        report += "".join(_describe_skipped(before))
    # Characters that the terminal cannot show are replaced: after an error here, the command would
    # fail, although the file was changed.
    encoding = sys.stdout.encoding
    sys.stdout.write(report.encode(encoding, "replace").decode(encoding))


def _describe_skipped(text: bytes) -> Iterator[str]:
    """Yield a line for each server that is not put behind the proxy."""
    for server in read_servers(text):
        if reason := server.reason_to_skip:
            yield replace_unprintable(f'"{server.name}" is left alone: {reason}') + "\n"


def _is_current_backup(backup: bytes, now: bytes) -> bool:
    """Return whether a backup is the file as it was before this command first changed it.

    If none of the servers in the backup is behind a proxy now, the user has restored the file by
    hand. Then the next change needs a new backup.

    Args:
        backup: The content of the backup.
        now: The present content of the file.
    """
    names_behind_proxy = {server.name for server in read_servers(now) if server.is_behind_proxy}
    try:
        names_in_backup = {
            server.name for server in read_servers(backup) if not server.is_behind_proxy
        }
    except ConfigError:
        return bool(names_behind_proxy)
    return not names_behind_proxy.isdisjoint(names_in_backup)


def _undo_edits(now: bytes, backup: Path) -> bytes:
    """Return the content of the backup of a file.

    Args:
        now: The present content of the file.
        backup: The path of the backup.

    Raises:
        ConfigError: There is no backup, or the user has changed the file since.
    """
    if not backup.exists():
        raise ConfigError(f"there is no {backup.name}: `pagefault proxy` has not changed this file")
    before = backup.read_bytes()
    # The servers of the backup are put behind proxies with the same options as in the present file.
    # If the result equals the present file, the user has changed nothing.
    wrapped = {server.name: server for server in read_servers(now) if server.is_behind_proxy}
    for replaces_all in (False, True):
        edits: list[_Edit] = []
        for server in read_servers(before):
            if server.name in wrapped and not server.is_behind_proxy:
                current = wrapped[server.name]
                proxy_command = ProxyCommand(current.values["command"], current.proxy_options)
                edits += proxy_command.make_edits(before, server, replaces_all=replaces_all)
        if _apply_edits(before, edits) == now:
            return before
    raise ConfigError(
        "the file was edited after `pagefault proxy` had changed it. The original is in "
        f"{backup.name}: compare the two, and copy back what you want"
    )


def _write_atomically(path: Path, text: bytes, *, like: Path) -> None:
    """Write or replace a file atomically, with the owner and the permissions of the file `like`."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".pagefault-")
    temporary_path = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            # Without this call, a power failure could leave an empty file.
            os.fsync(descriptor)
        status = like.stat()
        # The user remains the owner if changing the owner is not permitted or not supported.
        with suppress(OSError, AttributeError):
            os.chown(temporary_path, status.st_uid, status.st_gid)
        shutil.copymode(like, temporary_path)
        temporary_path.replace(path)
    except BaseException:
        temporary_path.unlink(missing_ok=True)
        raise
