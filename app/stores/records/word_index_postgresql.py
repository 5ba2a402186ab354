"""An index of words on PostgreSQL: a tsvector that this module makes, in a GIN index.

A search with a GIN index cannot stop after the newest matches: it reads the row of every match. So
each text also has a mark of its *window*, a range of 4,096 numbers. A search reads the newest
windows first, then as many older ones as probably contain the missing matches, and then all others.

A search for a phrase reads every text with the words of the phrase, so pairs of short words have
marks as well (see `is_pair`). A tsvector stores at most 255 positions of a word, and none above
16,383. If a text has more positions (`is_long`), phrases are searched in its stored words.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from sqlalchemy import (
    ColumnElement,
    Select,
    String,
    and_,
    case,
    cast,
    func,
    literal,
    or_,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY, TSQUERY

from app.stores.records.statements import scoped_from, scoped_select, scoped_update
from app.stores.records.word_index import (
    MARK,
    MAX_QUERY_MATCHES,
    MAX_TERM_MATCHES,
    IndexEntry,
    RequiredMarks,
    WordIndex,
    opening_of,
    remove_numbers,
    stem_marks,
)
from app.words.ranking import needle
from app.words.search_terms import TEXT_BREAK, SearchTerm, SearchWords, is_pair

_WINDOW_BITS = 12
_NEWEST_WINDOWS = 3
_MAX_LISTED_WINDOWS = 32
# The character between the two words of a pair. No word contains it.
_PAIR = "\ue002"
_MAX_POSITIONS = 255
# Replaces positions that cannot be stored. No word has this position, or the position before.
_UNKNOWN_POSITION = 16_383
_LAST_POSITION = _UNKNOWN_POSITION - 2


class PostgresWordIndex(WordIndex):
    """Finds words with a tsvector. See `WordIndex`."""

    def find_each_term(self, terms: Sequence[SearchTerm], marks: RequiredMarks) -> list[list[int]]:
        """See WordIndex."""
        found: list[list[int]] = [[] for _ in terms]
        newest = self._newest_window()
        windows = [_Windows(newest, MAX_TERM_MATCHES) for _ in terms]
        while True:
            # The terms that have too few matches yet, each with the windows to search next.
            open_terms = [
                (index, operand)
                for index, window in enumerate(windows)
                if len(found[index]) < MAX_TERM_MATCHES
                and (operand := window.next_operand(len(found[index]))) is not None
            ]
            if not open_terms:
                return found
            # One statement searches all terms, because a round trip takes longer than finding a
            # rare word.
            parts = []
            for index, operand in open_terms:
                limit = MAX_TERM_MATCHES - len(found[index])
                operands = [*_mark_operands(marks), operand]
                selected = self._select_newest([terms[index]], operands, limit)
                numbers = selected.subquery(f"term_{index}")
                term = literal(index).label("term")
                parts.append(scoped_from(numbers, term, numbers.c.number))
            for row in self._scope.all(union_all(*parts)):
                found[row.term].append(row.number)

    def add_stems(self, numbers: Collection[int]) -> None:
        """See WordIndex."""
        texts, vectors = self._tables.texts, self._tables.postgresql
        # Locked rows are skipped: another transaction is indexing them again, with stems.
        locked = scoped_select(vectors, vectors.c.number).where(vectors.c.number.in_(numbers))
        skipping = locked.with_for_update(skip_locked=True)
        locked_numbers = self._scope.execute(skipping).scalars().all()
        set_words = scoped_update(vectors, by={"number": "of_number"})
        number = texts.c.number.label("number")
        columns = (number, texts.c.heading, texts.c.body)
        selected = scoped_select(texts, *columns).where(number.in_(locked_numbers))
        for row in self._scope.all(selected):
            if marks := stem_marks(row.heading + row.body):
                added = func.array_to_tsvector(cast(marks, ARRAY(String)))
                with_marks = set_words.values(words=vectors.c.words.op("||")(added))
                self._scope.run(with_marks, of_number=row.number)

    def _remove(self, numbers: Sequence[int]) -> None:
        for table in (self._tables.postgresql, self._tables.texts):
            self._scope.run(remove_numbers(table), numbers=numbers)

    def _insert(self, entries: Sequence[IndexEntry]) -> None:
        texts = [{"number": entry.number, **entry.columns()} for entry in entries]
        self._scope.insert_new(self._tables.postgresql, _make_vector_rows(entries))
        self._scope.insert_new(self._tables.texts, texts)

    def _newest_window(self) -> int:
        """Return the window of the newest record, -1 if there are no records."""
        numbers = self._tables.numbers
        newest = scoped_select(numbers.table, numbers).order_by(numbers.desc()).limit(1)
        last: int | None = self._scope.execute(newest).scalar()
        return -1 if last is None else last >> _WINDOW_BITS

    def find_all_terms(
        self, terms: Sequence[SearchTerm], marks: RequiredMarks
    ) -> list[tuple[int, str]]:
        """See WordIndex."""
        windows = _Windows(self._newest_window(), MAX_QUERY_MATCHES)
        found: list[tuple[int, str]] = []
        while len(found) < MAX_QUERY_MATCHES and (operand := windows.next_operand(len(found))):
            operands = [*_mark_operands(marks), operand]
            limit = MAX_QUERY_MATCHES - len(found)
            newest = self._select_newest(terms, operands, limit).subquery()
            texts = self._tables.texts
            is_match = texts.c.number == newest.c.number
            openings = scoped_select(texts, opening_of(texts)).where(is_match).scalar_subquery()
            statement = scoped_from(newest, newest.c.number, openings.label("opening"))
            found += [(row.number, row.opening) for row in self._scope.all(statement)]
        return found

    def _select_newest(
        self, terms: Sequence[SearchTerm], marks: Sequence[str], limit: int
    ) -> Select[tuple[int]]:
        """Select the newest matches of all terms and all marks.

        The marks are operands of a tsquery.
        """
        vectors = self._tables.postgresql
        query = " & ".join([*marks, *map(self._require_words, terms)])
        candidates = scoped_select(vectors).where(vectors.c.words.op("@@")(cast(query, TSQUERY)))
        if any(len(term.words) > 1 for term in terms):
            candidates = candidates.where(self._has_phrases(terms))
        # With `+ 0`, PostgreSQL does not scan the primary key in the order of the numbers, which
        # would read the words of every text.
        candidates = candidates.order_by((vectors.c.number + 0).desc()).limit(limit)
        return candidates.with_only_columns(vectors.c.number.label("number"))

    def _has_phrases(self, terms: Sequence[SearchTerm]) -> ColumnElement[bool]:
        """Return the condition that a text has the words of each phrase one after the other."""
        vectors, texts = self._tables.postgresql, self._tables.texts
        phrases = [term for term in terms if len(term.words) > 1]
        columns = (texts.c.heading, texts.c.body)
        followed = " & ".join(f"({' <-> '.join(_operands(term))})" for term in phrases)
        has_all = and_(
            *(or_(*(func.strpos(words, needle(term)) > 0 for words in columns)) for term in phrases)
        )
        read = scoped_select(texts, has_all).where(texts.c.number == vectors.c.number)
        followed_words = vectors.c.words.op("@@")(cast(followed, TSQUERY))
        return case((vectors.c.is_long, read.scalar_subquery()), else_=followed_words)

    def _require_words(self, term: SearchTerm) -> str:
        """Return the operand of a tsquery that requires the words of a term, in any order."""
        if len(term.words) == 1 and not term.is_prefix:
            return _match_any(self._single_words(term))
        # A prefix is not a whole word, so it has no pair with the word before it.
        whole = term.words[:-1] if term.is_prefix else term.words
        return " & ".join([*_operands(term), *map(_quote, _pair_marks(whole))])


class _Windows:
    """The windows that a search reads, the newest first, in at most three steps."""

    def __init__(self, newest: int, max_matches: int) -> None:
        self._next = newest
        self._max_matches = max_matches
        self._searched: list[str] = []
        self._step = 0

    def next_operand(self, matches: int) -> str | None:
        """Return the operand of the next windows, or `None` if there are none.

        `matches` is the number of matches so far.
        """
        if self._next < 0:
            return None
        self._step += 1
        if self._step == 1:
            return self._take_windows(_NEWEST_WINDOWS)
        if self._step == 2 and matches:
            # Each older window probably has as many matches as a newer one. A quarter more windows
            # are read.
            density = matches / _NEWEST_WINDOWS
            count = 1 + int(1.25 * (self._max_matches - matches) / density)
            if count <= _MAX_LISTED_WINDOWS:
                return self._take_windows(count)
        self._next = -1
        return f"!({' | '.join(self._searched)})"

    def _take_windows(self, count: int) -> str:
        first = max(0, self._next - count + 1)
        operands = [_quote(_window_mark(window)) for window in range(first, self._next + 1)]
        self._searched += operands
        self._next = first - 1
        return f"({' | '.join(operands)})"


def find_positions(words: SearchWords) -> tuple[dict[str, list[int]], bool]:
    """Return the positions of every word of a text, and true if some positions are missing."""
    positions: dict[str, list[int]] = defaultdict(list)
    is_long = False
    for position, word in enumerate(_all_words_of(words), 1):
        found = positions[word]
        if position <= _LAST_POSITION and len(found) < _MAX_POSITIONS:
            found.append(position)
            continue
        is_long = True
        if not found:
            found.append(_UNKNOWN_POSITION)
    # No query contains the separator of heading and text.
    positions.pop(TEXT_BREAK, None)
    return positions, is_long


def _all_words_of(words: SearchWords) -> list[str]:
    return [*words.heading.split(), TEXT_BREAK, *words.text.split()]


def _window_mark(window: int) -> str:
    return f"{MARK}{window}"


def _pair_marks(words: Sequence[str]) -> Iterator[str]:
    for first, second in pairwise(words):
        if is_pair(first, second) and TEXT_BREAK not in (first, second):
            yield f"{first}{_PAIR}{second}"


def _make_vector_rows(entries: Sequence[IndexEntry]) -> list[dict[str, object]]:
    """Return the rows of texts, whose tsvectors are in PostgreSQL's text form."""
    rows: list[dict[str, object]] = []
    for entry in entries:
        positions, is_long = find_positions(entry.words)
        marks = [
            *entry.marks,
            _window_mark(entry.number >> _WINDOW_BITS),
            *entry.stems,
            *set(_pair_marks(_all_words_of(entry.words))),
        ]
        lexemes = (f"'{word}':{','.join(map(str, found))}" for word, found in positions.items())
        words = " ".join([*map(_quote, marks), *lexemes])
        rows.append({"number": entry.number, "is_long": is_long, "words": words})
    return rows


def _mark_operands(marks: RequiredMarks) -> list[str]:
    return [_match_any(mark) for mark in marks]


def _match_any(words: Sequence[str]) -> str:
    return f"({' | '.join(map(_quote, words))})"


def _operands(term: SearchTerm) -> list[str]:
    operands = [_quote(word) for word in term.words]
    if term.is_prefix:
        operands[-1] += ":*"
    return operands


def _quote(word: str) -> str:
    # Words are letters, digits and marks, which need no escape.
    return f"'{word}'"
