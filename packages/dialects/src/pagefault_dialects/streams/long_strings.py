r"""Long base64 strings of a body: their bytes in drafts, their text, and their placeholders.

The place of a string says whether it is a medium, and is known only at the end of the body. Until
then the string is stored in a form that serves as text and as medium, and a short placeholder
replaces it. The placeholder has the same beginning, end, alphabet and lines, and a unique middle.

The escapes are recorded while the string is read, so that its raw JSON can be restored. PHP writes
`\/`, .NET `\u002B`, Gson `\u003d`. A writer uses one spelling for each character, so one entry for
each is enough for gigabytes. Strings with mixed spellings are not decoded here.
"""

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, Protocol, TypeVar

import pybase64

from pagefault_dialects.media.base64_text import Base64Lines, NotStrictBase64Error
from pagefault_dialects.media.data_uris import base64_head_end
from pagefault_dialects.streams.json_digests import NAMED_CHARS, name_of_base64, name_of_text
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
_BREAK_ESCAPES = ((b"\r\n", b"\\r\\n"), (b"\n", b"\\n"), (b"\r", b"\\r"))
_LONGEST_ESCAPE = 6
_HIGH = rb"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_CHARACTER = re.compile(
    rb"%b%b|\\u[0-9a-fA-F]{4}|\\.|[\xc0-\xff][\x80-\xbf]*+|[^\\]" % (_HIGH, _LOW), re.DOTALL
)


@dataclass(frozen=True, slots=True)
class JsonEscapes:
    """The spellings of the characters whose escape is optional in JSON.

    A character that has not occurred yet has no spelling.
    """

    spellings: Mapping[bytes, bytes] = field(default_factory=dict)

    @property
    def escaped(self) -> bytes:
        """Return the spellings that are escapes, joined; line breaks are not counted."""
        return b"".join(
            sorted(spelling for spelling in self.spellings.values() if len(spelling) > 1)
        )

    def read(self, raw: bytes) -> tuple[bytes, "JsonEscapes"]:
        """Return the text of raw JSON, and the escapes with those that occur in it.

        Args:
            raw: The bytes between the quotation marks, or a part of them with whole escapes.

        Raises:
            NotStrictBase64Error: `written` would return other bytes.
        """
        if b"\n" in raw or b"\r" in raw:
            # JSON requires escapes for them.
            raise NotStrictBase64Error
        text, learnt = self._unescaped(raw) if b"\\" in raw else (raw, self)
        learnt = learnt.after_plain(text, 0, len(text))
        if (text is not raw or learnt.escaped) and learnt.written(text) != raw:
            raise NotStrictBase64Error
        return text, learnt

    def after_plain(self, data: bytes, start: int, end: int) -> "JsonEscapes":
        """Return the escapes with the characters of `data[start:end]`, which has no escapes.

        The caller checks that no character of it has another spelling already.
        """
        new = [char for char in _OPTIONALLY_ESCAPED if char not in self.spellings]
        occurring = {char: char for char in new if data.find(char, start, end) >= 0}
        return JsonEscapes({**self.spellings, **occurring}) if occurring else self

    def written(self, text: bytes) -> bytes:
        """Return the raw JSON of a text whose characters have all been read."""
        # No spelling contains a character that a later step replaces.
        for chars, spelling in (*self.spellings.items(), *_BREAK_ESCAPES):
            if spelling != chars:
                text = text.replace(chars, spelling)
        return text

    def _unescaped(self, raw: bytes) -> tuple[bytes, "JsonEscapes"]:
        text, spellings = raw, dict(self.spellings)
        known = [(char, spelling) for char, spelling in spellings.items() if spelling != char]
        for chars, escape in (*known, *_BREAK_ESCAPES, *_OPTIONAL_ESCAPES):
            replaced = text.replace(escape, chars)
            if len(replaced) < len(text) and chars in _OPTIONALLY_ESCAPED:
                spellings.setdefault(chars, escape)
            text = replaced
            if b"\\" not in text:
                return text, JsonEscapes(spellings)
        # Another escape, or an escaped backslash.
        raise NotStrictBase64Error


def without_open_escape(raw: bytes) -> tuple[bytes, bytes]:
    """Split bytes before an escape at the end that may be incomplete."""
    found = raw.find(b"\\", max(0, len(raw) - _LONGEST_ESCAPE))
    return (raw, b"") if found < 0 else (raw[:found], raw[found:])


def raw_head_end(raw: bytes) -> int:
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
        chars = base64_head_end(text)
        *_, last = (0, *(found.end() for found in islice(_CHARACTER.finditer(raw), chars)))
        if json.loads(b'"%b"' % raw[:last]) != text[:chars]:
            raise NotStrictBase64Error
    except ValueError as exc:
        raise NotStrictBase64Error from exc
    return last


# Whole quads, and more than any reader inspects to recognize a string.
_KEPT_CHARS = 4_096
# Whole quads.
_PIECE_BYTES = 3 * 256 * 1024
# Bytes that no readable text has, so that a placeholder is not taken for text.
_UNREADABLE = bytes(3)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")


class Draft(Protocol):
    """Bytes that are stored while a text is read. Its methods may block and raise."""

    @property
    def size_bytes(self) -> int:
        """The number of bytes so far."""

    def digest(self) -> str:
        """Return the SHA-256 of the bytes so far, as 64 hex digits."""

    def append(self, data: bytes) -> None:
        """Append bytes."""

    def rest(self) -> None:
        """Close the file or connection until the next use."""

    def read(self, start: int, size_bytes: int) -> bytes:
        """Return bytes from `start` on; fewer than requested only at the end."""


DraftT = TypeVar("DraftT", bound=Draft)


