"""The client."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, ParamSpec, Self

import httpx

from pagefault_client import models, operations
from pagefault_client._async.event_stream import AsyncEvents
from pagefault_client._async.lists import AsyncItems
from pagefault_client._async.memory import AsyncMemory
from pagefault_client._async.pages import AsyncPages
from pagefault_client._async.resources import AsyncAliases, AsyncResources
from pagefault_client._async.sessions import AsyncSession, AsyncSessions
from pagefault_client._async.tool_results import AsyncToolResults
from pagefault_client._async.tool_wrapper import wrap_tool
from pagefault_client._async.tools import AsyncTools
from pagefault_client._async.transport import AsyncTransport
from pagefault_client.calls import Call, T_co
from pagefault_client.options import Target, load_options
from pagefault_client.rendered_content import WrapTarget
from pagefault_client.responses import APIResponse
from pagefault_client.values import dump_messages

P = ParamSpec("P")


class AsyncRawResponses:
    """Sends operations, and returns their responses with status and headers."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def send(self, call: Call[T_co]) -> APIResponse[T_co]:
        """Send an operation, and return its response, which may be a 304.

        Raises:
            APIStatusError: The service refused the request.
            APIConnectionError: The service did not answer.
        """
        return await self._transport.request(call)


class AsyncPagefault:
    """A client of one project of a service.

    Args:
        base_url: The URL of the service. Default: `PAGEFAULT_URL`, else http://127.0.0.1:8000.
        api_key: An API key of the project. Default: `PAGEFAULT_API_KEY`. A service without
            authentication needs none.
        timeout: The timeout of a request in seconds, or an `httpx.Timeout`.
        max_retries: The maximum number of retries of a call, after a lost connection or while the
            service is busy. Only calls that are safe to repeat are retried; `Retry-After` is
            honoured.
        default_headers: Headers of each request.
        http_client: The httpx client to use, for example with a proxy or with certificates. The
            caller closes it.

    Attributes:
        tool_results: Results of tools.
        resources: Stored files.
        aliases: Alternative ids of files.
        pages: Memory pages.
        sessions: The list and the import of sessions; `session(id)` returns one session.
        tools: The definitions of the memory tools for a model.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float | httpx.Timeout = 60.0,
        max_retries: int = 3,
        default_headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        options = load_options(base_url, api_key, timeout, max_retries, default_headers)
        self._owns_http = http_client is None
        self._set_up(AsyncTransport(http_client or httpx.AsyncClient(), options))

    def _set_up(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self.tool_results = AsyncToolResults(transport)
        self.resources = AsyncResources(transport)
        self.aliases = AsyncAliases(transport)
        self.pages = AsyncPages(transport)
        self.sessions = AsyncSessions(transport)
        self.tools = AsyncTools(transport)

    async def __aenter__(self) -> Self:
        """Return the client, which is closed at the end of the block."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        if self._owns_http:
            await self._transport.close()

    def with_options(
        self,
        *,
        timeout: float | httpx.Timeout | None = None,
        max_retries: int | None = None,
        default_headers: Mapping[str, str] | None = None,
    ) -> "AsyncPagefault":
        """Return a client with other options, also for one call, over the same connections."""
        client = object.__new__(AsyncPagefault)
        client._owns_http = False
        client._set_up(
            self._transport.with_options(
                timeout=timeout, max_retries=max_retries, default_headers=default_headers
            )
        )
        return client

    @property
    def with_raw_response(self) -> AsyncRawResponses:
        """Return a sender of operations whose responses have their status and headers."""
        return AsyncRawResponses(self._transport)

    @property
    def base_url(self) -> str:
        """Return the URL of the service."""
        return self._transport.options.base_url

    async def send(self, call: Call[T_co]) -> T_co:
        """Send any operation of the service, and return its result.

        For operations without a method of their own: `await pf.send(operations.get_metrics())`.
        """
        return await self._transport.send(call)

    def session(self, session_id: str) -> AsyncSession:
        """Return a session without sending a request."""
        return AsyncSession(self._transport, session_id)

    def events(self, *, after: int | None = None) -> AsyncEvents:
        """Return the events of the project: new ones, or those after a position (0: all)."""
        return AsyncEvents(
            self._transport, lambda position: operations.stream_events(after=position), after
        )

    async def event_ticket(self) -> models.EventTicket:
        """Create a ticket with which a browser can open an event stream within a minute."""
        return await self._transport.send(operations.create_event_ticket())

    def search(
        self,
        query: str,
        *,
        kinds: Iterable[str] | None = None,
        session_id: str | None = None,
        limit: int | None = None,
    ) -> AsyncItems[models.SearchResult]:
        """Search pages, results, messages and files; return the best matches first.

        Args:
            query: Words, a `"phrase"`, `begin*`, an id or a name.
            kinds: The kinds to search: page, transcript, tool_result, message, interaction, file.
            session_id: Limits the search to one session.
            limit: The number of matches per request.
        """
        kind = None if kinds is None else ",".join(kinds)
        return AsyncItems(
            self._transport,
            lambda cursor: operations.search(
                q=query, kinds=kind, session_id=session_id, limit=limit, cursor=cursor
            ),
        )

    async def resolve(
        self,
        session_id: str,
        arguments: Any,  # noqa: ANN401 - JSON
        as_: models.ReferenceForm = "data-uri",
    ) -> models.ResolvedArguments:
        """Replace the handles in the arguments of a tool with the content of their files."""
        return await self._transport.send(
            operations.resolve_references(
                {"sessionId": session_id, "arguments": arguments, "as": as_}
            )
        )

    async def render(self, request: models.RenderRequest) -> models.RenderedRecord:
        """Render a tool result, a page or a session as messages for a model."""
        return await self._transport.send(operations.render_record(request))

    async def doctor(
        self,
        history: list[Any] | dict[str, Any] | str,
        target: Target | None = None,
        *,
        apply: bool = False,
        dialect: models.Dialect | None = None,
        max_tokens: int | None = None,
    ) -> models.Diagnosis:
        """Examine a history for a provider, and repair it with `apply`. Nothing is stored.

        Args:
            history: Messages in any dialect, a provider's request with messages, or the id of a
                session.
            target: The provider that will receive the messages. Default: that of their dialect, or
                `openai-chat` for a session and for messages with plain text only.
            apply: Return the repaired messages as well.
            dialect: The dialect of the messages; detected by default.
            max_tokens: The token limit of the messages.
        """
        body: Any = dump_messages(history)
        if isinstance(history, str):
            body = {"sessionId": history}
        elif isinstance(history, list):
            body = {"messages": body}
        call = operations.examine_history(
            body, target=target, apply=apply, dialect=dialect, max_tokens=max_tokens
        )
        return await self._transport.send(call)

    async def version(self) -> models.Version:
        """Return the version of the service."""
        return await self._transport.send(operations.get_version())

    def wrap(
        self,
        tool: Callable[P, Awaitable[object] | object],
        *,
        session: str | AsyncSession,
        name: str | None = None,
        target: WrapTarget | None = None,
    ) -> Callable[P, Awaitable[Any]]:
        """Wrap a tool: store each result, and return its rendering for the model.

        `shot = pf.wrap(shot, session="demo")` stores images and long texts. The model receives a
        short text with their handles.

        `call_tool = pf.wrap(client.call_tool, session="demo")` wraps the tools of an MCP client.
        They still return MCP results, with smaller images and previews of long texts.

        An error of the tool is stored and raised. If the service fails, a warning is logged and
        the original result is returned.

        Args:
            tool: A function, or the `call_tool` of an MCP client or session.
            session: The session in which to store the results.
            name: The name of the tool. Default: the name of the function.
            target: The format of the returned content. Default: `text`, or `mcp` for `call_tool`.
                Other targets return images as blocks of that provider.

        Raises:
            ValueError: The target is unknown, or splits a result over several messages.
            TypeError: On a call: the tool is not a coroutine function but returned an awaitable,
                which `Pagefault.wrap` cannot await.
        """
        if isinstance(session, str):
            session = self.session(session)
        return wrap_tool(tool, AsyncMemory(session, name=name, target=target))
