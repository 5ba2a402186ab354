"""Services of the features that only the running service has."""

from app.config.settings import Settings
from app.models.limits import Limits
from app.services.access.callers import LinkSigner
from app.services.access.published_content import PublishedContent
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
from app.services.images.image_work import ImageWork
from app.services.images.posters import Posters
from app.services.media.media_checks import MediaChecks
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.responses import ResponseBudget
from app.services.pages.accesses import AccessCounts
from app.services.pages.changes import PageChanges
from app.services.pages.downloads import PageDownloads
from app.services.pages.faults import PageFaults
from app.services.pages.manifests import PageManifests
from app.services.pages.page_answers import PageReading
from app.services.pages.page_lists import PageLists
from app.services.pages.page_preparer import PagePreparer
from app.services.pages.page_writer import PageWriter
from app.services.pages.pages import Pages
from app.services.renders.answer_renders import AnswerRenders
from app.services.renders.media_loader import MediaLoader
from app.services.renders.new_entries import NewEntries
from app.services.renders.outlines import Outlines
from app.services.renders.renders import Renders
from app.services.renders.session_renders import SessionRenders
from app.services.renders.session_windows import SessionWindows
from app.services.renders.turn_cache import TurnCache
from app.services.renders.turn_resolver import TurnResolver
from app.services.renders.working_sets import WorkingSets
from app.services.requests.streamed_requests import StreamedRequests
from app.services.requests.whole_bodies import RequestBodies
from app.services.resources.aliases import Aliases
from app.services.resources.content_sources import ContentSources, OffloadRules
from app.services.resources.resources import Resources
from app.services.resources.texts import ResourceTexts
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


def _resources(services: Services) -> Resources:
    limit_bytes = services[Limits].medium_bytes
    return Resources(services[Records], services[BlobStore], limit_bytes=limit_bytes)


RESOURCES = (
    Provider(
        ContentSources,
        lambda services: ContentSources(services[Stores].blobs, services[OffloadRules]),
    ),
    Provider(Resources, _resources),
    Provider(
        ResourceTexts,
        lambda services: ResourceTexts(
            services[Resources],
            services[BlobStore],
            work=services[LargeWork],
            memory=services[MemoryBudget],
            limits=services[Limits],
        ),
    ),
    Provider(Aliases, lambda services: Aliases(services[Records], services[BlobStore])),
    Provider(
        DerivedImages,
        lambda services: DerivedImages(
            services[Records],
            services[BlobStore],
            images=services[ImageWork],
            limits=services[Limits],
        ),
    ),
    Provider(
        Posters,
        lambda services: Posters(
            services[BlobStore], services[DerivedImages], memory=services[MemoryBudget]
        ),
    ),
)


def _fetcher(services: Services) -> Fetcher:
    try:
        return Fetcher(services[Settings].fetch)
    except ValueError as exc:
        raise SettingError(f"PAGEFAULT_FETCH__ALLOW: {exc}") from exc


PAGES = (
    Provider(
        AccessCounts,
        lambda services: AccessCounts(services[Records]),
        running=lambda services: services[AccessCounts].flushing(),
    ),
    Provider(
        PagePreparer,
        lambda services: PagePreparer(
            services[Records],
            services[BlobStore],
            images=services[ImageWork],
            limits=services[Limits],
        ),
    ),
    Provider(PageWriter, lambda services: PageWriter(services[Records])),
    Provider(
        PageReading,
        lambda services: PageReading(
            services[Records],
            services[BlobStore],
            accesses=services[AccessCounts],
            checks=services[MediaChecks],
            limits=services[Limits],
        ),
    ),
    Provider(
        Pages,
        lambda services: Pages(
            services[Records],
            services[PagePreparer],
            services[PageWriter],
            bodies=services[StreamedRequests],
            accesses=services[AccessCounts],
            limits=services[Limits],
        ),
    ),
    Provider(
        PageChanges,
        lambda services: PageChanges(
            services[Records],
            services[PagePreparer],
            services[PageWriter],
            bodies=services[RequestBodies],
            requests=services[StreamedRequests],
            accesses=services[AccessCounts],
            limits=services[Limits],
        ),
    ),
    Provider(Fetcher, _fetcher),
    Provider(
        PageDownloads,
        lambda services: PageDownloads(
            services[Records],
            services[BlobStore],
            services[PageReading],
            services[Fetcher],
            limits=services[Limits],
            memory=services[MemoryBudget],
        ),
    ),
    Provider(PageFaults, lambda services: PageFaults(services[Records], services[PageReading])),
    Provider(PageLists, lambda services: PageLists(services[Records], services[AccessCounts])),
    Provider(PageManifests, lambda services: PageManifests(services[Records])),
)


