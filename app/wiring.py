"""Opens everything that has a lifetime, and hands the services their collaborators."""

import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import anyio.to_thread

from app.models.fetch_policy import FetchPolicy
from app.models.limits import Limits
from app.services.access import Access, LinkSigner, SigningKey
from app.services.bundles.exporting import BundleExports
from app.services.bundles.importing import BundleImports
from app.services.derived_images import DerivedImages
from app.services.fetching import Fetcher
from app.services.history import History
from app.services.interactions import Interactions
from app.services.large_work import LargeWork
from app.services.pages.accesses import AccessCounts
from app.services.pages.changes import PageChanges
from app.services.pages.downloads import PageDownloads
from app.services.pages.faults import PageFaults
from app.services.pages.lists import PageLists
from app.services.pages.pages import Pages
from app.services.pages.preparing import PagePreparer
from app.services.pages.reading import PageReading
from app.services.references import References
from app.services.renders.gathering import Gathering
from app.services.renders.renders import Renders
from app.services.request_bodies import RequestBodies
from app.services.resource_texts import ResourceTexts
from app.services.resources import Resources
from app.services.session_messages import SessionMessages
from app.services.sessions import Sessions
from app.services.store_check import StoreCheck
from app.services.sweep import Sweep
from app.services.tool_results import ToolResults
from app.services.uploads import Uploads
from app.settings import BlobSettings, ResourcePolicy, Settings
from app.stores.blobs import BlobStore, FilesystemBlobStore, S3BlobStore
from app.stores.records import Records
from app.stores.records.engine import Engines, database_url, open_engines
from app.stores.records.migration import current_revision, migrate, newest_revision
from app.telemetry import Metrics

# Longer than any upload that keeps the pace the limits ask for is likely to take.
_ABANDONED_UPLOAD_SECONDS = 24 * 3600.0


class OutdatedDatabaseError(Exception):
    """The server's database is not at the revision this version needs."""

    def __init__(self, current: str | None, needed: str) -> None:
        super().__init__(
            f"the database is at revision {current or 'none'}, this version needs {needed}: run "
            "`pagefault migrate` with the same settings, once, then start again"
        )


class SettingError(ValueError):
    """A setting that has the right type and still makes no sense."""


class DataDirectoryError(Exception):
    """The data directory cannot be made."""

    def __init__(self, data_dir: Path, reason: str) -> None:
        super().__init__(f"cannot make the data directory {data_dir}: {reason}")


class MissingSigningKeysError(Exception):
    """Several machines would each sign links with a key the others do not know."""

    def __init__(self) -> None:
        super().__init__(
            "a server database means several machines may serve: set "
            "PAGEFAULT_SIGNING_KEYS=k1:<at least 32 random characters>, the same on all of them "
            "(`openssl rand -hex 32` makes some)"
        )


@dataclass(frozen=True, slots=True)
class Container:
    """The services, and what the HTTP edge needs to know of the settings."""

    access: Access
    links: LinkSigner
    tool_results: ToolResults
    resources: Resources
    resource_texts: ResourceTexts
    references: References
    uploads: Uploads
    sessions: Sessions
    session_messages: SessionMessages
    interactions: Interactions
    history: History
    renders: Renders
    bundle_exports: BundleExports
    bundle_imports: BundleImports
    pages: Pages
    page_changes: PageChanges
    page_reading: PageReading
    page_faults: PageFaults
    page_lists: PageLists
    page_downloads: PageDownloads
    sweep: Sweep
    store_check: StoreCheck
    records: Records
    blobs: BlobStore
    metrics: Metrics
    limits: Limits
    base_url: str
    cross_origin_resource_policy: ResourcePolicy


