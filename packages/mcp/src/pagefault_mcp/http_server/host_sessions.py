"""Sessions of hosts over HTTP, each with its own proxy and MCP server.

Each message that a host posts becomes a line for the proxy. Lines of the proxy are routed to HTTP
responses:

- The responses and progress notifications of the requests in a POST are sent in the response to
  that POST.
- Other messages of the server are sent in the response to the only open POST, if exactly one is
  open; otherwise on the stream that the host has opened by GET. Without such a stream, they are
  sent in the response to the newest POST, or on the next stream.

If a stream breaks, its messages are kept, and are sent when the host resumes the stream.

Hosts of the revision 2026-07-28 have no sessions of MCP. They share one `HostSession`, and so one
server. Two hosts may use the same id for a request, so ids are replaced by unique ones.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack, aclosing, suppress
from itertools import chain, count
from typing import Any
from uuid import uuid4

import anyio
import anyio.abc

from app.services.concurrency.large_work import run_in_loop_if
from pagefault_mcp.errors import describe_error
from pagefault_mcp.http_server.host_streams import Exchange, SentEvent, SentEvents
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import (
    IN_MEMORY_BYTES,
    Line,
    find_answered_ids,
    get_member,
    is_id,
    locate_members,
    parse_span,
    read_lines,
)
from pagefault_mcp.messages.rewritten_messages import encode_error_line
from pagefault_mcp.proxy.proxy import Proxy, ProxyFactory
from pagefault_mcp.upstreams.server_connections import CannotStartError, Connect, Connection
from pagefault_mcp.upstreams.upstream_messages import CANCELLED, read_cancelled_id

_MAX_PARSED_BYTES = 1024 * 1024
# A chunk has up to 256 KiB.
_MAX_QUEUED_CHUNKS = 4
# The maximum number of broken streams that still wait for responses.
_MAX_BROKEN_STREAMS = 32
# The time after which a disconnected session is cancelled. A server has less time to exit.
_DISCONNECT_SECONDS = 12.0
# The member of `_meta` with the id of the request that has opened a subscription.
_SUBSCRIPTION_MEMBER = "io.modelcontextprotocol/subscriptionId"


class HostSession:
    """A proxy and the server behind it, for one session of MCP, or for all hosts without sessions.

    Args:
        make_proxy: Makes the proxy from two functions that write to the host and to the server.
        warn: Logs a sentence for the operator.
        is_shared: Several hosts share the session, so ids of requests are replaced.

    Attributes:
        has_succeeded: True after a request has got a response without an error.
        disconnected: Set when the host has disconnected, or a shared server is not used any more.
        ended: Set when the server has exited.
        last_used_at: The time of the last request, on the clock of the event loop.
        stream: The stream that the host has opened by GET, if it is open.
        sent_events: The recent events; `None` for hosts without sessions, which cannot resume.
    """

    def __init__(
        self, make_proxy: ProxyFactory, warn: Callable[[str], None], *, is_shared: bool = False
    ) -> None:
        self._make_proxy = make_proxy
        self._warn = warn
        self._is_shared = is_shared
        # The lines that the host posts.
        self._to_proxy, self._from_host = anyio.create_memory_object_stream[bytes](
            _MAX_QUEUED_CHUNKS
        )
        # The lines that the proxy writes to the host.
        self._to_host, self._from_proxy = anyio.create_memory_object_stream[bytes](
            _MAX_QUEUED_CHUNKS
        )
        # The exchanges of POSTs with requests, the oldest first.
        self._exchanges: list[Exchange] = []
        # The same exchanges, by the ids and by the progress tokens of their requests.
        self._exchanges_by_id: dict[object, Exchange] = {}
        self._exchanges_by_token: dict[object, Exchange] = {}
        self._stream_names = map(str, count(1))
        self.stream: Exchange | None = None
        # The name of the last stream that was opened by GET.
        self._last_stream_name = ""
        # Keeps messages for the next stream of a GET while none is open.
        self._next_stream = Exchange()
        self.disconnected, self.ended = anyio.Event(), anyio.Event()
        self.has_succeeded = False
        self.last_used_at = 0.0
        self.sent_events = None if is_shared else SentEvents()

    @property
    def is_idle(self) -> bool:
        """True if the host has no open request or stream."""
        is_open = any(exchange.is_attached for exchange in self._exchanges)
        return not is_open and self.stream is None

    async def run(self, connect: Connect, *, task_status: anyio.abc.TaskStatus[str | None]) -> None:
        """Connect to a server, and forward messages until it exits.

        Args:
            connect: Connects to the server.
            task_status: Is called with `None` once the server is connected, or with the reason of a
                failure.
        """
        reason = "the session has ended"
        is_connected = False
        try:
            with ExitStack() as cleanup:
                async with connect() as server:
                    proxy = self._make_proxy(self._to_host.send, server.write)
                    cleanup.callback(proxy.clean_up)
                    task_status.started(None)
                    is_connected = True
                    await self._serve(proxy, server)
            _, message = await server.wait_for_exit()
            if message:
                reason = message
                self._warn(message)
        except CannotStartError as exc:
            self._warn(str(exc))
            task_status.started(str(exc))
        except Exception as exc:  # noqa: BLE001 - other sessions go on
            self._warn(f"a session has ended: {describe_error(exc)}")
            if not is_connected:
                task_status.started("cannot connect to the server")
        finally:
            self._end(reason)
            for stream in (self._from_host, self._to_host, self._from_proxy):
                stream.close()

    async def _serve(self, proxy: Proxy, server: Connection) -> None:
        """Run the proxy until the output of the server ends."""
        # At the end of the server's output, nothing more is read from the host. The last lines are
        # still routed: closing `_to_host` ends `_route_lines` after them.
        async with anyio.create_task_group() as timeout_group:
            timeout_group.start_soon(self._end_after_timeout, timeout_group.cancel_scope)
            async with anyio.create_task_group() as routing_group:
                routing_group.start_soon(self._route_lines)
                async with anyio.create_task_group() as host_group:
                    host_group.start_soon(proxy.forward_from_host, self._from_host, server)
                    await proxy.forward_from_server(server.receive_pieces())
                    host_group.cancel_scope.cancel()
                await self._to_host.aclose()
            timeout_group.cancel_scope.cancel()

    async def _end_after_timeout(self, scope: anyio.CancelScope) -> None:
        """Cancel the session some time after the host has disconnected.

        By then, the server has exited, unless it does not read its input.
        """
        await self.disconnected.wait()
        await anyio.sleep(_DISCONNECT_SECONDS)
        scope.cancel()

    def disconnect(self) -> None:
        """Close the input of the proxy, since the host has disconnected."""
        self.disconnected.set()
        self._to_proxy.close()

    def _end(self, reason: str) -> None:
        """End the session, and send an error to the host for each open request."""
        self.ended.set()
        for exchange in [*self._exchanges]:
            if exchange.has_ended:
                # An earlier call of this method has sent its errors.
                continue
            for request_id in exchange.waiting:
                line = Line()
                line.add(
                    encode_error_line(
                        exchange.original_ids.get(str(request_id), request_id), reason
                    )
                )
                exchange.put(line)
            exchange.end()
            if not exchange.is_attached:
                # An ended session cannot be resumed.
                exchange.close()
        if self.stream is not None:
            self.stream.end()
        self._next_stream.close()
        self._to_proxy.close()

    async def forward(self, text: bytes, value: Any) -> Exchange:  # noqa: ANN401 - any JSON
        """Forward a message or batch that a host has posted.

        Args:
            text: The message or batch as a line.
            value: The parsed message or batch; in a shared session always one message.

        Returns:
            The exchange for the response, which the caller releases.
        """
        exchange = Exchange(next(self._stream_names))
        for message in value if isinstance(value, list) else [value]:
            if "method" not in message:
                continue
            if message["method"] == CANCELLED and not self._is_shared:
                self._cancel(read_cancelled_id(message))
            token = get_member(message, "params", "_meta", "progressToken")
            request_id = message.get("id")
            if self._is_shared:
                is_short = len(text) <= IN_MEMORY_BYTES
                text, request_id, token = await run_in_loop_if(
                    is_short, _replace_ids, text, request_id, token, exchange
                )
            if is_id(request_id):
                exchange.waiting.add(request_id)
                self._exchanges_by_id[request_id] = exchange
            if is_id(token):
                self._exchanges_by_token[token] = exchange
        self.last_used_at = anyio.current_time()
        if exchange.waiting:
            self._exchanges.append(exchange)
        try:
            await self._to_proxy.send(text)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._end("the session has ended")
        return exchange

    def _cancel(self, request_id: object) -> None:
        """Stop waiting for the response to a request.

        A late response is still sent, unless the exchange has no connection and waits for nothing
        else.
        """
        exchange = self._exchanges_by_id.get(request_id)
        if exchange is None:
            return
        exchange.waiting.discard(request_id)
        if not (exchange.waiting or exchange.is_attached):
            self._remove(exchange)

    async def release(self, exchange: Exchange) -> None:
        """Remove an exchange at the end of its connection.

        In a shared session, its open requests are cancelled at the server.
        """
        self._remove(exchange)
        if self._is_shared and not self.ended.is_set():
            for request_id in exchange.waiting:
                params = {"requestId": request_id, "reason": "the host has left"}
                cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await self._to_proxy.send(json.dumps(cancel).encode() + b"\n")
        if self._is_shared and self.is_idle and not self.has_succeeded:
            # No request has succeeded, so the server may not support the revision of these hosts.
            # The next request starts another server.
            self.disconnect()

    def _remove(self, exchange: Exchange) -> None:
        """Close an exchange, and stop routing messages to it."""
        for exchanges in (self._exchanges_by_id, self._exchanges_by_token):
            for key in [key for key, value in exchanges.items() if value is exchange]:
                del exchanges[key]
        exchange.close()
        if exchange in self._exchanges:
            self._exchanges.remove(exchange)
        if self.sent_events is not None:
            self.sent_events.mark_ended(exchange.name)

    async def detach(self, exchange: Exchange, connection_number: int) -> None:
        """Detach a connection, which has ended, from an exchange.

        The exchange is released, unless its stream broke and can be resumed. If another connection
        was attached in the meantime, nothing is done.
        """
        if connection_number != exchange.connection_number:
            return
        is_incomplete = exchange.lines or exchange.waiting
        if self.sent_events is None or not exchange.can_resume or not is_incomplete:
            await self.release(exchange)
            return
        exchange.is_attached = False
        self.last_used_at = anyio.current_time()
        self._save_unsent(exchange)
        broken = [other for other in self._exchanges if not other.is_attached]
        for oldest in broken[: max(0, len(broken) - _MAX_BROKEN_STREAMS)]:
            self._remove(oldest)

    def _save_unsent(self, exchange: Exchange) -> None:
        """Move the unsent messages of a broken stream to the recent events."""
        assert self.sent_events is not None  # noqa: S101 - only sessions with events are resumed
        while exchange.lines:
            with exchange.lines.popleft() as line:
                self.sent_events.add(exchange.name, line)
        if exchange.has_ended:
            self._remove(exchange)

    def resume(self, event_id: str) -> tuple[list[SentEvent], Exchange | None]:
        """Return the events after an event of the same stream, and the stream if it is still open.

        Raises:
            NoSuchEventError: The event was never sent, or later events were dropped.
        """
        assert self.sent_events is not None  # noqa: S101 - only sessions with events are resumed
        name, missed_events = self.sent_events.find_later_events(event_id)
        self.last_used_at = anyio.current_time()
        streams = [*self._exchanges, *([self.stream] if self.stream else [])]
        exchange = next((stream for stream in streams if stream.name == name), None)
        if exchange is None and name == self._last_stream_name:
            exchange = self.open_stream(name)
        return missed_events, exchange

    def open_stream(self, name: str | None = None) -> Exchange:
        """Open the stream of a GET, for messages of the server that are not responses.

        An earlier stream of a GET ends.

        Args:
            name: The name of a broken stream that is resumed; `None` for a new one.
        """
        if self.stream is not None:
            self.stream.end()
        if self.sent_events is not None and name is None:
            self.sent_events.mark_ended(self._last_stream_name)
        # The new stream gets the messages that arrived while no stream was open.
        self.stream, self._next_stream = self._next_stream, Exchange()
        self._last_stream_name = self.stream.name = name or next(self._stream_names)
        return self.stream

    async def close_stream(self, stream: Exchange, connection_number: int) -> None:
        """Close the stream of a GET. Its unsent messages are sent on the next stream.

        If another connection was attached in the meantime, nothing is done.
        """
        if connection_number != stream.connection_number:
            return
        if self.stream is stream:
            self.stream = None
            self._next_stream.lines.extendleft(reversed(stream.lines))
            stream.lines.clear()
        stream.close()

    async def _route_lines(self) -> None:
        """Route the lines that the proxy writes to the host, until the stream of lines ends."""
        async with aclosing(read_lines(self._from_proxy)) as lines:
            async for line in lines:
                self._route(line)

    def _route(self, line: Line) -> None:
        """Queue a line in the exchange that the line belongs to; drop the line if there is none."""
        answered = set(find_answered_ids(line.messages))
        exchange = next(
            (
                self._exchanges_by_id[request_id]
                for request_id in answered
                if request_id in self._exchanges_by_id
            ),
            None,
        )
        if not answered:
            exchange = self._find_exchange(line)
        elif exchange is not None:
            self.has_succeeded |= any("result" in message.members for message in line.messages)
            exchange.waiting -= answered
            for request_id in answered:
                self._exchanges_by_id.pop(request_id, None)
        if exchange is None:
            # No exchange waits for this response.
            line.close()
            return
        exchange.put(_restore_ids(line, exchange.original_ids) if exchange.original_ids else line)
        if exchange in self._exchanges and not exchange.waiting:
            exchange.end()
        if not exchange.is_attached:
            self._save_unsent(exchange)

    def _find_exchange(self, line: Line) -> Exchange | None:
        """Return the exchange for a message of the server that is not a response, if any."""
        is_parsed = line.size_bytes <= _MAX_PARSED_BYTES and line.members
        message = parse_span(line, line.whole_span) if is_parsed else None
        token = get_member(message, "params", "progressToken")
        subscription = get_member(message, "params", "_meta", _SUBSCRIPTION_MEMBER)
        if is_id(token) and token in self._exchanges_by_token:
            return self._exchanges_by_token[token]
        if is_id(subscription) and subscription in self._exchanges_by_id:
            return self._exchanges_by_id[subscription]
        open_exchanges = [exchange for exchange in self._exchanges if exchange.waiting]
        if len(open_exchanges) == 1:
            return open_exchanges[0]
        if self._is_shared:
            # The message may be for any of the hosts.
            return None
        if self.stream is not None:
            return self.stream
        return self._exchanges[-1] if self._exchanges else self._next_stream


def _replace_ids(
    text: bytes, request_id: object, token: object, exchange: Exchange
) -> tuple[bytes, object, object]:
    """Replace the id and the progress token of a request by unique ones.

    Args:
        text: The line of the request.
        request_id: The id; anything else than an id is not replaced.
        token: The progress token, likewise.
        exchange: Keeps the original id and token, to restore them in the response.

    Returns:
        The new line, the new id and the new token.
    """
    line = Line()
    line.add(text)
    id_span, token_span = line.members.get("id"), _find_token_span(line)
    line.close()
    new_ids: dict[Span | None, str] = {}
    # The last span is replaced first, so that the other one remains valid.
    for original, span in sorted(
        [(request_id, id_span), (token, token_span)],
        key=lambda item: item[1] or (0, 0),
        reverse=True,
    ):
        if not is_id(original) or span is None:
            continue
        new_id = f"pf-{uuid4().hex}"
        exchange.original_ids[new_id] = original
        text = text[: span.start] + b'"%s"' % new_id.encode() + text[span.end :]
        new_ids[span] = new_id
    return text, new_ids.get(id_span), new_ids.get(token_span)


def _find_token_span(line: Line) -> Span | None:
    """Return the span of the progress token of a request, if there is one."""
    span: Span | None = line.whole_span
    for name in ("params", "_meta", "progressToken"):
        span = None if span is None else locate_members(line, span).get(name)
    return span


def _restore_ids(line: Line, original_ids: Mapping[str, object]) -> Line:
    """Return a line in which the original id and token of the host are restored.

    In a long line, only the id of the message is restored: `_find_exchange` does not look for
    tokens in long lines either. The replacements are random, so no other text equals them.
    """
    is_parsed = line.size_bytes <= _MAX_PARSED_BYTES
    span = line.whole_span if is_parsed else line.members.get("id", Span(0, 0))
    text = line.read(span)
    for new_id, original in original_ids.items():
        text = text.replace(b'"%s"' % new_id.encode(), json.dumps(original).encode())
    suffix = line.pieces(Span(span.end, line.size_bytes))
    restored = Line()
    for piece in chain(line.pieces(Span(0, span.start)), [text], suffix):
        restored.add(piece)
    line.close()
    return restored
