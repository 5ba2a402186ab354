"""Comparison of JSON texts: the canonical spelling, and the spelling of writers.

The canonical spelling ignores the order of keys, white space, escapes and the spelling of numbers.
Whole numbers are compared digit by digit, others as doubles; a whole number with an exponent equals
the one with the digits of that double.

Writers put JSON on one line, with or without spaces, or indent it. The spelling is guessed from the
beginning of a text, and applied to compact JSON, so that both can be compared by digests.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from json.encoder import encode_basestring_ascii

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.text_windows import without_lone_surrogates

_SORTED = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)
# From here on doubles skip whole numbers, and are written with an exponent.
_FIRST_WITH_EXPONENT = 10**16
_LARGEST_DOUBLE = int(sys.float_info.max)
# Doubles are written with at most this many digits, followed by zeros.
_MAX_DIGITS = 17
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_STRINGS = re.compile(_STRING, re.DOTALL)
_TOKENS = re.compile(rf"{_STRING}|[\[\]{{}},:]|[^\"\[\]{{}},:]++", re.DOTALL)
_INDENTED = re.compile(r"[\[{]\n([ \t]{1,16})")
_SEPARATOR = re.compile(r"[,:](.)", re.DOTALL)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]++")
_READ_CHARS = 4_000
# An indented text is longer than compact JSON, for deep nesting much longer.
_MAX_TIMES_LONGER = 16


def canonical(value: JsonValue) -> str:
    """Return a JSON value as text that is the same for all equal values."""
    return canonical_text(json_text(value))


def canonical_text(text: str) -> str:
    """Return the canonical spelling of a JSON text; the text itself if it cannot be read."""
    try:
        value = json.loads(text, parse_float=_number, parse_int=_whole)
        return without_lone_surrogates(_SORTED.encode(value))
    except (RecursionError, ValueError):
        # Too deep, or with too long numbers: only the text is compared.
        return text


def _number(literal: str) -> int | float:
    number = float(literal)
    is_short = abs(number) < _FIRST_WITH_EXPONENT and number.is_integer()
    return int(number) if is_short else number


def _whole(literal: str) -> int | float:
    """Return a whole number, as a double if that has the same digits in its shortest form."""
    whole = int(literal)
    digits = literal.lstrip("-").rstrip("0")
    if len(digits) > _MAX_DIGITS or not _FIRST_WITH_EXPONENT <= abs(whole) <= _LARGEST_DOUBLE:
        return whole
    double = float(whole)
    return double if Decimal(repr(double)) == whole else whole


@dataclass(frozen=True, slots=True)
class Spelling:
    """The white space between the tokens of a JSON text: the indent of a level, or spaces."""

    indent: str = ""
    is_spaced: bool = False

    def write(self, compact: str) -> str | None:
        """Return compact JSON in this spelling; `None` if that is too much longer."""
        if not self.indent and not self.is_spaced:
            return compact
        pieces = []
        room = _MAX_TIMES_LONGER * len(compact)
        for piece in self._pieces(_TOKENS.findall(compact)):
            room -= len(piece)
            if room < 0:
                return None
            pieces.append(piece)
        return "".join(pieces)

    def _pieces(self, tokens: list[str]) -> Iterator[str]:
        depth = 0
        before = ""
        for symbol in tokens:
            if symbol in ("]", "}"):
                depth -= 1
                # An empty container is closed on its line.
                yield "" if before in ("[", "{") else self._line(depth)
            elif before in ("[", "{"):
                yield self._line(depth)
            yield symbol
            if symbol in ("[", "{"):
                depth += 1
            elif symbol == ":":
                yield " "
            elif symbol == ",":
                yield self._line(depth) or " "
            before = symbol

    def _line(self, depth: int) -> str:
        return f"\n{self.indent * depth}" if self.indent else ""


def spelling_of(text: str) -> Spelling:
    """Return the spelling of a JSON text, judged by its beginning."""
    head = text[:_READ_CHARS]
    if indented := _INDENTED.match(head):
        return Spelling(indented[1])
    separator = _SEPARATOR.search(_STRINGS.sub('""', head))
    return Spelling(is_spaced=separator is not None and separator[1] == " ")


def escaped(text: str) -> str:
    r"""Return a JSON text with `\u` escapes for all characters outside of ASCII."""
    return _NOT_ASCII.sub(lambda found: encode_basestring_ascii(found[0])[1:-1], text)
