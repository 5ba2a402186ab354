"""Short strings that replace the long strings of a JSON body while the body is parsed.

`LongString.make_placeholder` creates these placeholders, and `placeholder_reading` finds out which
of them became media.
"""

import json
import re
import secrets
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, cast

import pybase64

from pagefault_dialects.model.media import InMemoryMedia

# Multiples of three, so that token and number are whole groups in base64.
_TOKEN_BYTES = 18
_NUMBER_DIGITS = 6
_NUMBER_CHARS = _NUMBER_DIGITS // 3 * 4
_NUMBER = re.compile(rf"[0-9]{{{_NUMBER_DIGITS}}}")
_ENCODED_NUMBER = re.compile(rf"[0-9A-Za-z]{{{_NUMBER_CHARS}}}")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A replacement for a long string."""

    raw: bytes
    """The raw JSON between the quotation marks."""
    data: bytes
    """The bytes that the base64 in `raw` encodes."""

    @property
    def text(self) -> str:
        """The string that parsers read from `raw`."""
        text: str = json.loads(b'"%b"' % self.raw)
        return text


class PlaceholderMarks:
    """The marks in the middle of placeholders, by which placeholders are found in texts.

    A mark is a random token, which no client can guess, and a number of six digits.
    """

    def __init__(self) -> None:
        token = secrets.token_hex(_TOKEN_BYTES // 2)
        encoded = pybase64.b64encode(token.encode()).decode()
        self._token = token
        self._encoded = encoded
        self._numbers_by_first: dict[int, set[int]] = {}

    def make_mark(self, number: int, *, first: int | None = None) -> bytes:
        """Return the mark of a long string.

        Args:
            number: The index of the long string.
            first: The index of the first long string with the same bytes. Both get the same mark,
                so that equal strings have equal placeholders.
        """
        first = number if first is None else first
        self._numbers_by_first.setdefault(first, set()).add(number)
        return f"{self._token}{first:0{_NUMBER_DIGITS}}".encode()

    def find_numbers(self, text: str) -> set[int]:
        """Return the indexes of the long strings whose mark is in a text, plain or in base64."""
        suffixes = {*_find_texts_after(text, self._token, _NUMBER_DIGITS)}
        suffixes |= {
            pybase64.b64decode(encoded).decode("latin-1")
            for encoded in _find_texts_after(text, self._encoded, _NUMBER_CHARS)
            if _ENCODED_NUMBER.fullmatch(encoded)
        }
        firsts = (int(suffix) for suffix in suffixes if _NUMBER.fullmatch(suffix))
        return {number for first in firsts for number in self._numbers_by_first.get(first, ())}


def find_numbers(value: object, marks: PlaceholderMarks) -> set[int]:
    """Return the indexes of the long strings whose marks are in a value.

    All strings are searched, also those in dataclasses, and the bytes of media in memory.
    """
    numbers: set[int] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            numbers |= marks.find_numbers(node)
        elif isinstance(node, dict):
            stack += (*node.keys(), *node.values())
        elif isinstance(node, list | tuple):
            stack += node
        elif isinstance(node, InMemoryMedia):
            stack += (node.head(node.size_bytes).decode("latin-1"), node.declared_mime_type)
        else:
            stack += (getattr(node, name) for name in _list_field_names(cast(Hashable, type(node))))
    return numbers


@cache
def _list_field_names(value_type: Hashable) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass; an empty tuple for other types."""
    if not is_dataclass(value_type):
        return ()
    return tuple(field.name for field in fields(cast(Any, value_type)))


def _find_texts_after(text: str, token: str, chars: int) -> Iterator[str]:
    """Yield the next characters after each occurrence of a token in a text."""
    position = text.find(token)
    while position >= 0:
        start = position + len(token)
        yield text[start : start + chars]
        position = text.find(token, start)
