"""`/mcp`: the memory for clients of MCP, over Streamable HTTP.

It keeps no state between requests, whichever revision a client speaks, so that any process can
answer any of them. Keys, quotas, and the checks of `Host` and `Origin` are those of the API.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.to_thread
from fastapi.dependencies.utils import get_dependant
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from app.errors import PayloadTooLargeError, QuotaExceededError, ServiceError
from app.http.api_route import QueryNames
from app.http.authenticate import caller_by_key
from app.http.bodies import limited_body
from app.http.problem_responses import problem_response
from app.mcp.refusals import PATH
from app.wiring import Container

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

_MOST_BODY_BYTES = 4 * 1024 * 1024
# Of a body that is refused: what a model writes at the most, such as an image of 40 MB in base64.
_MOST_DROPPED_BYTES = 64 * 1024 * 1024
_DROP_SECONDS = 30.0


def _taken(session: str | None = None) -> None:
    """Have the parameters that the address takes."""


_QUERY = QueryNames(get_dependant(path=PATH, call=_taken))


class McpEndpoint:
    """Takes the requests of clients of MCP. The SDK is loaded with the first of them."""

    def __init__(self) -> None:
        # Requests come while it is running, which sets these.
        self._container: Container
        self._group: anyio.abc.TaskGroup
        self._manager: StreamableHTTPSessionManager | None = None
        self._starting = anyio.Lock()

    @asynccontextmanager
    async def running(self, container: Container) -> AsyncIterator[None]:
        """Take requests for the length of the block."""
        self._container = container
        async with anyio.create_task_group() as self._group:
            yield
            self._group.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; what is not taken is a problem, which `McpRefusals` translates."""
        try:
            manager = await self._admit(scope, receive)
            body = await self._read(scope, receive)
        except ServiceError as exc:
            request_id = str(scope["state"]["request_id"])
            answer = problem_response(exc, instance=scope["path"], request_id=request_id)
            await answer(scope, receive, send)
        else:
            await manager.handle_request(scope, body, send)

    async def _admit(self, scope: Scope, receive: Receive) -> "StreamableHTTPSessionManager":
        """Note who a request is from; return what answers it.

        Raises:
            UnauthorizedError: There is no valid key.
            QuotaExceededError: The key has sent too many requests.
            InvalidPayloadError: The address names a session that cannot be one, or two of them, or
                has another parameter.
        """
        caller = await caller_by_key(Request(scope, receive))
        _QUERY.check(scope["query_string"])
        manager = await self._started()
        from app.mcp.memory import CALLER, McpCaller, session_of  # noqa: PLC0415 - see the class

        scope["state"][CALLER] = McpCaller(caller, session_of(scope["query_string"]))
        return manager

    async def _read(self, scope: Scope, receive: Receive) -> Receive:
        """Read a body, counted and paced as any other; return what gives it to the SDK.

        Raises:
            PayloadTooLargeError, SlowBodyError, UnsupportedMediaError, QuotaExceededError: As those
                of `limited_body`.
        """
        limits = self._container.limits
        most_bytes = min(limits.body_bytes, _MOST_BODY_BYTES)
        limits = limits.model_copy(update={"body_bytes": most_bytes})
        chunks = limited_body(Request(scope, receive), limits)
        try:
            body = b"".join([chunk async for chunk in chunks])
        except (PayloadTooLargeError, QuotaExceededError):
            await _drop_rest(receive)
            raise
        whole: list[Message] = [{"type": "http.request", "body": body}]

        async def read() -> Message:
            return whole.pop() if whole else await receive()

        return read

    async def _started(self) -> "StreamableHTTPSessionManager":
        async with self._starting:
            if self._manager is None:
                self._manager = await self._group.start(self._run)
            return self._manager

    async def _run(
        self, *, task_status: "anyio.abc.TaskStatus[StreamableHTTPSessionManager]"
    ) -> None:
        manager = await anyio.to_thread.run_sync(self._made)
        async with manager.run():
            task_status.started(manager)
            await anyio.sleep_forever()

    def _made(self) -> "StreamableHTTPSessionManager":
        """Load the SDK, which takes half a second."""
        from mcp.server.streamable_http_manager import (  # noqa: PLC0415 - see the class
            StreamableHTTPSessionManager,
        )

        from app.mcp.memory import MemoryServer, caller_of_request  # noqa: PLC0415 - the same

        memory = MemoryServer(self._container, caller_of_request)
        return StreamableHTTPSessionManager(
            memory.server(),
            json_response=True,
            stateless=True,
            max_request_body_size=_MOST_BODY_BYTES,
        )


async def _drop_rest(receive: Receive) -> None:
    """Read the rest of a body to nowhere, unless it takes long: clients send all before they read.

    A connection that was ended before would be no answer to them.
    """
    size_bytes = 0
    with anyio.move_on_after(_DROP_SECONDS):
        while size_bytes < _MOST_DROPPED_BYTES:
            message = await receive()
            if not message.get("more_body"):
                return
            size_bytes += len(message.get("body", b""))
