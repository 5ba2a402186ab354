"""`pagefault page list`, `search` and `stats`, read directly from the stores."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import anyio
from rich.filesize import decimal

from app.cli.error_output import check_session
from app.cli.terminal import ERR, format_count, print_line, to_one_line, truncate
from app.config.settings import Settings
from app.models.search_entry import SearchMatch
from app.services.maintenance.project_totals import count_project
from app.services.pages.accesses import AccessCounts
from app.services.pages.page_lists import PageLists
from app.services.pages.stored_pages import read_descriptor
from app.services.search.indexing import SearchIndexing
from app.services.search.search import Search, SearchRequest
from app.stores.records.records import Records
from app.wire.pages import encode_page_summary
from app.wire.search import encode_search_results
from app.wiring.stores import open_records
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.page import Level, Modality, PageFilters, StoredPage

_BATCH_SIZE = 200
_SUMMARY_CHARS = 80


def list_pages(
    settings: Settings,
    project_id: str,
    *,
    session: str | None,
    modality: Modality | None,
    limit: int,
    as_json: bool,
) -> None:
    """Print a line for each page, newest first."""
    check_session(session, "--session")
    filters = PageFilters(session_id=session, modality=modality)

    async def print_results(records: Records) -> None:
        count = 0
        async with aclosing(_list_pages_in_batches(records, project_id, filters, limit)) as pages:
            async for page in pages:
                count += 1
                print_line(encode_page_summary(page).decode() if as_json else _format_page(page))
        if not count:
            print_line("No pages.", to=ERR)

    _run(settings, print_results)


def search_records(
    settings: Settings,
    project_id: str,
    query: str,
    *,
    session: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """Print a line for each match, the best first.

    Raises:
        InvalidPayloadError: The query has no search term.
    """
    check_session(session, "--session")
    request = SearchRequest(query, session_id=session)

    async def print_results(records: Records) -> None:
        search = Search(records, SearchIndexing(records))
        results = await search.search(project_id, request, cursor=None, limit=limit)
        if as_json:
            body = encode_search_results(results.hits, results.next_cursor, pending=results.pending)
            print_line(body.decode())
            return
        for hit in results.hits:
            print_line(_format_hit(hit))
        if not results.hits:
            print_line("No matches.", to=ERR)
        if results.next_cursor is not None:
            print_line(f"There are more than {limit} matches. Set a higher --limit.", to=ERR)
        if results.pending:
            print_line(
                f"{format_count(results.pending, 'record')} not indexed yet. Try again.", to=ERR
            )

    _run(settings, print_results)


def show_stats(settings: Settings, project_id: str, *, as_json: bool) -> None:
    """Print the totals of a project."""

    async def print_results(records: Records) -> None:
        totals = await count_project(records, project_id)
        if as_json:
            print_line(json_text(totals.members()))
            return
        for name, number in totals.members().items():
            size = f"  ({decimal(number)})" if name == "bytes" else ""
            print_line(f"{name + ':':<14}{number:,}{size}")

    _run(settings, print_results)


def _run(settings: Settings, command: Callable[[Records], Awaitable[None]]) -> None:
    async def run() -> None:
        async with open_records(settings) as (records, _):
            await command(records)

    anyio.run(run)


async def _list_pages_in_batches(
    records: Records, project_id: str, filters: PageFilters, limit: int
) -> AsyncGenerator[StoredPage, None]:
    lists, cursor = PageLists(records, AccessCounts(records)), None
    while limit > 0:
        size = min(limit, _BATCH_SIZE)
        pages, cursor = await lists.list(project_id, filters, cursor=cursor, limit=size)
        for page in pages:
            yield page
        limit -= len(pages)
        if cursor is None:
            return


def _format_page(page: StoredPage) -> str:
    descriptor = read_descriptor(page)
    summary = descriptor["hint"] or descriptor["caption"] or ""
    columns = (
        page.page_id,
        f"{descriptor['modality']}, {Level(descriptor['compression_level']).name}, "
        f"~{descriptor['size_tokens']} tokens",
        truncate(" ".join(summary.split()), _SUMMARY_CHARS),
    )
    return to_one_line("  ".join(filter(None, columns)))


def _format_hit(hit: SearchMatch) -> str:
    location = hit.handle if hit.seq is None else f"{hit.session_id}#{hit.seq}"
    kind = f"{hit.kind}, {hit.title}" if hit.title else hit.kind
    snippet = " ".join((hit.snippet or "").split())
    return to_one_line("  ".join(filter(None, (location, kind, snippet))))
