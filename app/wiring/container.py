"""Opens everything that has a lifetime, and hands the services their collaborators."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import anyio.to_thread

from app.config.settings import ResourcePolicy, Settings
from app.models.limits import Limits
from app.services.access.callers import Access
from app.services.access.signed_links import LinkSigner
from app.services.bundles.exporting import BundleExports
from app.services.bundles.importing import BundleImports
from app.services.concurrency.large_work import LargeWork
from app.services.events.raw_results import RawResults
from app.services.events.streams import EventStreams
from app.services.fetching import Fetcher
from app.services.images.derived_images import DerivedImages
from app.services.images.image_work import ImageWork
from app.services.maintenance.fsck import StoreCheck
from app.services.maintenance.scrub import Scrub
from app.services.maintenance.sweep import Sweep
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.request_bodies import BodyBudget
from app.services.memory_budget.responses import ResponseBudget
from app.services.pages.accesses import AccessCounts
from app.services.pages.changes import PageChanges
from app.services.pages.downloads import PageDownloads
from app.services.pages.faults import PageFaults
from app.services.pages.lists import PageLists
from app.services.pages.pages import Pages
from app.services.pages.preparing import PagePreparer
from app.services.pages.reading import PageReading
from app.services.pages.writing import PageWriter
from app.services.persistence.media_checks import MediaChecks
from app.services.persistence.media_keeper import MediaKeepers
from app.services.quotas.key_quotas import Quotas
from app.services.quotas.quota_blob_store import QuotaBlobStore
from app.services.quotas.stored_bytes import StoredBytes
from app.services.renders.media_loader import MediaLoader
from app.services.renders.renders import Renders
from app.services.requests.streamed_bodies import RequestBodies, StreamedBodies
from app.services.requests.streamed_requests import StreamedRequests
from app.services.resources.aliases import Aliases
from app.services.resources.content_sources import ContentSources
from app.services.resources.references import References
from app.services.resources.resources import Resources
from app.services.resources.texts import ResourceTexts
from app.services.sessions.history import History
from app.services.sessions.interactions import Interactions
from app.services.sessions.messages import SessionMessages
from app.services.sessions.sessions import Sessions
from app.services.tool_results.tool_results import ToolResults
from app.services.uploads.uploads import Uploads
from app.stores.blobs import BlobStore
from app.stores.records import Records
from app.telemetry.metrics import Metrics
from app.wiring.content_sources import offload_rules
from app.wiring.event_streams import base_url_of, wired_streams
from app.wiring.signing_keys import signing_keys
from app.wiring.startup_errors import SettingError
from app.wiring.stores import (
    check_schema,
    make_data_dir,
    open_blob_store,
    open_broker,
    open_database,
    prove_blob_store,
)
from app.wiring.sweep import open_stored_bytes, wired_sweep

# Longer than any upload that keeps the pace the limits ask for is likely to take.
_ABANDONED_UPLOAD_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Container:
    """The services, and what the HTTP edge needs to know of the settings."""

    access: Access
    quotas: Quotas | None
    links: LinkSigner
    tool_results: ToolResults
    resources: Resources
    aliases: Aliases
    content_sources: ContentSources
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
    event_streams: EventStreams
    sweep: Sweep
    store_check: StoreCheck
    records: Records
    blobs: BlobStore
    metrics: Metrics
    memory: MemoryBudget
    answers: ResponseBudget
    limits: Limits
    base_url: str
    content_base_url: str
    """What signed links begin with."""
    cross_origin_resource_policy: ResourcePolicy
    link_resource_policy: ResourcePolicy


@asynccontextmanager
async def open_container(settings: Settings) -> AsyncIterator[Container]:
    """Open both stores, bring the embedded database up to date, and wire the services.

    Raises:
        DataDirectoryError: The data directory cannot be made.
        OutdatedDatabaseError: A server's database has to be migrated first.
        MissingSigningKeysError: A server's database, and no keys to sign links with.
        SettingError: A setting makes no sense.
        StoreUnavailableError: A store does not answer, or refuses the service.
    """
    rules = offload_rules(settings)
    await anyio.to_thread.run_sync(make_data_dir, settings.data_dir)
    async with AsyncExitStack() as stack:
        engines = open_database(settings)
        stack.push_async_callback(engines.close)
        await check_schema(settings, engines)
        blobs = open_blob_store(settings.blobs, settings.data_dir)
        broker = await stack.enter_async_context(open_broker(settings, engines))
        records = Records(engines, blob_size=blobs.size, announce=broker.announce)
        await prove_blob_store(blobs)
        await blobs.sweep_temporary(_ABANDONED_UPLOAD_SECONDS)
        keys = await anyio.to_thread.run_sync(signing_keys, settings)
        access = await _open_access(settings, records)
        stored_bytes = await stack.enter_async_context(open_stored_bytes(settings, records, blobs))
        accesses = AccessCounts(records)
        await stack.enter_async_context(accesses.kept())
        raw_results = RawResults(is_enabled=settings.debug_tool_result_raw)
        metrics = Metrics()
        memory = MemoryBudget(settings.limits.memory_bytes)
        metrics.watch_memory(lambda: memory.held_bytes)
        event_streams = wired_streams(
            settings, records, access, raw_results=raw_results, metrics=metrics, memory=memory
        )
        await stack.enter_async_context(event_streams.running(broker))
        sweep = wired_sweep(settings, records, blobs, stored_bytes)
        await stack.enter_async_context(
            sweep.scheduled(
                interval_seconds=settings.sweep.interval_seconds,
                grace_seconds=settings.sweep.grace_seconds,
            )
        )
        scrub = Scrub(records, blobs, **settings.scrub.model_dump(), counts=metrics)
        await stack.enter_async_context(scrub.running())
        opened = _Opened(
            records=records,
            blobs=blobs if stored_bytes is None else QuotaBlobStore(blobs, stored_bytes),
            stored_bytes=stored_bytes,
            content_sources=ContentSources(blobs, rules),
            access=access,
            links=LinkSigner(keys),
            accesses=accesses,
            sweep=sweep,
            event_streams=event_streams,
            raw_results=raw_results,
            metrics=metrics,
            memory=memory,
        )
        yield _wired(settings, opened)


@dataclass(frozen=True, slots=True)
class _Opened:
    """What has a lifetime, or is shared by what has."""

    records: Records
    blobs: BlobStore
    stored_bytes: StoredBytes | None
    content_sources: ContentSources
    access: Access
    links: LinkSigner
    accesses: AccessCounts
    sweep: Sweep
    event_streams: EventStreams
    raw_results: RawResults
    metrics: Metrics
    memory: MemoryBudget


def _wired(settings: Settings, opened: _Opened) -> Container:
    """The services over what has been opened; nothing here has a lifetime of its own."""
    records, blobs, accesses = opened.records, opened.blobs, opened.accesses
    links = opened.links
    limits = settings.limits
    base_url = base_url_of(settings)
    content_base_url = settings.content_url or base_url
    metrics = opened.metrics
    resources = Resources(records, blobs, limit_bytes=limits.medium_bytes)
    work = LargeWork(limits)
    budget = BodyBudget(opened.memory, text_limit_bytes=limits.text_bytes)
    streamed = StreamedBodies(blobs, work, budget, limit_bytes=limits.medium_bytes)
    requests = StreamedRequests(streamed, work)
    bodies = RequestBodies(work, budget)
    images = ImageWork(opened.memory, limits)
    answers = ResponseBudget(opened.memory)
    preparer = PagePreparer(records, blobs, images=images, limits=limits)
    writer = PageWriter(records)
    checks = MediaChecks(blobs)
    reading = PageReading(records, blobs, preparer, accesses=accesses, checks=checks, limits=limits)
    return Container(
        access=opened.access,
        quotas=_quotas(settings),
        links=links,
        tool_results=_tool_results(opened, streamed, work, limits, checks=checks),
        resources=resources,
        aliases=Aliases(records),
        content_sources=opened.content_sources,
        resource_texts=ResourceTexts(
            resources, blobs, work=work, memory=opened.memory, limits=limits
        ),
        references=References(
            records,
            blobs,
            links=links,
            content_base_url=content_base_url,
            bodies=bodies,
            work=work,
            limits=limits,
        ),
        uploads=Uploads(records, blobs, limits=limits, stored_bytes=opened.stored_bytes),
        sessions=Sessions(records, accesses),
        session_messages=SessionMessages(records, blobs, bodies=requests, limits=limits),
        interactions=Interactions(records, bodies=bodies, limits=limits),
        history=History(records, blobs, answers, limits=limits),
        renders=_renders(
            settings, records, blobs=blobs, reading=reading, links=links, images=images
        ),
        bundle_exports=BundleExports(records, blobs, accesses),
        bundle_imports=BundleImports(records, blobs, limits, opened.stored_bytes),
        pages=Pages(records, preparer, writer, bodies=requests, accesses=accesses, limits=limits),
        page_changes=PageChanges(
            records,
            preparer,
            writer,
            bodies=bodies,
            requests=requests,
            accesses=accesses,
            limits=limits,
        ),
        page_reading=reading,
        page_faults=PageFaults(records, reading),
        page_lists=PageLists(records, accesses),
        page_downloads=PageDownloads(
            records, blobs, reading, _fetcher(settings), limits=limits, memory=opened.memory
        ),
        event_streams=opened.event_streams,
        sweep=opened.sweep,
        store_check=StoreCheck(records, blobs),
        records=records,
        blobs=blobs,
        metrics=metrics,
        memory=opened.memory,
        answers=answers,
        limits=limits,
        base_url=base_url,
        content_base_url=content_base_url,
        cross_origin_resource_policy=settings.cross_origin_resource_policy,
        link_resource_policy=settings.link_resource_policy,
    )


def _tool_results(
    opened: _Opened,
    bodies: StreamedBodies,
    work: LargeWork,
    limits: Limits,
    *,
    checks: MediaChecks,
) -> ToolResults:
    return ToolResults(
        opened.records,
        MediaKeepers(opened.blobs, limits.medium_bytes, checks),
        bodies=bodies,
        work=work,
        limits=limits,
        clock=opened.metrics,
        raw_results=opened.raw_results,
    )


def _renders(
    settings: Settings,
    records: Records,
    *,
    blobs: BlobStore,
    reading: PageReading,
    links: LinkSigner,
    images: ImageWork,
) -> Renders:
    limits = settings.limits
    derived = DerivedImages(records, blobs, images=images, limits=limits)
    return Renders(
        records,
        blobs,
        reading=reading,
        media_loader=MediaLoader(blobs, derived, reading.checks),
        links=links,
        content_base_url=settings.content_url or settings.public_url,
        limits=limits,
    )


def _quotas(settings: Settings) -> Quotas | None:
    """What counts for each key; `None` where nothing is to be counted."""
    quotas = settings.quotas
    if not (quotas.requests_per_minute or quotas.body_bytes_per_day):
        return None
    return Quotas(
        requests_per_minute=quotas.requests_per_minute,
        body_bytes_per_day=quotas.body_bytes_per_day,
    )


async def _open_access(settings: Settings, records: Records) -> Access:
    default_project = settings.default_project if settings.auth == "none" else None
    access = Access(records, default_project)
    if default_project is not None:
        await access.ensure_project(default_project)
    return access


def _fetcher(settings: Settings) -> Fetcher:
    try:
        return Fetcher(settings.fetch)
    except ValueError as exc:
        raise SettingError(f"PAGEFAULT_FETCH__ALLOW: {exc}") from exc
