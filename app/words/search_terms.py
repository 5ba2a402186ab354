"""Split texts into words and queries into terms, without I/O, and the same for both databases.

The databases do not split texts: they differ in accents, underscores and scripts without blanks.
A word is a run of letters, digits and marks in any script, without case and accents, so that
"cafe" finds "Café". In scripts without blanks, every character is a word. Both databases store the
words joined by blanks, and the stems of words that differ from their stem: "sunsets" is in the
index unchanged, so that `sunsets*` finds it, and as the stem "sunset".
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import regex

from app.words.stems import stem
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.client_ids import CLIENT_ID
from pagefault_dialects.model.page import Modality

CONTINUOUS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc"
"""The characters of scripts without blanks, for a character class of a regular expression."""
WORD_CHARS = r"\p{L}\p{N}\p{M}"
"""The characters of words, for a character class of a regular expression."""
MAX_WORD_CHARS = 128
MAX_QUERY_WORDS = 32
MIN_PREFIX_CHARS = 3
TEXT_BREAK = "\ue001"
"""A word between two texts of a field, so that no phrase spans both; no text contains it."""
STEM_MARK = "\ue003"
"""The prefix of a stem in the index, which no word of a text has."""

# The query "what is the capital of France?" searches for `capital` and `France`, and "the sunset
# picture" prefers pages that are images.
COMMON_WORDS = frozenset(
    """
    a about above after again all also am an and any are aren as at be because been before being
    below between both but by can cannot could couldn d did didn do does doesn doing don down during
    each either else ever few for from further had hadn has hasn have haven having he her here hers
    herself him himself his how i if in into is isn it its itself just ll m may me might more most
    much must my myself no nor not now of off on once one only or other our ours out over own
    please re s same shall she should shouldn so some such t tell than that the their theirs them
    themselves then there these they this those through to too under until up us ve very was wasn
    we were weren what when where whether which while who whom whose why will with would wouldn you
    your yours yourself
    """.split()  # noqa: SIM905 - read as a text
)
"""Folded words that are not searched for if a query has others."""

_KINDS: Mapping[Modality, str] = {
    "image": "image images picture pictures photo photos photograph photographs screenshot "
    "screenshots drawing drawings",
    "audio": "audio recording recordings sound sounds",
    "video": "video videos clip clips movie movies film films footage",
    "structured": "data json table tables",
}
MODALITY_WORDS: Mapping[str, Modality] = MappingProxyType(
    {word: modality for modality, words in _KINDS.items() for word in words.split()}
)
"""Folded words that find all pages of a modality, whatever their words are."""

# PostgreSQL stores at most 1,048,575 bytes of words with their positions. The size of each word
# there is counted here, so that both databases omit the same words.
_BUDGET_BYTES = 1_000_000
_NEW_WORD_BYTES = 5
_REPEATED_WORD_BYTES = 2
_NEW_PAIR_BYTES = 3
_SHORT_WORD_CHARS = 4
_PAIR_WORDS = 2

# Its group is the word, cut.
_ASCII_WORD = re.compile(rf"([0-9a-z]{{1,{MAX_WORD_CHARS}}})[0-9a-z]*")
_WORD = regex.compile(
    rf"[{CONTINUOUS}]\p{{M}}*|[\p{{L}}\p{{N}}--[{CONTINUOUS}]][{WORD_CHARS}--[{CONTINUOUS}]]*",
    regex.V1,
)
_CONTINUOUS_CHAR = regex.compile(rf"[{CONTINUOUS}]", regex.V1)
# Accents of Latin, Greek and Cyrillic, and the vowel points of Hebrew and Arabic. Other scripts'
# marks are part of the letter: without them it is another word. Also invisible characters: soft
# hyphens, joiners and variation selectors.
_IGNORED_MARKS = re.compile(
    r"[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u064b-\u065f"
    r"\u00ad\u200c\u200d\u2060\ufe00-\ufe0f]+"
)
# Sorting the marks on one letter takes the square of their number; no text needs more than this.
_MAX_MARKS = 30
_TOO_MANY_MARKS = regex.compile(rf"\p{{M}}{{{_MAX_MARKS + 1},}}")
_PIECE_CHARS = 64 * 1024
# Of ASCII, a character costs less than 8 bytes of the budget, whatever the words are.
_AMPLE_CHARS = min(_PIECE_CHARS, _BUDGET_BYTES // 8)
# The last position at which a text can be cut without changing how it folds, in this many
# characters before the limit.
_BREAK_CHARS = 1_024
_LAST_BREAK = regex.compile(r"(?r)[\s\p{P}\p{Han}\p{Hiragana}\p{Katakana}]")
_QUERY_TOKEN = re.compile(r'"([^"]*)"?|([^\s"]+)')
_AROUND_IDS = "\"'`()[]{}<>,;:.?!@"
# The "s" of "the king's crown" is not searched for.
_POSSESSIVE = re.compile(r"['\u2019]s(?=\W*$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SearchableText:
    """The texts of a record that are searched. Words of `heading` have a higher weight.

    For a page, `heading` is hint and caption, and `text` is transcript and text content.
    """

    heading: tuple[str, ...]
    text: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchWords:
    """The words of a record, joined by blanks; `TEXT_BREAK` is a word between two texts.

    `stems` has the stem of each word that differs from its stem, without repetitions.
    """

    heading: str
    text: str
    stems: str = ""


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """Words in sequence; the last one may be a prefix.

    A single unquoted word matches all words with its stem. A word such as "picture" also matches
    every page of a modality.
    """

    words: tuple[str, ...]
    is_prefix: bool = False
    is_quoted: bool = False

    @property
    def stem(self) -> str | None:
        """The stem that a single unquoted word matches, else `None`."""
        if len(self.words) > 1 or self.is_prefix or self.is_quoted:
            return None
        return stem(self.words[0])

    @property
    def modality(self) -> Modality | None:
        """The modality whose pages the term matches, else `None`."""
        is_plain = len(self.words) == 1 and not (self.is_prefix or self.is_quoted)
        return MODALITY_WORDS.get(self.words[0]) if is_plain else None

    def relaxed(self) -> "tuple[SearchTerm, ...]":
        """Return the terms that replace this one if it has no matches: a prefix, or its words."""
        if self.is_quoted or self.is_prefix:
            return ()
        if len(self.words) > 1:
            return tuple(_split_run(self.words))
        (word,) = self.words
        is_short = len(word) < MIN_PREFIX_CHARS or is_continuous(word)
        return () if is_short else (SearchTerm((word,), is_prefix=True),)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """The terms of a search. Pages with all terms come before those with some."""

    terms: tuple[SearchTerm, ...]


def fold(text: str) -> str:
    """Return a text as search compares it: compatibility forms unified, without case or accents."""
    if text.isascii():
        return text.lower()
    text = _TOO_MANY_MARKS.sub(lambda match: match.group()[:_MAX_MARKS], text)
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", _IGNORED_MARKS.sub("", decomposed))


def split_words(text: str) -> Iterator[str]:
    """Yield the words of a text in order, each cut to 128 characters."""
    for piece in _pieces(text):
        folded = fold(piece)
        pattern = _ASCII_WORD if folded.isascii() else _WORD
        for match in pattern.finditer(folded):
            yield match.group()[:MAX_WORD_CHARS]


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces, which can be folded separately. A word longer than a piece is cut.

    A caller that has enough words does not have to fold the rest, and folding a piece does not
    block other threads for long.
    """
    start = 0
    while len(text) - start > _PIECE_CHARS:
        limit = start + _PIECE_CHARS
        cut = _LAST_BREAK.search(text, limit - _BREAK_CHARS, limit)
        end = cut.start() if cut else limit
        yield text[start:end]
        start = end
    yield text[start:]


