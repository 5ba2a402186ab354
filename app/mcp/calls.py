"""Requests that pass by: which of them call a tool, and which message answers them."""

import json
from dataclasses import dataclass
from typing import TypeAlias, get_args

from app.mcp.lines import Line
from app.mcp.members import Span
from app.models.identity import new_id
from app.models.json_value import JsonValue
from app.models.rendering import McpRevision

# What is longer passes, and is not looked into.
_MOST_PARSED_BYTES = 8 * 1024 * 1024
_MOST_ID_BYTES = 1024
_REVISIONS: tuple[McpRevision, ...] = get_args(McpRevision.__value__)

RequestId: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that waits for its answer.

    Attributes:
        call_id: Its name in the history: MCP has none, and ids of JSON-RPC begin anew with each
            connection.
        name: The tool.
        arguments: What it was called with.
    """

    call_id: str
    name: str
    arguments: JsonValue


class PassingRequests:
    """What a host has asked and the server has not answered, as far as the proxy needs it.

    Attributes:
        revision: The revision of MCP that both sides agreed on.
        typed_tools: The tools that promise a schema of their `structuredContent`.
    """

    def __init__(self) -> None:
        self.revision: McpRevision = _REVISIONS[0]
        self.typed_tools: set[str] = set()
        self._waiting: dict[RequestId, ToolCall | str] = {}

    def note(self, line: Line) -> ToolCall | None:
        """Take a message of the host; return the call of a tool that it is, if it is one."""
        members = line.members
        method = _value(line, "method")
        if method == "notifications/cancelled":
            cancelled = _member(_value(line, "params"), "requestId")
            if _is_id(cancelled):
                self._waiting.pop(cancelled, None)
        if method not in ("initialize", "tools/list", "tools/call") or "id" not in members:
            return None
        request_id = _value(line, "id", most_bytes=_MOST_ID_BYTES)
        if not _is_id(request_id):
            return None
        if method != "tools/call":
            self._waiting[request_id] = method
            return None
        params = _value(line, "params")
        name = _member(params, "name")
        if not isinstance(name, str) or not name:
            return None
        self._read_revision(params)
        call = ToolCall(new_id(), name, _member(params, "arguments") or {})
        self._waiting[request_id] = call
        return call

    def answered(self, line: Line) -> ToolCall | None:
        """Take a message of the server; return the call that it answers, and forget it."""
        members = line.members
        if "method" in members or not ("result" in members or "error" in members):
            return None
        request_id = _value(line, "id", most_bytes=_MOST_ID_BYTES)
        if not _is_id(request_id):
            return None
        asked = self._waiting.pop(request_id, None)
        if isinstance(asked, ToolCall):
            return asked
        if asked == "initialize":
            revision = _member(_value(line, "result"), "protocolVersion")
            self.revision = nearest_revision(revision)
        elif asked == "tools/list":
            self._read_tools(_member(_value(line, "result"), "tools"))
        return None

    def _read_tools(self, tools: JsonValue) -> None:
        for tool in tools if isinstance(tools, list) else []:
            name = _member(tool, "name")
            if isinstance(name, str) and _member(tool, "outputSchema") is not None:
                self.typed_tools.add(name)

    def _read_revision(self, params: JsonValue) -> None:
        """Read the revision that a call without a connection of its own names."""
        named = _member(_member(params, "_meta"), "io.modelcontextprotocol/protocolVersion")
        if named is not None:
            self.revision = nearest_revision(named)


def parsed(line: Line, span: Span) -> JsonValue:
    """Return the value of a member; `None` if it is no JSON."""
    try:
        value: JsonValue = json.loads(line.read(span))
    except (ValueError, RecursionError):
        return None
    return value


def _value(line: Line, name: str, *, most_bytes: int = _MOST_PARSED_BYTES) -> JsonValue:
    span = line.members.get(name)
    if span is None or span.end - span.start > most_bytes:
        return None
    return parsed(line, span)


def _member(value: JsonValue, name: str) -> JsonValue:
    return value.get(name) if isinstance(value, dict) else None


def _is_id(value: JsonValue) -> bool:
    # `True` is equal to 1, and is no id.
    return isinstance(value, str | int) and not isinstance(value, bool)


def nearest_revision(revision: JsonValue) -> McpRevision:
    """Return the newest revision known here that is not newer than the one that was agreed on."""
    known = [each for each in _REVISIONS if isinstance(revision, str) and each <= revision]
    return known[-1] if known else _REVISIONS[0]
