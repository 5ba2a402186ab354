"""How writers of JSON spell a value: on one line, with spaces or without, or indented.

A spelling is guessed from the beginning of a text, and compact JSON is spelled in it, so that both
can be compared by their digests.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii

_STRING = r'"(?:[^"\\]++|\\.)*+"'
_STRINGS = re.compile(_STRING, re.DOTALL)
_TOKENS = re.compile(rf"{_STRING}|[\[\]{{}},:]|[^\"\[\]{{}},:]++", re.DOTALL)
_INDENTED = re.compile(r"[\[{]\n([ \t]{1,16})")
_SEPARATOR = re.compile(r"[,:](.)", re.DOTALL)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]++")
_READ_CHARS = 4_000
# An indented text is longer than compact JSON, of deep nesting much longer.
_MOST_TIMES_LONGER = 16


@dataclass(frozen=True, slots=True)
class Spelling:
    """What stands between the tokens of a JSON text: the indent of a level, or spaces."""

    indent: str = ""
    is_spaced: bool = False

    def write(self, compact: str) -> str | None:
        """Return compact JSON spelled like this; `None` if that is many times as long."""
        if not self.indent and not self.is_spaced:
            return compact
        pieces = []
        room = _MOST_TIMES_LONGER * len(compact)
        for piece in self._pieces(_TOKENS.findall(compact)):
            room -= len(piece)
            if room < 0:
                return None
            pieces.append(piece)
        return "".join(pieces)

    def _pieces(self, tokens: list[str]) -> Iterator[str]:
        depth = 0
        before = ""
        for each in tokens:
            if each in ("]", "}"):
                depth -= 1
                # What is empty is closed on its line.
                yield "" if before in ("[", "{") else self._line(depth)
            elif before in ("[", "{"):
                yield self._line(depth)
            yield each
            if each in ("[", "{"):
                depth += 1
            elif each == ":":
                yield " "
            elif each == ",":
                yield self._line(depth) or " "
            before = each

    def _line(self, depth: int) -> str:
        return f"\n{self.indent * depth}" if self.indent else ""


def spelling_of(text: str) -> Spelling:
    """Return the spelling of a JSON text, of which the beginning is enough."""
    head = text[:_READ_CHARS]
    if indented := _INDENTED.match(head):
        return Spelling(indented[1])
    separator = _SEPARATOR.search(_STRINGS.sub('""', head))
    return Spelling(is_spaced=separator is not None and separator[1] == " ")


def escaped(text: str) -> str:
    r"""Return a JSON text with `\u` escapes in the place of all that is not ASCII."""
    return _NOT_ASCII.sub(lambda found: encode_basestring_ascii(found[0])[1:-1], text)
