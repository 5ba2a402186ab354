"""A server of MCP at an address, spoken to as if it were at the other end of a pipe.

Each message is a request of its own. Answers come as JSON or as streams of events, and become lines
again; what the server says on its own comes over a stream that is kept open. Headers that repeat
what a message says are made from the message as it is sent.

Source: specification of MCP, 2026-07-28 and 2025-03-26, "Streamable HTTP".
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.abc
import httpx
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)

_ACCEPTED = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_SESSION = "mcp-session-id"
_VERSION_OF_MESSAGE = "io.modelcontextprotocol/protocolVersion"
_INTERNAL_ERROR = -32603
_CONNECT_SECONDS = 10.0
_AGAIN_SECONDS = 1.0
_LAST_SECONDS = 5.0
_NOTED = ("initialize", "tools/list")
_WAITING = 64


class HttpUpstream:
    """Takes the bytes of a host's lines, and gives those of the server's.

    Args:
        client: Sends requests, with the credentials that the server asks for.
        url: The server's.
        warn: Says a sentence to the person who runs it.
    """

    def __init__(self, client: httpx.AsyncClient, url: str, warn: Callable[[str], None]) -> None:
        self._client = client
        self._url = url
        self._warn = warn
        self._line = bytearray()
        self._session_headers: dict[str, str] = {}
        self._mirrored: dict[str, Mapping[tuple[str, ...], str]] = {}
        self._sent, self._received = anyio.create_memory_object_stream[bytes](_WAITING)
        self._giving = anyio.Lock()
        self._listening: anyio.abc.TaskGroup
        self._answers: anyio.abc.TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send and receive for the length of the block; then end the server's session.

        What is still to be answered then has five seconds.
        """
        try:
            async with anyio.create_task_group() as listening:
                self._listening = listening
                async with anyio.create_task_group() as self._answers:
                    yield
                    self._answers.cancel_scope.deadline = anyio.current_time() + _LAST_SECONDS
                await self._sent.aclose()
                listening.cancel_scope.cancel()
        finally:
            if _SESSION in self._session_headers:
                with anyio.move_on_after(_CONNECT_SECONDS, shield=True), suppress(httpx.HTTPError):
                    await self._client.delete(self._url, headers=self._session_headers)

    async def write(self, piece: bytes) -> None:
        """Take the next bytes of the host; a line that is whole is sent."""
        start = 0
        while (end := piece.find(b"\n", start) + 1) > 0:
            line = bytes(self._line) + piece[start:end]
            self._line.clear()
            start = end
            if line.strip():
                await self._begin(line)
        self._line += piece[start:]

    async def received(self) -> AsyncGenerator[bytes, None]:
        """Yield the server's lines."""
        async with self._received:
            async for line in self._received:
                yield line

    async def _begin(self, line: bytes) -> None:
        assert self._answers is not None  # noqa: S101 - written to while it is running
        try:
            message = json.loads(line)
        except ValueError:
            message = {}
        message = message if isinstance(message, dict) else {}
        if message.get("method") == "initialize":
            # What comes behind it needs the session that it begins.
            await self._send(line, message)
            self._listening.start_soon(self._listen)
        elif "id" in message:
            self._answers.start_soon(self._send, line, message)
        else:
            await self._send(line, message)

    async def _send(self, line: bytes, message: dict[str, Any]) -> None:
        request_id = message.get("id") if "method" in message else None
        headers = {**_ACCEPTED, **self._session_headers, **self._headers_of(message)}
        try:
            async with self._client.stream(
                "POST", self._url, content=line, headers=headers
            ) as answer:
                await self._take(answer, message)
                if answer.status_code >= 400 and request_id is not None:
                    if not _is_json(answer):
                        await self._fail(request_id, f"the server answered {answer.status_code}")
                elif answer.status_code >= 400:
                    self._warn(f"the server answered {answer.status_code} to a message")
        except httpx.HTTPError as exc:
            said = f"the server cannot be reached: {type(exc).__name__}"
            self._warn(said)
            if request_id is not None:
                await self._fail(request_id, said)

    async def _take(self, answer: httpx.Response, message: dict[str, Any]) -> None:
        """Give the messages in an answer."""
        method = message.get("method")
        if method == "initialize" and _SESSION in answer.headers:
            self._session_headers[_SESSION] = answer.headers[_SESSION]
        if _is_stream(answer):
            async with aclosing(_events(answer.aiter_lines())) as events:
                async for data in events:
                    await self._give(data, method)
        elif _is_json(answer) and method in _NOTED:
            await self._give(await answer.aread(), method)
        elif _is_json(answer):
            async with self._giving:
                async for piece in answer.aiter_bytes():
                    await self._sent.send(_on_a_line(piece))
                await self._sent.send(b"\n")

    async def _give(self, text: bytes, method: object) -> None:
        if method in _NOTED:
            self._note(text, method)
        async with self._giving:
            await self._sent.send(_on_a_line(text) + b"\n")

    def _note(self, text: bytes, method: object) -> None:
        """Note the revision that was agreed on, or what tools want repeated in headers."""
        with suppress(ValueError, AttributeError, TypeError):
            result = json.loads(text)["result"] if b'"result"' in text else {}
            if method == "initialize" and "protocolVersion" in result:
                self._session_headers[MCP_PROTOCOL_VERSION_HEADER] = result["protocolVersion"]
            for tool in result.get("tools", ()):
                self._mirrored[tool["name"]] = x_mcp_header_map(tool.get("inputSchema") or {})

    def _headers_of(self, message: dict[str, Any]) -> dict[str, str]:
        """Return the headers that repeat what a message says, in the revisions that have them."""
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        version = meta.get(_VERSION_OF_MESSAGE) if isinstance(meta, dict) else None
        if not isinstance(version, str):
            return {}
        method = str(message.get("method", ""))
        headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: method}
        name = params.get(NAME_BEARING_METHODS.get(method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
        arguments = params.get("arguments")
        mirrored = self._mirrored.get(str(name))
        if method == "tools/call" and mirrored and isinstance(arguments, dict):
            headers |= mcp_param_headers(mirrored, arguments)
        return headers

    async def _fail(self, request_id: object, said: str) -> None:
        error = {"code": _INTERNAL_ERROR, "message": said}
        answer = {"jsonrpc": "2.0", "id": request_id, "error": error}
        await self._give(json.dumps(answer).encode(), None)

    async def _listen(self) -> None:
        """Give what the server says on its own, where it opens a stream for that."""
        headers = {"accept": "text/event-stream"}
        while True:
            try:
                async with self._client.stream(
                    "GET", self._url, headers={**headers, **self._session_headers}, timeout=None
                ) as answer:
                    if not _is_stream(answer):
                        return
                    async with aclosing(_events(answer.aiter_lines())) as events:
                        async for data in events:
                            await self._give(data, None)
            except httpx.HTTPError:
                # What is asked next tells whether the server is gone.
                pass
            await anyio.sleep(_AGAIN_SECONDS)


async def _events(lines: AsyncIterator[str]) -> AsyncGenerator[bytes, None]:
    """Yield the data of server-sent events."""
    data: list[str] = []
    async for line in lines:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data).encode()
            data = []


def _on_a_line(text: bytes) -> bytes:
    # A line end in JSON stands between its tokens.
    return text.replace(b"\r", b" ").replace(b"\n", b" ")


def _is_stream(answer: httpx.Response) -> bool:
    return str(answer.headers.get("content-type")).startswith("text/event-stream")


def _is_json(answer: httpx.Response) -> bool:
    return str(answer.headers.get("content-type")).startswith("application/json")
