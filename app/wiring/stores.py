"""Open the configured stores: database, blobs, and the broker of events."""

import errno
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio.to_thread
import structlog
from pydantic import SecretStr

from app.config.settings import BlobSettings, Settings
from app.errors import StoreFullError
from app.services.access.callers import Access
from app.services.events.broker import EventBroker
from app.services.resources.content_sources import OffloadRules
from app.stores.blobs.filesystem import FilesystemBlobStore
from app.stores.blobs.store import BlobStore
from app.stores.blobs.temporary_file import DurableDirectories
from app.stores.records.database_address import DATABASE_FILE, DatabaseAddress, parse_address
from app.stores.records.engine import (
    Engines,
    is_pooled,
    open_change_counter,
    open_engines,
)
from app.stores.records.migration_plan import PlannedStatement, plan_migration
from app.stores.records.migrations import (
    current_revision,
    is_newest,
    known_revisions,
    migrate,
    newest_revision,
)
from app.stores.records.records import Records
from app.wiring.brokers.notifications import NotificationBroker, NotificationChannel
from app.wiring.brokers.sqlite import SqliteBroker
from app.wiring.bucket_urls import check_endpoint, parse_bucket_url
from app.wiring.startup_errors import (
    DataDirectoryError,
    NewerDatabaseError,
    OutdatedDatabaseError,
    SettingError,
)

_log = structlog.get_logger(__name__)


@asynccontextmanager
async def open_access(settings: Settings) -> AsyncIterator[Access]:
    """Open the database, and yield the projects and keys in it, for `pagefault keys`."""
    async with open_checked_database(settings) as engines:
        yield Access(Records(engines), None)


@asynccontextmanager
async def open_records(settings: Settings) -> AsyncIterator[tuple[Records, BlobStore]]:
    """Open both stores for a command that needs only a few services.

    Raises:
        DataDirectoryError: The data directory cannot be created.
        NewerDatabaseError: A newer version has migrated the database.
        OutdatedDatabaseError: A server's database has to be migrated first.
        SettingError: A setting is invalid.
        StoreUnavailableError: A store does not respond, or refuses the service.
    """
    async with open_checked_database(settings) as engines:
        blobs = open_blob_store(settings.blobs, settings.data_dir)
        await check_blob_store(blobs)
        yield Records(engines, blob_size=blobs.size), blobs


async def migrate_database(settings: Settings) -> tuple[str | None, str]:
    """Migrate the database to the newest revision; return the revisions before and after."""
    await anyio.to_thread.run_sync(create_data_dir, settings.data_dir)
    # One connection migrates, and the other holds the lock.
    database = settings.db.model_copy(update={"pool_size": 2})
    engines = open_database(settings.model_copy(update={"db": database}))
    try:
        return await anyio.to_thread.run_sync(_migrate_known_revision, engines)
    finally:
        await engines.close()


async def plan_database_migration(settings: Settings) -> list[PlannedStatement]:
    """Return the statements that `migrate_database` would execute. Nothing is locked or changed."""
    engines = open_database(settings)
    try:
        _check_known_revision(await anyio.to_thread.run_sync(current_revision, engines.reader))
        return await anyio.to_thread.run_sync(plan_migration, engines.reader)
    finally:
        await engines.close()


async def migrate_in_subprocess(settings: Settings) -> None:
    """Migrate an embedded database in a subprocess, if it is not at the newest revision.

    In this process, Alembic would take 10 MiB of memory until the process ends. Errors of the
    subprocess are ignored, because opening the database raises them again.
    """
    if not settings.is_embedded_database:
        return
    path = settings.data_dir / DATABASE_FILE
    if await anyio.to_thread.run_sync(is_newest, path):
        return
    # The current directory was chosen by the host of this process. `-P` prevents imports from it.
    command = [sys.executable, "-P", "-m", "app.cli.main", "migrate", "--data-dir"]
    await anyio.run_process(
        [*command, str(settings.data_dir)],
        # Standard input is the connection to the host.
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )


@asynccontextmanager
async def open_checked_database(settings: Settings) -> AsyncIterator[Engines]:
    """Open the configured database, and check that it is at the newest revision.

    An embedded database is migrated. The database is closed when the block ends.

    Raises:
        DataDirectoryError: The data directory cannot be created.
        NewerDatabaseError: A newer version has migrated the database.
        OutdatedDatabaseError: A server's database has to be migrated first.
        SettingError: The URL is invalid.
    """
    await anyio.to_thread.run_sync(create_data_dir, settings.data_dir)
    engines = open_database(settings)
    try:
        if settings.is_embedded_database:
            await anyio.to_thread.run_sync(_migrate_known_revision, engines)
        else:
            current = await anyio.to_thread.run_sync(current_revision, engines.reader)
            needed = await anyio.to_thread.run_sync(newest_revision)
            _check_known_revision(current)
            if current != needed:
                raise OutdatedDatabaseError(current, needed)
            if await anyio.to_thread.run_sync(is_pooled, engines.reader):
                _log.info("behind a pooler: statements are not prepared")
        yield engines
    finally:
        await engines.close()


def _migrate_known_revision(engines: Engines) -> tuple[str | None, str]:
    _check_known_revision(current_revision(engines.writer))
    return migrate(engines.writer)


def _check_known_revision(revision: str | None) -> None:
    if revision is not None and revision not in known_revisions():
        raise NewerDatabaseError(revision)


