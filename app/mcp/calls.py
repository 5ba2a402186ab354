"""Requests that pass by: which of them call a tool, and which message answers them."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Literal, TypeAlias, TypeGuard, TypeVar, get_args

import anyio

from app.mcp.handles import Place, places_of
from app.mcp.lines import Excerpt, Message, named_members
from app.mcp.members import Span
from app.models.identity import new_id
from app.models.json_value import JsonValue, json_text
from app.models.rendering import McpRevision

# What is longer passes, and is not looked into.
_MOST_PARSED_BYTES = 8 * 1024 * 1024
_MOST_ID_BYTES = 1024 * 1024
_MOST_TASKS = 1_000
_MOST_CANCELLED = 50
_MOST_NAME_CHARS = 200
_BEGINNING_BYTES = 1_000
_NOTED = ("initialize", "server/discover", "tools/list", "tasks/result")
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
RequestId: TypeAlias = str | float


@dataclass(frozen=True, slots=True)
class ToolCall:
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


Answered: TypeAlias = ToolCall | OwnList | Literal["tools/list"]


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
    places: dict[str, Sequence[Place]] = field(default_factory=dict)
    """Where the tools of the server take files."""
    _is_agreed: bool = False
    _has_asked: bool = False
    _waiting: dict[str | float, ToolCall | OwnList | str] = field(default_factory=dict)
    _cancelled: dict[str | float, ToolCall] = field(default_factory=dict)
    _tasks: dict[str, ToolCall] = field(default_factory=dict)
    # By tool, arguments and state: the ids of the calls that were answered by a wish for input.
    _interrupted: dict[tuple[str, bytes, str], str] = field(default_factory=dict)

    def note(self, line: Message) -> ToolCall | None:
        """Take a message of the host; return the call of a tool that it is, if it is one."""
        method = _value(line, "method")
        if method == "notifications/cancelled":
            cancelled = member(_value(line, "params"), "requestId")
            called = self._waiting.pop(cancelled, None) if is_id(cancelled) else None
            if is_id(cancelled) and isinstance(called, ToolCall):
                # Its server may have answered already, or does all the same.
                _keep(self._cancelled, cancelled, called, most=_MOST_CANCELLED)
        if method == "tools/call" and "id" in line.members:
            return self._called(line)
        request_id = _key(line)
        if method not in _NOTED or request_id is None:
            return None
        params = _value(line, "params")
        if method == "tasks/result":
            task_id = member(params, "taskId")
            if isinstance(task_id, str) and task_id in self._tasks:
                self._waiting[request_id] = self._tasks[task_id]
            return None
        is_first = method == "tools/list" and not member(params, "cursor")
        self._waiting[request_id] = _FIRST_LIST if is_first else str(method)
        return None

    def _called(self, line: Message) -> ToolCall | None:
        params = _members(line, "params")
        name = _held(line, params, "name")
        if not isinstance(name, str) or not name:
            return None
        meta = _held(line, params, "_meta")
        # A call without a connection of its own says its revision itself.
        if (named := member(meta, REVISION)) is not None:
            self.revision = nearest_revision(named)
        about = meta if isinstance(meta, dict) else {}
        arguments, written = _arguments(line, params.get("arguments"))
        return ToolCall(
            call_id=new_id(),
            name=name,
            arguments=arguments,
            written=written,
            request_id=line.read(line.members["id"]).strip(),
            asked_as=_key(line),
            about={key: held for key, held in about.items() if key.startswith(_PROTOCOL)},
            state=_state(line, params),
            server=self.server,
        )

    def lacks_list(self, call: ToolCall, *, is_far: bool) -> bool:
        """Tell whether it takes a list of the server's tools to say what a call is, or gets.

        A host may know that list from elsewhere. It is asked for once, until the server says that
        it has changed, and of a server that has agreed on a revision, or has no need to. Of one
        that is far, it says which arguments headers repeat.
        """
        is_modern = REVISION in call.about
        is_new = not (self.is_listed or self._has_asked or call.name in self.tool_names)
        is_asked = call.name in self.own_tools or "@blob:" in call.written or (is_far and is_modern)
        return is_new and is_asked and (self._is_agreed or is_modern)

    def ask_for_list(self, call: ToolCall, cursor: JsonValue) -> OwnList:
        """Return a request for a page of the server's tools, whose answer is awaited.

        Args:
            call: The call that it is needed for.
            cursor: That of the page; `None` for the first one.
        """
        self._has_asked = True
        request_id = f"pagefault-{new_id()}"
        params: dict[str, JsonValue] = {"_meta": dict(call.about)} if call.about else {}
        if cursor:
            params["cursor"] = cursor
        asked = {"jsonrpc": "2.0", "id": request_id, "method": "tools/list", "params": params}
        page = OwnList(json.dumps(asked).encode() + b"\n", is_first=not cursor)
        self._waiting[request_id] = page
        return page

    def settled(self, call: ToolCall) -> ToolCall | None:
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

    def answered(self, line: Message) -> "Answered | None":
        """Take a message of the server; return what it answers, a call or a list, and forget it."""
        members = line.members
        if _value(line, "method") == "notifications/tools/list_changed":
            self.is_listed = self._has_asked = False
        if "method" in members or not ("result" in members or "error" in members):
            return None
        request_id = _key(line)
        late = None if request_id is None else self._cancelled.pop(request_id, None)
        asked = late if request_id is None else self._waiting.pop(request_id, late)
        if isinstance(asked, ToolCall):
            return asked
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
            return "tools/list" if "result" in members else None
        if asked is not None and "result" in members:
            self._read_agreement(_value(line, "result"), is_handshake=asked == "initialize")
        return None

    def await_task(self, task_id: str, call: ToolCall) -> None:
        """Note that the result of a call is asked for later, as that of a task."""
        _keep(self._tasks, task_id, call)

    def await_input(self, state: str, call: ToolCall) -> None:
        """Note that a call is made again, with the input that its answer asks for."""
        _keep(self._interrupted, _interruption(call, state), call.call_id)

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
        result = _members(line, "result")
        if "tools" in result:
            whole = line.line if isinstance(line, Excerpt) else line
            self._read_tools(Excerpt(whole, result["tools"]))
        self._read_name(member(_held(line, result, "_meta"), _SERVER))
        cursor = _held(line, result, "nextCursor")
        # Servers end a list with an empty cursor, too.
        self.is_listed = not cursor
        return cursor

    def _read_tools(self, tools: Excerpt) -> None:
        """Read tools one by one: one that cannot be read takes none of the others along."""
        with suppress(ValueError):
            for tool in tools.items():
                self._read_tool(tool)

    def _read_tool(self, tool: Excerpt) -> None:
        name = _value(tool, "name")
        if not isinstance(name, str):
            return
        self.tool_names.add(name)
        schema = tool.members.get("outputSchema")
        if schema is not None and tool.read(schema).strip() != b"null":
            self.typed_tools.add(name)
        places = places_of(_value(tool, "inputSchema"), takes_paths=self.takes_paths)
        if places:
            self.places[name] = places


def _keep(calls: dict[_Key, _Kept], key: _Key, call: _Kept, most: int = _MOST_TASKS) -> None:
    """Keep a call for what comes later, and forget the oldest if there are too many."""
    while len(calls) >= most:
        del calls[next(iter(calls))]
    calls[key] = call


def _interruption(call: ToolCall, state: str) -> tuple[str, bytes, str]:
    """Return what tells a call that is made again; long arguments are told by their digest."""
    return call.name, sha256(call.written.encode("utf-8", "surrogatepass")).digest(), state


def _arguments(line: Message, span: Span | None) -> tuple[JsonValue, str]:
    """Return the arguments of a call, `None` if they cannot be looked into, and for the history."""
    if span is None:
        return {}, "{}"
    size = span.end - span.start
    if size <= _MOST_PARSED_BYTES:
        arguments = parsed(line, span)
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
    state = _held(line, params, "requestState")
    return state if isinstance(state, str) else ""


def parsed(line: Message, span: Span) -> JsonValue:
    """Return the value of a member; `None` if it is no JSON."""
    try:
        value: JsonValue = json.loads(line.read(span))
    except (ValueError, RecursionError):
        return None
    return value


def _held(
    line: Message, members: Mapping[str, Span], name: str, *, most_bytes: int = _MOST_PARSED_BYTES
) -> JsonValue:
    """Return the value of one of the members of an object; `None` if it has none."""
    span = members.get(name)
    if span is None or span.end - span.start > most_bytes:
        return None
    return parsed(line, span)


def _value(line: Message, name: str) -> JsonValue:
    return _held(line, line.members, name)


def _members(line: Message, name: str) -> Mapping[str, Span]:
    """Return where the members of a member of a message are."""
    span = line.members.get(name)
    return {} if span is None else named_members(line, span)


def _key(line: Message) -> str | float | None:
    """Return the id of a message, as its answer has it; `None` if it has none that will do."""
    value = _held(line, line.members, "id", most_bytes=_MOST_ID_BYTES)
    return value if is_id(value) else None


def member(value: JsonValue, *path: str) -> JsonValue:
    """Return the member that a path of names leads to; `None` if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def is_id(value: object) -> TypeGuard[RequestId]:
    """Tell whether a value is the id of a request: any string, and any number."""
    if isinstance(value, float):
        return math.isfinite(value)
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
