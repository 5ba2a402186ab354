"""Services of the feature tools: memory tools for models, and whole turns of agents."""

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
from app.services.pages.faults import PageFaults
from app.services.pages.page_lists import PageLists
from app.services.pages.pages import Pages
from app.services.renders.answer_renders import AnswerRenders
from app.services.renders.session_renders import SessionRenders
from app.services.requests.streamed_requests import StreamedRequests
from app.services.requests.whole_bodies import RequestBodies
from app.services.resources.texts import ResourceTexts
from app.services.search.search import Search
from app.services.sessions.messages import SessionMessages
from app.services.tool_results.tool_results import ToolResults
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.wiring.services import Provider, Services


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


SERVICES = (
    Provider(HistoryTexts, lambda services: HistoryTexts(services[Records], services[BlobStore])),
    Provider(ReferenceResolver, _references),
    Provider(MemoryTools, _memory_tools),
    Provider(TextReader, _text_reader),
    Provider(CallPreparer, _call_preparer),
    Provider(ToolCalls, _tool_calls),
    Provider(SessionTurns, _turns),
    Provider(ConversationPuts, _conversations),
)