def search_words(searchable: SearchableText) -> SearchWords:
    """Return the words of a page; of a very long page, those of its beginning.

    Takes about a second for some megabytes, so call it in a thread.
    """
    texts = (*searchable.heading, *searchable.text)
    if all(map(str.isascii, texts)) and sum(map(len, texts)) <= _AMPLE_CHARS:
        return _words_of_short(searchable)
    budget = _Budget()
    return SearchWords(
        heading=_join(searchable.heading, budget),
        text=_join(searchable.text, budget),
        stems=" ".join(budget.stems),
    )


def _words_of_short(searchable: SearchableText) -> SearchWords:
    """Return the words of ASCII texts that fit into the budget, as most texts do, and faster."""
    distinct: dict[str, None] = {}

    def join(texts: Iterable[str]) -> str:
        split = [_ASCII_WORD.findall(text.lower()) for text in texts]
        for words in split:
            distinct.update(dict.fromkeys(words))
        return f" {TEXT_BREAK} ".join(" ".join(words) for words in split if words)

    heading, text = join(searchable.heading), join(searchable.text)
    pairs = zip(distinct, map(stem, distinct), strict=True)
    stems = dict.fromkeys([stemmed for word, stemmed in pairs if stemmed != word])
    return SearchWords(heading, text, " ".join(stems))


def stems_of(words: Iterable[str], *, max_bytes: int) -> str:
    """Return the stems of words that are not stems, as in `SearchWords.stems`.

    Args:
        words: The words.
        max_bytes: The limit of their size; further stems are omitted.
    """
    stems = dict.fromkeys(stem(word) for word in words if stem(word) != word)
    kept: list[str] = []
    for name in stems:
        max_bytes -= len(name.encode()) + _NEW_WORD_BYTES
        if max_bytes < 0:
            break
        kept.append(name)
    return " ".join(kept)