@asynccontextmanager
async def open_container(settings: Settings) -> AsyncIterator[Container]:
    """Open both stores, bring the embedded database up to date, and wire the services.

    Raises:
        DataDirectoryError: The data directory cannot be made.
        OutdatedDatabaseError: A server's database has to be migrated first.
        MissingSigningKeysError: A server's database, and no keys to sign links with.
        SettingError: A setting makes no sense.
        StoreUnavailableError: A store does not answer.
    """
    await anyio.to_thread.run_sync(_make_data_dir, settings.data_dir)
    async with AsyncExitStack() as stack:
        engines = open_database(settings)
        stack.push_async_callback(engines.close)
        await _check_schema(settings, engines)
        blobs = open_blob_store(settings.blobs, settings.data_dir)
        records = Records(engines, blob_exists=partial(_exists, blobs))
        await blobs.sweep_temporary(_ABANDONED_UPLOAD_SECONDS)
        keys = await anyio.to_thread.run_sync(_signing_keys, settings)
        default_project = settings.default_project if settings.auth == "none" else None
        access = Access(records, default_project)
        if default_project is not None:
            await access.ensure_project(default_project)
        accesses = AccessCounts(records)
        await stack.enter_async_context(accesses.kept())
        sweep = Sweep(records, blobs)
        await stack.enter_async_context(
            sweep.scheduled(
                interval_seconds=settings.sweep.interval_seconds,
                grace_seconds=settings.sweep.grace_seconds,
            )
        )
        links = LinkSigner(keys)
        yield _wired(
            settings,
            records,
            blobs=blobs,
            access=access,
            links=links,
            accesses=accesses,
            sweep=sweep,
        )


def _wired(
    settings: Settings,
    records: Records,
    *,
    blobs: BlobStore,
    access: Access,
    links: LinkSigner,
    accesses: AccessCounts,
    sweep: Sweep,
) -> Container:
    """The services over what has been opened; nothing here has a lifetime of its own."""
    limits = _limits(settings)
    base_url = settings.public_url or f"http://{_bracketed(settings.host)}:{settings.port}"
    resources = Resources(records, blobs, limit_bytes=limits.medium_bytes)
    metrics = Metrics()
    work = LargeWork(limits)
    bodies = RequestBodies(work)
    preparer = PagePreparer(records, blobs, limits)
    reading = PageReading(records, preparer, accesses=accesses, limits=limits)
    return Container(
        access=access,
        links=links,
        tool_results=ToolResults(records, blobs, bodies=bodies, limits=limits, clock=metrics),
        resources=resources,
        resource_texts=ResourceTexts(resources, blobs, work=work, limits=limits),
        references=References(
            records,
            blobs,
            links=links,
            base_url=base_url,
            bodies=bodies,
            work=work,
            limits=limits,
        ),
        uploads=Uploads(records, blobs, limits=limits),
        sessions=Sessions(records, accesses),
        session_messages=SessionMessages(records, blobs, bodies=bodies, limits=limits),
        interactions=Interactions(records, bodies=bodies, limits=limits),
        history=History(records, blobs, limits),
        renders=_renders(settings, records, blobs=blobs, reading=reading, links=links),
        bundle_exports=BundleExports(records, blobs, accesses),
        bundle_imports=BundleImports(records, blobs, limits),
        pages=Pages(records, preparer, bodies=bodies, accesses=accesses, limits=limits),
        page_changes=PageChanges(
            records, preparer, bodies=bodies, accesses=accesses, limits=limits
        ),
        page_reading=reading,
        page_faults=PageFaults(records, preparer, reading, limits=limits),
        page_lists=PageLists(records, accesses),
        page_downloads=PageDownloads(records, blobs, reading, _fetcher(settings), limits=limits),
        sweep=sweep,
        store_check=StoreCheck(records, blobs),
        records=records,
        blobs=blobs,
        metrics=metrics,
        limits=limits,
        base_url=base_url,
        cross_origin_resource_policy=settings.cross_origin_resource_policy,
    )


