"""Opens the stores and the service of tool results, for the command `ingest`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.config.settings import Settings
from app.services.access.callers import Access
from app.services.tool_results.tool_results import ToolResults
from app.wiring import media_services, result_services, session_services, shared_services
from app.wiring.open_stores import Stores, open_stored_bytes
from app.wiring.services import Services
from app.wiring.stores import open_records


@asynccontextmanager
async def open_tool_results(settings: Settings) -> AsyncIterator[tuple[Access, ToolResults]]:
    """Open both stores and the service of tool results. This process has no event listeners.

    Raises: as `open_stores` does.
    """
    async with (
        open_records(settings) as (records, blobs),
        open_stored_bytes(settings, records, blobs) as stored_bytes,
    ):
        services = Services(
            (
                *shared_services.SERVICES,
                *media_services.SERVICES,
                *session_services.SERVICES,
                *result_services.SERVICES,
            ),
            Stores(records, blobs, stored_bytes).values(settings),
        )
        yield Access(records, None), services[ToolResults]
