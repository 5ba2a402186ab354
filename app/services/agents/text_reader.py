"""Reads texts for `read_text`: stored texts, pages, entries of the history and lists of entries.

A stored text is read up to the end of the requested piece. The lines of a list are made while the
list is read. So memory is bounded.

Source: design document `agents.md`, "Tools for models".
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from app.services.agents.history_texts import HistoryTexts, ListStart
from app.services.agents.media_lookup import find_inline_medium, find_resource, missing_ref_error
from app.services.agents.tools import ToolContext
from app.services.concurrency.large_work import run_in_loop_if
from app.services.pages.faults import PageFaults
from app.services.resources.texts import ResourceTexts, TextQuery, find_in_text
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from pagefault_dialects.context.entry_refs import EntryRange, parse_entry_range
from pagefault_dialects.context.text_results import (
    format_characters,
    format_excerpt,
    make_text_name,
    take_lines,
)
from pagefault_dialects.json.pointers import parse_json_pointer
from pagefault_dialects.media.legacy_charsets import TextDecoder, charset_name
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.page import Level
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.pages.effective_level import whole_text
from pagefault_dialects.pages.one_line import quote
from pagefault_dialects.text_windows import LineRange, parse_line_range
from pagefault_dialects.texts.excerpts import LineCollector, LineExcerpt, MatchCollector, Matches
from pagefault_dialects.texts.line_blocks import LineBlocks
from pagefault_dialects.tools.tool_arguments import ReadTextArguments, WrongArgumentsError
from pagefault_dialects.tools.tool_catalogue import MAX_TEXT_CHARS

# The maximum number of entries to search in a list. Reading one takes up to half a millisecond.
_MAX_SEARCHED = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class TextReader:
    """Runs the tool `read_text`."""

    records: Records
    blobs: BlobStore
    faults: PageFaults
    """Finds and reads pages."""
    texts: ResourceTexts
    entries: HistoryTexts
    """Reads texts of histories."""

    async def read(self, context: ToolContext, request: ReadTextArguments) -> str:
        """Return a piece of a text, after a line that names the call for the next piece.

        Raises:
            WrongArgumentsError: The reference names no text. The error names a call to make.
            StoreUnavailableError: A store did not answer.
        """
        query = _read_query(request)
        entries = parse_entry_range(request.ref)
        if entries is not None:
            return await self._read_list(context, entries, request, query)
        found = await self._find_session_text(context, request.ref)
        if found is not None:
            return await self._read_text(context, *found, request, query)
        resource = await find_resource(self.records, context, request.ref)
        if resource is None:
            return await self._read_text(
                context, *await self._read_page(context, request.ref), request, query
            )
        return await self._read_resource(context, resource, request, query)

    async def _find_session_text(self, context: ToolContext, ref: str) -> tuple[str, str] | None:
        """Return the name and the text of an entry, of an argument, or of a medium in an entry."""
        found = await self.entries.find(context.project_id, context.session_id, ref)
        if found is not None:
            return found
        medium = await find_inline_medium(self.records, self.blobs, context, ref)
        if medium is None:
            return None
        text = medium.decode()
        return make_text_name(medium.medium.mime_type, text.charset), text.text

    async def _read_page(self, context: ToolContext, ref: str) -> tuple[str, str]:
        """Return the name and the text of a page.

        Raises:
            WrongArgumentsError: There is no such page, or it has no text.
        """
        existing = await self.faults.find_mentioned_pages(context.project_id, ref)
        if not existing:
            raise missing_ref_error(ref)
        if ref not in existing and len(existing) > 1:
            calls = ", ".join(f"read_text({quote(item)})" for item in existing)
            raise WrongArgumentsError(f"These pages are there, one for each call: {calls}.")
        page_id, views = existing[0], self.faults.views
        view = await views.view(context.project_id, page_id, Level.FULL)
        text = await run_in_loop_if(view.is_quick, whole_text, view.page)
        if text is None:
            call = f"page_fault({quote(page_id)}, 0)"
            raise WrongArgumentsError(f"Page {page_id} has no text. {call} shows it.")
        views.record_access(context.project_id, page_id)
        return f"page {page_id}", text

    async def _read_text(
        self,
        context: ToolContext,
        name: str,
        text: str,
        request: ReadTextArguments,
        query: TextQuery | None,
    ) -> str:
        """Return a piece of a text that is in memory."""
        if query is None:
            piece = text[request.offset : request.offset + MAX_TEXT_CHARS + 1]
            return await _format_piece(name, piece, len(text), request, context.max_tokens)
        depth = self.texts.limits.json_depth
        found = await anyio.to_thread.run_sync(partial(find_in_text, text, query, max_depth=depth))
        return await anyio.to_thread.run_sync(format_excerpt, name, *found, context.max_tokens)

    async def _read_resource(
        self,
        context: ToolContext,
        resource: Resource,
        request: ReadTextArguments,
        query: TextQuery | None,
    ) -> str:
        mime_type = resource.mime_type
        if not is_textual(mime_type):
            raise WrongArgumentsError(
                f"{resource.reference} is {mime_type} and no text. Use view_media."
            )
        if query is None:
            decoder = TextDecoder(mime_type)
            async with aclosing(self._decode(context.project_id, resource, decoder)) as pieces:
                piece = await _take_piece(pieces, request.offset)
            name = make_text_name(mime_type, charset_name(decoder.encoding))
            return await _format_piece(name, *piece, request, context.max_tokens)
        text = await self.texts.find(context.project_id, resource.resource_id, query)
        excerpt = await text.read()
        name = make_text_name(mime_type, excerpt.charset)
        return await anyio.to_thread.run_sync(
            format_excerpt, name, excerpt.total_lines, excerpt.found, context.max_tokens
        )

    async def _read_list(
        self,
        context: ToolContext,
        entries: EntryRange,
        request: ReadTextArguments,
        query: TextQuery | None,
    ) -> str:
        start = await self._measure(context, entries)
        if query is None and not request.offset:
            return await self._first_lines(context, entries, request.limit)
        if query is None:
            async with aclosing(self._read_lines(context, entries)) as pieces:
                piece = await _take_piece(pieces, request.offset)
            return await _format_piece("list of entries", *piece, request, context.max_tokens)
        if query.pointer is not None:
            raise WrongArgumentsError("A list of entries is no JSON: use lines or grep.")
        name = "list of entries"
        if query.grep is not None and start.total_lines > _MAX_SEARCHED:
            end = await self._measure(context, entries, _MAX_SEARCHED + 1)
            next_ref = quote(entries.ref_from(end.after_seq + 1))
            name = f"list of entries up to {end.after_seq}, ref={next_ref} has the others"
            entries = EntryRange(entries.first, end.after_seq)
            start = await self._measure(context, entries)
        found = await self._find_lines(context, entries, query, start.total_lines)
        return await anyio.to_thread.run_sync(
            format_excerpt, name, start.total_lines, found, context.max_tokens
        )

    async def _measure(self, context: ToolContext, entries: EntryRange, line: int = 1) -> ListStart:
        return await self.entries.measure(context.project_id, context.session_id, entries, line)

    async def _find_lines(
        self, context: ToolContext, entries: EntryRange, query: TextQuery, total_lines: int
    ) -> LineExcerpt | Matches:
        """Return a range of the lines of a list, or those lines in the range that match."""
        first, last = query.lines.within(total_lines)
        collector: LineCollector | MatchCollector = LineCollector(first, last)
        if query.grep is not None:
            collector = MatchCollector(
                query.grep, ignore_case=True, context=0, first=first, last=last
            )
        blocks = LineBlocks(max(1, first))
        if first <= last:
            start = await self._measure(context, entries, first)
            async with aclosing(self._read_lines(context, entries, start.after_seq)) as pieces:
                async for piece in pieces:
                    for block in blocks.feed(piece):
                        collector.feed(block)
                    if collector.is_done:
                        break
        return collector.excerpt() if isinstance(collector, LineCollector) else collector.matches()

    async def _first_lines(self, context: ToolContext, entries: EntryRange, limit: int) -> str:
        """Return the first lines of a list, after a line that names the call for the next lines.

        Each line is returned as a whole.
        """
        lines: list[tuple[int, str]] = []
        chars = 0
        async with aclosing(
            self.entries.lines(context.project_id, context.session_id, entries)
        ) as pieces:
            async for piece in pieces:
                lines += ((entry.seq, entry.text) for entry in piece)
                chars += sum(len(part.text) + 1 for part in piece)
                if chars > MAX_TEXT_CHARS:
                    break
        max_chars = min(limit, MAX_TEXT_CHARS)
        fitting, next_seq = await anyio.to_thread.run_sync(
            take_lines, lines, max_chars, context.max_tokens
        )
        last_seq = lines[len(fitting) - 1][0] if fitting else entries.first
        notice = f"; go on with ref={quote(entries.ref_from(next_seq))}" if next_seq else ""
        return "\n".join([f"[entries {entries.first} to {last_seq}{notice}]", *fitting])

    async def _read_lines(
        self, context: ToolContext, entries: EntryRange, after_seq: int = 0
    ) -> AsyncGenerator[str, None]:
        """Yield the text of a list in pieces of whole lines."""
        async with aclosing(
            self.entries.lines(context.project_id, context.session_id, entries, after_seq=after_seq)
        ) as pieces:
            async for piece in pieces:
                yield "".join(f"{part.text}\n" for part in piece)

    async def _decode(
        self, project_id: str, resource: Resource, decoder: TextDecoder
    ) -> AsyncGenerator[str, None]:
        async with aclosing(await self.blobs.open(project_id, resource.digest)) as reader:
            async for chunk in reader:
                yield decoder.decode(chunk)
        if rest := decoder.decode(b"", final=True):
            yield rest


async def _take_piece(pieces: AsyncIterator[str], offset: int) -> tuple[str, int]:
    """Return a piece of a text from an offset on, and the number of characters that were read."""
    start, text = 0, ""
    async for piece in pieces:
        text += piece[max(0, offset - start) :]
        start += len(piece)
        if len(text) > MAX_TEXT_CHARS:
            break
    return text, start


async def _format_piece(
    name: str, piece: str, start: int, request: ReadTextArguments, max_tokens: int
) -> str:
    """Return a piece of a text, after a line that names the call for the next piece."""
    write = partial(format_characters, name, piece, start, request, max_tokens)
    return await anyio.to_thread.run_sync(write)


def _read_query(request: ReadTextArguments) -> TextQuery | None:
    """Return the query of a request; `None` if the request reads characters from an offset.

    Raises:
        WrongArgumentsError: The range of lines or the pointer is invalid.
    """
    if request.pointer is not None and parse_json_pointer(request.pointer) is None:
        raise WrongArgumentsError("pointer begins with a slash, such as /items/0.")
    if request.lines is None and request.grep is None and request.pointer is None:
        return None
    lines = LineRange() if request.lines is None else parse_line_range(request.lines.strip())
    if lines is None:
        raise WrongArgumentsError("lines is a line or a range, such as 10-40 or 100-.")
    return TextQuery(lines=lines, grep=request.grep, ignore_case=True, pointer=request.pointer)
