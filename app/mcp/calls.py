"""Requests that pass by: which of them call a tool, and which message answers them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeGuard, get_args

from app.mcp.handles import Place, places_of
from app.mcp.lines import Message
from app.mcp.members import Span
from app.models.identity import new_id
from app.models.json_value import JsonValue
from app.models.rendering import McpRevision

# What is longer passes, and is not looked into.
_MOST_PARSED_BYTES = 8 * 1024 * 1024
_MOST_ID_BYTES = 1024
_MOST_TASKS = 1_000
_NOTED = ("initialize", "tools/list", "tools/call", "tasks/result")
_FIRST_LIST = "the first page of tools/list"
_REVISIONS: tuple[McpRevision, ...] = get_args(McpRevision.__value__)

REVISION = "io.modelcontextprotocol/protocolVersion"
"""Under which name a request without a connection of its own says its revision, in `_meta`."""

RequestId: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that waits for its answer."""

    call_id: str
    """Its name in the history: MCP has none, and ids of JSON-RPC begin anew with each
    connection."""
    name: str
    """The tool."""
    arguments: JsonValue
    """What it was called with."""
    request_id: RequestId
    """That of the request."""
    own_name: str | None = None
    """Which of our tools it is; `None` for one of the server's."""


Answered: TypeAlias = ToolCall | Literal["tools/list"]


@dataclass(slots=True, eq=False)
class PassingRequests:
    """What a host has asked and the server has not answered, as far as the proxy needs it."""

    own_tools: Mapping[str, str]
    """Our tools, by the names that the host is shown."""
    takes_paths: bool
    """Whether tools are given files by their paths."""
    revision: McpRevision = _REVISIONS[0]
    """The revision of MCP that both sides agreed on."""
    typed_tools: set[str] = field(default_factory=set)
    """The tools that promise a schema of their `structuredContent`."""
    tool_names: set[str] = field(default_factory=set)
    """All tools of the server that were listed."""
    places: dict[str, Sequence[Place]] = field(default_factory=dict)
    """Where the tools of the server take files."""
    _waiting: dict[RequestId, ToolCall | str] = field(default_factory=dict)
    _tasks: dict[str, ToolCall] = field(default_factory=dict)

    def note(self, line: Message) -> ToolCall | None:
        """Take a message of the host; return the call of a tool that it is, if it is one."""
        method = _value(line, "method")
        if method == "notifications/cancelled":
            cancelled = member(_value(line, "params"), "requestId")
            if is_id(cancelled):
                self._waiting.pop(cancelled, None)
        request_id = _value(line, "id", most_bytes=_MOST_ID_BYTES)
        if method not in _NOTED or not is_id(request_id):
            return None
        params = _value(line, "params")
        if method == "tasks/result":
            task_id = member(params, "taskId")
            if isinstance(task_id, str) and task_id in self._tasks:
                self._waiting[request_id] = self._tasks[task_id]
            return None
        if method != "tools/call":
            is_first = method == "tools/list" and member(params, "cursor") is None
            self._waiting[request_id] = _FIRST_LIST if is_first else str(method)
            return None
        name = member(params, "name")
        if not isinstance(name, str) or not name:
            return None
        # A call without a connection of its own says its revision itself.
        named = member(params, "_meta", REVISION)
        if named is not None:
            self.revision = nearest_revision(named)
        own_name = None if name in self.tool_names else self.own_tools.get(name)
        arguments = member(params, "arguments") or {}
        call = ToolCall(new_id(), name, arguments, request_id, own_name)
        if own_name is None:
            self._waiting[request_id] = call
        return call

    def answered(self, line: Message) -> "Answered | None":
        """Take a message of the server; return what it answers, a call or a list, and forget it."""
        members = line.members
        if "method" in members or not ("result" in members or "error" in members):
            return None
        request_id = _value(line, "id", most_bytes=_MOST_ID_BYTES)
        if not is_id(request_id):
            return None
        asked = self._waiting.pop(request_id, None)
        if isinstance(asked, ToolCall):
            return asked
        if asked == "initialize":
            revision = member(_value(line, "result"), "protocolVersion")
            self.revision = nearest_revision(revision)
        elif asked in ("tools/list", _FIRST_LIST) and "result" in members:
            if asked == _FIRST_LIST:
                # What the server had before it may have no longer.
                for known in (self.tool_names, self.typed_tools, self.places):
                    known.clear()
            self._read_tools(member(_value(line, "result"), "tools"))
            return "tools/list"
        return None

    def await_task(self, task_id: str, call: ToolCall) -> None:
        """Note that the result of a call is asked for later, as that of a task."""
        while len(self._tasks) >= _MOST_TASKS:
            del self._tasks[next(iter(self._tasks))]
        self._tasks[task_id] = call

    def _read_tools(self, tools: JsonValue) -> None:
        for tool in tools if isinstance(tools, list) else []:
            name = member(tool, "name")
            if not isinstance(name, str):
                continue
            self.tool_names.add(name)
            if member(tool, "outputSchema") is not None:
                self.typed_tools.add(name)
            places = places_of(member(tool, "inputSchema"), takes_paths=self.takes_paths)
            if places:
                self.places[name] = places


def parsed(line: Message, span: Span) -> JsonValue:
    """Return the value of a member; `None` if it is no JSON."""
    try:
        value: JsonValue = json.loads(line.read(span))
    except (ValueError, RecursionError):
        return None
    return value


def _value(line: Message, name: str, *, most_bytes: int = _MOST_PARSED_BYTES) -> JsonValue:
    span = line.members.get(name)
    if span is None or span.end - span.start > most_bytes:
        return None
    return parsed(line, span)


def member(value: JsonValue, *path: str) -> JsonValue:
    """Return the member that a path of names leads to; `None` if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def is_id(value: object) -> TypeGuard[RequestId]:
    """Return whether a value is the id of a request."""
    # `True` is equal to 1, and is no id.
    return isinstance(value, str | int) and not isinstance(value, bool)


def nearest_revision(revision: JsonValue) -> McpRevision:
    """Return the newest revision known here that is not newer than the one that was agreed on."""
    known = [each for each in _REVISIONS if isinstance(revision, str) and each <= revision]
    return known[-1] if known else _REVISIONS[0]


def answered_ids(messages: Sequence[Message]) -> Iterator[RequestId]:
    """Yield the ids of the requests that messages answer."""
    for message in messages:
        span = message.members.get("id")
        held = None if span is None or "method" in message.members else parsed(message, span)
        if is_id(held):
            yield held
