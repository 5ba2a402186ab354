"""Hosts that are served over HTTP: each session is a pipe to a server of its own.

What a host posts becomes lines for the proxy, and what the proxy says becomes the answers to what
was posted: each answer goes where its request came from, and progress before it. What the server
says on its own goes to the one request that is open, or to the stream that the host has opened.

A stream that breaks goes on without its host. What is said on it meanwhile is kept with what was
sent lately, and sent when the host comes back to it.

Hosts of 2026-07-28 have no sessions. They share one server, so their requests are renamed on the
way: two hosts may have given theirs the same id.
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
from pagefault_mcp.errors import reason_of
from pagefault_mcp.listening.host_streams import Exchange
from pagefault_mcp.listening.sent_events import SentEvent, SentEvents
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import IN_MEMORY_BYTES, Line, locate_members, read_lines
from pagefault_mcp.messages.message_values import answered_ids, is_id, member, parse_member
from pagefault_mcp.messages.rewritten_messages import failure
from pagefault_mcp.proxy.proxy import Proxy, ProxyOf
from pagefault_mcp.upstreams.pending_requests import CANCELLED, cancelled_id
from pagefault_mcp.upstreams.server_connections import CannotStartError, Connect, Connection

_MOST_TOLD_BYTES = 1024 * 1024
# Pieces of up to 256 KiB.
_WAITING = 4
# Streams that broke and whose requests are not answered.
_MOST_BROKEN = 32
# Longer than a server is given to end by itself.
_LONGEST_LEAVE_SECONDS = 12.0
_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class HostSession:
    """A host, the proxy, and the server behind it.

    Args:
        proxy_of: Makes the proxy between two writers.
        warn: Says a sentence to the person who runs it.
        is_shared: Whether requests of several hosts come over it, and are renamed.

    Attributes:
        has_succeeded: Whether the server has answered anything but an error.
        left: The host has left.
        gone: The server has ended.
        used_at: When the host last said something, on the clock of the event loop.
        stream: What the server says on its own, if the host listens.
        sent: What was sent lately; `None` for hosts that have no sessions, and cannot come back.
    """

    def __init__(
        self, proxy_of: ProxyOf, warn: Callable[[str], None], *, is_shared: bool = False
    ) -> None:
        self._proxy_of = proxy_of
        self._warn = warn
        self._is_shared = is_shared
        self._to_proxy, self._from_host = anyio.create_memory_object_stream[bytes](_WAITING)
        self._out, self._heard = anyio.create_memory_object_stream[bytes](_WAITING)
        self._exchanges: list[Exchange] = []
        self._by_id: dict[object, Exchange] = {}
        self._by_token: dict[object, Exchange] = {}
        self._names = map(str, count(1))
        self.stream: Exchange | None = None
        self._heard_last = ""
        self._unheard = Exchange()
        self.left, self.gone = anyio.Event(), anyio.Event()
        self.has_succeeded = False
        self.used_at = 0.0
        self.sent = None if is_shared else SentEvents()

    @property
    def is_idle(self) -> bool:
        """Whether the host waits for nothing, and listens to nothing."""
        is_open = any(each.is_attached for each in self._exchanges)
        return not is_open and self.stream is None

    async def run(self, connect: Connect, *, task_status: anyio.abc.TaskStatus[str | None]) -> None:
        """Connect to a server, and serve until it ends; say first why that cannot be done."""
        said = "the session has ended"
        try:
            with ExitStack() as ended:
                async with connect() as server:
                    proxy = self._proxy_of(self._out.send, server.write)
                    ended.callback(proxy.clean_up)
                    task_status.started(None)
                    await self._serve(proxy, server)
            _, told = await server.ended()
            if told:
                said = told
                self._warn(told)
        except CannotStartError as exc:
            self._warn(str(exc))
            task_status.started(str(exc))
        except Exception as exc:  # noqa: BLE001 - other sessions go on
            self._warn(f"a session has ended: {reason_of(exc)}")
        finally:
            self._end(said)

    async def _serve(self, proxy: Proxy, server: Connection) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._end_in_time, group.cancel_scope)
            async with anyio.create_task_group() as answers:
                answers.start_soon(self._route_all)
                async with anyio.create_task_group() as host:
                    host.start_soon(proxy.from_host, self._from_host, server)
                    await proxy.from_server(server.received())
                    host.cancel_scope.cancel()
                await self._out.aclose()
            group.cancel_scope.cancel()

    async def _end_in_time(self, scope: anyio.CancelScope) -> None:
        """End a session that goes on: a server that reads nothing does not see its host leave."""
        await self.left.wait()
        await anyio.sleep(_LONGEST_LEAVE_SECONDS)
        scope.cancel()

    def leave(self) -> None:
        """Say that the host has left."""
        self.left.set()
        self._to_proxy.close()

    def _end(self, said: str) -> None:
        self.gone.set()
        for exchange in [*self._exchanges]:
            for request_id in list(exchange.waiting):
                line = Line()
                line.add(failure(exchange.renamed.get(str(request_id), request_id), said))
                exchange.put(line)
            exchange.end()
            if not exchange.is_attached:
                # A session that has ended is nothing to come back to.
                exchange.close()
        if self.stream is not None:
            self.stream.end()
        self._unheard.close()
        self._to_proxy.close()

    async def ask(self, text: bytes, said: Any) -> Exchange:  # noqa: ANN401 - any JSON
        """Pass on what a host has posted; return what it gets for that, until it is released.

        Args:
            text: The line with the message, or the batch of them.
            said: The same, parsed.
        """
        exchange = Exchange(next(self._names))
        for message in said if isinstance(said, list) else [said]:
            if "method" not in message:
                continue
            if message["method"] == CANCELLED and not self._is_shared:
                self._cancel(cancelled_id(message))
            token = member(message, "params", "_meta", "progressToken")
            request_id = message.get("id")
            if self._is_shared:
                is_short = len(text) <= IN_MEMORY_BYTES
                text, request_id, token = await run_in_loop_if(
                    is_short, _rename_request, text, request_id, token, exchange
                )
            if is_id(request_id):
                exchange.waiting.add(request_id)
                self._by_id[request_id] = exchange
            if is_id(token):
                self._by_token[token] = exchange
        self.used_at = anyio.current_time()
        if exchange.waiting:
            self._exchanges.append(exchange)
        try:
            await self._to_proxy.send(text)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._end("the session has ended")
        return exchange

    def _cancel(self, request_id: object) -> None:
        """Wait no longer for an answer, which goes where it belongs if it comes all the same."""
        exchange = self._by_id.get(request_id)
        if exchange is None:
            return
        exchange.waiting.discard(request_id)
        if not (exchange.waiting or exchange.is_attached):
            self._forget(exchange)

    async def release(self, exchange: Exchange) -> None:
        """Forget an exchange. What a host without a session no longer waits for is cancelled."""
        self._forget(exchange)
        if self._is_shared and not self.gone.is_set():
            for request_id in exchange.waiting:
                params = {"requestId": request_id, "reason": "the host has left"}
                cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await self._to_proxy.send(json.dumps(cancel).encode() + b"\n")
        if self._is_shared and self.is_idle and not self.has_succeeded:
            # It does not know the revision of those who share it; nobody will come back.
            self.leave()

    def _forget(self, exchange: Exchange) -> None:
        for names in (self._by_id, self._by_token):
            for name in [name for name, held in names.items() if held is exchange]:
                del names[name]
        exchange.close()
        if exchange in self._exchanges:
            self._exchanges.remove(exchange)
        if self.sent is not None:
            self.sent.end(exchange.name)

    async def leave_exchange(self, exchange: Exchange, reader: int) -> None:
        """Say that a connection takes no more of an exchange: all is sent, or the stream broke."""
        if reader != exchange.reader:
            return
        is_broken = exchange.lines or exchange.waiting
        if self.sent is None or not exchange.can_resume or not is_broken:
            await self.release(exchange)
            return
        exchange.is_attached = False
        self.used_at = anyio.current_time()
        self._keep_unsent(exchange)
        broken = [each for each in self._exchanges if not each.is_attached]
        for oldest in broken[: max(0, len(broken) - _MOST_BROKEN)]:
            self._forget(oldest)

    def _keep_unsent(self, exchange: Exchange) -> None:
        """Keep what came for a stream that broke; forget one on which nothing more will come."""
        assert self.sent is not None  # noqa: S101 - others do not come back
        while exchange.lines:
            with exchange.lines.popleft() as line:
                self.sent.keep(exchange.name, line)
        if exchange.has_ended:
            self._forget(exchange)

    def resume(self, event_id: str) -> tuple[list[SentEvent], Exchange | None]:
        """Return what was sent behind an event, and the stream if more may come on it.

        Raises:
            NoSuchEventError: It was never sent, or not all of that is kept.
        """
        assert self.sent is not None  # noqa: S101 - others have no event to name
        name, missed = self.sent.after(event_id)
        self.used_at = anyio.current_time()
        streams = [*self._exchanges, *([self.stream] if self.stream else [])]
        exchange = next((each for each in streams if each.name == name), None)
        if exchange is None and name == self._heard_last:
            exchange = self.open_stream(name)
        return missed, exchange

    def open_stream(self, name: str | None = None) -> Exchange:
        """Return what the server says on its own from now on; a stream that is open ends.

        Args:
            name: That of a stream that broke, to go on with it.
        """
        if self.stream is not None:
            self.stream.end()
        if self.sent is not None and name is None:
            self.sent.end(self._heard_last)
        # What came before anybody listened.
        self.stream, self._unheard = self._unheard, Exchange()
        self._heard_last = self.stream.name = name or next(self._names)
        return self.stream

    async def close_stream(self, stream: Exchange, reader: int) -> None:
        """Say that a connection takes no more of a stream; what it did not take waits for one."""
        if reader != stream.reader:
            return
        if self.stream is stream:
            self.stream = None
            self._unheard.lines.extendleft(reversed(stream.lines))
            stream.lines.clear()
        stream.close()

    async def _route_all(self) -> None:
        async with aclosing(read_lines(self._heard)) as lines:
            async for line in lines:
                self._route(line)

    def _route(self, line: Line) -> None:
        """Give a line of the proxy to the exchange that it belongs to."""
        answered = set(answered_ids(line.messages))
        exchange = next((self._by_id[each] for each in answered if each in self._by_id), None)
        if not answered:
            exchange = self._exchange_for(line)
        elif exchange is not None:
            self.has_succeeded |= any("result" in each.members for each in line.messages)
            exchange.waiting -= answered
            for each in answered:
                self._by_id.pop(each, None)
        if exchange is None:
            # The answer to something that nobody waits for.
            line.close()
            return
        exchange.put(_restore_names(line, exchange.renamed) if exchange.renamed else line)
        if exchange in self._exchanges and not exchange.waiting:
            exchange.end()
        if not exchange.is_attached:
            self._keep_unsent(exchange)

    def _exchange_for(self, line: Line) -> Exchange | None:
        """Return where something belongs that answers nothing."""
        is_looked_into = line.size_bytes <= _MOST_TOLD_BYTES and line.members
        told = parse_member(line, line.whole) if is_looked_into else None
        token = member(told, "params", "progressToken")
        named = member(told, "params", "_meta", _SUBSCRIPTION)
        if is_id(token) and token in self._by_token:
            return self._by_token[token]
        if is_id(named) and named in self._by_id:
            return self._by_id[named]
        waited_for = [each for each in self._exchanges if each.waiting]
        if len(waited_for) == 1:
            return waited_for[0]
        if self._is_shared:
            # Nobody could say whose it is.
            return None
        if self.stream is not None:
            return self.stream
        return self._exchanges[-1] if self._exchanges else self._unheard


def _rename_request(
    text: bytes, request_id: object, token: object, exchange: Exchange
) -> tuple[bytes, object, object]:
    """Return a request with an id, and a token of its progress, that no other host has."""
    line = Line()
    line.add(text)
    places = [(request_id, line.members.get("id")), (token, _token_place(line))]
    line.close()
    names: dict[Span | None, str] = {}
    # The last one first, so that the places before it stay where they are.
    for own, place in sorted(places, key=lambda each: each[1] or (0, 0), reverse=True):
        if not is_id(own) or place is None:
            continue
        name = f"pf-{uuid4().hex}"
        exchange.renamed[name] = own
        text = text[: place.start] + b'"%s"' % name.encode() + text[place.end :]
        names[place] = name
    return text, names.get(places[0][1]), names.get(places[1][1])


def _token_place(line: Line) -> Span | None:
    place: Span | None = line.whole
    for name in ("params", "_meta", "progressToken"):
        place = None if place is None else locate_members(line, place).get(name)
    return place


def _restore_names(line: Line, renamed: Mapping[str, object]) -> Line:
    """Return a line in which names that the server knows are again those of the host.

    Nobody could guess them, so they stand for nothing else, wherever they are.
    """
    is_short = line.size_bytes <= _MOST_TOLD_BYTES
    place = line.whole if is_short else line.members.get("id", Span(0, 0))
    text = line.read(place)
    for name, own in renamed.items():
        text = text.replace(b'"%s"' % name.encode(), json.dumps(own).encode())
    behind = line.pieces(Span(place.end, line.size_bytes))
    back = Line()
    for piece in chain(line.pieces(Span(0, place.start)), [text], behind):
        back.add(piece)
    line.close()
    return back
