"""Track the open requests of a host, to find the call of a tool that a message answers.

The response to a call may be a *task*, and the result of the call comes later. In revision
2025-11-25, the host requests the result with `tasks/result`, whose response has the form of a
call's response. In the extension of 2026-07-28, the response to `tasks/get` and the notification
`notifications/tasks` contain the task, and a task that has ended contains its result or error.

The proxy calls `track` with each message of the host, and `match_response` with each message of the
server.

Source: specification of MCP, 2025-11-25, "Tasks"; extension `io.modelcontextprotocol/tasks`,
2026-07-28; specification of MCP, 2026-07-28, "Multi Round-Trip Requests".
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, TypeVar, get_args

import anyio
import uuid_utils

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.render_options import McpRevision
from pagefault_mcp.messages.app_pages import AppPage, find_app, read_page
from pagefault_mcp.messages.argument_handles import FileArgument, find_file_arguments
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import (
    MAX_PARSED_BYTES,
    LinePiece,
    Message,
    RequestId,
    is_id,
    locate_members,
    locate_object,
    member,
    parse_member,
    read_id,
    read_member,
    read_value,
)

GET_TASK: Final = "tasks/get"
TASK_RESULT: Final = "tasks/result"
TASK_CHANGED: Final = "notifications/tasks"

_END_MEMBERS: Mapping[object, str] = MappingProxyType({"completed": "result", "failed": "error"})
_FAILED_STATES = ("failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Deferral:
    """A response to a call that has no result yet."""

    task_id: str | None = None
    """The task that will have the result."""
    is_in_task: bool = False
    """True if the result will be a member of the task, as in 2026-07-28."""
    state: str | None = None
    """The `requestState` of a response that requires input; the host repeats the call with it."""


def find_deferral(line: Message, result: Span) -> Deferral | None:
    """Return the deferral that a response contains; `None` if it has the result."""
    members = locate_members(line, result)
    result_type = read_member(line, members, "resultType")
    if result_type == "input_required":
        state = read_member(line, members, "requestState")
        return Deferral(state=state if isinstance(state, str) else "")
    is_in_task = result_type == "task"
    if is_in_task:
        task_id = read_member(line, members, "taskId")
    elif "task" in members and "content" not in members:
        task_id = member(parse_member(line, members["task"]), "taskId")
    else:
        return None
    return Deferral(task_id, is_in_task) if isinstance(task_id, str) else None


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """The result or the error of a call."""

    span: Span
    """The span of the result, of the error, or of the status message."""
    is_success: bool
    """True for a result, false for an error."""


def find_task_end(line: Message, task: Span) -> TaskEnd | None:
    """Return the end of a task; `None` while it is running.

    Args:
        line: The message.
        task: The span of the task, as in 2026-07-28.
    """
    members = locate_members(line, task)
    status = read_member(line, members, "status")
    if not isinstance(status, str):
        return None
    name = _END_MEMBERS.get(status)
    if name in members:
        return TaskEnd(members[name], is_success=name == "result")
    if status not in _FAILED_STATES:
        return None
    return TaskEnd(members.get("statusMessage", members["status"]), is_success=False)


_MAX_TASKS = 1_000
_MAX_CANCELLED = 50
_MAX_APP_PAGES = 16
_RESOURCES_CHANGED = ("notifications/resources/list_changed", "notifications/resources/updated")
_MAX_NAME_CHARS = 200
_BEGINNING_BYTES = 1_000
_TRACKED_METHODS = ("initialize", "server/discover", "tools/list", TASK_RESULT, GET_TASK)
_FIRST_LIST = "the first page of tools/list"
_REVISIONS: tuple[McpRevision, ...] = get_args(McpRevision.__value__)

UNREADABLE = "longer than 8 MiB, nested too deeply, or have a number that JSON does not have"
"""Description of arguments that cannot be parsed."""

_PROTOCOL = "io.modelcontextprotocol/"
REVISION = f"{_PROTOCOL}protocolVersion"
"""The member of `_meta` with the revision of a request without a session."""
_SERVER = f"{_PROTOCOL}serverInfo"

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class PendingCall:
    """An unanswered call of a tool."""

    call_id: str
    """Its id in the history. MCP has no ids of calls, and an id of JSON-RPC is unique only within
    its connection."""
    name: str
    """The tool."""
    arguments: JsonValue
    """Its arguments; `None` if they cannot be parsed."""
    arguments_json: str
    """The arguments as JSON text for the history; their beginning if they are too long."""
    request_id: bytes
    """The id of the request, as it was written."""
    parsed_id: str | float | None
    """The parsed id; `None` if it is invalid."""
    protocol_meta: Mapping[str, JsonValue]
    """The members of `_meta` whose names begin with `io.modelcontextprotocol/`; a request without a
    session has them."""
    state: str | None = None
    """The state of the response that required input; `None` for a first request."""
    memory_tool: str | None = None
    """The name of our tool; `None` for a tool of the server."""
    server: str | None = None
    """The name of the server; `None` while it is unknown."""
    is_recorded: bool = False
    """True if the history has the call already, since it repeats an earlier call."""
    traceparent: str | None = None
    """The W3C trace context that the host has put into `_meta`."""


@dataclass(slots=True, eq=False)
class OwnToolListRequest:
    """A request of the proxy for one page of the list of the server's tools."""

    line: bytes
    """The request."""
    is_first: bool
    """True if it requests the first page of the list."""
    is_answered: anyio.Event = field(default_factory=anyio.Event)
    cursor: JsonValue = None
    """The cursor of the next page, if there is one."""


