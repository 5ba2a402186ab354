"""Placeholders: short texts that replace the long strings of a JSON text while it is read."""

import json
import re
import secrets
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, cast

import pybase64

from pagefault_dialects.model.media import InMemoryMedia

_TOKEN_BYTES = 18
_NUMBER_DIGITS = 6
_NUMBER_CHARS = _NUMBER_DIGITS // 3 * 4
_NUMBER = re.compile(rf"[0-9]{{{_NUMBER_DIGITS}}}")
_ENCODED_NUMBER = re.compile(rf"[0-9A-Za-z]{{{_NUMBER_CHARS}}}")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A replacement for a long string: its raw JSON, and the bytes that it encodes."""

    raw: bytes
    data: bytes

    @property
    def text(self) -> str:
        """Return the string of its raw JSON."""
        text: str = json.loads(b'"%b"' % self.raw)
        return text


class PlaceholderMarks:
    """Unguessable bytes for the middle of placeholders."""

    def __init__(self) -> None:
        token = secrets.token_hex(_TOKEN_BYTES // 2)
        encoded = pybase64.b64encode(token.encode()).decode()
        self._token = token
        self._encoded = encoded
        self._sharing: dict[int, set[int]] = {}

    def mark(self, number: int, *, first: int | None = None) -> bytes:
        """Return bytes for the placeholder of a string; in base64 they are letters and digits.

        Args:
            number: The number of the long string.
            first: The first string of the same bytes, which has the same mark, so that equal
                strings have equal placeholders.
        """
        first = number if first is None else first
        self._sharing.setdefault(first, set()).add(number)
        return f"{self._token}{first:0{_NUMBER_DIGITS}}".encode()

    def numbers_in(self, text: str) -> set[int]:
        """Return the numbers of placeholders whose mark is in a text, plain or in base64.

        Strings that share a mark are returned together.
        """
        found = {*_following(text, self._token, _NUMBER_DIGITS)}
        found |= {
            pybase64.b64decode(item, validate=True).decode("latin-1")
            for item in _following(text, self._encoded, _NUMBER_CHARS)
            if _ENCODED_NUMBER.fullmatch(item)
        }
        firsts = (int(digits) for digits in found if _NUMBER.fullmatch(digits))
        return {number for first in firsts for number in self._sharing.get(first, ())}


def numbers_in(value: object, marks: PlaceholderMarks) -> set[int]:
    """Return the numbers of placeholders in the texts of a value and its media in memory."""
    numbers: set[int] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            numbers |= marks.numbers_in(node)
        elif isinstance(node, dict):
            stack += (*node.keys(), *node.values())
        elif isinstance(node, list | tuple):
            stack += node
        elif isinstance(node, InMemoryMedia):
            stack += (node.head(node.size_bytes).decode("latin-1"), node.declared_mime_type)
        else:
            stack += (getattr(node, name) for name in _field_names(cast(Hashable, type(node))))
    return numbers


@cache
def _field_names(kind: Hashable) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass, or none for another type."""
    return tuple(field.name for field in fields(cast(Any, kind))) if is_dataclass(kind) else ()


def _following(text: str, word: str, chars: int) -> Iterator[str]:
    """Yield the characters behind each occurrence of a word in a text."""
    at = text.find(word)
    while at >= 0:
        start = at + len(word)
        yield text[start : start + chars]
        at = text.find(word, start)
