"""Snippets: the passages of texts that match a search. Pure.

A search compares texts folded by `app.words.search_terms`: without accents, and with two letters
for a ligature. So a position in the folded text has to be mapped to the original text. The text is
folded in pieces, and only the piece with the match is mapped character by character.
"""

import re
from bisect import bisect
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

import regex

from app.words.search_terms import (
    CONTINUOUS,
    MAX_WORD_CHARS,
    WORD_CHARS,
    SearchQuery,
    SearchTerm,
    fold,
    is_continuous,
)
from app.words.stems import stem, stem_opening
from pagefault_dialects.texts.cuts import ELLIPSIS, GRAPHEME, find_boundary_before

_SPACED = rf"[{WORD_CHARS}--[{CONTINUOUS}]]"
_LETTER = rf"[\p{{L}}\p{{N}}--[{CONTINUOUS}]]"
_OWN_MARK = rf"[\p{{M}}--[{CONTINUOUS}]]"
_BETWEEN_WORDS = rf"(?:[^{WORD_CHARS}{CONTINUOUS}]{_OWN_MARK}*)*+"
_GAP = regex.compile(_BETWEEN_WORDS, regex.V1)
_WORD_START = rf"(?<!{_LETTER}{_OWN_MARK}*)"
_WORD_END = rf"(?!{_SPACED})"
_NO_MARK = r"(?!\p{M})"
_CONDITIONS = {item: regex.compile(item, regex.V1) for item in (_WORD_START, _WORD_END, _NO_MARK)}
_MAX_PLAIN_CHECKS = 16
_MAX_CANDIDATES = 1_000
_WORD_REST = regex.compile(rf"{_SPACED}+", regex.V1)
_MAX_BYTES = 300
# If a text is cut before one of these characters, both parts fold as they do in the whole.
_PIECE = regex.compile(
    r"(?s:.{1,1000})(?=[\s\p{P}\p{Han}\p{Hiragana}\p{Katakana}]|\Z)|(?s:.{1,1000})",
    regex.V1,
)
_INSIDE_WORD = regex.compile(rf"(?<={_SPACED})(?={_SPACED})|(?=\p{{M}})", regex.V1)
_SPACE = re.compile(r"\s+")


class Passages:
    """Finds the passages of texts that match a search.

    Args:
        query: The query of the search.
        length: The maximum of characters of a passage, without ellipses.
    """

    def __init__(self, query: SearchQuery, *, length: int = 160) -> None:
        self._terms = [
            _Term(term) if term.stem is None or is_continuous(term.stem) else _Stem(term.stem)
            for term in query.terms
        ]
        self._length = length

    def find(self, fields: Sequence[str]) -> str | None:
        """Return the best passage: of the field with the most terms, where most are close together.

        Args:
            fields: The searched texts of a page or an entry, the preferred one first.

        Returns:
            One line of whole words, with `…` where the text is cut, of at most 300 bytes. `None`
            if no field has a match.
        """
        best: tuple[int, str, int] | None = None
        for field in fields:
            found = self._find_in_text(field)
            if found is not None and (best is None or found[0] > best[0]):
                best = (found[0], field, found[1])
        if best is None:
            return None
        _, field, position = best
        length = self._length
        passage = _cut_passage(field, position, length)
        while length > 1 and len(passage.encode("utf-8", "replace")) > _MAX_BYTES:
            length //= 2
            passage = _cut_passage(field, position, length)
        return _cut_to_bytes(passage)

    def _find_in_text(self, text: str) -> tuple[int, int] | None:
        """Return the number of terms in a text, and the position where most are close together."""
        if text.isascii():
            return self._search(fold(text))
        pieces: list[str] = _PIECE.findall(text)
        folds = [fold(piece) for piece in pieces]
        found = self._search("".join(folds))
        return found and (found[0], _find_original(pieces, folds, found[1]))

    def _search(self, folded: str) -> tuple[int, int] | None:
        firsts = (term.search(folded) for term in self._terms)
        positions = sorted(position for position in firsts if position is not None)
        if not positions:
            return None
        reach = self._length * 3 // 4
        close = [
            bisect(positions, position + reach) - index for index, position in enumerate(positions)
        ]
        return len(positions), positions[close.index(max(close))]


