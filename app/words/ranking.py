"""Ranking: how well a text answers a query. Pure, in whole numbers, the same for both databases.

Both databases return the same input: the terms of a text and its opening, which is the first 2,000
characters of the words of its heading and of its text, each on a line. The rank is computed from
these alone, so a text has the same rank in both:

    rank = name + complete + sum of weight * frequency over the terms it has

`name` is added if a heading equals the query, and `complete` if the text has all terms. A weight is
larger for rarer terms, in ten steps, so that it changes when the number of texts with the term has
doubled and not with every write. A frequency grows more slowly with each occurrence; a term in the
heading counts four times.
"""

from collections.abc import Callable, Sequence

from app.words.search_terms import TEXT_BREAK, SearchQuery, SearchTerm, is_continuous
from app.words.stems import stem, stem_opening

MAX_COUNTED = 512
"""The number of texts from which a term is common and has the lowest weight."""
NAMED = 2**60
"""The rank of a match by id, above any other."""
_NAME, _COMPLETE = 2**50, 2**40
_MORE_IN_HEADING = 3
_SCALE = 2**16
# What halves a frequency: a little, and more in a longer text, in steps of 256 characters.
_HALF, _HALF_OF_STEP, _STEP_BITS = 1_000, 250, 8

_Count = Callable[[str, int], int]


def weight_of(holders: int) -> int:
    """Return the weight of a term that so many texts have, from 10 down to 1."""
    return 11 - max(1, min(holders, MAX_COUNTED).bit_length())


def is_complete(rank: int) -> bool:
    """Return whether a rank is that of a text with all terms."""
    return rank >= _COMPLETE


class Ranking:
    """Ranks texts for a query.

    Args:
        query: The query, whose words together may be a name.
        terms: The terms that are searched for.
        weights: The weight of each term.
        is_all: The terms are all those of the query.
    """

    def __init__(
        self,
        query: SearchQuery,
        terms: Sequence[SearchTerm],
        weights: Sequence[int],
        *,
        is_all: bool = True,
    ) -> None:
        words = [" ".join(term.words) for term in query.terms]
        runs = [" ".join(term.words) for term in query.terms if len(term.words) > 1]
        # The padded words of what may be a name: the query, or a run such as `a_file.txt`.
        self._names = [f" {run} " for run in dict.fromkeys([" ".join(words), *runs])]
        self._counts = [_counting(term) for term in terms]
        self._weights = weights
        # Without all terms of the query, no text is complete.
        self._everything = (1 << len(terms)) - 1 if is_all else -1

    def rank(self, opening: str, known: int) -> int:
        """Return the rank of a text.

        Args:
            opening: How it begins, in two lines of padded words.
            known: The terms it is known to have, as bits: they may be behind its opening.
        """
        end = opening.index("\n")
        half = _HALF + _HALF_OF_STEP * (len(opening) >> _STEP_BITS)
        rank = 0
        for place, count in enumerate(self._counts):
            found = count(opening, end)
            if found:
                known |= 1 << place
            elif not known >> place & 1:
                continue
            # An occurrence after the opening counts once.
            often = (1 + 2 * max(found, 1)) * 1_000
            rank += self._weights[place] * _SCALE * often // (often + half)
        if known == self._everything:
            rank += _COMPLETE
        for name in self._names:
            if opening.find(name, 0, end) >= 0 and name in opening[:end].split(TEXT_BREAK):
                return rank + _NAME
        return rank


def needle(term: SearchTerm) -> str:
    """Return the text that padded words have in them if they have the term as it is written."""
    return f" {' '.join(term.words)}{'' if term.is_prefix else ' '}"


def _counting(term: SearchTerm) -> _Count:
    """Return what counts a term in an opening, in the heading four times."""
    if term.stem is not None and not is_continuous(term.words[0]):
        return _counting_stem(term.stem)
    written = needle(term)

    def count(opening: str, end: int) -> int:
        # None reaches from one line into the other; those of the heading are in both counts.
        found = opening.count(written)
        return found and found + _MORE_IN_HEADING * opening.count(written, 0, end)

    return count


def _counting_stem(stemmed: str) -> _Count:
    begins, itself = f" {stem_opening(stemmed)}", f" {stemmed} "
    is_word = stem(stemmed) == stemmed

    def count(opening: str, end: int) -> int:
        found = opening.count(begins)
        if not found:
            return 0
        if is_word and found == opening.count(itself):
            # As in most texts: of all its forms, there is the one that the stem is.
            return found + _MORE_IN_HEADING * opening.count(itself, 0, end)
        found = 0
        start = opening.find(begins)
        while start >= 0:
            # Every word has a blank behind it, unless it is cut.
            stop = opening.find(" ", start + 1)
            if stem(opening[start + 1 : stop]) == stemmed:
                found += 1 if start > end else 1 + _MORE_IN_HEADING
            start = opening.find(begins, start + 1)
        return found

    return count
