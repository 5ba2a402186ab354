"""Indexes of words: FTS5 on SQLite, a tsvector with a GIN index on PostgreSQL.

There is an index of memory pages, and one of all other searchable records. `app.words.search_terms`
makes the words and stems for both databases, so both find the same. `app.words.ranking` ranks the
matches by the *opening* of each text: the first 2,000 characters of its heading and of its body.

An index returns only the newest 1,000 matches, so that a frequent word does not take longer than
others. Beside its words, a text has *marks* in the index: hashes of its project, session, modality
and kind. A search requires marks, so it reads only texts that it may return.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Delete, Select, Text, bindparam, func

from app.stores.records.scope import in_batches
from app.stores.records.search_tables import IndexTables
from app.stores.records.statements import (
    AnyTable,
    is_among,
    scoped_delete,
    scoped_select,
    scoped_update,
)
from app.stores.records.unit_of_work import Repository, UnitOfWork
from app.words.ranking import MAX_COUNTED
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

MAX_QUERY_MATCHES = 1_000
"""The maximum number of matches of a whole query; the newest are returned."""
MAX_TERM_MATCHES = MAX_COUNTED
"""The maximum number of matches of a single term; the newest are returned."""
# A private-use character, with which no word of a text begins.
MARK = "\ue000"
"""The prefix of the marks of projects, sessions, modalities and kinds."""
_OPENING_CHARS = 2_000
# A file that more sessions link is found in searches of only so many of them.
_MAX_SESSIONS = 8_192

RequiredMarks: TypeAlias = Sequence[Sequence[str]]
"""A filter: a text matches if it has at least one mark of each of these sets."""


@dataclass(frozen=True, slots=True)
class IndexedRecord:
    """The words of a record, and the values from which its marks are made."""

    words: SearchableText | SearchWords
    session_id: str | None
    modality: Modality | None
    kind: str | None = None
    other_sessions: Sequence[str] = ()
    found_as: str | None = None
    """Another kind, in searches for which the record is also found."""
    tools: Sequence[str] = ()
    """The tools that the record calls, or whose results it has."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The number, marks and words of a text, as the index stores them."""

    number: int
    marks: Sequence[str]
    words: SearchWords

    @property
    def stems(self) -> list[str]:
        """The stems with the prefix that distinguishes them from words in the index."""
        return [STEM_MARK + word for word in self.words.stems.split()]

    def columns(self) -> dict[str, object]:
        """Return the words as they are stored, with a space before and after each."""
        return {"heading": f" {self.words.heading} ", "body": f" {self.words.text} "}


class WordIndex(Repository, ABC):
    """The words of the pages, or of the search entries, of one project.

    Words are removed with their record.

    Args:
        unit: The project.
        tables: The tables of the index.
    """

    def __init__(self, unit: UnitOfWork, tables: IndexTables) -> None:
        super().__init__(unit)
        self._tables = tables
        # The table with the stored words.
        self._texts = tables.texts if unit.scope.is_postgresql else tables.sqlite

    def index_all(self, indexed: Mapping[int, IndexedRecord]) -> None:
        """Replace the words of texts, by number."""
        self.remove_all(indexed)
        self.insert_all(indexed)

    def insert_all(self, indexed: Mapping[int, IndexedRecord]) -> None:
        """Add the words of texts that have none, by number."""
        entries: list[IndexEntry] = []
        for number, record in sorted(indexed.items()):
            words = record.words
            words = words if isinstance(words, SearchWords) else search_words(words)
            sessions = [record.session_id, *record.other_sessions[:_MAX_SESSIONS]]
            values = [("session", session_id) for session_id in sessions]
            values += [("modality", record.modality)]
            values += [("kind", kind) for kind in (record.kind, record.found_as)]
            marks = [self.mark(name, value) for name, value in values if value is not None]
            entries.append(IndexEntry(number, [self.mark("project", ""), *marks], words))
        self._insert(entries)

    def remove_all(self, numbers: Collection[int]) -> None:
        """Remove the words of texts, by number."""
        for batch in in_batches(numbers):
            self._remove(batch)

    def required_marks(
        self,
        *,
        session_id: str | None = None,
        modalities: Collection[str] = (),
        kinds: Collection[str] = (),
    ) -> RequiredMarks:
        """Return the marks that a match must have. An omitted filter does not restrict the search.

        Args:
            session_id: The session to search.
            modalities: The modalities of which a match has one.
            kinds: The kinds of which a match has one.
        """
        marks = [] if session_id is None else [[self.mark("session", session_id)]]
        for name, values in (("modality", modalities), ("kind", kinds)):
            marks += [[self.mark(name, item) for item in sorted(values)]] if values else []
        # Every mark is a hash that includes the project's id, so the mark of the project is needed
        # only if there is no other mark.
        return marks or [[self.mark("project", "")]]

    def mark(self, name: str, value: str) -> str:
        """Return the mark of a project, session, modality or kind."""
        identity = f"{self._scope.project_id}\0{name}\0{value}".encode()
        return MARK + hashlib.sha256(identity).hexdigest()[:24]

    @abstractmethod
    def find_all_terms(
        self, terms: Sequence[SearchTerm], marks: RequiredMarks
    ) -> list[tuple[int, str]]:
        """Return the newest `MAX_QUERY_MATCHES` matches of all terms, as (number, opening)."""

    @abstractmethod
    def find_each_term(self, terms: Sequence[SearchTerm], marks: RequiredMarks) -> list[list[int]]:
        """Return the numbers of the newest `MAX_TERM_MATCHES` matches of each term, in order."""

    def openings(self, numbers: Collection[int]) -> dict[int, str]:
        """Return the openings of the texts that exist, by number."""
        rows = self._scope.rows_in_batches(_select_openings(self._texts), numbers)
        return {row.number: row.opening for row in rows}

    @abstractmethod
    def add_stems(self, numbers: Collection[int]) -> None:
        """Add their stems to texts that were indexed without stems, if the texts still exist."""

    @abstractmethod
    def _remove(self, numbers: Sequence[int]) -> None:
        """Remove the words of up to 500 texts."""

    @abstractmethod
    def _insert(self, entries: Sequence[IndexEntry]) -> None:
        """Store the words of texts that have no stored words."""

    def _single_words(self, term: SearchTerm) -> list[str]:
        """Return the words of the index that match a term of one word."""
        (word,) = term.words
        stemmed = term.stem
        if stemmed is None or is_continuous(word):
            return [word]
        # A word that is its own stem is indexed only as a word, so the stem of the query is
        # searched as a word as well. An earlier version has indexed texts without stems, so the
        # word of the query is always searched.
        words = [stemmed, word] if stem(stemmed) == stemmed else [word]
        words.append(STEM_MARK + stemmed)
        if term.modality is not None:
            words.append(self.mark("modality", term.modality))
        return list(dict.fromkeys(words))


