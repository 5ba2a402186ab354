r"""Scans a JSON body while it arrives, and decodes its long base64 strings into drafts.

The scanner is fast: one regular expression skips all short strings of a piece, and in a long string
only the closing quotation mark is searched. JSON is not validated here, but by the parser of the
body.
"""

import hashlib
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Generic

from pagefault_dialects.media.base64_text import NotStrictBase64Error
from pagefault_dialects.streams.long_strings import (
    DraftT,
    LongString,
    find_raw_head_end,
    split_open_escape,
)

LONG_CHARS = 65_536
"""The length from which a string is long. Each byte of raw JSON counts as a character."""

_TO_STRING_END = re.compile(rb"(?:[^\"\\]++|\\.)*+", re.DOTALL)
_BACKSLASHES = re.compile(rb"\\*\Z")
# Padding at the end of base64: at most two characters, which may be escaped as `\u003d`.
_MAX_PADDING_BYTES = 12


class JsonStream(Generic[DraftT]):
    """A JSON body as pieces of text and long base64 strings, in order.

    The scanner is a state machine: `_scan` is the method for the current state, which takes a piece
    of data and a position, and returns the position at which the next state begins. Calls block,
    and must not run in two threads at once.

    Args:
        new_draft: Creates a draft for a long string. The caller discards it.
        reserve_text: Reserves memory for a number of bytes of text, or raises an error. It is
            called when a string turns out not to be base64, so its text is kept in memory.
        long_chars: The length from which a string is long; see `LONG_CHARS`.
    """

    def __init__(
        self,
        new_draft: Callable[[], DraftT],
        reserve_text: Callable[[int], None],
        *,
        long_chars: int = LONG_CHARS,
    ) -> None:
        self._new_draft = new_draft
        self._reserve_text = reserve_text
        self._long_chars = long_chars
        self._short_strings = _compile_short_strings(long_chars)
        self._pieces: list[bytes | LongString[DraftT]] = []
        self._scan: Callable[[bytes, int], int] = self._scan_outside
        # The beginning of the current string, until the string has ended or is long.
        self._string_start = bytearray()
        self._long_string: LongString[DraftT] | None = None
        # An escape of the long string that the end of the data may have cut.
        self._open_escape = b""
        # Whether the first byte of the next data is escaped by a backslash before it.
        self._is_escaped = False
        self.is_whole = False
        """True if the body was added by one call of `feed_whole`."""

    @property
    def has_data(self) -> bool:
        """True if any data was added."""
        return bool(self._pieces)

    @property
    def kept_bytes(self) -> int:
        """The number of bytes of text in memory, without long strings."""
        return sum(map(len, self.texts))

    def feed_whole(self, data: bytes) -> None:
        """Add a whole body.

        Raises:
            Exception: As `feed`.
        """
        self.is_whole = True
        if _may_have_long_strings(data, self._long_chars):
            self.feed(data)
        else:
            self._pieces.append(data)

    def feed(self, data: bytes) -> None:
        """Add the next bytes of a body.

        Raises:
            PayloadTooLargeError: A string is larger than a medium may be.
            StoreUnavailableError: A draft cannot store it.
        """
        position = 0
        while position < len(data):
            position = self._scan(data, position)

    def finish(self) -> None:
        """End the body. A string without a closing quotation mark is kept as it is."""
        if self._long_string is not None and self._scan == self._scan_base64:
            self._pieces.append(self._long_string)
        self._pieces += (bytes(self._string_start), self._open_escape)
        self._string_start.clear()

    def clear(self) -> None:
        """Release all bytes.

        The stream is part of a reference cycle, so without this call its bytes would be freed only
        by the garbage collector.
        """
        self._pieces.clear()
        self._string_start.clear()
        self._long_string, self._open_escape = None, b""

    @property
    def texts(self) -> list[bytes]:
        """The pieces of text around the long strings, in order."""
        return [piece for piece in self._pieces if isinstance(piece, bytes)]

    @property
    def long_strings(self) -> list[LongString[DraftT]]:
        """The long strings, in order."""
        return [piece for piece in self._pieces if isinstance(piece, LongString)]

    def compute_byte_digest(self, prefix: bytes = b"") -> str:
        """Return the SHA-256 of a prefix and the body as 64 hex digits.

        Earlier versions stored this digest as the identity of a request, so it must not change. In
        a body that was added in pieces, each long string is replaced by its `make_raw_identity`, so
        that no byte is hashed twice.
        """
        sha256 = hashlib.sha256(prefix)
        if self.is_whole:
            sha256.update(self.join_body(string.read_raw() for string in self.long_strings))
            return sha256.hexdigest()
        for piece in self._pieces:
            sha256.update(piece if isinstance(piece, bytes) else piece.make_raw_identity())
        return sha256.hexdigest()

    def join_body(self, raw_strings: Iterable[bytes]) -> bytes:
        """Return the body, with its long strings replaced.

        Args:
            raw_strings: For each long string, in order, the bytes between the quotation marks. With
                `LongString.read_raw` of each, the result is the original body.
        """
        replacements = iter(raw_strings)
        joined = b"".join(
            piece if isinstance(piece, bytes) else next(replacements) for piece in self._pieces
        )
        if not self.long_strings:
            # The separate pieces are freed.
            self._pieces = [joined]
        return joined

    def _scan_outside(self, data: bytes, start: int) -> int:
        """Read data up to the beginning of a string that is long or does not end in the data."""
        skipped = self._short_strings.match(data, start)
        quote = data.find(b'"', skipped.end() if skipped else start)
        end = quote + 1 or len(data)
        self._pieces.append(data[start:end])
        if quote >= 0:
            self._scan = self._scan_string_start
        return end

    def _scan_string_start(self, data: bytes, start: int) -> int:
        """Read the beginning of a string, until the string has ended or is long."""
        limit = start + self._long_chars - len(self._string_start)
        quote = data.find(b'"', start, limit)
        end = min(limit, len(data)) if quote < 0 else quote
        self._string_start += data[start:end]
        if quote >= 0:
            self._continue_as_text(self._pop_string_start())
        elif len(self._string_start) >= self._long_chars:
            self._start_long_string(self._pop_string_start())
        return end

    def _scan_text_string(self, data: bytes, start: int) -> int:
        """Read the rest of a string that is kept as text."""
        quote = data.find(b'"', start)
        if quote >= 0 and not self._is_escaped and data.find(b"\\", start, quote) < 0:
            self._pieces.append(data[start : quote + 1])
            self._scan = self._scan_outside
            return quote + 1
        match = _TO_STRING_END.match(data, start + self._is_escaped)
        end = match.end() if match else start
        self._is_escaped = data[end : end + 1] == b"\\"
        if end < len(data):
            # The match ends at the quotation mark, or at a backslash at the end of the data.
            end += 1
            self._scan = self._scan_text_string if self._is_escaped else self._scan_outside
        self._pieces.append(data[start:end])
        return end

    def _scan_base64(self, data: bytes, start: int) -> int:
        """Read the rest of a long string, which is base64 so far."""
        quote = data.find(b'"', start)
        end = len(data) if quote < 0 else quote
        plain_end = end if quote < 0 else max(start, end - _MAX_PADDING_BYTES)
        if not self._open_escape and self._long_string is not None:
            if self._long_string.add_plain(data, start, plain_end):
                start = plain_end
            if start == len(data):
                return start
        raw, self._open_escape = self._open_escape + data[start:end], b""
        if quote < 0:
            raw, self._open_escape = split_open_escape(raw)
        self._decode_raw(raw, is_end=quote >= 0)
        return end

    def _start_long_string(self, raw: bytes) -> None:
        """Decode the beginning of a long string; continue it as text if it is not base64."""
        whole, self._open_escape = split_open_escape(raw)
        try:
            head_end = find_raw_head_end(whole)
            self._long_string = LongString(whole[:head_end], self._new_draft())
            self._long_string.add(whole[head_end:])
        except NotStrictBase64Error:
            self._open_escape = b""
            self._continue_as_text(raw)
        else:
            self._scan = self._scan_base64

    def _decode_raw(self, raw: bytes, *, is_end: bool) -> None:
        """Decode raw JSON of the long string; continue the string as text if it is not base64."""
        string = self._long_string
        if string is None:
            return
        try:
            string.add(raw)
            raw = b""
            if not is_end:
                return
            string.finish()
            self._pieces.append(string)
            # Reads the closing quotation mark.
            self._scan = self._scan_text_string
        except NotStrictBase64Error:
            self._reserve_text(self.kept_bytes + string.raw_bytes)
            self._pieces += string.abandon()
            open_escape, self._open_escape = self._open_escape, b""
            self._continue_as_text(raw + open_escape)

    def _continue_as_text(self, raw: bytes) -> None:
        """Add the raw JSON of a string as text, and read the rest of the string as text."""
        self._pieces.append(raw)
        backslashes = _BACKSLASHES.search(raw)
        self._is_escaped = backslashes is not None and len(backslashes[0]) % 2 == 1
        self._scan = self._scan_text_string

    def _pop_string_start(self) -> bytes:
        raw = bytes(self._string_start)
        self._string_start.clear()
        return raw


def _may_have_long_strings(data: bytes, long_chars: int) -> bool:
    """Return whether there may be `long_chars` bytes in a row without quotation marks.

    Such a run contains a whole block of half its size, so only these blocks are searched.
    """
    block = max(1, long_chars // 2)
    starts = range(0, len(data) - block + 1, block)
    return any(data.find(b'"', start, start + block) < 0 for start in starts)


@lru_cache(maxsize=8)
def _compile_short_strings(long_chars: int) -> re.Pattern[bytes]:
    """Return a pattern for data with whole short strings, up to the beginning of a long string."""
    is_long = rf"[^\"]{{{long_chars}}}"
    pattern = rf"(?:[^\"]*+\"(?!{is_long})(?:[^\"\\]++|\\.)*+\")*+"
    return re.compile(pattern.encode(), re.DOTALL)
