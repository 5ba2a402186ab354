"""Find the servers in the configuration of a host, with their positions in the text."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard

import typer

from pagefault_mcp.messages.json_spans import MemberScanner, Span
from pagefault_mcp.service_client.running_service import parse_header, parse_service_url

# The quantifiers are possessive, and an unterminated token ends with the text, so that the time is
# linear.
_COMMENT = re.compile(rb'"(?:[^"\\]|\\.)*+"?|//[^\n]*+|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMA = re.compile(rb'"(?:[^"\\]|\\.)*+"?|,(?=\s*+[}\]])', re.DOTALL)

URLS = ("httpUrl", "serverUrl", "url")
"""The members for the URL of a server: of Gemini, of Windsurf, and of all other hosts."""
# Members that make the host itself log in at a URL.
_LOGIN_MEMBERS = frozenset({"auth", "oauth", "headersHelper"})
# Python finds its modules by these variables, so they would change the modules of the proxy too.
_PATHS_OF_PYTHON = frozenset({"PYTHONHOME", "PYTHONPATH"})
# The URL of the memory's own server, and its key, as the documentation writes them.
_MEMORY_URL = re.compile(r"[^?#]*/mcp/?\?(?:[^#]*&)?session=")
_PAGEFAULT_KEY = re.compile(r"PAGEFAULT_API_KEY|Bearer pf_")
_LAUNCHER = re.compile(r"uvx?|pipx|env|cmd|wsl|docker|podman|python[\d.]*")
_PAGEFAULT_PROGRAM = re.compile(r"(?:pagefault|app\.cli\.main)(?:\[[^]]*\])?(?:(?:[@:]|==)[^@]+)?")


class ConfigError(Exception):
    """A configuration cannot be read or changed; the message is for the user."""


class ConfigMember(NamedTuple):
    """A member of an object in the text of a configuration."""

    name: str
    key: Span
    value: Span
    end: int
    """The position of the comma or brace behind the value."""


@dataclass(frozen=True, slots=True)
class HostServer:
    """A server in the configuration of a host."""

    name: str
    values: dict[str, Any]
    """The parsed members of the server's object."""
    span: Span
    """The position of the object in the text."""
    members: Sequence[ConfigMember]
    """The positions of the members in the text."""

    @property
    def args(self) -> list[str]:
        """The arguments of the command."""
        args = self.values.get("args")
        return args if _is_list_of_strings(args) else []

    @property
    def url(self) -> str | None:
        """The URL of the server; `None` for a server that a command runs."""
        urls = (self.values[key] for key in URLS if key in self.values)
        return next((item for item in urls if isinstance(item, str)), None)

    @property
    def is_behind_proxy(self) -> bool:
        """True if the configuration starts the server by the proxy already."""
        return self._pagefault_arguments[:1] == ["proxy"]

    @property
    def proxy_options(self) -> Sequence[str]:
        """The options of the `pagefault` command that starts the server."""
        words = self._pagefault_arguments[1:]
        ends = [words.index(name) for name in ("--", "--upstream") if name in words]
        return words[: min(ends, default=len(words))]

    @property
    def is_enabled(self) -> bool:
        """True unless the configuration disables the server."""
        return self.values.get("disabled") is not True

    @property
    def offers_tools(self) -> bool:
        """True if the model gets the memory's tools from the server."""
        by_proxy = self.is_behind_proxy and "--no-tools" not in self.proxy_options
        return self.is_enabled and (by_proxy or self._is_memory)

    @property
    def reason_to_skip(self) -> str | None:
        """The reason not to put the server behind the proxy; `None` if there is none."""
        if self._is_memory:
            return "it is the memory itself"
        if self.values.get("command") is None:
            return self._reason_to_skip_url()
        return self._reason_to_skip_command()

    @property
    def _pagefault_arguments(self) -> list[str]:
        command = self.values.get("command")
        return _arguments_of_pagefault(command, self.args) if isinstance(command, str) else []

    @property
    def _is_memory(self) -> bool:
        if self._pagefault_arguments:
            return self._pagefault_arguments[0] == "mcp"
        headers = json.dumps(self.values.get("headers"))
        is_at_url = self.values.get("command") is None and self.url is not None
        return is_at_url and bool(
            _MEMORY_URL.match(str(self.url)) or _PAGEFAULT_KEY.search(headers)
        )

    def _reason_to_skip_command(self) -> str | None:
        args, env = self.values.get("args"), self.values.get("env")
        if not isinstance(self.values["command"], str):
            return "its command is not a string"
        if args is not None and not _is_list_of_strings(args):
            return "its args are not a list of strings"
        if isinstance(env, dict) and (found := sorted(_PATHS_OF_PYTHON & env.keys())):
            return f"its env has {found[0]}, by which the proxy might not start"
        if self.values.get("sandboxEnabled") is True:
            return "it is in a sandbox of the host, from which the proxy could not store"
        return None

    def _reason_to_skip_url(self) -> str | None:
        headers = self.values.get("headers")
        if self.url is None:
            return "it has no command and no URL"
        if not _is_web(self.url):
            return "its URL is not one of HTTP"
        if not headers or _LOGIN_MEMBERS & self.values.keys():
            return "it has a URL at which the host logs in by itself, if it has to"
        if not isinstance(headers, dict) or not _is_list_of_strings([*headers.values()]):
            return "its headers are not an object of strings"
        if not all(_is_header(name, value) for name, value in headers.items()):
            return "its headers are not all in printable ASCII"
        return None