def stem_marks(words: str) -> list[str]:
    """Return the stems of words that were indexed without stems, with the prefix of stems."""
    # A tsvector has a maximum size. The words of the longest text leave this much space.
    return [STEM_MARK + word for word in stems_of(words.split(), max_bytes=40_000).split()]


def opening_of(texts: AnyTable) -> ColumnElement[str]:
    """Select the opening of a text, for ranking: a line of its heading, and a line of its body."""
    lines: list[ColumnElement[str]] = [
        func.substr(words, 1, _OPENING_CHARS, type_=Text)
        for words in (texts.c.heading, texts.c.body)
    ]
    return lines[0] + "\n" + lines[1]


@cache
def _select_openings(texts: AnyTable) -> Select[Any]:
    columns = texts.c.number.label("number"), opening_of(texts).label("opening")
    return scoped_select(texts, *columns).where(is_among(texts.c.number, "values"))


@cache
def remove_numbers(table: AnyTable) -> Delete:
    """Delete the rows of a table of an index whose numbers are in `numbers`."""
    return scoped_delete(table).where(is_among(table.c.number, "numbers"))


@cache
def _select_matches(table: AnyTable, *, with_openings: bool) -> Select[Any]:
    # FTS5 reads matches from the highest number down, so it stops at the limit.
    columns: list[ColumnElement[Any]] = [table.c.number.label("number")]
    if with_openings:
        columns.append(opening_of(table).label("opening"))
    return (
        scoped_select(table, *columns)
        .where(table.c.whole.op("MATCH")(bindparam("query")))
        .order_by(table.c.number.desc())
        .limit(MAX_QUERY_MATCHES if with_openings else MAX_TERM_MATCHES)
    )


class SqliteWordIndex(WordIndex):
    """Finds words with a virtual table of FTS5. See `WordIndex`."""

    def find_all_terms(
        self, terms: Sequence[SearchTerm], marks: RequiredMarks
    ) -> list[tuple[int, str]]:
        """See WordIndex."""
        statement = _select_matches(self._texts, with_openings=True)
        rows = self._scope.all(statement, query=self._make_query(terms, marks))
        return [(row.number, row.opening) for row in rows]

    def find_each_term(self, terms: Sequence[SearchTerm], marks: RequiredMarks) -> list[list[int]]:
        """See WordIndex."""
        statement = _select_matches(self._texts, with_openings=False)
        queries = [self._make_query([term], marks) for term in terms]
        return [list(self._scope.execute(statement, query=query).scalars()) for query in queries]

    def add_stems(self, numbers: Collection[int]) -> None:
        """See WordIndex."""
        table = self._texts
        set_scope = scoped_update(table, by={"number": "of_number"})
        for row in self._scope.rows_with(table.c.number, numbers):
            scope = " ".join([row.scope, *stem_marks(row.heading + row.body)])
            self._scope.run(set_scope, of_number=row.rowid, scope=scope)

    def _remove(self, numbers: Sequence[int]) -> None:
        self._scope.run(remove_numbers(self._texts), numbers=numbers)

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

    def _make_query(self, terms: Sequence[SearchTerm], marks: RequiredMarks) -> str:
        """Return the query of FTS5 for texts with all terms and the required marks."""
        return " AND ".join([*map(_match_any, marks), *map(self._match_term, terms)])

    def _match_term(self, term: SearchTerm) -> str:
        if len(term.words) > 1 or term.is_prefix:
            return _quote(" ".join(term.words)) + (" *" if term.is_prefix else "")
        return _match_any(self._single_words(term))


def _match_any(words: Sequence[str]) -> str:
    return _quote(words[0]) if len(words) == 1 else f"({' OR '.join(map(_quote, words))})"


def _quote(words: str) -> str:
    # Words are letters, digits and marks: there is no quotation mark to escape.
    return f'"{words}"'
