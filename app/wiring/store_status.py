"""Read the state of the stores for `pagefault status`, without migrating them.

If a store does not respond, the report has the reason instead of its state.
"""

import platform
import shutil
from collections.abc import Awaitable, Callable

import anyio
import anyio.to_thread

from app.config.settings import Settings
from app.errors import StoreUnavailableError
from app.models.identity import utc_now
from app.services.maintenance.status import (
    CARRIER_SETTINGS,
    Carrier,
    Disk,
    Notifications,
    Pooler,
    QuotaLimits,
    Revision,
    StatusReport,
)
from app.stores.records.database_status import (
    DatabaseStatus,
    QueueStatus,
    read_database_status,
    read_queue_status,
)
from app.stores.records.engine import Engines, is_pooled
from app.stores.records.migrations import current_revision, newest_revision
from app.version import VERSION
from app.wiring.brokers.notifications import check_channel
from app.wiring.stores import open_blob_store, open_database, open_notification_channel

_TIMEOUT_SECONDS = 15.0


async def read_status(settings: Settings) -> StatusReport:
    """Read the state of the service. `failures` has the reason for each store that fails.

    Raises:
        SettingError: A setting is invalid.
    """
    reader = _StatusReader(settings, open_database(settings))
    try:
        await reader.read("database", reader.read_database)
        await reader.read("files", reader.read_files)
        await reader.read("notifications", reader.read_notifications)
    finally:
        with anyio.move_on_after(_TIMEOUT_SECONDS):
            await reader.engines.close()
    return reader.build_report()


class _StatusReader:
    """Reads the stores one by one, and collects the parts of a report.

    Args:
        settings: The settings of the stores.
        engines: The connections to the database.
    """

    def __init__(self, settings: Settings, engines: Engines) -> None:
        self._settings = settings
        self.engines = engines
        self._failures: dict[str, str] = {}
        self._revision: Revision | None = None
        self._database: DatabaseStatus | None = None
        self._pooler: Pooler | None = None
        self._notifications: Notifications | None = None
        self._queues: QueueStatus | None = None

    async def read(self, name: str, read_store: Callable[[], Awaitable[None]]) -> None:
        """Read a store, or record the reason if it fails."""
        try:
            with anyio.fail_after(_TIMEOUT_SECONDS):
                await read_store()
        except StoreUnavailableError as exc:
            self._failures[name] = exc.cause.sentence if exc.cause else str(exc)
        except TimeoutError:
            self._failures[name] = f"{name}: no answer within {_TIMEOUT_SECONDS:.0f} s"

    async def read_database(self) -> None:
        """Read the state of the database.

        Queues are read only if the database is at the revision of this version.
        """
        current = await anyio.to_thread.run_sync(
            current_revision, self.engines.reader, abandon_on_cancel=True
        )
        self._revision = Revision(current, newest_revision())
        self._database = await self.engines.read(read_database_status)
        if self.engines.is_postgresql:
            is_pooler_detected = await anyio.to_thread.run_sync(
                is_pooled, self.engines.reader, abandon_on_cancel=True
            )
            self._pooler = Pooler(is_pooler_detected, self._settings.db.transaction_pooler)
        if self._revision.current == self._revision.needed:
            self._queues = await self.engines.read(read_queue_status)

    async def read_notifications(self) -> None:
        """Check that a notification arrives, unless the database that carries it has failed."""
        carrier = _find_carrier(self._settings)
        if not self.engines.is_postgresql or (carrier == "database" and not self._database):
            return
        channel = open_notification_channel(self._settings, self.engines.address)
        expected: tuple[type[Exception], ...] = (*channel.errors, TimeoutError)
        try:
            are_arriving = await check_channel(channel)
        except expected:
            self._failures["notifications"] = (
                "notifications cannot be sent, so events of other processes come up to a second "
                f"late: look whether the server of {CARRIER_SETTINGS[carrier]} runs and can be "
                "reached"
            )
        else:
            self._notifications = Notifications(carrier, are_arriving, channel.advice)

    async def read_files(self) -> None:
        """Check that the blob store can be read and written."""
        await open_blob_store(self._settings.blobs, self._settings.data_dir).check()

    def build_report(self) -> StatusReport:
        """Return the report about everything that was read."""
        settings, quotas = self._settings, self._settings.quotas
        folders = (settings.data_dir, *settings.data_dir.absolute().parents)
        disk = shutil.disk_usage(next(folder for folder in folders if folder.exists()))
        return StatusReport(
            read_at=utc_now(),
            version=VERSION,
            python=platform.python_version(),
            database_location=self.engines.address.display_name,
            blobs_location=settings.blobs.url or str(settings.data_dir / "blobs"),
            disk=Disk(disk.free, disk.total),
            quotas=QuotaLimits(
                quotas.requests_per_minute, quotas.body_bytes_per_day, quotas.stored_bytes
            ),
            failures=self._failures,
            revision=self._revision,
            database=self._database,
            pooler=self._pooler,
            notifications=self._notifications,
            queues=self._queues,
        )


def _find_carrier(settings: Settings) -> Carrier:
    """Return what carries the notifications between processes, according to the settings."""
    if settings.events.redis_url is not None:
        return "redis"
    return "database" if settings.db.listen_url is None else "listen-url"
