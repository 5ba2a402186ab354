"""Both stores as a sweep finds them, and ways to do by hand what a write or a sweep does."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import anyio
import anyio.lowlevel
import obstore
from obstore.store import S3Store
from pydantic import SecretStr
from sqlalchemy import text

from app.config.settings import Settings
from app.models.resource_descriptor import derive_resource_id
from app.services.maintenance.sweep import Sweep
from app.stores.blobs.store import BlobStore, blob_path, quarantine_path
from app.stores.records.engine import Engines
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.swept_blobs import BlobClaim, SweptBlobRecords
from app.wiring.stores import migrate_database, open_blob_store, open_database
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.resource import MediaHints, Resource
from tests.kit.servers import SIGNING_KEY
from tests.kit.units import projects_of, reading

PROJECT = "p"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
_WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def resource_of(data: bytes, filename: str | None = None, project: str = PROJECT) -> Resource:
    digest = digest_of(data)
    return Resource(
        resource_id=derive_resource_id(project, digest, "text/plain", filename),
        digest=digest,
        mime_type="text/plain",
        filename=filename,
        size_bytes=len(data),
        kind="text",
        hints=MediaHints(),
        created_at=NOW,
    )


@dataclass(frozen=True)
class Stores:
    """The stores of one service, used without it."""

    settings: Settings
    engines: Engines
    records: Records
    blobs: BlobStore

    def sweep(self) -> Sweep:
        """A sweep of them, which leaves all events of the last days."""
        return Sweep(self.records, self.blobs, events_kept=timedelta(days=7), max_events=1_000_000)

    async def put(self, *bodies: bytes, project: str = PROJECT) -> None:
        """Do the first half of a write: the bytes are stored."""
        for data in bodies:
            await self.blobs.put(project, InMemoryMedia(data), limit_bytes=2**30)

    async def add_rows(self, *bodies: bytes, project: str = PROJECT) -> None:
        """Do the second half of a write: the rows are stored."""
        await self.records.write(
            project,
            lambda unit: unit[ResourceRecords].ensure_all(
                resource_of(data, project=project) for data in bodies
            ),
        )

    async def store(self, *bodies: bytes, project: str = PROJECT) -> None:
        """Write files as a service does."""
        await self.put(*bodies, project=project)
        await self.add_rows(*bodies, project=project)

    async def remove_row(self, data: bytes) -> None:
        """Delete a resource."""
        await self.records.write(
            PROJECT, lambda unit: unit[ResourceRecords].remove(resource_of(data).resource_id)
        )

    async def row_ids(self) -> set[str]:
        """The digests of all rows of the project."""
        async with reading(self.records, PROJECT) as unit:
            return {
                row.digest
                for row in await unit[ResourceRecords].list_resources(before=None, limit=10_000)
            }

    async def blob_ids(self, project: str = PROJECT) -> set[str]:
        """The digests of all blobs of the project."""
        return {blob.digest async for blob in self.blobs.list_blobs(project)}

    async def claim(self, *bodies: bytes) -> BlobClaim:
        """Do the first step of a removal."""
        claim = await self.records.write(
            PROJECT, lambda unit: unit[SweptBlobRecords].claim([digest_of(data) for data in bodies])
        )
        assert claim is not None
        return claim

    async def end(self, claim: BlobClaim) -> None:
        """Do the last step of a removal."""
        await self.records.write(
            PROJECT, lambda unit: unit[SweptBlobRecords].end_claim(claim, claim.digests)
        )

    async def delete(self, claim: BlobClaim) -> None:
        """Do the removal itself."""
        for digest in claim.digests:
            await self.blobs.delete(PROJECT, digest)

    async def let_pass(self, age: timedelta) -> None:
        """Make all claims as old as if that much time had passed."""
        microseconds = age // timedelta(microseconds=1)
        with self.engines.writer.begin() as connection:
            connection.execute(
                text(
                    "UPDATE swept_blobs SET claimed_at = claimed_at - :age, "
                    "swept_at = swept_at - :age"
                ),
                {"age": microseconds},
            )

    async def claims(self) -> int:
        """Return the number of stored claims."""
        with self.engines.reader.connect() as connection:
            counted = connection.execute(text("SELECT count(*) FROM swept_blobs"))
            return int(counted.scalar_one())

    async def until_one_waits(self) -> None:
        """Return when somebody waits for the lock of writes and sweeps.

        SQLite has one connection that writes, and whoever wants it next waits for it at once.
        """
        if self.settings.is_embedded_database:
            await anyio.lowlevel.checkpoint()
            return
        with anyio.fail_after(30):
            with self.engines.reader.connect() as connection:
                while not connection.execute(text(_WAITING)).scalar_one():
                    await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def opened_stores(settings: Settings) -> AsyncIterator[Stores]:
    """Fresh stores with two projects."""
    await migrate_database(settings)
    engines = open_database(settings)
    blobs = open_blob_store(settings.blobs, settings.data_dir)

    records = Records(engines, blob_size=blobs.size)
    try:
        async with projects_of(records) as projects:
            await projects.ensure(PROJECT, NOW)
            await projects.ensure("other", NOW)
        yield Stores(settings, engines, records, blobs)
    finally:
        await engines.close()


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the environment of a command for the stores of these settings."""
    given: dict[str, str | SecretStr | None] = {
        "PAGEFAULT_DATA_DIR": str(settings.data_dir),
        "PAGEFAULT_SIGNING_KEYS": SIGNING_KEY,
        "PAGEFAULT_DB__URL": settings.db.url,
        "PAGEFAULT_BLOBS__URL": settings.blobs.url,
        "PAGEFAULT_BLOBS__S3_ENDPOINT": settings.blobs.s3_endpoint,
        "PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID": settings.blobs.s3_access_key_id,
        "PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY": settings.blobs.s3_secret_access_key,
    }
    return {
        name: value.get_secret_value() if isinstance(value, SecretStr) else value
        for name, value in given.items()
        if value is not None
    }


