"""Indexes of words: FTS5 on SQLite, a tsvector with a GIN index on PostgreSQL.

There is one of pages, and one of all else that is found by its words. Both databases get the words
and stems that `app.words.search_terms` makes and nothing else, so both find the same; results are
ranked by `app.words.ranking`, from the openings of texts alone.

An index answers with the newest 1,000 that have what is asked for, so that a word which is
everywhere costs no more than another. Beside its words everything has marks in the index, of its
project, session, modality and kind, so that a search reads no other's entries.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from sqlalchemy import ColumnElement, Text, bindparam, func

from app.stores.records.prepared_statements import Lookup
from app.stores.records.scope import AnyTable, in_batches, scoped_select
from app.stores.records.search_tables import IndexTables
from app.stores.records.unit_of_work import Repository, UnitOfWork
from app.words.ranking import MOST_COUNTED
from app.words.search_terms import (
    STEM_MARK,
    SearchableText,
    SearchTerm,
    SearchWords,
    is_continuous,
    search_words,
    stems_of,
)
from app.words.stems import stem
from pagefault_dialects.model.page import Modality

MOST_FOUND = 1_000
"""So many of the newest that have all of a query are found."""
MOST_HELD = MOST_COUNTED
"""So many of the newest that have a single term are found, to find what has most of a query."""
# Private use, so no word of a text begins so.
MARK = "\ue000"
"""The prefix of the marks of projects, sessions, modalities and kinds."""
_RANKED_CHARS = 2_000
_MOST_SESSIONS = 8_192

RequiredMarks: TypeAlias = Sequence[Sequence[str]]
"""A filter: a text has to have one mark of each of these sets."""


@dataclass(frozen=True, slots=True)
class IndexedPage:
    """The words that a record is found by. `words` may be made before the transaction begins."""

    words: SearchableText | SearchWords
    session_id: str | None
    modality: Modality | None
    kind: str | None = None
    other_sessions: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The columns stored for a text."""

    number: int
    marks: Sequence[str]
    words: SearchWords

    @property
    def stems(self) -> list[str]:
        """The stems as the index has them."""
        return [STEM_MARK + each for each in self.words.stems.split()]

    def columns(self) -> dict[str, object]:
        """Return the words as they are kept, with a blank on either side of each."""
        return {"heading": f" {self.words.heading} ", "body": f" {self.words.text} "}


class WordIndex(Repository, ABC):
    """The words of one project's pages, or entries. What is removed takes its words with it.

    Args:
        unit: The project.
        tables: Which index it is.
    """

    def __init__(self, unit: UnitOfWork, tables: IndexTables) -> None:
        super().__init__(unit)
        self._tables = tables
        # Where the words are as they are kept.
        self._texts = tables.texts if unit.scope.is_postgresql else tables.sqlite

    def index_all(self, indexed: Mapping[int, IndexedPage]) -> None:
        """Make these the words of pages, by page number."""
        self.remove_all(indexed)
        entries: list[IndexEntry] = []
        for number, each in sorted(indexed.items()):
            words = each.words
            words = words if isinstance(words, SearchWords) else search_words(words)
            said = [("session", each.session_id), ("modality", each.modality), ("kind", each.kind)]
            said += [("session", other) for other in each.other_sessions[:_MOST_SESSIONS]]
            marks = [self.mark(name, of) for name, of in said if of is not None]
            entries.append(IndexEntry(number, [self.mark("project", ""), *marks], words))
        self._insert(entries)

    def remove_all(self, numbers: Collection[int]) -> None:
        """Find these no longer."""
        for batch in in_batches(numbers):
            self._remove(batch)

    def narrowed(
        self,
        *,
        session_id: str | None = None,
        modalities: Collection[str] = (),
        kinds: Collection[str] = (),
    ) -> RequiredMarks:
        """Return the marks of a project, or of a session, of modalities and kinds in it."""
        marks = [] if session_id is None else [[self.mark("session", session_id)]]
        for name, wanted in (("modality", modalities), ("kind", kinds)):
            marks += [[self.mark(name, each) for each in sorted(wanted)]] if wanted else []
        # The project is in the other marks as well, and its own is in everything of it.
        return marks or [[self.mark("project", "")]]

    def mark(self, name: str, of: str) -> str:
        """Return the word that stands for a project, session, modality or kind."""
        identity = f"{self._scope.project_id}\0{name}\0{of}".encode()
        return MARK + hashlib.sha256(identity).hexdigest()[:24]

    @abstractmethod
    def newest(self, terms: Sequence[SearchTerm], marks: RequiredMarks) -> list[tuple[int, str]]:
        """Return the newest `MOST_FOUND` that have all terms, as (number, opening)."""

    @abstractmethod
    def holders(self, terms: Sequence[SearchTerm], marks: RequiredMarks) -> list[list[int]]:
        """Return the numbers of the newest `MOST_HELD` that have a term, for each of some."""

    def openings(self, numbers: Collection[int]) -> dict[int, str]:
        """Return how the texts of these begin, by number; those that are gone are missing."""
        texts = self._texts
        columns = [texts.c.number.label("number"), opening_of(texts).label("opening")]
        begun = self._scope.select(texts, columns=columns)
        rows = self._scope.rows_with(texts.c.number, numbers, begun)
        return {row.number: row.opening for row in rows}

    @abstractmethod
    def add_stems(self, numbers: Collection[int]) -> None:
        """Put the stems beside the words of what was indexed without them, what is gone apart."""

    @abstractmethod
    def _remove(self, numbers: Sequence[int]) -> None:
        """Forget the words of up to 500."""

    @abstractmethod
    def _insert(self, entries: Sequence[IndexEntry]) -> None:
        """Store the words of what has none stored."""

    def _single_words(self, term: SearchTerm) -> list[str]:
        """Return words of the index, of which one must be there, of a term that is one word."""
        (word,) = term.words
        stemmed = term.stem
        if stemmed is None or is_continuous(word):
            return [word]
        # The stem itself is in the index as a word where it is one of its own forms; the word as it
        # is asked for is all there is of what was indexed before there were stems.
        words = [stemmed, word] if stem(stemmed) == stemmed else [word]
        words.append(STEM_MARK + stemmed)
        if term.modality is not None:
            words.append(self.mark("modality", term.modality))
        return list(dict.fromkeys(words))