class _Term:
    """Finds a term in folded texts.

    The first occurrences of its first word are checked one by one, because one of them usually is
    the term, and compiling a pattern takes as long as searching many texts. If none of them is the
    term, the rest of the text is searched with a pattern.
    """

    def __init__(self, term: SearchTerm) -> None:
        self._words = [
            (word, *_edges(word, is_prefix=term.is_prefix and index == len(term.words)))
            for index, word in enumerate(term.words, 1)
        ]

    def search(self, folded: str) -> int | None:
        """Return the position of the first match; `None` without a match."""
        position = folded.find(self._words[0][0])
        for _ in range(_MAX_PLAIN_CHECKS):
            if position < 0:
                return None
            if self._is_at(folded, position):
                return position
            position = folded.find(self._words[0][0], position + 1)
        match = None if position < 0 else self._pattern.search(folded, position)
        return match.start() if match else None

    def _is_at(self, folded: str, position: int) -> bool:
        for index, (word, before, after) in enumerate(self._words):
            if index:
                # Two words may have nothing between them: in scripts without blanks, or between
                # two scripts.
                gap = _GAP.match(folded, position)
                position = gap.end() if gap else position
            if not folded.startswith(word, position) or not _matches_at(before, folded, position):
                return False
            position += len(word)
            if not _matches_at(after, folded, position):
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
        """Return the position of the first match among the first thousand candidates, if any."""
        position = folded.find(self._opening)
        for _ in range(_MAX_CANDIDATES):
            if position < 0:
                return None
            if _matches_at(_WORD_START, folded, position):
                word = _WORD_REST.match(folded, position)
                if word and stem(word.group()[:MAX_WORD_CHARS]) == self._stem:
                    return position
            position = folded.find(self._opening, position + 1)
        return None


def _edges(word: str, *, is_prefix: bool) -> tuple[str, str]:
    """Return the patterns before and after a word."""
    if is_continuous(word):
        return "", _NO_MARK
    is_cut = len(word) == MAX_WORD_CHARS
    return _WORD_START, "" if is_prefix or is_cut else _WORD_END


def _matches_at(condition: str, text: str, position: int) -> bool:
    return not condition or _CONDITIONS[condition].match(text, position) is not None


def _find_original(pieces: Sequence[str], folds: Sequence[str], position: int) -> int:
    """Return the position in a text of a position in its folded form."""
    start = 0
    for piece, folded in zip(pieces, folds, strict=True):
        if position < len(folded):
            return start + _find_in_piece(piece, position)
        position -= len(folded)
        start += len(piece)
    return start


def _find_in_piece(piece: str, position: int) -> int:
    clusters = [match.group() for match in GRAPHEME.finditer(piece)]
    ends = accumulate(len(fold(cluster)) for cluster in clusters)
    start = 0
    for cluster, end in zip(clusters, ends, strict=True):
        if position < end:
            return start
        start += len(cluster)
    return max(0, len(piece) - 1)


def _cut_passage(text: str, first: int, length: int) -> str:
    """Return the text around a position, cut between words and put into one line."""
    start = max(0, min(first - length // 4, len(text) - length))
    end = min(len(text), start + length)
    while 0 < start < first and _is_inside_word(text, start):
        start += 1
    cut = end
    while first < cut < len(text) and _is_inside_word(text, cut):
        cut -= 1
    # A word longer than the passage is cut nevertheless.
    end = cut if cut > first else end
    line = _SPACE.sub(" ", text[start:end]).strip()
    head = ELLIPSIS if text[:start].strip() else ""
    tail = ELLIPSIS if text[end:].strip() else ""
    return f"{head}{line}{tail}"


def _cut_to_bytes(line: str) -> str:
    """Return a line cut to 300 bytes."""
    if len(line.encode("utf-8", "replace")) <= _MAX_BYTES:
        return line
    max_bytes = _MAX_BYTES - len(ELLIPSIS.encode())
    fitting = line.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore")
    cut = max(1, find_boundary_before(line, len(fitting)))
    return f"{line[:cut].rstrip()}{ELLIPSIS}"


def _is_inside_word(text: str, position: int) -> bool:
    return _INSIDE_WORD.match(text, position) is not None
