"""The proxy between a host and an MCP server, which forwards messages and stores results of tools.

Messages are forwarded byte for byte, with these exceptions:

- Calls of tools are recorded in the session's history. Handles in their arguments are replaced by
  files.
- Results of calls are stored, and the host gets their renderings.
- The memory's tools are appended to lists of tools. The proxy runs the calls of these tools itself.
- If a call has an argument that a rendering has shortened, the call is refused: the model has
  copied the shortened text.
- The proxy requests lists of tools and pages of apps itself. The host does not get the responses.

Messages of a batch are treated likewise. While a result is being stored, other messages are
forwarded. Messages are forwarded even if storing them fails.
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
from pagefault_mcp.errors import describe_error
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import (
    MAX_PARSED_BYTES,
    Line,
    Message,
    locate_long_members,
    parse_span,
    read_lines,
)
from pagefault_mcp.messages.request_tracker import (
    UNREADABLE,
    AppPageRequest,
    CallResponse,
    MatchedResponse,
    OwnToolListRequest,
    PendingCall,
    RequestTracker,
    find_deferral,
)
from pagefault_mcp.messages.rewritten_messages import (
    Piece,
    append_tools,
    encode_result_line,
    has_only_handles,
    replace_arguments,
    replace_content,
    rewrite_line,
)
from pagefault_mcp.proxy.call_traces import CallTraces, NoCallTraces
from pagefault_mcp.service_client.collected_files import CollectedFolder
from pagefault_mcp.service_client.service_exchange import (
    AddedContent,
    ServiceRefusedError,
    ServiceRequestError,
    has_content_list,
)
from pagefault_mcp.service_client.service_store import ServiceStore, StoredResult
from pagefault_mcp.upstreams.server_connections import Connection, UpstreamConnection, Write

# If the response to a call arrives within this time, and the arguments are not longer than this,
# one request stores both call and response.
_EARLY_RESPONSE_SECONDS = 0.05
_SHORT_ARGUMENTS_CHARS = 16_384


class CallRecording:
    """A call that is being recorded in the history.

    If the response arrives quickly, and before the next call, one request stores both call and
    response. Otherwise the call is recorded alone. Calls are recorded in the order of the host.
    """

    def __init__(self, call: PendingCall, *, previous: "CallRecording | None") -> None:
        self.call: Final = call
        self.finished: Final = anyio.Event()
        self._previous = previous
        # Set when the call has to be recorded without waiting longer for the response.
        self._due = anyio.Event()
        self._has_response = False
        self._is_stored_with_response = False
        if previous is not None:
            previous._due.set()

    async def wait_for_early_response(self) -> bool:
        """Wait briefly for the response; return whether it will be stored with the call."""
        if self._previous is not None:
            await self._previous.finished.wait()
            self._previous = None
        if len(self.call.arguments_json) <= _SHORT_ARGUMENTS_CHARS:
            with anyio.move_on_after(_EARLY_RESPONSE_SECONDS):
                await self._due.wait()
            self._is_stored_with_response = self._has_response
        return self._is_stored_with_response

    async def report_response(self) -> bool:
        """Report that the response has arrived, and wait until the call is recorded.

        Return True if the call is not recorded, but has to be stored with the response.
        """
        self._has_response = True
        await self.finish()
        return self._is_stored_with_response

    async def finish(self) -> None:
        """End the wait for an early response; return when the call is recorded.

        If the response has arrived, return when it is known whether both are stored together.
        """
        self._due.set()
        await self.finished.wait()


# The maximum number of lines whose responses are stored at the same time. At this limit, the proxy
# stops reading from the server.
_MAX_STORED_AT_ONCE = 64
# The limits of a list of the server's tools that the proxy requests itself. A call waits for it.
_LIST_SECONDS = 5.0
_MAX_LIST_REQUESTS = 50
# The longest wait until the handles of a call are replaced; later messages of the host wait too.
_FILES_SECONDS = 10.0
# The longest time for storing a response with files. After it, the response is stored without them.
_FILES_STORED_SECONDS = 60.0
# The longest wait of a response for the page of its app.
_PAGE_SECONDS = 5.0
# The time to record the last calls after the server has exited.
_LAST_CALL_SECONDS = 1.0


StoreResult: TypeAlias = Callable[..., Awaitable[StoredResult | None]]
"""Stores a response. The keyword `files` has content to append to it."""


@dataclass(slots=True, eq=False)
class Proxy:
    """A proxy that forwards messages between a host and a server, and stores results of tools."""

    write_to_host: Write
    """Writes bytes to the host."""
    write_to_server: Write
    """Writes bytes to the server."""
    store: ServiceStore
    """Sends requests to the service that stores results."""
    warn: Callable[[str], None]
    """Logs a sentence for the operator."""
    memory_tools: Mapping[str, ToolDefinition]
    """The memory's tools, by their names for the host."""
    takes_paths: bool
    """True if tools may get files as paths."""
    traces: CallTraces = field(default_factory=NoCallTraces)
    collected: CollectedFolder | None = None
    """The folder whose new files are stored with the results of calls, if there is one."""
    _requests: RequestTracker = field(init=False)
    _is_remote: bool = field(init=False, default=False)
    _recordings: dict[str, CallRecording] = field(init=False, default_factory=dict)
    """The calls that are being recorded, by their ids."""
    _last_call: CallRecording | None = field(init=False, default=None)
    """The recording of the last call, which may be finished."""
    _host_lock: anyio.Lock = field(init=False, default_factory=anyio.Lock)
    """Keeps the pieces of a line to the host together."""
    _storing: anyio.Semaphore = field(
        init=False, default_factory=partial(anyio.Semaphore, _MAX_STORED_AT_ONCE)
    )
    """Limits the number of lines that are stored at the same time."""

    def __post_init__(self) -> None:
        names = {name: tool.name for name, tool in self.memory_tools.items()}
        self._requests = RequestTracker(names, self.takes_paths, self.warn)

    async def forward_from_host(self, pieces: AsyncIterator[bytes], server: Connection) -> None:
        """Forward the messages of the host; at their end, disconnect the server.

        Args:
            pieces: The bytes that the host sends.
            server: The connection to the server.
        """
        self._requests.server = self._requests.server or server.name
        self._is_remote = isinstance(server, UpstreamConnection)
        async with anyio.create_task_group() as group:
            try:
                async for line in read_lines(pieces):
                    with line, self.traces.message():
                        await locate_long_members(line)
                        changed = [
                            await self._process_request(message, group) for message in line.messages
                        ]
                        for piece in rewrite_line(line, changed):
                            await self.write_to_server(piece)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                # The server has exited. `wait_for_exit` of the connection returns its exit status.
                return
        await server.disconnect()

    async def _process_request(
        self, message: Message, group: anyio.abc.TaskGroup
    ) -> list[Piece] | None:
        """Process a message of the host.

        Args:
            message: The message.
            group: Runs what the message starts in the background.

        Returns:
            The pieces that replace the message: `None` to forward it unchanged, and an empty list
            to forward nothing.
        """
        try:
            new_call = self._requests.track(message)
            if new_call is not None and self._requests.needs_list(
                new_call, is_remote=self._is_remote
            ):
                await self._request_list(new_call)
            if new_call is not None and (handle := self._find_cut_mark(new_call)) is not None:
                group.start_soon(self._refuse_cut_call, new_call, handle)
                return []
            call = None if new_call is None else self._requests.start_call(new_call)
            if call is None:
                # The message does not call a tool, or its id is invalid.
                return None
            self.traces.begin(call.call_id, call.name, call.traceparent)
            if call.memory_tool is not None:
                group.start_soon(self._run_memory_tool, call)
                return []
            # A call that repeats an earlier one with more input is not recorded again.
            if not call.is_recorded:
                self._last_call = recording = CallRecording(call, previous=self._last_call)
                self._recordings[call.call_id] = recording
                group.start_soon(self._record, recording)
            if (page := self._requests.request_app_page(call)) is not None:
                await self.write_to_server(page.line)
            changed = await self._insert_files(call, message)
            if self.collected is not None:
                await self.collected.begin(call.call_id)
            return changed
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise
        except Exception as exc:  # noqa: BLE001 - the server reports invalid messages
            self.warn(f"a message of the host is passed on as it came: {describe_error(exc)}")
            return None

    def _find_cut_mark(self, call: PendingCall) -> str | None:
        """Return the handle of the full text, if an argument has the mark of a shortened text.

        Return `None` without such a mark, and for the memory's tools, which check their arguments
        themselves.
        """
        is_memory_tool = (
            call.name in self.memory_tools and call.name not in self._requests.tool_names
        )
        return None if is_memory_tool else find_cut_mark(call.arguments_json)

    async def _refuse_cut_call(self, call: PendingCall, handle: str) -> None:
        """Send an error to the host for a call with a shortened argument, and store both."""
        text = cut_arguments_refusal(handle)
        await self._write_error(call, text)
        try:
            await self.store.store_refusal(call, text)
        except Exception as exc:  # noqa: BLE001 - a host goes on working without a history
            self.warn(f"a refused call of {call.name} is not in the history: {describe_error(exc)}")

    async def _write_error(self, call: PendingCall, text: str) -> None:
        """Send an error result to the host, whose text the model reads."""
        content: JsonValue = [{"type": "text", "text": text}]
        # Revisions before 2026-07-28 ignore `resultType`.
        result = json_bytes({"resultType": "complete", "content": content, "isError": True})
        await self._write_line_to_host(encode_result_line(call.request_id, [result]))

    def clean_up(self) -> None:
        """Remove the copies of files that only this server's tools used; the server has exited."""
        if self.store.files is not None:
            self.store.files.clean_up(server=self)

    async def _request_list(self, call: PendingCall) -> None:
        """Request the list of the server's tools, and wait for it with a timeout.

        The host may have cached the list, so that the proxy has not seen it.
        """
        cursor: JsonValue = None
        with anyio.move_on_after(_LIST_SECONDS):
            for _ in range(_MAX_LIST_REQUESTS):
                request = self._requests.request_list(call, cursor)
                await self.write_to_server(request.line)
                await request.response_received.wait()
                cursor = request.cursor
                if not cursor:
                    break
        if not self._requests.is_listed:
            self.warn(
                "the server has not listed all its tools: "
                f"handles for {call.name} stay as they are, "
                "and a call with the name of a memory's tool runs that tool"
            )

    async def forward_from_server(self, pieces: AsyncIterator[bytes]) -> None:
        """Forward the messages of the server until its output ends, and store responses."""
        async with anyio.create_task_group() as group:
            async for line in read_lines(pieces):
                await locate_long_members(line)
                matches = [self._match_response(message) for message in line.messages]
                if any(isinstance(match, CallResponse) for match in matches):
                    await self._storing.acquire()
                    group.start_soon(self._forward_responses, matches, line)
                    continue
                await self._forward_line(matches, line)
        if self._last_call is not None:
            # The last call may be the one that made the server exit.
            with anyio.move_on_after(_LAST_CALL_SECONDS):
                await self._last_call.finish()

    def _match_response(self, message: Message) -> MatchedResponse | None:
        """Return the request that a message of the server belongs to, as a `MatchedResponse`.

        Return `None` for all messages that are just forwarded.
        """
        try:
            return self._requests.match_response(message)
        except Exception as exc:  # noqa: BLE001 - the host reports invalid messages
            self.warn(f"a message of the server is passed on as it came: {describe_error(exc)}")
            return None

    async def _forward_line(self, matches: Sequence[MatchedResponse | None], line: Line) -> None:
        """Store the results on a line of the server, forward the line to the host, and close it."""
        with ExitStack() as open_resources:
            open_resources.enter_context(line)
            changed = [
                await self._replace_message(match, message, open_resources)
                for message, match in zip(line.messages, matches, strict=True)
            ]
            await self._write_line_to_host(rewrite_line(line, changed))

    async def _replace_message(
        self, match: MatchedResponse | None, message: Message, open_resources: ExitStack
    ) -> list[Piece] | None:
        """Return the pieces that replace a message for the host; `None` to forward it unchanged.

        If the message is the response to a call, store it.

        Args:
            match: The request that the message belongs to, if it matters here.
            message: The message of the server.
            open_resources: Closes what the pieces refer to, after they are written.
        """
        if match is None:
            return None
        if isinstance(match, OwnToolListRequest | AppPageRequest):
            # The host has not sent this request, so it does not get the response.
            return []
        try:
            if isinstance(match, CallResponse):
                with self.traces.end(match.call.call_id):
                    return await self._store_response(match, message, open_resources)
            return self._extend_list(message)
        except Exception as exc:  # noqa: BLE001 - the host gets its response in any case
            self.warn(f"a message of the server is passed on as it came: {describe_error(exc)}")
            return None

    def _extend_list(self, message: Message) -> list[Piece] | None:
        """Return a list of the server's tools with the memory's tools appended.

        Return `None` if nothing is appended: the server has tools of the same names, or another
        part of the list follows.
        """
        appended = {
            name: tool
            for name, tool in self.memory_tools.items()
            if name not in self._requests.tool_names
        }
        if not appended:
            return None
        definitions = write_tools("mcp", list(appended.values()))
        tools = [
            {**tool, "name": name}
            for name, tool in zip(appended, definitions, strict=True)
            if isinstance(tool, dict)
        ]
        return append_tools(message, message.members["result"], tools)

    async def _insert_files(self, call: PendingCall, message: Message) -> list[Piece] | None:
        """Return the pieces of a call whose handles are replaced by files.

        Return `None` to forward the call unchanged: it has no handles, or they cannot be replaced.
        """
        file_arguments = self._requests.file_arguments.get(call.name)
        if not file_arguments or call.arguments is None or "@blob:" not in call.arguments_json:
            return None
        try:
            with anyio.move_on_after(_FILES_SECONDS):
                arguments = await self.store.resolve_handles(
                    call.arguments, file_arguments, server=self
                )
                return None if arguments is None else replace_arguments(message, arguments)
            raise ServiceRequestError(f"its file was not there after {_FILES_SECONDS:g} seconds")
        except Exception as exc:  # noqa: BLE001 - the server reports invalid messages
            self.warn(f"a handle for {call.name} is passed on as it is: {describe_error(exc)}")
            return None

    async def _run_memory_tool(self, call: PendingCall) -> None:
        """Run a call of one of the memory's tools, and send the result to the host."""
        try:
            with self.traces.end(call.call_id):
                if call.arguments is None:
                    raise PayloadTooLargeError(
                        f"the arguments are {UNREADABLE}. Store them in pieces, or as a file.",
                        code="json-too-large",
                    )
                result = await self.store.run_memory_tool(call, self._requests.revision)
        except Exception as exc:  # noqa: BLE001 - the model gets an error
            await self._write_error(call, f"The memory did not answer: {describe_error(exc)}")
        else:
            with result.line:
                await self._write_line_to_host(encode_result_line(call.request_id, result.pieces()))

    async def _record(self, recording: CallRecording) -> None:
        """Record a call in the history, unless it will be stored with an early response."""
        try:
            if not await recording.wait_for_early_response():
                await self._record_call(recording.call)
        finally:
            recording.finished.set()
            # The response to a cancelled call may never arrive, so the call is not kept until then.
            self._recordings.pop(recording.call.call_id, None)

    async def _record_call(self, call: PendingCall) -> None:
        """Record a call in the history; log a failure."""
        try:
            await self.store.record_call(call)
        except Exception as exc:  # noqa: BLE001 - a host goes on working without a history
            self.warn(f"the call of {call.name} is not in the history: {describe_error(exc)}")

    async def _forward_responses(
        self, matches: Sequence[MatchedResponse | None], line: Line
    ) -> None:
        """Store and forward a line with responses to calls; then another line may be stored."""
        try:
            await self._forward_line(matches, line)
        finally:
            self._storing.release()

    async def _store_response(
        self, response: CallResponse, message: Message, open_resources: ExitStack
    ) -> list[Piece] | None:
        """Store a response to a call.

        Returns:
            The pieces that replace the message for the host; `None` to forward it unchanged.
        """
        call, span, success = response.call, response.outcome.span, response.outcome.is_success
        recording = self._recordings.pop(call.call_id, None)
        stores_call = recording is not None and await recording.report_response()
        if success and (deferral := find_deferral(message, span)) is not None:
            self._requests.defer(call, deferral)
            if stores_call:
                await self._record_call(call)
            return None
        stored: StoredResult | None = None
        try:
            files = (
                await self._find_added_content(call, message, span, open_resources)
                if success
                else []
            )
            store_result = partial(
                self.store.store_result,
                call,
                message,
                span,
                success=success,
                stores_call=stores_call,
            )
            stored = await (
                self._store_with_files(store_result, call, files) if files else store_result()
            )
            # Errors are forwarded unchanged, and so are results that have only handles.
            if stored is None or not success or (not files and has_only_handles(message, span)):
                return None
            rendering = await self.store.render(stored, self._requests.revision)
            if rendering is None:
                return None
            open_resources.enter_context(rendering.line)
            # A host may know an unlisted tool, and the schema of its results, from a cached list.
            is_listed = call.name in self._requests.tool_names
            is_typed = not is_listed or call.name in self._requests.typed_tools
            return replace_content(message, span, rendering, is_typed=is_typed)
        except Exception as exc:  # noqa: BLE001 - the host gets its result even if storing fails
            outcome = (
                "passed on and not stored" if stored is None else "stored, and passed on as it came"
            )
            self.warn(f"a result of {call.name} is {outcome}: {describe_error(exc)}")
            if stores_call and isinstance(exc, ServiceRefusedError) and stored is None:
                await self._record_call(call)
            return None

    async def _find_added_content(
        self, call: PendingCall, message: Message, span: Span, open_resources: ExitStack
    ) -> list[AddedContent]:
        """Return what is stored with a result: files in the folder, and the page of the tool's app.

        Return an empty list if the result has no list of content blocks.
        """
        if not has_content_list(message, span):
            return []
        added: list[AddedContent] = []
        if self.collected is not None:
            is_parsed = span.end - span.start <= MAX_PARSED_BYTES
            result = parse_span(message, span) if is_parsed else None
            added += await self.collected.collect(call.call_id, result, open_resources)
        if (page_request := self._requests.find_app_page_request(call)) is not None:
            with anyio.move_on_after(_PAGE_SECONDS):
                await page_request.response_received.wait()
            # If the server has not sent the page in time, later responses do not wait for it again.
            page_request.response_received.set()
            added += [] if page_request.page is None else [page_request.page]
        return added

    async def _store_with_files(
        self, store_result: StoreResult, call: PendingCall, files: Sequence[AddedContent]
    ) -> StoredResult | None:
        """Store a response with files; if that is refused or takes too long, without files."""
        try:
            with anyio.fail_after(_FILES_STORED_SECONDS):
                return await store_result(files=files)
        except (ServiceRefusedError, TimeoutError) as exc:
            reason = describe_error(exc) if exc.args else "that took too long"
            self.warn(f"{len(files)} files of a call of {call.name} are not stored: {reason}")
            return await store_result()

    async def _write_line_to_host(self, pieces: Iterator[bytes]) -> None:
        """Write the pieces of a line to the host, without pieces of other lines between them."""
        async with self._host_lock:
            for piece in pieces:
                await self.write_to_host(piece)


ProxyFactory: TypeAlias = Callable[[Write, Write], Proxy]
"""Makes a proxy from two functions: one writes to a host, the other to a server."""
