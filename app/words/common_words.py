"""Stop words of English, and words that name the modality of a page.

The query "what is the capital of France?" searches for `capital` and `France`, and "the sunset
picture" prefers pages that are images.
"""

from collections.abc import Mapping
from types import MappingProxyType

from pagefault_dialects.model.page import Modality

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
