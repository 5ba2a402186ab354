"""Runs the memory tools, by which models read and write pages, texts and media.

A model names a medium by its *handle*: the id of a resource, or the entry of the history that has
the bytes of a small medium. With the scope `session`, only resources of the session are found.
Models copy page ids from texts, so an id is also accepted with quotes or punctuation around it.

Source: design document `agents.md`, "Tools for models".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import anyio.to_thread

from app.errors import NotFoundError
from app.models.search_entry import SearchKind, SearchMatch
from app.services.agents.media_lookup import (
    InlineMedium,
    find_inline_medium,
    find_resource,
    missing_ref_error,
)
from app.services.agents.text_reader import TextReader
from app.services.agents.tool_lines import format_hits, format_match, format_resource
from app.services.agents.tools import ToolCallResult, ToolContext, build_text_result, encode_body
from app.services.pages.faults import FaultRequest, PageFaults, PreparedFault
from app.services.pages.page_lists import PageLists
from app.services.pages.pages import Pages
from app.services.requests.session_keys import key_in_session
from app.services.search.search import Search, SearchRequest
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.session_resources import SessionResourceRecords
from pagefault_dialects.context.token_cuts import lines_within
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.page import Level, PageFilters
from pagefault_dialects.model.resource import Resource, resource_kind
from pagefault_dialects.pages.line_formats import quote, quote_short
from pagefault_dialects.tools.tool_arguments import (
    TOOLS,
    ListMediaArguments,
    PageFaultArguments,
    ReadTextArguments,
    SavePageArguments,
    SearchPagesArguments,
    ToolArguments,
    ViewMediaArguments,
    WrongArgumentsError,
)

# The kinds of matches that `search_pages` lists after the pages.
_OTHER_KINDS: frozenset[SearchKind] = frozenset({"tool_result", "message", "interaction", "file"})
_MAX_OTHER_MATCHES = 3
# More are read than listed, because calls of memory tools are left out.
_READ_OTHER_MATCHES = 20
_MAX_LISTED_MEDIA = 20
_MAX_OWNERS = 20
_MAX_QUERY_CHARS = 100
# The tokens that are kept free for the lines after a list, such as the number of omitted lines.
_LIST_END_TOKENS = 60


@dataclass(frozen=True, slots=True, eq=False)
class MemoryTools:
    """The tools that models call. Implements `Tools`."""

    records: Records
    blobs: BlobStore
    faults: PageFaults
    """Runs page faults."""
    lists: PageLists
    """Searches pages."""
    pages: Pages
    """Writes pages."""
    reader: TextReader
    """Runs `read_text`."""
    search: Search
    """Searches entries and files."""

    async def run(
        self, context: ToolContext, arguments: ToolArguments
    ) -> ToolCallResult | PreparedFault:
        """Run a call; see `Tools.run`. The type of the arguments says which tool is called."""
        tools: dict[type[ToolArguments], Callable[[ToolContext, Any], Any]] = {
            PageFaultArguments: self._page_fault,
            SearchPagesArguments: self._search_pages,
            ReadTextArguments: self._read_text,
            ViewMediaArguments: self._view_media,
            SavePageArguments: self._save_page,
            ListMediaArguments: self._list_media,
        }
        result: ToolCallResult | PreparedFault = await tools[type(arguments)](context, arguments)
        return result

    async def _page_fault(
        self, context: ToolContext, arguments: PageFaultArguments
    ) -> PreparedFault:
        request = FaultRequest(
            target_level=arguments.target_level,
            session_id=context.session_id,
            tool_call_id=context.call_id,
        )
        page_id = arguments.page_id
        mentioned_ids = await self.faults.find_mentioned_pages(context.project_id, page_id)
        if page_id not in mentioned_ids and len(mentioned_ids) == 1:
            [page_id] = mentioned_ids
        try:
            return await self.faults.prepare(
                context.project_id,
                page_id,
                context.session_id,
                request,
                max_tokens=context.max_tokens,
            )
        except (NotFoundError, InvalidPayloadError) as exc:
            if "error" in exc.members:
                hint = "search_pages finds pages by words."
                raise WrongArgumentsError(f"{exc.members['error']} {hint}") from exc
            raise

    async def _search_pages(
        self, context: ToolContext, arguments: SearchPagesArguments
    ) -> ToolCallResult:
        filters = PageFilters(modality=arguments.modality)
        hits, _ = await self.lists.search(
            context.project_id, arguments.query, filters, cursor=None, limit=arguments.limit
        )
        other_lines = (
            [] if arguments.modality else await self._search_history(context, arguments.query)
        )
        if hits:
            notice = [] if hits[0].has_all else ["No page has all of these words. These have some:"]
            # This runs in a thread, because counting tokens may load the vocabulary of the tokens.
            lines = await anyio.to_thread.run_sync(format_hits, hits)
            fitting = await _fit_lines(
                context, lines, "{} more hits do not fit this answer: add a word."
            )
            return build_text_result("\n".join([*notice, *fitting, *other_lines]))
        words = quote_short(arguments.query, _MAX_QUERY_CHARS)
        no_hits = f"No page has any of these words: {words}."
        return build_text_result(
            "\n".join([no_hits, *other_lines]) if other_lines else f"{no_hits} Try others."
        )

    async def _search_history(self, context: ToolContext, query: str) -> Sequence[str]:
        """Return a line for each entry and file of the session that matches a query, at most 3."""
        request = SearchRequest(query, _OTHER_KINDS, context.session_id)
        results = await self.search.search(
            context.project_id, request, cursor=None, limit=_READ_OTHER_MATCHES
        )
        matches = (match for match in results.hits if not _is_memory_call(match))
        lines = list(map(format_match, islice(matches, _MAX_OTHER_MATCHES)))
        return ["Not in a page, but in this session:", *lines] if lines else []

    async def _read_text(
        self, context: ToolContext, arguments: ReadTextArguments
    ) -> ToolCallResult:
        return build_text_result(await self.reader.read(context, arguments))

    async def _view_media(
        self, context: ToolContext, arguments: ViewMediaArguments
    ) -> ToolCallResult:
        if (medium := await self._find_inline_medium(context, arguments.ref)) is not None:
            return medium.to_result(arguments.level)
        resource = await self._find_resource(context, arguments.ref)
        if is_textual(resource.mime_type):
            return build_text_result(f"{format_resource(resource)}\nIt is a text: use read_text.")
        page_lines = await self._describe_page(context, resource)
        if arguments.level >= Level.ABSTRACT:
            return build_text_result("\n".join([format_resource(resource), *page_lines]))
        link: dict[str, JsonValue] = {
            "type": "resource_link",
            "uri": resource.uri,
            "mimeType": resource.mime_type,
        }
        blocks: list[JsonValue] = [link, *({"type": "text", "text": line} for line in page_lines)]
        return ToolCallResult(blocks, {resource.resource_id: resource})

    async def _describe_page(self, context: ToolContext, resource: Resource) -> Sequence[str]:
        """Return a line that names a page with a medium; no line if no page has the medium."""
        owners = await self.records.read(
            context.project_id,
            lambda unit: unit[ResourceRecords].list_owners(resource.resource_id, limit=_MAX_OWNERS),
        )
        page_id = next((owner_id for kind, owner_id in owners if kind == "page"), None)
        if page_id is None:
            return ()
        return [f"Page {page_id} has words about it: page_fault({quote(page_id)}, 2)."]

    async def _save_page(
        self, context: ToolContext, arguments: SavePageArguments
    ) -> ToolCallResult:
        if (arguments.content is None) == (arguments.ref is None):
            raise WrongArgumentsError("The page was not saved: send either content or ref.")
        page: dict[str, JsonValue] = {"modality": "text", "content": arguments.content}
        if arguments.ref is not None:
            mime_type, content = await self._load_content(context, arguments.ref)
            kind = resource_kind(mime_type)
            if kind == "binary":
                raise WrongArgumentsError(
                    f"The page was not saved: {mime_type} is no kind of page. Save what "
                    "you know of it as content."
                )
            page = {"modality": kind, "content": content}
            page |= {} if kind == "text" else {"mime_type": mime_type}
        page |= {
            "session_id": context.session_id,
            "caption": arguments.caption,
            "pinned": arguments.pinned,
        }
        if arguments.page_type is not None:
            page["page_type"] = arguments.page_type

        # With this key, a repeated call does not create a second page.
        key = key_in_session(context.session_id, context.call_id)
        written = await self.pages.create(
            context.project_id, encode_body(page), idempotency_key=key
        )
        page_id = written.page.page_id
        return build_text_result(
            f"Saved as page {page_id}. Read it with page_fault({quote(page_id)}, 0)."
        )

    async def _list_media(
        self, context: ToolContext, arguments: ListMediaArguments
    ) -> ToolCallResult:
        session_id = arguments.session or context.session_id
        if session_id != context.session_id and context.scope == "session":
            raise WrongArgumentsError("Only this session's media can be listed: leave session out.")
        resources = await self.records.read(
            context.project_id,
            lambda unit: unit[SessionResourceRecords].newest(
                session_id, kind=arguments.kind, limit=_MAX_LISTED_MEDIA + 1
            ),
        )
        if not resources:
            kind = f" of kind {arguments.kind}" if arguments.kind else ""
            return build_text_result(f"There are no stored media{kind}.")
        lines = [format_resource(resource) for resource in resources[:_MAX_LISTED_MEDIA]]
        fitting = await _fit_lines(
            context, lines, "{} more do not fit this answer: ask for one kind."
        )
        if len(resources) > _MAX_LISTED_MEDIA:
            fitting.append(f"There are more than these {_MAX_LISTED_MEDIA}: ask for one kind.")
        return build_text_result("\n".join(fitting))

    async def _load_content(self, context: ToolContext, ref: str) -> tuple[str, str]:
        """Return the MIME type of a medium, and its content for a new page.

        The content is the text, a data URI with the bytes of a small medium, or the reference of a
        resource.
        """
        medium = await self._find_inline_medium(context, ref)
        if medium is None:
            resource = await self._find_resource(context, ref)
            return resource.mime_type, resource.reference
        mime_type = medium.medium.mime_type
        if resource_kind(mime_type) == "text":
            return mime_type, medium.decode().text
        return mime_type, f"data:{mime_type};base64,{medium.base64}"

    async def _find_inline_medium(self, context: ToolContext, ref: str) -> InlineMedium | None:
        return await find_inline_medium(self.records, self.blobs, context, ref)

    async def _find_resource(self, context: ToolContext, ref: str) -> Resource:
        resource = await find_resource(self.records, context, ref)
        if resource is None:
            raise missing_ref_error(ref)
        return resource


async def _fit_lines(context: ToolContext, lines: Sequence[str], notice: str) -> list[str]:
    """Return the first lines that fit into a result, and a notice if others are left out.

    Args:
        context: The limit of tokens.
        lines: The lines.
        notice: The text of the notice, with `{}` in place of the number of omitted lines.
    """
    max_tokens = context.max_tokens - _LIST_END_TOKENS
    fitting = await anyio.to_thread.run_sync(lines_within, lines, max_tokens)
    omitted_count = len(lines) - len(fitting)
    return [*fitting, *([notice.format(omitted_count)] if omitted_count else [])]


def _is_memory_call(match: SearchMatch) -> bool:
    """Return True if a match is a call of a memory tool, or its result. They only repeat texts."""
    texts = f"{match.title} {match.snippet}"
    return match.kind in ("message", "tool_result") and any(name in texts for name in TOOLS)
