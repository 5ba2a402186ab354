r"""A long base64 string of a body: its bytes in a draft, its text, and its placeholder.

Whether a string is a medium depends on where it stands, and that is known only when the whole body
is there. So the string is kept in a form that can be either. Until it is decided, a short text
stands in for it that is alike in all that matters: the same beginning and end, the same alphabet
and lines, and in the middle something that occurs nowhere else.

Its escapes are learnt while it is read, so that it can be written again. PHP writes `\/`, .NET
`\u002B`, Gson `\u003d`. A writer spells one character the same way throughout, so one spelling for
each character is enough to give back the raw JSON of gigabytes. A string whose raw JSON would not
come back byte for byte is not read here.
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
    """How each of the characters was spelled that JSON writers escape or leave as they are.

    A character that has not occurred yet has no spelling.
    """

    spellings: Mapping[bytes, bytes] = field(default_factory=dict)

    @property
    def escaped(self) -> bytes:
        """Return the spellings that are escapes, joined; line breaks are not counted."""
        return b"".join(sorted(each for each in self.spellings.values() if len(each) > 1))

    def read(self, raw: bytes) -> tuple[bytes, "JsonEscapes"]:
        """Return the text that raw JSON stands for, and the escapes with what it taught.

        Args:
            raw: What stands between the quotation marks, or a part of it with whole escapes.

        Raises:
            NotStrictBase64Error: `written` would not give these bytes again.
        """
        if b"\n" in raw or b"\r" in raw:
            # JSON has them as escapes only.
            raise NotStrictBase64Error
        text, learnt = self._unescaped(raw) if b"\\" in raw else (raw, self)
        learnt = learnt.after_plain(text, 0, len(text))
        if (text is not raw or learnt.escaped) and learnt.written(text) != raw:
            raise NotStrictBase64Error
        return text, learnt

    def after_plain(self, data: bytes, start: int, end: int) -> "JsonEscapes":
        """Return the escapes after the characters `data[start:end]`, none of them escaped.

        The caller checks that none has another spelling already.
        """
        new = [char for char in _OPTIONALLY_ESCAPED if char not in self.spellings]
        occurring = {char: char for char in new if data.find(char, start, end) >= 0}
        return JsonEscapes({**self.spellings, **occurring}) if occurring else self

    def written(self, text: bytes) -> bytes:
        """Return the raw JSON of a text, all of whose characters were read here."""
        # No spelling has a character in it that a later step replaces.
        for chars, spelling in (*self.spellings.items(), *_BREAK_ESCAPES):
            if spelling != chars:
                text = text.replace(chars, spelling)
        return text

    def _unescaped(self, raw: bytes) -> tuple[bytes, "JsonEscapes"]:
        text, spellings = raw, dict(self.spellings)
        known = [(char, each) for char, each in spellings.items() if each != char]
        for chars, escape in (*known, *_BREAK_ESCAPES, *_OPTIONAL_ESCAPES):
            replaced = text.replace(escape, chars)
            if len(replaced) < len(text) and chars in _OPTIONALLY_ESCAPED:
                spellings.setdefault(chars, escape)
            text = replaced
            if b"\\" not in text:
                return text, JsonEscapes(spellings)
        # Another escape, or an escaped backslash before what looks like one of these.
        raise NotStrictBase64Error


def without_open_escape(raw: bytes) -> tuple[bytes, bytes]:
    """Return the bytes before an escape that may be incomplete at their end, and that escape."""
    found = raw.find(b"\\", max(0, len(raw) - _LONGEST_ESCAPE))
    return (raw, b"") if found < 0 else (raw[:found], raw[found:])


def raw_head_end(raw: bytes) -> int:
    """Return where the base64 of a data URI begins in the raw JSON of a string; 0 if it is none.

    Args:
        raw: The beginning of what stands between the quotation marks.

    Raises:
        NotStrictBase64Error: It begins as a data URI and cannot be read as JSON.
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


# Whole quads, and more than anybody looks at before taking a string for what it is.
_KEPT_CHARS = 4_096
# Whole quads.
_PIECE_BYTES = 3 * 256 * 1024
# Bytes that no readable text has: a placeholder is as unreadable as what it stands for.
_UNREADABLE = bytes(3)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")


