"""What the configuration of a host says of its servers, and where in its text."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.mcp.members import MemberScanner, Span

# Possessive, and content with the end of the text: each character is looked at once or twice.
_COMMENT = re.compile(rb'"(?:[^"\\]|\\.)*+"?|//[^\n]*+|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMA = re.compile(rb'"(?:[^"\\]|\\.)*+"?|,(?=\s*+[}\]])', re.DOTALL)


class ConfigError(Exception):
    """A configuration that cannot be read or changed; the words are for who runs the command."""


@dataclass(frozen=True, slots=True)
class HostServer:
    """What a configuration says of a server; where all of it is, and each value."""

    name: str
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

    @property
    def is_behind_proxy(self) -> bool:
        """Whether the proxy starts it already."""
        return self.is_ours and self.args[:1] == ["proxy"]


def servers_of(text: bytes) -> Iterator[HostServer]:
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
    for name, place in _members(plain, held).items():
        said = json.loads(plain[place.start : place.end])
        if isinstance(said, dict):
            yield HostServer(name, said, place, _members(plain, place))


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