@dataclass(frozen=True)
class ProjectFiles:
    """The files of one project, without the store: each is known by the bytes it should have."""

    behind: "BehindTheStore"
    project: str

    def write(self, data: bytes, instead: bytes) -> None:
        """Put other bytes in the place of a file."""
        self.behind.write(blob_path(self.project, digest_of(data)), instead)

    def remove(self, data: bytes) -> None:
        """Lose a file."""
        self.behind.remove(blob_path(self.project, digest_of(data)))

    def quarantine(self, data: bytes) -> None:
        """Do what a check does with a file that is damaged."""
        self.behind.write(quarantine_path(self.project, digest_of(data)), data)
        self.remove(data)


class BehindTheStore:
    """The blob store's objects, without the store."""

    def __init__(self, settings: Settings) -> None:
        self._root = settings.data_dir
        self._objects: S3Store | None = None
        if settings.blobs.url is not None:
            bucket, _, prefix = settings.blobs.url.removeprefix("s3://").partition("/")
            self._objects = S3Store(
                bucket,
                prefix=prefix,
                endpoint=settings.blobs.s3_endpoint,
                region=settings.blobs.s3_region,
                access_key_id="test",
                secret_access_key="test-secret",  # noqa: S106 - the server accepts any
                virtual_hosted_style_request=False,
                client_options={"allow_http": True},
            )

    def write(self, path: str, data: bytes) -> None:
        """Put an object there, in place of what is there."""
        if self._objects is None:
            (self._root / path).parent.mkdir(parents=True, exist_ok=True)
            (self._root / path).write_bytes(data)
        else:
            obstore.put(self._objects, path, data)

    def read(self, path: str) -> bytes | None:
        """An object's bytes, `None` if there is none."""
        try:
            if self._objects is None:
                return (self._root / path).read_bytes()
            return bytes(obstore.get(self._objects, path).bytes())
        except FileNotFoundError:
            return None

    def remove(self, path: str) -> None:
        """Lose an object."""
        if self._objects is None:
            (self._root / path).unlink()
        else:
            obstore.delete(self._objects, path)

    def names(self) -> list[str]:
        """The paths of all objects of a bucket; none if there is no bucket."""
        if self._objects is None:
            return []
        return [found["path"] for batch in obstore.list(self._objects) for found in batch]
