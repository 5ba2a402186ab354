"""Open both stores and the services that need only these."""

import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread

from app.config.settings import Settings
from app.models.limits import Limits
from app.services.access.callers import Access, LinkSigner, SigningKey
from app.services.events.broker import EventBroker
from app.services.quotas.storage_quota import StorageQuota
from app.services.resources.content_sources import OffloadRules
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.wiring.startup_errors import MissingSigningKeysError
from app.wiring.stores import (
    build_offload_rules,
    check_blob_store,
    open_blob_store,
    open_broker,
    open_checked_database,
)
from app.wiring.tracing import trace_database

# No request lasts longer than a day, so older temporary files belong to interrupted uploads.
_ABANDONED_UPLOAD_SECONDS = 24 * 3600.0


def read_signing_keys(settings: Settings) -> Sequence[SigningKey]:
    """Return the keys that sign links and tickets.

    Without configured keys, a service with the embedded database uses the key in its data
    directory.

    Raises:
        MissingSigningKeysError: The database is a server, and no keys are configured.
    """
    configured = [key.get_secret_value() for key in settings.signing_keys]
    if not configured and not settings.is_embedded_database:
        raise MissingSigningKeysError
    if not configured:
        configured = [_read_or_create_signing_key(settings.data_dir / "signing-key")]
    return [
        SigningKey(key_id, secret.encode())
        for key_id, _, secret in (key.partition(":") for key in configured)
    ]


def _read_or_create_signing_key(path: Path) -> str:
    """Return the key in a file. A missing file is created, for its owner only."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    if not path.exists():
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"own:{secrets.token_urlsafe(48)}")
            file.flush()
            os.fsync(descriptor)
        try:
            # A rename would replace the file if another worker has just created it.
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return path.read_text().strip()


@dataclass(frozen=True, slots=True)
class Stores:
    """Both stores of a server, with the database at the newest revision."""

    records: Records
    blobs: BlobStore
    """The blob store itself; `QuotaBlobStore` also enforces the quota of stored bytes."""
    storage_quota: StorageQuota | None
    """The quota of stored bytes; `None` without one."""

    def values(self, settings: Settings) -> dict[type[Any], object]:
        """Return the objects that `Services` needs to create services, by their types."""
        return {
            Settings: settings,
            Limits: settings.limits,
            Records: self.records,
            Stores: self,
        }


@asynccontextmanager
async def open_stores(settings: Settings) -> AsyncIterator[dict[type[Any], object]]:
    """Open both stores, and yield the objects that `Services` needs, by their types.

    An embedded database is migrated to the newest revision.

    Raises:
        DataDirectoryError: The data directory cannot be created.
        OutdatedDatabaseError: A server's database has to be migrated first.
        MissingSigningKeysError: The database is a server and no signing keys are set.
        SettingError: A setting is invalid.
        StoreUnavailableError: A store does not answer, or refuses the service.
    """
    # Settings are checked before anything is opened.
    rules = build_offload_rules(settings)
    async with AsyncExitStack() as stack:
        engines = await stack.enter_async_context(open_checked_database(settings))
        blobs = open_blob_store(settings.blobs, settings.data_dir)
        broker = await stack.enter_async_context(open_broker(settings, engines))
        database = trace_database(engines)
        records = Records(database, blob_size=blobs.size, announce=broker.announce)
        await check_blob_store(blobs)
        await blobs.sweep_temporary(_ABANDONED_UPLOAD_SECONDS)
        links = LinkSigner(await anyio.to_thread.run_sync(read_signing_keys, settings))
        access = Access(records, settings.default_project if settings.auth == "none" else None)
        if access.default_project is not None:
            await access.ensure_project(access.default_project)
        storage_quota = await stack.enter_async_context(
            open_storage_quota(settings, records, blobs)
        )
        yield Stores(records, blobs, storage_quota).values(settings) | {
            Access: access,
            LinkSigner: links,
            EventBroker: broker,
            OffloadRules: rules,
        }


@asynccontextmanager
async def open_storage_quota(
    settings: Settings, records: Records, blobs: BlobStore
) -> AsyncIterator[StorageQuota | None]:
    """Yield the quota of stored bytes, after counting all projects; `None` if no quota is set."""
    quota_bytes = settings.quotas.stored_bytes
    if not quota_bytes:
        yield None
        return
    storage_quota = StorageQuota(records, blobs, quota_bytes=quota_bytes)
    await storage_quota.count_all()
    async with storage_quota.lifespan():
        yield storage_quota
