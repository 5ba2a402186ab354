"""Write an import in one transaction: everything of a session, or none of it."""

from collections.abc import Sequence

from app.errors import ConflictError
from app.models.alias import MOST_ALIASES
from app.models.page import Page
from app.models.search import SearchWords, search_words
from app.services.bundles.archive import BLOBS, HISTORY, INTERACTIONS, PAGES
from app.services.bundles.checking import ENTRY_KINDS, CheckedBundle
from app.services.bundles.page_checks import read_bundled_page, referred_text_digest
from app.services.bundles.rows import (
    HISTORY_LINES,
    INTERACTION_LINES,
    PAGE_LINES,
    HistoryLine,
    MessageLine,
    PageFaultLine,
    PageLine,
    ToolResultLine,
    parse_moment,
)
from app.services.bundles.stored import (
    recorded_result,
    stored_interaction,
    stored_levels,
    stored_message,
)
from app.services.pages.versions import searchable_text
from app.services.resources.aliases import too_many_aliases
from app.stores.records import UnitOfWork
from app.stores.records.bundles import Entry
from app.stores.records.page_search import IndexedPage


class BundleWriter:
    """Writes one bundle in the transaction of a unit of work.

    Rows are taken in the order every writer takes them: session, pages, records, resources.
    """

    def __init__(self, unit: UnitOfWork, checked: CheckedBundle) -> None:
        self._unit = unit
        self._checked = checked
        self._session_id = checked.session.session_id

    def write(self) -> None:
        """Store all of it.

        Raises:
            ConflictError: Something has one of the ids, or one of the aliases, already.
            BlobSweptError: A sweep has removed one of the blobs meanwhile.
        """
        if not self._unit.sessions.add(self._checked.session):
            raise _conflict("session", self._session_id)
        for lines in self._checked.batches(PAGES, PAGE_LINES):
            self._add_pages(lines)
        for entries in self._checked.batches(HISTORY, HISTORY_LINES):
            self._add_history(entries)
        for interactions in self._checked.batches(INTERACTIONS, INTERACTION_LINES):
            stored = [stored_interaction(line, self._session_id) for line in interactions]
            for taken in self._unit.bundles.add_interactions(stored):
                raise _conflict("interaction", taken)
        self._add_resources()

    def _add_pages(self, lines: Sequence[PageLine]) -> None:
        """Store pages, newer than those stored before."""
        unit = self._unit
        pages = [read_bundled_page(line) for line in lines]
        numbers = unit.pages.insert_absent([each.version for each in pages])
        for line in lines:
            if line.page_id not in numbers:
                raise _conflict("page", line.page_id)
        unit.page_levels.replace_many({line.page_id: stored_levels(line) for line in lines})
        unit.page_search.index_all(
            {
                numbers[each.version.page_id]: IndexedPage(
                    self._words(each.page), self._session_id, each.version.fields.modality
                )
                for each in pages
            }
        )
        unit.page_accesses.add(
            {
                line.page_id: (line.access_count, parse_moment(line.last_accessed))
                for line in lines
                if line.last_accessed is not None
            }
        )
        for line in lines:
            if line.fetched_resource_id is not None:
                unit.pages.set_fetched(
                    numbers[line.page_id], line.fetched_resource_id, digest=line.digest
                )

    def _add_history(self, batch: Sequence[HistoryLine]) -> None:
        """Store entries of the history, with the records they stand for."""
        bundles = self._unit.bundles
        entries = [Entry(line.seq, ENTRY_KINDS[type(line)], line.id) for line in batch]
        bundles.add_entries(self._session_id, entries)
        results = [
            recorded_result(line, self._session_id)
            for line in batch
            if isinstance(line, ToolResultLine)
        ]
        for taken in bundles.add_tool_results(results):
            raise _conflict("tool result", taken)
        messages = [
            stored_message(line) for line in batch if isinstance(line, MessageLine | PageFaultLine)
        ]
        for taken in bundles.add_messages(self._session_id, messages):
            raise _conflict("message", taken)

    def _add_resources(self) -> None:
        """Store the descriptors that are not there, their aliases, and what refers to them."""
        self._unit.resources.ensure_all(self._checked.resources.values())
        for taken in self._unit.aliases.add_all(self._checked.aliases):
            raise ConflictError(
                f"The alias {taken} names another resource in this project already, and an import "
                "replaces nothing. Delete the alias first, or import into another project. "
                "Nothing was stored.",
                code="alias-exists",
            )
        named = {each.resource_id for each in self._checked.aliases.values()}
        if self._unit.aliases.count_most(named) > MOST_ALIASES:
            raise too_many_aliases()
        self._unit.bundles.size_entries(self._session_id)
        self._unit.bundles.add_links(self._session_id, self._checked.links)

    def _words(self, page: Page) -> SearchWords:
        digest = referred_text_digest(page, self._checked.resources)
        text = None
        if digest is not None:
            text = b"".join(self._checked.file.chunks(BLOBS + digest)).decode("utf-8", "replace")
        return search_words(searchable_text(page, text))


def _conflict(noun: str, taken_id: str) -> ConflictError:
    return ConflictError(
        f"There is a {noun} with the id {taken_id} in this project already, and an import replaces "
        "nothing. Delete the session it belongs to first, or import into another project. Nothing "
        "was stored.",
        code=f"{noun.replace(' ', '-')}-exists",
    )
