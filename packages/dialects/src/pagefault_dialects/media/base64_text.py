"""Decode base64: standard or URL-safe, wrapped into lines, unpadded, percent-encoded.

Every function makes only a few passes of compiled code over its text, since payloads may have more
than 100 MB.

`Base64Decoder` decodes a text piece by piece while it arrives, and can write the same text again
from the decoded bytes. It accepts texts in one alphabet, on one line or on lines of equal length.
Other texts have to be decoded as a whole, by `decode_base64`.
"""

import binascii
import re
from dataclasses import dataclass, replace
from typing import NamedTuple

import pybase64

from pagefault_dialects.media.types import sniff
from pagefault_dialects.text_windows import percent_decoded

# A text of at least this length that is valid base64 is hardly ever a word, a name or a path.
CERTAIN_BASE64_CHARS = 64

_MAX_BYTES_WITH_GIL = 64 * 1024

# Blanks inside a line, next to no line break. The possessive quantifier scans each run once.
_INNER_BLANK = re.compile(rb"(?<![ \t\r\n])[ \t]++(?![\r\n])")
_FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_NO_BLANKS = str.maketrans("", "", " \t\r\n\f\v")

_MIN_LINE_CHARS = 40
_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_TAIL = re.compile(rb"={0,2}(?:\r?\n)?")
_MAX_TAIL_CHARS = 4
_STANDARD_CHARACTERS = re.compile(rb"[A-Za-z0-9+/]*")


def decode_base64(text: str) -> bytes | None:
    """Return the bytes of a base64 text, or `None` if it is not base64, or is empty.

    The alphabet is standard or URL-safe, not a mixture. Padding may be missing. Line breaks are
    skipped. Blanks inside a line are skipped only if the bytes begin with the signature of a file
    format, since otherwise many sentences would be base64.
    """
    try:
        data = text.encode("ascii")
    except UnicodeEncodeError:
        return None
    data = data.strip()
    has_inner_blanks = (b" " in data or b"\t" in data) and _INNER_BLANK.search(data) is not None
    data = data.translate(None, b" \t\r\n")
    decoded = decode_compact(data)
    if decoded is None or (has_inner_blanks and sniff(decoded[:512]) is None):
        return None
    return decoded


def decode_percent_encoded_base64(text: str) -> bytes | None:
    """Decode like `decode_base64`, for text in which `+`, `/` and `=` may be percent-encoded."""
    if "%" not in text:
        return decode_base64(text)
    if not text.isascii():
        # Base64 is ASCII.
        return None
    return decode_base64(percent_decoded(text.encode()).decode("latin-1"))


def decode_compact(data: bytes) -> bytes | None:
    """Return the bytes of base64 without blanks and escapes, or `None`."""
    if b"-" in data or b"_" in data:
        if b"+" in data or b"/" in data:
            return None
        data = data.translate(_FROM_URL_SAFE)
    if data.endswith(b"==="):
        return None
    if len(data) % 4:
        core = data.rstrip(b"=")
        if len(core) % 4 == 1:
            return None
        data = core + b"=" * (-len(core) % 4)
    try:
        return _decode(data) or None
    except (binascii.Error, ValueError):
        return None


def _decode(data: bytes) -> bytes:
    # For short texts, releasing the GIL as pybase64 does costs more than it gains: getting it back
    # takes a switch interval if other threads are busy.
    if len(data) <= _MAX_BYTES_WITH_GIL:
        return binascii.a2b_base64(data, strict_mode=True)
    return pybase64.b64decode(data, validate=True)


def without_blanks(text: str) -> str:
    """Return an ASCII text without white space."""
    # This needs less memory than `"".join(text.split())`, which creates a list of words.
    return text.translate(_NO_BLANKS)


def without_escapes(raw: str) -> str:
    """Return base64 without JSON escapes, escaped line breaks and percent-encoding."""
    if "\\" in raw:
        raw = raw.replace("\\/", "/").replace("\\r", "").replace("\\n", "")
        raw = raw.replace("\\u003d", "=").replace("\\u003D", "=")
    return percent_decoded(raw.encode()).decode("latin-1") if "%" in raw else raw


class NotStrictBase64Error(Exception):
    """The text is not base64 in a spelling that `Base64Decoder` accepts."""


