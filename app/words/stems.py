"""Stems of words by Snowball's algorithms. Pure.

The script of a word selects the language: English for Latin letters, Russian for Cyrillic, and
Greek, Arabic, Armenian, Tamil and Hindi for their scripts. So no text needs a language, and a word
has the same stem in a text and in a query. Words of German or French are stemmed by English rules,
which seldom change them. Words with digits, and those of other scripts, are their
own stems.
"""

from functools import lru_cache

import regex
import Stemmer

# Stems are cached, because most of any text consists of a few thousand words.
_MAX_CACHED = 65_536
_ENGLISH = Stemmer.Stemmer("english", 0)
_STEMMERS = [
    (regex.compile(rf"\p{{{script}}}", regex.V1), Stemmer.Stemmer(language, 0))
    for script, language in (
        ("Cyrillic", "russian"),
        ("Greek", "greek"),
        ("Arabic", "arabic"),
        ("Armenian", "armenian"),
        ("Tamil", "tamil"),
        ("Devanagari", "hindi"),
        ("Latin", "english"),
    )
]


@lru_cache(_MAX_CACHED)
def stem(word: str) -> str:
    """Return the stem of a word folded by `search_terms.fold`, which may be the word itself."""
    if word.isascii():
        return _ENGLISH.stemWord(word) if word.isalpha() else word
    if any(char.isdigit() for char in word):
        return word
    for script, stemmer in _STEMMERS:
        if script.match(word):
            return stemmer.stemWord(word) or word
    return word


def stem_opening(stemmed: str) -> str:
    """Return the common beginning of nearly all words of a stem.

    "possibl" is the stem of "possibility", and "happi" that of "happy".
    """
    return stemmed[: max(3, len(stemmed) - 2)]
