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
from app.wiring.open_stores import Stores
from app.wiring.services import Provider, Services
from app.wiring.startup_errors import SettingError


def _content_sources(services: Services) -> ContentSources:
    return ContentSources(services[Stores].blobs, services[OffloadRules])


def _resources(services: Services) -> Resources:
    limit_bytes = services[Limits].medium_bytes
    return Resources(services[Records], services[BlobStore], limit_bytes=limit_bytes)


def _resource_texts(services: Services) -> ResourceTexts:
    return ResourceTexts(
        services[Resources],
        services[BlobStore],
        work=services[LargeWork],
        memory=services[MemoryBudget],
        limits=services[Limits],
    )


def _derived_images(services: Services) -> DerivedImages:
    return DerivedImages(
        services[Records],
        services[BlobStore],
        images=services[ImageWork],
        limits=services[Limits],
    )


def _posters(services: Services) -> Posters:
    return Posters(services[BlobStore], services[DerivedImages], memory=services[MemoryBudget])


RESOURCES = (
    Provider(ContentSources, _content_sources),
    Provider(Resources, _resources),
    Provider(ResourceTexts, _resource_texts),
    Provider(Aliases, lambda services: Aliases(services[Records], services[BlobStore])),
    Provider(DerivedImages, _derived_images),
    Provider(Posters, _posters),
)


def _preparer(services: Services) -> PagePreparer:
    return PagePreparer(
        services[Records],
        services[BlobStore],
        images=services[ImageWork],
        limits=services[Limits],
    )


def _reading(services: Services) -> PageReading:
    return PageReading(
        services[Records],
        services[BlobStore],
        accesses=services[AccessCounts],
        checks=services[MediaChecks],
        limits=services[Limits],
    )


def _pages(services: Services) -> Pages:
    return Pages(
        services[Records],
        services[PagePreparer],
        services[PageWriter],
        bodies=services[StreamedRequests],
        accesses=services[AccessCounts],
        limits=services[Limits],
    )


def _changes(services: Services) -> PageChanges:
    return PageChanges(
        services[Records],
        services[PagePreparer],
        services[PageWriter],
        bodies=services[RequestBodies],
        requests=services[StreamedRequests],
        accesses=services[AccessCounts],
        limits=services[Limits],
    )


def _fetcher(services: Services) -> Fetcher:
    try:
        return Fetcher(services[Settings].fetch)
    except ValueError as exc:
        raise SettingError(f"PAGEFAULT_FETCH__ALLOW: {exc}") from exc


def _downloads(services: Services) -> PageDownloads:
    return PageDownloads(
        services[Records],
        services[BlobStore],
        services[PageReading],
        services[Fetcher],
        limits=services[Limits],
        memory=services[MemoryBudget],
    )


PAGES = (
    Provider(
        AccessCounts,
        lambda services: AccessCounts(services[Records]),
        running=lambda services: services[AccessCounts].flushing(),
    ),
    Provider(PagePreparer, _preparer),
    Provider(PageWriter, lambda services: PageWriter(services[Records])),
    Provider(PageReading, _reading),
    Provider(Pages, _pages),
    Provider(PageChanges, _changes),
    Provider(Fetcher, _fetcher),
    Provider(PageDownloads, _downloads),
    Provider(PageFaults, lambda services: PageFaults(services[Records], services[PageReading])),
    Provider(PageLists, lambda services: PageLists(services[Records], services[AccessCounts])),
    Provider(PageManifests, lambda services: PageManifests(services[Records])),
)


SEARCH = (
    Provider(
        SearchIndexing,
        lambda services: SearchIndexing(services[Records]),
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


def _answer_renders(services: Services) -> AnswerRenders:
    return AnswerRenders(services[Records], services[BlobStore], services[TurnResolver])


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
    )


def _renders(services: Services) -> Renders:
    return Renders(services[PageReading], services[AnswerRenders], services[SessionRenders])


def _outlines(services: Services) -> Outlines:
    return Outlines(services[Records], services[ResponseBudget], services[WorkingSets])


RENDERS = (
    Provider(TurnResolver, _resolver),
    Provider(AnswerRenders, _answer_renders),
    Provider(SessionRenders, _session_renders),
    Provider(Renders, _renders),
    Provider(WorkingSets, lambda services: WorkingSets(services[SessionRenders])),
    Provider(Outlines, _outlines),
)


def _memory_tools(services: Services) -> MemoryTools:
    return MemoryTools(
        services[Records],
        services[BlobStore],
        faults=services[PageFaults],
        lists=services[PageLists],
        pages=services[Pages],
        reader=services[TextReader],
        search=services[Search],
    )


def _text_reader(services: Services) -> TextReader:
    return TextReader(
        services[Records],
        services[BlobStore],
        faults=services[PageFaults],
        texts=services[ResourceTexts],
        entries=services[HistoryTexts],
    )


def _call_preparer(services: Services) -> CallPreparer:
    return CallPreparer(services[MemoryTools], services[SessionMessages], services[ToolResults])


def _tool_calls(services: Services) -> ToolCalls:
    return ToolCalls(
        services[Records],
        services[CallPreparer],
        renders=services[AnswerRenders],
        bodies=services[RequestBodies],
        limits=services[Limits],
    )


def _turns(services: Services) -> SessionTurns:
    return SessionTurns(
        services[Records],
        messages=services[SessionMessages],
        results=services[ToolResults],
        calls=services[CallPreparer],
        renders=services[SessionRenders],
        bodies=services[RequestBodies],
        limits=services[Limits],
    )


def _conversations(services: Services) -> ConversationPuts:
    return ConversationPuts(
        services[Records],
        messages=services[SessionMessages],
        stored=StoredConversations(services[Records]),
        renders=services[SessionRenders],
        bodies=services[StreamedRequests],
        limits=services[Limits],
    )


def _references(services: Services) -> ReferenceResolver:
    return ReferenceResolver(
        services[Records],
        services[BlobStore],
        links=services[LinkSigner],
        content_base_url=services[PublishedContent].content_base_url,
        bodies=services[RequestBodies],
        history=HistoryContents(services[HistoryTexts]),
        work=services[LargeWork],
        limits=services[Limits],
    )


TOOLS = (
    Provider(HistoryTexts, lambda services: HistoryTexts(services[Records], services[BlobStore])),
    Provider(ReferenceResolver, _references),
    Provider(MemoryTools, _memory_tools),
    Provider(TextReader, _text_reader),
    Provider(CallPreparer, _call_preparer),
    Provider(ToolCalls, _tool_calls),
    Provider(SessionTurns, _turns),
    Provider(ConversationPuts, _conversations),
)


def _uploads(services: Services) -> Uploads:
    return Uploads(
        services[Records],
        services[BlobStore],
        limits=services[Limits],
        stored_bytes=services[Stores].stored_bytes,
    )


UPLOADS = (Provider(Uploads, _uploads),)