def open_database(settings: Settings) -> Engines:
    """Return the engines of the configured database, without connecting.

    Raises:
        SettingError: The URL is invalid.
    """
    return open_engines(
        _parse_address("PAGEFAULT_DB__URL", settings.db.url, settings.data_dir),
        pool_size=settings.db.pool_size,
        timeout_seconds=settings.db.timeout_seconds,
        transaction_pooler=settings.db.transaction_pooler,
    )


def _parse_address(variable: str, value: SecretStr | None, data_dir: Path) -> DatabaseAddress:
    try:
        return parse_address(value.get_secret_value() if value else None, data_dir)
    except ValueError as exc:
        raise SettingError(f"{variable} {exc}") from exc


@asynccontextmanager
async def open_broker(settings: Settings, engines: Engines) -> AsyncIterator[EventBroker]:
    """Yield the broker of events for the configured database."""
    if settings.db.url is None:
        async with open_change_counter(engines) as count_changes:
            yield SqliteBroker(count_changes)
        return
    broker = NotificationBroker(open_notification_channel(settings, engines.address))
    async with broker.sending():
        yield broker


def open_notification_channel(settings: Settings, address: DatabaseAddress) -> NotificationChannel:
    """Return the channel for notifications between processes, without connecting.

    Raises:
        SettingError: An address is invalid, or the client of Redis is not installed.
    """
    # Importing the clients of Redis and PostgreSQL takes long.
    if redis_url := settings.events.redis_url:
        try:
            from app.wiring.brokers.redis import RedisChannel  # noqa: PLC0415

            return RedisChannel(redis_url.get_secret_value())
        except ImportError as exc:
            raise SettingError(
                "PAGEFAULT_EVENTS__REDIS_URL needs the extra redis: pip install 'pagefault[redis]'"
            ) from exc
        except ValueError:
            # The message of the error may contain a password.
            raise SettingError(
                "PAGEFAULT_EVENTS__REDIS_URL must look like redis://user:password@host:6379/0"
            ) from None
    from app.wiring.brokers.postgres import PostgresChannel  # noqa: PLC0415

    if settings.db.listen_url is not None:
        address = _parse_address(
            "PAGEFAULT_DB__LISTEN_URL", settings.db.listen_url, settings.data_dir
        )
    return PostgresChannel(address.conninfo)


def open_blob_store(settings: BlobSettings, data_dir: Path) -> BlobStore:
    """Return the configured blob store, without connecting.

    Raises:
        SettingError: The URL or the endpoint is invalid, or a part of it would be ignored.
        StoreMisconfiguredError: The id or the secret of the key is missing.
    """
    if settings.url is None:
        return FilesystemBlobStore(data_dir)
    # Importing the client of S3 takes long, and a local directory does not need it.
    from app.stores.blobs.s3 import S3BlobStore  # noqa: PLC0415

    location = parse_bucket_url(settings.url)
    key_id, secret = settings.s3_access_key_id, settings.s3_secret_access_key
    return S3BlobStore(
        bucket=location.bucket,
        spool=data_dir / "tmp",
        prefix=location.prefix,
        endpoint=check_endpoint(settings.s3_endpoint),
        region=settings.s3_region,
        access_key_id=key_id.get_secret_value() if key_id else None,
        secret_access_key=secret.get_secret_value() if secret else None,
    )


def build_offload_rules(settings: Settings) -> OffloadRules:
    """Return the rules for content that nginx or the bucket sends instead of the service.

    Raises:
        SettingError: The rules need another kind of blob store, or keys that sign links.
    """
    content, blobs = settings.content, settings.blobs
    if content.accel_prefix is not None and blobs.url is not None:
        raise SettingError(
            "PAGEFAULT_CONTENT__ACCEL_PREFIX lets nginx read files, and PAGEFAULT_BLOBS__URL keeps "
            "no files: unset one of them."
        )
    if content.redirect_bytes is not None and blobs.url is None:
        raise SettingError(
            "PAGEFAULT_CONTENT__REDIRECT_BYTES sends callers to an S3 store: set "
            "PAGEFAULT_BLOBS__URL too."
        )
    if content.redirect_bytes is not None and not blobs.s3_secret_access_key:
        # Credentials of roles and of the environment are known only to the client of S3.
        raise SettingError(
            "PAGEFAULT_CONTENT__REDIRECT_BYTES needs PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID and "
            "PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY: no other keys can sign how the store answers."
        )
    return OffloadRules(
        proxy_prefix=content.accel_prefix,
        redirect_bytes=content.redirect_bytes,
        redirect_seconds=content.redirect_seconds,
    )


async def check_blob_store(blobs: BlobStore) -> None:
    """Check that the blob store can be read and written when the service starts.

    A full store is not an error, because its content can still be read and deleted.

    Raises:
        StoreMisconfiguredError: The store refuses the service; `cause` has the reason.
        StoreUnavailableError: The store does not respond.
    """
    with suppress(StoreFullError):
        await blobs.check()


def create_data_dir(data_dir: Path) -> None:
    """Create the data directory durably, for its owner only, unless it exists.

    Raises:
        DataDirectoryError: The directory cannot be created or written.
    """
    try:
        DurableDirectories(data_dir).ensure(str(data_dir))
        # Raises if the path is a file.
        data_dir.mkdir(exist_ok=True)
    except OSError as exc:
        raise DataDirectoryError(data_dir, os.strerror(exc.errno or 0)) from exc
    is_effective = os.access in os.supports_effective_ids
    if not os.access(data_dir, os.R_OK | os.W_OK | os.X_OK, effective_ids=is_effective):
        raise DataDirectoryError(data_dir, os.strerror(errno.EACCES), exists=True)
