"""Opens what sweeps the stores and nothing else, for a command that does; the service does too."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from app.config.settings import Settings
from app.services.maintenance.sweep import Sweep
from app.services.quotas.stored_bytes import StorageQuota
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.wiring.stores import open_records


@asynccontextmanager
async def open_sweep(settings: Settings) -> AsyncIterator[Sweep]:
    """Open both stores and wire a sweep of them.

    Raises: as `open_container` does.
    """
    async with (
        open_records(settings) as (records, blobs),
        open_stored_bytes(settings, records, blobs) as stored_bytes,
    ):
        yield wired_sweep(settings, records, blobs, stored_bytes)


@asynccontextmanager
async def open_stored_bytes(
    settings: Settings, records: Records, blobs: BlobStore
) -> AsyncIterator[StorageQuota | None]:
    """Count all that each project keeps by now, and go on counting; `None` without a quota."""
    quota_bytes = settings.quotas.stored_bytes
    if not quota_bytes:
        yield None
        return
    stored_bytes = StorageQuota(records, blobs, quota_bytes=quota_bytes)
    await stored_bytes.count_all()
    async with stored_bytes.running():
        yield stored_bytes


def wired_sweep(
    settings: Settings, records: Records, blobs: BlobStore, stored_bytes: StorageQuota | None
) -> Sweep:
    """Return a sweep of open stores by the settings."""
    return Sweep(
        records,
        blobs,
        events_kept=timedelta(seconds=settings.events.keep_seconds),
        most_events=settings.events.keep_count,
        stored_bytes=stored_bytes,
    )
