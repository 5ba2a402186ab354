"""Runs the tools of models on the pages and resources of a project.

Handles name resources of the session or, with the scope `project`, of the project. The handle of a
small medium names its entry, which stores the bytes. Page ids are also accepted in quotes, in a
citation, or with a dot after them.

Source: `agents`, "Tools for models".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import anyio.to_thread

from app.errors import NotFoundError
from app.models.search_entry import SearchKind, SearchMatch
from app.services.agents.named_media import (
    InlineMedium,
    find_inline_medium,
    find_resource,
    missing_ref_error,
)
from app.services.agents.text_reader import TextReader
from app.services.agents.tool_answers import hit_lines, match_line, resource_line
from app.services.agents.tools import ToolAnswer, ToolPlace, body_of, write_answer
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
from pagefault_dialects.pages.one_line import quoted, quoted_short
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

_OTHER_KINDS: frozenset[SearchKind] = frozenset({"tool_result", "message", "interaction", "file"})
_OTHER_MATCHES = 3
_OTHER_MATCHES_READ = 20
_LISTED = 20
_OWNERS = 20
_LONGEST_ID_CHARS = 100
# Tokens of the lines after a list: matches outside of pages, and the number of omitted lines.
_LIST_END_TOKENS = 60


@dataclass(frozen=True, slots=True, eq=False)
class MemoryTools:
    """The tools of models."""

    records: Records
    """The records of resources and sessions."""
    blobs: BlobStore
    """The bytes of media."""
    faults: PageFaults
    """Runs page faults."""
    lists: PageLists
    """Searches pages."""
    pages: Pages
    """Writes pages."""
    reader: TextReader
    """Reads texts."""
    search: Search
    """Searches entries and files."""

    async def run(self, place: ToolPlace, arguments: ToolArguments) -> ToolAnswer | PreparedFault:
        """See `Tools.run`."""
        runs: dict[type[ToolArguments], Callable[[ToolPlace, Any], Any]] = {
            PageFaultArguments: self._page_fault,
            SearchPagesArguments: self._search_pages,
            ReadTextArguments: self._read_text,
            ViewMediaArguments: self._view_media,
            SavePageArguments: self._save_page,
            ListMediaArguments: self._list_media,
        }
        answer: ToolAnswer | PreparedFault = await runs[type(arguments)](place, arguments)
        return answer

    async def _page_fault(self, place: ToolPlace, arguments: PageFaultArguments) -> PreparedFault:
        request = FaultRequest(
            target_level=arguments.target_level,
            session_id=place.session_id,
            tool_call_id=place.call_id,
        )
        page_id = arguments.page_id
        existing = await self.faults.find_named(place.project_id, page_id)
        if page_id not in existing and len(existing) == 1:
            [page_id] = existing
        try:
            return await self.faults.prepare(
                place.project_id,
                page_id,
                place.session_id,
                request,
                max_tokens=place.max_tokens,
            )
        except (NotFoundError, InvalidPayloadError) as exc:
            if "error" in exc.members:
                hint = "search_pages finds pages by words."
                raise WrongArgumentsError(f"{exc.members['error']} {hint}") from exc
            raise

    async def _search_pages(self, place: ToolPlace, arguments: SearchPagesArguments) -> ToolAnswer:
        filters = PageFilters(modality=arguments.modality)
        hits, _ = await self.lists.search(
            place.project_id, arguments.query, filters, cursor=None, limit=arguments.limit
        )
        other_lines = (
            [] if arguments.modality else await self._find_outside_pages(place, arguments.query)
        )
        if hits:
            some = [] if hits[0].has_all else ["No page has all of these words. These have some:"]
            # Counting the tokens of the first line loads a vocabulary.
            lines = await anyio.to_thread.run_sync(hit_lines, hits)
            fitting = await _fit_lines(
                place, lines, "{} more hits do not fit this answer: add a word."
            )
            return write_answer("\n".join([*some, *fitting, *other_lines]))
        words = quoted_short(arguments.query, _LONGEST_ID_CHARS)
        none = f"No page has any of these words: {words}."
        return write_answer(
            "\n".join([none, *other_lines] if other_lines else [f"{none} Try others."])
        )

    async def _find_outside_pages(self, place: ToolPlace, query: str) -> Sequence[str]:
        """Return lines for entries and files of the session that match a query."""
        request = SearchRequest(query, _OTHER_KINDS, place.session_id)
        found = await self.search.search(
            place.project_id, request, cursor=None, limit=_OTHER_MATCHES_READ
        )
        matches = (hit for hit in found.hits if not _is_memory_call(hit))
        lines = list(map(match_line, islice(matches, _OTHER_MATCHES)))
        return ["Not in a page, but in this session:", *lines] if lines else []

    async def _read_text(self, place: ToolPlace, arguments: ReadTextArguments) -> ToolAnswer:
        return write_answer(await self.reader.read(place, arguments))

    async def _view_media(self, place: ToolPlace, arguments: ViewMediaArguments) -> ToolAnswer:
        if (medium := await self._find_inline_medium(place, arguments.ref)) is not None:
            return medium.to_answer(arguments.level)
        resource = await self._find_resource(place, arguments.ref)
        if is_textual(resource.mime_type):
            return write_answer(f"{resource_line(resource)}\nIt is a text: use read_text.")
        words = await self._find_page_about(place, resource)
        if arguments.level >= Level.ABSTRACT:
            return write_answer("\n".join([resource_line(resource), *words]))
        link: dict[str, JsonValue] = {
            "type": "resource_link",
            "uri": resource.uri,
            "mimeType": resource.mime_type,
        }
        blocks: list[JsonValue] = [link, *({"type": "text", "text": word} for word in words)]
        return ToolAnswer(blocks, {resource.resource_id: resource})

    async def _find_page_about(self, place: ToolPlace, resource: Resource) -> Sequence[str]:
        """Return a line that names a page about a medium, if there is one."""
        owners = await self.records.read(
            place.project_id,
            lambda unit: unit[ResourceRecords].owners(resource.resource_id, limit=_OWNERS),
        )
        page_id = next((owner_id for kind, owner_id in owners if kind == "page"), None)
        if page_id is None:
            return ()
        return [f"Page {page_id} has words about it: page_fault({quoted(page_id)}, 2)."]

    async def _save_page(self, place: ToolPlace, arguments: SavePageArguments) -> ToolAnswer:
        if (arguments.content is None) == (arguments.ref is None):
            raise WrongArgumentsError("The page was not saved: send either content or ref.")
        page: dict[str, JsonValue] = {"modality": "text", "content": arguments.content}
        if arguments.ref is not None:
            mime_type, content = await self._load_content(place, arguments.ref)
            kind = resource_kind(mime_type)
            if kind == "binary":
                raise WrongArgumentsError(
                    f"The page was not saved: {mime_type} is no kind of page. Save what "
                    "you know of it as content."
                )
            page = {"modality": kind, "content": content}
            page |= {} if kind == "text" else {"mime_type": mime_type}
        page |= {
            "session_id": place.session_id,
            "caption": arguments.caption,
            "pinned": arguments.pinned,
        }
        if arguments.page_type is not None:
            page["page_type"] = arguments.page_type

        # A repeated call does not create a second page.
        key = key_in_session(place.session_id, place.call_id)
        written = await self.pages.create(place.project_id, body_of(page), idempotency_key=key)
        page_id = written.page.page_id
        return write_answer(
            f"Saved as page {page_id}. Read it with page_fault({quoted(page_id)}, 0)."
        )

    async def _list_media(self, place: ToolPlace, arguments: ListMediaArguments) -> ToolAnswer:
        session_id = arguments.session or place.session_id
        if session_id != place.session_id and place.scope == "session":
            raise WrongArgumentsError("Only this session's media can be listed: leave session out.")
        found = await self.records.read(
            place.project_id,
            lambda unit: unit[SessionResourceRecords].newest(
                session_id, kind=arguments.kind, limit=_LISTED + 1
            ),
        )
        if not found:
            kind = f" of kind {arguments.kind}" if arguments.kind else ""
            return write_answer(f"There are no stored media{kind}.")
        lines = [resource_line(item) for item in found[:_LISTED]]
        fitting = await _fit_lines(
            place, lines, "{} more do not fit this answer: ask for one kind."
        )
        more = [f"There are more than these {_LISTED}: ask for one kind."]
        return write_answer("\n".join([*fitting, *(more if len(found) > _LISTED else [])]))

    async def _load_content(self, place: ToolPlace, ref: str) -> tuple[str, str]:
        """Return the MIME type of a medium, and the content of a page with it."""
        medium = await self._find_inline_medium(place, ref)
        if medium is None:
            resource = await self._find_resource(place, ref)
            return resource.mime_type, resource.reference
        mime_type = medium.medium.mime_type
        is_text = resource_kind(mime_type) == "text"
        if is_text:
            return mime_type, medium.decode().text
        return mime_type, f"data:{mime_type};base64,{medium.base64}"

    async def _find_inline_medium(self, place: ToolPlace, ref: str) -> InlineMedium | None:
        return await find_inline_medium(self.records, self.blobs, place, ref)

    async def _find_resource(self, place: ToolPlace, ref: str) -> Resource:
        resource = await find_resource(self.records, place, ref)
        if resource is None:
            raise missing_ref_error(ref)
        return resource


async def _fit_lines(place: ToolPlace, lines: Sequence[str], more: str) -> Sequence[str]:
    """Return the lines that fit into an answer, and a line with the number of omitted ones."""
    room = place.max_tokens - _LIST_END_TOKENS
    fitting = await anyio.to_thread.run_sync(lines_within, lines, room)
    omitted = len(lines) - len(fitting)
    return [*fitting, *([more.format(omitted)] if omitted else [])]


def _is_memory_call(found: SearchMatch) -> bool:
    """Return whether a hit is a call of these tools or its answer, which repeat other texts."""
    texts = f"{found.title} {found.snippet}"
    return found.kind in ("message", "tool_result") and any(name in texts for name in TOOLS)
