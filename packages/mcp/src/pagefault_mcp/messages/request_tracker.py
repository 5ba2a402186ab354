"""Track the open requests of a host, to match the server's responses with calls of tools.

The proxy calls `RequestTracker.track` with each message of the host, and `match_response` with each
message of the server.

The response to a call may be a *task* instead of a result, and the result comes later:

- In the revision 2025-11-25, the host requests the result with `tasks/result`. The response has the
  form of a call's response.
- In the extension of 2026-07-28, the response to `tasks/get` and the notification
  `notifications/tasks` contain the task. A task that has ended contains its result or error.

The response may also ask for more input. Then the host repeats the call with the input.

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
from pagefault_mcp.messages.app_pages import AppPage, find_app_page_uri, read_app_page
from pagefault_mcp.messages.argument_handles import FileArgument, find_file_arguments
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import (
    MAX_PARSED_BYTES,
    LinePiece,
    Message,
    RequestId,
    get_member,
    is_id,
    locate_members,
    locate_object,
    parse_span,
    read_id,
    read_member,
    read_message_member,
)

GET_TASK: Final = "tasks/get"
TASK_RESULT: Final = "tasks/result"
TASK_CHANGED: Final = "notifications/tasks"

# The member of a task that has its result or error, by the status of the task.
_END_MEMBERS: Mapping[object, str] = MappingProxyType({"completed": "result", "failed": "error"})
_FAILED_STATES = ("failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Deferral:
    """A response to a call that has no result yet."""

    task_id: str | None = None
    """The task that will have the result."""
    is_in_task: bool = False
    """True if the result will be a member of the task, as in the extension of 2026-07-28."""
    state: str | None = None
    """The `requestState` of a response that asks for input. The repeated call has the same."""


def find_deferral(message: Message, result: Span) -> Deferral | None:
    """Return the deferral that a response contains; `None` if the response has the result.

    Args:
        message: The response.
        result: The span of its `result`, which may be a task or a request for input.
    """
    members = locate_members(message, result)
    result_type = read_member(message, members, "resultType")
    if result_type == "input_required":
        state = read_member(message, members, "requestState")
        return Deferral(state=state if isinstance(state, str) else "")
    is_in_task = result_type == "task"
    if is_in_task:
        task_id = read_member(message, members, "taskId")
    elif "task" in members and "content" not in members:
        task_id = get_member(parse_span(message, members["task"]), "taskId")
    else:
        return None
    return Deferral(task_id, is_in_task) if isinstance(task_id, str) else None


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The position of the result or the error of a call in a message."""

    span: Span
    """The span of the result or the error. A task without an error has a status message instead."""
    is_success: bool
    """True for a result, false for an error."""


def find_task_outcome(message: Message, task: Span) -> CallOutcome | None:
    """Return the result or the error that a task contains; `None` while the task is running.

    Args:
        message: The message with the task.
        task: The span of the task, in the form of the extension of 2026-07-28.
    """
    members = locate_members(message, task)
    status = read_member(message, members, "status")
    if not isinstance(status, str):
        return None
    name = _END_MEMBERS.get(status)
    if name in members:
        return CallOutcome(members[name], is_success=name == "result")
    if status not in _FAILED_STATES:
        return None
    return CallOutcome(members.get("statusMessage", members["status"]), is_success=False)


# The maximum number of tasks and of interrupted calls; above it, the oldest is forgotten.
_MAX_TASKS = 1_000
_MAX_CANCELLED = 50
_MAX_APP_PAGES = 16
_RESOURCES_CHANGED = ("notifications/resources/list_changed", "notifications/resources/updated")
_MAX_NAME_CHARS = 200
# The length of the beginning of too long arguments that the history keeps.
_BEGINNING_BYTES = 1_000
# The methods of requests, other than calls, whose responses are read.
_TRACKED_METHODS = ("initialize", "server/discover", "tools/list", TASK_RESULT, GET_TASK)
# Stands for the method `tools/list` in a request without a cursor.
_FIRST_LIST = "the first page of tools/list"
# The known revisions of MCP, the oldest first.
_REVISIONS: tuple[McpRevision, ...] = get_args(McpRevision.__value__)

UNREADABLE = "longer than 8 MiB, nested too deeply, or have a number that JSON does not have"
"""Description of arguments that cannot be parsed."""

