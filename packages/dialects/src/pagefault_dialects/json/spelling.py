"""JSON texts compared: values in one spelling, and the spellings that writers of JSON have.

In the one spelling the order of keys, white space, escapes and the spelling of numbers do not
count. Whole numbers are compared digit by digit, others as doubles; a whole number that is written
with an exponent is the one of the digits that the double is written with.

A writer puts JSON on one line, with spaces or without, or indents it. Which of them it does is
guessed from the beginning of a text, and compact JSON is spelled like that, so that both can be
compared by their digests.
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
# From here on a double is no longer every whole number, and is written with an exponent.
_FIRST_WITH_EXPONENT = 10**16
_LARGEST_DOUBLE = int(sys.float_info.max)
# Doubles are written with as many digits at most, and zeros behind them.
_MOST_DIGITS = 17
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_STRINGS = re.compile(_STRING, re.DOTALL)
_TOKENS = re.compile(rf"{_STRING}|[\[\]{{}},:]|[^\"\[\]{{}},:]++", re.DOTALL)
_INDENTED = re.compile(r"[\[{]\n([ \t]{1,16})")
_SEPARATOR = re.compile(r"[,:](.)", re.DOTALL)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]++")
_READ_CHARS = 4_000
# An indented text is longer than compact JSON, of deep nesting much longer.
_MOST_TIMES_LONGER = 16


def canonical(value: JsonValue) -> str:
    """Return a JSON value as the text that every equal one has."""
    return canonical_text(json_text(value))


def canonical_text(text: str) -> str:
    """Return a JSON text as any other one of the same value; as it is, if it cannot be read."""
    try:
        value = json.loads(text, parse_float=_number, parse_int=_whole)
        return without_lone_surrogates(_SORTED.encode(value))
    except (RecursionError, ValueError):
        # Too deep, or with numbers too long, for anything but the text.
        return text


def _number(literal: str) -> int | float:
    number = float(literal)
    is_short = abs(number) < _FIRST_WITH_EXPONENT and number.is_integer()
    return int(number) if is_short else number


def _whole(literal: str) -> int | float:
    """Return a whole number, as the double written shortest for it if that has the same digits."""
    whole = int(literal)
    digits = literal.lstrip("-").rstrip("0")
    if len(digits) > _MOST_DIGITS or not _FIRST_WITH_EXPONENT <= abs(whole) <= _LARGEST_DOUBLE:
        return whole
    double = float(whole)
    return double if Decimal(repr(double)) == whole else whole


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
