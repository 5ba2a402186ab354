"""Rank texts that match a query, without I/O, in integers, and the same for both databases.

Both databases return the same data of a text: the terms that it has, and its opening. The opening
is two lines: the first 2,000 characters of the words of the heading, and those of the text. The
rank is computed only from these, so a text has the same rank in both databases:

    rank = name + complete + sum of weight * frequency over the terms it has

`name` is added if a heading equals the query, and `complete` if the text has all terms. A weight is
larger for rarer terms, in ten steps, so that it changes only when the number of texts with the term
has doubled, and not with every write. A frequency grows more slowly with each occurrence; a term in
the heading counts four times.
"""

from collections.abc import Callable, Sequence

from app.words.search_terms import TEXT_BREAK, SearchQuery, SearchTerm, is_continuous
from app.words.stems import stem, stem_opening

MAX_COUNTED = 512
"""The number of texts from which a term is common and has the lowest weight."""
NAMED = 2**60
"""The rank of a match by id, above any other."""
_NAME, _COMPLETE = 2**50, 2**40
_ADDED_IN_HEADING = 3
_SCALE = 2**16
# A larger `half` makes frequencies smaller. It grows with the opening, in steps of 256 characters.
_HALF, _HALF_OF_STEP, _STEP_BITS = 1_000, 250, 8

_Count = Callable[[str, int], int]


def weight_of(text_count: int) -> int:
    """Return the weight of a term by the number of texts that have it: from 10 down to 1."""
    return 11 - max(1, min(text_count, MAX_COUNTED).bit_length())


def is_complete(rank: int) -> bool:
    """Return whether a rank is that of a text with all terms."""
    return rank >= _COMPLETE


class Ranking:
    """Ranks texts for a query.

    Args:
        query: The query. Its words together may be a name.
        terms: The terms that are searched for.
        weights: The weight of each term.
        is_all: True if these are all terms of the query.
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
        # Possible names with blanks around: the whole query, and runs such as `a_file.txt`.
        self._names = [f" {run} " for run in dict.fromkeys([" ".join(words), *runs])]
        self._counts = [_make_counter(term) for term in terms]
        self._weights = weights
        # Without all terms of the query, no text is complete.
        self._all_terms = (1 << len(terms)) - 1 if is_all else -1

    def rank(self, opening: str, matched: int) -> int:
        """Return the rank of a text.

        Args:
            opening: Its opening: two lines of words with blanks around each.
            matched: The terms that the text has, also after the opening, as bits.
        """
        end = opening.index("\n")
        half = _HALF + _HALF_OF_STEP * (len(opening) >> _STEP_BITS)
        rank = 0
        for index, count in enumerate(self._counts):
            occurrences = count(opening, end)
            if occurrences:
                matched |= 1 << index
            elif not matched >> index & 1:
                continue
            # Occurrences after the opening count as one.
            frequency = (1 + 2 * max(occurrences, 1)) * 1_000
            rank += self._weights[index] * _SCALE * frequency // (frequency + half)
        if matched == self._all_terms:
            rank += _COMPLETE
        for name in self._names:
            if opening.find(name, 0, end) >= 0 and name in opening[:end].split(TEXT_BREAK):
                return rank + _NAME
        return rank


def needle(term: SearchTerm) -> str:
    """Return the part of the words of a text that is present if the text has the exact term."""
    return f" {' '.join(term.words)}{'' if term.is_prefix else ' '}"


def _make_counter(term: SearchTerm) -> _Count:
    """Return a function that counts a term in an opening, and in its heading four times."""
    if term.stem is not None and not is_continuous(term.words[0]):
        return _make_stem_counter(term.stem)
    written = needle(term)

    def count(opening: str, end: int) -> int:
        # No match spans both lines. Matches in the heading are in both counts.
        total = opening.count(written)
        return total and total + _ADDED_IN_HEADING * opening.count(written, 0, end)

    return count


def _make_stem_counter(stemmed: str) -> _Count:
    begins, itself = f" {stem_opening(stemmed)}", f" {stemmed} "
    is_word = stem(stemmed) == stemmed

    def count(opening: str, end: int) -> int:
        found = opening.count(begins)
        if not found:
            return 0
        if is_word and found == opening.count(itself):
            # As in most texts, the only form of the word is the stem itself.
            return found + _ADDED_IN_HEADING * opening.count(itself, 0, end)
        found = 0
        start = opening.find(begins)
        while start >= 0:
            # Every word is followed by a blank, unless it is cut.
            stop = opening.find(" ", start + 1)
            if stem(opening[start + 1 : stop]) == stemmed:
                found += 1 if start > end else 1 + _ADDED_IN_HEADING
            start = opening.find(begins, start + 1)
        return found

    return count
