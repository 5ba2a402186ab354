"""Snippets: the passage of a text by which a search has found it. Pure.

Search compares texts folded by `app.words.search_terms`: an accent is gone, and a ligature has
become two letters. A match is found in the folded text and shown in the original, so the way back
is kept: pieces of the text are folded one by one, and only the piece with the match is looked at
character by character.
"""

import re
from bisect import bisect
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

import regex

from app.words.search_terms import (
    CONTINUOUS,
    LONGEST_WORD_CHARS,
    WORD_CHARS,
    SearchQuery,
    SearchTerm,
    fold,
    is_continuous,
)
from app.words.stems import stem, stem_opening
from pagefault_dialects.texts.cuts import CLUSTER, ELLIPSIS, boundary_at_or_before

_SPACED = rf"[{WORD_CHARS}--[{CONTINUOUS}]]"
_LETTER = rf"[\p{{L}}\p{{N}}--[{CONTINUOUS}]]"
_OWN_MARK = rf"[\p{{M}}--[{CONTINUOUS}]]"
_BETWEEN_WORDS = rf"(?:[^{WORD_CHARS}{CONTINUOUS}]{_OWN_MARK}*)*+"
_GAP = regex.compile(_BETWEEN_WORDS, regex.V1)
_WORD_START = rf"(?<!{_LETTER}{_OWN_MARK}*)"
_WORD_END = rf"(?!{_SPACED})"
_NO_MARK = r"(?!\p{M})"
_CONDITIONS = {item: regex.compile(item, regex.V1) for item in (_WORD_START, _WORD_END, _NO_MARK)}
_LOOKED_AT = 16
_MAX_CANDIDATES = 1_000
_WORD_REST = regex.compile(rf"{_SPACED}+", regex.V1)
_MAX_BYTES = 300
# A text may be cut before any of these without changing how either side folds.
_PIECE = regex.compile(
    r"(?s:.{1,1000})(?=[\s\p{P}\p{Han}\p{Hiragana}\p{Katakana}]|\Z)|(?s:.{1,1000})",
    regex.V1,
)
_INSIDE_WORD = regex.compile(rf"(?<={_SPACED})(?={_SPACED})|(?=\p{{M}})", regex.V1)
_SPACE = re.compile(r"\s+")


class Passages:
    """Finds the passages of texts by which one search has found them.

    Args:
        query: The query of the search.
        length: Maximum number of characters of a passage, without ellipses.
    """

    def __init__(self, query: SearchQuery, *, length: int = 160) -> None:
        self._terms = [
            _Term(term) if term.stem is None or is_continuous(term.stem) else _Stem(term.stem)
            for term in query.terms
        ]
        self._length = length

    def of(self, fields: Sequence[str]) -> str | None:
        """Return the passage with the most terms, of the field that has the most of them.

        Args:
            fields: The texts a page was searched by, the one to prefer first.

        Returns:
            One line of whole words, `…` where it goes on, of at most 300 bytes; `None` if no field
            has a match.
        """
        best: tuple[int, str, int] | None = None
        for field in fields:
            found = self._find(field)
            if found is not None and (best is None or found[0] > best[0]):
                best = (found[0], field, found[1])
        if best is None:
            return None
        _, field, place = best
        length = self._length
        passage = _passage(field, place, length)
        while length > 1 and len(passage.encode("utf-8", "replace")) > _MAX_BYTES:
            length //= 2
            passage = _passage(field, place, length)
        return _within_bytes(passage)

    def _find(self, text: str) -> tuple[int, int] | None:
        """Return how many terms a text has, and where the most of them are close together."""
        if text.isascii():
            return self._search(fold(text))
        pieces: list[str] = _PIECE.findall(text)
        folds = [fold(piece) for piece in pieces]
        found = self._search("".join(folds))
        return found and (found[0], _unfolded(pieces, folds, found[1]))

    def _search(self, folded: str) -> tuple[int, int] | None:
        firsts = (term.search(folded) for term in self._terms)
        places = sorted(place for place in firsts if place is not None)
        if not places:
            return None
        reach = self._length * 3 // 4
        close = [bisect(places, place + reach) - at for at, place in enumerate(places)]
        return len(places), places[close.index(max(close))]


