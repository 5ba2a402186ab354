"""Search over the words of pages: FTS5 on SQLite, a tsvector with a GIN index on PostgreSQL.

Both get the words that `app.models.search` makes and nothing else, so both find the same pages and
rank them alike: a term counts four for every time the heading has it and one for every time the
text has it, in the first 2,000 characters of either; of equals the newer page comes first. The
ranking looks at the page alone: weighing words by how many pages have them (bm25) would tell one
project what another keeps, and would move a list's positions with every page written.

At most the 1,000 newest matches are ranked, so that a word which is everywhere costs no more than
another. Beside its words every page has marks of its project, session and modality in the index,
so that a search reads no other's entries.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Text, bindparam, func

from app.models.page import Modality
from app.models.search import SearchableText, SearchQuery, SearchTerm, SearchWords, search_words
from app.stores.records.prepared_statements import Lookup
from app.stores.records.scope import Repository, in_batches, scoped_select
from app.stores.records.tables import page_search_sqlite as page_search

MOST_RANKED = 1_000
# Private use, so no word of a text begins so.
MARK = "\ue000"
"""What the marks of projects, sessions and modalities begin with."""
# What a term in the heading counts above one in the text.
_MORE_IN_HEADING = 3
_RANKED_CHARS = 2_000
_NUMBERS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class IndexedPage:
    """What a page is to be found by. `words` may be made before the transaction begins."""

    words: SearchableText | SearchWords
    session_id: str | None
    modality: Modality


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What is stored of a page."""

    page_number: int
    marks: Sequence[str]
    words: SearchWords

    def columns(self) -> dict[str, object]:
        """Return the words as they are kept, with a blank on either side of each."""
        return {"heading": f" {self.words.heading} ", "body": f" {self.words.text} "}


class PageSearch(Repository, ABC):
    """The words of one project's pages. A page that is removed takes its words with it."""

    def index_all(self, indexed: Mapping[int, IndexedPage]) -> None:
        """Make these the words of pages, by page number."""
        self.remove_all(indexed)
        entries: list[IndexEntry] = []
        for number, page in sorted(indexed.items()):
            marks, words = self.marks(page.session_id, page.modality), page.words
            words = words if isinstance(words, SearchWords) else search_words(words)
            entries.append(IndexEntry(number, marks, words))
        self._insert(entries)

    def remove_all(self, page_numbers: Collection[int]) -> None:
        """Find the pages no longer."""
        for batch in in_batches(page_numbers, _NUMBERS_AT_ONCE):
            self._remove(batch)

    def find(
        self,
        query: SearchQuery,
        *,
        session_id: str | None = None,
        modality: Modality | None = None,
        limit: int = MOST_RANKED,
    ) -> Sequence[tuple[int, int]]:
        """The best pages that have all terms, as (page number, rank).

        Args:
            query: What to look for.
            session_id: Only pages of this session.
            modality: Only pages of this modality.
            limit: How many at most; there are never more than 1,000.

        Returns:
            Higher ranks first, and of equals the newer page. A page's rank changes only when its
            own words do.
        """
        marks = self.marks(session_id, modality)
        # The project is in the other marks as well, and its own is in every page of it.
        newest = self._newest(query, marks[1:] or marks)
        ranked = sorted(ranks(query, newest), reverse=True)
        return [(number, rank) for rank, number in ranked[:limit]]

    def marks(self, session_id: str | None, modality: Modality | None) -> list[str]:
        """The words that stand for the project, and for a session and a modality in it."""
        named = {"project": "", "session": session_id, "modality": modality}
        return [self._mark(f"{kind}\0{name}") for kind, name in named.items() if name is not None]

    def _mark(self, name: str) -> str:
        identity = f"{self._scope.project_id}\0{name}".encode()
        return MARK + hashlib.sha256(identity).hexdigest()[:24]

    @abstractmethod
    def _remove(self, page_numbers: Sequence[int]) -> None:
        """Forget the words of up to 1,000 pages."""

    @abstractmethod
    def _insert(self, entries: Sequence[IndexEntry]) -> None:
        """Store the words of pages that have none stored."""

    @abstractmethod
    def _newest(self, query: SearchQuery, marks: Sequence[str]) -> list[tuple[int, str]]:
        """The newest `MOST_RANKED` matches with all marks, as (page number, its `opening`)."""


def needle(term: SearchTerm) -> str:
    """The text that padded words have in them if they have the term."""
    return f" {' '.join(term.words)}{'' if term.is_prefix else ' '}"


def opening(heading: ColumnElement[str], text: ColumnElement[str]) -> ColumnElement[str]:
    """What a page is ranked by: the beginnings of its padded words, each in a line."""
    lines: list[ColumnElement[str]] = [
        func.substr(words, 1, _RANKED_CHARS, type_=Text) for words in (heading, text)
    ]
    return lines[0] + "\n" + lines[1]


def ranks(query: SearchQuery, newest: Sequence[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    """How well pages answer a query, by their `opening`s, and their numbers."""
    needles = [needle(term) for term in query.terms]
    for number, opened in newest:
        end = opened.index("\n")
        rank = 0
        for each in needles:
            # None reaches from one line into the other; those of the heading are in both counts.
            rank += opened.count(each) + _MORE_IN_HEADING * opened.count(each, 0, end)
        yield rank, number


# FTS5 walks its lists from the newest page on, so that the limit ends the work.
_NEWEST = Lookup(
    scoped_select(
        page_search,
        page_search.c.rowid,
        opening(page_search.c.heading, page_search.c.body).label("opening"),
    )
    .where(page_search.c.page_search.op("MATCH")(bindparam("sought")))
    .order_by(page_search.c.rowid.desc())
    .limit(MOST_RANKED)
)


class SqlitePageSearch(PageSearch):
    """See PageSearch."""

    def _remove(self, page_numbers: Sequence[int]) -> None:
        self._scope.remove(page_search, page_search.c.rowid.in_(page_numbers))

    def _insert(self, entries: Sequence[IndexEntry]) -> None:
        rows = [
            {"rowid": entry.page_number, "scope": " ".join(entry.marks), **entry.columns()}
            for entry in entries
        ]
        self._scope.insert_new(page_search, rows)

    def _newest(self, query: SearchQuery, marks: Sequence[str]) -> list[tuple[int, str]]:
        sought = " AND ".join([*map(_quoted, marks), *map(_fts_term, query.terms)])
        # Nobody knows how many pages have one word and not the other: no work for the loop.
        rows = self._scope.look_up(_NEWEST, is_short=False, sought=sought)
        return [(row.rowid, row.opening) for row in rows]


def _fts_term(term: SearchTerm) -> str:
    return _quoted(" ".join(term.words)) + (" *" if term.is_prefix else "")


def _quoted(words: str) -> str:
    # Words are letters, digits and marks: there is no quotation mark to escape.
    return f'"{words}"'
