r"""The escapes of a base64 string in JSON, learnt while it is read so that it can be written again.

PHP writes `\/`, .NET `\u002B`, Gson `\u003d`. A writer spells one character the same way
throughout, so one spelling for each character is enough to give back the raw JSON of gigabytes. A
string whose raw JSON would not come back byte for byte is not read here.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from app.media.base64_text import NotStrictBase64Error
from app.media.data_uris import base64_head_end

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
