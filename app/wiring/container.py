"""Opens everything that has a lifetime, and hands the services their collaborators."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.config.settings import Settings
from app.services.agents.turns import SessionTurns
from app.services.bundles.exporting import BundleExports
from app.services.bundles.importing import BundleImports
from app.services.concurrency.background import run_beside
from app.services.doctor.doctor import Doctor
from app.services.fetching import Fetcher
from app.services.images.posters import Posters
from app.services.maintenance.fsck import StoreCheck
from app.services.maintenance.scrub import ReadingPace, Scrub, SlicedPeriod
from app.services.memory_budget.freed_memory import trim_freed_memory
from app.services.memory_budget.garbage import GarbageCollector
from app.services.memory_budget.request_bodies import BodyBudget
from app.services.memory_budget.responses import ResponseBudget
from app.services.pages.changes import PageChanges
from app.services.pages.downloads import PageDownloads
from app.services.quotas.key_quotas import Quotas
from app.services.renders.outlines import Outlines
from app.services.renders.working_sets import WorkingSets
from app.services.requests.streamed_bodies import RequestBodies
from app.services.resources.aliases import Aliases
from app.services.resources.content_sources import ContentSources, OffloadRules
from app.services.resources.references import ReferenceResolver
from app.services.search.search import Search
from app.services.sessions.history import History
from app.services.sessions.interactions import Interactions
from app.services.sessions.sessions import Sessions
from app.services.uploads.uploads import Uploads
from app.telemetry.metrics import Metrics
from app.wiring.event_streams import base_url_of, wired_streams
from app.wiring.memory_services import MemoryServices, OpenStores, open_stores
from app.wiring.startup_errors import SettingError
from app.wiring.sweep import wired_sweep


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
    async with open_stores(settings) as stores:
        container = Container(settings, stores, rules)
        period = SlicedPeriod(settings.scrub.period_seconds)
        pace = ReadingPace(settings.scrub.bytes_per_second)
        scrub = Scrub(stores.records, stores.blobs, period, pace, container.metrics)
        async with (
            container.accesses.kept(),
            container.search_indexing.running(),
            container.event_streams.running(stores.broker),
            container.sweep.scheduled(
                interval_seconds=settings.sweep.interval_seconds,
                grace_seconds=settings.sweep.grace_seconds,
            ),
            scrub.running(),
            container.images.running(),
            run_beside(trim_freed_memory(container.memory)),
            run_beside(GarbageCollector().run()),
        ):
            yield container


class Container(MemoryServices):
    """The services, and what the HTTP edge needs to know of the settings.

    Args:
        settings: How the services are to be.
        stores: The stores they work on.
        rules: Who sends stored bytes.
    """

    def __init__(self, settings: Settings, stores: OpenStores, rules: OffloadRules) -> None:
        self.metrics = metrics = Metrics()
        super().__init__(settings, stores, clock=metrics)
        records, blobs, limits, memory = self.records, self.blobs, self.limits, self.memory
        stored_bytes = stores.stored_bytes
        self.content_sources = ContentSources(stores.blobs, rules)
        self.base_url = base_url_of(settings)
        # What signed links begin with.
        self.content_base_url = settings.content_url or self.base_url
        self.cross_origin_resource_policy = settings.cross_origin_resource_policy
        self.link_resource_policy = settings.link_resource_policy
        self.quotas = _quotas(settings)
        metrics.watch_memory(lambda: memory.held_bytes)
        self.answers = ResponseBudget(memory)
        self.search = Search(records, self.search_indexing)
        self.sweep = wired_sweep(settings, records, stores.blobs, stored_bytes)
        self.store_check = StoreCheck(records, blobs)
        self.aliases = Aliases(records)
        self.sessions = Sessions(records, self.accesses)
        self.uploads = Uploads(records, blobs, limits=limits, stored_bytes=stored_bytes)
        self.history = History(records, blobs, self.answers, limits=limits)
        self.bundle_exports = BundleExports(records, blobs, self.accesses)
        self.bundle_imports = BundleImports(records, blobs, limits, stored_bytes)
        self.event_streams = wired_streams(
            settings,
            records,
            self.access,
            raw_results=self._raw_results,
            metrics=metrics,
            memory=memory,
        )
        self._wire_changes_of_pages(settings)
        self._wire_conversations()

    def _wire_changes_of_pages(self, settings: Settings) -> None:
        """Make what changes pages, and what sends them."""
        self.page_changes = PageChanges(
            self.records,
            self._preparer,
            self._writer,
            bodies=self.bodies,
            requests=self._requests,
            accesses=self.accesses,
            limits=self.limits,
        )
        self.page_downloads = PageDownloads(
            self.records,
            self.blobs,
            self.page_reading,
            _fetcher(settings),
            limits=self.limits,
            memory=self.memory,
        )

    def _wire_conversations(self) -> None:
        """Make what examines and answers conversations."""
        records, blobs, limits = self.records, self.blobs, self.limits
        self.interactions = Interactions(records, bodies=self.bodies, limits=limits)
        self.references = ReferenceResolver(
            records,
            blobs,
            links=self.links,
            content_base_url=self.content_base_url,
            bodies=self.bodies,
            work=self.large_work,
            limits=limits,
        )
        self.posters = Posters(blobs, self._derived, memory=self.memory)
        self.working_sets = WorkingSets(self.renders)
        self.outlines = Outlines(records, self.answers)
        budget = BodyBudget(self.memory, text_limit_bytes=limits.history_bytes)
        self.doctor = Doctor(
            records,
            blobs,
            settling=self._settling,
            bodies=RequestBodies(self.large_work, budget),
            limits=limits,
        )
        self.turns = SessionTurns(
            records,
            blobs,
            messages=self.session_messages,
            results=self.tool_results,
            tool_calls=self.tool_calls,
            renders=self.renders,
            bodies=self.bodies,
            limits=limits,
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


def _fetcher(settings: Settings) -> Fetcher:
    try:
        return Fetcher(settings.fetch)
    except ValueError as exc:
        raise SettingError(f"PAGEFAULT_FETCH__ALLOW: {exc}") from exc
