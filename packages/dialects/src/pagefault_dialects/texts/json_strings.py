"""Writes JSON text whose strings have the contents of stored files, piece by piece.

`MediaMarks` splits a JSON text where such contents have to be inserted, and the writers encode the
bytes of the files as they are read from the store. Each written piece has at most a quarter of a
MiB, since it stays in memory until a slow client has received it.
"""

import secrets
from collections.abc import Iterator
from typing import TypeAlias

import pybase64

from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.render_options import JsonPiece, MediaPiece, StoredTextPiece
from pagefault_dialects.text_windows import text_decoder, text_encoding

_BASE64_GROUP_BYTES = 3
# The most bytes of a file in one piece. Base64 adds a third, and an escape is up to six times as
# long as its character.
_BYTES_PER_BASE64_PIECE = 192 * 1024
_BYTES_PER_TEXT_PIECE = 32 * 1024


class Base64Writer:
    """A writer of bytes as base64 inside one JSON string.

    Args:
        is_urlsafe: Whether `-` and `_` are written in place of `+` and `/`.
        is_padded: Whether the last group is padded with `=`.
    """

    def __init__(self, *, is_urlsafe: bool = False, is_padded: bool = True) -> None:
        self._rest = b""
        self._encode = pybase64.urlsafe_b64encode if is_urlsafe else pybase64.b64encode
        self._is_padded = is_padded

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the base64 of the next bytes. Exhaust the iterator before the next call."""
        for start in range(0, len(chunk), _BYTES_PER_BASE64_PIECE):
            piece = memoryview(chunk)[start : start + _BYTES_PER_BASE64_PIECE]
            # Bytes are copied only if some of the previous piece are left.
            data = memoryview(self._rest + piece) if self._rest else piece
            # Only whole groups of three bytes are encoded without padding.
            whole_bytes = len(data) - len(data) % _BASE64_GROUP_BYTES
            self._rest = bytes(data[whole_bytes:])
            yield self._encode(data[:whole_bytes])

    def finish(self) -> bytes:
        """Return the base64 of the last bytes, after the last chunk."""
        written = self._encode(self._rest)
        return written if self._is_padded else written.rstrip(b"=")


class TextWriter:
    """A writer of the bytes of a text file as characters inside one JSON string.

    It has the methods of `Base64Writer`.

    Args:
        encoding: The encoding of the bytes; `None` for that of the byte order mark, or UTF-8
            without one.
    """

    def __init__(self, encoding: str | None = None) -> None:
        self._decoder = None if encoding is None else text_decoder(encoding)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the escaped characters of the next bytes.

        The first chunk has to have at least four bytes, unless the file is shorter.
        """
        if self._decoder is None:
            self._decoder = text_decoder(text_encoding(chunk[:4]))
        for start in range(0, len(chunk), _BYTES_PER_TEXT_PIECE):
            yield _escape(self._decoder.decode(chunk[start : start + _BYTES_PER_TEXT_PIECE]))

    def finish(self) -> bytes:
        """Return the escaped characters of incomplete bytes at the end."""
        return _escape(self._decoder.decode(b"", final=True)) if self._decoder else b""


StringWriter: TypeAlias = Base64Writer | TextWriter
"""A writer of one JSON string, without its quotation marks."""


def _escape(text: str) -> bytes:
    return json_text(text)[1:-1].encode()


class MediaMarks:
    """The stored media of one JSON value, each with a mark at its position in the value.

    The caller puts the marks into strings of the value, serialises the value, and splits the text
    at the marks. A mark has only characters that JSON does not escape. It has a random token, so no
    other part of the text equals it.
    """

    def __init__(self) -> None:
        self._token = secrets.token_hex(16)
        self._media: list[MediaPiece | StoredTextPiece] = []

    def add(self, piece: MediaPiece | StoredTextPiece) -> str:
        """Add a medium, and return its mark."""
        self._media.append(piece)
        return f"{self._token}:{len(self._media) - 1};"

    def split(self, text: bytes) -> list[JsonPiece]:
        """Split a JSON text at its marks: bytes first and last, and a medium between each two."""
        before_marks, *parts = text.split(f"{self._token}:".encode())
        pieces: list[JsonPiece] = [before_marks]
        for part in parts:
            index, _, following = part.partition(b";")
            pieces += [self._media[int(index)], following]
        return pieces
