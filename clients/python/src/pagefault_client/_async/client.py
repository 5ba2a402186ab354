"""The client."""

from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, ParamSpec, Self

import httpx

from pagefault_client import models, operations
from pagefault_client._async.listening import AsyncEvents
from pagefault_client._async.lists import AsyncItems
from pagefault_client._async.memory import AsyncMemory
from pagefault_client._async.pages import AsyncPages
from pagefault_client._async.resources import AsyncAliases, AsyncResources
from pagefault_client._async.sessions import AsyncSession, AsyncSessions
from pagefault_client._async.tool_results import AsyncToolResults
from pagefault_client._async.tools import AsyncTools
from pagefault_client._async.transport import AsyncTransport
from pagefault_client._async.wrapping import wrapped
from pagefault_client.calls import Call, T_co
from pagefault_client.options import Target, options_of
from pagefault_client.shown import WrapTarget
from pagefault_client.values import jsonable

P = ParamSpec("P")


class AsyncPagefault:
    """A client of one service and one project.

    Args:
        base_url: Where the service is; `PAGEFAULT_URL`, or http://127.0.0.1:8000, by default.
        key: A key of the project; `PAGEFAULT_API_KEY` by default. None is needed where the service
            asks for none.
        timeout: How many seconds to wait for an answer, or `httpx.Timeout`.
        retries: How often a call is sent again, where that does no harm: after a lost connection,
            and when the service is busy. What it says in `Retry-After` is kept to.
        http_client: A client of httpx to send with, for proxies and certificates of your own. It
            is not closed here.

    Attributes:
        tool_results: Results of tools.
        resources: Stored files.
        aliases: Further ids of files.
        pages: Memory pages.
        sessions: Sessions, to list and to import; `session(id)` is one.
        tools: The tools of the memory, for a model.
    """

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        timeout: float | httpx.Timeout = 60.0,
        retries: int = 3,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        options = options_of(base_url, key, timeout, retries)
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
        """Return the client; leaving the block closes it."""
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
        self, *, timeout: float | httpx.Timeout | None = None, retries: int | None = None
    ) -> "AsyncPagefault":
        """Return a client with other patience, over the same connections."""
        kept = self._transport.options
        made = object.__new__(AsyncPagefault)
        made._owns_http = False
        made._set_up(
            AsyncTransport(
                self._transport.http,
                options_of(
                    kept.base_url,
                    kept.key or "",
                    kept.timeout if timeout is None else timeout,
                    kept.retries if retries is None else retries,
                ),
            )
        )
        return made

    @property
    def base_url(self) -> str:
        """Return where the service is."""
        return self._transport.options.base_url

    async def send(self, call: Call[T_co]) -> T_co:
        """Return the answer to any operation of the service.

        `await pf.send(operations.get_metrics())`; what has a method of its own is better off there.
        """
        return await self._transport.send(call)

    def session(self, session_id: str) -> AsyncSession:
        """Return a session. Nothing is sent."""
        return AsyncSession(self._transport, session_id)

    def events(self, *, after: int | None = None) -> AsyncEvents:
        """Return the events of the project: from now on, or after a position (0: all)."""
        return AsyncEvents(
            self._transport, lambda position: operations.stream_events(after=position), after
        )

    async def event_ticket(self) -> models.EventTicket:
        """Return what lets a browser listen to events for a minute."""
        return await self._transport.send(operations.create_event_ticket())

    def search(
        self,
        query: str,
        *,
        kinds: Iterable[str] | None = None,
        session_id: str | None = None,
        limit: int | None = None,
    ) -> AsyncItems[models.SearchResult]:
        """Return pages, results, messages and files that a query finds, the best first.

        Args:
            query: Words, a `"phrase"`, `begin*`, an id or a name.
            kinds: Only these: page, transcript, tool_result, message, interaction, file.
            session_id: Only what is in this session.
            limit: How many one request asks for.
        """
        named = None if kinds is None else ",".join(kinds)
        return AsyncItems(
            self._transport,
            lambda cursor: operations.search(
                q=query, kinds=named, session_id=session_id, limit=limit, cursor=cursor
            ),
        )

    async def resolve(
        self,
        session_id: str,
        arguments: Any,  # noqa: ANN401 - JSON
        as_: models.ReferenceForm = "data-uri",
    ) -> models.ResolvedArguments:
        """Return arguments of a tool with the content of files in place of their handles."""
        return await self._transport.send(
            operations.resolve_references(
                {"sessionId": session_id, "arguments": jsonable(arguments), "as": as_}
            )
        )

    async def render(self, request: models.RenderRequest) -> models.RenderedRecord:
        """Return a tool result, a page or a session as messages for a model."""
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
        """Examine a history for a provider; with `apply`, heal it. Nothing is stored.

        Args:
            history: Messages in any dialect, a provider's request that holds them, or the id of a
                session.
            target: The provider that is to take them; by default that of their dialect, and
                `openai-chat` for a session, or where there is nothing but words.
            apply: Whether to return the healed messages too.
            dialect: Their dialect; it is found out by default.
            max_tokens: The most tokens that they may have.
        """
        body: Any = jsonable(history)
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
        """Return a tool that stores what it returns, and returns what the model should see of it.

        `shot = pf.wrap(shot, session="demo")`: images and long texts are stored, and the model
        reads a short text that names them.

        `call_tool = pf.wrap(client.call_tool, session="demo")`: of an MCP client, whose results
        stay results of MCP, with smaller images and previews of long texts.

        An error of the tool is stored, and raised. If the service fails, a warning is logged and
        the result is returned as it came: storing never breaks a tool that works.

        Args:
            tool: A function, or the `call_tool` of an MCP client or session.
            session: Where the results belong.
            name: The name of the tool; that of the function by default.
            target: Whose content to return: `text` by default, `mcp` for `call_tool`. With another
                one, images are in it, in that provider's blocks.

        Raises:
            ValueError: There is no such target, or it has results in more than one message.
            TypeError: When the tool is called: it is no coroutine function, and `Pagefault.wrap`
                does not await what it returns.
        """
        kept = self.session(session) if isinstance(session, str) else session
        return wrapped(tool, AsyncMemory(kept, name=name, target=target))
