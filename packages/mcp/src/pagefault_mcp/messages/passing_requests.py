"""Requests that pass by: which of them call a tool, and which message answers them."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Literal, TypeAlias, TypeVar, get_args

import anyio
import uuid_utils

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.render_options import McpRevision
from pagefault_mcp.messages.argument_handles import FileArgument, places_of
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import LinePiece, Message
from pagefault_mcp.messages.message_values import (
    MOST_PARSED_BYTES,
    RequestId,
    id_of,
    is_id,
    member,
    member_value,
    members_of,
    parse_member,
    value_of,
)
from pagefault_mcp.messages.tasks import (
    GET_TASK,
    TASK_CHANGED,
    TASK_RESULT,
    Deferral,
    TaskEnd,
    task_end,
)

_MOST_TASKS = 1_000
_MOST_CANCELLED = 50
_MOST_NAME_CHARS = 200
_BEGINNING_BYTES = 1_000
_NOTED = ("initialize", "server/discover", "tools/list", TASK_RESULT, GET_TASK)
_FIRST_LIST = "the first page of tools/list"
_REVISIONS: tuple[McpRevision, ...] = get_args(McpRevision.__value__)

UNREADABLE = "longer than 8 MiB, nested too deeply, or have a number that JSON does not have"
"""What arguments are that cannot be looked into."""

_PROTOCOL = "io.modelcontextprotocol/"
REVISION = f"{_PROTOCOL}protocolVersion"
"""Under which name a request without a connection of its own says its revision, in `_meta`."""
_SERVER = f"{_PROTOCOL}serverInfo"

_Key = TypeVar("_Key")
_Kept = TypeVar("_Kept")


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call of a tool that waits for its answer."""

    call_id: str
    """Its name in the history: MCP has none, and ids of JSON-RPC begin anew with each
    connection."""
    name: str
    """The tool."""
    arguments: JsonValue
    """What it was called with; `None` for what cannot be looked into."""
    written: str
    """The same as JSON text, for the history: of what is too long, words about it."""
    request_id: bytes
    """That of the request, as it was written."""
    asked_as: str | float | None
    """The same, parsed; `None` for one that no answer can be told by."""
    about: Mapping[str, JsonValue]
    """What a request without a connection of its own says of its protocol, in `_meta`."""
    state: str | None = None
    """Which answer that asked for input this goes on from; `None` if it is the first request."""
    own_name: str | None = None
    """Which of our tools it is; `None` for one of the server's."""
    server: str | None = None
    """What the server is called; `None` while it has not said so."""
    is_noted: bool = False
    """Whether the history has it already."""


@dataclass(slots=True, eq=False)
class OwnList:
    """A page of the server's tools that the proxy has asked for itself."""

    line: bytes
    """The request."""
    is_first: bool
    is_answered: anyio.Event = field(default_factory=anyio.Event)
    cursor: JsonValue = None
    """By which the next page is asked for, if there is one."""


@dataclass(frozen=True, slots=True)
class TaskPoll:
    """A request for the task that a call has become."""

    call: PendingCall


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """A message that has the result of a call, or its error."""

    call: PendingCall
    end: TaskEnd
    """The place of either in the message."""


Answered: TypeAlias = CallAnswer | OwnList | Literal["tools/list"]