_PROTOCOL_PREFIX = "io.modelcontextprotocol/"
REVISION_MEMBER = f"{_PROTOCOL_PREFIX}protocolVersion"
"""The member of `_meta` with the revision of a request without a session."""
_SERVER_MEMBER = f"{_PROTOCOL_PREFIX}serverInfo"

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call of a tool that has no response yet."""

    call_id: str
    """The id of the call in the history, which the proxy generates: MCP has no ids of calls, and an
    id of JSON-RPC is unique only within a connection."""
    name: str
    """The name of the tool, for the host."""
    arguments: JsonValue
    """The arguments; `None` if they cannot be parsed."""
    arguments_json: str
    """The arguments as JSON text for the history; their beginning if they are too long."""
    request_id: bytes
    """The id of the request, as JSON."""
    parsed_id: str | float | None
    """The id of the request, parsed; `None` if it is invalid."""
    protocol_meta: Mapping[str, JsonValue]
    """The members of `_meta` whose names begin with `io.modelcontextprotocol/`. Requests without a
    session have them."""
    state: str | None = None
    """The `requestState` of the response that asked for input; `None` unless this call repeats an
    earlier one."""
    memory_tool: str | None = None
    """The name of the memory's tool; `None` for a tool of the server."""
    server: str | None = None
    """The name of the server; `None` while it is unknown."""
    is_recorded: bool = False
    """True if the history has the call already, since this call repeats an earlier one."""
    traceparent: str | None = None
    """The W3C trace context that the host has put into `_meta`."""


@dataclass(slots=True, eq=False)
class OwnToolListRequest:
    """A request of the proxy itself for a part of the list of the server's tools."""

    line: bytes
    """The request."""
    is_first: bool
    """True if it requests the beginning of the list."""
    response_received: anyio.Event = field(default_factory=anyio.Event)
    """Set when the response has arrived."""
    cursor: JsonValue = None
    """The cursor of the next part, from the response; `None` at the end of the list."""


@dataclass(slots=True, eq=False)
class AppPageRequest:
    """A request of the proxy itself for the page of an app."""

    uri: str
    line: bytes
    """The request."""
    response_received: anyio.Event = field(default_factory=anyio.Event)
    """Set when the response has arrived, or a call has waited for it in vain."""
    page: AppPage | None = None


@dataclass(frozen=True, slots=True)
class TaskPoll:
    """A request for the task of a call, which will contain the result of the call."""

    call: PendingCall


@dataclass(frozen=True, slots=True)
class CallResponse:
    """A message with the result or the error of a call."""

    call: PendingCall
    outcome: CallOutcome


MatchedResponse: TypeAlias = (
    CallResponse | OwnToolListRequest | AppPageRequest | Literal["tools/list"]
)
"""The messages of the server that the proxy does not just forward: responses to calls, to requests
of the proxy itself, and to requests of the host for the list of tools."""


