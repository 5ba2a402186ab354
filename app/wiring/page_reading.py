"""Opens the stores and the reading of pages, for the command `page show`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.config.settings import Settings
from app.services.media.media_checks import MediaChecks
from app.services.pages.accesses import AccessCounts
from app.services.pages.page_answers import PageReading
from app.wiring.stores import open_records


@asynccontextmanager
async def open_page_reading(settings: Settings) -> AsyncIterator[PageReading]:
    """Open both stores and wire what reads pages.

    Raises: as `open_container` does.
    """
    limits = settings.limits
    async with open_records(settings) as (records, blobs):
        accesses = AccessCounts(records)
        async with accesses.flushing():
            yield PageReading(
                records,
                blobs,
                accesses=accesses,
                checks=MediaChecks(blobs),
                limits=limits,
            )
