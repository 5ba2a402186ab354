"""Notifications of changes of pages, and of the list of resources, for clients of MCP.

In the revision 2026-07-28 of MCP, a subscription is a request whose response is a stream of
notifications; see `send_notifications`. Any process of the service can handle it.

In earlier revisions, the response to a subscription is short, and notifications follow later on the
same connection; see `HostSubscriptions`. That works over pipes only, since `/mcp` keeps no state
between requests.

Changes of pages are read from the log of events of a project. A notification has the URI that the
client subscribed to, as the client spelled it. The log has no events of files, so the list of files
is polled every few seconds.
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

URI_SCHEME = "pagefault://"
PAGE_URI_PREFIX = f"{URI_SCHEME}pages/"
_PAGE_EVENTS = ("page:created", "page:updated", "page:deleted")
_RETRY_SECONDS = 5.0
_MAX_URIS = 1_000
_POLL_SECONDS = 2.0
# The pause after a poll is at least this many times as long as the poll itself. In a project with a
# million files, a poll takes long.
_MIN_PAUSE_FACTOR = 50


def format_page_uri(page_id: str) -> str:
    """Return the URI of a page."""
    return PAGE_URI_PREFIX + quote(page_id, safe=":")


async def send_notifications(
    services: Services, caller: Caller, context: Context, params: types.SubscriptionFilter
) -> types.SubscriptionsListenResult:
    """Send the notifications that a client subscribes to, until it disconnects.

    The stream also ends if the client stops reading, or its key is revoked.

    Args:
        services: The services.
        caller: The caller, whose project is watched.
        context: The request of the client; notifications are sent in its response.
        params: The changes that the client subscribes to.

    Raises:
        PagefaultError: There are too many streams, or the log cannot be read.
    """
    uris = frozenset(params.resource_subscriptions or ())
    includes_list = bool(params.resources_list_changed)
    honored = types.SubscriptionFilter(
        resources_list_changed=includes_list or None, resource_subscriptions=list(uris) or None
    )
    meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: context.request_id}
    async with services[EventStreams].open(caller, session_id=None, after=None) as stream:
        files = await FileListPoll.start(services, caller.project_id) if includes_list else None
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
            run_beside(files.run(notify)) if files else nullcontext(),
            aclosing(stream.batches()) as batches,
        ):
            async for batch in batches:
                for event in _find_changes(batch, uris, includes_list=includes_list):
                    await notify(event)
    return types.SubscriptionsListenResult(_meta=meta)


@dataclass(slots=True, eq=False)
class FileListPoll:
    """Detects changes of the files of a project by polling.

    A poll reads the number of files, and the time of the newest one.
    """

    services: Services
    """The services with the records of the files."""
    project_id: str
    _last_extent: tuple[int, datetime | None]
    """The number of files at the last poll, and the time of the newest one."""

    @classmethod
    async def start(cls, services: Services, project_id: str) -> Self:
        """Poll once; later polls detect changes after this one.

        Raises:
            StoreUnavailableError: The records cannot be read.
        """
        return cls(services, project_id, await _load_extent(services, project_id))

    async def run(self, notify: Callable[[ServerEvent], Awaitable[None]]) -> None:
        """Poll again and again, and call `notify` after each change, until cancelled."""
        poll_seconds = 0.0
        while True:
            await anyio.sleep(max(_POLL_SECONDS, _MIN_PAUSE_FACTOR * poll_seconds))
            started = monotonic()
            try:
                extent = await _load_extent(self.services, self.project_id)
            except PagefaultError:
                # The next poll detects the change.
                continue
            poll_seconds = monotonic() - started
            if extent != self._last_extent:
                self._last_extent = extent
                await notify(ResourcesListChanged())


async def _load_extent(services: Services, project_id: str) -> tuple[int, datetime | None]:
    """Return the number of files of a project, and the time of the newest one."""
    return await services[Records].read(project_id, lambda unit: unit[ResourceRecords].extent())


@dataclass(slots=True, eq=False)
class HostSubscriptions:
    """The subscriptions of a host over pipes, in revisions of MCP before 2026-07-28."""

    services: Services
    """The services with the log of events."""
    caller: Caller
    """The caller, whose project is watched."""
    group: anyio.abc.TaskGroup
    """Runs the tasks that read the log, until the host disconnects."""
    _uris: set[str] = field(default_factory=set)
    """The URIs that the host subscribes to."""
    _start_lock: anyio.Lock = field(default_factory=anyio.Lock)
    _is_watching: bool = False
    """True if the tasks run."""

    async def subscribe(
        self, context: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Subscribe to a page, or to any other URI of this server.

        Raises:
            MCPError: The URI is invalid, or the host has too many subscriptions.
        """
        try:
            check_uri(params.uri)
        except PagefaultError as exc:
            raise MCPError(types.INVALID_PARAMS, exc.detail) from exc
        if not params.uri.startswith(URI_SCHEME):
            raise MCPError(types.INVALID_PARAMS, f"URIs of this server begin with {URI_SCHEME}")
        if len(self._uris) >= _MAX_URIS and params.uri not in self._uris:
            raise MCPError(types.INVALID_PARAMS, f"{_MAX_URIS} subscriptions are the most")
        self._uris.add(params.uri)
        await self.watch(context)
        return types.EmptyResult()

    async def unsubscribe(
        self, _context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """End the subscription to a URI, if there is one."""
        self._uris.discard(params.uri)
        return types.EmptyResult()

    async def watch(self, context: Context) -> None:
        """Start the tasks that notify the host of changes, unless they are running.

        One task reads the log, the other polls the list of files.
        """
        async with self._start_lock:
            if not self._is_watching:
                files = await FileListPoll.start(self.services, self.caller.project_id)
                await self.group.start(self._watch_log, context)
                self.group.start_soon(files.run, partial(self._notify, context))
                self._is_watching = True

    async def _watch_log(
        self, context: Context, *, task_status: anyio.abc.TaskStatus[None]
    ) -> None:
        """Notify the host of changes in the log, until cancelled.

        If the log cannot be read any more, it is opened again after a pause.
        """
        has_started = False
        streams = self.services[EventStreams]
        while True:
            try:
                async with streams.open(self.caller, session_id=None, after=None) as stream:
                    if has_started:
                        # Any page may have changed while the log was not read.
                        for uri in [*self._uris]:
                            await self._notify(context, ResourceUpdated(uri))
                    else:
                        task_status.started()
                        has_started = True
                    async with aclosing(stream.batches()) as batches:
                        async for batch in batches:
                            for event in _find_changes(batch, self._uris, includes_list=True):
                                await self._notify(context, event)
            except PagefaultError:
                if not has_started:
                    raise
            await anyio.sleep(_RETRY_SECONDS)

    async def _notify(self, context: Context, event: ServerEvent) -> None:
        await context.session.send_notification(event_to_notification(event, {}))


def _find_changes(
    batch: Sequence[EventItem], uris: Collection[str], *, includes_list: bool
) -> Iterator[ServerEvent]:
    """Yield the notifications for events of the log.

    Args:
        batch: The events. Only those of pages have notifications.
        uris: The URIs that a client subscribes to.
        includes_list: The client also subscribes to changes of the list of resources.
    """
    uris_by_page: defaultdict[str, list[str]] = defaultdict(list)
    for uri in uris:
        # The query of a URI names a level of the page.
        address, _, _ = uri.partition("?")
        if address.startswith(PAGE_URI_PREFIX):
            uris_by_page[unquote(address.removeprefix(PAGE_URI_PREFIX))].append(uri)
    for item in batch:
        if item.type not in _PAGE_EVENTS:
            continue
        for uri in uris_by_page.get(str(json.loads(item.data)["id"]), ()):
            yield ResourceUpdated(uri)
        if includes_list and item.type != "page:updated":
            yield ResourcesListChanged()
