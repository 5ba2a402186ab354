"""`pagefault tail`: print a line for each new event.

Source: spec 002, "Event Flow & Consumers": command-line subscribers receive all events.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
from rich.filesize import decimal

from app.cli.error_output import check_session
from app.cli.terminal import ERR, format_count, print_line, to_one_line, truncate
from app.config.settings import Settings
from app.models.identity import utc_now
from app.services.access.callers import Access, Caller, LinkGrant, LinkSigner, link_expiry
from app.services.access.published_content import PublishedContent
from app.services.events.broker import EventBroker
from app.services.events.streams import EventStreams
from app.services.events.subscriptions import EventItem
from app.stores.records.records import Records
from app.wiring import event_services, shared_services
from app.wiring.open_stores import Stores, read_signing_keys
from app.wiring.services import Services
from app.wiring.stores import open_blob_store, open_broker, open_checked_database

# The lifetime of the signed links to media in the lines.
_LINK_SECONDS = 3600
_TEXT_CHARS = 80
# The exit status for a command that was interrupted with Ctrl-C, as in shells.
_EXIT_INTERRUPTED = 130

_EventData: TypeAlias = dict[str, Any]


def tail_events(
    settings: Settings,
    project_id: str,
    *,
    session: str | None,
    after: int | None,
    as_json: bool,
) -> None:
    """Print the events after the position `after`, by default only new ones, until interrupted."""
    check_session(session, "SESSION")
    try:
        anyio.run(_print_events, settings, project_id, session, after, as_json)
    except KeyboardInterrupt:
        raise SystemExit(_EXIT_INTERRUPTED) from None


async def _print_events(
    settings: Settings, project_id: str, session_id: str | None, after: int | None, as_json: bool
) -> None:
    caller = Caller(project_id, is_operator=True)
    async with _open_event_streams(settings) as services:
        formatter = _LineFormatter(services, project_id, signs_links=settings.auth != "none")
        if ERR.is_terminal:
            scope = f"session {session_id}" if session_id else f"project {project_id}"
            print_line(f"Listening to {scope}; Ctrl-C ends it.", to=ERR)
        while True:
            async with services[EventStreams].open(
                caller, session_id=session_id, after=after
            ) as stream:
                async for item in stream.items():
                    # If the stream is read too slowly, it ends. Then another stream is opened after
                    # the last event.
                    after = item.position
                    for line in [_format_json(item)] if as_json else formatter.format(item):
                        print_line(line)


def _format_json(item: EventItem) -> str:
    head = json.dumps({"event": item.type, "id": item.position})
    return f'{head[:-1]}, "data": {item.data.decode()}}}'


@dataclass(frozen=True, slots=True)
class _LineFormatter:
    """Formats events as lines of text."""

    services: Services
    project_id: str
    signs_links: bool

    def format(self, item: EventItem) -> list[str]:
        """Return the line of an event, and a line for each medium in the event."""
        data: _EventData = json.loads(item.data)
        if item.type == "reset":
            return [f"… events before {data['position']} are no longer stored; new events follow"]
        entry = f"{data['sessionId']}#{data['seq']}" if data["sessionId"] else "-"
        # The events without a formatter of their own are those of changed pages.
        text = _FORMATTER_BY_TYPE.get(item.type, _format_page)(data)
        line = f"{data['createdAt'][:19]}Z  {entry}  {item.type}  {text}"
        # `sanitized` is the stored tool result, with references in place of media.
        resources = data["sanitized"]["resources"] if "sanitized" in data else []
        return [to_one_line(value) for value in (line, *map(self._format_medium, resources))]

    def _format_medium(self, descriptor: _EventData) -> str:
        """Return a line with the type, size, name and link of a medium."""
        resource_id = descriptor["uri"].partition(":")[2]
        url = f"{self.services[PublishedContent].base_url}/api/resources/{resource_id}/content"
        if self.signs_links:
            expires_at = link_expiry(utc_now(), _LINK_SECONDS)
            grant = LinkGrant(self.project_id, resource_id, "inline", None, expires_at)
            base_url = self.services[PublishedContent].content_base_url
            url = base_url + self.services[LinkSigner].content_path(grant)
        name = f"{descriptor['filename']}  " if descriptor.get("filename") else ""
        size = decimal(descriptor["size"])
        return f"    {descriptor['mimeType']}  {size}  {name}{url}"


def _format_tool_result(data: _EventData) -> str:
    outcome = "" if data["success"] else "failed: "
    texts = (part["text"] for part in data["sanitized"]["parts"] if part["type"] == "text")
    return f"{data['toolName']} ({data['callId']})  {outcome}{_format_first_text(next(texts, ''))}"


_NOUN_BY_KIND = {
    "toolResults": "tool result",
    "pageFaults": "page fault",
    "messages": "message",
    "interactions": "interaction",
    "answers": "answer",
    "pages": "page",
}


def _format_counts(data: _EventData) -> str:
    counts: dict[str, int] = data.get("deleted") or data.get("imported") or data.get("copied") or {}
    texts = (format_count(count, _NOUN_BY_KIND[kind]) for kind, count in counts.items() if count)
    return ", ".join(texts)


def _format_page(data: _EventData) -> str:
    return f"{data['id']} version {data['version']} ({data['modality']})"


_FORMATTER_BY_TYPE: dict[str, Callable[[_EventData], str]] = {
    "llmservice:toolResult": _format_tool_result,
    "message:created": lambda data: (
        f"{data['role']}: {_format_first_text(data['message'].get('content'))}"
    ),
    "interaction:created": lambda data: _format_first_text(data["interaction"]["input"]),
    "interaction:answered": lambda data: _format_first_text(data["output"].get("content")),
    "page:faulted": lambda data: f"{data['id']} at {data['level']}",
    "session:imported": _format_counts,
    "session:forked": lambda data: f"of {data['forkedFrom']['sessionId']}: {_format_counts(data)}",
    "session:deleted": _format_counts,
}


def _format_first_text(value: object) -> str:
    if isinstance(value, list):
        texts = (part["text"] for part in value if isinstance(part, dict) and "text" in part)
        value = next(texts, value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return truncate(" ".join(text.split()), _TEXT_CHARS)


@asynccontextmanager
async def _open_event_streams(settings: Settings) -> AsyncIterator[Services]:
    """Open only what event streams need.

    Unlike `app.wiring.open_stores.open_stores`, this does not check the blob store, because lines
    only have links to media.
    """
    async with open_checked_database(settings) as engines, open_broker(settings, engines) as broker:
        blobs = open_blob_store(settings.blobs, settings.data_dir)
        records = Records(engines, blob_size=blobs.size, announce=broker.announce)
        keys = await anyio.to_thread.run_sync(read_signing_keys, settings)
        services = Services(
            (*shared_services.SERVICES, *event_services.SERVICES),
            Stores(records, blobs, None).values(settings)
            | {Access: Access(records, None), LinkSigner: LinkSigner(keys), EventBroker: broker},
        )
        async with services.lifespan(EventStreams):
            yield services
