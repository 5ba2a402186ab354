"""What the configuration of a host says of its servers, and where in its text."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard

import typer

from pagefault_mcp.messages.json_spans import MemberScanner, Span
from pagefault_mcp.service_client.running_service import parse_header, service_address

# Possessive, and content with the end of the text: each character is looked at once or twice.
_COMMENT = re.compile(rb'"(?:[^"\\]|\\.)*+"?|//[^\n]*+|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMA = re.compile(rb'"(?:[^"\\]|\\.)*+"?|,(?=\s*+[}\]])', re.DOTALL)

URLS = ("httpUrl", "serverUrl", "url")
"""How hosts call the URL of a server: Gemini's, Windsurf's, and all others."""
# Members by which a host is told to log in at a URL.
_LOGINS = frozenset({"auth", "oauth", "headersHelper"})
# By these Python finds what it loads, and so would the proxy, whose package is called `app`.
_PATHS_OF_PYTHON = frozenset({"PYTHONHOME", "PYTHONPATH"})
# The address of a service's own server, and the key for it, as the documents give them.
_MEMORY = re.compile(r"[^?#]*/mcp\?(?:[^#]*&)?session=")
_KEY = re.compile(r"PAGEFAULT_API_KEY|Bearer pf_")
_LAUNCHER = re.compile(r"uvx?|pipx|env|cmd|wsl|docker|podman|python[\d.]*")
_OURS = re.compile(r"(?:pagefault|app\.cli\.main)(?:\[[^]]*\])?(?:(?:[@:]|==)[^@]+)?")


class ConfigError(Exception):
    """A configuration that cannot be read or changed; the words are for who runs the command."""


class ConfigMember(NamedTuple):
    """Where a member of an object is: its key, its value, and what ends it, a comma or a brace."""

    name: str
    key: Span
    value: Span
    end: int


@dataclass(frozen=True, slots=True)
class HostServer:
    """What a configuration says of a server; where all of it is, and each member."""

    name: str
    said: dict[str, Any]
    place: Span
    places: Sequence[ConfigMember]

    @property
    def args(self) -> list[str]:
        """The arguments of its command."""
        args = self.said.get("args")
        return args if _is_list_of_strings(args) else []

    @property
    def url(self) -> str | None:
        """Where it is, if it is not run by a command."""
        found = (self.said[key] for key in URLS if key in self.said)
        return next((each for each in found if isinstance(each, str)), None)

    @property
    def is_behind_proxy(self) -> bool:
        """Whether the proxy starts it already."""
        return self._own_words[:1] == ["proxy"]

    @property
    def own_options(self) -> Sequence[str]:
        """The options of Pagefault's own that it is started with."""
        words = self._own_words[1:]
        ends = [words.index(each) for each in ("--", "--upstream") if each in words]
        return words[: min(ends, default=len(words))]

    @property
    def is_enabled(self) -> bool:
        """Whether the host starts it."""
        return self.said.get("disabled") is not True

    @property
    def brings_tools(self) -> bool:
        """Whether the model gets the memory's tools by it."""
        by_proxy = self.is_behind_proxy and "--no-tools" not in self.own_options
        return self.is_enabled and (by_proxy or self._is_memory)

    @property
    def reason_to_leave(self) -> str | None:
        """Why it is not put behind the proxy, if it is none that is there already."""
        if self._is_memory:
            return "it is the memory itself"
        if self.said.get("command") is None:
            return self._reason_to_leave_url()
        return self._reason_to_leave_command()

    @property
    def _own_words(self) -> list[str]:
        command = self.said.get("command")
        return _words_behind_pagefault(command, self.args) if isinstance(command, str) else []

    @property
    def _is_memory(self) -> bool:
        if self._own_words:
            return self._own_words[0] == "mcp"
        headers = json.dumps(self.said.get("headers"))
        is_at_url = self.said.get("command") is None and self.url is not None
        return is_at_url and bool(_MEMORY.match(str(self.url)) or _KEY.search(headers))

    def _reason_to_leave_command(self) -> str | None:
        args, env = self.said.get("args"), self.said.get("env")
        if not isinstance(self.said["command"], str):
            return "its command is not a string"
        if args is not None and not _is_list_of_strings(args):
            return "its args are not a list of strings"
        if isinstance(env, dict) and (found := sorted(_PATHS_OF_PYTHON & env.keys())):
            return f"its env has {found[0]}, by which the proxy might not start"
        if self.said.get("sandboxEnabled") is True:
            return "it is in a sandbox of the host, from which the proxy could not store"
        return None

    def _reason_to_leave_url(self) -> str | None:
        headers = self.said.get("headers")
        if self.url is None:
            return "it has no command and no URL"
        if not _is_web(self.url):
            return "its URL is not one of HTTP"
        if not headers or _LOGINS & self.said.keys():
            return "it has a URL at which the host logs in by itself, if it has to"
        if not isinstance(headers, dict) or not _is_list_of_strings([*headers.values()]):
            return "its headers are not an object of strings"
        if not all(_is_header(name, value) for name, value in headers.items()):
            return "its headers are not all in printable ASCII"
        return None


def _is_web(url: str) -> bool:
    """Tell whether the proxy takes a URL, if its host has replaced what is `${…}` in it."""
    try:
        return "${" in url or bool(service_address(url))
    except typer.BadParameter:
        return False


def _is_header(name: str, value: str) -> bool:
    try:
        return parse_header(f"{name}: {value}") == (name, value.strip())
    except typer.BadParameter:
        return False


def _is_list_of_strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _words_behind_pagefault(command: str, args: list[str]) -> list[str]:
    """Return the arguments of this command, if a command line starts it; else none."""
    if _program(command) == "pagefault":
        return args
    if _LAUNCHER.fullmatch(_program(command)):
        for before, (word, following) in enumerate(pairwise(args)):
            if _OURS.fullmatch(_program(word)) and following in ("proxy", "mcp"):
                return args[before + 1 :]
    return []


def _program(path: str) -> str:
    return re.split(r"[/\\]", path)[-1].lower().removesuffix(".exe")


def read_servers(text: bytes) -> Iterator[HostServer]:
    """Yield what a configuration says of each server.

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
    found = [_find(plain, path) for path in paths if isinstance(root, dict)]
    # One that is empty may stand beside the one that the host reads.
    held = max(filter(None, found), key=lambda each: bool(_places(plain, each)), default=None)
    if held is None:
        raise ConfigError("has no mcpServers and no servers: it is no configuration of a host")
    # Of two with the same name, hosts read the last one.
    for name, (_, _, place, _) in {each.name: each for each in _places(plain, held)}.items():
        said = json.loads(plain[place.start : place.end])
        if isinstance(said, dict):
            yield HostServer(name, said, place, _places(plain, place))
        else:
            yield HostServer(name, {}, place, ())


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
        places = [] if held is None else _places(text, held)
        held = next((each.value for each in reversed(places) if each.name == name), None)
    return held


def _places(text: bytes, held: Span) -> list[ConfigMember]:
    """Return where an object's members are, in order, without the blanks around their values."""
    scanner = MemberScanner(held.start)
    scanner.feed(text[held.start : held.end])
    found = []
    for key, place in scanner.members:
        value = text[place.start : place.end]
        start = place.end - len(value.lstrip())
        name = str(json.loads(text[key.start : key.end]))
        found.append(ConfigMember(name, key, Span(start, start + len(value.strip())), place.end))
    return found
