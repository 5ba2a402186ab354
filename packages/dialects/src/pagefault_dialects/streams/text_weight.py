"""Estimates of the memory for work on a JSON text.

Work on a text takes several times its bytes: for the joined body, the decoded text, the parsed
values and their JSON. The factor depends on the text. CPython stores one, two or four bytes for
each character of a string, depending on its widest one, and containers take more than their
brackets.
"""

import re

# A text of quotation marks alone is split into as many pieces.
_PIECE_BYTES = 64 * 1024
# Measured with texts of 8 MiB: 4.0 times the text where all of it is Latin-1, 6.8 and 10 times
# where strings are two and four bytes wide.
_BYTE_COPIES = 3
_TEXT_COPIES = 2
_CONTAINER_BYTES = 320
_MEMBER_BYTES = 96
_LONGEST_ESCAPE = 6
# U+0100 and above are two bytes or four in a string, and begin with these in UTF-8.
_WIDE = re.compile(rb"[\xc4-\xef]|\\u")
_WIDEST = re.compile(rb"[\xf0-\xf4]|\\u[dD][89a-fA-F]")


class TextWeight:
    """An estimate of the memory for work on a JSON text. Any thread, one at a time."""

    def __init__(self) -> None:
        self._width = 1
        self._value_bytes = 0
        self._end = b""
        self._is_in_string = False
        self._is_escaped = False

    def add(self, data: bytes) -> None:
        """Add the next bytes of the text."""
        if not data:
            return
        bare = b"".join(
            piece
            for start in range(0, len(data), _PIECE_BYTES)
            for piece in self._outside_strings(data[start : start + _PIECE_BYTES])
        )
        containers = bare.count(b"[") + bare.count(b"{")
        self._value_bytes += containers * _CONTAINER_BYTES + bare.count(b",") * _MEMBER_BYTES
        if self._width < 4:
            self._widen(data)
            # An escape may be cut in two.
            self._widen(self._end + data[:_LONGEST_ESCAPE])
            self._end = data[-_LONGEST_ESCAPE:]

    def work_bytes(self, text_bytes: int) -> int:
        """Return an upper estimate of the memory for work on a number of bytes of this text."""
        return text_bytes * (_BYTE_COPIES + _TEXT_COPIES * self._width) + self._value_bytes

    def _outside_strings(self, data: bytes) -> list[bytes]:
        """Return the pieces between the strings.

        Elsewhere a backslash is an error, so no values are parsed behind it.
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

    def _widen(self, data: bytes) -> None:
        # A search for one byte is much faster than for two.
        if data.isascii() and (b"\\" not in data or b"\\u" not in data):
            return
        if _WIDEST.search(data):
            self._width = 4
        elif self._width < 2 and _WIDE.search(data):
            self._width = 2
