"""`pagefault proxy --config`: every server of a host's configuration behind the proxy.

Claude Desktop and Cursor keep their servers under `mcpServers`, VS Code under `servers`, or in its
settings under `mcp`. Only what runs a server is rewritten; comments, order, white space, `inputs`
and whatever else is in the file stay as they are, character for character.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from pagefault_mcp.hosts.host_differences import describe_difference, one_line
from pagefault_mcp.hosts.host_servers import URLS, ConfigError, HostServer, read_servers
from pagefault_mcp.messages.json_spans import Span

_BACKUP = ".before-pagefault"
# What says of a server where it is, and is said of the proxy instead.
_OF_URL = frozenset({*URLS, "headers", "command", "args"})
_Edit: TypeAlias = tuple[Span, bytes]


@dataclass(frozen=True, slots=True)
class Wrapping:
    """How servers are put behind the proxy: the command, and its options before the server."""

    command: str
    options: Sequence[str]

    def wrap(self, text: bytes) -> bytes:
        """Return a configuration with every server behind the proxy; those that are stay.

        One of them brings the memory's tools along, unless a server does already.

        Raises:
            ConfigError: It is not the configuration of a host.
        """
        servers = list(read_servers(text))
        bare = [each for each in servers if not (each.is_behind_proxy or each.reason_to_leave)]
        with_tools = None
        if not any(each.brings_tools for each in servers):
            with_tools = next((each for each in bare if each.is_enabled), next(iter(bare), None))
        edits: list[_Edit] = []
        for server in bare:
            is_without = server is not with_tools and "--no-tools" not in self.options
            options = [*self.options, "--no-tools"] if is_without else self.options
            edits += replace(self, options=options).edits(text, server)
        return _apply_edits(text, edits)

    def edits(self, text: bytes, server: HostServer, *, is_anew: bool = False) -> Iterator[_Edit]:
        """Yield what has to be changed in a configuration for one of its servers.

        With `is_anew`, what earlier versions changed: they wrote all of a server at a URL anew.
        """
        said = server.said
        if said.get("command") is None:
            yield from self._edits_of_url(text, server, is_anew=is_anew)
            return
        members = {each.name: each.value for each in server.places}
        ours = _json(["proxy", *self.options, "--", said["command"], *server.args])
        written = _json(self.command)
        if "args" in members:
            yield members["args"], ours
        else:
            written += b', "args": ' + ours
        yield members["command"], written

    def _edits_of_url(self, text: bytes, server: HostServer, *, is_anew: bool) -> Iterator[_Edit]:
        """Yield the same for a server at a URL: a command and its arguments in that place."""
        headers = server.said.get("headers")
        pairs = headers.items() if isinstance(headers, dict) else ()
        words = [word for name, value in pairs for word in ("--header", f"{name}: {value}")]
        args = ["proxy", *self.options, "--upstream", server.url, *words]
        if is_anew:
            replaced = {*_OF_URL, "type"}
            others = {key: value for key, value in server.said.items() if key not in replaced}
            line = text[text.rfind(b"\n", 0, server.place.start) + 1 : server.place.start]
            indent = line[: len(line) - len(line.lstrip())]
            whole = _json({"command": self.command, "args": args, **others}, indent=2)
            yield server.place, whole.replace(b"\n", b"\n" + indent)
            return
        written = b'"command": ' + _json(self.command) + b', "args": ' + _json(args)
        # VS Code and Cursor ask for a type, though they know a command by its name.
        yield from ((each.value, b'"stdio"') for each in server.places if each.name == "type")
        first, *further = (each for each in server.places if each.name in _OF_URL)
        yield Span(first.key.start, first.value.end), written
        for place in further:
            end, rest = place.value.end, text[place.value.end : place.end + 1].lstrip()
            if rest.startswith(b","):
                # Behind the last member, too, one may stand.
                end = text.index(b",", end) + 1
            elif place is not server.places[-1]:
                end = place.end + 1
            else:
                before = next(each for each in reversed(server.places) if each not in further)
                yield Span(before.end, before.end + 1), b""
            yield _with_blanks(text, Span(place.key.start, end)), b""


def _with_blanks(text: bytes, place: Span) -> Span:
    """Return a place with the blanks before it, or the line that it has for itself."""
    start = text.rfind(b"\n", 0, place.start) + 1
    end = text.find(b"\n", place.end)
    before, behind = text[start : place.start], text[place.end : max(end, place.end)]
    if end > 0 and not before.strip() and not behind.strip():
        return Span(start, end + 1)
    return Span(start + len(before.rstrip()), place.end)


def _json(value: object, indent: int | None = None) -> bytes:
    # Half a pair of surrogates, which JSON may have and UTF-8 has not, is written as it was.
    return json.dumps(value, indent=indent, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _apply_edits(text: bytes, edits: Iterable[_Edit]) -> bytes:
    pieces, at = [], 0
    for place, written in sorted(edits):
        pieces += [text[at : place.start], written]
        at = place.end
    return b"".join([*pieces, text[at:]])


def find_wrapping(options: Sequence[str]) -> Wrapping:
    """Return how servers are put behind this very command, wherever the host is started."""
    folder, name = os.path.split(sys.argv[0])
    this = sys.argv[0] if folder and name == "pagefault" else None
    beside = shutil.which("pagefault", path=str(Path(sys.executable).parent))
    command = this or beside or shutil.which("pagefault") or sys.argv[0]
    # Links stay, such as those that point to the newest version.
    return Wrapping(os.path.abspath(command), options)


def rewrite(path: Path, wrapping: Wrapping, *, undo: bool, dry_run: bool) -> None:
    """Put the servers of a file behind the proxy, or take that back, and print what was done.

    Args:
        path: The configuration.
        wrapping: How.
        undo: Give back the file as it was.
        dry_run: Only show what would be changed, without secrets.

    Raises:
        ConfigError: It cannot be read or changed.
    """
    path = Path(os.path.realpath(path))
    backup = path.with_name(path.name + _BACKUP)
    try:
        before = path.read_bytes()
        after = _undo_edits(before, backup) if undo else wrapping.wrap(before)
        keeps_backup = backup.exists() and _is_of_first_time(backup.read_bytes(), before)
    except OSError as exc:
        raise ConfigError(f"cannot read {exc.filename}: {exc.strerror}") from exc
    except ConfigError as exc:
        raise ConfigError(f"{path}: {exc}") from exc
    if after == before:
        has_servers = any(True for _ in read_servers(before))
        told = f"{path}: {'nothing to change' if has_servers else 'no servers were found'}\n"
    elif dry_run:
        told = describe_difference(path, before, after)
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
        told = f"{path}: changed; {backup.name} has it as it was{when}\n"
        told = f"{path}: as it was\n" if undo else told
    told += "" if undo else "".join(_describe_others(before))
    # Not every terminal has all characters, and what is told of is done.
    encoding = sys.stdout.encoding
    sys.stdout.write(told.encode(encoding, "replace").decode(encoding))


def _describe_others(text: bytes) -> Iterator[str]:
    """Yield a line for each server that is not put behind the proxy."""
    for server in read_servers(text):
        if reason := server.reason_to_leave:
            yield one_line(f'"{server.name}" is left alone: {reason}') + "\n"


def _is_of_first_time(backup: bytes, now: bytes) -> bool:
    """Tell whether a backup is of the file before servers of it were first put behind the proxy.

    If none of those that it has is any more, somebody has restored the file by hand, and edited it
    since.
    """
    behind = {each.name for each in read_servers(now) if each.is_behind_proxy}
    try:
        bare = {each.name for each in read_servers(backup) if not each.is_behind_proxy}
    except ConfigError:
        return bool(behind)
    return not behind.isdisjoint(bare)


def _undo_edits(now: bytes, backup: Path) -> bytes:
    if not backup.exists():
        raise ConfigError(f"there is no {backup.name}: this file was not changed here")
    before = backup.read_bytes()
    # As the servers are now says how each was put there, and whether it was.
    wrapped = {each.name: each for each in read_servers(now) if each.is_behind_proxy}
    for is_anew in (False, True):
        edits: list[_Edit] = []
        for server in read_servers(before):
            if server.name in wrapped and not server.is_behind_proxy:
                one = wrapped[server.name]
                ours = Wrapping(one.said["command"], one.own_options)
                edits += ours.edits(before, server, is_anew=is_anew)
        if _apply_edits(before, edits) == now:
            return before
    raise ConfigError(
        f"it was changed since. {backup.name} has it as it was before the first change: "
        "compare the two, and copy back what you want"
    )


def _replace(path: Path, text: bytes, *, like: Path) -> None:
    """Write a file in one step, with the owner and the permissions of another."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".pagefault-")
    new = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            # Else, should the power go, there might be a name for nothing.
            os.fsync(descriptor)
        status = like.stat()
        # Who may not give files away, or has a system without owners, keeps the file.
        with suppress(OSError, AttributeError):
            os.chown(new, status.st_uid, status.st_gid)
        shutil.copymode(like, new)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