class _Term:
    """Finds a term in folded texts.

    Most of its first words in a text are it, and are looked at one by one, since to compile a
    pattern takes as long as to look through many texts. Where they are not, there is a pattern.
    """

    def __init__(self, term: SearchTerm) -> None:
        self._words = [
            (word, *_edges(word, is_prefix=term.is_prefix and index == len(term.words)))
            for index, word in enumerate(term.words, 1)
        ]

    def search(self, folded: str) -> int | None:
        """Return where it begins first."""
        place = folded.find(self._words[0][0])
        for _ in range(_LOOKED_AT):
            if place < 0:
                return None
            if self._is_at(folded, place):
                return place
            place = folded.find(self._words[0][0], place + 1)
        match = None if place < 0 else self._pattern.search(folded, place)
        return match.start() if match else None

    def _is_at(self, folded: str, place: int) -> bool:
        for index, (word, before, after) in enumerate(self._words):
            if index:
                # Words may have nothing between them: where scripts change, or in one that writes
                # no blanks.
                gap = _GAP.match(folded, place)
                place = gap.end() if gap else place
            if not folded.startswith(word, place) or not _holds(before, folded, place):
                return False
            place += len(word)
            if not _holds(after, folded, place):
                return False
        return True

    @cached_property
    def _pattern(self) -> regex.Pattern[str]:
        words = (f"{before}{regex.escape(word)}{after}" for word, before, after in self._words)
        return regex.compile(_BETWEEN_WORDS.join(words), regex.V1)


class _Stem:
    """Finds the words of a stem in folded texts."""

    def __init__(self, stemmed: str) -> None:
        self._stem = stemmed
        self._opening = stem_opening(stemmed)

    def search(self, folded: str) -> int | None:
        """Return where the first of them begins, of the first thousand that may be one."""
        place = folded.find(self._opening)
        for _ in range(_MAX_CANDIDATES):
            if place < 0:
                return None
            if _holds(_WORD_START, folded, place):
                word = _WORD_REST.match(folded, place)
                if word and stem(word.group()[:LONGEST_WORD_CHARS]) == self._stem:
                    return place
            place = folded.find(self._opening, place + 1)
        return None


def _edges(word: str, *, is_prefix: bool) -> tuple[str, str]:
    """Return the patterns before and after a word."""
    if is_continuous(word):
        return "", _NO_MARK
    is_cut = len(word) == LONGEST_WORD_CHARS
    return _WORD_START, "" if is_prefix or is_cut else _WORD_END


def _holds(condition: str, text: str, place: int) -> bool:
    return not condition or _CONDITIONS[condition].match(text, place) is not None


def _unfolded(pieces: Sequence[str], folds: Sequence[str], position: int) -> int:
    """Return the position in a text of a position in its folded form."""
    start = 0
    for piece, folded in zip(pieces, folds, strict=True):
        if position < len(folded):
            return start + _unfolded_in_piece(piece, position)
        position -= len(folded)
        start += len(piece)
    return start


def _unfolded_in_piece(piece: str, position: int) -> int:
    clusters = [match.group() for match in CLUSTER.finditer(piece)]
    ends = accumulate(len(fold(cluster)) for cluster in clusters)
    start = 0
    for cluster, end in zip(clusters, ends, strict=True):
        if position < end:
            return start
        start += len(cluster)
    return max(0, len(piece) - 1)


def _passage(text: str, first: int, length: int) -> str:
    """Return the text around a place, cut between words and put into one line."""
    start = max(0, min(first - length // 4, len(text) - length))
    end = min(len(text), start + length)
    while 0 < start < first and _is_inside_word(text, start):
        start += 1
    cut = end
    while first < cut < len(text) and _is_inside_word(text, cut):
        cut -= 1
    # A word longer than the passage is cut all the same.
    end = cut if cut > first else end
    line = _SPACE.sub(" ", text[start:end]).strip()
    head = ELLIPSIS if text[:start].strip() else ""
    tail = ELLIPSIS if text[end:].strip() else ""
    return f"{head}{line}{tail}"


def _within_bytes(line: str) -> str:
    """Return a line cut to 300 bytes."""
    if len(line.encode("utf-8", "replace")) <= _MAX_BYTES:
        return line
    room = _MAX_BYTES - len(ELLIPSIS.encode())
    fitting = line.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    cut = max(1, boundary_at_or_before(line, len(fitting)))
    return f"{line[:cut].rstrip()}{ELLIPSIS}"


def _is_inside_word(text: str, position: int) -> bool:
    return _INSIDE_WORD.match(text, position) is not None