@dataclass(slots=True, eq=False)
class RequestTracker:
    """The open requests of a host, and properties of the server that its responses contain."""

    memory_tools: Mapping[str, str]
    """The names of the memory's tools, by their names for the host."""
    takes_paths: bool
    """True if tools may get files as paths."""
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    server: str | None = None
    """The name of the server."""
    revision: McpRevision = _REVISIONS[0]
    """The revision of MCP that host and server have negotiated, or that the last call named."""
    typed_tools: set[str] = field(default_factory=set)
    """The tools that declare a schema of their `structuredContent`."""
    tool_names: set[str] = field(default_factory=set)
    """The names of the server's tools in the last list."""
    is_listed: bool = False
    """True if the last list is complete."""
    file_arguments: dict[str, Sequence[FileArgument]] = field(default_factory=dict)
    """The arguments of the server's tools that are files, by the names of the tools."""
    apps: dict[str, str] = field(default_factory=dict)
    """The URIs of the app pages of the server's tools, by the names of the tools."""
    _app_pages: dict[str, AppPageRequest] = field(default_factory=dict)
    """The requests that were sent for app pages, by their URIs."""
    _is_negotiated: bool = False
    """True if the server has responded to `initialize`."""
    _has_requested_list: bool = False
    """True if the proxy has requested the list of tools since the list last changed."""
    _open_requests: dict[
        RequestId, PendingCall | TaskPoll | OwnToolListRequest | AppPageRequest | str
    ] = field(default_factory=dict)
    """The tracked requests, by their ids. A string is the method of any other request."""
    _cancelled: dict[RequestId, PendingCall | TaskPoll] = field(default_factory=dict)
    """The last cancelled requests, by their ids."""
    _tasks: dict[str, PendingCall | TaskPoll] = field(default_factory=dict)
    """The calls of tasks, by the ids of the tasks; as `TaskPoll` if the task will contain the
    result."""
    _interrupted: dict[tuple[str, bytes, str], str] = field(default_factory=dict)
    """The ids of calls whose response asked for input, by the keys of `_make_repetition_key`."""

    def track(self, message: Message) -> PendingCall | None:
        """Process a message of the host; return the call if the message calls a tool.

        The call is not tracked yet; see `start_call`. Other requests are tracked if their responses
        matter here.
        """
        method = read_message_member(message, "method")
        if method == "notifications/cancelled":
            cancelled = get_member(read_message_member(message, "params"), "requestId")
            pending = self._open_requests.pop(cancelled, None) if is_id(cancelled) else None
            if is_id(cancelled) and isinstance(pending, PendingCall | TaskPoll):
                # The server may respond to a cancelled request nevertheless.
                _add_with_limit(self._cancelled, cancelled, pending, max_items=_MAX_CANCELLED)
        if method == "tools/call" and "id" in message.members:
            return self._read_call(message)
        request_id = read_id(message)
        if method not in _TRACKED_METHODS or request_id is None:
            return None
        params = read_message_member(message, "params")
        if method in (TASK_RESULT, GET_TASK):
            task = self._find_task(get_member(params, "taskId"))
            # A `TaskPoll` is a task that contains its result, for which only `tasks/get` matters.
            # For other tasks only `tasks/result` matters.
            if task is not None and isinstance(task, TaskPoll) == (method == GET_TASK):
                self._open_requests[request_id] = task
            return None
        is_first = method == "tools/list" and not get_member(params, "cursor")
        self._open_requests[request_id] = _FIRST_LIST if is_first else str(method)
        return None

    def _read_call(self, message: Message) -> PendingCall | None:
        """Return the call in a request `tools/call`; `None` if the request names no tool."""
        params = locate_object(message, "params")
        name = read_member(message, params, "name")
        if not isinstance(name, str) or not name:
            return None
        meta = read_member(message, params, "_meta")
        # A call without a session has the revision in `_meta`.
        if (revision := get_member(meta, REVISION_MEMBER)) is not None:
            self.revision = find_nearest_revision(revision)
        protocol_meta = meta if isinstance(meta, dict) else {}
        traceparent = get_member(meta, "traceparent")
        arguments, arguments_json = _read_arguments(message, params.get("arguments"))
        return PendingCall(
            call_id=str(uuid_utils.uuid7()),
            name=name,
            arguments=arguments,
            arguments_json=arguments_json,
            request_id=message.read(message.members["id"]).strip(),
            parsed_id=read_id(message),
            protocol_meta={
                key: value
                for key, value in protocol_meta.items()
                if key.startswith(_PROTOCOL_PREFIX)
            },
            state=_read_state(message, params),
            server=self.server,
            traceparent=traceparent if isinstance(traceparent, str) else None,
        )

    def needs_list(self, call: PendingCall, *, is_remote: bool) -> bool:
        """Return whether the proxy has to request the list of the server's tools for a call.

        The list shows whether the server has a tool of this name, which of the tool's arguments are
        files, and, for a server at a URL, which arguments headers have to repeat. If the host has
        cached the list, the proxy has not seen it. The proxy requests the list at most once until
        the list changes, and not before the revision was negotiated.

        Args:
            call: The call.
            is_remote: True if the server is at a URL.
        """
        has_no_session = REVISION_MEMBER in call.protocol_meta
        is_unknown = not (
            self.is_listed or self._has_requested_list or call.name in self.tool_names
        )
        has_handles = "@blob:" in call.arguments_json
        is_needed = call.name in self.memory_tools or has_handles or (is_remote and has_no_session)
        return is_unknown and is_needed and (self._is_negotiated or has_no_session)

    def request_list(self, call: PendingCall, cursor: JsonValue) -> OwnToolListRequest:
        """Return a new request for a part of the list of the server's tools, and track it.

        Args:
            call: The call that needs the list.
            cursor: The cursor of the part; `None` for the beginning of the list.
        """
        self._has_requested_list = True
        params = {"cursor": cursor} if cursor else {}
        request_id, line = _build_request(call, "tools/list", params)
        request = OwnToolListRequest(line, is_first=not cursor)
        self._open_requests[request_id] = request
        return request

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
        request = AppPageRequest(uri, line)
        _add_with_limit(self._app_pages, uri, request, max_items=_MAX_APP_PAGES)
        self._open_requests[request_id] = request
        return request

    def start_call(self, call: PendingCall) -> PendingCall | None:
        """Track a call of a tool of the server.

        A call of one of the memory's tools is not tracked, since the server does not get it.

        Returns:
            The call, with `memory_tool` if it is a call of a tool of the memory, and with the id of
            the earlier call if it repeats one. `None` if the id of the request is invalid, so that
            no response can be matched with the call.
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
            first_id = self._interrupted.pop(_make_repetition_key(call, call.state), None)
            if first_id is not None:
                call = replace(call, call_id=first_id, is_recorded=True)
        self._open_requests[parsed_id] = call
        return call

    def match_response(self, message: Message) -> "MatchedResponse | None":
        """Process a message of the server; return `None` if the proxy has just to forward it.

        After its response, a request is not tracked any longer.
        """
        members = message.members
        if "method" in members:
            return self._process_notification(message, read_message_member(message, "method"))
        if not ("result" in members or "error" in members):
            return None
        request_id = read_id(message)
        cancelled_request = None if request_id is None else self._cancelled.pop(request_id, None)
        request = (
            cancelled_request
            if request_id is None
            else self._open_requests.pop(request_id, cancelled_request)
        )
        if isinstance(request, PendingCall):
            span = members["result"] if "result" in members else members["error"]
            return CallResponse(request, CallOutcome(span, is_success="result" in members))
        if isinstance(request, OwnToolListRequest):
            try:
                # Meanwhile the host may have requested the list. A late response to the proxy must
                # not replace that newer list.
                if not self.is_listed:
                    request.cursor = self._read_tool_list(message, is_first=request.is_first)
            finally:
                request.response_received.set()
            return request
        if isinstance(request, AppPageRequest):
            try:
                request.page = read_app_page(request.uri, read_message_member(message, "result"))
            finally:
                request.response_received.set()
            return request
        if request in ("tools/list", _FIRST_LIST):
            self._read_tool_list(message, is_first=request == _FIRST_LIST)
        return (
            None
            if request is None or "result" not in members
            else self._match_other_response(request, message)
        )

    def _process_notification(
        self, message: Message, method: JsonValue
    ) -> "MatchedResponse | None":
        """Process a notification; return the response to a call if the notification has it."""
        if method == "notifications/tools/list_changed":
            self.is_listed = self._has_requested_list = False
        if method in _RESOURCES_CHANGED:
            self._app_pages.clear()
        if method == TASK_CHANGED and "params" in message.members:
            task = self._find_task(read_member(message, locate_object(message, "params"), "taskId"))
            return _find_call_response(task, message, message.members["params"])
        return None

    def _match_other_response(
        self, request: TaskPoll | str, message: Message
    ) -> "MatchedResponse | None":
        """Process the response to a request of the host for a task, a list or a handshake."""
        result = message.members["result"]
        if isinstance(request, TaskPoll):
            return _find_call_response(request, message, result)
        if request in ("tools/list", _FIRST_LIST):
            return "tools/list"
        self._read_server_info(
            read_message_member(message, "result"), is_handshake=request == "initialize"
        )
        return None

    def defer(self, call: PendingCall, deferral: Deferral) -> None:
        """Remember a call whose response has no result yet, to recognise its result later.

        The result comes from a task, or from a repetition of the call.
        """
        if deferral.task_id is not None:
            _add_with_limit(
                self._tasks, deferral.task_id, TaskPoll(call) if deferral.is_in_task else call
            )
        elif deferral.state is not None:
            _add_with_limit(
                self._interrupted, _make_repetition_key(call, deferral.state), call.call_id
            )

    def _find_task(self, task_id: JsonValue) -> PendingCall | TaskPoll | None:
        return self._tasks.get(task_id) if isinstance(task_id, str) else None

    def _read_server_info(self, result: JsonValue, *, is_handshake: bool) -> None:
        """Read the name of the server, and the negotiated revision if this is a handshake."""
        if is_handshake:
            self.revision = find_nearest_revision(get_member(result, "protocolVersion"))
            self._is_negotiated = True
        self._read_server_name(get_member(result, "serverInfo"))
        self._read_server_name(get_member(result, "_meta", _SERVER_MEMBER))

    def _read_server_name(self, server_info: JsonValue) -> None:
        """Set the name of the server from its `serverInfo`."""
        name = get_member(server_info, "name")
        if isinstance(name, str) and name:
            self.server = name[:_MAX_NAME_CHARS]

    def _read_tool_list(self, message: Message, *, is_first: bool) -> JsonValue:
        """Read a part of the list of the server's tools; return the cursor of the next part."""
        if "result" not in message.members:
            return None
        if is_first:
            for tools in (self.tool_names, self.typed_tools, self.file_arguments, self.apps):
                tools.clear()
        result = locate_object(message, "result")
        if "tools" in result:
            whole = message.line if isinstance(message, LinePiece) else message
            self._read_tools(LinePiece(whole, result["tools"]))
        self._read_server_name(get_member(read_member(message, result, "_meta"), _SERVER_MEMBER))
        cursor = read_member(message, result, "nextCursor")
        # Some servers end a list with an empty cursor.
        self.is_listed = not cursor
        return cursor

    def _read_tools(self, tools: LinePiece) -> None:
        """Read tools one by one, so that an invalid one does not affect the others."""
        with suppress(ValueError):
            for tool in tools.items():
                self._read_tool(tool)

    def _read_tool(self, tool: LinePiece) -> None:
        """Record what the proxy has to know of a tool."""
        name = read_message_member(tool, "name")
        if not isinstance(name, str):
            return
        self.tool_names.add(name)
        schema = tool.members.get("outputSchema")
        if schema is not None and tool.read(schema).strip() != b"null":
            self.typed_tools.add(name)
        file_arguments = find_file_arguments(
            read_message_member(tool, "inputSchema"), takes_paths=self.takes_paths
        )
        if file_arguments:
            self.file_arguments[name] = file_arguments
        if (uri := find_app_page_uri(read_message_member(tool, "_meta"))) is not None:
            self.apps[name] = uri