@dataclass(slots=True, eq=False)
class PassingRequests:
    """What a host has asked and the server has not answered, as far as the proxy needs it."""

    own_tools: Mapping[str, str]
    """Our tools, by the names that the host is shown."""
    takes_paths: bool
    """Whether tools are given files by their paths."""
    warn: Callable[[str], None]
    """Says a sentence to the person who runs it."""
    server: str | None = None
    """What the server is called."""
    revision: McpRevision = _REVISIONS[0]
    """The revision of MCP that both sides agreed on."""
    typed_tools: set[str] = field(default_factory=set)
    """The tools that promise a schema of their `structuredContent`."""
    tool_names: set[str] = field(default_factory=set)
    """All tools of the server that were listed."""
    is_listed: bool = False
    """Whether a list of them has been seen to its end."""
    places: dict[str, Sequence[FileArgument]] = field(default_factory=dict)
    """Where the tools of the server take files."""
    _is_agreed: bool = False
    _has_asked: bool = False
    _waiting: dict[RequestId, PendingCall | TaskPoll | OwnList | str] = field(default_factory=dict)
    _cancelled: dict[RequestId, PendingCall | TaskPoll] = field(default_factory=dict)
    # By the ids of tasks; those of the second kind have their results in them.
    _tasks: dict[str, PendingCall | TaskPoll] = field(default_factory=dict)
    # By tool, arguments and state: the ids of the calls that were answered by a request for input.
    _interrupted: dict[tuple[str, bytes, str], str] = field(default_factory=dict)

    def note(self, line: Message) -> PendingCall | None:
        """Take a message of the host; return the call of a tool that it is, if it is one."""
        method = value_of(line, "method")
        if method == "notifications/cancelled":
            cancelled = member(value_of(line, "params"), "requestId")
            called = self._waiting.pop(cancelled, None) if is_id(cancelled) else None
            if is_id(cancelled) and isinstance(called, PendingCall | TaskPoll):
                # Its server may have answered already, or does all the same.
                _keep(self._cancelled, cancelled, called, most=_MOST_CANCELLED)
        if method == "tools/call" and "id" in line.members:
            return self._note_call(line)
        request_id = id_of(line)
        if method not in _NOTED or request_id is None:
            return None
        params = value_of(line, "params")
        if method in (TASK_RESULT, GET_TASK):
            task = self._task(member(params, "taskId"))
            if task is not None and isinstance(task, TaskPoll) == (method == GET_TASK):
                self._waiting[request_id] = task
            return None
        is_first = method == "tools/list" and not member(params, "cursor")
        self._waiting[request_id] = _FIRST_LIST if is_first else str(method)
        return None

    def _note_call(self, line: Message) -> PendingCall | None:
        params = members_of(line, "params")
        name = member_value(line, params, "name")
        if not isinstance(name, str) or not name:
            return None
        meta = member_value(line, params, "_meta")
        # A call without a connection of its own says its revision itself.
        if (named := member(meta, REVISION)) is not None:
            self.revision = nearest_revision(named)
        about = meta if isinstance(meta, dict) else {}
        arguments, written = _arguments(line, params.get("arguments"))
        return PendingCall(
            call_id=str(uuid_utils.uuid7()),
            name=name,
            arguments=arguments,
            written=written,
            request_id=line.read(line.members["id"]).strip(),
            asked_as=id_of(line),
            about={key: held for key, held in about.items() if key.startswith(_PROTOCOL)},
            state=_state(line, params),
            server=self.server,
        )

    def lacks_list(self, call: PendingCall, *, is_remote: bool) -> bool:
        """Tell whether it takes a list of the server's tools to say what a call is, or gets.

        A host may know that list from elsewhere. It is asked for once, until the server says that
        it has changed, and of a server that has agreed on a revision, or has no need to. Of one
        that is far, it says which arguments headers repeat.
        """
        is_modern = REVISION in call.about
        is_new = not (self.is_listed or self._has_asked or call.name in self.tool_names)
        has_handles = "@blob:" in call.written
        is_asked = call.name in self.own_tools or has_handles or (is_remote and is_modern)
        return is_new and is_asked and (self._is_agreed or is_modern)

    def ask_for_list(self, call: PendingCall, cursor: JsonValue) -> OwnList:
        """Return a request for a page of the server's tools, whose answer is awaited.

        Args:
            call: The call that it is needed for.
            cursor: That of the page; `None` for the first one.
        """
        self._has_asked = True
        request_id = f"pagefault-{uuid_utils.uuid7()!s}"
        params: dict[str, JsonValue] = {"_meta": dict(call.about)} if call.about else {}
        if cursor:
            params["cursor"] = cursor
        asked = {"jsonrpc": "2.0", "id": request_id, "method": "tools/list", "params": params}
        page = OwnList(json.dumps(asked).encode() + b"\n", is_first=not cursor)
        self._waiting[request_id] = page
        return page

    def take_call(self, call: PendingCall) -> PendingCall | None:
        """Return a call as one of ours, or as one whose answer is awaited; `None` for neither."""
        own_name = None if call.name in self.tool_names else self.own_tools.get(call.name)
        if own_name is not None:
            return replace(call, own_name=own_name)
        asked_as = call.asked_as
        if asked_as is None:
            self.warn(
                f"a call of {call.name} is not stored, and no file is put into it: "
                "its id is no string and no number, or too long"
            )
            return None
        if call.arguments is None:
            self.warn(f"handles for {call.name} stay as they are: its arguments are {UNREADABLE}")
        if call.state is not None:
            first_id = self._interrupted.pop(_interruption(call, call.state), None)
            if first_id is not None:
                call = replace(call, call_id=first_id, is_noted=True)
        self._waiting[asked_as] = call
        return call

    def take_answer(self, line: Message) -> "Answered | None":
        """Take a message of the server; return what it answers, a call or a list, and forget it."""
        members = line.members
        if "method" in members:
            return self._take_notification(line, value_of(line, "method"))
        if not ("result" in members or "error" in members):
            return None
        request_id = id_of(line)
        late = None if request_id is None else self._cancelled.pop(request_id, None)
        asked = late if request_id is None else self._waiting.pop(request_id, late)
        if isinstance(asked, PendingCall):
            answer = members["result"] if "result" in members else members["error"]
            return CallAnswer(asked, TaskEnd(answer, is_success="result" in members))
        if isinstance(asked, OwnList):
            try:
                # One that comes late must not take the place of what the host has read meanwhile.
                if not self.is_listed:
                    asked.cursor = self._read_list(line, is_first=asked.is_first)
            finally:
                asked.is_answered.set()
            return asked
        if asked in ("tools/list", _FIRST_LIST):
            self._read_list(line, is_first=asked == _FIRST_LIST)
        return None if asked is None or "result" not in members else self._read(asked, line)

    def _take_notification(self, line: Message, method: JsonValue) -> "Answered | None":
        """Take a message that answers nothing; return which call it says the end of, if any."""
        if method == "notifications/tools/list_changed":
            self.is_listed = self._has_asked = False
        if method == TASK_CHANGED and "params" in line.members:
            task = self._task(member_value(line, members_of(line, "params"), "taskId"))
            return _end_task(task, line, line.members["params"])
        return None

    def _read(self, asked: TaskPoll | str, line: Message) -> "Answered | None":
        """Take what answers a request that is neither a call nor the proxy's own."""
        result = line.members["result"]
        if isinstance(asked, TaskPoll):
            return _end_task(asked, line, result)
        if asked in ("tools/list", _FIRST_LIST):
            return "tools/list"
        self._read_agreement(value_of(line, "result"), is_handshake=asked == "initialize")
        return None

    def defer(self, call: PendingCall, later: Deferral) -> None:
        """Note how the result of a call comes: by its task, or when it is made again with input."""
        if later.task_id is not None:
            _keep(self._tasks, later.task_id, TaskPoll(call) if later.is_in_task else call)
        elif later.state is not None:
            _keep(self._interrupted, _interruption(call, later.state), call.call_id)

    def _task(self, task_id: JsonValue) -> PendingCall | TaskPoll | None:
        return self._tasks.get(task_id) if isinstance(task_id, str) else None

    def _read_agreement(self, result: JsonValue, *, is_handshake: bool) -> None:
        if is_handshake:
            self.revision = nearest_revision(member(result, "protocolVersion"))
            self._is_agreed = True
        self._read_name(member(result, "serverInfo"))
        self._read_name(member(result, "_meta", _SERVER))

    def _read_name(self, about: JsonValue) -> None:
        """Take what a server says of itself, as far as it is a name."""
        name = member(about, "name")
        if isinstance(name, str) and name:
            self.server = name[:_MOST_NAME_CHARS]

    def _read_list(self, line: Message, *, is_first: bool) -> JsonValue:
        """Read a page of the server's tools; return by what the next one is asked for."""
        if "result" not in line.members:
            return None
        if is_first:
            # What the server had before it may have no longer.
            for known in (self.tool_names, self.typed_tools, self.places):
                known.clear()
        result = members_of(line, "result")
        if "tools" in result:
            whole = line.line if isinstance(line, LinePiece) else line
            self._read_tools(LinePiece(whole, result["tools"]))
        self._read_name(member(member_value(line, result, "_meta"), _SERVER))
        cursor = member_value(line, result, "nextCursor")
        # Servers end a list with an empty cursor, too.
        self.is_listed = not cursor
        return cursor

    def _read_tools(self, tools: LinePiece) -> None:
        """Read tools one by one: one that cannot be read takes none of the others along."""
        with suppress(ValueError):
            for tool in tools.items():
                self._read_tool(tool)

    def _read_tool(self, tool: LinePiece) -> None:
        name = value_of(tool, "name")
        if not isinstance(name, str):
            return
        self.tool_names.add(name)
        schema = tool.members.get("outputSchema")
        if schema is not None and tool.read(schema).strip() != b"null":
            self.typed_tools.add(name)
        places = places_of(value_of(tool, "inputSchema"), takes_paths=self.takes_paths)
        if places:
            self.places[name] = places


