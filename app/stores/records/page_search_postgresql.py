"""Search on PostgreSQL: a tsvector made by us, in a GIN index. See `PageSearch`.

A GIN index answers with all matches at once, newest or not, and every match costs a look at its
row. So every page also has a mark of its window, the 4,096 page numbers it is among: a search looks
into the newest windows first, then into as many more as should hold what is missing, and at last
into all others.

A phrase costs a look at every page that has its words, so pairs of short words are marked, too
(see `is_pair`). A tsvector keeps 255 positions of a word, and none above 16,383: where a page has
more (`is_long`), phrases are looked for in its words themselves.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from sqlalchemy import ColumnElement, and_, case, cast, func, or_
from sqlalchemy.dialects.postgresql import TSQUERY

from app.models.search import TEXT_BREAK, SearchQuery, SearchTerm, SearchWords, is_pair
from app.stores.records.page_search import (
    MARK,
    MOST_RANKED,
    IndexEntry,
    PageSearch,
    needle,
    opening,
)
from app.stores.records.tables import page_search_postgresql as page_search
from app.stores.records.tables import page_search_texts, pages

_WINDOW_BITS = 12
_NEWEST_WINDOWS = 3
_MOST_NAMED_WINDOWS = 32
# Stands between the words of a pair; no word contains it.
_PAIR = "\ue002"
_MOST_POSITIONS = 255
# Where words go that have no position left; nothing real stands there or next to it.
_NOWHERE = 16_383
_LAST_POSITION = _NOWHERE - 2


class PostgresPageSearch(PageSearch):
    """See PageSearch."""

    def _remove(self, page_numbers: Sequence[int]) -> None:
        for table in (page_search, page_search_texts):
            self._scope.remove(table, table.c.page_number.in_(page_numbers))

    def _insert(self, entries: Sequence[IndexEntry]) -> None:
        vectors = _vectors(entries)
        texts = [{"page_number": entry.page_number, **entry.columns()} for entry in entries]
        self._scope.insert_new(page_search, vectors)
        self._scope.insert_new(page_search_texts, texts)

    def _newest(self, query: SearchQuery, marks: Sequence[str]) -> list[tuple[int, str]]:
        last = self._scope.first(
            self._scope.select(pages)
            .with_only_columns(pages.c.page_number)
            .order_by(pages.c.page_number.desc())
            .limit(1)
        )
        if last is None:
            return []
        windows = _Windows(last.page_number >> _WINDOW_BITS)
        found: list[tuple[int, str]] = []
        while len(found) < MOST_RANKED and (narrow := windows.following(len(found))):
            sought = [*map(_quoted, marks), narrow]
            found += self._matches(query, sought, MOST_RANKED - len(found))
        return found

    def _matches(
        self, query: SearchQuery, marks: Sequence[str], most: int
    ) -> list[tuple[int, str]]:
        """The newest matches with all marks, which are operands of a tsquery."""
        everything = " & ".join([*marks, *map(_all_words, query.terms)])
        candidates = self._scope.select(
            page_search, page_search.c.words.op("@@")(cast(everything, TSQUERY))
        )
        if any(len(term.words) > 1 for term in query.terms):
            candidates = candidates.where(self._has_phrases(query))
        # The sum keeps the planner from walking down the primary key, reading every page's words.
        candidates = candidates.order_by((page_search.c.page_number + 0).desc()).limit(most)
        newest = candidates.with_only_columns(page_search.c.page_number).subquery()
        openings = (
            self._scope.select(page_search_texts)
            .with_only_columns(opening(page_search_texts.c.heading, page_search_texts.c.body))
            .where(page_search_texts.c.page_number == newest.c.page_number)
            .scalar_subquery()
        )
        statement = self._scope.select_from(newest, newest.c.page_number, openings.label("opening"))
        return [(row.page_number, row.opening) for row in self._scope.all(statement)]

    def _has_phrases(self, query: SearchQuery) -> ColumnElement[bool]:
        phrases = [term for term in query.terms if len(term.words) > 1]
        followed = " & ".join(f"({' <-> '.join(_operands(term))})" for term in phrases)
        texts = page_search_texts.c
        read = (
            self._scope.select(page_search_texts)
            .with_only_columns(
                and_(
                    *(
                        or_(
                            func.strpos(texts.heading, needle(term)) > 0,
                            func.strpos(texts.body, needle(term)) > 0,
                        )
                        for term in phrases
                    )
                )
            )
            .where(texts.page_number == page_search.c.page_number)
            .scalar_subquery()
        )
        return case(
            (page_search.c.is_long, read),
            else_=page_search.c.words.op("@@")(cast(followed, TSQUERY)),
        )


class _Windows:
    """The windows a search looks into, the newest first, in three steps at most."""

    def __init__(self, newest: int) -> None:
        self._next = newest
        self._seen: list[str] = []
        self._step = 0

    def following(self, matches: int) -> str | None:
        """The operand for the next windows, after so many matches; `None` if there are none."""
        if self._next < 0:
            return None
        self._step += 1
        if self._step == 1:
            return self._take(_NEWEST_WINDOWS)
        if self._step == 2 and matches:
            # As many as hold what is missing if they are like those before, and some to spare.
            density = matches / _NEWEST_WINDOWS
            count = 1 + int(1.25 * (MOST_RANKED - matches) / density)
            if count <= _MOST_NAMED_WINDOWS:
                return self._take(count)
        self._next = -1
        return f"!({' | '.join(self._seen)})"

    def _take(self, count: int) -> str:
        first = max(0, self._next - count + 1)
        taken = [_quoted(_window_mark(window)) for window in range(first, self._next + 1)]
        self._seen += taken
        self._next = first - 1
        return f"({' | '.join(taken)})"


def place_words(words: SearchWords) -> tuple[dict[str, list[int]], bool]:
    """Where every word of a page stands, and whether that is not all there is to know."""
    positions: dict[str, list[int]] = defaultdict(list)
    is_long = False
    for position, word in enumerate(_all_of(words), 1):
        known = positions[word]
        if position <= _LAST_POSITION and len(known) < _MOST_POSITIONS:
            known.append(position)
            continue
        is_long = True
        if not known:
            known.append(_NOWHERE)
    # What breaks texts apart has kept their positions apart; nobody looks for it.
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
            _window_mark(entry.page_number >> _WINDOW_BITS),
            *set(_pair_marks(_all_of(entry.words))),
        ]
        placed = (f"'{word}':{','.join(map(str, where))}" for word, where in positions.items())
        words = " ".join([*map(_quoted, marks), *placed])
        rows.append({"page_number": entry.page_number, "is_long": is_long, "words": words})
    return rows


def _all_words(term: SearchTerm) -> str:
    # Of a prefix it is not known which pairs it makes.
    whole = term.words[:-1] if term.is_prefix else term.words
    return " & ".join([*_operands(term), *map(_quoted, _pair_marks(whole))])


def _operands(term: SearchTerm) -> list[str]:
    operands = [_quoted(word) for word in term.words]
    if term.is_prefix:
        operands[-1] += ":*"
    return operands


def _quoted(word: str) -> str:
    # Words are letters, digits and marks: there is nothing in them to escape.
    return f"'{word}'"
