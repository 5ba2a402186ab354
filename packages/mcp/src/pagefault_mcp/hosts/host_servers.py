"""Find the MCP servers in the configuration file of a host, with their positions in the text.

`host_configs` edits the text at these positions.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard

import typer

from pagefault_mcp.messages.json_spans import MemberScanner, Span
from pagefault_mcp.service_client.service_connection import parse_header, parse_url_option

# Both patterns also match strings, so that nothing in a string is taken for a comment or a comma.
# Their quantifiers are possessive, and an unterminated token ends with the text, so that the time
# of a match is linear.
_COMMENT = re.compile(rb'"(?:[^"\\]|\\.)*+"?|//[^\n]*+|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING_COMMA = re.compile(rb'"(?:[^"\\]|\\.)*+"?|,(?=\s*+[}\]])', re.DOTALL)

URL_KEYS = ("httpUrl", "serverUrl", "url")
"""The members that may have the URL of a server: for Gemini, for Windsurf, and for other hosts."""
# If a server has one of these members, the host itself logs in at its URL.
_LOGIN_MEMBERS = frozenset({"auth", "oauth", "headersHelper"})
# Python finds its modules by these variables. The proxy, which is a Python program, would find the
# modules of the server.
_PYTHON_PATH_VARIABLES = frozenset({"PYTHONHOME", "PYTHONPATH"})
# The URL of the memory's own MCP server, and its key, in the form of the documentation.
_MEMORY_URL = re.compile(r"[^?#]*/mcp/?\?(?:[^#]*&)?session=")
_PAGEFAULT_KEY = re.compile(r"PAGEFAULT_API_KEY|Bearer pf_")
# A program that may start `pagefault`, as in `uvx pagefault proxy`.
_LAUNCHER = re.compile(r"uvx?|pipx|env|cmd|wsl|docker|podman|python[\d.]*")
_PAGEFAULT_PROGRAM = re.compile(r"(?:pagefault|app\.cli\.main)(?:\[[^]]*\])?(?:(?:[@:]|==)[^@]+)?")


class ConfigError(Exception):
    """A configuration cannot be read or changed; the message is for the user."""


class ConfigMember(NamedTuple):
    """A member of an object in the text of a configuration, with its positions."""

    name: str
    key: Span
    """The span of the quoted name."""
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
        urls = (self.values[key] for key in URL_KEYS if key in self.values)
        return next((item for item in urls if isinstance(item, str)), None)

    @property
    def is_behind_proxy(self) -> bool:
        """True if the command of the server already is `pagefault proxy`."""
        return self._pagefault_arguments[:1] == ["proxy"]

    @property
    def proxy_options(self) -> Sequence[str]:
        """The options of `pagefault proxy`, if the server is behind the proxy."""
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
        proxy_adds_tools = self.is_behind_proxy and "--no-tools" not in self.proxy_options
        return self.is_enabled and (proxy_adds_tools or self._is_memory)

    @property
    def reason_to_skip(self) -> str | None:
        """The reason not to put the server behind the proxy; `None` if there is none."""
        if self._is_memory:
            return "it is the memory itself"
        if self.values.get("command") is None:
            return self._find_reason_to_skip_url()
        return self._find_reason_to_skip_command()

    @property
    def _pagefault_arguments(self) -> list[str]:
        """The arguments of `pagefault`; empty if the command of the server does not start it."""
        command = self.values.get("command")
        return _find_pagefault_arguments(command, self.args) if isinstance(command, str) else []

    @property
    def _is_memory(self) -> bool:
        """True if the server is the memory itself: `pagefault mcp`, or `/mcp` of a service."""
        if self._pagefault_arguments:
            return self._pagefault_arguments[0] == "mcp"
        headers = json.dumps(self.values.get("headers"))
        is_at_url = self.values.get("command") is None and self.url is not None
        return is_at_url and bool(
            _MEMORY_URL.match(str(self.url)) or _PAGEFAULT_KEY.search(headers)
        )

    def _find_reason_to_skip_command(self) -> str | None:
        """Return the reason not to put a server that a command runs behind the proxy."""
        args, env = self.values.get("args"), self.values.get("env")
        if not isinstance(self.values["command"], str):
            return "its command is not a string"
        if args is not None and not _is_list_of_strings(args):
            return "its args are not a list of strings"
        if isinstance(env, dict) and (found := sorted(_PYTHON_PATH_VARIABLES & env.keys())):
            return f"its env has {found[0]}, by which the proxy might not start"
        if self.values.get("sandboxEnabled") is True:
            return "it is in a sandbox of the host, from which the proxy could not store"
        return None

    def _find_reason_to_skip_url(self) -> str | None:
        """Return the reason not to put a server at a URL behind the proxy."""
        headers = self.values.get("headers")
        if self.url is None:
            return "it has no command and no URL"
        if not _may_be_proxied(self.url):
            return "its URL is not one of HTTP"
        if not headers or _LOGIN_MEMBERS & self.values.keys():
            return "it has a URL at which the host logs in by itself, if it has to"
        if not isinstance(headers, dict) or not _is_list_of_strings([*headers.values()]):
            return "its headers are not an object of strings"
        if not all(_is_valid_header(name, value) for name, value in headers.items()):
            return "its headers are not all in printable ASCII"
        return None


def _may_be_proxied(url: str) -> bool:
    """Return whether the proxy accepts a URL.

    A URL with a variable `${…}`, which the host replaces, may be valid, so it is accepted.
    """
    try:
        return "${" in url or bool(parse_url_option(url))
    except typer.BadParameter:
        return False


def _is_valid_header(name: str, value: str) -> bool:
    """Return whether `--header` passes a header on unchanged."""
    try:
        return parse_header(f"{name}: {value}") == (name, value.strip())
    except typer.BadParameter:
        return False


def _is_list_of_strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _find_pagefault_arguments(command: str, args: list[str]) -> list[str]:
    """Return the arguments of `pagefault` in a command line; empty for any other program.

    The command may be a launcher, as in `uvx pagefault proxy …`.
    """
    if _read_program_name(command) == "pagefault":
        return args
    if _LAUNCHER.fullmatch(_read_program_name(command)):
        for index, (word, following) in enumerate(pairwise(args)):
            if _PAGEFAULT_PROGRAM.fullmatch(_read_program_name(word)) and following in (
                "proxy",
                "mcp",
            ):
                return args[index + 1 :]
    return []


def _read_program_name(path: str) -> str:
    """Return the name of a program without its folder and `.exe`, in lower case."""
    return re.split(r"[/\\]", path)[-1].lower().removesuffix(".exe")


def read_servers(text: bytes) -> Iterator[HostServer]:
    """Yield the servers of a configuration, in order.

    Raises:
        ConfigError: The text is not the configuration of a host.
    """
    plain = _blank_comments(text)
    try:
        root = json.loads(plain.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        raise ConfigError("is not in UTF-8: save it in that encoding") from exc
    except (ValueError, RecursionError) as exc:
        raise ConfigError(f"is no JSON: {exc}") from exc
    paths = (("mcpServers",), ("servers",), ("mcp", "servers"))
    spans = [_find_object(plain, path) for path in paths if isinstance(root, dict)]
    # A file may have several of these objects, of which some are empty. An object with members is
    # preferred.
    servers = max(
        filter(None, spans), key=lambda span: bool(_read_members(plain, span)), default=None
    )
    if servers is None:
        raise ConfigError("has no mcpServers and no servers: it is no configuration of a host")
    # If a name is repeated, hosts read its last member.
    members_by_name = {member.name: member for member in _read_members(plain, servers)}
    for name, member in members_by_name.items():
        span = member.value
        values = json.loads(plain[span.start : span.end])
        if isinstance(values, dict):
            yield HostServer(name, values, span, _read_members(plain, span))
        else:
            yield HostServer(name, {}, span, ())


def _blank_comments(text: bytes) -> bytes:
    """Return JSON with comments and trailing commas replaced by blanks; positions stay the same."""

    def blank(match: re.Match[bytes]) -> bytes:
        token = match.group()
        is_string = token.startswith(b'"')
        is_unterminated = token.startswith(b"/*") and not (len(token) > 3 and token.endswith(b"*/"))
        return token if is_string or is_unterminated else re.sub(rb"[^\n]", b" ", token)

    return _TRAILING_COMMA.sub(blank, _COMMENT.sub(blank, text))


def _find_object(text: bytes, path: Sequence[str]) -> Span | None:
    """Return the span of the value at a path of names; `None` if it is missing."""
    span: Span | None = Span(0, len(text))
    for name in path:
        members = [] if span is None else _read_members(text, span)
        span = next((member.value for member in reversed(members) if member.name == name), None)
    return span


def _read_members(text: bytes, span: Span) -> list[ConfigMember]:
    """Return the members of an object in order; their spans do not include blanks around them."""
    scanner = MemberScanner(span.start)
    scanner.feed(text[span.start : span.end])
    members = []
    for key, value_span in scanner.members:
        value = text[value_span.start : value_span.end]
        start, end = value_span.end - len(value.lstrip()), value_span.end
        name = str(json.loads(text[key.start : key.end]))
        members.append(ConfigMember(name, key, Span(start, start + len(value.strip())), end))
    return members
