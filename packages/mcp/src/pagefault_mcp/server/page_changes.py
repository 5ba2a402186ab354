"""What changes of pages and of the list, told to the clients of MCP that subscribe to them.

From 2026-07-28 on a subscription is a request that stays open, which any process can answer. Before
that it is a request that is answered at once, and what changes is told later: only a connection can
remember that, so that it works over pipes and not at `/mcp`, which keeps nothing.

A subscription reads the log of its project, so that those of two projects never meet. What changes
is told by the URI that was subscribed to, however that is spelled and at whichever level. The log
has no word of files: whether others are listed is looked up every few seconds.
"""

import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Any, Self, TypeAlias
from urllib.parse import quote, unquote

import anyio
import anyio.abc
import mcp_types as types
from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.shared.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    event_to_notification,
)

from app.services.access.callers import Caller
from app.services.concurrency.background import run_beside
from app.services.events.streams import EventStreams
from app.services.events.subscriptions import EventItem
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.wiring.services import Services
from pagefault_dialects.errors import PagefaultError
from pagefault_mcp.messages.message_limits import check_uri

Context: TypeAlias = ServerRequestContext[Any, Any]

SCHEME = "pagefault://"
PAGES = f"{SCHEME}pages/"
_TYPES = ("page:created", "page:updated", "page:deleted")
_AGAIN_SECONDS = 5.0
_MOST_URIS = 1_000
_LOOK_SECONDS = 2.0
# In a project of a million files a look takes its time, and is taken the more seldom.
_LOOK_SHARE = 50


def page_uri(page_id: str) -> str:
    """Return the URI of a page."""
    return PAGES + quote(page_id, safe=":")


async def listen(
    services: Services, caller: Caller, context: Context, asked: types.SubscriptionFilter
) -> types.SubscriptionsListenResult:
    """Tell of changes until the client goes, or its key is revoked, or it takes nothing.

    Raises:
        PagefaultError: There are too many streams, or the log cannot be read.
    """
    uris = frozenset(asked.resource_subscriptions or ())
    is_list = bool(asked.resources_list_changed)
    honored = types.SubscriptionFilter(
        resources_list_changed=is_list or None, resource_subscriptions=list(uris) or None
    )
    meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: context.request_id}
    opened = services[EventStreams].opened(caller, session_id=None, after=None)
    async with opened as stream:
        files = await ListedFiles.found(services, caller.project_id) if is_list else None
        acknowledged = types.SubscriptionsAcknowledgedNotificationParams(
            notifications=honored, _meta=meta
        )
        await context.session.send_notification(
            types.SubscriptionsAcknowledgedNotification(params=acknowledged),
            related_request_id=context.request_id,
        )

        async def tell(event: ServerEvent) -> None:
            await context.session.send_notification(
                event_to_notification(event, meta), related_request_id=context.request_id
            )

        async with (
            run_beside(files.watch(tell)) if files else nullcontext(),
            aclosing(stream.batches()) as batches,
        ):
            async for batch in batches:
                for event in _changes(batch, uris, is_list=is_list):
                    await tell(event)
    return types.SubscriptionsListenResult(_meta=meta)


@dataclass(slots=True, eq=False)
class ListedFiles:
    """Which files a project lists, as far as their number and the newest of them tell."""

    services: Services
    """Has them."""
    project_id: str
    """Whose they are."""
    _known: tuple[int, datetime | None]

    @classmethod
    async def found(cls, services: Services, project_id: str) -> Self:
        """Return the files that are listed now.

        Raises:
            StoreUnavailableError: They cannot be looked up.
        """
        return cls(services, project_id, await _extent(services, project_id))

    async def watch(self, tell: Callable[[ServerEvent], Awaitable[None]]) -> None:
        """Tell whenever other files are listed, until cancelled."""
        took = 0.0
        while True:
            await anyio.sleep(max(_LOOK_SECONDS, _LOOK_SHARE * took))
            began = monotonic()
            try:
                extent = await _extent(self.services, self.project_id)
            except PagefaultError:
                # The next look finds what has changed meanwhile.
                continue
            took = monotonic() - began
            if extent != self._known:
                self._known = extent
                await tell(ResourcesListChanged())


async def _extent(services: Services, project_id: str) -> tuple[int, datetime | None]:
    return await services[Records].read(project_id, lambda unit: unit[ResourceRecords].extent())


@dataclass(slots=True, eq=False)
class HostSubscriptions:
    """The subscriptions of a host at the other end of a pipe, in the older revisions of MCP."""

    services: Services
    """Has the log."""
    caller: Caller
    """Whose log it is."""
    group: anyio.abc.TaskGroup
    """Where it is read, for as long as the host is there."""
    _uris: set[str] = field(default_factory=set)
    _starting: anyio.Lock = field(default_factory=anyio.Lock)
    _is_watching: bool = False

    async def subscribe(
        self, context: Context, asked: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Tell of what changes of a page from now on."""
        try:
            check_uri(asked.uri)
        except PagefaultError as exc:
            raise MCPError(types.INVALID_PARAMS, exc.detail) from exc
        if not asked.uri.startswith(SCHEME):
            raise MCPError(types.INVALID_PARAMS, f"URIs of this server begin with {SCHEME}")
        if len(self._uris) >= _MOST_URIS and asked.uri not in self._uris:
            raise MCPError(types.INVALID_PARAMS, f"{_MOST_URIS} subscriptions are the most")
        self._uris.add(asked.uri)
        await self.watch(context)
        return types.EmptyResult()

    async def unsubscribe(
        self, _: Context, asked: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Tell no more of a page."""
        self._uris.discard(asked.uri)
        return types.EmptyResult()

    async def watch(self, context: Context) -> None:
        """Begin to read the log, unless it is read already; changes of the list are told too."""
        async with self._starting:
            if not self._is_watching:
                files = await ListedFiles.found(self.services, self.caller.project_id)
                await self.group.start(self._watch, context)
                self.group.start_soon(files.watch, partial(self._tell_one, context))
                self._is_watching = True

    async def _watch(self, context: Context, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        has_begun = False
        while True:
            try:
                opened = self.services[EventStreams].opened(
                    self.caller, session_id=None, after=None
                )
                async with opened as stream:
                    if has_begun:
                        # Anything may have changed while nobody read the log.
                        await self._tell(context, map(ResourceUpdated, [*self._uris]))
                    else:
                        task_status.started()
                        has_begun = True
                    async with aclosing(stream.batches()) as batches:
                        async for batch in batches:
                            await self._tell(context, _changes(batch, self._uris, is_list=True))
            except PagefaultError:
                if not has_begun:
                    raise
            await anyio.sleep(_AGAIN_SECONDS)

    async def _tell(self, context: Context, events: Iterator[ServerEvent]) -> None:
        for event in events:
            await self._tell_one(context, event)

    async def _tell_one(self, context: Context, event: ServerEvent) -> None:
        await context.session.send_notification(event_to_notification(event, {}))


def _changes(
    batch: Sequence[EventItem], uris: Collection[str], *, is_list: bool
) -> Iterator[ServerEvent]:
    """Yield what events of pages are to a client."""
    by_page: defaultdict[str, list[str]] = defaultdict(list)
    for uri in uris:
        address, _, _ = uri.partition("?")
        if address.startswith(PAGES):
            by_page[unquote(address[len(PAGES) :])].append(uri)
    for item in batch:
        if item.type not in _TYPES:
            continue
        for uri in by_page.get(str(json.loads(item.data)["id"]), ()):
            yield ResourceUpdated(uri)
        if is_list and item.type != "page:updated":
            yield ResourcesListChanged()