def _end_task(
    task: PendingCall | TaskPoll | None, line: Message, described: Span
) -> CallAnswer | None:
    """Return the end of a call, if its task has ended and has the result in it."""
    end = task_end(line, described) if isinstance(task, TaskPoll) else None
    return CallAnswer(task.call, end) if isinstance(task, TaskPoll) and end else None


def _keep(calls: dict[_Key, _Kept], key: _Key, call: _Kept, most: int = _MOST_TASKS) -> None:
    """Keep a call for what comes later, and forget the oldest if there are too many."""
    while len(calls) >= most:
        del calls[next(iter(calls))]
    calls[key] = call


def _interruption(call: PendingCall, state: str) -> tuple[str, bytes, str]:
    """Return what tells a call that is made again; long arguments are told by their digest."""
    return call.name, sha256(call.written.encode("utf-8", "surrogatepass")).digest(), state


def _arguments(line: Message, span: Span | None) -> tuple[JsonValue, str]:
    """Return the arguments of a call, `None` if they cannot be looked into, and for the history."""
    if span is None:
        return {}, "{}"
    size = span.end - span.start
    if size <= MOST_PARSED_BYTES:
        arguments = parse_member(line, span)
        # There may be a number that is larger than any, or none.
        with suppress(ValueError):
            if arguments is not None or line.read(span).strip() == b"null":
                arguments = {} if arguments is None else arguments
                return arguments, json_text(arguments)
        return None, line.read(span).decode("utf-8", "replace").strip()
    beginning = line.read(Span(span.start, span.start + _BEGINNING_BYTES)).decode("utf-8", "ignore")
    said = f"{size / 1e6:.1f} MB of arguments, which are not kept. They begin: {beginning.strip()}"
    return None, json_text({"input": said})


def _state(line: Message, params: Mapping[str, Span]) -> str | None:
    """Return which answer that asked for input a call goes on from, if it does."""
    if "requestState" not in params and "inputResponses" not in params:
        return None
    state = member_value(line, params, "requestState")
    return state if isinstance(state, str) else ""


def nearest_revision(revision: JsonValue) -> McpRevision:
    """Return the newest revision known here that is not newer than the one that was agreed on."""
    known = [each for each in _REVISIONS if isinstance(revision, str) and each <= revision]
    return known[-1] if known else _REVISIONS[0]
