"""Estimates the memory that parsing and serialising a JSON text takes.

The memory is several times the size of the text: for the joined body, the decoded text, the parsed
values and their JSON. The factor depends on the text. CPython stores each character of a string in
one, two or four bytes, depending on the widest character of the string, and each object or array
takes some hundred bytes. The service reserves this memory before it parses a body.
"""

import re

# Data is examined in pieces, since data is split at quotation marks, and may have no other bytes.
_PIECE_BYTES = 64 * 1024
# Measured with texts of 8 MiB: 4.0 times the size of the text if all of it is Latin-1, 6.8 and 10
# times if strings take two or four bytes for each character.
_BYTE_COPIES = 3
_TEXT_COPIES = 2
# The memory of an object or array, and of one member.
_CONTAINER_BYTES = 320
_MEMBER_BYTES = 96
_LONGEST_ESCAPE = 6
# The first bytes in UTF-8 of characters that take at least two bytes in a string, then four bytes.
_WIDE = re.compile(rb"[\xc4-\xef]|\\u")
_WIDEST = re.compile(rb"[\xf0-\xf4]|\\u[dD][89a-fA-F]")


class TextWeight:
    """An estimate of the memory for work on a JSON text that is added piece by piece.

    It may be used in any thread, but only in one at a time.
    """

    def __init__(self) -> None:
        # The bytes for each character: 1, 2 or 4.
        self._width = 1
        # The memory of objects, arrays and their members.
        self._value_bytes = 0
        self._last_bytes = b""
        self._is_in_string = False
        self._is_escaped = False

    def add(self, data: bytes) -> None:
        """Add the next bytes of the text."""
        if not data:
            return
        outside_strings = b"".join(
            piece
            for start in range(0, len(data), _PIECE_BYTES)
            for piece in self._split_outside_strings(data[start : start + _PIECE_BYTES])
        )
        containers = outside_strings.count(b"[") + outside_strings.count(b"{")
        members = outside_strings.count(b",")
        self._value_bytes += containers * _CONTAINER_BYTES + members * _MEMBER_BYTES
        if self._width < 4:
            self._update_width(data)
            # The end of the previous data, however short, may have cut an escape.
            seam = self._last_bytes + data[:_LONGEST_ESCAPE]
            self._update_width(seam)
            self._last_bytes = (seam if len(data) < _LONGEST_ESCAPE else data)[-_LONGEST_ESCAPE:]

    def estimate_bytes(self, text_bytes: int) -> int:
        """Return an upper estimate of the memory in bytes for work on this text.

        Args:
            text_bytes: The size of the text, or of its part that is parsed.
        """
        return text_bytes * (_BYTE_COPIES + _TEXT_COPIES * self._width) + self._value_bytes

    def _split_outside_strings(self, data: bytes) -> list[bytes]:
        """Return the parts of data that are outside of strings.

        Escapes outside of strings are read like escapes in strings. They are errors, at which the
        parser stops, so the data after them takes no memory.
        """
        has_escapes = b"\\" in data
        if self._is_escaped:
            data = b"." + data[1:]
        elif self._is_in_string and not has_escapes and b'"' not in data:
            return []
        if has_escapes:
            data = data.replace(b"\\\\", b"..").replace(b'\\"', b"..")
        pieces = data.split(b'"')
        outside = pieces[1::2] if self._is_in_string else pieces[::2]
        self._is_in_string ^= len(pieces) % 2 == 0
        self._is_escaped = self._is_in_string and data.endswith(b"\\")
        return outside

    def _update_width(self, data: bytes) -> None:
        # A search for one byte is much faster than for two.
        if data.isascii() and (b"\\" not in data or b"\\u" not in data):
            return
        if _WIDEST.search(data):
            self._width = 4
        elif self._width < 2 and _WIDE.search(data):
            self._width = 2
