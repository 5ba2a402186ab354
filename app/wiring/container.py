"""Opens everything that has a lifetime, and hands the services their collaborators."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import anyio.to_thread

from app.config.settings import Settings
from app.services.access.callers import Access, LinkSigner
from app.services.agents.memory_tools import MemoryTools
from app.services.agents.tool_calls import ToolCalls
from app.services.agents.turns import Turns
from app.services.bundles.exporting import BundleExports
from app.services.bundles.importing import BundleImports
from app.services.concurrency.large_work import LargeWork
from app.services.doctor.doctor import Doctor
from app.services.events.feeds import RawResults
from app.services.fetching import Fetcher
from app.services.images.derived_images import DerivedImages
from app.services.images.image_work import ImageWork
from app.services.images.posters import Posters
from app.services.maintenance.fsck import StoreCheck
from app.services.maintenance.scrub import ReadingPace, Scrub, SlicedPeriod
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.request_bodies import BodyBudget
from app.services.memory_budget.responses import ResponseBudget
from app.services.pages.accesses import AccessCounts
from app.services.pages.changes import PageChanges
from app.services.pages.downloads import PageDownloads
from app.services.pages.faults import PageFaults
from app.services.pages.lists import PageLists
from app.services.pages.manifests import PageManifests
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
from app.services.renders.outlines import Outlines
from app.services.renders.renders import Renders
from app.services.renders.settling import Settling
from app.services.renders.working_sets import WorkingSets
from app.services.requests.streamed_bodies import RequestBodies, StreamedBodies
from app.services.requests.streamed_requests import StreamedRequests
from app.services.resources.aliases import Aliases
from app.services.resources.content_sources import ContentSources, OffloadRules
from app.services.resources.references import References
from app.services.resources.resources import Resources
from app.services.resources.texts import ResourceTexts
from app.services.search.indexing import SearchIndexing
from app.services.search.search import Search
from app.services.sessions.history import History
from app.services.sessions.interactions import Interactions
from app.services.sessions.messages import SessionMessages
from app.services.sessions.sessions import Sessions
from app.services.tool_results.tool_results import ToolResults
from app.services.uploads.uploads import Uploads
from app.stores.blobs import BlobStore
from app.stores.records import Records
from app.telemetry.metrics import Metrics
from app.wiring.event_streams import base_url_of, wired_streams
from app.wiring.signing_keys import signing_keys
from app.wiring.startup_errors import SettingError
from app.wiring.stores import open_blob_store, open_broker, open_checked_database, prove_blob_store
from app.wiring.sweep import open_stored_bytes, wired_sweep

# Longer than any upload that keeps the pace the limits ask for is likely to take.
_ABANDONED_UPLOAD_SECONDS = 24 * 3600.0
_POSTERS_AT_ONCE = 2


@asynccontextmanager
async def open_container(settings: Settings) -> AsyncIterator["Container"]:
    """Open both stores, bring the embedded database up to date, and wire the services.

    Raises:
        DataDirectoryError: The data directory cannot be made.
        OutdatedDatabaseError: A server's database has to be migrated first.
        MissingSigningKeysError: A server's database, and no keys to sign links with.
        SettingError: A setting makes no sense.
        StoreUnavailableError: A store does not answer, or refuses the service.
    """
    rules = offload_rules(settings)
    async with AsyncExitStack() as stack:
        engines = await stack.enter_async_context(open_checked_database(settings))
        blobs = open_blob_store(settings.blobs, settings.data_dir)
        broker = await stack.enter_async_context(open_broker(settings, engines))
        records = Records(engines, blob_size=blobs.size, announce=broker.announce)
        await prove_blob_store(blobs)
        await blobs.sweep_temporary(_ABANDONED_UPLOAD_SECONDS)
        links = LinkSigner(await anyio.to_thread.run_sync(signing_keys, settings))
        access = await _open_access(settings, records)
        stored_bytes = await stack.enter_async_context(open_stored_bytes(settings, records, blobs))
        container = Container(
            settings,
            records,
            blobs,
            stored_bytes=stored_bytes,
            content_sources=ContentSources(blobs, rules),
            access=access,
            links=links,
        )
        period = SlicedPeriod(settings.scrub.period_seconds)
        pace = ReadingPace(settings.scrub.bytes_per_second)
        scrub = Scrub(records, blobs, period, pace, container.metrics)
        await stack.enter_async_context(container.accesses.kept())
        await stack.enter_async_context(container.search_indexing.running())
        await stack.enter_async_context(container.event_streams.running(broker))
        await stack.enter_async_context(
            container.sweep.scheduled(
                interval_seconds=settings.sweep.interval_seconds,
                grace_seconds=settings.sweep.grace_seconds,
            )
        )
        await stack.enter_async_context(scrub.running())
        yield container


class Container:
    """The services, and what the HTTP edge needs to know of the settings.

    Args:
        settings: How the services are to be.
        records: The database.
        store: The blob store as it was opened, without the quota of what projects keep.
        stored_bytes: That quota, if there is one.
        content_sources: Who sends stored bytes.
        access: Which project a caller belongs to.
        links: Signs links.
    """

    def __init__(
        self,
        settings: Settings,
        records: Records,
        store: BlobStore,
        *,
        stored_bytes: StoredBytes | None,
        content_sources: ContentSources,
        access: Access,
        links: LinkSigner,
    ) -> None:
        blobs = store if stored_bytes is None else QuotaBlobStore(store, stored_bytes)
        self.records, self.blobs, self.access, self.links = records, blobs, access, links
        self.content_sources = content_sources
        self.limits = limits = settings.limits
        self.base_url = base_url_of(settings)
        # What signed links begin with.
        self.content_base_url = settings.content_url or self.base_url
        self.cross_origin_resource_policy = settings.cross_origin_resource_policy
        self.link_resource_policy = settings.link_resource_policy
        self.quotas = _quotas(settings)
        self.memory = memory = MemoryBudget(limits.memory_bytes)
        self.metrics = Metrics()
        self.metrics.watch_memory(lambda: memory.held_bytes)
        self.answers = ResponseBudget(memory)
        self.accesses = AccessCounts(records)
        self.search_indexing = SearchIndexing(records)
        self.search = Search(records, self.search_indexing)
        self.sweep = wired_sweep(settings, records, store, stored_bytes)
        self.store_check = StoreCheck(records, blobs)
        self.aliases = Aliases(records)
        self.sessions = Sessions(records, self.accesses)
        self.resources = Resources(records, blobs, limit_bytes=limits.medium_bytes)
        self.uploads = Uploads(records, blobs, limits=limits, stored_bytes=stored_bytes)
        self.history = History(records, blobs, self.answers, limits=limits)
        self.bundle_exports = BundleExports(records, blobs, self.accesses)
        self.bundle_imports = BundleImports(records, blobs, limits, stored_bytes)
        self._work = LargeWork(limits)
        self._images = ImageWork(memory, limits)
        self._checks = MediaChecks(blobs)
        budget = BodyBudget(memory, text_limit_bytes=limits.text_bytes)
        self._bodies = RequestBodies(self._work, budget)
        self._streamed = StreamedBodies(blobs, self._work, budget, limit_bytes=limits.medium_bytes)
        self._requests = StreamedRequests(self._streamed)
        self._wire_results(settings)
        self._wire_pages(settings)
        self._wire_conversations(settings)
        self._wire_agents()

    def _wire_results(self, settings: Settings) -> None:
        """Make what takes tool results in, and tells of them."""
        records, limits = self.records, self.limits
        raw_results = RawResults(is_enabled=settings.debug_tool_result_raw)
        self.event_streams = wired_streams(
            settings,
            records,
            self.access,
            raw_results=raw_results,
            metrics=self.metrics,
            memory=self.memory,
        )
        self.tool_results = ToolResults(
            records,
            MediaKeepers(self.blobs, limits.medium_bytes, self._checks),
            bodies=self._streamed,
            work=self._work,
            limits=limits,
            clock=self.metrics,
            raw_results=raw_results,
        )

    def _wire_pages(self, settings: Settings) -> None:
        """Make what writes and reads pages."""
        records, blobs, limits, accesses = self.records, self.blobs, self.limits, self.accesses
        preparer = PagePreparer(records, blobs, images=self._images, limits=limits)
        writer = PageWriter(records)
        self.page_reading = PageReading(
            records, blobs, preparer, accesses=accesses, checks=self._checks, limits=limits
        )
        self.pages = Pages(
            records, preparer, writer, bodies=self._requests, accesses=accesses, limits=limits
        )
        self.page_changes = PageChanges(
            records,
            preparer,
            writer,
            bodies=self._bodies,
            requests=self._requests,
            accesses=accesses,
            limits=limits,
        )
        self.page_faults = PageFaults(records, self.page_reading)
        self.page_lists = PageLists(records, accesses)
        self.page_manifests = PageManifests(records)
        self.page_downloads = PageDownloads(
            records,
            blobs,
            self.page_reading,
            _fetcher(settings),
            limits=limits,
            memory=self.memory,
        )

    def _wire_conversations(self, settings: Settings) -> None:
        """Make what keeps messages and interactions, and renders them for models."""
        records, blobs, limits = self.records, self.blobs, self.limits
        self.session_messages = SessionMessages(
            records, blobs, bodies=self._requests, limits=limits
        )
        self.interactions = Interactions(records, bodies=self._bodies, limits=limits)
        self.resource_texts = ResourceTexts(
            self.resources, blobs, work=self._work, memory=self.memory, limits=limits
        )
        self.references = References(
            records,
            blobs,
            links=self.links,
            content_base_url=self.content_base_url,
            bodies=self._bodies,
            work=self._work,
            limits=limits,
        )
        derived = DerivedImages(records, blobs, images=self._images, limits=limits)
        self.posters = Posters(blobs, derived, anyio.CapacityLimiter(_POSTERS_AT_ONCE))
        settling = Settling(
            records,
            MediaLoader(blobs, derived, self._checks),
            links=self.links,
            content_base_url=settings.content_url or settings.public_url,
            limits=limits,
        )
        self.renders = Renders(
            records,
            blobs,
            reading=self.page_reading,
            settling=settling,
            manifests=self.page_manifests,
        )
        self.working_sets = WorkingSets(self.renders)
        self.outlines = Outlines(records, self.answers)
        budget = BodyBudget(self.memory, text_limit_bytes=limits.history_bytes)
        self.doctor = Doctor(
            records,
            blobs,
            settling=settling,
            bodies=RequestBodies(self._work, budget),
            limits=limits,
        )

    def _wire_agents(self) -> None:
        """Make what runs the tools of models."""
        tools = MemoryTools(
            self.records,
            self.blobs,
            faults=self.page_faults,
            lists=self.page_lists,
            pages=self.pages,
            texts=self.resource_texts,
        )
        self.tool_calls = ToolCalls(
            self.records,
            tools,
            messages=self.session_messages,
            results=self.tool_results,
            renders=self.renders,
            bodies=self._bodies,
            limits=self.limits,
        )
        self.turns = Turns(
            self.records,
            self.blobs,
            messages=self.session_messages,
            results=self.tool_results,
            tool_calls=self.tool_calls,
            renders=self.renders,
            bodies=self._bodies,
            limits=self.limits,
        )


def offload_rules(settings: Settings) -> OffloadRules:
    """Return the configured rules.

    Raises:
        SettingError: They need another blob store, or keys to sign with.
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
        # What roles and the environment give is seen by the client of the store only.
        raise SettingError(
            "PAGEFAULT_CONTENT__REDIRECT_BYTES needs PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID and "
            "PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY: no other keys can sign how the store answers."
        )
    return OffloadRules(
        proxy_prefix=content.accel_prefix,
        redirect_bytes=content.redirect_bytes,
        redirect_seconds=content.redirect_seconds,
    )


def _quotas(settings: Settings) -> Quotas | None:
    """Return what counts for each key; `None` where nothing is to be counted."""
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