@dataclass(slots=True, eq=False)
class AppPageRequest:
    """A request of the proxy for the page of an app."""

    uri: str
    line: bytes
    """The request."""
    is_answered: anyio.Event = field(default_factory=anyio.Event)
    page: AppPage | None = None


@dataclass(frozen=True, slots=True)
class TaskPoll:
    """A request for the task of a call."""

    call: PendingCall


@dataclass(frozen=True, slots=True)
class CallResponse:
    """A message with the result or the error of a call."""

    call: PendingCall
    outcome: TaskEnd
    """The position of the result or the error in the message."""


MatchedResponse: TypeAlias = (
    CallResponse | OwnToolListRequest | AppPageRequest | Literal["tools/list"]
)


@dataclass(slots=True, eq=False)
class RequestTracker:
    """The open requests of a host, and the properties of the server that its responses show."""

    memory_tools: Mapping[str, str]
    """The names of the memory's tools, by their names for the host."""
    takes_paths: bool
    """True if tools receive files as paths."""
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    server: str | None = None
    """The name of the server."""
    revision: McpRevision = _REVISIONS[0]
    """The revision of MCP that both sides agreed on."""
    typed_tools: set[str] = field(default_factory=set)
    """The tools that declare a schema of their `structuredContent`."""
    tool_names: set[str] = field(default_factory=set)
    """The names of the server's tools in the last list."""
    is_listed: bool = False
    """True if the last list is complete."""
    file_arguments: dict[str, Sequence[FileArgument]] = field(default_factory=dict)
    """The arguments that are files, by the names of the server's tools."""
    apps: dict[str, str] = field(default_factory=dict)
    """The URIs of the app pages of the server's tools, by the names of the tools."""
    _app_pages: dict[str, AppPageRequest] = field(default_factory=dict)
    _is_negotiated: bool = False
    _has_requested: bool = False
    _open_requests: dict[
        RequestId, PendingCall | TaskPoll | OwnToolListRequest | AppPageRequest | str
    ] = field(default_factory=dict)
    _cancelled: dict[RequestId, PendingCall | TaskPoll] = field(default_factory=dict)
    # By task id. A `TaskPoll` stands for a task that will have its result as a member.
    _tasks: dict[str, PendingCall | TaskPoll] = field(default_factory=dict)
    # By tool, arguments and state: the ids of calls that were answered with a request for input.
    _interrupted: dict[tuple[str, bytes, str], str] = field(default_factory=dict)

    def track(self, line: Message) -> PendingCall | None:
        """Process a message of the host; return the call if it calls a tool.

        Other requests whose responses matter are tracked. A call is tracked by `start_call`.
        """
        method = read_value(line, "method")
        if method == "notifications/cancelled":
            cancelled = member(read_value(line, "params"), "requestId")
            pending = self._open_requests.pop(cancelled, None) if is_id(cancelled) else None
            if is_id(cancelled) and isinstance(pending, PendingCall | TaskPoll):
                # The server may answer a cancelled request nevertheless.
                _add_bounded(self._cancelled, cancelled, pending, max_items=_MAX_CANCELLED)
        if method == "tools/call" and "id" in line.members:
            return self._read_call(line)
        request_id = read_id(line)
        if method not in _TRACKED_METHODS or request_id is None:
            return None
        params = read_value(line, "params")
        if method in (TASK_RESULT, GET_TASK):
            task = self._find_task(member(params, "taskId"))
            if task is not None and isinstance(task, TaskPoll) == (method == GET_TASK):
                self._open_requests[request_id] = task
            return None
        is_first = method == "tools/list" and not member(params, "cursor")
        self._open_requests[request_id] = _FIRST_LIST if is_first else str(method)
        return None

    def _read_call(self, line: Message) -> PendingCall | None:
        params = locate_object(line, "params")
        name = read_member(line, params, "name")
        if not isinstance(name, str) or not name:
            return None
        meta = read_member(line, params, "_meta")
        # A call without a session has the revision in `_meta`.
        if (revision := member(meta, REVISION)) is not None:
            self.revision = find_nearest_revision(revision)
        protocol_meta = meta if isinstance(meta, dict) else {}
        traceparent = member(meta, "traceparent")
        arguments, arguments_json = _read_arguments(line, params.get("arguments"))
        return PendingCall(
            call_id=str(uuid_utils.uuid7()),
            name=name,
            arguments=arguments,
            arguments_json=arguments_json,
            request_id=line.read(line.members["id"]).strip(),
            parsed_id=read_id(line),
            protocol_meta={
                key: value for key, value in protocol_meta.items() if key.startswith(_PROTOCOL)
            },
            state=_read_state(line, params),
            server=self.server,
            traceparent=traceparent if isinstance(traceparent, str) else None,
        )

    def needs_list(self, call: PendingCall, *, is_remote: bool) -> bool:
        """Return whether the proxy has to request the list of the server's tools for a call.

        The list shows whether the server has a tool of this name, which of its arguments are files,
        and, for a remote server, which arguments are repeated in headers. If the host has cached
        the list, the proxy has not seen it. The proxy requests it once until it changes, and not
        before the revision was negotiated.

        Args:
            call: The call.
            is_remote: Whether the server is connected over HTTP.
        """
        is_modern = REVISION in call.protocol_meta
        is_unknown = not (self.is_listed or self._has_requested or call.name in self.tool_names)
        has_handles = "@blob:" in call.arguments_json
        is_needed = call.name in self.memory_tools or has_handles or (is_remote and is_modern)
        return is_unknown and is_needed and (self._is_negotiated or is_modern)

    def request_list(self, call: PendingCall, cursor: JsonValue) -> OwnToolListRequest:
        """Return a request for one page of the list of the server's tools, and track it.

        Args:
            call: The call that needs the list.
            cursor: The cursor of the page; `None` for the first one.
        """
        self._has_requested = True
        params = {"cursor": cursor} if cursor else {}
        request_id, line = _build_request(call, "tools/list", params)
        page = OwnToolListRequest(line, is_first=not cursor)
        self._open_requests[request_id] = page
        return page

    def find_app_page_request(self, call: PendingCall) -> AppPageRequest | None:
        """Return the request that was sent for the app page of a call's tool, if there is one."""
        return self._app_pages.get(self.apps.get(call.name, ""))

    def request_app_page(self, call: PendingCall) -> AppPageRequest | None:
        """Return a new request for the app page of a call's tool, and track it.

        Returns:
            `None` if the tool has no app page, or its page was requested already.
        """
        uri = self.apps.get(call.name)
        if uri is None or uri in self._app_pages:
            return None
        request_id, line = _build_request(call, "resources/read", {"uri": uri})
        read = AppPageRequest(uri, line)
        _add_bounded(self._app_pages, uri, read, max_items=_MAX_APP_PAGES)
        self._open_requests[request_id] = read
        return read

    def start_call(self, call: PendingCall) -> PendingCall | None:
        """Track a call of a tool of the server, and return it.

        A call of a tool of the memory is returned with its `memory_tool`, and is not tracked.

        Returns:
            The call; `None` if its id is invalid, so that no response can be matched with it.
        """
        memory_tool = None if call.name in self.tool_names else self.memory_tools.get(call.name)
        if memory_tool is not None:
            return replace(call, memory_tool=memory_tool)
        parsed_id = call.parsed_id
        if parsed_id is None:
            self.warn(
                f"a call of {call.name} is not stored, and no file is put into it: "
                "its id is no string and no number, or too long"
            )
            return None
        if call.arguments is None:
            self.warn(f"handles for {call.name} stay as they are: its arguments are {UNREADABLE}")
        if call.state is not None:
            first_id = self._interrupted.pop(_repetition_key(call, call.state), None)
            if first_id is not None:
                call = replace(call, call_id=first_id, is_recorded=True)
        self._open_requests[parsed_id] = call
        return call

    def match_response(self, line: Message) -> "MatchedResponse | None":
        """Process a message of the server; return the tracked request that it answers, if any.

        The request is not tracked any longer.
        """
        members = line.members
        if "method" in members:
            return self._process_notification(line, read_value(line, "method"))
        if not ("result" in members or "error" in members):
            return None
        request_id = read_id(line)
        cancelled_request = None if request_id is None else self._cancelled.pop(request_id, None)
        request = (
            cancelled_request
            if request_id is None
            else self._open_requests.pop(request_id, cancelled_request)
        )
        if isinstance(request, PendingCall):
            span = members["result"] if "result" in members else members["error"]
            return CallResponse(request, TaskEnd(span, is_success="result" in members))
        if isinstance(request, OwnToolListRequest):
            try:
                # A late list must not replace a newer one that the host has requested.
                if not self.is_listed:
                    request.cursor = self._read_tool_list(line, is_first=request.is_first)
            finally:
                request.is_answered.set()
            return request
        if isinstance(request, AppPageRequest):
            try:
                request.page = read_page(request.uri, read_value(line, "result"))
            finally:
                request.is_answered.set()
            return request
        if request in ("tools/list", _FIRST_LIST):
            self._read_tool_list(line, is_first=request == _FIRST_LIST)
        return (
            None
            if request is None or "result" not in members
            else self._read_poll_or_list(request, line)
        )

    def _process_notification(self, line: Message, method: JsonValue) -> "MatchedResponse | None":
        """Process a notification; return the call that it ends, if any."""
        if method == "notifications/tools/list_changed":
            self.is_listed = self._has_requested = False
        if method in _RESOURCES_CHANGED:
            self._app_pages.clear()
        if method == TASK_CHANGED and "params" in line.members:
            task = self._find_task(read_member(line, locate_object(line, "params"), "taskId"))
            return _find_call_end(task, line, line.members["params"])
        return None

    def _read_poll_or_list(
        self, request: TaskPoll | str, line: Message
    ) -> "MatchedResponse | None":
        """Process the response to a poll, a list or a handshake of the host."""
        result = line.members["result"]
        if isinstance(request, TaskPoll):
            return _find_call_end(request, line, result)
        if request in ("tools/list", _FIRST_LIST):
            return "tools/list"
        self._read_server_info(read_value(line, "result"), is_handshake=request == "initialize")
        return None

    def defer(self, call: PendingCall, deferral: Deferral) -> None:
        """Track the task that will have the result of a call, or the state of its repetition."""
        if deferral.task_id is not None:
            _add_bounded(
                self._tasks, deferral.task_id, TaskPoll(call) if deferral.is_in_task else call
            )
        elif deferral.state is not None:
            _add_bounded(self._interrupted, _repetition_key(call, deferral.state), call.call_id)

    def _find_task(self, task_id: JsonValue) -> PendingCall | TaskPoll | None:
        return self._tasks.get(task_id) if isinstance(task_id, str) else None

    def _read_server_info(self, result: JsonValue, *, is_handshake: bool) -> None:
        if is_handshake:
            self.revision = find_nearest_revision(member(result, "protocolVersion"))
            self._is_negotiated = True
        self._read_server_name(member(result, "serverInfo"))
        self._read_server_name(member(result, "_meta", _SERVER))

    def _read_server_name(self, server_info: JsonValue) -> None:
        """Set the name of the server from its `serverInfo`."""
        name = member(server_info, "name")
        if isinstance(name, str) and name:
            self.server = name[:_MAX_NAME_CHARS]

    def _read_tool_list(self, line: Message, *, is_first: bool) -> JsonValue:
        """Read a page of the list of the server's tools; return the cursor of the next page."""
        if "result" not in line.members:
            return None
        if is_first:
            for tools in (self.tool_names, self.typed_tools, self.file_arguments, self.apps):
                tools.clear()
        result = locate_object(line, "result")
        if "tools" in result:
            whole = line.line if isinstance(line, LinePiece) else line
            self._read_tools(LinePiece(whole, result["tools"]))
        self._read_server_name(member(read_member(line, result, "_meta"), _SERVER))
        cursor = read_member(line, result, "nextCursor")
        # Some servers end a list with an empty cursor.
        self.is_listed = not cursor
        return cursor

    def _read_tools(self, tools: LinePiece) -> None:
        """Read tools one by one, so that an invalid one does not affect the others."""
        with suppress(ValueError):
            for tool in tools.items():
                self._read_tool(tool)

    def _read_tool(self, tool: LinePiece) -> None:
        name = read_value(tool, "name")
        if not isinstance(name, str):
            return
        self.tool_names.add(name)
        schema = tool.members.get("outputSchema")
        if schema is not None and tool.read(schema).strip() != b"null":
            self.typed_tools.add(name)
        file_arguments = find_file_arguments(
            read_value(tool, "inputSchema"), takes_paths=self.takes_paths
        )
        if file_arguments:
            self.file_arguments[name] = file_arguments
        if (uri := find_app(read_value(tool, "_meta"))) is not None:
            self.apps[name] = uri


