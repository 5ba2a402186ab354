"""Placeholders: short texts that stand for the long strings of a JSON text while it is read."""

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
    """What stands in a body for a long string: its raw JSON, and the bytes it is base64 of."""

    raw: bytes
    data: bytes

    @property
    def text(self) -> str:
        """Return the string that its raw JSON is."""
        text: str = json.loads(b'"%b"' % self.raw)
        return text


class PlaceholderMarks:
    """Bytes that placeholders have in their middle and that nobody can have guessed."""

    def __init__(self) -> None:
        token = secrets.token_hex(_TOKEN_BYTES // 2)
        encoded = pybase64.b64encode(token.encode()).decode()
        self._token = token
        self._encoded = encoded
        self._sharing: dict[int, set[int]] = {}

    def mark(self, number: int, *, first: int | None = None) -> bytes:
        """Return bytes for the placeholder of this number; in base64 they are letters and digits.

        Args:
            number: Which it is among the long strings.
            first: The first one of the same bytes, whose mark it shares: what is equal in a body
                is equal in what is read instead.
        """
        first = number if first is None else first
        self._sharing.setdefault(first, set()).add(number)
        return f"{self._token}{first:0{_NUMBER_DIGITS}}".encode()

    def numbers_in(self, text: str) -> set[int]:
        """Return the placeholders of which something is in the text, as it is or in base64.

        Of those that share a mark it is all or none.
        """
        found = {*_following(text, self._token, _NUMBER_DIGITS)}
        found |= {
            pybase64.b64decode(each, validate=True).decode("latin-1")
            for each in _following(text, self._encoded, _NUMBER_CHARS)
            if _ENCODED_NUMBER.fullmatch(each)
        }
        firsts = (int(digits) for digits in found if _NUMBER.fullmatch(digits))
        return {number for first in firsts for number in self._sharing.get(first, ())}


def numbers_in(value: object, marks: PlaceholderMarks) -> set[int]:
    """Return the placeholders that show in any text of a value, or in any medium in memory."""
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
    """Return the names of the fields of a dataclass, of anything else none."""
    return tuple(each.name for each in fields(cast(Any, kind))) if is_dataclass(kind) else ()


def _following(text: str, word: str, chars: int) -> Iterator[str]:
    """Return so many characters behind each place where a word stands in a text."""
    at = text.find(word)
    while at >= 0:
        start = at + len(word)
        yield text[start : start + chars]
        at = text.find(word, start)
