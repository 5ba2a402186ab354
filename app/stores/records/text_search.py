"""Find texts that match a query: those with all terms first, then those with most of them.

    newest 1,000 with all terms ─────────────────────────────► ranked by their openings
    if fewer than 100, and several terms: the newest 512
    that have each term ─► the 200 with the heaviest terms ──►

A term is heavy if few texts have it. An opening is the beginning of a text (see `word_index`). All
steps have limits, and are the same on both databases: the indexes return only the newest texts with
a term.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import NamedTuple

from app.stores.records.word_index import RequiredMarks, WordIndex
from app.words.ranking import NAMED, Ranking, weight_of
from app.words.search_terms import SearchQuery, SearchTerm

# With fewer matches of all terms, texts with only some of the terms are searched as well.
_ENOUGH = 100
_MAX_PARTIAL = 200
ENTRY_INDEX, PAGE_INDEX = 1, 2
"""The ids of the indexes: of search entries, and of pages."""


class RankedMatch(NamedTuple):
    """A match and its rank. In descending order, the best matches come first.

    If ranks are equal, pages come first, then newer records.
    """

    rank: int
    index_id: int
    number: int


@dataclass(frozen=True, slots=True)
class RankedMatches:
    """Matches, the best first, with the terms by which they were ranked, and the terms' weights."""

    matches: Sequence[RankedMatch]
    terms: Sequence[SearchTerm]
    weights: Sequence[int]

    def after(
        self, matches_by_id: Sequence[tuple[int, int]], last: RankedMatch | None
    ) -> Sequence[RankedMatch]:
        """Return all matches, or those after the last one of the previous part of the list.

        Args:
            matches_by_id: Matches whose id is in the query, as (index id, number). They come first.
            last: The last match of the previous part of the list.
        """
        by_id = [RankedMatch(NAMED, *key) for key in sorted(set(matches_by_id), reverse=True)]
        by_words = (
            match for match in self.matches if (match.index_id, match.number) not in matches_by_id
        )
        return [match for match in (*by_id, *by_words) if last is None or match < last]


@dataclass(frozen=True, slots=True)
class SearchedIndex:
    """An index to search, and the marks that its matches must have.

    If ranks are equal, matches of the index with the higher id come first.
    """

    index_id: int
    index: WordIndex
    marks: RequiredMarks


_Key = tuple[int, int]
"""The id of an index, and a number in it."""


def find_texts(
    query: SearchQuery, indexes: Sequence[SearchedIndex], weights: Sequence[int] = ()
) -> RankedMatches:
    """Find the texts that match a query.

    Args:
        query: The query.
        indexes: The indexes to search.
        weights: The weights of the previous part of the list; empty for the first part.
    """
    terms: Sequence[SearchTerm] = query.terms
    # False if no text has one of the terms, so that no match is complete.
    is_all = True
    # The openings of texts with all terms.
    openings = {
        (searched.index_id, number): opening
        for searched in indexes
        for number, opening in searched.index.find_all_terms(terms, searched.marks)
    }
    # For each match, the terms that it has, as bits.
    bits = dict.fromkeys(openings, (1 << len(terms)) - 1)
    if len(openings) < _ENOUGH and (len(terms) > 1 or not openings):
        matches_by_term, is_all = _find_by_term(terms, indexes)
        terms = list(matches_by_term)
        if len(weights) != len(terms):
            weights = [weight_of(sum(map(len, keys))) for keys in matches_by_term.values()]
        bits = _collect_bits(matches_by_term.values())
        partial = _find_heaviest(bits.keys() - openings.keys(), bits, weights)
        openings |= _read_openings(partial, indexes)
    elif len(weights) != len(terms):
        weights = [1] * len(terms)
    ranking = Ranking(query, terms, weights, is_all=is_all)
    all_terms = (1 << len(terms)) - 1
    matches = [
        RankedMatch(ranking.rank(opening, bits.get(key, all_terms)), *key)
        for key, opening in openings.items()
    ]
    return RankedMatches(sorted(matches, reverse=True), terms, weights)


def _find_by_term(
    terms: Sequence[SearchTerm], indexes: Sequence[SearchedIndex]
) -> tuple[Mapping[SearchTerm, Sequence[set[_Key]]], bool]:
    """Return the matches of each term in each index. Terms without matches are replaced or omitted.

    Returns:
        The matches by term, and true if each term of the query has matches or was replaced by
        weaker terms that all have matches.
    """
    matches = dict(zip(terms, _find_keys(terms, indexes), strict=True))
    missed = [term for term, keys in matches.items() if not any(keys)]
    relaxed = {part: None for term in missed for part in term.relaxed() if part not in matches}
    if relaxed:
        matches |= dict(zip(relaxed, _find_keys(list(relaxed), indexes), strict=True))
    kept = {term: keys for term, keys in matches.items() if any(keys)}
    is_all = all(
        bool(parts := term.relaxed()) and all(part in kept for part in parts) for term in missed
    )
    return kept, is_all


def _find_keys(
    terms: Sequence[SearchTerm], indexes: Sequence[SearchedIndex]
) -> list[list[set[_Key]]]:
    """Return, for each term, its matches in each index."""
    by_index = [
        [
            {(searched.index_id, number) for number in numbers}
            for numbers in searched.index.find_each_term(terms, searched.marks)
        ]
        for searched in indexes
    ]
    return [list(keys) for keys in zip(*by_index, strict=True)]


def _collect_bits(matches: Iterable[Sequence[set[_Key]]]) -> dict[_Key, int]:
    """Return the terms of each match, as bits."""
    bits: dict[_Key, int] = {}
    for bit, of_term in enumerate(matches):
        for keys in of_term:
            for key in keys:
                bits[key] = bits.get(key, 0) | 1 << bit
    return bits


def _find_heaviest(
    keys: Collection[_Key], bits: Mapping[_Key, int], weights: Sequence[int]
) -> Sequence[_Key]:
    """Return the 200 matches whose terms have the greatest sums of weights.

    Of matches with equal sums, the newest are returned.
    """
    sums = {
        terms: sum(weight for bit, weight in enumerate(weights) if terms >> bit & 1)
        for terms in set(bits.values())
    }
    return nlargest(_MAX_PARTIAL, keys, key=lambda key: (sums[bits[key]], key))


def _read_openings(keys: Collection[_Key], indexes: Sequence[SearchedIndex]) -> dict[_Key, str]:
    return {
        (searched.index_id, number): opening
        for searched in indexes
        for number, opening in searched.index.openings(
            [number for index_id, number in keys if index_id == searched.index_id]
        ).items()
    }
