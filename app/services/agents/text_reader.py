"""The tool `read_text`, by which a model reads stored texts, pages, entries and lists of entries.

A call returns a piece of the text: characters from an offset on, lines, the lines that match a
search, or the value at a JSON pointer. Memory is bounded: a stored text is only read up to the end
of the piece, and the lines of a list are made while the list is read.

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
from pagefault_dialects.pages.effective_level import read_whole_text
from pagefault_dialects.pages.line_formats import quote
from pagefault_dialects.text_windows import LineRange, parse_line_range
from pagefault_dialects.texts.excerpts import LineCollector, LineExcerpt, MatchCollector, Matches
from pagefault_dialects.texts.line_blocks import LineBlockSplitter
from pagefault_dialects.tools.tool_arguments import ReadTextArguments, WrongArgumentsError
from pagefault_dialects.tools.tool_catalogue import MAX_TEXT_CHARS

# The maximum number of entries that one call searches, since each takes up to half a millisecond.
_MAX_SEARCHED_ENTRIES = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class TextReader:
    """Runs the tool `read_text`."""

    records: Records
    blobs: BlobStore
    faults: PageFaults
    """Finds and reads pages."""
    texts: ResourceTexts
    history_texts: HistoryTexts
    """Reads entries and lists of entries."""

    async def read(self, context: ToolContext, request: ReadTextArguments) -> str:
        """Return a piece of a text, after a line that names the call for the next piece.

        Args:
            context: The project and the session of the call, and the limit of tokens.
            request: The arguments of the call.

        Raises:
            WrongArgumentsError: The reference names no text, or the piece does not exist. The text
                of the error says which call to make instead.
            StoreUnavailableError: A store did not answer.
        """
        query = _parse_query(request)
        entries = parse_entry_range(request.ref)
        if entries is not None:
            return await self._read_list(context, entries, request, query)
        named_text = await self._find_session_text(context, request.ref)
        if named_text is None:
            resource = await find_resource(self.records, context, request.ref)
            if resource is not None:
                return await self._read_resource(context, resource, request, query)
            named_text = await self._read_page(context, request.ref)
        name, text = named_text
        return await self._read_text(context, name, text, request, query)

    async def _find_session_text(self, context: ToolContext, ref: str) -> tuple[str, str] | None:
        """Return the name and the text of an entry, of an argument, or of a medium in an entry.

        Returns:
            `None` if the reference is not of one of these kinds.
        """
        named_text = await self.history_texts.find(context.project_id, context.session_id, ref)
        if named_text is not None:
            return named_text
        medium = await find_inline_medium(self.records, self.blobs, context, ref)
        if medium is None:
            return None
        decoded = medium.decode()
        return make_text_name(medium.medium.mime_type, decoded.charset), decoded.text

    async def _read_page(self, context: ToolContext, ref: str) -> tuple[str, str]:
        """Return the name and the text of a page, and record that a model has read it.

        Args:
            context: The project of the call.
            ref: The id of a page, or a text that contains it.

        Raises:
            WrongArgumentsError: There is no such page, it has no text, or `ref` names several
                pages.
        """
        page_ids = await self.faults.find_mentioned_pages(context.project_id, ref)
        if not page_ids:
            raise missing_ref_error(ref)
        if ref not in page_ids and len(page_ids) > 1:
            calls = ", ".join(f"read_text({quote(item)})" for item in page_ids)
            raise WrongArgumentsError(f"These pages are there, one for each call: {calls}.")
        page_id, views = page_ids[0], self.faults.views
        view = await views.view(context.project_id, page_id, Level.FULL)
        text = await run_in_loop_if(view.is_quick, read_whole_text, view.page)
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
        max_depth = self.texts.limits.json_depth
        total_lines, excerpt = await anyio.to_thread.run_sync(
            partial(find_in_text, text, query, max_depth=max_depth)
        )
        return await anyio.to_thread.run_sync(
            format_excerpt, name, total_lines, excerpt, context.max_tokens
        )

    async def _read_resource(
        self,
        context: ToolContext,
        resource: Resource,
        request: ReadTextArguments,
        query: TextQuery | None,
    ) -> str:
        """Return a piece of a stored text.

        Raises:
            WrongArgumentsError: The resource is not a text.
        """
        mime_type = resource.mime_type
        if not is_textual(mime_type):
            raise WrongArgumentsError(
                f"{resource.reference} is {mime_type} and no text. Use view_media."
            )
        if query is None:
            decoder = TextDecoder(mime_type)
            async with aclosing(self._decode(context.project_id, resource, decoder)) as chunks:
                piece, read_chars = await _take_piece(chunks, request.offset)
            name = make_text_name(mime_type, charset_name(decoder.encoding))
            return await _format_piece(name, piece, read_chars, request, context.max_tokens)
        text = await self.texts.find(context.project_id, resource.resource_id, query)
        result = await text.read()
        name = make_text_name(mime_type, result.charset)
        return await anyio.to_thread.run_sync(
            format_excerpt, name, result.total_lines, result.found, context.max_tokens
        )

    async def _read_list(
        self,
        context: ToolContext,
        entries: EntryRange,
        request: ReadTextArguments,
        query: TextQuery | None,
    ) -> str:
        """Return a piece of a list, which has one line for each entry.

        Raises:
            WrongArgumentsError: The list is empty, or the query has a JSON pointer.
        """
        name = "list of entries"
        total_lines = (await self._measure(context, entries)).total_lines
        if query is None and not request.offset:
            return await self._read_first_lines(context, entries, request.limit)
        if query is None:
            async with aclosing(self._read_lines(context, entries)) as chunks:
                piece, read_chars = await _take_piece(chunks, request.offset)
            return await _format_piece(name, piece, read_chars, request, context.max_tokens)
        if query.pointer is not None:
            raise WrongArgumentsError("A list of entries is no JSON: use lines or grep.")
        if query.grep is not None and total_lines > _MAX_SEARCHED_ENTRIES:
            end = await self._measure(context, entries, _MAX_SEARCHED_ENTRIES + 1)
            next_ref = quote(entries.ref_from(end.after_seq + 1))
            name = f"list of entries up to {end.after_seq}, ref={next_ref} has the others"
            entries = EntryRange(entries.first, end.after_seq)
            total_lines = (await self._measure(context, entries)).total_lines
        excerpt = await self._find_lines(context, entries, query, total_lines)
        return await anyio.to_thread.run_sync(
            format_excerpt, name, total_lines, excerpt, context.max_tokens
        )

    async def _measure(self, context: ToolContext, entries: EntryRange, line: int = 1) -> ListStart:
        """Count the lines of a list, and find the entry before one line of it."""
        return await self.history_texts.measure(
            context.project_id, context.session_id, entries, line
        )

    async def _find_lines(
        self, context: ToolContext, entries: EntryRange, query: TextQuery, total_lines: int
    ) -> LineExcerpt | Matches:
        """Return a range of the lines of a list; with `grep`, only the lines that match.

        Args:
            context: The project and the session.
            entries: The entries of the list.
            query: The range of lines, and the text to search for.
            total_lines: The number of lines of the list.
        """
        first, last = query.lines.within(total_lines)
        collector: LineCollector | MatchCollector = LineCollector(first, last)
        if query.grep is not None:
            collector = MatchCollector(
                query.grep, ignore_case=True, context=0, first=first, last=last
            )
        blocks = LineBlockSplitter(max(1, first))
        if first <= last:
            start = await self._measure(context, entries, first)
            async with aclosing(self._read_lines(context, entries, start.after_seq)) as chunks:
                async for chunk in chunks:
                    for block in blocks.feed(chunk):
                        collector.feed(block)
                    if collector.is_done:
                        break
        return collector.finish()

    async def _read_first_lines(
        self, context: ToolContext, entries: EntryRange, max_chars: int
    ) -> str:
        """Return the first lines of a list, after a line that names the call for the next lines.

        Lines are not cut, except a first line that is too long by itself. The next call names an
        entry, not an offset.
        """
        lines: list[tuple[int, str]] = []
        chars = 0
        async with aclosing(
            self.history_texts.lines(context.project_id, context.session_id, entries)
        ) as batches:
            async for batch in batches:
                lines += ((line.seq, line.text) for line in batch)
                chars += sum(len(line.text) + 1 for line in batch)
                if chars > MAX_TEXT_CHARS:
                    break
        fitting, next_seq = await anyio.to_thread.run_sync(
            take_lines, lines, min(max_chars, MAX_TEXT_CHARS), context.max_tokens
        )
        last_seq = lines[len(fitting) - 1][0] if fitting else entries.first
        next_call = f"; go on with ref={quote(entries.ref_from(next_seq))}" if next_seq else ""
        return "\n".join([f"[entries {entries.first} to {last_seq}{next_call}]", *fitting])

    async def _read_lines(
        self, context: ToolContext, entries: EntryRange, after_seq: int = 0
    ) -> AsyncGenerator[str, None]:
        """Yield the text of a list in chunks of whole lines, for the entries after `after_seq`."""
        async with aclosing(
            self.history_texts.lines(
                context.project_id, context.session_id, entries, after_seq=after_seq
            )
        ) as batches:
            async for batch in batches:
                yield "".join(f"{line.text}\n" for line in batch)

    async def _decode(
        self, project_id: str, resource: Resource, decoder: TextDecoder
    ) -> AsyncGenerator[str, None]:
        async with aclosing(await self.blobs.open(project_id, resource.digest)) as reader:
            async for chunk in reader:
                yield decoder.decode(chunk)
        if rest := decoder.decode(b"", final=True):
            yield rest


async def _take_piece(chunks: AsyncIterator[str], offset: int) -> tuple[str, int]:
    """Read a text until a piece from an offset on is long enough for one call.

    Returns:
        The text from the offset on, with more than `MAX_TEXT_CHARS` characters if it has as many,
        and the number of characters that were read from the start of the text.
    """
    read_chars, piece = 0, ""
    async for chunk in chunks:
        piece += chunk[max(0, offset - read_chars) :]
        read_chars += len(chunk)
        if len(piece) > MAX_TEXT_CHARS:
            break
    return piece, read_chars


async def _format_piece(
    name: str, piece: str, total_chars: int, request: ReadTextArguments, max_tokens: int
) -> str:
    """Call `format_characters` in a thread."""
    return await anyio.to_thread.run_sync(
        format_characters, name, piece, total_chars, request, max_tokens
    )


def _parse_query(request: ReadTextArguments) -> TextQuery | None:
    """Return the lines, the search or the pointer that a call asks for.

    Returns:
        `None` if the call asks for characters from an offset on.

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
