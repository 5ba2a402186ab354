"""Providers of the services that only the server needs: for each feature, one sequence."""

from app.config.settings import Settings
from app.models.limits import Limits
from app.services.access.callers import LinkSigner
from app.services.access.published_content import PublishedContent
from app.services.agents.compactions import DEFAULT_MAX_TOKENS, Compactions
from app.services.agents.conversation_puts import ConversationPuts
from app.services.agents.conversation_units import StoredConversations
from app.services.agents.history_contents import HistoryContents
from app.services.agents.history_texts import HistoryTexts
from app.services.agents.memory_tools import MemoryTools
from app.services.agents.prepared_calls import CallPreparer
from app.services.agents.references import ReferenceResolver
from app.services.agents.session_turns import SessionTurns
from app.services.agents.text_reader import TextReader
from app.services.agents.tool_calls import ToolCalls
from app.services.concurrency.large_work import LargeWork
from app.services.fetching import Fetcher
from app.services.images.derived_images import DerivedImages
from app.services.images.posters import Posters
from app.services.media.media_checks import MediaChecks
from app.services.pages.accesses import AccessCounts
from app.services.pages.changes import PageChanges
from app.services.pages.downloads import PageDownloads
from app.services.pages.faults import PageFaults
from app.services.pages.manifests import PageManifests
from app.services.pages.page_lists import PageLists
from app.services.pages.page_preparer import PagePreparer
from app.services.pages.page_reading import PageReading
from app.services.pages.page_views import PageViews
from app.services.pages.page_writer import PageWriter
from app.services.pages.pages import Pages
from app.services.renders.media_loader import MediaLoader
from app.services.renders.new_entries import NewEntries
from app.services.renders.outlines import Outlines
from app.services.renders.renders import Renders
from app.services.renders.session_renders import SessionRenders
from app.services.renders.session_windows import SessionWindows
from app.services.renders.tool_result_renders import ToolResultRenders
from app.services.renders.turn_cache import TurnCache
from app.services.renders.turn_resolver import TurnResolver
from app.services.renders.working_sets import WorkingSets
from app.services.requests.whole_bodies import RequestBodies
from app.services.resources.aliases import Aliases
from app.services.resources.content_sources import ContentSources, OffloadRules
from app.services.resources.resources import Resources
from app.services.resources.texts import ResourceTexts
from app.services.search.called_tools import CalledTools
from app.services.search.indexing import SearchIndexing
from app.services.search.search import Search
from app.services.sessions.messages import SessionMessages
from app.services.tool_results.tool_results import ToolResults
from app.services.uploads.uploads import Uploads
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.telemetry.metrics import Metrics
from app.wiring.open_stores import Stores
from app.wiring.services import Provider, Services
from app.wiring.startup_errors import SettingError


def _create_resources(services: Services) -> Resources:
    limit_bytes = services[Limits].medium_bytes
    return Resources(services[Records], services[BlobStore], limit_bytes=limit_bytes)


RESOURCES = (
    Provider(
        ContentSources,
        lambda services: ContentSources(services[Stores].blobs, services[OffloadRules]),
    ),
    Provider(Resources, _create_resources),
    Provider(ResourceTexts),
    Provider(Aliases),
    Provider(DerivedImages),
    Provider(Posters),
)


def _create_fetcher(services: Services) -> Fetcher:
    try:
        return Fetcher(services[Settings].fetch)
    except ValueError as exc:
        raise SettingError(f"PAGEFAULT_FETCH__ALLOW: {exc}") from exc


PAGES = (
    Provider(AccessCounts, lifespan=lambda services: services[AccessCounts].lifespan()),
    Provider(PagePreparer),
    Provider(PageWriter),
    Provider(PageReading),
    Provider(Pages),
    Provider(PageChanges),
    Provider(Fetcher, _create_fetcher),
    Provider(PageViews, lambda services: services[PageReading]),
    Provider(PageDownloads),
    Provider(PageFaults),
    Provider(PageLists),
    Provider(PageManifests),
)


SEARCH = (
    Provider(
        SearchIndexing,
        lambda services: SearchIndexing(services[Records], services[Metrics]),
        lifespan=lambda services: services[SearchIndexing].lifespan(),
    ),
    Provider(Search),
    Provider(CalledTools),
)


def _create_turn_resolver(services: Services) -> TurnResolver:
    settings = services[Settings]
    return TurnResolver(
        services[Records],
        MediaLoader(services[BlobStore], services[DerivedImages], services[MediaChecks]),
        links=services[LinkSigner],
        # Without a public URL, models get no links.
        content_base_url=settings.content_url or settings.public_url,
        limits=services[Limits],
    )


def _create_session_renders(services: Services) -> SessionRenders:
    records, blobs, resolver = services[Records], services[BlobStore], services[TurnResolver]
    turns = TurnCache()
    return SessionRenders(
        records,
        resolver,
        tool_results=services[ToolResultRenders],
        pages=services[PageManifests],
        new_entries=NewEntries(records, blobs, resolver, turns),
        windows=SessionWindows(records, blobs, resolver, turns),
        metrics=services[Metrics],
    )


RENDERS = (
    Provider(TurnResolver, _create_turn_resolver),
    Provider(ToolResultRenders),
    Provider(SessionRenders, _create_session_renders),
    Provider(Renders),
    Provider(WorkingSets),
    Provider(Outlines),
)


TOOLS = (
    Provider(HistoryTexts),
    Provider(
        ReferenceResolver,
        lambda services: ReferenceResolver(
            services[Records],
            services[BlobStore],
            links=services[LinkSigner],
            content_base_url=services[PublishedContent].content_base_url,
            bodies=services[RequestBodies],
            history=HistoryContents(services[HistoryTexts]),
            work=services[LargeWork],
            limits=services[Limits],
        ),
    ),
    Provider(MemoryTools),
    Provider(TextReader),
    Provider(
        CallPreparer,
        lambda services: CallPreparer(
            services[MemoryTools], services[SessionMessages], services[ToolResults]
        ),
    ),
    Provider(ToolCalls),
    Provider(SessionTurns),
    Provider(StoredConversations),
    Provider(ConversationPuts),
    Provider(
        Compactions,
        lambda services: Compactions(
            services[ConversationPuts],
            services[SessionRenders],
            services[RequestBodies],
            services[LinkSigner],
            services[Limits],
            max_tokens=services[Settings].compaction_tokens or DEFAULT_MAX_TOKENS,
        ),
    ),
)


UPLOADS = (
    Provider(
        Uploads,
        lambda services: Uploads(
            services[Records],
            services[BlobStore],
            limits=services[Limits],
            quota=services[Stores].storage_quota,
        ),
    ),
)
