r"""Base64 where it is expected: standard and URL-safe, wrapped, unpadded, percent-encoded.

Each is a few passes of compiled code over the text: a payload of 100 MB must not be read character
by character.

`Base64Lines` decodes base64 while it arrives, and keeps what is needed to restore its text. It
accepts only one alphabet, on one line or on lines of equal length. Other spellings are left to the
functions that see the whole text.
"""

import binascii
import re
from dataclasses import dataclass, replace

import pybase64

from pagefault_dialects.media.types import sniff
from pagefault_dialects.text_windows import percent_decoded

# Base64 of this length is hardly ever a word, a name or a path.
CERTAIN_BASE64_CHARS = 64

_SHORT_BYTES = 64 * 1024

# Blanks that are next to no line break. Each run of them is scanned once.
_INNER_BLANK = re.compile(rb"(?<![ \t\r\n])[ \t]++(?![\r\n])")
_FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_NO_BLANKS = str.maketrans("", "", " \t\r\n\f\v")

_MIN_COLUMNS = 40
_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_TAIL = re.compile(rb"={0,2}(?:\r?\n)?")
_LONGEST_TAIL = 4
_PLAIN = re.compile(rb"[A-Za-z0-9+/]*")


def decode_base64(text: str) -> bytes | None:
    """Return the bytes of a base64 text, or `None` if it is not base64, or is empty.

    The alphabet is standard or URL-safe, not a mixture. Padding may be missing; line breaks are
    skipped. Blanks inside a line are skipped only if the bytes have a known format, since otherwise
    many sentences would be base64.
    """
    try:
        data = text.encode("ascii")
    except UnicodeEncodeError:
        return None
    data = data.strip()
    spaced = (b" " in data or b"\t" in data) and _INNER_BLANK.search(data) is not None
    data = data.translate(None, b" \t\r\n")
    decoded = decode_compact(data)
    if decoded is None or (spaced and sniff(decoded[:512]) is None):
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
        return _decoded(data) or None
    except (binascii.Error, ValueError):
        return None


def _decoded(data: bytes) -> bytes:
    # binascii releases the GIL while it works. For short texts that costs more than it gains: each
    # release makes the waiting threads wait for another switch interval.
    if len(data) <= _SHORT_BYTES:
        return binascii.a2b_base64(data, strict_mode=True)
    return pybase64.b64decode(data, validate=True)


def without_blanks(text: str) -> str:
    """Return an ASCII text without white space, in one pass and without a list of its words."""
    return text.translate(_NO_BLANKS)


def without_escapes(raw: str) -> str:
    """Return base64 with the escapes of JSON and of URLs decoded."""
    if "\\" in raw:
        raw = raw.replace("\\/", "/").replace("\\r", "").replace("\\n", "")
        raw = raw.replace("\\u003d", "=").replace("\\u003D", "=")
    return percent_decoded(raw.encode()).decode("latin-1") if "%" in raw else raw


class NotStrictBase64Error(Exception):
    """The text is not base64 of the accepted spellings."""


@dataclass(slots=True)
class _Breaks:
    """The line breaks of a text, and the length of its last line so far, in characters.

    `first` is the length of the first line, which may be shorter because of a prefix, and `others`
    that of the other lines, except the last, which may be shorter; 0 until known.
    """

    separator: bytes = b""
    first: int = 0
    following: int = 0
    ended: int = 0
    open_length: int = 0
    is_closed: bool = False

    def without(self, text: bytes) -> bytes:
        """Return a part of the text without its breaks; a part may not end inside of a break."""
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

    def put_into(self, compact: bytes) -> bytes:
        """Return a text with the breaks put back."""
        if not self.separator:
            return compact
        step = self.following or max(len(compact), 1)
        starts = range(self.first, len(compact), step)
        lines = [compact[: self.first], *(compact[start : start + step] for start in starts)]
        return self.separator.join(lines) + (b"" if self.open_length else self.separator)

    def _grow(self, length: int) -> None:
        self.open_length += length
        too_long = self.following and self.open_length > self.following
        if too_long or (length and self.is_closed):
            raise NotStrictBase64Error

    def _end_line(self) -> None:
        length, self.open_length = self.open_length, 0
        self.ended += 1
        if self.is_closed or not length:
            raise NotStrictBase64Error
        if self.ended == 1:
            self.first = length
        elif not self.following:
            self.following = max(length, self.first)
        self.is_closed = self.ended > 1 and length < self.following
        if self.first % 4 or self.following % 4 or 0 < self.following < _MIN_COLUMNS:
            raise NotStrictBase64Error


