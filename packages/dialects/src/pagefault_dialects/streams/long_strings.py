r"""Decodes the long base64 strings of a JSON body while the body arrives.

Whether a string is a medium depends on the members around it, and is known only at the end of the
body. Until then the decoded bytes are in a draft, and a short placeholder replaces the string when
the body is parsed. The placeholder has the same beginning, end, alphabet and line breaks, and a
unique middle.

If the string is no medium, its raw JSON is written again from the draft. For that, its escapes are
recorded: PHP writes `\/`, .NET `\u002B`, Gson `\u003d`. Each writer spells a character in one way,
so one spelling for each character is enough, however long the string is. Strings with mixed
spellings are not decoded here, and are kept as text.
"""

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, Protocol, TypeVar

import pybase64

from pagefault_dialects.media.base64_text import (
    Base64Decoder,
    NotStrictBase64Error,
    PlainSpelling,
)
from pagefault_dialects.media.data_uris import find_base64_start
from pagefault_dialects.streams.json_digests import (
    NAMED_CHARS,
    make_name_of_base64,
    make_name_of_text,
)
from pagefault_dialects.streams.placeholders import Placeholder

_OPTIONAL_ESCAPES = (
    (b"/", b"\\/"),
    (b"+", b"\\u002B"),
    (b"+", b"\\u002b"),
    (b"=", b"\\u003d"),
    (b"=", b"\\u003D"),
    (b"/", b"\\u002f"),
    (b"/", b"\\u002F"),
)
_OPTIONALLY_ESCAPED = (b"/", b"+", b"=")
# JSON requires the escapes of line breaks.
_BREAK_ESCAPES = ((b"\r\n", b"\\r\\n"), (b"\n", b"\\n"), (b"\r", b"\\r"))
_LONGEST_ESCAPE = 6
# The escapes of the two halves of a surrogate pair.
_HIGH = rb"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
# The raw JSON of one character.
_CHARACTER = re.compile(
    rb"%b%b|\\u[0-9a-fA-F]{4}|\\.|[\xc0-\xff][\x80-\xbf]*+|[^\\]" % (_HIGH, _LOW), re.DOTALL
)


@dataclass(frozen=True, slots=True)
class JsonEscapes:
    """The spellings of `/`, `+` and `=` in one string, whose escapes are optional in JSON."""

    spellings: Mapping[bytes, bytes] = field(default_factory=dict)
    """The raw JSON of each of these characters that has occurred so far."""

    @property
    def joined(self) -> bytes:
        """The spellings that are escapes, joined in order; empty if there are none."""
        return b"".join(
            sorted(spelling for spelling in self.spellings.values() if len(spelling) > 1)
        )

    def unescape(self, raw: bytes) -> tuple[bytes, "JsonEscapes"]:
        """Return the text of raw JSON, and these spellings together with those of the raw JSON.

        Args:
            raw: The bytes between the quotation marks, or a part of them with whole escapes.

        Raises:
            NotStrictBase64Error: `escape` would return other bytes for the text.
        """
        if b"\n" in raw or b"\r" in raw:
            # JSON does not allow line breaks without escapes.
            raise NotStrictBase64Error
        text, escapes = self._unescape_known(raw) if b"\\" in raw else (raw, self)
        escapes = escapes.with_plain(text, 0, len(text))
        if (text is not raw or escapes.joined) and escapes.escape(text) != raw:
            raise NotStrictBase64Error
        return text, escapes

    def with_plain(self, data: bytes, start: int, end: int) -> "JsonEscapes":
        """Return these spellings, and plain ones for new characters in `data[start:end]`.

        The data have no escapes. The caller checks that none of its characters was escaped before.
        """
        missing = [char for char in _OPTIONALLY_ESCAPED if char not in self.spellings]
        occurring = {char: char for char in missing if data.find(char, start, end) >= 0}
        return JsonEscapes({**self.spellings, **occurring}) if occurring else self

    def escape(self, text: bytes) -> bytes:
        """Return the raw JSON of a text in these spellings."""
        # No spelling contains a character that a later iteration replaces.
        for chars, spelling in (*self.spellings.items(), *_BREAK_ESCAPES):
            if spelling != chars:
                text = text.replace(chars, spelling)
        return text

    def _unescape_known(self, raw: bytes) -> tuple[bytes, "JsonEscapes"]:
        """Replace the escapes of `/`, `+`, `=` and line breaks in raw JSON.

        Raises:
            NotStrictBase64Error: There are other escapes, such as an escaped backslash.
        """
        text, spellings = raw, dict(self.spellings)
        recorded = [(char, spelling) for char, spelling in spellings.items() if spelling != char]
        for chars, escape in (*recorded, *_BREAK_ESCAPES, *_OPTIONAL_ESCAPES):
            replaced = text.replace(escape, chars)
            if len(replaced) < len(text) and chars in _OPTIONALLY_ESCAPED:
                spellings.setdefault(chars, escape)
            text = replaced
            if b"\\" not in text:
                return text, JsonEscapes(spellings)
        raise NotStrictBase64Error


