"""The proxy between a host and a server of MCP, line by line.

Messages are forwarded byte for byte, except:

- Calls of tools are recorded in the history, and handles in their arguments are replaced by files.
- Answers to calls are stored, and forwarded as they are rendered for the host.
- Lists of tools get ours appended. Calls of our tools are run here.
- Calls with an argument that was cut in an old call are answered here with an error.

This applies to the messages of a batch too. Other messages do not wait for an answer that is being
stored. Messages are forwarded even if storing them fails.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

import anyio
import anyio.abc

from pagefault_dialects.context.cut_marks import cut_arguments_refusal, find_cut_mark
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, json_bytes
from pagefault_dialects.model.tool import ToolDefinition
from pagefault_dialects.targets.tool_definitions import write_tools
from pagefault_mcp.errors import reason_of
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import (
    MAX_PARSED_BYTES,
    Line,
    Message,
    find_members,
    parse_member,
    read_lines,
)
from pagefault_mcp.messages.request_tracker import (
    UNREADABLE,
    AnsweredRequest,
    CallAnswer,
    OwnList,
    OwnRead,
    PendingCall,
    RequestTracker,
    find_deferral,
)
from pagefault_mcp.messages.rewritten_messages import (
    Piece,
    has_only_handles,
    result_of,
    rewrite_line,
    with_arguments,
    with_content,
    with_tools,
)
from pagefault_mcp.proxy.call_traces import CallTraces, NoCallTraces
from pagefault_mcp.service_client.collected_files import CollectedFolder
from pagefault_mcp.service_client.service_exchange import (
    AddedContent,
    NoAnswerError,
    ServiceRefusedError,
    takes_files,
)
from pagefault_mcp.service_client.service_store import ServiceStore, StoredResult
from pagefault_mcp.upstreams.server_connections import Connection, UpstreamConnection, Write

# The longest wait for an answer that is stored with its call, and the longest such call.
_SOON_SECONDS = 0.05
_SHORT_CHARS = 16_384


class CallNote:
    """A call that has to be recorded in the history, alone or with its answer.

    One request stores both if the server answers at once and no other call follows. Other calls are
    recorded in their order.
    """

    def __init__(self, call: PendingCall, *, behind: "CallNote | None") -> None:
        self.call: Final = call
        self.is_finished: Final = anyio.Event()
        self._behind = behind
        self._is_due = anyio.Event()
        self._is_answered = False
        self._is_carried = False
        if behind is not None:
            behind._is_due.set()

    async def wait_for_early_answer(self) -> bool:
        """Wait briefly for the answer; return True if it will be stored with the call."""
        if self._behind is not None:
            await self._behind.is_finished.wait()
            self._behind = None
        if len(self.call.written) <= _SHORT_CHARS:
            with anyio.move_on_after(_SOON_SECONDS):
                await self._is_due.wait()
            self._is_carried = self._is_answered
        return self._is_carried

    async def take_answer(self) -> bool:
        """Report the answer; return True if the call is to be stored with it."""
        self._is_answered = True
        await self.finish()
        return self._is_carried

    async def finish(self) -> None:
        """Stop waiting for the answer, and wait until it is known how the call is recorded."""
        self._is_due.set()
        await self.is_finished.wait()


# Answers that are stored at once; at the limit, no more is read from the server.
_MAX_ANSWERS = 64
# The limits of a list of the server's tools that a call waits for.
_LIST_SECONDS = 5.0
_MAX_PAGES = 50
# The longest wait of a call for its files; later messages of the host wait too.
_FILES_SECONDS = 10.0
# The longest wait for an answer that is stored with its files.
_FILES_STORED_SECONDS = 60.0
# The longest wait of an answer for the page of its app.
_PAGE_SECONDS = 5.0
# The time to record the last calls after the server has exited.
_LAST_NOTES_SECONDS = 1.0


Keep: TypeAlias = Callable[..., Awaitable[StoredResult | None]]
"""Stores an answer, with its `files`."""


@dataclass(slots=True, eq=False)
class Proxy:
    """A proxy that forwards messages between a host and a server, and stores results of tools."""

    write_to_host: Write
    """Writes bytes to the host."""
    write_to_server: Write
    """Writes bytes to the server."""
    store: ServiceStore
    """The client of the service that stores results."""
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    own_tools: Mapping[str, ToolDefinition]
    """Our tools, by their names for the host."""
    takes_paths: bool
    """Tools receive files as paths."""
    traces: CallTraces = field(default_factory=NoCallTraces)
    """Traces calls."""
    collected: CollectedFolder | None = None
    """The folder in which tools leave files, if they are stored."""
    _requests: RequestTracker = field(init=False)
    _is_remote: bool = field(init=False, default=False)
    _notes: dict[str, CallNote] = field(init=False, default_factory=dict)
    _last_note: CallNote | None = field(init=False, default=None)
    _to_host: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    _answers: anyio.Semaphore = field(
        init=False, default_factory=partial(anyio.Semaphore, _MAX_ANSWERS)
    )

    def __post_init__(self) -> None:
        names = {name: tool.name for name, tool in self.own_tools.items()}
        self._requests = RequestTracker(names, self.takes_paths, self.warn)

    async def from_host(self, pieces: AsyncIterator[bytes], server: Connection) -> None:
        """Forward the messages of the host; at their end, stop the server.

        Args:
            pieces: The input of the host.
            server: The connection to the server.
        """
        self._requests.server = self._requests.server or server.name
        self._is_remote = isinstance(server, UpstreamConnection)
        async with anyio.create_task_group() as group:
            try:
                async for line in read_lines(pieces):
                    with line, self.traces.message():
                        await find_members(line)
                        changed = [
                            await self._take_request(message, group) for message in line.messages
                        ]
                        for piece in rewrite_line(line, changed):
                            await self.write_to_server(piece)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                # The server has exited; its status has the reason.
                return
        await server.leave()

    async def _take_request(
        self, message: Message, group: anyio.abc.TaskGroup
    ) -> list[Piece] | None:
        """Process a message of the host; return its replacement, or `None` to forward it as is."""
        try:
            call = self._requests.note(message)
            if call is not None and self._requests.lacks_list(call, is_remote=self._is_remote):
                await self._ask_for_list(call)
            if call is not None and (handle := self._find_cut_mark(call)) is not None:
                group.start_soon(self._refuse_cut, call, handle)
                return []
            call = None if call is None else self._requests.take_call(call)
            if call is None:
                return None
            self.traces.begin(call.call_id, call.name, call.traceparent)
            if call.own_name is not None:
                group.start_soon(self._run_own, call)
                return []
            if not call.is_noted:
                self._last_note = note = CallNote(call, behind=self._last_note)
                self._notes[call.call_id] = note
                group.start_soon(self._note, note)
            if (page := self._requests.ask_for_page(call)) is not None:
                await self.write_to_server(page.line)
            changed = await self._give_files(call, message)
            if self.collected is not None:
                await self.collected.begin(call.call_id)
            return changed
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise
        except Exception as exc:  # noqa: BLE001 - the server reports invalid messages
            self.warn(f"a message of the host is passed on as it came: {reason_of(exc)}")
            return None

    def _find_cut_mark(self, call: PendingCall) -> str | None:
        """Return the handle in an argument that was cut in an old call, for a tool of the server.

        Calls of the memory's tools are checked when they are run.
        """
        is_own = call.name in self.own_tools and call.name not in self._requests.tool_names
        return None if is_own else find_cut_mark(call.written)

    async def _refuse_cut(self, call: PendingCall, handle: str) -> None:
        """Answer a call with an error instead of forwarding it."""
        text = cut_arguments_refusal(handle)
        await self._answer_error(call, text)
        try:
            await self.store.keep_refusal(call, text)
        except Exception as exc:  # noqa: BLE001 - a host goes on working without a history
            self.warn(f"a refused call of {call.name} is not in the history: {reason_of(exc)}")

    async def _answer_error(self, call: PendingCall, text: str) -> None:
        """Answer a call with an error result for the model."""
        content: JsonValue = [{"type": "text", "text": text}]
        # Revisions before 2026-07-28 ignore `resultType`.
        result = json_bytes({"resultType": "complete", "content": content, "isError": True})
        await self._pass_on(result_of(call.request_id, [result]))

    def clean_up(self) -> None:
        """Remove the files of the server's tools after it has exited."""
        if self.store.files is not None:
            self.store.files.clean_up(self)

    async def _ask_for_list(self, call: PendingCall) -> None:
        """Request the list of the server's tools, which the host may have cached."""
        cursor: JsonValue = None
        with anyio.move_on_after(_LIST_SECONDS):
            for _ in range(_MAX_PAGES):
                page = self._requests.ask_for_list(call, cursor)
                await self.write_to_server(page.line)
                await page.is_answered.wait()
                cursor = page.cursor
                if not cursor:
                    break
        if not self._requests.is_listed:
            self.warn(
                "the server has not listed all its tools: "
                f"handles for {call.name} stay as they are, "
                "and a call with the name of a memory's tool runs that tool"
            )

    async def from_server(self, pieces: AsyncIterator[bytes]) -> None:
        """Forward the messages of the server until it exits, and store answers."""
        async with anyio.create_task_group() as group:
            async for line in read_lines(pieces):
                await find_members(line)
                answered = [self._take_answer(message) for message in line.messages]
                if any(isinstance(item, CallAnswer) for item in answered):
                    await self._answers.acquire()
                    group.start_soon(self._answer, answered, line)
                    continue
                await self._pass_on_line(answered, line)
        if self._last_note is not None:
            # The last call may be the one that made the server exit.
            with anyio.move_on_after(_LAST_NOTES_SECONDS):
                await self._last_note.finish()

    def _take_answer(self, message: Message) -> AnsweredRequest | None:
        """Return the tracked request that a message of the server answers."""
        try:
            return self._requests.take_answer(message)
        except Exception as exc:  # noqa: BLE001 - the host reports invalid messages
            self.warn(f"a message of the server is passed on as it came: {reason_of(exc)}")
            return None

    async def _pass_on_line(self, answered: Sequence[AnsweredRequest | None], line: Line) -> None:
        """Forward a line, with the replacements of its messages."""
        with ExitStack() as lines:
            lines.enter_context(line)
            changed = [
                await self._replace_message(request, message, lines)
                for message, request in zip(line.messages, answered, strict=True)
            ]
            await self._pass_on(rewrite_line(line, changed))

    async def _replace_message(
        self, request: AnsweredRequest | None, message: Message, lines: ExitStack
    ) -> list[Piece] | None:
        """Return the replacement of a message for the host, or `None` to forward it as it is."""
        if request is None:
            return None
        if isinstance(request, OwnList | OwnRead):
            # The request is the proxy's, not the host's.
            return []
        try:
            if isinstance(request, CallAnswer):
                with self.traces.end(request.call.call_id):
                    return await self._store_answer(request, message, lines)
            return self._extend_list(message)
        except Exception as exc:  # noqa: BLE001 - the host gets its answer in any case
            self.warn(f"a message of the server is passed on as it came: {reason_of(exc)}")
            return None

    def _extend_list(self, line: Message) -> list[Piece] | None:
        """Return a list of the server's tools with ours appended; `None` if we add none."""
        ours = {
            name: tool
            for name, tool in self.own_tools.items()
            if name not in self._requests.tool_names
        }
        if not ours:
            return None
        tools = [
            {**tool, "name": name}
            for name, tool in zip(ours, write_tools("mcp", list(ours.values())), strict=True)
            if isinstance(tool, dict)
        ]
        return with_tools(line, line.members["result"], tools)

    async def _give_files(self, call: PendingCall, line: Message) -> list[Piece] | None:
        """Return a call with files in place of its handles; `None` if it has no handles."""
        places = self._requests.places.get(call.name)
        if not places or call.arguments is None or "@blob:" not in call.written:
            return None
        try:
            with anyio.move_on_after(_FILES_SECONDS):
                arguments = await self.store.resolve(call.arguments, places, self)
                return None if arguments is None else with_arguments(line, arguments)
            raise NoAnswerError(f"its file was not there after {_FILES_SECONDS:g} seconds")
        except Exception as exc:  # noqa: BLE001 - the server reports invalid messages
            self.warn(f"a handle for {call.name} is passed on as it is: {reason_of(exc)}")
            return None

    async def _run_own(self, call: PendingCall) -> None:
        """Run one of our tools, and send its result to the host."""
        try:
            if call.arguments is None:
                raise PayloadTooLargeError(
                    f"the arguments are {UNREADABLE}. Store them in pieces, or as a file.",
                    code="json-too-large",
                )
            with self.traces.end(call.call_id):
                result = await self.store.run(call, self._requests.revision)
        except Exception as exc:  # noqa: BLE001 - the model gets an error
            await self._answer_error(call, f"The memory did not answer: {reason_of(exc)}")
        else:
            with result.line:
                await self._pass_on(result_of(call.request_id, result.pieces()))

    async def _note(self, note: CallNote) -> None:
        """Record a call in the history, unless it will be stored with an early answer."""
        try:
            if not await note.wait_for_early_answer():
                await self._note_call(note.call)
        finally:
            note.is_finished.set()
            # Cancelled calls may never be answered.
            self._notes.pop(note.call.call_id, None)

    async def _note_call(self, call: PendingCall) -> None:
        try:
            await self.store.note_call(call)
        except Exception as exc:  # noqa: BLE001 - a host goes on working without a history
            self.warn(f"the call of {call.name} is not in the history: {reason_of(exc)}")

    async def _answer(self, answered: Sequence[AnsweredRequest | None], line: Line) -> None:
        try:
            await self._pass_on_line(answered, line)
        finally:
            self._answers.release()

    async def _store_answer(
        self, answered: CallAnswer, line: Message, lines: ExitStack
    ) -> list[Piece] | None:
        """Store an answer; return its replacement for the host, or `None` to forward it as is."""
        call, answer, success = answered.call, answered.end.answer, answered.end.is_success
        note = self._notes.pop(call.call_id, None)
        has_call = note is not None and await note.take_answer()
        if success and (deferral := find_deferral(line, answer)) is not None:
            self._requests.defer(call, deferral)
            if has_call:
                await self._note_call(call)
            return None
        stored: StoredResult | None = None
        try:
            files = await self._find_added(call, line, answer, lines) if success else []
            keep = partial(self.store.keep, call, line, answer, success=success, has_call=has_call)
            stored = await (self._keep_with_files(keep, call, files) if files else keep())
            if stored is None or not success or (not files and has_only_handles(line, answer)):
                return None
            rendering = await self.store.rendering(stored, self._requests.revision)
            if rendering is None:
                return None
            lines.enter_context(rendering.line)
            # The host may have the schema of an unlisted tool from a cached list.
            is_known = call.name in self._requests.tool_names
            is_typed = not is_known or call.name in self._requests.typed_tools
            return with_content(line, answer, rendering, is_typed=is_typed)
        except Exception as exc:  # noqa: BLE001 - the host gets its result even if storing fails
            done = (
                "passed on and not stored" if stored is None else "stored, and passed on as it came"
            )
            self.warn(f"a result of {call.name} is {done}: {reason_of(exc)}")
            if has_call and isinstance(exc, ServiceRefusedError) and stored is None:
                await self._note_call(call)
            return None

    async def _find_added(
        self, call: PendingCall, line: Message, answer: Span, files: ExitStack
    ) -> list[AddedContent]:
        """Return the files that a call has left, and the page of its tool's app.

        There are none if its result has no list of content.
        """
        if not takes_files(line, answer):
            return []
        added: list[AddedContent] = []
        if self.collected is not None:
            is_parsed = answer.end - answer.start <= MAX_PARSED_BYTES
            result = parse_member(line, answer) if is_parsed else None
            added += await self.collected.collect(call.call_id, result, files)
        if (read := self._requests.find_page(call)) is not None:
            with anyio.move_on_after(_PAGE_SECONDS):
                await read.is_answered.wait()
            # No later answer waits for a server that does not give the page.
            read.is_answered.set()
            added += [] if read.page is None else [read.page]
        return added

    async def _keep_with_files(
        self, keep: Keep, call: PendingCall, files: Sequence[AddedContent]
    ) -> StoredResult | None:
        """Store an answer with its files; without them if that is refused, or takes too long."""
        try:
            with anyio.fail_after(_FILES_STORED_SECONDS):
                return await keep(files=files)
        except (ServiceRefusedError, TimeoutError) as exc:
            reason = reason_of(exc) if exc.args else "that took too long"
            self.warn(f"{len(files)} files of a call of {call.name} are not stored: {reason}")
            return await keep()

    async def _pass_on(self, pieces: Iterator[bytes]) -> None:
        async with self._to_host:
            for piece in pieces:
                await self.write_to_host(piece)


ProxyFactory: TypeAlias = Callable[[Write, Write], Proxy]
"""Returns a proxy, given the writers of a host and of a server."""
