"""Compare JSON texts that different programs have written.

The canonical text of a value is the same for all texts with equal values: it does not depend on the
order of keys, white space, escapes and the spelling of numbers. Integers are compared digit by
digit, other numbers as doubles. An integer with an exponent equals the digits of its double.

A *spelling* is the white space of a text: programs write JSON on one line, with or without spaces,
or indent it. It is detected at the beginning of a text, and applied to the compact JSON of another
value, so that both can be compared by digests.
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
# From this number on, doubles do not have all integers, and are written with an exponent.
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
# The longest indented text, in lengths of the compact JSON.
_MAX_TIMES_LONGER = 16


def canonicalize(value: JsonValue) -> str:
    """Return the canonical text of a JSON value."""
    return canonicalize_text(json_text(value))


def canonicalize_text(text: str) -> str:
    """Return the canonical text of a JSON text; the text itself if it cannot be parsed."""
    try:
        value = json.loads(text, parse_float=_parse_number, parse_int=_parse_integer)
        return without_lone_surrogates(_SORTED.encode(value))
    except (RecursionError, ValueError):
        # It is not JSON, nested too deeply, or has too long numbers.
        return text


def _parse_number(literal: str) -> int | float:
    """Return a number with a fraction or an exponent; a short whole number as an integer."""
    number = float(literal)
    is_short = abs(number) < _FIRST_WITH_EXPONENT and number.is_integer()
    return int(number) if is_short else number


def _parse_integer(literal: str) -> int | float:
    """Return an integer, as a double if the shortest form of the double has the same digits."""
    whole = int(literal)
    digits = literal.lstrip("-").rstrip("0")
    if len(digits) > _MAX_DIGITS or not _FIRST_WITH_EXPONENT <= abs(whole) <= _LARGEST_DOUBLE:
        return whole
    double = float(whole)
    return double if Decimal(repr(double)) == whole else whole


@dataclass(frozen=True, slots=True)
class Spelling:
    """The white space between the tokens of a JSON text."""

    indent: str = ""
    """The white space before each line, for one level; empty for JSON on one line."""
    is_spaced: bool = False
    """True if a space follows each colon and comma."""

    def write(self, compact: str) -> str | None:
        """Return compact JSON in this spelling; `None` if that is more than 16 times as long."""
        if not self.indent and not self.is_spaced:
            return compact
        pieces = []
        chars_left = _MAX_TIMES_LONGER * len(compact)
        for piece in self._add_white_space(_TOKENS.findall(compact)):
            chars_left -= len(piece)
            if chars_left < 0:
                return None
            pieces.append(piece)
        return "".join(pieces)

    def _add_white_space(self, tokens: list[str]) -> Iterator[str]:
        """Yield tokens with the white space between them."""
        depth = 0
        previous = ""
        for symbol in tokens:
            if symbol in ("]", "}"):
                depth -= 1
                # The bracket of an empty container is on the same line.
                yield "" if previous in ("[", "{") else self._line_break(depth)
            elif previous in ("[", "{"):
                yield self._line_break(depth)
            yield symbol
            if symbol in ("[", "{"):
                depth += 1
            elif symbol == ":":
                yield " "
            elif symbol == ",":
                yield self._line_break(depth) or " "
            previous = symbol

    def _line_break(self, depth: int) -> str:
        """Return a line break with the white space of a depth; empty for JSON on one line."""
        return f"\n{self.indent * depth}" if self.indent else ""


def detect_spelling(text: str) -> Spelling:
    """Return the spelling of a JSON text, detected at its beginning."""
    head = text[:_READ_CHARS]
    if indented := _INDENTED.match(head):
        return Spelling(indented[1])
    separator = _SEPARATOR.search(_STRINGS.sub('""', head))
    return Spelling(is_spaced=separator is not None and separator[1] == " ")


def escape_non_ascii(text: str) -> str:
    r"""Return a JSON text with `\u` escapes for all characters outside of ASCII."""
    return _NOT_ASCII.sub(lambda found: encode_basestring_ascii(found[0])[1:-1], text)
