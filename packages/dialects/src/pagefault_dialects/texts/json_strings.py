"""JSON text in pieces: strings of bytes of files as they arrive, and marks for media.

A piece has at most a quarter of a MiB, since slow readers keep it in memory for long.
"""

import secrets
from collections.abc import Iterator
from typing import TypeAlias

import pybase64

from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.render_options import JsonPiece, MediaPiece, StoredTextPiece
from pagefault_dialects.text_windows import text_decoder, text_encoding

_IN_BASE64 = 3
_ENCODED_BYTES = 192 * 1024
# Escaped, a character may be six times as long.
_ESCAPED_BYTES = 32 * 1024


class Base64Writer:
    """A writer of base64, as the inside of one string.

    Args:
        is_urlsafe: Write `-` and `_` rather than `+` and `/`.
        is_padded: Fill the last group with `=`.
    """

    def __init__(self, *, is_urlsafe: bool = False, is_padded: bool = True) -> None:
        self._rest = b""
        self._encode = pybase64.urlsafe_b64encode if is_urlsafe else pybase64.b64encode
        self._is_padded = is_padded

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the base64 of further bytes; consume it before the next call."""
        for start in range(0, len(chunk), _ENCODED_BYTES):
            piece = memoryview(chunk)[start : start + _ENCODED_BYTES]
            # Copied only if bytes of the previous piece remain.
            data = memoryview(self._rest + piece) if self._rest else piece
            # Only three bytes at a time can be written without padding in the middle.
            # Only groups of three bytes have no padding.
            whole = len(data) - len(data) % _IN_BASE64
            self._rest = bytes(data[whole:])
            yield self._encode(data[:whole])

    def finish(self) -> bytes:
        """Return the remaining base64."""
        written = self._encode(self._rest)
        return written if self._is_padded else written.rstrip(b"=")


class TextWriter:
    """A writer of a text's characters, escaped, with the interface of `Base64Writer`.

    Args:
        encoding: The encoding of the bytes; by default, that of their byte order mark.
    """

    def __init__(self, encoding: str | None = None) -> None:
        self._decoder = None if encoding is None else text_decoder(encoding)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """See `Base64Writer.feed`; the first call needs four bytes, if there are so many."""
        if self._decoder is None:
            self._decoder = text_decoder(text_encoding(chunk[:4]))
        for start in range(0, len(chunk), _ESCAPED_BYTES):
            yield _escaped(self._decoder.decode(chunk[start : start + _ESCAPED_BYTES]))

    def finish(self) -> bytes:
        """See `Base64Writer.finish`."""
        return _escaped(self._decoder.decode(b"", final=True)) if self._decoder else b""


StringWriter: TypeAlias = Base64Writer | TextWriter
"""A writer of one string; its pieces, joined, are the inside of it."""


def _escaped(text: str) -> bytes:
    return json_text(text)[1:-1].encode()


class MediaPlaces:
    """The stored media of one JSON text, and the marks in their places.

    A mark is part of a string of the value. It has only characters that JSON does not escape, and
    is random, so that no other text equals it.
    """

    def __init__(self) -> None:
        self._mark = secrets.token_hex(16)
        self._media: list[MediaPiece | StoredTextPiece] = []

    def mark(self, piece: MediaPiece | StoredTextPiece) -> str:
        """Return the mark in place of a medium's characters."""
        self._media.append(piece)
        return f"{self._mark}:{len(self._media) - 1};"

    def pieces(self, text: bytes) -> list[JsonPiece]:
        """Return the text in pieces: bytes first and last, and a medium between each two."""
        first, *rest = text.split(f"{self._mark}:".encode())
        split: list[JsonPiece] = [first]
        for item in rest:
            number, _, following = item.partition(b";")
            split += [self._media[int(number)], following]
        return split
