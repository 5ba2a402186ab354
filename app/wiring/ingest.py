"""Opens what takes tool results in and nothing else, for a command that stores one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.config.settings import Settings
from app.services.access.callers import Access
from app.services.concurrency.large_work import LargeWork
from app.services.events.raw_results import RawResults
from app.services.media.media_checks import MediaChecks
from app.services.media.media_keeper import MediaKeepers
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.request_bodies import BodyBudget
from app.services.quotas.quota_blob_store import QuotaBlobStore
from app.services.requests.streamed_bodies import StreamedBodies
from app.services.requests.streamed_requests import StreamedRequests
from app.services.sessions.messages import SessionMessages
from app.services.tool_results.tool_results import ToolResults
from app.telemetry.ingest_clock import Untimed
from app.wiring.stores import open_records
from app.wiring.sweep import open_stored_bytes


@asynccontextmanager
async def open_tool_results(settings: Settings) -> AsyncIterator[tuple[Access, ToolResults]]:
    """Open both stores and wire what takes tool results in. Nobody listens in this process.

    Raises: as `open_container` does.
    """
    limits = settings.limits
    async with (
        open_records(settings) as (records, store),
        open_stored_bytes(settings, records, store) as stored_bytes,
    ):
        blobs = store if stored_bytes is None else QuotaBlobStore(store, stored_bytes)
        work = LargeWork(limits)
        budget = BodyBudget(MemoryBudget(limits.memory_bytes), text_limit_bytes=limits.text_bytes)
        bodies = StreamedBodies(blobs, work, budget, limit_bytes=limits.medium_bytes)
        requests = StreamedRequests(bodies)
        yield (
            Access(records, None),
            ToolResults(
                records,
                MediaKeepers(blobs, limits.medium_bytes, MediaChecks(blobs)),
                bodies=bodies,
                messages=SessionMessages(records, blobs, bodies=requests, limits=limits),
                work=work,
                limits=limits,
                clock=Untimed(),
                raw_results=RawResults(is_enabled=False),
            ),
        )