SEARCH = (
    Provider(
        SearchIndexing,
        lambda services: SearchIndexing(services[Records], services[Metrics]),
        running=lambda services: services[SearchIndexing].running(),
    ),
    Provider(Search, lambda services: Search(services[Records], services[SearchIndexing])),
)


def _resolver(services: Services) -> TurnResolver:
    settings = services[Settings]
    return TurnResolver(
        services[Records],
        MediaLoader(services[BlobStore], services[DerivedImages], services[MediaChecks]),
        links=services[LinkSigner],
        # Without a public address, models cannot fetch links.
        content_base_url=settings.content_url or settings.public_url,
        limits=services[Limits],
    )


def _session_renders(services: Services) -> SessionRenders:
    records, blobs, resolver = services[Records], services[BlobStore], services[TurnResolver]
    turns = TurnCache()
    return SessionRenders(
        records,
        resolver,
        answers=services[AnswerRenders],
        pages=services[PageManifests],
        new_entries=NewEntries(records, blobs, resolver, turns),
        windows=SessionWindows(records, blobs, resolver, turns),
        known_turns=turns,
        metrics=services[Metrics],
    )


RENDERS = (
    Provider(TurnResolver, _resolver),
    Provider(
        AnswerRenders,
        lambda services: AnswerRenders(
            services[Records], services[BlobStore], services[TurnResolver]
        ),
    ),
    Provider(SessionRenders, _session_renders),
    Provider(
        Renders,
        lambda services: Renders(
            services[PageReading], services[AnswerRenders], services[SessionRenders]
        ),
    ),
    Provider(WorkingSets, lambda services: WorkingSets(services[SessionRenders])),
    Provider(
        Outlines,
        lambda services: Outlines(
            services[Records], services[ResponseBudget], services[WorkingSets]
        ),
    ),
)


TOOLS = (
    Provider(HistoryTexts, lambda services: HistoryTexts(services[Records], services[BlobStore])),
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
    Provider(
        MemoryTools,
        lambda services: MemoryTools(
            services[Records],
            services[BlobStore],
            faults=services[PageFaults],
            lists=services[PageLists],
            pages=services[Pages],
            reader=services[TextReader],
            search=services[Search],
        ),
    ),
    Provider(
        TextReader,
        lambda services: TextReader(
            services[Records],
            services[BlobStore],
            faults=services[PageFaults],
            texts=services[ResourceTexts],
            entries=services[HistoryTexts],
        ),
    ),
    Provider(
        CallPreparer,
        lambda services: CallPreparer(
            services[MemoryTools], services[SessionMessages], services[ToolResults]
        ),
    ),
    Provider(
        ToolCalls,
        lambda services: ToolCalls(
            services[Records],
            services[CallPreparer],
            renders=services[AnswerRenders],
            bodies=services[RequestBodies],
            limits=services[Limits],
        ),
    ),
    Provider(
        SessionTurns,
        lambda services: SessionTurns(
            services[Records],
            messages=services[SessionMessages],
            results=services[ToolResults],
            calls=services[CallPreparer],
            renders=services[SessionRenders],
            bodies=services[RequestBodies],
            limits=services[Limits],
        ),
    ),
    Provider(
        ConversationPuts,
        lambda services: ConversationPuts(
            services[Records],
            messages=services[SessionMessages],
            stored=StoredConversations(services[Records]),
            renders=services[SessionRenders],
            bodies=services[StreamedRequests],
            limits=services[Limits],
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
            stored_bytes=services[Stores].storage_quota,
        ),
    ),
)
