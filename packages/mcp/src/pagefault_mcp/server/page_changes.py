"""Notifications of changes of pages, and of the list of resources, for clients of MCP.

From 2026-07-28 on, a subscription is a request that stays open, which any process can answer. In
earlier revisions it is answered at once, and notifications follow on the connection. That works
over pipes, but not at `/mcp`, which keeps no state.

A subscription reads the log of its project. Notifications have the URI that the client subscribed
to, as the client spelled it. The log has no events of files, so their list is polled every few
seconds.
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
_RETRY_SECONDS = 5.0
_MAX_URIS = 1_000
_POLL_SECONDS = 2.0
# The pause between two polls is at least so many times as long as a poll, which takes long in a
# project with a million files.
_POLL_SHARE = 50


def page_uri(page_id: str) -> str:
    """Return the URI of a page."""
    return PAGES + quote(page_id, safe=":")


async def listen(
    services: Services, caller: Caller, context: Context, params: types.SubscriptionFilter
) -> types.SubscriptionsListenResult:
    """Send the notifications that a client subscribes to, until it disconnects.

    The stream also ends if the client stops reading, or its key is revoked.

    Raises:
        PagefaultError: There are too many streams, or the log cannot be read.
    """
    uris = frozenset(params.resource_subscriptions or ())
    is_list = bool(params.resources_list_changed)
    honored = types.SubscriptionFilter(
        resources_list_changed=is_list or None, resource_subscriptions=list(uris) or None
    )
    meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: context.request_id}
    opened = services[EventStreams].open(caller, session_id=None, after=None)
    async with opened as stream:
        files = await FileListWatch.load(services, caller.project_id) if is_list else None
        acknowledged = types.SubscriptionsAcknowledgedNotificationParams(
            notifications=honored, _meta=meta
        )
        await context.session.send_notification(
            types.SubscriptionsAcknowledgedNotification(params=acknowledged),
            related_request_id=context.request_id,
        )

        async def notify(event: ServerEvent) -> None:
            await context.session.send_notification(
                event_to_notification(event, meta), related_request_id=context.request_id
            )

        async with (
            run_beside(files.watch(notify)) if files else nullcontext(),
            aclosing(stream.batches()) as batches,
        ):
            async for batch in batches:
                for event in _changes(batch, uris, is_list=is_list):
                    await notify(event)
    return types.SubscriptionsListenResult(_meta=meta)


@dataclass(slots=True, eq=False)
class FileListWatch:
    """A watch on the files of a project, which polls their number and the newest time."""

    services: Services
    """The services with the records of the files."""
    project_id: str
    """The project."""
    _last_extent: tuple[int, datetime | None]

    @classmethod
    async def load(cls, services: Services, project_id: str) -> Self:
        """Return a watch that starts from the present list.

        Raises:
            StoreUnavailableError: The records cannot be read.
        """
        return cls(services, project_id, await _extent(services, project_id))

    async def watch(self, notify: Callable[[ServerEvent], Awaitable[None]]) -> None:
        """Send a notification whenever the list changes, until cancelled."""
        poll_seconds = 0.0
        while True:
            await anyio.sleep(max(_POLL_SECONDS, _POLL_SHARE * poll_seconds))
            started = monotonic()
            try:
                extent = await _extent(self.services, self.project_id)
            except PagefaultError:
                # The next poll detects the change.
                continue
            poll_seconds = monotonic() - started
            if extent != self._last_extent:
                self._last_extent = extent
                await notify(ResourcesListChanged())


async def _extent(services: Services, project_id: str) -> tuple[int, datetime | None]:
    return await services[Records].read(project_id, lambda unit: unit[ResourceRecords].extent())


@dataclass(slots=True, eq=False)
class HostSubscriptions:
    """The subscriptions of a host over pipes, in revisions of MCP before 2026-07-28."""

    services: Services
    """The services with the log of events."""
    caller: Caller
    """The caller, whose project is watched."""
    group: anyio.abc.TaskGroup
    """The tasks that read the log until the host disconnects."""
    _uris: set[str] = field(default_factory=set)
    _starting: anyio.Lock = field(default_factory=anyio.Lock)
    _is_watching: bool = False

    async def subscribe(
        self, context: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Subscribe to a page."""
        try:
            check_uri(params.uri)
        except PagefaultError as exc:
            raise MCPError(types.INVALID_PARAMS, exc.detail) from exc
        if not params.uri.startswith(SCHEME):
            raise MCPError(types.INVALID_PARAMS, f"URIs of this server begin with {SCHEME}")
        if len(self._uris) >= _MAX_URIS and params.uri not in self._uris:
            raise MCPError(types.INVALID_PARAMS, f"{_MAX_URIS} subscriptions are the most")
        self._uris.add(params.uri)
        await self.watch(context)
        return types.EmptyResult()

    async def unsubscribe(
        self, _: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """End the subscription to a page."""
        self._uris.discard(params.uri)
        return types.EmptyResult()

    async def watch(self, context: Context) -> None:
        """Start the tasks that read the log and poll the files, unless they are running."""
        async with self._starting:
            if not self._is_watching:
                files = await FileListWatch.load(self.services, self.caller.project_id)
                await self.group.start(self._watch, context)
                self.group.start_soon(files.watch, partial(self._notify_one, context))
                self._is_watching = True

    async def _watch(self, context: Context, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        has_begun = False
        while True:
            try:
                opened = self.services[EventStreams].open(self.caller, session_id=None, after=None)
                async with opened as stream:
                    if has_begun:
                        # Any page may have changed while the log was not read.
                        await self._notify(context, map(ResourceUpdated, [*self._uris]))
                    else:
                        task_status.started()
                        has_begun = True
                    async with aclosing(stream.batches()) as batches:
                        async for batch in batches:
                            await self._notify(context, _changes(batch, self._uris, is_list=True))
            except PagefaultError:
                if not has_begun:
                    raise
            await anyio.sleep(_RETRY_SECONDS)

    async def _notify(self, context: Context, events: Iterator[ServerEvent]) -> None:
        for event in events:
            await self._notify_one(context, event)

    async def _notify_one(self, context: Context, event: ServerEvent) -> None:
        await context.session.send_notification(event_to_notification(event, {}))


def _changes(
    batch: Sequence[EventItem], uris: Collection[str], *, is_list: bool
) -> Iterator[ServerEvent]:
    """Yield the notifications for events of pages.

    Args:
        batch: The events.
        uris: The URIs that a client subscribes to.
        is_list: Whether it also subscribes to changes of the list.
    """
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