@dataclass(slots=True)
class _LineBreaks:
    """The line breaks of a base64 text that arrives piece by piece. Lengths are in characters."""

    separator: bytes = b""
    """CRLF or LF; empty until the first line break."""
    first_length: int = 0
    """The length of the first line, which may be shorter behind the head of a data URI."""
    other_length: int = 0
    """The length of the second line and all others but the last; 0 until known."""
    line_count: int = 0
    """The number of lines that have ended."""
    open_length: int = 0
    """The length of the current line so far."""
    is_closed: bool = False
    """True after a line that was shorter than the others, so it has to be the last."""

    def remove_from(self, text: bytes) -> bytes:
        """Return the next piece of the text without line breaks; it may not end inside of one.

        Raises:
            NotStrictBase64Error: The lines do not have equal lengths.
        """
        if not self.separator and (found := text.find(b"\n")) >= 0:
            self.separator = b"\r\n" if text[found - 1 : found] == b"\r" else b"\n"
        if not self.separator:
            self._grow(len(text))
            return text
        *lines, rest = text.split(self.separator)
        for line in lines:
            self._grow(len(line))
            self._end_line()
        self._grow(len(rest))
        return b"".join((*lines, rest))

    def insert_into(self, compact: bytes) -> bytes:
        """Return a text without line breaks with the line breaks put back."""
        if not self.separator:
            return compact
        step = self.other_length or max(len(compact), 1)
        starts = range(self.first_length, len(compact), step)
        first_line = compact[: self.first_length]
        lines = [first_line, *(compact[start : start + step] for start in starts)]
        return self.separator.join(lines) + (b"" if self.open_length else self.separator)

    def _grow(self, length: int) -> None:
        self.open_length += length
        too_long = self.other_length and self.open_length > self.other_length
        if too_long or (length and self.is_closed):
            raise NotStrictBase64Error

    def _end_line(self) -> None:
        length, self.open_length = self.open_length, 0
        self.line_count += 1
        if self.is_closed or not length:
            raise NotStrictBase64Error
        if self.line_count == 1:
            self.first_length = length
        elif not self.other_length:
            self.other_length = max(length, self.first_length)
        self.is_closed = self.line_count > 1 and length < self.other_length
        has_whole_quads = self.first_length % 4 == 0 and self.other_length % 4 == 0
        if not has_whole_quads or 0 < self.other_length < _MIN_LINE_CHARS:
            raise NotStrictBase64Error


class PlainSpelling(NamedTuple):
    """The spelling of base64 on one line with a usual end."""

    is_url_safe: bool
    is_padded: bool
    """True also if the text needs no padding."""