def split_open_escape(raw: bytes) -> tuple[bytes, bytes]:
    """Return raw JSON in two parts, the second of which may begin with an incomplete escape."""
    found = raw.find(b"\\", max(0, len(raw) - _LONGEST_ESCAPE))
    return (raw, b"") if found < 0 else (raw[:found], raw[found:])


def find_raw_head_end(raw: bytes) -> int:
    """Return the start of the base64 of a data URI in the raw JSON of a string, otherwise 0.

    Args:
        raw: The beginning of the bytes between the quotation marks.

    Raises:
        NotStrictBase64Error: The beginning of a data URI is not valid JSON.
    """
    if raw[:1] not in (b"d", b"D"):
        return 0
    try:
        text: str = json.loads(b'"%b"' % raw)
        head_chars = find_base64_start(text)
        *_, end = (0, *(found.end() for found in islice(_CHARACTER.finditer(raw), head_chars)))
        if json.loads(b'"%b"' % raw[:end]) != text[:head_chars]:
            raise NotStrictBase64Error
    except ValueError as exc:
        raise NotStrictBase64Error from exc
    return end


# A placeholder copies at least so many characters from the beginning and the end of the string: a
# multiple of four, and more than any reader inspects to recognize a medium.
_COPIED_CHARS = 4_096
# A multiple of three, so that each piece is base64 without padding.
_PIECE_BYTES = 3 * 256 * 1024
# No readable text has this byte, so a placeholder is not taken for base64 of a text.
_UNREADABLE = b"\0"
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")


class Draft(Protocol):
    """A temporary file for the decoded bytes of a string. Its methods may block and raise."""

    @property
    def size_bytes(self) -> int:
        """The number of bytes so far."""

    def digest(self) -> str:
        """Return the SHA-256 of the bytes so far, as 64 hex digits."""

    def append(self, data: bytes) -> None:
        """Append bytes."""

    def release(self) -> None:
        """Close the file or connection. The next call of another method opens it again."""

    def read(self, start: int, size_bytes: int) -> bytes:
        """Return bytes from `start` on; fewer than requested only at the end."""


DraftT = TypeVar("DraftT", bound=Draft)


