"""An index of words on PostgreSQL: a tsvector that this module makes, in a GIN index.

A GIN index returns all matches at once, newest or not, and reads the row of every match. So each
text also has a mark of its window, the 4,096 numbers it is among. A search reads the newest windows
first, then as many more as probably contain the missing matches, and at last all others.

A phrase reads every text that has its words, so pairs of short words have marks as well (see
`is_pair`). A tsvector stores 255 positions of a word, and none above 16,383. If a text has more
(`is_long`), phrases are searched in its words themselves.
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
    MAX_FOUND,
    MAX_HELD,
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
_MAX_NAMED_WINDOWS = 32
# Separates the words of a pair; no word contains it.
_PAIR = "\ue002"
_MAX_POSITIONS = 255
# The position of words that have no position left; no word has it, or the one before.
_NOWHERE = 16_383
_LAST_POSITION = _NOWHERE - 2


class PostgresWordIndex(WordIndex):
    """See WordIndex."""

    def holders(self, terms: Sequence[SearchTerm], marks: RequiredMarks) -> list[list[int]]:
        """See WordIndex."""
        found: list[list[int]] = [[] for _ in terms]
        newest = self._newest_window()
        windows = [_Windows(newest, MAX_HELD) for _ in terms]
        while True:
            open_terms = [
                (place, narrow)
                for place, window in enumerate(windows)
                if len(found[place]) < MAX_HELD
                and (narrow := window.following(len(found[place]))) is not None
            ]
            if not open_terms:
                return found
            # In one statement, because a round trip takes longer than a rare word.
            parts = []
            for place, narrow in open_terms:
                most = MAX_HELD - len(found[place])
                matching = self._matching([terms[place]], [*_operands_of(marks), narrow], most)
                numbers = matching.subquery(f"term_{place}")
                parts.append(scoped_from(numbers, literal(place).label("place"), numbers.c.number))
            for row in self._scope.all(union_all(*parts)):
                found[row.place].append(row.number)

    def add_stems(self, numbers: Collection[int]) -> None:
        """See WordIndex."""
        texts, vectors = self._tables.texts, self._tables.postgresql
        # Another transaction has locked the rows that it indexes again, with their stems.
        locked = scoped_select(vectors, vectors.c.number).where(vectors.c.number.in_(numbers))
        found = self._scope.execute(locked.with_for_update(skip_locked=True)).scalars().all()
        set_words = scoped_update(vectors, by={"number": "of_number"})
        number = texts.c.number.label("number")
        columns = (number, texts.c.heading, texts.c.body)
        for row in self._scope.all(scoped_select(texts, *columns).where(number.in_(found))):
            if marks := stem_marks(row.heading + row.body):
                added = func.array_to_tsvector(cast(marks, ARRAY(String)))
                with_marks = set_words.values(words=vectors.c.words.op("||")(added))
                self._scope.run(with_marks, of_number=row.number)

    def _remove(self, numbers: Sequence[int]) -> None:
        for table in (self._tables.postgresql, self._tables.texts):
            self._scope.run(remove_numbers(table), numbers=numbers)

    def _insert(self, entries: Sequence[IndexEntry]) -> None:
        texts = [{"number": entry.number, **entry.columns()} for entry in entries]
        self._scope.insert_new(self._tables.postgresql, _vectors(entries))
        self._scope.insert_new(self._tables.texts, texts)

    def _newest_window(self) -> int:
        numbers = self._tables.numbers
        newest = scoped_select(numbers.table, numbers).order_by(numbers.desc()).limit(1)
        last: int | None = self._scope.execute(newest).scalar()
        return -1 if last is None else last >> _WINDOW_BITS

    def newest(self, terms: Sequence[SearchTerm], marks: RequiredMarks) -> list[tuple[int, str]]:
        """See WordIndex."""
        windows = _Windows(self._newest_window(), MAX_FOUND)
        found: list[tuple[int, str]] = []
        while len(found) < MAX_FOUND and (narrow := windows.following(len(found))):
            operands = [*_operands_of(marks), narrow]
            newest = self._matching(terms, operands, MAX_FOUND - len(found)).subquery()
            texts = self._tables.texts
            of_match = texts.c.number == newest.c.number
            openings = scoped_select(texts, opening_of(texts)).where(of_match).scalar_subquery()
            statement = scoped_from(newest, newest.c.number, openings.label("opening"))
            found += [(row.number, row.opening) for row in self._scope.all(statement)]
        return found

    def _matching(
        self, terms: Sequence[SearchTerm], marks: Sequence[str], most: int
    ) -> Select[tuple[int]]:
        """Select the newest matches with all marks, which are operands of a tsquery."""
        vectors = self._tables.postgresql
        everything = " & ".join([*marks, *map(self._all_words, terms)])
        candidates = scoped_select(vectors).where(
            vectors.c.words.op("@@")(cast(everything, TSQUERY))
        )
        if any(len(term.words) > 1 for term in terms):
            candidates = candidates.where(self._has_phrases(terms))
        # The sum keeps the planner from walking down the primary key, reading every page's words.
        candidates = candidates.order_by((vectors.c.number + 0).desc()).limit(most)
        return candidates.with_only_columns(vectors.c.number.label("number"))

    def _has_phrases(self, terms: Sequence[SearchTerm]) -> ColumnElement[bool]:
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

    def _all_words(self, term: SearchTerm) -> str:
        if len(term.words) == 1 and not term.is_prefix:
            return _any_of(self._single_words(term))
        # The pairs of a prefix are unknown.
        whole = term.words[:-1] if term.is_prefix else term.words
        return " & ".join([*_operands(term), *map(_quoted, _pair_marks(whole))])


class _Windows:
    """The windows that a search reads, the newest first, in at most three steps."""

    def __init__(self, newest: int, most: int) -> None:
        self._next = newest
        self._most = most
        self._named: list[str] = []
        self._step = 0

    def following(self, matches: int) -> str | None:
        """Return the operand of the next windows, or `None` if there are none.

        `matches` is the number of matches so far.
        """
        if self._next < 0:
            return None
        self._step += 1
        if self._step == 1:
            return self._take(_NEWEST_WINDOWS)
        if self._step == 2 and matches:
            # Windows like those before would contain the missing matches, with some to spare.
            density = matches / _NEWEST_WINDOWS
            count = 1 + int(1.25 * (self._most - matches) / density)
            if count <= _MAX_NAMED_WINDOWS:
                return self._take(count)
        self._next = -1
        return f"!({' | '.join(self._named)})"

    def _take(self, count: int) -> str:
        first = max(0, self._next - count + 1)
        operands = [_quoted(_window_mark(window)) for window in range(first, self._next + 1)]
        self._named += operands
        self._next = first - 1
        return f"({' | '.join(operands)})"


def place_words(words: SearchWords) -> tuple[dict[str, list[int]], bool]:
    """Return the positions of every word of a page, and whether some positions are missing."""
    positions: dict[str, list[int]] = defaultdict(list)
    is_long = False
    for position, word in enumerate(_all_of(words), 1):
        known = positions[word]
        if position <= _LAST_POSITION and len(known) < _MAX_POSITIONS:
            known.append(position)
            continue
        is_long = True
        if not known:
            known.append(_NOWHERE)
    # It has separated the positions of texts, and no query contains it.
    positions.pop(TEXT_BREAK, None)
    return positions, is_long


def _all_of(words: SearchWords) -> list[str]:
    return [*words.heading.split(), TEXT_BREAK, *words.text.split()]


def _window_mark(window: int) -> str:
    return f"{MARK}{window}"


def _pair_marks(words: Sequence[str]) -> Iterator[str]:
    for first, second in pairwise(words):
        if is_pair(first, second) and TEXT_BREAK not in (first, second):
            yield f"{first}{_PAIR}{second}"


def _vectors(entries: Sequence[IndexEntry]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for entry in entries:
        positions, is_long = place_words(entry.words)
        marks = [
            *entry.marks,
            _window_mark(entry.number >> _WINDOW_BITS),
            *entry.stems,
            *set(_pair_marks(_all_of(entry.words))),
        ]
        placed = (f"'{word}':{','.join(map(str, where))}" for word, where in positions.items())
        words = " ".join([*map(_quoted, marks), *placed])
        rows.append({"number": entry.number, "is_long": is_long, "words": words})
    return rows


def _operands_of(marks: RequiredMarks) -> list[str]:
    return [_any_of(mark) for mark in marks]


def _any_of(words: Sequence[str]) -> str:
    return f"({' | '.join(map(_quoted, words))})"


def _operands(term: SearchTerm) -> list[str]:
    operands = [_quoted(word) for word in term.words]
    if term.is_prefix:
        operands[-1] += ":*"
    return operands


def _quoted(word: str) -> str:
    # Words are letters, digits and marks, which need no escape.
    return f"'{word}'"
