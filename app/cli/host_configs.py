"""`pagefault proxy --config`: every server of a host's configuration behind the proxy.

Claude Desktop and Cursor keep their servers under `mcpServers`, VS Code under `servers`, or in its
settings under `mcp`. Only what runs a server is rewritten; comments, order, white space, `inputs`
and whatever else is in the file stay as they are, character for character.
"""

import difflib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from app.cli.terminal import CANNOT, complain
from app.mcp.members import MemberScanner, Span

_BACKUP = ".before-pagefault"
# Possessive, and content with the end of the text: each character is looked at once or twice.
_COMMENT = re.compile(rb'"(?:[^"\\]|\\.)*+"?|//[^\n]*+|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMA = re.compile(rb'"(?:[^"\\]|\\.)*+"?|,(?=\s*+[}\]])', re.DOTALL)
_SECRET_NAME = re.compile(r"key|token|secret|passw|auth|credential", re.IGNORECASE)
_QUERY = re.compile(r"[?&;]([^=&#]+)=([^&#]+)")
_SHORTEST_SECRET = 4
_MASK = "•••"


class ConfigError(Exception):
    """A configuration that cannot be read or changed; the words are for who runs the command."""


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
        servers = list(_servers(text))
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
        self, text: bytes, server: "_Server", options: Sequence[str]
    ) -> Iterator[tuple[Span, bytes]]:
        said = server.said
        command, url = said.get("command"), said.get("url")
        if isinstance(command, str):
            if server.is_ours and server.args[:1] == ["proxy"]:
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


@dataclass(frozen=True, slots=True)
class _Server:
    """What a configuration says of a server; where all of it is, and each value."""

    said: dict[str, Any]
    place: Span
    members: dict[str, Span]

    @property
    def args(self) -> list[str]:
        """The arguments of its command."""
        return [str(each) for each in self.said.get("args") or ()]

    @property
    def is_ours(self) -> bool:
        """Whether its command is this one."""
        command = self.said.get("command")
        return isinstance(command, str) and Path(command).name == "pagefault"


def _wrappings_in(text: bytes) -> Iterator[Wrapping]:
    """Yield how servers of a configuration were put behind the proxy, those that were."""
    for server in _servers(text):
        args = server.args
        ends = [args.index(each) for each in ("--", "--upstream") if each in args]
        if server.is_ours and args[:1] == ["proxy"] and ends:
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
        dry_run: Only show what would be changed, without what is secret.
    """
    backup = path.with_name(path.name + _BACKUP)
    try:
        before = path.read_bytes()
        after = _undone(before, backup) if undo else wrapping.wrapped(before)
    except OSError as exc:
        complain(f"cannot read {exc.filename}: {exc.strerror}")
        return CANNOT
    except ConfigError as exc:
        complain(f"{path}: {exc}")
        return CANNOT
    if dry_run:
        told = _difference(path, before, after)
    elif after == before:
        told = f"{path}: nothing to change\n"
    elif undo:
        _replace(path, after)
        backup.unlink(missing_ok=True)
        told = f"{path}: as it was\n"
    else:
        if not backup.exists():
            shutil.copy2(path, backup)
        _replace(path, after)
        told = f"{path}: changed; {backup.name} has it as it was\n"
    sys.stdout.write(told)
    return 0


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


def _servers(text: bytes) -> Iterator[_Server]:
    """Yield what a configuration says of each server.

    Raises:
        ConfigError: It is not the configuration of a host.
    """
    plain = _without_comments(text)
    try:
        root = json.loads(plain)
    except (ValueError, RecursionError) as exc:
        raise ConfigError(f"is no JSON: {exc}") from exc
    paths = (("mcpServers",), ("servers",), ("mcp", "servers"))
    found = (_find(plain, path) for path in paths if isinstance(root, dict))
    held = next(filter(None, found), None)
    if held is None:
        raise ConfigError("has no mcpServers and no servers: it is no configuration of a host")
    for place in _members(plain, held).values():
        said = json.loads(plain[place.start : place.end])
        if isinstance(said, dict):
            yield _Server(said, place, _members(plain, place))


def _without_comments(text: bytes) -> bytes:
    """Return JSON with blanks in the places of comments and of commas that stand last."""

    def blank(found: re.Match[bytes]) -> bytes:
        token = found.group()
        is_whole = not token.startswith(b"/*") or (len(token) > 3 and token.endswith(b"*/"))
        return re.sub(rb"[^\n]", b" ", token) if token[:1] != b'"' and is_whole else token

    return _LAST_COMMA.sub(blank, _COMMENT.sub(blank, text))


def _find(text: bytes, path: Sequence[str]) -> Span | None:
    held: Span | None = Span(0, len(text))
    for name in path:
        held = None if held is None else _members(text, held).get(name)
    return held


def _members(text: bytes, held: Span) -> dict[str, Span]:
    """Return where the values of an object's members are, without the blanks around them."""
    scanner = MemberScanner(held.start)
    scanner.feed(text[held.start : held.end])
    found = {}
    for key, place in scanner.members:
        value = text[place.start : place.end]
        start = place.end - len(value.lstrip())
        found[str(json.loads(text[key.start : key.end]))] = Span(start, start + len(value.strip()))
    return found


def _replace(path: Path, text: bytes) -> None:
    """Replace a file in one step, with the permissions that it has."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    shutil.copy2(path, new)
    new.write_bytes(text)
    new.replace(path.resolve())


def _difference(path: Path, before: bytes, after: bytes) -> str:
    lines = difflib.unified_diff(
        before.decode("utf-8", "replace").splitlines(keepends=True),
        after.decode("utf-8", "replace").splitlines(keepends=True),
        str(path),
        str(path),
    )
    text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    for secret in sorted(_secrets(before), key=len, reverse=True):
        text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], _MASK)
    return text or f"{path}: nothing to change\n"


def _secrets(text: bytes) -> set[str]:
    """Return the values that are not to be shown: of `env` and headers, and of such options."""
    found: set[str] = set()
    for server in _servers(text):
        url = server.said.get("url")
        for option, value in _QUERY.findall(url) if isinstance(url, str) else ():
            if _SECRET_NAME.search(option):
                found.add(value)
        for name in ("env", "headers"):
            held = server.said.get(name)
            found |= {str(each) for each in held.values()} if isinstance(held, dict) else set()
        for before, word in pairwise(["", *server.args]):
            option, equals, value = word.partition("=")
            if equals and _SECRET_NAME.search(option):
                found.add(value)
            elif before.startswith("-") and _SECRET_NAME.search(before):
                found.add(word)
            elif before == "--header":
                found.add(word.partition(":")[2].strip())
    return {each for each in found if len(each) >= _SHORTEST_SECRET and not each.startswith("${")}