def _build_request(
    call: PendingCall, method: str, params: Mapping[str, JsonValue]
) -> tuple[str, bytes]:
    """Return the id and the line of a request of the proxy itself.

    The request has the protocol metadata of the call that needs its response.
    """
    request_id = f"pagefault-{uuid_utils.uuid7()!s}"
    meta: dict[str, JsonValue] = {"_meta": dict(call.protocol_meta)} if call.protocol_meta else {}
    request = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**meta, **params}}
    return request_id, json.dumps(request).encode() + b"\n"


def _find_call_response(
    task: PendingCall | TaskPoll | None, message: Message, task_span: Span
) -> CallResponse | None:
    """Return the response to the call of a task; `None` while the task is running.

    Return `None` also if the task is unknown, or does not contain its result.
    """
    if not isinstance(task, TaskPoll):
        return None
    outcome = find_task_outcome(message, task_span)
    return None if outcome is None else CallResponse(task.call, outcome)


def _add_with_limit(
    items: dict[_Key, _Value], key: _Key, value: _Value, max_items: int = _MAX_TASKS
) -> None:
    """Add an item to a dictionary; if there are too many, remove the oldest items first."""
    while len(items) >= max_items:
        del items[next(iter(items))]
    items[key] = value


def _make_repetition_key(call: PendingCall, state: str) -> tuple[str, bytes, str]:
    """Return the key by which the repetition of a call is recognised: tool, arguments and state."""
    return call.name, sha256(call.arguments_json.encode("utf-8", "surrogatepass")).digest(), state


