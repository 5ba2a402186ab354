"""Opens the database and the event streams, for the command `tail`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread

from app.config.settings import Settings
from app.services.access.callers import Access, LinkSigner
from app.services.events.broker import EventBroker
from app.services.events.streams import EventStreams
from app.stores.records.records import Records
from app.wiring import event_services, shared_services
from app.wiring.open_stores import Stores
from app.wiring.services import Services
from app.wiring.signing_keys import signing_keys
from app.wiring.stores import open_blob_store, open_broker, open_checked_database


@asynccontextmanager
async def open_listening(settings: Settings) -> AsyncIterator[Services]:
    """Open the database and the event streams. Media are linked to, and not read.

    Raises: as `open_stores` does, except for errors of the blob store.
    """
    async with open_checked_database(settings) as engines, open_broker(settings, engines) as broker:
        blobs = open_blob_store(settings.blobs, settings.data_dir)
        records = Records(engines, blob_size=blobs.size, announce=broker.announce)
        keys = await anyio.to_thread.run_sync(signing_keys, settings)
        services = Services(
            (*shared_services.SERVICES, *event_services.SERVICES),
            Stores(records, blobs, None).values(settings)
            | {Access: Access(records, None), LinkSigner: LinkSigner(keys), EventBroker: broker},
        )
        async with services.running(EventStreams):
            yield services
