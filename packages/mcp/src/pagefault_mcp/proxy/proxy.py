"""The proxy between a host and a server of MCP, line by line.

It passes on the bytes it got. Few messages are looked into: calls of tools, which are noted in the
history, and given files in the places of handles; their answers, which are stored before they are
passed on; and lists of tools, to which ours are added, whose calls the server never sees. They are
looked for in batches too. A call with an argument that was cut in an old call is answered here, and
the server never sees it. What cannot be stored is passed on as it came. Nothing waits for an
answer that is being stored. Whatever fails beside passing messages on, they are passed on.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import anyio
import anyio.abc

from pagefault_dialects.context.cut_marks import cut_arguments_refusal, find_cut_mark
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, json_bytes
from pagefault_dialects.model.tool import ToolDefinition
from pagefault_dialects.targets.tool_definitions import write_tools
from pagefault_mcp.errors import reason_of
from pagefault_mcp.messages.lines import Line, Message, find_members, read_lines
from pagefault_mcp.messages.passing_requests import (
    UNREADABLE,
    Answered,
    CallAnswer,
    OwnList,
    PassingRequests,
    PendingCall,
)
from pagefault_mcp.messages.rewritten_messages import (
    Piece,
    is_handles_alone,
    result_of,
    rewrite_line,
    with_arguments,
    with_content,
    with_tools,
)
from pagefault_mcp.messages.tasks import deferral
from pagefault_mcp.proxy.call_notes import CallNote
from pagefault_mcp.service_client.service_exchange import NoAnswerError, ServiceRefusedError
from pagefault_mcp.service_client.service_store import Kept, ServiceStore
from pagefault_mcp.upstreams.server_connections import Connection, UpstreamConnection, Write

# Answers that are being stored; the server is not read from while there are more.
_MOST_ANSWERS = 64
# How long a call waits for a list of the server's tools, and of how many pages.
_LIST_SECONDS = 5.0
_MOST_PAGES = 50
# How long a call waits for the files that it names: whatever the host says next waits behind it.
_FILES_SECONDS = 10.0
# How long a proxy whose server has ended still notes what was called.
_LAST_NOTES_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class Proxy:
    """Passes messages on between a host and a server, and keeps results of tools."""

    write_to_host: Write
    """Writes bytes to the host."""
    write_to_server: Write
    """Writes bytes to the server."""
    store: ServiceStore
    """Where results are kept."""
    warn: Callable[[str], None]
    """Says a sentence to the person who runs it."""
    own_tools: Mapping[str, ToolDefinition]
    """Our tools, by the names that the host is shown."""
    takes_paths: bool
    """Whether tools are given files by their paths."""
    _requests: PassingRequests = field(init=False)
    _is_remote: bool = field(init=False, default=False)
    _notes: dict[str, CallNote] = field(init=False, default_factory=dict)
    _last_note: CallNote | None = field(init=False, default=None)
    _to_host: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    _answers: anyio.Semaphore = field(
        init=False, default_factory=partial(anyio.Semaphore, _MOST_ANSWERS)
    )

    def __post_init__(self) -> None:
        names = {shown: tool.name for shown, tool in self.own_tools.items()}
        self._requests = PassingRequests(names, self.takes_paths, self.warn)

    async def from_host(self, pieces: AsyncIterator[bytes], server: Connection) -> None:
        """Pass on what the host says, and note the calls of tools; when it leaves, end the server.

        Args:
            pieces: What the host says.
            server: Is seen to its end.
        """
        self._requests.server = self._requests.server or server.name
        self._is_remote = isinstance(server, UpstreamConnection)
        async with anyio.create_task_group() as group:
            try:
                async for line in read_lines(pieces):
                    with line:
                        await find_members(line)
                        changed = [await self._take_request(each, group) for each in line.messages]
                        for piece in rewrite_line(line, changed):
                            await self.write_to_server(piece)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                # The server has ended; its status says why.
                return
        await server.leave()

    async def _take_request(
        self, message: Message, group: anyio.abc.TaskGroup
    ) -> list[Piece] | None:
        """Take a message of the host; return what the server gets, `None` for itself."""
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
            if call.own_name is not None:
                group.start_soon(self._run_own, call)
                return []
            if not call.is_noted:
                self._last_note = note = CallNote(call, behind=self._last_note)
                self._notes[call.call_id] = note
                group.start_soon(self._note, note)
            return await self._give_files(call, message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise
        except Exception as exc:  # noqa: BLE001 - the server says what it cannot read
            self.warn(f"a message of the host is passed on as it came: {reason_of(exc)}")
            return None

    def _find_cut_mark(self, call: PendingCall) -> str | None:
        """Return the handle of an argument that was cut in an old call, in a call of the server's.

        Calls of the memory's tools are checked where they are run.
        """
        is_own = call.name in self.own_tools and call.name not in self._requests.tool_names
        return None if is_own else find_cut_mark(call.written)

    async def _refuse_cut(self, call: PendingCall, handle: str) -> None:
        """Answer a call in the place of the server, which never sees it."""
        text = cut_arguments_refusal(handle)
        await self._answer_error(call, text)
        try:
            await self.store.keep_refusal(call, text)
        except Exception as exc:  # noqa: BLE001 - a host goes on working without a history
            self.warn(f"a refused call of {call.name} is not in the history: {reason_of(exc)}")

    async def _answer_error(self, call: PendingCall, text: str) -> None:
        """Answer a call with an error that is words for the model."""
        content: JsonValue = [{"type": "text", "text": text}]
        # Revisions before 2026-07-28 pass over `resultType`.
        result = json_bytes({"resultType": "complete", "content": content, "isError": True})
        await self._pass_on(result_of(call.request_id, [result]))

    def clean_up(self) -> None:
        """Remove the files that tools were given; the server has ended."""
        if self.store.files is not None:
            self.store.files.clean_up(self)

    async def _ask_for_list(self, call: PendingCall) -> None:
        """Ask the server for its tools, where the host knows them from elsewhere."""
        cursor: JsonValue = None
        with anyio.move_on_after(_LIST_SECONDS):
            for _ in range(_MOST_PAGES):
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
        """Pass on what the server says until it ends, and see to what is being stored."""
        async with anyio.create_task_group() as group:
            async for line in read_lines(pieces):
                await find_members(line)
                answered = [self._take_answer(each) for each in line.messages]
                if any(isinstance(each, CallAnswer) for each in answered):
                    await self._answers.acquire()
                    group.start_soon(self._answer, answered, line)
                    continue
                await self._pass_on_line(answered, line)
        if self._last_note is not None:
            # What ended the server may be what was called last.
            with anyio.move_on_after(_LAST_NOTES_SECONDS):
                await self._last_note.settle()

    def _take_answer(self, message: Message) -> Answered | None:
        """Take a message of the server; return what it answers, if that is looked into."""
        try:
            return self._requests.take_answer(message)
        except Exception as exc:  # noqa: BLE001 - the host says what it cannot read
            self.warn(f"a message of the server is passed on as it came: {reason_of(exc)}")
            return None

    async def _pass_on_line(self, answered: Sequence[Answered | None], line: Line) -> None:
        """Pass on the messages on a line, those that the host gets something else for changed."""
        with ExitStack() as held:
            held.enter_context(line)
            changed = [
                await self._replace_message(asked, message, held)
                for message, asked in zip(line.messages, answered, strict=True)
            ]
            await self._pass_on(rewrite_line(line, changed))

    async def _replace_message(
        self, asked: Answered | None, message: Message, held: ExitStack
    ) -> list[Piece] | None:
        """Return what the host gets in the place of a message, or `None` for itself."""
        if asked is None:
            return None
        if isinstance(asked, OwnList):
            # The host has not asked for it.
            return []
        try:
            if isinstance(asked, CallAnswer):
                return await self._store_answer(asked, message, held)
            return self._extend_list(message)
        except Exception as exc:  # noqa: BLE001 - a host gets its answer, whatever fails here
            self.warn(f"a message of the server is passed on as it came: {reason_of(exc)}")
            return None

    def _extend_list(self, line: Message) -> list[Piece] | None:
        """Return a list of the server's tools with ours at its end; `None` if there are none."""
        ours = {
            name: tool
            for name, tool in self.own_tools.items()
            if name not in self._requests.tool_names
        }
        if not ours:
            return None
        tools = [
            {**each, "name": name}
            for name, each in zip(ours, write_tools("mcp", list(ours.values())), strict=True)
            if isinstance(each, dict)
        ]
        return with_tools(line, line.members["result"], tools)

    async def _give_files(self, call: PendingCall, line: Message) -> list[Piece] | None:
        """Return a call with files in the places of handles; `None` if it has none of them."""
        places = self._requests.places.get(call.name)
        if not places or call.arguments is None or "@blob:" not in call.written:
            return None
        try:
            with anyio.move_on_after(_FILES_SECONDS):
                arguments = await self.store.resolve(call.arguments, places, self)
                return None if arguments is None else with_arguments(line, arguments)
            raise NoAnswerError(f"its file was not there after {_FILES_SECONDS:g} seconds")
        except Exception as exc:  # noqa: BLE001 - the server says what it cannot read
            self.warn(f"a handle for {call.name} is passed on as it is: {reason_of(exc)}")
            return None

    async def _run_own(self, call: PendingCall) -> None:
        """Run one of our tools, and answer the host."""
        try:
            if call.arguments is None:
                raise PayloadTooLargeError(
                    f"the arguments are {UNREADABLE}. Store them in pieces, or as a file.",
                    code="json-too-large",
                )
            result = await self.store.run(call, self._requests.revision)
        except Exception as exc:  # noqa: BLE001 - the model is told
            await self._answer_error(call, f"The memory did not answer: {reason_of(exc)}")
        else:
            with result.line:
                await self._pass_on(result_of(call.request_id, result.pieces()))

    async def _note(self, note: CallNote) -> None:
        """Note a call in the history, unless it is answered so soon that its result takes it."""
        try:
            if not await note.wait_for_early_answer():
                await self._note_call(note.call)
        finally:
            note.is_settled.set()
            # Some calls are never answered, such as those that the host has cancelled.
            self._notes.pop(note.call.call_id, None)

    async def _note_call(self, call: PendingCall) -> None:
        try:
            await self.store.note_call(call)
        except Exception as exc:  # noqa: BLE001 - a host goes on working without a history
            self.warn(f"the call of {call.name} is not in the history: {reason_of(exc)}")

    async def _answer(self, answered: Sequence[Answered | None], line: Line) -> None:
        try:
            await self._pass_on_line(answered, line)
        finally:
            self._answers.release()

    async def _store_answer(
        self, answered: CallAnswer, line: Message, held: ExitStack
    ) -> list[Piece] | None:
        """Store an answer; return what the host gets in its place, or `None` for itself."""
        call, answer, success = answered.call, answered.end.answer, answered.end.is_success
        note = self._notes.pop(call.call_id, None)
        has_call = note is not None and await note.take_answer()
        if success and (later := deferral(line, answer)) is not None:
            self._requests.defer(call, later)
            if has_call:
                await self._note_call(call)
            return None
        kept: Kept | None = None
        try:
            kept = await self.store.keep(call, line, answer, success=success, has_call=has_call)
            if kept is None or not success or is_handles_alone(line, answer):
                return None
            rendering = await self.store.rendering(kept, self._requests.revision)
            if rendering is None:
                return None
            held.enter_context(rendering.line)
            # Of a tool that no list has told of, a host may know a schema from elsewhere.
            is_known = call.name in self._requests.tool_names
            is_typed = not is_known or call.name in self._requests.typed_tools
            return with_content(line, answer, rendering, is_typed=is_typed)
        except Exception as exc:  # noqa: BLE001 - a host gets its result, whatever fails here
            done = (
                "passed on and not stored" if kept is None else "stored, and passed on as it came"
            )
            self.warn(f"a result of {call.name} is {done}: {reason_of(exc)}")
            if has_call and isinstance(exc, ServiceRefusedError) and kept is None:
                await self._note_call(call)
            return None

    async def _pass_on(self, pieces: Iterator[bytes]) -> None:
        async with self._to_host:
            for piece in pieces:
                await self.write_to_host(piece)


ProxyOf: TypeAlias = Callable[[Write, Write], Proxy]
"""Makes a proxy between what writes to a host and what writes to a server."""
