r"""A scanner of JSON bodies that writes long base64 strings to drafts while they arrive.

One expression skips short strings, and in long ones only the end is searched. The scanner does not
validate JSON; the parser of the remaining text does.
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
    raw_head_end,
    without_open_escape,
)

LONG_CHARS = 65_536
"""The minimum length of a long string in characters; each character of an escape counts."""

_TO_STRING_END = re.compile(rb"(?:[^\"\\]++|\\.)*+", re.DOTALL)
_BACKSLASHES = re.compile(rb"\\*\Z")
# The end of base64 may have padding, two characters that may be escaped as `\u003d`.
_MAX_PADDING_BYTES = 12


class JsonStream(Generic[DraftT]):
    """A body as pieces of JSON text and long strings.

    Calls block, and must not run in two threads at once.

    Args:
        new_draft: Creates a draft for a long string. The caller discards it.
        reserve_text: Reserves memory for a number of bytes of text, or raises an error. Called when
            a draft is discarded and its string becomes text again.
        long_chars: The minimum length of a long string in characters.
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
        self._short_strings = _short_strings(long_chars)
        self._pieces: list[bytes | LongString[DraftT]] = []
        self._scan: Callable[[bytes, int], int] = self._outside
        self._opening = bytearray()
        self._long: LongString[DraftT] | None = None
        self._raw = b""
        self._is_escaped = False
        self.is_whole = False
        """The body was added by one call of `feed_whole`."""

    @property
    def has_data(self) -> bool:
        """Return whether the stream has data."""
        return bool(self._pieces)

    @property
    def kept_bytes(self) -> int:
        """Return the number of bytes in memory."""
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
        if self._long is not None and self._scan == self._in_base64:
            self._pieces.append(self._long)
        self._pieces += (bytes(self._opening), self._raw)
        self._opening.clear()

    def clear(self) -> None:
        """Release all bytes now. Reference cycles would delay it until garbage collection."""
        self._pieces.clear()
        self._opening.clear()
        self._long, self._raw = None, b""

    @property
    def texts(self) -> list[bytes]:
        """Return the text around the long strings, in order."""
        return [piece for piece in self._pieces if isinstance(piece, bytes)]

    @property
    def long_strings(self) -> list[LongString[DraftT]]:
        """Return the long strings, in order."""
        return [piece for piece in self._pieces if isinstance(piece, LongString)]

    def digest_of_bytes(self, prefix: bytes = b"") -> str:
        """Return the SHA-256 of a prefix and the body as 64 hex digits.

        Earlier versions stored this digest as the identity of a request, so it must not change. In
        a body that was added in pieces, each long string is replaced by its `raw_identity`, so
        that no byte is hashed twice.
        """
        sha256 = hashlib.sha256(prefix)
        if self.is_whole:
            sha256.update(self.body(string.raw() for string in self.long_strings))
            return sha256.hexdigest()
        for piece in self._pieces:
            sha256.update(piece if isinstance(piece, bytes) else piece.raw_identity())
        return sha256.hexdigest()

    def body(self, raw_strings: Iterable[bytes]) -> bytes:
        """Return the body with its long strings replaced by raw JSON, in order.

        With the raw JSON of the strings themselves it is the original body, byte for byte.
        """
        replacements = iter(raw_strings)
        joined = b"".join(
            piece if isinstance(piece, bytes) else next(replacements) for piece in self._pieces
        )
        if not self.long_strings:
            # Frees the separate pieces.
            self._pieces = [joined]
        return joined

    def _outside(self, data: bytes, start: int) -> int:
        skipped = self._short_strings.match(data, start)
        quote = data.find(b'"', skipped.end() if skipped else start)
        end = quote + 1 or len(data)
        self._pieces.append(data[start:end])
        if quote >= 0:
            self._scan = self._at_start
        return end

    def _at_start(self, data: bytes, start: int) -> int:
        """Read until the string has ended or is long."""
        limit = start + self._long_chars - len(self._opening)
        quote = data.find(b'"', start, limit)
        end = min(limit, len(data)) if quote < 0 else quote
        self._opening += data[start:end]
        if quote >= 0:
            self._continue_as_text(self._pop_opening())
        elif len(self._opening) >= self._long_chars:
            self._begin_long(self._pop_opening())
        return end

    def _in_text(self, data: bytes, start: int) -> int:
        quote = data.find(b'"', start)
        if quote >= 0 and not self._is_escaped and data.find(b"\\", start, quote) < 0:
            self._pieces.append(data[start : quote + 1])
            self._scan = self._outside
            return quote + 1
        match = _TO_STRING_END.match(data, start + self._is_escaped)
        end = match.end() if match else start
        self._is_escaped = data[end : end + 1] == b"\\"
        if end < len(data):
            # The match ends at the quotation mark, or at a backslash at the end of the data.
            end += 1
            self._scan = self._in_text if self._is_escaped else self._outside
        self._pieces.append(data[start:end])
        return end

    def _in_base64(self, data: bytes, start: int) -> int:
        quote = data.find(b'"', start)
        end = len(data) if quote < 0 else quote
        plain_end = end if quote < 0 else max(start, end - _MAX_PADDING_BYTES)
        if not self._raw and self._long is not None:
            if self._long.take_plain(data, start, plain_end):
                start = plain_end
            if start == len(data):
                return start
        raw, self._raw = self._raw + data[start:end], b""
        if quote < 0:
            raw, self._raw = without_open_escape(raw)
        self._take(raw, is_end=quote >= 0)
        return end

    def _begin_long(self, raw: bytes) -> None:
        whole, self._raw = without_open_escape(raw)
        try:
            head_end = raw_head_end(whole)
            self._long = LongString(whole[:head_end], self._new_draft())
            self._long.take(whole[head_end:])
        except NotStrictBase64Error:
            self._raw = b""
            self._continue_as_text(raw)
        else:
            self._scan = self._in_base64

    def _take(self, raw: bytes, *, is_end: bool) -> None:
        long = self._long
        if long is None:
            return
        try:
            long.take(raw)
            raw = b""
            if not is_end:
                return
            long.finish()
            self._pieces.append(long)
            self._scan = self._in_text
        except NotStrictBase64Error:
            self._reserve_text(self.kept_bytes + long.raw_bytes)
            self._pieces += long.abandoned()
            unread, self._raw = self._raw, b""
            self._continue_as_text(raw + unread)

    def _continue_as_text(self, raw: bytes) -> None:
        self._pieces.append(raw)
        backslashes = _BACKSLASHES.search(raw)
        self._is_escaped = backslashes is not None and len(backslashes[0]) % 2 == 1
        self._scan = self._in_text

    def _pop_opening(self) -> bytes:
        raw = bytes(self._opening)
        self._opening.clear()
        return raw


def _may_have_long_strings(data: bytes, long_chars: int) -> bool:
    """Return whether a run of `long_chars` bytes may have no quotation mark.

    Any such run contains one of the blocks of half its size that are searched.
    """
    block = max(1, long_chars // 2)
    starts = range(0, len(data) - block + 1, block)
    return any(data.find(b'"', start, start + block) < 0 for start in starts)


@lru_cache(maxsize=8)
def _short_strings(long_chars: int) -> re.Pattern[bytes]:
    is_long = rf"[^\"]{{{long_chars}}}"
    pattern = rf"(?:[^\"]*+\"(?!{is_long})(?:[^\"\\]++|\\.)*+\")*+"
    return re.compile(pattern.encode(), re.DOTALL)
