"""Opens the stores and the sweep, for the command `gc`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.config.settings import Settings
from app.services.maintenance.sweep import Sweep
from app.wiring import maintenance_services
from app.wiring.open_stores import Stores, open_stored_bytes
from app.wiring.services import Services
from app.wiring.stores import open_records


@asynccontextmanager
async def open_sweep(settings: Settings) -> AsyncIterator[Sweep]:
    """Open both stores and make a sweep of them.

    Raises: as `open_stores` does.
    """
    async with (
        open_records(settings) as (records, blobs),
        open_stored_bytes(settings, records, blobs) as stored_bytes,
    ):
        values = Stores(records, blobs, stored_bytes).values(settings)
        yield Services(maintenance_services.SERVICES, values)[Sweep]
