"""Opens what takes tool results in and nothing else, for a command that stores one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.services.access import Access
from app.services.body_memory import BodyBudget
from app.services.events.raw_results import RawResults
from app.services.large_work import LargeWork
from app.services.memory_budget import MemoryBudget
from app.services.persistence.keeping import MediaKeepers
from app.services.persistence.media_checks import MediaChecks
from app.services.quota_blobs import QuotaBlobStore
from app.services.streaming.bodies import StreamedBodies
from app.services.tool_results import ToolResults
from app.settings import Settings
from app.telemetry import Metrics
from app.wiring.stores import open_records
from app.wiring.sweeping import open_stored_bytes


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
        yield (
            Access(records, None),
            ToolResults(
                records,
                MediaKeepers(blobs, limits.medium_bytes, MediaChecks(blobs)),
                bodies=StreamedBodies(blobs, work, budget, limit_bytes=limits.medium_bytes),
                work=work,
                limits=limits,
                clock=Metrics(),
                raw_results=RawResults(is_enabled=False),
            ),
        )
