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

from pagefault_mcp.hosts.host_servers import URLS, HostServer, read_servers

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


def describe_difference(path: Path, before: bytes, after: bytes) -> str:
    """Return how each server that is changed was run, and how it will be, without secrets."""
    lines = [str(path)]
    for old, new in zip(read_servers(before), read_servers(after), strict=True):
        if old.said != new.said:
            was, will = list(_describe_server(old)), list(_describe_server(new))
            lines.append(f"  {json.dumps(old.name, ensure_ascii=False)}")
            lines += [f"-   {each}" for each in was if each not in will]
            lines += [f"+   {each}" for each in will if each not in was]
    return "".join(f"{one_line(line)}\n" for line in lines)


def _describe_server(server: HostServer) -> Iterator[str]:
    """Yield what runs a server, a line for each member."""
    command = server.said.get("command")
    members: dict[str, object] = {}
    if isinstance(command, str):
        members["command"] = command if server.is_behind_proxy else _mask_command(command)
        members["args"] = list(_describe_arguments(server, command))
    else:
        members = {key: _mask_url(str(server.said[key])) for key in URLS if key in server.said}
        headers = server.said.get("headers")
        if isinstance(headers, dict):
            members["headers"] = {_mask_unknown(_NAME, name): _MASK for name in headers}
    for key, value in members.items():
        yield f'"{key}": {json.dumps(value, ensure_ascii=False)}'


def _describe_arguments(server: HostServer, command: str) -> Iterator[str]:
    args = server.args
    if not server.is_behind_proxy:
        yield from _mask_words(command, args)
        return
    end = min((args.index(each) for each in ("--", "--upstream") if each in args), default=None)
    own, rest = args[:end], args[len(args) if end is None else end :]
    for before, word in pairwise(["", *own]):
        yield _mask_unknown(_OWN_VALUE if before in _OWN else _OPTION, word, "proxy")
    yield from rest[:1]
    if rest[:1] == ["--"]:
        yield from map(_mask_command, rest[1:2])
        yield from _mask_words("".join(rest[1:2]), rest[2:])
    else:
        yield from map(_mask_url, rest[1:2])
        yield from map(_mask_header, rest[2:])


def _mask_words(command: str, args: Sequence[str]) -> Iterator[str]:
    """Yield a server's arguments: of options their names, and which package is run."""
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


def _mask_unknown(known: re.Pattern[str], word: str, *others: str) -> str:
    return word if known.fullmatch(word) or word in others else _MASK