def _read_arguments(message: Message, span: Span | None) -> tuple[JsonValue, str]:
    """Return the arguments of a call and their JSON text for the history.

    If they cannot be parsed, the first value is `None`. If they are too long, the text has only
    their beginning.
    """
    if span is None:
        return {}, "{}"
    size = span.end - span.start
    if size <= MAX_PARSED_BYTES:
        arguments = parse_span(message, span)
        # Infinite numbers and NaN, which Python parses, are not JSON.
        with suppress(ValueError):
            if arguments is not None or message.read(span).strip() == b"null":
                arguments = {} if arguments is None else arguments
                return arguments, json_text(arguments)
        return None, message.read(span).decode("utf-8", "replace").strip()
    beginning = message.read(Span(span.start, span.start + _BEGINNING_BYTES)).decode(
        "utf-8", "ignore"
    )
    text = f"{size / 1e6:.1f} MB of arguments, which are not kept. They begin: {beginning.strip()}"
    return None, json_text({"input": text})


def _read_state(message: Message, params: Mapping[str, Span]) -> str | None:
    """Return the `requestState` of a call that repeats an earlier one, or `""` if it has none.

    Return `None` for any other call.
    """
    if "requestState" not in params and "inputResponses" not in params:
        return None
    state = read_member(message, params, "requestState")
    return state if isinstance(state, str) else ""


def find_nearest_revision(revision: JsonValue) -> McpRevision:
    """Return the newest known revision that is not newer than `revision`.

    If there is none, or `revision` is not a string, return the oldest known revision.
    """
    if not isinstance(revision, str):
        return _REVISIONS[0]
    not_newer = [known for known in _REVISIONS if known <= revision]
    return not_newer[-1] if not_newer else _REVISIONS[0]