class Base64Decoder:
    """A decoder of one base64 text that arrives piece by piece."""

    def __init__(self) -> None:
        self._breaks = _LineBreaks()
        # `None` until a character shows the alphabet.
        self._is_url_safe: bool | None = None
        # A carriage return at the end of a piece, whose line feed may follow.
        self._carry = b""
        self.quad = b""
        """The last characters, fewer than four, in the standard alphabet."""
        # The padding, and the line break behind it.
        self._tail = b""

    def decode(self, text: bytes) -> bytes:
        """Return the bytes that the next piece of the text completes.

        Raises:
            NotStrictBase64Error: The piece is not accepted. The decoder is unchanged, so the text
                before the piece can still be restored.
        """
        before = {**self.__dict__, "_breaks": replace(self._breaks)}
        try:
            return self._decode_piece(text)
        except NotStrictBase64Error:
            self.__dict__.update(before)
            raise

    def decode_plain(self, data: bytes, start: int, end: int) -> bytes | None:
        """Return the bytes that a piece of the standard alphabet completes.

        This is the fast path of `decode`. It returns `None`, and leaves the decoder unchanged, if
        `data[start:end]` has line breaks, padding or URL-safe characters, or if earlier pieces had.
        """
        if self._carry or self._tail or self._is_url_safe or self._breaks.separator:
            return None
        seam = min(start + -len(self.quad) % 4, end)
        whole = seam + (end - seam) // 4 * 4
        first, rest = self.quad + data[start:seam], data[whole:end]
        if len(first) % 4 or not _STANDARD_CHARACTERS.fullmatch(rest):
            return None
        try:
            decoded = pybase64.b64decode(memoryview(data)[seam:whole], validate=True)
            first_bytes = pybase64.b64decode(first, validate=True)
        except binascii.Error:
            return None
        if len(first_bytes) + len(decoded) < (len(first) + whole - seam) // 4 * 3:
            # There is padding.
            return None
        self.quad = rest
        self._breaks.open_length += end - start
        if self._is_url_safe is None:
            is_standard = data.find(b"+", start, end) >= 0 or data.find(b"/", start, end) >= 0
            self._is_url_safe = False if is_standard else None
        return first_bytes + decoded if first_bytes else decoded

    def finish(self) -> bytes:
        """Return the last bytes, after the last piece.

        Raises:
            NotStrictBase64Error: The text ends inside of a group of characters, or its padding is
                invalid.
        """
        if self._carry or not _TAIL.fullmatch(self._tail):
            raise NotStrictBase64Error
        if not self.quad:
            return b""
        decoded = decode_compact(self.quad + self._tail.strip())
        if decoded is None:
            raise NotStrictBase64Error
        return decoded

    @property
    def line_lengths(self) -> tuple[int, int] | None:
        """The lengths of the first line and of the others.

        `None` for a single line. `(0, 0)` for two lines, which do not show how long a third one
        would be.
        """
        breaks = self._breaks
        if not breaks.separator or (breaks.line_count == 1 and not breaks.open_length):
            return None
        return (breaks.first_length, breaks.other_length) if breaks.other_length else (0, 0)

    @property
    def legacy_spelling(self) -> str:
        """The spelling as earlier versions hashed it; it must not change."""
        breaks = self._breaks
        # Written out, since the names of the fields were different then.
        return (
            f"{self._is_url_safe} {self.quad!r} {self._tail!r} "
            f"_Breaks(separator={breaks.separator!r}, first={breaks.first_length}, "
            f"following={breaks.other_length}, ended={breaks.line_count}, "
            f"open_length={breaks.open_length}, is_closed={breaks.is_closed})"
        )

    @property
    def spelling(self) -> str:
        """All properties of the text that its bytes do not determine; only after `finish`.

        It is hashed into stored digests, so it must not change.
        """
        breaks = self._breaks
        lines = f"{breaks.first_length},{breaks.other_length},{not breaks.open_length}"
        return " ".join(
            (
                "url-safe" if self._is_url_safe else "standard",
                f"{breaks.separator.hex()}:{lines}" if breaks.separator else "one-line",
                (self.quad + self._tail).hex(),
            )
        )

    def plain_spelling(self, last: bytes) -> PlainSpelling | None:
        """Return the spelling of the text, after `finish`.

        Args:
            last: The bytes that `finish` returned.

        Returns:
            The spelling; `None` if the text has line breaks or an unusual end.
        """
        padding = -len(self.quad) % 4
        is_plain = (
            not self._breaks.separator
            and self._tail in (b"", b"=" * padding)
            and pybase64.b64encode(last).rstrip(b"=") == self.quad
        )
        if not is_plain:
            return None
        return PlainSpelling(bool(self._is_url_safe), bool(self._tail) or not padding)

    def restore(self, compact: bytes) -> bytes:
        """Return unpadded standard base64 with the alphabet, line breaks and end of this text."""
        return self._breaks.insert_into(self.to_alphabet(compact)) + self._carry + self._tail

    def to_alphabet(self, compact: bytes) -> bytes:
        """Return standard base64 in the alphabet of this text."""
        return compact.translate(_TO_URL_SAFE) if self._is_url_safe else compact

    def _decode_piece(self, text: bytes) -> bytes:
        text, self._carry = self._carry + text if self._carry else text, b""
        if self._tail:
            text, self._tail = b"", self._tail + text
        elif (padding := text.find(b"=")) >= 0:
            text, self._tail = text[:padding], text[padding:]
        elif text.endswith(b"\r"):
            text, self._carry = text[:-1], b"\r"
        if len(self._tail) > _MAX_TAIL_CHARS:
            raise NotStrictBase64Error
        return self._decode_compact(self._breaks.remove_from(text))

    def _decode_compact(self, compact: bytes) -> bytes:
        compact = self._to_standard_alphabet(compact)
        # Only the few characters at the boundary are copied.
        seam = min(-len(self.quad) % 4, len(compact))
        whole = seam + (len(compact) - seam) // 4 * 4
        first, self.quad = self.quad + compact[:seam], compact[whole:]
        if len(first) % 4:
            self.quad = first
            return b""
        try:
            decoded = pybase64.b64decode(memoryview(compact)[seam:whole], validate=True)
            return pybase64.b64decode(first, validate=True) + decoded if first else decoded
        except binascii.Error as exc:
            raise NotStrictBase64Error from exc

    def _to_standard_alphabet(self, compact: bytes) -> bytes:
        for is_url_safe, (one, other) in ((True, b"-_"), (False, b"+/")):
            if one in compact or other in compact:
                if self._is_url_safe is (not is_url_safe):
                    raise NotStrictBase64Error
                self._is_url_safe = is_url_safe
        return compact.translate(_FROM_URL_SAFE) if self._is_url_safe else compact