class Draft(Protocol):
    """Bytes that are kept aside while a text is read. Its methods may block and raise."""

    @property
    def size_bytes(self) -> int:
        """How many bytes it has by now."""

    def digest(self) -> str:
        """Return the SHA-256 of what it has by now, as 64 hex digits."""

    def append(self, data: bytes) -> None:
        """Keep the next bytes."""

    def rest(self) -> None:
        """Let go of what it is kept in until it is needed again."""

    def read(self, start: int, size_bytes: int) -> bytes:
        """Return bytes from `start` on, fewer than asked only at the end."""


DraftT = TypeVar("DraftT", bound=Draft)


class LongString(Generic[DraftT]):
    """One string, read from its first character to its last. Blocks; one thread at a time.

    Args:
        head: The raw JSON of what comes before the base64: the head of a data URI, or nothing.
        draft: Takes the bytes.
    """

    def __init__(self, head: bytes, draft: DraftT) -> None:
        self._head = head
        self.draft = draft
        self._lines = Base64Lines()
        self._escapes = JsonEscapes()
        self._last_bytes = 0
        self.raw_bytes = len(head)
        """How much raw JSON was taken."""
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._is_readable = True

    @property
    def must_be_text(self) -> bool:
        """Return whether the string has to be seen whole.

        What base64 of readable text means depends on all of it; and of a line that has no equal
        it cannot be said how long it would be.
        """
        return self._is_readable or self._lines.line_lengths == (0, 0)

    @property
    def plain_spelling(self) -> tuple[bool, bool] | None:
        """Return whether it has the URL-safe alphabet, and whether padding; after its end only.

        `None` if the head and the bytes do not give its text back.
        """
        start = self.draft.size_bytes - self._last_bytes
        return self._lines.plain_spelling(self.draft.read(start, self._last_bytes))

    def take(self, raw: bytes) -> None:
        """Decode and keep what follows, raw JSON with whole escapes.

        Raises:
            NotStrictBase64Error: It is no base64 after all, or could not be written again as it
                is; nothing of it was kept.
            PayloadTooLargeError: It is larger than a medium may be.
            StoreUnavailableError: It cannot be kept.
        """
        text, escapes = self._escapes.read(raw)
        decoded = self._lines.take(text)
        self._escapes = escapes
        self.raw_bytes += len(raw)
        self._keep(decoded)

    def take_plain(self, data: bytes, start: int, end: int) -> bool:
        """Take the data from `start` to `end` if it is nothing but base64; says whether it was.

        What is not may be anything: an escape, a break, the end of the string. Then nothing was
        done, and it is for those to look at who find out.

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
        """Keep what is left at the end.

        Raises:
            NotStrictBase64Error: The end is not that of base64; nothing of it was kept.
            Exception: As `take`.
        """
        last = self._lines.finish()
        self._keep(last, is_end=True)
        self._last_bytes = len(last)
        self.draft.rest()

    def raw(self) -> bytes:
        """Return the raw JSON taken so far, byte for byte."""
        whole = self.draft.read(0, self.draft.size_bytes - self._last_bytes)
        return self._written(pybase64.b64encode(whole))

    def abandoned(self) -> Iterator[bytes]:
        """Close the draft and give the raw JSON taken so far in pieces; nothing can be taken then.

        One piece only where there are line breaks: where they are depends on what is before them.
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
        """Return what no string of other raw JSON has: its head, its digest, how it is spelled.

        Earlier versions knew bodies by it. Raw JSON has no NUL, so nothing else in a body can pass
        for it.
        """
        spelled = f"{self.draft.digest()} {self._lines.spelling}".encode()
        escaped = b" " + self._escapes.escaped if self._escapes.escaped else b""
        return b"\0%b %b%b\0" % (self._head, spelled, escaped)

    def name(self) -> str:
        """Return the name of its text, see `identity`; after its end only."""
        # There may be more, of a head and of line breaks.
        least_chars = self.draft.size_bytes // 3 * 4
        if least_chars < NAMED_CHARS:
            text: str = json.loads(b'"%b"' % self.raw())
            return name_of_text(text)
        head: str = json.loads(b'"%b"' % self._head)
        return name_of_base64(head, self._lines.form, self.draft.digest())

    def placeholder(self, mark: bytes) -> Placeholder | None:
        """Return a short text in the place of this one; `None` if it is too short for that."""
        size_bytes = self.draft.size_bytes
        chars = (size_bytes - self._last_bytes) // 3 * 4
        first, others = self._lines.line_lengths or (0, 4)
        end = first + _up(max(_KEPT_CHARS - first, 0), others)
        start = first + (chars - first - _KEPT_CHARS) // others * others
        if start < end:
            return None
        middle_chars = _up(len(mark) // 3 * 4 + 4, others)
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
