"""The client."""

# Written by generate.py from `_async/`; change that.

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, ParamSpec, Self

import httpx

from pagefault_client import models, operations
from pagefault_client._sync.listening import Events
from pagefault_client._sync.lists import Items
from pagefault_client._sync.memory import Memory
from pagefault_client._sync.pages import Pages
from pagefault_client._sync.resources import Aliases, Resources
from pagefault_client._sync.sessions import Session, Sessions
from pagefault_client._sync.tool_results import ToolResults
from pagefault_client._sync.tools import Tools
from pagefault_client._sync.transport import Transport
from pagefault_client._sync.wrapping import wrapped
from pagefault_client.calls import Call, T_co
from pagefault_client.options import Target, options_of
from pagefault_client.shown import WrapTarget
from pagefault_client.values import jsonable

P = ParamSpec("P")


class Pagefault:
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
        http_client: httpx.Client | None = None,
    ) -> None:
        options = options_of(base_url, key, timeout, retries)
        self._owns_http = http_client is None
        self._set_up(Transport(http_client or httpx.Client(), options))

    def _set_up(self, transport: Transport) -> None:
        self._transport = transport
        self.tool_results = ToolResults(transport)
        self.resources = Resources(transport)
        self.aliases = Aliases(transport)
        self.pages = Pages(transport)
        self.sessions = Sessions(transport)
        self.tools = Tools(transport)

    def __enter__(self) -> Self:
        """Return the client; leaving the block closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        if self._owns_http:
            self._transport.close()

    def with_options(
        self, *, timeout: float | httpx.Timeout | None = None, retries: int | None = None
    ) -> "Pagefault":
        """Return a client with other patience, over the same connections."""
        kept = self._transport.options
        made = object.__new__(Pagefault)
        made._owns_http = False
        made._set_up(
            Transport(
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

    def send(self, call: Call[T_co]) -> T_co:
        """Return the answer to any operation of the service.

        `pf.send(operations.get_metrics())`; what has a method of its own is better off there.
        """
        return self._transport.send(call)

    def session(self, session_id: str) -> Session:
        """Return a session. Nothing is sent."""
        return Session(self._transport, session_id)

    def events(self, *, after: int | None = None) -> Events:
        """Return the events of the project: from now on, or after a position (0: all)."""
        return Events(
            self._transport, lambda position: operations.stream_events(after=position), after
        )

    def event_ticket(self) -> models.EventTicket:
        """Return what lets a browser listen to events for a minute."""
        return self._transport.send(operations.create_event_ticket())

    def search(
        self,
        query: str,
        *,
        kinds: Iterable[str] | None = None,
        session_id: str | None = None,
        limit: int | None = None,
    ) -> Items[models.SearchResult]:
        """Return pages, results, messages and files that a query finds, the best first.

        Args:
            query: Words, a `"phrase"`, `begin*`, an id or a name.
            kinds: Only these: page, transcript, tool_result, message, interaction, file.
            session_id: Only what is in this session.
            limit: How many one request asks for.
        """
        named = None if kinds is None else ",".join(kinds)
        return Items(
            self._transport,
            lambda cursor: operations.search(
                q=query, kinds=named, session_id=session_id, limit=limit, cursor=cursor
            ),
        )

    def resolve(
        self,
        session_id: str,
        arguments: Any,  # noqa: ANN401 - JSON
        as_: models.ReferenceForm = "data-uri",
    ) -> models.ResolvedArguments:
        """Return arguments of a tool with the content of files in place of their handles."""
        return self._transport.send(
            operations.resolve_references(
                {"sessionId": session_id, "arguments": jsonable(arguments), "as": as_}
            )
        )

    def render(self, request: models.RenderRequest) -> models.RenderedRecord:
        """Return a tool result, a page or a session as messages for a model."""
        return self._transport.send(operations.render_record(request))

    def doctor(
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
        return self._transport.send(call)

    def version(self) -> models.Version:
        """Return the version of the service."""
        return self._transport.send(operations.get_version())

    def wrap(
        self,
        tool: Callable[P, object],
        *,
        session: str | Session,
        name: str | None = None,
        target: WrapTarget | None = None,
    ) -> Callable[P, Any]:
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
                does not what it returns.
        """
        kept = self.session(session) if isinstance(session, str) else session
        return wrapped(tool, Memory(kept, name=name, target=target))