def parse_search(text: str) -> SearchQuery:
    """Return the terms of a query.

    Blanks separate terms. `"…"` is a phrase, and so is text without blanks: `file_name.txt`, or
    Chinese. `word*` matches words with this beginning. Common words such as "the" and "what" are
    ignored if there are others. Words after the 32nd are ignored.

    Raises:
        InvalidPayloadError: The text has no words, or a prefix is too short.
    """
    terms: list[SearchTerm] = []
    remaining_words = MAX_QUERY_WORDS
    for match in _QUERY_TOKEN.finditer(text):
        phrase, run = match.group(1), match.group(2)
        term = (
            SearchTerm(tuple(split_words(phrase))[:remaining_words], is_quoted=True)
            if run is None
            else _parse_run(_POSSESSIVE.sub("", run), remaining_words)
        )
        if term.words and term not in terms:
            terms.append(term)
            remaining_words -= len(term.words)
        if remaining_words <= 0:
            break
    if not terms:
        raise InvalidPayloadError(
            "There is no word to search for. Send letters or digits of any script; `word*` finds "
            'words that begin so, and "two words" a phrase.'
        )
    specific = [term for term in terms if term.is_quoted or not COMMON_WORDS.issuperset(term.words)]
    return SearchQuery(tuple(specific or terms))


def ids_in(text: str) -> list[str]:
    """Return possible ids in a query: the whole query, and words that are not only letters."""
    words = [word.strip(_AROUND_IDS) for word in text.split()[:MAX_QUERY_WORDS]]
    candidates = [word for word in words if not word.isalpha()]
    return [name for name in dict.fromkeys([text.strip(), *candidates]) if CLIENT_ID.match(name)]


def _split_run(words: Sequence[str]) -> Iterator[SearchTerm]:
    """Yield the words of a run; in a script without blanks, its pairs of characters."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if not is_continuous(word):
            if word not in COMMON_WORDS:
                yield SearchTerm((word,))
        elif following and is_continuous(following) and len(words) > _PAIR_WORDS:
            yield SearchTerm((word, following))


def is_continuous(word: str) -> bool:
    """Return whether a word is a character of a script without blanks."""
    return _CONTINUOUS_CHAR.match(word) is not None


def is_pair(first: str, second: str) -> bool:
    """Return whether two consecutive words are also indexed as a pair.

    Most pages have short words, and single Chinese characters. An index of single words cannot find
    the few pages in which two of them are consecutive.
    """
    return len(first) <= _SHORT_WORD_CHARS and len(second) <= _SHORT_WORD_CHARS


class _Budget:
    """The bytes of a page's words that can still be stored."""

    def __init__(self) -> None:
        self._remaining_bytes = _BUDGET_BYTES
        self._word_sizes: dict[str, int] = {}
        # An ordered set of the stems that differ from their words.
        self.stems: dict[str, None] = {}
        self._pairs: set[tuple[str, str]] = set()

    def take(self, words: Iterable[str]) -> Iterator[str]:
        """Yield the words of a text up to the first that does not fit."""
        before = ""
        for word in words:
            self._remaining_bytes -= self._word_bytes(word)
            if before and is_pair(before, word) and (before, word) not in self._pairs:
                self._pairs.add((before, word))
                self._remaining_bytes -= (
                    self._word_sizes[before] + self._word_sizes[word] + _NEW_PAIR_BYTES
                )
            if self._remaining_bytes < 0:
                return
            yield word
            before = word

    def _word_bytes(self, word: str) -> int:
        if word in self._word_sizes:
            return _REPEATED_WORD_BYTES
        self._word_sizes[word] = len(word.encode())
        size_bytes = self._word_sizes[word] + _NEW_WORD_BYTES
        stemmed = stem(word)
        if stemmed != word and stemmed not in self.stems:
            self.stems[stemmed] = None
            size_bytes += len(stemmed.encode()) + _NEW_WORD_BYTES
        return size_bytes


def _join(texts: Iterable[str], budget: _Budget) -> str:
    joined = (" ".join(budget.take(split_words(text))) for text in texts)
    return f" {TEXT_BREAK} ".join(filter(None, joined))


def _parse_run(run: str, max_words: int) -> SearchTerm:
    words = tuple(split_words(run))
    stem = run.rstrip("*")
    is_prefix = (
        stem != run
        and 0 < len(words) <= max_words
        and fold(stem).endswith(words[-1])
        and not is_continuous(words[-1])
    )
    if is_prefix and len(words[-1]) < MIN_PREFIX_CHARS:
        raise InvalidPayloadError(
            f"A prefix has at least {MIN_PREFIX_CHARS} characters before the `*`. Send more "
            "of the word, or the whole word without the `*`."
        )
    return SearchTerm(words[:max_words], is_prefix)