class LongString(Generic[DraftT]):
    """One string, read from its first character to its last. Blocks; one thread at a time.

    Args:
        head: The raw JSON of the head of a data URI, or nothing.
        draft: Stores the bytes.
    """

    def __init__(self, head: bytes, draft: DraftT) -> None:
        self._head = head
        self.draft = draft
        self._lines = Base64Lines()
        self._escapes = JsonEscapes()
        self._last_bytes = 0
        self.raw_bytes = len(head)
        """The number of bytes of raw JSON so far."""
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._is_readable = True

    @property
    def must_be_text(self) -> bool:
        """Return whether the whole text of the string is needed.

        The meaning of base64 of readable text depends on all of it, and the line length of a single
        line is unknown.
        """
        return self._is_readable or self._lines.line_lengths == (0, 0)

    @property
    def plain_spelling(self) -> tuple[bool, bool] | None:
        """Return whether it has the URL-safe alphabet, and whether padding; after its end only.

        `None` if its text cannot be restored from the head and the bytes.
        """
        start = self.draft.size_bytes - self._last_bytes
        return self._lines.plain_spelling(self.draft.read(start, self._last_bytes))

    def take(self, raw: bytes) -> None:
        """Decode and store raw JSON with whole escapes.

        Raises:
            NotStrictBase64Error: It is not base64, or could not be restored byte for byte. None of
                these bytes was stored.
            PayloadTooLargeError: The string is larger than a medium may be.
            StoreUnavailableError: The draft cannot store it.
        """
        text, escapes = self._escapes.read(raw)
        decoded = self._lines.take(text)
        self._escapes = escapes
        self.raw_bytes += len(raw)
        self._keep(decoded)

    def take_plain(self, data: bytes, start: int, end: int) -> bool:
        """Store the data from `start` to `end` if it is plain base64; return whether it was.

        Other data may have an escape, a line break or the end of the string. It is not stored, and
        the caller passes it to `take`.

        Raises:
            Exception: As `take`.
        """
        if self._escapes.escaped:
            return False
        decoded = self._lines.take_plain(data, start, end)
        if decoded is None:
            return False
        self._escapes = self._escapes.after_plain(data, start, end)
        self.raw_bytes += end - start
        self._keep(decoded)
        return True

    def finish(self) -> None:
        """Store the last bytes.

        Raises:
            NotStrictBase64Error: The end is not that of base64, and was not stored.
            Exception: As `take`.
        """
        last = self._lines.finish()
        self._keep(last, is_end=True)
        self._last_bytes = len(last)
        self.draft.rest()

    def raw(self) -> bytes:
        """Return the raw JSON so far, byte for byte."""
        whole = self.draft.read(0, self.draft.size_bytes - self._last_bytes)
        return self._written(pybase64.b64encode(whole))

    def abandoned(self) -> Iterator[bytes]:
        """Close the draft, and yield the raw JSON so far in pieces. Nothing can be added then.

        A text with line breaks is one piece, because their places depend on the text before them.
        """
        self.draft.rest()
        if self._lines.line_lengths is not None:
            yield self.raw()
            return
        yield self._head
        size_bytes = self.draft.size_bytes - self._last_bytes
        for start in range(0, size_bytes, _PIECE_BYTES):
            data = self.draft.read(start, min(_PIECE_BYTES, size_bytes - start))
            yield self._escapes.written(self._lines.in_alphabet(pybase64.b64encode(data)))
        yield self._escapes.written(self._lines.written(self._lines.quad))

    def raw_identity(self) -> bytes:
        """Return a unique replacement for the raw JSON: its head, its digest and its spelling.

        Earlier versions hashed bodies with it. Raw JSON has no NUL, so no other part of a body can
        be equal.
        """
        spelled = f"{self.draft.digest()} {self._lines.spelling}".encode()
        escaped = b" " + self._escapes.escaped if self._escapes.escaped else b""
        return b"\0%b %b%b\0" % (self._head, spelled, escaped)

    def name(self) -> str:
        """Return the name of its text, see `json_digests`; after its end only."""
        # A head and line breaks may add to it.
        least_chars = self.draft.size_bytes // 3 * 4
        if least_chars < NAMED_CHARS:
            text: str = json.loads(b'"%b"' % self.raw())
            return name_of_text(text)
        head: str = json.loads(b'"%b"' % self._head)
        return name_of_base64(head, self._lines.form, self.draft.digest())

    def placeholder(self, mark: bytes) -> Placeholder | None:
        """Return a placeholder for this string; `None` if the string is too short for one."""
        size_bytes = self.draft.size_bytes
        chars = (size_bytes - self._last_bytes) // 3 * 4
        first, line_chars = self._lines.line_lengths or (0, 4)
        end = first + _up(max(_KEPT_CHARS - first, 0), line_chars)
        start = first + (chars - first - _KEPT_CHARS) // line_chars * line_chars
        if start < end:
            return None
        middle_chars = _up(len(mark) // 3 * 4 + 4, line_chars)
        middle = mark.ljust(middle_chars // 4 * 3, _UNREADABLE[:1])
        tail = self.draft.read(start // 4 * 3, size_bytes)
        data = self.draft.read(0, end // 4 * 3) + middle + tail
        return Placeholder(
            self._written(pybase64.b64encode(data[: len(data) - self._last_bytes])), data
        )

    def _written(self, compact: bytes) -> bytes:
        return self._head + self._escapes.written(self._lines.written(compact + self._lines.quad))

    def _keep(self, data: bytes, *, is_end: bool = False) -> None:
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


def _up(chars: int, step: int) -> int:
    """Return the next multiple of a step."""
    return -(-chars // step) * step
