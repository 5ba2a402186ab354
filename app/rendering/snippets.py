"""Snippets: the passage of a text by which a search has found it. Pure.

Search compares folded texts (`app.models.search.fold`), where an accent is gone and a ligature has
become two letters. A match is found in the folded text and shown in the original, so the way back
is kept: pieces of the text are folded one by one, and only the piece with the match is looked at
character by character.
"""

import re
from collections.abc import Sequence
from itertools import accumulate

import regex

from app.models.search import (
    CONTINUOUS,
    LONGEST_WORD_CHARS,
    WORD_CHARS,
    SearchQuery,
    SearchTerm,
    fold,
    is_continuous,
)

_ELLIPSIS = "…"
_SPACED = rf"[{WORD_CHARS}--[{CONTINUOUS}]]"
_LETTER = rf"[\p{{L}}\p{{N}}--[{CONTINUOUS}]]"
_OWN_MARK = rf"[\p{{M}}--[{CONTINUOUS}]]"
_BETWEEN = rf"(?:[^{WORD_CHARS}{CONTINUOUS}]{_OWN_MARK}*)"
# A text may be cut before any of these without changing how either side folds.
_PIECE = regex.compile(
    r"(?s:.{1,1000})(?=[\s\p{P}\p{Han}\p{Hiragana}\p{Katakana}]|\Z)|(?s:.{1,1000})",
    regex.V1,
)
_INSIDE_WORD = regex.compile(rf"(?<={_SPACED})(?={_SPACED})|(?=\p{{M}})", regex.V1)
_CLUSTER = regex.compile(r"\X")
_SPACE = re.compile(r"\s+")


def snippet(fields: Sequence[str], query: SearchQuery, *, length: int = 160) -> str | None:
    """The passage with the first match in the earliest field that has one.

    Args:
        fields: The texts a page was searched by, the one to prefer first.
        query: What was searched for.
        length: How many characters it may have, the ellipses apart.

    Returns:
        One line of whole words, `…` where it goes on; `None` if no field has a match.
    """
    pattern = regex.compile("|".join(map(_term_pattern, query.terms)), regex.V1)
    for field in fields:
        place = _find(field, pattern)
        if place is not None:
            return _passage(field, place, length)
    return None


def _term_pattern(term: SearchTerm) -> str:
    parts = [_word_pattern(word, is_prefix=False) for word in term.words[:-1]]
    parts.append(_word_pattern(term.words[-1], is_prefix=term.is_prefix))
    # Words may have nothing between them: where scripts change, or in one that writes no blanks.
    return f"{_BETWEEN}*+".join(parts)


def _word_pattern(word: str, *, is_prefix: bool) -> str:
    if is_continuous(word):
        return rf"{regex.escape(word)}(?!\p{{M}})"
    is_cut = len(word) == LONGEST_WORD_CHARS
    end = "" if is_prefix or is_cut else rf"(?!{_SPACED})"
    return rf"(?<!{_LETTER}{_OWN_MARK}*){regex.escape(word)}{end}"


def _find(text: str, pattern: regex.Pattern[str]) -> int | None:
    """Where the first match in a text begins."""
    if text.isascii():
        match = pattern.search(fold(text))
        return match.start() if match else None
    pieces: list[str] = _PIECE.findall(text)
    folds = [fold(piece) for piece in pieces]
    match = pattern.search("".join(folds))
    return _unfolded(pieces, folds, match.start()) if match else None


def _unfolded(pieces: Sequence[str], folds: Sequence[str], position: int) -> int:
    """The position in a text of what stands at a position of its folded form."""
    start = 0
    for piece, folded in zip(pieces, folds, strict=True):
        if position < len(folded):
            return start + _unfolded_in_piece(piece, position)
        position -= len(folded)
        start += len(piece)
    return start


def _unfolded_in_piece(piece: str, position: int) -> int:
    clusters = [match.group() for match in _CLUSTER.finditer(piece)]
    ends = accumulate(len(fold(cluster)) for cluster in clusters)
    start = 0
    for cluster, end in zip(clusters, ends, strict=True):
        if position < end:
            return start
        start += len(cluster)
    return max(0, len(piece) - 1)


def _passage(text: str, first: int, length: int) -> str:
    """The text around a place, cut between words and put into one line."""
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
    head = _ELLIPSIS if text[:start].strip() else ""
    tail = _ELLIPSIS if text[end:].strip() else ""
    return f"{head}{line}{tail}"


def _is_inside_word(text: str, position: int) -> bool:
    return _INSIDE_WORD.match(text, position) is not None
