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
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from app.cli.host_differences import told_difference
from app.cli.host_servers import ConfigError, HostServer, servers_of
from app.cli.terminal import CANNOT, complain
from app.mcp.members import Span

_BACKUP = ".before-pagefault"


@dataclass(frozen=True, slots=True)
class Wrapping:
    """How servers are put behind the proxy: the command, and its options before the server."""

    command: str
    options: Sequence[str]

    def wrapped(self, text: bytes) -> bytes:
        """Return a configuration with every server behind the proxy; those that are stay.

        One of them brings the memory's tools along, unless a server does already.

        Raises:
            ConfigError: It is not the configuration of a host.
        """
        servers = list(servers_of(text))
        has_tools = any(each.is_ours and "--no-tools" not in each.args for each in servers)
        edits: list[tuple[Span, bytes]] = []
        for server in servers:
            is_bare = has_tools and "--no-tools" not in self.options
            options = [*self.options, "--no-tools"] if is_bare else self.options
            edited = list(self._edits(text, server, options))
            has_tools = has_tools or bool(edited)
            edits += edited
        for place, written in sorted(edits, reverse=True):
            text = text[: place.start] + written + text[place.end :]
        return text

    def all_wrapped(self, text: bytes) -> Sequence[bytes]:
        """Return what `wrapped` makes of a configuration, also if all came without our tools."""
        bare = [each for each in self.options if each != "--no-tools"]
        return [replace(self, options=each).wrapped(text) for each in (self.options, bare)]

    def _edits(
        self, text: bytes, server: "HostServer", options: Sequence[str]
    ) -> Iterator[tuple[Span, bytes]]:
        said = server.said
        command, url = said.get("command"), said.get("url")
        if isinstance(command, str):
            if server.is_behind_proxy:
                return
            words = ["proxy", *options, "--", command, *server.args]
            ours = json.dumps(words, ensure_ascii=False)
            place = server.members["command"]
            written = json.dumps(self.command, ensure_ascii=False)
            if "args" in server.members:
                yield server.members["args"], ours.encode()
            else:
                written += f', "args": {ours}'
            yield place, written.encode()
        elif isinstance(url, str):
            headers = said.get("headers")
            pairs = headers.items() if isinstance(headers, dict) else ()
            words = [word for name, value in pairs for word in ("--header", f"{name}: {value}")]
            rest = {key: said[key] for key in said if key not in ("url", "headers", "type")}
            args = ["proxy", *options, "--upstream", url, *words]
            rewritten = {"command": self.command, "args": args, **rest}
            line = text[text.rfind(b"\n", 0, server.place.start) + 1 : server.place.start]
            indent = line[: len(line) - len(line.lstrip())].decode()
            written = json.dumps(rewritten, indent=2, ensure_ascii=False)
            yield server.place, written.replace("\n", f"\n{indent}").encode()


def _wrappings_in(text: bytes) -> Iterator[Wrapping]:
    """Yield how servers of a configuration were put behind the proxy, those that were."""
    for server in servers_of(text):
        args = server.args
        ends = [args.index(each) for each in ("--", "--upstream") if each in args]
        if server.is_behind_proxy and ends:
            yield Wrapping(str(server.said["command"]), args[1 : min(ends)])


def wrapping_of(options: Sequence[str]) -> Wrapping:
    """Return how servers are put behind this very command, wherever the host is started."""
    command = shutil.which("pagefault") or str(Path(sys.argv[0]).resolve())
    return Wrapping(command, options)


def rewrite(path: Path, wrapping: Wrapping, *, undo: bool, dry_run: bool) -> int:
    """Put the servers of a file behind the proxy, or take that back; return the exit status.

    Args:
        path: The configuration.
        wrapping: How.
        undo: Give back the file as it was.
        dry_run: Only show what would be changed, without secrets.
    """
    path = Path(os.path.realpath(path))
    backup = path.with_name(path.name + _BACKUP)
    try:
        before = path.read_bytes()
        after = _undone(before, backup) if undo else wrapping.wrapped(before)
        keeps_backup = backup.exists() and _is_of_first_time(backup.read_bytes(), before)
    except OSError as exc:
        complain(f"cannot read {exc.filename}: {exc.strerror}")
        return CANNOT
    except ConfigError as exc:
        complain(f"{path}: {exc}")
        return CANNOT
    if after == before:
        told = f"{path}: nothing to change\n"
    elif dry_run:
        told = told_difference(path, before, after)
    else:
        try:
            if not undo and not keeps_backup:
                _replace(backup, before, like=path)
            _replace(path, after, like=path)
            if undo:
                backup.unlink()
        except OSError as exc:
            complain(f"cannot change {path}: {exc.strerror}")
            return CANNOT
        when = " before the first change" if keeps_backup else ""
        told = f"{path}: changed; {backup.name} has it as it was{when}\n"
        told = f"{path}: as it was\n" if undo else told
    sys.stdout.write(told)
    return 0


def _is_of_first_time(backup: bytes, now: bytes) -> bool:
    """Tell whether a backup is of the file before servers of it were first put behind the proxy.

    If none of them is any more, somebody has given the file back by hand, and edited it since.
    """
    behind = {each.name for each in servers_of(now) if each.is_behind_proxy}
    with suppress(ConfigError):
        behind -= {each.name for each in servers_of(backup) if each.is_behind_proxy}
    return bool(behind)


def _undone(now: bytes, backup: Path) -> bytes:
    if not backup.exists():
        raise ConfigError(f"there is no {backup.name}: this file was not changed here")
    before = backup.read_bytes()
    if not any(now in found.all_wrapped(before) for found in _wrappings_in(now)):
        raise ConfigError(
            f"it was changed since. {backup.name} has it as it was: compare "
            "the two, and copy back what you want"
        )
    return before


def _replace(path: Path, text: bytes, *, like: Path) -> None:
    """Write a file in one step, with the owner and the permissions of another."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".pagefault-")
    new = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
        status = like.stat()
        # Who may not give files away, or has a system without owners, keeps the file.
        with suppress(OSError, AttributeError):
            os.chown(new, status.st_uid, status.st_gid)
        shutil.copymode(like, new)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
