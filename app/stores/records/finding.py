"""Find texts that match a query: those with all terms first, then those with most of them.

    newest 1,000 with all terms ─────────────────────────────► ranked by their openings
    if fewer than 100, and several terms: the newest 512
    that have each term ─► the 200 with the heaviest terms ──►

All steps are bounded, and the same on both databases: the indexes return the newest texts with a
term, and the rest is arithmetic.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import NamedTuple

from app.stores.records.word_index import RequiredMarks, WordIndex
from app.words.ranking import NAMED, Ranking, weight_of
from app.words.search_terms import SearchQuery, SearchTerm

_ENOUGH = 100
_MAX_PARTIAL = 200
IN_ENTRIES, IN_PAGES = 1, 2
"""The indexes that are searched."""


class RankedMatch(NamedTuple):
    """A match and its rank. Of equal ranks, pages come first, then newer records.

    Matches are in order if they are sorted in descending order.
    """

    rank: int
    place: int
    number: int


@dataclass(frozen=True, slots=True)
class Found:
    """Matches, the best first, and the terms with the weights that they were ranked by."""

    matches: Sequence[RankedMatch]
    terms: Sequence[SearchTerm]
    weights: Sequence[int]

    def after(
        self, named: Sequence[tuple[int, int]], last: RankedMatch | None
    ) -> Sequence[RankedMatch]:
        """Return the matches after one, or all, with those named by an id before others.

        Args:
            named: The matches that the query names by an id, as (place, number).
            last: The last match of the previous part of the list.
        """
        by_id = [RankedMatch(NAMED, *key) for key in sorted(set(named), reverse=True)]
        by_words = (match for match in self.matches if (match.place, match.number) not in named)
        return [by_word for by_word in (*by_id, *by_words) if last is None or by_word < last]


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """An index that is searched, and the marks that its matches must have.

    `place` identifies the index: of equal ranks, matches in the higher place come first.
    """

    place: int
    index: WordIndex
    marks: RequiredMarks


_Key = tuple[int, int]
"""The place of an index, and a number in it."""


def find(query: SearchQuery, places: Sequence[SearchPlace], weights: Sequence[int] = ()) -> Found:
    """Find the texts that match a query.

    Args:
        query: The query.
        places: The indexes to search.
        weights: The weights of an earlier part of the list, which this continues.
    """
    terms: Sequence[SearchTerm] = query.terms
    is_all = True
    # The openings of texts with all terms.
    openings = {
        (place.place, number): opening
        for place in places
        for number, opening in place.index.newest(terms, place.marks)
    }
    known = dict.fromkeys(openings, (1 << len(terms)) - 1)
    if len(openings) < _ENOUGH and (len(terms) > 1 or not openings):
        holders, is_all = _holders(terms, places)
        terms = list(holders)
        fresh = [weight_of(sum(map(len, holder))) for holder in holders.values()]
        weights = weights if len(weights) == len(terms) else fresh
        known = _bits(holders.values())
        partial = _heaviest(known.keys() - openings.keys(), known, weights)
        openings |= _openings(partial, places)
    elif len(weights) != len(terms):
        weights = [1] * len(terms)
    ranking = Ranking(query, terms, weights, is_all=is_all)
    everything = (1 << len(terms)) - 1
    matches = [
        RankedMatch(ranking.rank(opening, known.get(key, everything)), *key)
        for key, opening in openings.items()
    ]
    return Found(sorted(matches, reverse=True), terms, weights)


def _holders(
    terms: Sequence[SearchTerm], places: Sequence[SearchPlace]
) -> tuple[Mapping[SearchTerm, Sequence[set[_Key]]], bool]:
    """Return the matches of each term, by place, and whether these are all terms of the query.

    A term without matches is relaxed, or omitted.
    """
    holders = dict(zip(terms, _find_keys(terms, places), strict=True))
    missed = [term for term, holder in holders.items() if not any(holder)]
    relaxed = {part: None for term in missed for part in term.relaxed() if part not in holders}
    if relaxed:
        holders |= dict(zip(relaxed, _find_keys(list(relaxed), places), strict=True))
    kept = {term: holder for term, holder in holders.items() if any(holder)}
    is_all = all(
        bool(parts := term.relaxed()) and all(part in kept for part in parts) for term in missed
    )
    return kept, is_all


def _find_keys(terms: Sequence[SearchTerm], places: Sequence[SearchPlace]) -> list[list[set[_Key]]]:
    by_place = [
        [
            {(place.place, number) for number in numbers}
            for numbers in place.index.holders(terms, place.marks)
        ]
        for place in places
    ]
    return [list(of_term) for of_term in zip(*by_place, strict=True)]


def _bits(holders: Iterable[Sequence[set[_Key]]]) -> dict[_Key, int]:
    """Return the terms of each match, as bits."""
    known: dict[_Key, int] = {}
    for bit, of_term in enumerate(holders):
        for keys in of_term:
            for key in keys:
                known[key] = known.get(key, 0) | 1 << bit
    return known


def _heaviest(
    keys: Collection[_Key], known: Mapping[_Key, int], weights: Sequence[int]
) -> Sequence[_Key]:
    """Return the matches with the greatest sum of weights, of equal ones the first and newest."""
    sums = {
        bits: sum(weight for bit, weight in enumerate(weights) if bits >> bit & 1)
        for bits in set(known.values())
    }
    return nlargest(_MAX_PARTIAL, keys, key=lambda key: (sums[known[key]], key))


def _openings(keys: Collection[_Key], places: Sequence[SearchPlace]) -> dict[_Key, str]:
    return {
        (item.place, number): opening
        for item in places
        for number, opening in item.index.openings(
            [number for place, number in keys if place == item.place]
        ).items()
    }