def _renders(
    settings: Settings,
    records: Records,
    *,
    blobs: BlobStore,
    reading: PageReading,
    links: LinkSigner,
) -> Renders:
    limits = _limits(settings)
    return Renders(
        records,
        blobs,
        reading=reading,
        gathering=Gathering(blobs, DerivedImages(records, blobs, limits)),
        links=links,
        public_url=settings.public_url,
        limits=limits,
    )


@asynccontextmanager
async def open_access(settings: Settings) -> AsyncIterator[Access]:
    """Only what the `keys` commands need: the database, up to date."""
    await anyio.to_thread.run_sync(_make_data_dir, settings.data_dir)
    engines = open_database(settings)
    try:
        await _check_schema(settings, engines)
        yield Access(Records(engines), None)
    finally:
        await engines.close()


async def migrate_database(settings: Settings) -> tuple[str | None, str]:
    """Bring the database to this version's revision; returns the one before and the one after."""
    await anyio.to_thread.run_sync(_make_data_dir, settings.data_dir)
    engines = open_database(settings)
    try:
        return await migrate(engines.writer)
    finally:
        await engines.close()


def open_database(settings: Settings) -> Engines:
    """Engines over the configured database; nothing is connected yet."""
    url = settings.db.url.get_secret_value() if settings.db.url else None
    return open_engines(
        database_url(url, settings.data_dir),
        pool_size=settings.db.pool_size,
        timeout_seconds=settings.db.timeout_seconds,
    )


def open_blob_store(settings: BlobSettings, data_dir: Path) -> BlobStore:
    """The configured blob store; nothing is connected yet.

    Raises:
        SettingError: The URL names a store that is not supported.
    """
    if settings.url is None:
        return FilesystemBlobStore(data_dir)
    url = urlsplit(settings.url)
    if url.scheme != "s3" or not url.netloc:
        raise SettingError("PAGEFAULT_BLOBS__URL must look like s3://bucket or s3://bucket/prefix")
    key_id, secret = settings.s3_access_key_id, settings.s3_secret_access_key
    return S3BlobStore(
        bucket=url.netloc,
        prefix=url.path.strip("/"),
        endpoint=settings.s3_endpoint,
        region=settings.s3_region,
        access_key_id=key_id.get_secret_value() if key_id else None,
        secret_access_key=secret.get_secret_value() if secret else None,
    )


async def _check_schema(settings: Settings, engines: Engines) -> None:
    if settings.is_embedded_database:
        await migrate(engines.writer)
        return
    current = await current_revision(engines.reader)
    needed = await anyio.to_thread.run_sync(newest_revision)
    if current != needed:
        raise OutdatedDatabaseError(current, needed)


def _make_data_dir(data_dir: Path) -> None:
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise DataDirectoryError(data_dir, os.strerror(exc.errno or 0)) from exc


def _signing_keys(settings: Settings) -> Sequence[SigningKey]:
    configured = [key.get_secret_value() for key in settings.signing_keys]
    if not configured and not settings.is_embedded_database:
        raise MissingSigningKeysError
    if not configured:
        configured = [_own_signing_key(settings.data_dir / "signing-key")]
    return [
        SigningKey(key_id, secret.encode())
        for key_id, _, secret in (key.partition(":") for key in configured)
    ]


def _own_signing_key(path: Path) -> str:
    """The data directory's own key, made on first use and readable by the owner only."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    if not path.exists():
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"own:{secrets.token_urlsafe(48)}")
            file.flush()
            os.fsync(descriptor)
        try:
            # A link, not a rename: of two workers that start at once, the first one's key stays.
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text().strip()


async def _exists(blobs: BlobStore, project_id: str, digest: str) -> bool:
    return await blobs.size(project_id, digest) is not None


def _fetcher(settings: Settings) -> Fetcher:
    try:
        return Fetcher(FetchPolicy(**settings.fetch.model_dump()))
    except ValueError as exc:
        raise SettingError(f"PAGEFAULT_FETCH__ALLOW: {exc}") from exc


def _limits(settings: Settings) -> Limits:
    return Limits(**settings.limits.model_dump())


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
