"""What `--dry-run` shows of a change to a host's configuration.

Anything that a host keeps for its servers may be a secret: an argument, a URL with a password or a
key in its path, a server that is commented out. So nothing is shown because it looks like no
secret; shown is what this command writes, and of the rest what is known to be none.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from pagefault_mcp.hosts.host_servers import URLS, HostServer, servers_of

_MASK = "•••"
_NAME = re.compile(r"[A-Za-z][A-Za-z-]{0,39}")
_OPTION = re.compile(r"-[A-Za-z]|--[A-Za-z][A-Za-z-]{0,29}")
_COMMAND = re.compile(r"(?:[A-Za-z]:)?[\w.+~/\\-]+")
_PACKAGE = re.compile(r"(?:@[a-z][a-z-]*/)?[a-z][a-z-]*(?:@[a-z]{1,10}|@\d{1,4}(?:\.\d{1,4})*)?")
_SCHEME = re.compile(r"(?:https?|wss?)://", re.IGNORECASE)
# What runs a package that its first argument names, and the options that may stand before it.
_RUNNERS = frozenset({"npx", "uvx", "bunx", "npx.cmd", "uvx.exe"})
_FLAGS = frozenset({"-y", "--yes", "-q", "--quiet"})
# Options of the proxy's own whose values are none that a server gets.
_OWN = frozenset(
    {"--session", "--url", "--project", "--data-dir", "--env-file", "--files", "--prefix"}
    | {"--max-bytes", "--max-images", "--max-tokens", "--max-text", "--max-image-pixels"}
)
_OWN_VALUE = re.compile(r"(?:https?://)?[\w.:/\\ ~-]*")


def one_line(text: str) -> str:
    """Return text that cannot move the cursor or colour the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def told_difference(path: Path, before: bytes, after: bytes) -> str:
    """Return how each server that is changed was run, and how it will be, without secrets."""
    lines = [str(path)]
    for old, new in zip(servers_of(before), servers_of(after), strict=True):
        if old.said != new.said:
            was, will = list(_told(old)), list(_told(new))
            lines.append(f"  {json.dumps(old.name, ensure_ascii=False)}")
            lines += [f"-   {each}" for each in was if each not in will]
            lines += [f"+   {each}" for each in will if each not in was]
    return "".join(f"{one_line(line)}\n" for line in lines)


def _told(server: HostServer) -> Iterator[str]:
    """Yield what runs a server, a line for each member."""
    command = server.said.get("command")
    told: dict[str, object] = {}
    if isinstance(command, str):
        told["command"] = command if server.is_behind_proxy else _told_command(command)
        told["args"] = list(_told_arguments(server, command))
    else:
        told = {key: _told_url(str(server.said[key])) for key in URLS if key in server.said}
        headers = server.said.get("headers")
        if isinstance(headers, dict):
            told["headers"] = {_shown(_NAME, name): _MASK for name in headers}
    for key, value in told.items():
        yield f'"{key}": {json.dumps(value, ensure_ascii=False)}'


def _told_arguments(server: HostServer, command: str) -> Iterator[str]:
    args = server.args
    if not server.is_behind_proxy:
        yield from _told_words(command, args)
        return
    end = min((args.index(each) for each in ("--", "--upstream") if each in args), default=None)
    own, rest = args[:end], args[len(args) if end is None else end :]
    for before, word in pairwise(["", *own]):
        yield _shown(_OWN_VALUE if before in _OWN else _OPTION, word, "proxy")
    yield from rest[:1]
    if rest[:1] == ["--"]:
        yield from map(_told_command, rest[1:2])
        yield from _told_words("".join(rest[1:2]), rest[2:])
    else:
        yield from map(_told_url, rest[1:2])
        yield from map(_told_header, rest[2:])


def _told_words(command: str, args: Sequence[str]) -> Iterator[str]:
    """Yield a server's arguments: of options their names, and which package is run."""
    is_package_next = re.split(r"[/\\]", command)[-1].lower() in _RUNNERS
    for word in args:
        option, equals, _ = word.partition("=")
        if _OPTION.fullmatch(option):
            yield f"{option}={_MASK}" if equals else option
        else:
            yield _shown(_PACKAGE, word) if is_package_next else _MASK
        is_package_next = is_package_next and word in _FLAGS


def _told_command(command: str) -> str:
    return _shown(_COMMAND, command)


def _told_header(word: str) -> str:
    name, colon, _ = word.partition(":")
    return f"{_shown(_NAME, name)}: {_MASK}" if colon else _shown(_OPTION, word)


def _told_url(url: str) -> str:
    scheme = _SCHEME.match(url)
    return f"{scheme.group() if scheme else ''}{_MASK}"


def _shown(known: re.Pattern[str], word: str, *others: str) -> str:
    return word if known.fullmatch(word) or word in others else _MASK
