"""Opens what reads pages and nothing else, for a command that shows one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.config.settings import Settings
from app.services.images.image_work import ImageWork
from app.services.memory_budget.budget import MemoryBudget
from app.services.pages.accesses import AccessCounts
from app.services.pages.preparing import PagePreparer
from app.services.pages.reading import PageReading
from app.services.persistence.media_checks import MediaChecks
from app.wiring.stores import open_records


@asynccontextmanager
async def open_page_reading(settings: Settings) -> AsyncIterator[PageReading]:
    """Open both stores and wire what reads pages.

    Raises: as `open_container` does.
    """
    limits = settings.limits
    async with open_records(settings) as (records, blobs):
        images = ImageWork(MemoryBudget(limits.memory_bytes), limits)
        preparer = PagePreparer(records, blobs, images=images, limits=limits)
        accesses = AccessCounts(records)
        async with accesses.kept(), images.running():
            yield PageReading(
                records,
                blobs,
                preparer,
                accesses=accesses,
                checks=MediaChecks(blobs),
                limits=limits,
            )