def _build_request(
    call: PendingCall, method: str, params: Mapping[str, JsonValue]
) -> tuple[str, bytes]:
    """Return the id and the line of a request that the proxy sends because of a call."""
    request_id = f"pagefault-{uuid_utils.uuid7()!s}"
    meta: dict[str, JsonValue] = {"_meta": dict(call.protocol_meta)} if call.protocol_meta else {}
    request = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**meta, **params}}
    return request_id, json.dumps(request).encode() + b"\n"


def _find_call_end(
    task: PendingCall | TaskPoll | None, line: Message, task_span: Span
) -> CallResponse | None:
    """Return the end of the call that a task belongs to; `None` while the task is running."""
    end = find_task_end(line, task_span) if isinstance(task, TaskPoll) else None
    return CallResponse(task.call, end) if isinstance(task, TaskPoll) and end else None


def _add_bounded(
    calls: dict[_Key, _Value], key: _Key, call: _Value, max_items: int = _MAX_TASKS
) -> None:
    """Add an item to a mapping; above the limit, remove the oldest items."""
    while len(calls) >= max_items:
        del calls[next(iter(calls))]
    calls[key] = call


def _repetition_key(call: PendingCall, state: str) -> tuple[str, bytes, str]:
    """Return the key by which the repetition of a call is recognised."""
    return call.name, sha256(call.arguments_json.encode("utf-8", "surrogatepass")).digest(), state


