"""Splits texts into words and queries into terms. Pure, and the same for both databases.

Neither database may tokenize: they disagree about accents, underscores and scripts without blanks.
A word is a run of letters, digits and marks in any script, without case and accents, so that
"cafe" finds "Café"; in scripts that write no blanks every character is a word of its own. What a
database gets is words joined by blanks, which it cannot read in two ways, and beside them the stems
of those words that are not stems themselves: "sunsets" stands in the index as itself, so that
`sunsets*` finds it, and as the stem "sunset".
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
"""The characters, in a regular expression's class, of scripts that write no blanks."""
WORD_CHARS = r"\p{L}\p{N}\p{M}"
"""The characters of words, in a regular expression's class."""
LONGEST_WORD_CHARS = 128
MAX_QUERY_WORDS = 32
SHORTEST_PREFIX_CHARS = 3
TEXT_BREAK = "\ue001"
"""Stands between two texts of a field, so that no phrase reaches across; no word contains it."""
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
"""Folded words that a query does not ask for where it has others."""

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
"""Folded words that a page of this modality is found by, whatever its words are."""

# PostgreSQL stores at most 1,048,575 bytes of words with their positions. The size of each word
# there is counted here, so that both databases leave out the same words.
_BUDGET_BYTES = 1_000_000
_NEW_WORD_BYTES = 5
_KNOWN_WORD_BYTES = 2
_NEW_PAIR_BYTES = 3
_SHORT_WORD_CHARS = 4
_PAIR_WORDS = 2

