"""Find the positions of the members of a JSON object, or the items of a list, without parsing.

The proxy reads and replaces a few members of messages that may be too large for memory.
"""

import re
from typing import NamedTuple

_STRUCTURE = re.compile(rb'["{}\[\],:]')
# Matches up to the end of a string, or to a backslash that ends the text; never backtracks.
_STRING_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
# The values of these characters as bytes.
_OPENING = frozenset(b"{[")
_QUOTE, _COMMA, _COLON, _OBJECT, _LIST = b'",:{['
# A search with a regular expression blocks other threads, so it is limited to this many bytes.
_WINDOW_BYTES = 128 * 1024
_MAX_MEMBERS = 10_000


class Span(NamedTuple):
    """The bytes of a text from `start` up to, but not including, `end`."""

    start: int
    end: int


class MemberSpan(NamedTuple):
    """A member of an object: the spans of its key, with quotation marks, and of its value."""

    key: Span
    value: Span


class MemberScanner:
    """A scanner for the members of an object, or the items of a list, whose text comes in pieces.

    The scanner keeps no text, and does not validate JSON. A string is only searched for its end, so
    long strings are scanned fast. A text with more than 10,000 members or items counts as
    incomplete, unless `take_items` is called in between.

    Args:
        start: The position of the first byte of the text. All spans are relative to position 0.

    Attributes:
        members: The members so far, if the text is an object.
        items: The spans of the items so far, if the text is a list.
    """

    def __init__(self, start: int = 0) -> None:
        self.members: list[MemberSpan] = []
        self.items: list[Span] = []
        self._position = start
        self._depth = 0
        self._is_object = self._is_list = self._has_started = self._has_too_many = False
        # The start of the item of a list that is being scanned.
        self._item_start = 0
        self._in_string = False
        # 1 if the next piece begins with a character that a backslash escapes, otherwise 0.
        self._escaped_count = 0
        # The key, and the start of the value, of the member that is being scanned.
        self._key: Span | None = None
        self._value_start: int | None = None
        self._string_start = 0

    @property
    def is_whole(self) -> bool:
        """True if the text so far is a complete object."""
        return self._is_object and self._depth == 0 and not self._has_too_many

    @property
    def is_whole_list(self) -> bool:
        """True if the text so far is a complete list."""
        return self._is_list and self._depth == 0 and not self._has_too_many

    def take_items(self) -> list[Span]:
        """Return and remove the items found so far."""
        items, self.items = self.items, []
        return items

    def feed(self, piece: bytes) -> None:
        """Scan the next piece of the text."""
        for start in range(0, len(piece), _WINDOW_BYTES):
            self._scan_window(piece[start : start + _WINDOW_BYTES])

    def _scan_window(self, piece: bytes) -> None:
        """Scan up to 128 KiB, from one structural character or end of a string to the next."""
        position, self._escaped_count = self._escaped_count, 0
        while True:
            if self._in_string:
                found = _STRING_REST.match(piece, position)
                position = found.end() if found else position
                if position >= len(piece):
                    break
                position += 1
                if piece[position - 1] != _QUOTE:
                    # The escaped character is in the next piece.
                    position += 1
                    break
                self._in_string = False
                if self._depth == 1 and self._value_start is None:
                    self._key = Span(self._string_start, self._position + position)
                continue
            found = _STRUCTURE.search(piece, position)
            if found is None:
                break
            position = found.end()
            self._process_character(piece[found.start()], self._position + found.start())
        self._escaped_count = max(0, position - len(piece))
        self._position += len(piece)

    def _process_character(self, character: int, position: int) -> None:
        """Process a structural character outside of strings, at its position in the text."""
        if character == _QUOTE:
            self._in_string = True
            self._string_start = position
        elif character in _OPENING:
            if self._depth == 0:
                self._is_object = character == _OBJECT and not self._has_started
                self._is_list = character == _LIST and not self._has_started
                self._has_started = True
                self._item_start = position + 1
            self._depth += 1
        elif character == _COLON:
            if self._depth == 1 and self._value_start is None:
                self._value_start = position + 1
        elif character == _COMMA:
            if self._depth == 1:
                self._end_member(position)
        else:
            if self._depth == 1:
                self._end_member(position)
            self._depth -= 1

    def _end_member(self, position: int) -> None:
        """Add the member or item that ends before the comma or bracket at a position."""
        if max(len(self.members), len(self.items)) >= _MAX_MEMBERS:
            self._has_too_many = True
            return
        if self._is_list:
            self.items.append(Span(self._item_start, position))
            self._item_start = position + 1
        elif self._is_object and self._key is not None and self._value_start is not None:
            self.members.append(MemberSpan(self._key, Span(self._value_start, position)))
        self._key = self._value_start = None