def _read_arguments(line: Message, span: Span | None) -> tuple[JsonValue, str]:
    """Return the arguments of a call, `None` if they cannot be parsed, and their JSON text."""
    if span is None:
        return {}, "{}"
    size = span.end - span.start
    if size <= MAX_PARSED_BYTES:
        arguments = parse_member(line, span)
        # Infinite numbers and NaN, which Python parses, are not JSON.
        with suppress(ValueError):
            if arguments is not None or line.read(span).strip() == b"null":
                arguments = {} if arguments is None else arguments
                return arguments, json_text(arguments)
        return None, line.read(span).decode("utf-8", "replace").strip()
    beginning = line.read(Span(span.start, span.start + _BEGINNING_BYTES)).decode("utf-8", "ignore")
    text = f"{size / 1e6:.1f} MB of arguments, which are not kept. They begin: {beginning.strip()}"
    return None, json_text({"input": text})


def _read_state(line: Message, params: Mapping[str, Span]) -> str | None:
    """Return the state of the response that a call continues; `None` for a first request."""
    if "requestState" not in params and "inputResponses" not in params:
        return None
    state = read_member(line, params, "requestState")
    return state if isinstance(state, str) else ""


def find_nearest_revision(revision: JsonValue) -> McpRevision:
    """Return the newest known revision that is not newer than a given one.

    Return the oldest known revision if all are newer, or if the given one is not a string.
    """
    older = [item for item in _REVISIONS if isinstance(revision, str) and item <= revision]
    return older[-1] if older else _REVISIONS[0]