# Its group is the word, cut.
_ASCII_WORD = re.compile(rf"([0-9a-z]{{1,{LONGEST_WORD_CHARS}}})[0-9a-z]*")
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
# Sorting the marks on one letter takes the square of their number; no text needs more of them.
_HIGHEST_TOWER = 30
_TOWER = regex.compile(rf"\p{{M}}{{{_HIGHEST_TOWER + 1},}}")
_PIECE_CHARS = 64 * 1024
# Of ASCII, a character costs less than 8 bytes of the budget, whatever the words are.
_AMPLE_CHARS = min(_PIECE_CHARS, _BUDGET_BYTES // 8)
# The last place at which neither side folds otherwise; sought in so many characters.
_BREAK_CHARS = 1_024
_LAST_BREAK = regex.compile(r"(?r)[\s\p{P}\p{Han}\p{Hiragana}\p{Katakana}]")
_QUERY_TOKEN = re.compile(r'"([^"]*)"?|([^\s"]+)')
_AROUND_IDS = "\"'`()[]{}<>,;:.?!@"
# The "s" of "the king's crown" is not searched for.
_POSSESSIVE = re.compile(r"['\u2019]s(?=\W*$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SearchableText:
    """The words of a page that a search looks in: `heading` weighs more than `text`.

    `heading` is hint and caption, `text` is transcript and text content, in this order.
    """

    heading: tuple[str, ...]
    text: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchWords:
    """The words of a page, joined by blanks; `TEXT_BREAK` is a word between two texts.

    `stems` has those of the words that are not their own stem, once each.
    """

    heading: str
    text: str
    stems: str = ""


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """Words in sequence; the last one may be a prefix.

    A single unquoted word matches all words of its stem. One such as "picture" also matches every
    page of a modality.
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
        """Return the terms that replace one without matches: a prefix, or its single words."""
        if self.is_quoted or self.is_prefix:
            return ()
        if len(self.words) > 1:
            return tuple(_parts(self.words))
        (word,) = self.words
        is_short = len(word) < SHORTEST_PREFIX_CHARS or is_continuous(word)
        return () if is_short else (SearchTerm((word,), is_prefix=True),)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """The terms of a search. Pages with all terms come before those with some."""

    terms: tuple[SearchTerm, ...]


def fold(text: str) -> str:
    """Return a text as search compares it: compatibility forms unified, without case or accents."""
    if text.isascii():
        return text.lower()
    text = _TOWER.sub(lambda tower: tower.group()[:_HIGHEST_TOWER], text)
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", _IGNORED_MARKS.sub("", decomposed))


def split_words(text: str) -> Iterator[str]:
    """Yield the words of a text in order, each cut to 128 characters."""
    for piece in _pieces(text):
        folded = fold(piece)
        pattern = _ASCII_WORD if folded.isascii() else _WORD
        for match in pattern.finditer(folded):
            yield match.group()[:LONGEST_WORD_CHARS]


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces that fold as they do in the whole; one word of a whole piece is cut.

    A caller with enough words does not fold the rest, and no piece blocks other threads for long.
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
    """Return the words of a page; of a very long one, those from its beginning that can be kept.

    Takes about a second for some megabytes: call it in a thread.
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
    """Return the words of ASCII texts that all fit: most results are such, and it is their cost."""
    known: dict[str, None] = {}

    def joined(texts: Iterable[str]) -> str:
        split = [_ASCII_WORD.findall(text.lower()) for text in texts]
        for words in split:
            known.update(dict.fromkeys(words))
        return f" {TEXT_BREAK} ".join(" ".join(words) for words in split if words)

    heading, text = joined(searchable.heading), joined(searchable.text)
    pairs = zip(known, map(stem, known), strict=True)
    stems = dict.fromkeys([stemmed for word, stemmed in pairs if stemmed != word])
    return SearchWords(heading, text, " ".join(stems))


def stems_of(words: Iterable[str], *, max_bytes: int) -> str:
    """Return the stems of words that are not their own, as `SearchWords` has them.

    Args:
        words: The words.
        max_bytes: How long they may be; those beyond are left out.
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

    Blanks separate terms. `"…"` is a phrase, and so is whatever stands together without a blank:
    `file_name.txt`, or a run of Chinese. `word*` matches words that begin so. Common words such as
    "the" and "what" are left out where there are others. Beyond 32 words the rest is not looked
    for.

    Raises:
        InvalidPayloadError: There is no word in it, or a prefix is too short.
    """
    terms: list[SearchTerm] = []
    room = MAX_QUERY_WORDS
    for match in _QUERY_TOKEN.finditer(text):
        phrase, run = match.group(1), match.group(2)
        term = (
            SearchTerm(tuple(split_words(phrase))[:room], is_quoted=True)
            if run is None
            else _run(_POSSESSIVE.sub("", run), room)
        )
        if term.words and term not in terms:
            terms.append(term)
            room -= len(term.words)
        if room <= 0:
            break
    if not terms:
        raise InvalidPayloadError(
            "There is no word to search for. Send letters or digits of any script; `word*` finds "
            'words that begin so, and "two words" a phrase.'
        )
    specific = [term for term in terms if term.is_quoted or not COMMON_WORDS.issuperset(term.words)]
    return SearchQuery(tuple(specific or terms))


def ids_in(text: str) -> list[str]:
    """Return possible ids in a query: the whole, and words that look like ids."""
    words = [word.strip(_AROUND_IDS) for word in text.split()[:MAX_QUERY_WORDS]]
    candidates = [word for word in words if not word.isalpha()]
    return [name for name in dict.fromkeys([text.strip(), *candidates]) if CLIENT_ID.match(name)]


def _parts(words: Sequence[str]) -> Iterator[SearchTerm]:
    """Yield the words of a run; of a script that writes no blanks, its pairs of characters."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if not is_continuous(word):
            if word not in COMMON_WORDS:
                yield SearchTerm((word,))
        elif following and is_continuous(following) and len(words) > _PAIR_WORDS:
            yield SearchTerm((word, following))


def is_continuous(word: str) -> bool:
    """Return whether a word is a character of a script that writes no blanks."""
    return _CONTINUOUS_CHAR.match(word) is not None


def is_pair(first: str, second: str) -> bool:
    """Return whether two words that follow one another are indexed as a pair, too.

    Short words are in most pages, and so are characters of Chinese: of the many pages that have
    both, an index of single words cannot tell the few in which they follow one another.
    """
    return len(first) <= _SHORT_WORD_CHARS and len(second) <= _SHORT_WORD_CHARS


class _Budget:
    """Counts how many more bytes of a page's words can be stored."""

    def __init__(self) -> None:
        self._left_bytes = _BUDGET_BYTES
        self._known: dict[str, int] = {}
        # An ordered set: of those words whose stem is another one.
        self.stems: dict[str, None] = {}
        self._pairs: set[tuple[str, str]] = set()

    def take(self, words: Iterable[str]) -> Iterator[str]:
        """Yield the words of a text up to the first that does not fit; behind it nothing does."""
        before = ""
        for word in words:
            self._left_bytes -= self._word_bytes(word)
            if before and is_pair(before, word) and (before, word) not in self._pairs:
                self._pairs.add((before, word))
                self._left_bytes -= self._known[before] + self._known[word] + _NEW_PAIR_BYTES
            if self._left_bytes < 0:
                return
            yield word
            before = word

    def _word_bytes(self, word: str) -> int:
        if word in self._known:
            return _KNOWN_WORD_BYTES
        self._known[word] = len(word.encode())
        size_bytes = self._known[word] + _NEW_WORD_BYTES
        stemmed = stem(word)
        if stemmed != word and stemmed not in self.stems:
            self.stems[stemmed] = None
            size_bytes += len(stemmed.encode()) + _NEW_WORD_BYTES
        return size_bytes


def _join(texts: Iterable[str], budget: _Budget) -> str:
    joined = (" ".join(budget.take(split_words(text))) for text in texts)
    return f" {TEXT_BREAK} ".join(filter(None, joined))


def _run(run: str, room: int) -> SearchTerm:
    words = tuple(split_words(run))
    stem = run.rstrip("*")
    is_prefix = (
        stem != run
        and 0 < len(words) <= room
        and fold(stem).endswith(words[-1])
        and not is_continuous(words[-1])
    )
    if is_prefix and len(words[-1]) < SHORTEST_PREFIX_CHARS:
        raise InvalidPayloadError(
            f"A prefix has at least {SHORTEST_PREFIX_CHARS} characters before the `*`. Send more "
            "of the word, or the whole word without the `*`."
        )
    return SearchTerm(words[:room], is_prefix)