def _is_web(url: str) -> bool:
    """Return whether the proxy accepts a URL, or might once the host has replaced a `${…}`."""
    try:
        return "${" in url or bool(parse_service_url(url))
    except typer.BadParameter:
        return False


def _is_header(name: str, value: str) -> bool:
    try:
        return parse_header(f"{name}: {value}") == (name, value.strip())
    except typer.BadParameter:
        return False


def _is_list_of_strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _arguments_of_pagefault(command: str, args: list[str]) -> list[str]:
    """Return the arguments of the `pagefault` command in a command line, or an empty list."""
    if _program(command) == "pagefault":
        return args
    if _LAUNCHER.fullmatch(_program(command)):
        for index, (word, following) in enumerate(pairwise(args)):
            if _PAGEFAULT_PROGRAM.fullmatch(_program(word)) and following in ("proxy", "mcp"):
                return args[index + 1 :]
    return []


def _program(path: str) -> str:
    return re.split(r"[/\\]", path)[-1].lower().removesuffix(".exe")


def read_servers(text: bytes) -> Iterator[HostServer]:
    """Yield the servers of a configuration.

    Raises:
        ConfigError: It is not the configuration of a host.
    """
    plain = _without_comments(text)
    try:
        root = json.loads(plain.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        raise ConfigError("is not in UTF-8: save it in that encoding") from exc
    except (ValueError, RecursionError) as exc:
        raise ConfigError(f"is no JSON: {exc}") from exc
    paths = (("mcpServers",), ("servers",), ("mcp", "servers"))
    spans = [_find_object(plain, path) for path in paths if isinstance(root, dict)]
    # A file may have several of these objects, of which some are empty.
    servers = max(
        filter(None, spans), key=lambda span: bool(_read_members(plain, span)), default=None
    )
    if servers is None:
        raise ConfigError("has no mcpServers and no servers: it is no configuration of a host")
    # If a name is repeated, hosts read its last member.
    for name, (_, _, value, _) in {
        member.name: member for member in _read_members(plain, servers)
    }.items():
        values = json.loads(plain[value.start : value.end])
        if isinstance(values, dict):
            yield HostServer(name, values, value, _read_members(plain, value))
        else:
            yield HostServer(name, {}, value, ())


def _without_comments(text: bytes) -> bytes:
    """Return JSON with comments and trailing commas replaced by blanks."""

    def blank(found: re.Match[bytes]) -> bytes:
        token = found.group()
        is_whole = not token.startswith(b"/*") or (len(token) > 3 and token.endswith(b"*/"))
        return re.sub(rb"[^\n]", b" ", token) if token[:1] != b'"' and is_whole else token

    return _LAST_COMMA.sub(blank, _COMMENT.sub(blank, text))


def _find_object(text: bytes, path: Sequence[str]) -> Span | None:
    span: Span | None = Span(0, len(text))
    for name in path:
        members = [] if span is None else _read_members(text, span)
        span = next((member.value for member in reversed(members) if member.name == name), None)
    return span


def _read_members(text: bytes, span: Span) -> list[ConfigMember]:
    """Return the members of an object in order, without blanks around their values."""
    scanner = MemberScanner(span.start)
    scanner.feed(text[span.start : span.end])
    members = []
    for key, value_span in scanner.members:
        value = text[value_span.start : value_span.end]
        start, end = value_span.end - len(value.lstrip()), value_span.end
        name = str(json.loads(text[key.start : key.end]))
        members.append(ConfigMember(name, key, Span(start, start + len(value.strip())), end))
    return members