class Base64Lines:
    """A reader of one base64 text, piece by piece.

    `quad` has the last characters, fewer than four, in the standard alphabet.
    """

    def __init__(self) -> None:
        self._breaks = _Breaks()
        self._is_url_safe: bool | None = None
        self._carry = b""
        self.quad = b""
        self._tail = b""

    def take(self, text: bytes) -> bytes:
        """Return the bytes that the next characters complete.

        Raises:
            NotStrictBase64Error: The text is spelled otherwise; the part taken before can be
                restored.
        """
        before = {**self.__dict__, "_breaks": replace(self._breaks)}
        try:
            return self._take(text)
        except NotStrictBase64Error:
            self.__dict__.update(before)
            raise

    def take_plain(self, data: bytes, start: int, end: int) -> bytes | None:
        """Return the bytes that characters `data[start:end]` complete; `None` if one is special.

        A fast path of one pass: any character outside of the standard alphabet fails the decoding,
        and the state stays unchanged.
        """
        if self._carry or self._tail or self._is_url_safe or self._breaks.separator:
            return None
        seam = min(start + -len(self.quad) % 4, end)
        whole = seam + (end - seam) // 4 * 4
        first, rest = self.quad + data[start:seam], data[whole:end]
        if len(first) % 4 or not _PLAIN.fullmatch(rest):
            return None
        try:
            decoded = pybase64.b64decode(memoryview(data)[seam:whole], validate=True)
            before = pybase64.b64decode(first, validate=True)
        except binascii.Error:
            return None
        if len(before) + len(decoded) < (len(first) + whole - seam) // 4 * 3:
            # Padding is special as well.
            return None
        self.quad = rest
        self._breaks.open_length += end - start
        if self._is_url_safe is None:
            is_standard = data.find(b"+", start, end) >= 0 or data.find(b"/", start, end) >= 0
            self._is_url_safe = False if is_standard else None
        return before + decoded if before else decoded

    def finish(self) -> bytes:
        """Return the last bytes. The reader accepts no more text.

        Raises:
            NotStrictBase64Error: Base64 does not end like this.
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

        `None` for a single line; zeros for two, since the length of a third is unknown.
        """
        breaks = self._breaks
        if not breaks.separator or (breaks.ended == 1 and not breaks.open_length):
            return None
        return (breaks.first, breaks.following) if breaks.following else (0, 0)

    @property
    def spelling(self) -> str:
        """The spelling of the text: all that the bytes do not determine."""
        return f"{self._is_url_safe} {self.quad!r} {self._tail!r} {self._breaks}"

    @property
    def form(self) -> str:
        """The spelling of the text, in the form that databases store; only after its end.

        `spelling` is the same in a form of earlier versions.
        """
        breaks = self._breaks
        lines = f"{breaks.first},{breaks.following},{not breaks.open_length}"
        return " ".join(
            (
                "url-safe" if self._is_url_safe else "standard",
                f"{breaks.separator.hex()}:{lines}" if breaks.separator else "one-line",
                (self.quad + self._tail).hex(),
            )
        )

    def plain_spelling(self, last: bytes) -> tuple[bool, bool] | None:
        """Return whether the alphabet is URL-safe, and whether it is padded; only after its end.

        Args:
            last: The bytes that `finish` returned.

        Returns:
            `None` if the text has breaks or an unusual end.
        """
        padding = -len(self.quad) % 4
        is_plain = (
            not self._breaks.separator
            and self._tail in (b"", b"=" * padding)
            and pybase64.b64encode(last).rstrip(b"=") == self.quad
        )
        return (bool(self._is_url_safe), bool(self._tail) or not padding) if is_plain else None

    def written(self, compact: bytes) -> bytes:
        """Return unpadded standard base64 in this text's spelling: alphabet, breaks and end."""
        return self._breaks.put_into(self.in_alphabet(compact)) + self._carry + self._tail

    def in_alphabet(self, compact: bytes) -> bytes:
        """Return standard base64 in the alphabet of this text."""
        return compact.translate(_TO_URL_SAFE) if self._is_url_safe else compact

    def _take(self, text: bytes) -> bytes:
        text, self._carry = self._carry + text if self._carry else text, b""
        if self._tail:
            text, self._tail = b"", self._tail + text
        elif (padding := text.find(b"=")) >= 0:
            text, self._tail = text[:padding], text[padding:]
        elif text.endswith(b"\r"):
            text, self._carry = text[:-1], b"\r"
        if len(self._tail) > _LONGEST_TAIL:
            raise NotStrictBase64Error
        return self._decoded(self._breaks.without(text))

    def _decoded(self, compact: bytes) -> bytes:
        compact = self._in_standard_alphabet(compact)
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

    def _in_standard_alphabet(self, compact: bytes) -> bytes:
        for is_url_safe, (one, other) in ((True, b"-_"), (False, b"+/")):
            if one in compact or other in compact:
                if self._is_url_safe is (not is_url_safe):
                    raise NotStrictBase64Error
                self._is_url_safe = is_url_safe
        return compact.translate(_FROM_URL_SAFE) if self._is_url_safe else compact