def stem_marks(words: str) -> list[str]:
    """Return the stems of words that were indexed before, as the index has them."""
    # Behind the words there is so much room in a tsvector, however long these are.
    return [STEM_MARK + each for each in stems_of(words.split(), most_bytes=40_000).split()]


def opening_of(texts: AnyTable) -> ColumnElement[str]:
    """Return what is ranked: the beginnings of its padded words, each in a line."""
    lines: list[ColumnElement[str]] = [
        func.substr(words, 1, _RANKED_CHARS, type_=Text)
        for words in (texts.c.heading, texts.c.body)
    ]
    return lines[0] + "\n" + lines[1]


# FTS5 walks its lists from the newest page on, so that the limit ends the work.
@cache
def _matching(table: AnyTable, *, with_openings: bool) -> Lookup:
    columns = [table.c.number.label("number")]
    if with_openings:
        columns.append(opening_of(table).label("opening"))
    return Lookup(
        scoped_select(table, *columns)
        .where(table.c.whole.op("MATCH")(bindparam("sought")))
        .order_by(table.c.number.desc())
        .limit(MOST_FOUND if with_openings else MOST_HELD)
    )


class SqliteWordIndex(WordIndex):
    """See WordIndex."""

    def newest(self, terms: Sequence[SearchTerm], marks: RequiredMarks) -> list[tuple[int, str]]:
        """See WordIndex."""
        lookup = _matching(self._texts, with_openings=True)
        # Nobody knows how many pages have one word and not the other: no work for the loop.
        rows = self._scope.look_up(lookup, is_short=False, sought=self._sought(terms, marks))
        return [(row.number, row.opening) for row in rows]

    def holders(self, terms: Sequence[SearchTerm], marks: RequiredMarks) -> list[list[int]]:
        """See WordIndex."""
        lookup = _matching(self._texts, with_openings=False)
        return [
            [row.number for row in self._scope.look_up(lookup, is_short=False, sought=sought)]
            for sought in (self._sought([term], marks) for term in terms)
        ]

    def add_stems(self, numbers: Collection[int]) -> None:
        """See WordIndex."""
        table = self._texts
        for row in self._scope.all(self._scope.select(table).where(table.c.number.in_(numbers))):
            scope = " ".join([row.scope, *stem_marks(row.heading + row.body)])
            self._scope.set_values(table, table.c.number == row.rowid, scope=scope)

    def _remove(self, numbers: Sequence[int]) -> None:
        self._scope.remove(self._texts, self._texts.c.number.in_(numbers))

    def _insert(self, entries: Sequence[IndexEntry]) -> None:
        rows = [
            {
                "number": entry.number,
                "scope": " ".join([*entry.marks, *entry.stems]),
                **entry.columns(),
            }
            for entry in entries
        ]
        self._scope.insert_new(self._texts, rows)

    def _sought(self, terms: Sequence[SearchTerm], marks: RequiredMarks) -> str:
        return " AND ".join([*map(_any_of, marks), *map(self._fts_term, terms)])

    def _fts_term(self, term: SearchTerm) -> str:
        if len(term.words) > 1 or term.is_prefix:
            return _quoted(" ".join(term.words)) + (" *" if term.is_prefix else "")
        return _any_of(self._single_words(term))


def _any_of(words: Sequence[str]) -> str:
    return _quoted(words[0]) if len(words) == 1 else f"({' OR '.join(map(_quoted, words))})"


def _quoted(words: str) -> str:
    # Words are letters, digits and marks: there is no quotation mark to escape.
    return f'"{words}"'
