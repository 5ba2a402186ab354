"""Print the changes to a host's configuration without secrets, for `--dry-run`.

Any value of a server may be a secret: an argument, a URL with a password or a key in its path, a
server that is commented out. So an allow-list decides: words that this command writes are printed,
and others only if they match a known pattern.
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
# Commands that run a package, the first argument, and the options that may precede it.
_RUNNERS = frozenset({"npx", "uvx", "bunx", "npx.cmd", "uvx.exe"})
_FLAGS = frozenset({"-y", "--yes", "-q", "--quiet"})
# Options of the proxy with values that are not for the server.
_OWN = frozenset(
    {"--session", "--url", "--project", "--data-dir", "--env-file", "--files", "--prefix"}
    | {"--max-bytes", "--max-images", "--max-tokens", "--max-text", "--max-image-pixels"}
)
_OWN_VALUE = re.compile(r"(?:https?://)?[\w.:/\\ ~-]*")


def one_line(text: str) -> str:
    """Return text without control characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def describe_difference(path: Path, before: bytes, after: bytes) -> str:
    """Return the old and new command line of each changed server, without secrets."""
    lines = [str(path)]
    for old, new in zip(read_servers(before), read_servers(after), strict=True):
        if old.values != new.values:
            before_lines, after_lines = list(_describe_server(old)), list(_describe_server(new))
            lines.append(f"  {json.dumps(old.name, ensure_ascii=False)}")
            lines += [f"-   {each}" for each in before_lines if each not in after_lines]
            lines += [f"+   {each}" for each in after_lines if each not in before_lines]
    return "".join(f"{one_line(line)}\n" for line in lines)


def _describe_server(server: HostServer) -> Iterator[str]:
    """Yield a line for each member that locates a server."""
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
    end = min((args.index(each) for each in ("--", "--upstream") if each in args), default=None)
    own, server_args = args[:end], args[len(args) if end is None else end :]
    for before, word in pairwise(["", *own]):
        yield _mask_unknown(_OWN_VALUE if before in _OWN else _OPTION, word, "proxy")
    yield from server_args[:1]
    if server_args[:1] == ["--"]:
        yield from map(_mask_command, server_args[1:2])
        yield from _mask_words("".join(server_args[1:2]), server_args[2:])
    else:
        yield from map(_mask_url, server_args[1:2])
        yield from map(_mask_header, server_args[2:])


def _mask_words(command: str, args: Sequence[str]) -> Iterator[str]:
    """Yield a server's arguments with only the names of options, and the package, readable."""
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
