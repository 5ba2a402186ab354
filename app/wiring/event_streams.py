"""Opens what tells of events and nothing else, for a command that shows them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio.to_thread

from app.config.settings import Settings
from app.services.access.callers import Access, LinkSigner
from app.services.events.feeds import Feeds
from app.services.events.raw_results import RawResults
from app.services.events.streams import EventStreams, StreamLimits
from app.services.events.subscriptions import QueueRoom
from app.services.memory_budget.budget import MemoryBudget
from app.stores.records.records import Records
from app.telemetry.metrics import Metrics
from app.wiring.signing_keys import signing_keys
from app.wiring.stores import open_blob_store, open_broker, open_checked_database


@dataclass(frozen=True, slots=True)
class Listening:
    """Streams of events, and what links to the media in them are made with."""

    event_streams: EventStreams
    links: LinkSigner
    base_url: str
    content_base_url: str
    """What signed links begin with."""


@asynccontextmanager
async def open_listening(settings: Settings) -> AsyncIterator[Listening]:
    """Open the database and wire what tells of events. Media are linked to, and not read.

    Raises: as `open_container` does, but for what the blob store says.
    """
    async with open_checked_database(settings) as engines, open_broker(settings, engines) as broker:
        blobs = open_blob_store(settings.blobs, settings.data_dir)
        records = Records(engines, blob_size=blobs.size, announce=broker.announce)
        keys = await anyio.to_thread.run_sync(signing_keys, settings)
        event_streams = wired_streams(
            settings,
            records,
            Access(records, None),
            raw_results=RawResults(is_enabled=settings.debug_tool_result_raw),
            metrics=Metrics(),
            memory=MemoryBudget(settings.limits.memory_bytes),
        )
        base_url = base_url_of(settings)
        listening = Listening(
            event_streams, LinkSigner(keys), base_url, settings.content_url or base_url
        )
        async with event_streams.running(broker):
            yield listening


def wired_streams(
    settings: Settings,
    records: Records,
    access: Access,
    *,
    raw_results: RawResults,
    metrics: Metrics,
    memory: MemoryBudget,
) -> EventStreams:
    """Return streams of events over an open database by the settings."""
    return EventStreams(
        records,
        access,
        Feeds(records, raw_results, QueueRoom(memory)),
        limits=StreamLimits(
            streams=settings.events.streams,
            streams_per_key=settings.events.streams_per_key,
            queued_events=settings.events.queued_events,
            queued_bytes=settings.events.queued_bytes,
        ),
        counts=metrics,
        memory=memory,
    )


def base_url_of(settings: Settings) -> str:
    """Return the address by which clients know the service."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return settings.public_url or f"http://{host}:{settings.port}"