class LongString(Generic[DraftT]):
    """A base64 string that is decoded into a draft piece by piece.

    Methods block, and must not run in two threads at once.

    Args:
        head: The raw JSON of the head of a data URI; empty for bare base64.
        draft: The file for the decoded bytes.
    """

    def __init__(self, head: bytes, draft: DraftT) -> None:
        self._head = head
        self.draft = draft
        self._decoder = Base64Decoder()
        self._escapes = JsonEscapes()
        # The number of bytes in the last group of base64, which may have padding.
        self._last_bytes = 0
        self.raw_bytes = len(head)
        """The number of bytes of raw JSON so far."""
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        # Whether all bytes so far are UTF-8 without control characters.
        self._is_readable = True

    @property
    def needs_whole_text(self) -> bool:
        """True if no placeholder can replace the string.

        There are two cases: its bytes are readable text, of which readers look at all characters;
        or it has two lines, so that the length of further lines is unknown.
        """
        return self._is_readable or self._decoder.line_lengths == (0, 0)

    @property
    def plain_spelling(self) -> PlainSpelling | None:
        """The spelling of the base64, after `finish`.

        It is `None` if head, bytes and spelling together do not determine the string.
        """
        start = self.draft.size_bytes - self._last_bytes
        return self._decoder.plain_spelling(self.draft.read(start, self._last_bytes))

    def add(self, raw: bytes) -> None:
        """Decode the next piece of raw JSON, which has whole escapes, and store its bytes.

        Raises:
            NotStrictBase64Error: The piece is not base64, or cannot be restored byte for byte.
                Nothing of it was stored.
            PayloadTooLargeError: The string is larger than a medium may be.
            StoreUnavailableError: The draft cannot store it.
        """
        text, escapes = self._escapes.unescape(raw)
        decoded = self._decoder.decode(text)
        self._escapes = escapes
        self.raw_bytes += len(raw)
        self._store(decoded)

    def add_plain(self, data: bytes, start: int, end: int) -> bool:
        """Decode and store `data[start:end]` if all its characters are plain base64.

        Returns:
            False if there may be escapes, line breaks or padding. Nothing was stored then, and the
            caller passes the piece to `add`.

        Raises:
            Exception: As `add`.
        """
        if self._escapes.joined:
            return False
        decoded = self._decoder.decode_plain(data, start, end)
        if decoded is None:
            return False
        self._escapes = self._escapes.with_plain(data, start, end)
        self.raw_bytes += end - start
        self._store(decoded)
        return True

    def finish(self) -> None:
        """Store the last bytes, after the last piece.

        Raises:
            NotStrictBase64Error: The string does not end like base64. Nothing was stored.
            Exception: As `add`.
        """
        last = self._decoder.finish()
        self._store(last, is_end=True)
        self._last_bytes = len(last)
        self.draft.release()

    def read_raw(self) -> bytes:
        """Return the raw JSON so far, byte for byte."""
        whole_groups = self.draft.read(0, self.draft.size_bytes - self._last_bytes)
        return self._restore(pybase64.b64encode(whole_groups))

    def abandon(self) -> Iterator[bytes]:
        """Close the draft, and yield the raw JSON so far in pieces.

        A string with line breaks is yielded as one piece, since the position of each depends on the
        text before it. No method may be called afterwards.
        """
        self.draft.release()
        if self._decoder.line_lengths is not None:
            yield self.read_raw()
            return
        yield self._head
        size_bytes = self.draft.size_bytes - self._last_bytes
        for start in range(0, size_bytes, _PIECE_BYTES):
            data = self.draft.read(start, min(_PIECE_BYTES, size_bytes - start))
            yield self._escapes.escape(self._decoder.to_alphabet(pybase64.b64encode(data)))
        yield self._escapes.escape(self._decoder.restore(self._decoder.quad))

    def make_raw_identity(self) -> bytes:
        """Return the bytes that replace the raw JSON in digests of earlier versions.

        They have the head, the digest and the spelling of the string, between NUL bytes, which raw
        JSON cannot have.
        """
        spelling = f"{self.draft.digest()} {self._decoder.legacy_spelling}".encode()
        escapes = b" " + self._escapes.joined if self._escapes.joined else b""
        return b"\0%b %b%b\0" % (self._head, spelling, escapes)

    def compute_name(self) -> str:
        """Return the name of the string for a digest of the body, after `finish`.

        `json_digests` describes the names.
        """
        # The length of the string is at least that of its base64, without the head and line breaks.
        least_chars = self.draft.size_bytes // 3 * 4
        if least_chars < NAMED_CHARS:
            text: str = json.loads(b'"%b"' % self.read_raw())
            return make_name_of_text(text)
        head: str = json.loads(b'"%b"' % self._head)
        return make_name_of_base64(head, self._decoder.spelling, self.draft.digest())

    def make_placeholder(self, mark: bytes) -> Placeholder | None:
        """Return a placeholder for this string; `None` if the string is too short for one.

        Args:
            mark: The bytes that make the placeholder unique.
        """
        size_bytes = self.draft.size_bytes
        chars = (size_bytes - self._last_bytes) // 3 * 4
        first_chars, line_chars = self._decoder.line_lengths or (0, 4)
        # The beginning, the middle and the end are whole lines, so that the line breaks are in the
        # same positions. Without line breaks, a line is one group of four characters.
        head_chars = first_chars + _round_up(max(_COPIED_CHARS - first_chars, 0), line_chars)
        tail_start = first_chars + (chars - first_chars - _COPIED_CHARS) // line_chars * line_chars
        if tail_start < head_chars:
            return None
        middle_chars = _round_up(len(mark) // 3 * 4 + 4, line_chars)
        middle = mark.ljust(middle_chars // 4 * 3, _UNREADABLE)
        tail = self.draft.read(tail_start // 4 * 3, size_bytes)
        data = self.draft.read(0, head_chars // 4 * 3) + middle + tail
        return Placeholder(
            self._restore(pybase64.b64encode(data[: len(data) - self._last_bytes])), data
        )

    def _restore(self, compact: bytes) -> bytes:
        """Return the raw JSON of the base64 of whole groups and the last characters."""
        text = self._decoder.restore(compact + self._decoder.quad)
        return self._head + self._escapes.escape(text)

    def _store(self, data: bytes, *, is_end: bool = False) -> None:
        """Append bytes to the draft, and note whether all bytes so far are readable text."""
        if data:
            self.draft.append(data)
        if not self._is_readable:
            return
        try:
            text = self._utf8.decode(data, is_end)
        except UnicodeDecodeError:
            self._is_readable = False
        else:
            self._is_readable = not _CONTROL.search(text)


def _round_up(chars: int, step: int) -> int:
    """Return the least multiple of a step that is at least a number of characters."""
    return -(-chars // step) * step
