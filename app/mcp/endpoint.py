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
from starlette.types import Receive, Scope, Send

from app.http.api_route import QueryNames
from app.http.authenticate import caller_by_key
from app.wiring import Container

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"


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
        """Answer one request.

        Raises:
            UnauthorizedError: There is no valid key.
            QuotaExceededError: The key has sent too many requests.
            InvalidPayloadError: The address names a session that cannot be one, or two of them, or
                has another parameter.
        """
        request = Request(scope, receive)
        caller = await caller_by_key(request)
        _QUERY.check(scope["query_string"])
        manager = await self._started()
        from app.mcp.memory import CALLER, McpCaller, session_of  # noqa: PLC0415 - see the class

        scope["state"][CALLER] = McpCaller(caller, session_of(scope["query_string"]))
        await manager.handle_request(scope, receive, send)

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
        return StreamableHTTPSessionManager(memory.server(), json_response=True, stateless=True)
