"""Detect and decode texts in legacy charsets, such as windows-1252 or Shift_JIS.

Bytes with control characters that texts do not have are not text. A declared charset is tried
first. If it does not fit, the charset is chosen in which the text looks most like words. If several
charsets are equally likely, the text is not decoded, since a wrong charset changes its meaning.
"""

import codecs
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pagefault_dialects.text_windows import UTF_8, decode_text, text_decoder, text_encoding

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

# Python's names of common charsets, with their names in MIME.
_NAMES_BY_ENCODING = MappingProxyType(
    {
        "cp1252": "windows-1252",
        "cp1250": "windows-1250",
        "cp1251": "windows-1251",
        "cp1253": "windows-1253",
        "cp1254": "windows-1254",
        "cp1255": "windows-1255",
        "cp1256": "windows-1256",
        "koi8_r": "KOI8-R",
        "cp932": "Shift_JIS",
        "euc_jp": "EUC-JP",
        "gb18030": "GB18030",
        "big5": "Big5",
        "cp949": "EUC-KR",
    }
)
_SAMPLE_BYTES = 32_768
_BYTES_BEFORE = 256
_LONGEST_NAME = 40
_WESTERN, _CENTRAL = "cp1252", "cp1250"
# Windows-1250 is preferred to windows-1252 only if its coherence is better by more than this.
_MIN_COHERENCE_GAIN = 0.1
# Of equally likely charsets, one is chosen if it has more than this many times the lower-case
# letters of the next one.
_MIN_LOWER_CASE_RATIO = 2
_CHARSET = re.compile(r";\s*charset=\"?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
# Control characters that texts do not have: all but tabs, line and page ends, and escapes.
_CONTROL_BYTE = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_NON_ASCII_BYTE = re.compile(rb"[\x80-\xff]")
_IMPLAUSIBLE_CHARACTER = re.compile("[\x80-\x84\x86-\x9f\ufffd\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class LegacyText:
    """A decoded text."""

    text: str
    charset: str
    """The name of its charset in MIME; empty for UTF-8 and UTF-16."""


def decode_any_text(data: bytes, declared_type: str | None = None) -> LegacyText | None:
    """Return bytes decoded from UTF-8, UTF-16 or a legacy charset; `None` if they are not text.

    Args:
        data: All bytes.
        declared_type: The declared MIME type, perhaps with a charset.
    """
    text = decode_text(data)
    if _is_unicode(text):
        return LegacyText(text, "")
    return decode_legacy_text(data, _declared_charset(declared_type))


def _is_unicode(text: str) -> bool:
    """Return whether a decoded text was UTF-8, perhaps with some damaged characters.

    If it was in another charset, hardly any of its characters outside of ASCII are valid UTF-8.
    """
    damaged = text.count("\ufffd")
    return damaged == 0 or len(text) - len(text.encode("ascii", "ignore")) > 2 * damaged


def _declared_charset(declared_type: str | None) -> str | None:
    declared = _CHARSET.search(declared_type or "")
    return declared[1] if declared else None


def decode_legacy_text(data: bytes, declared: str | None = None) -> LegacyText | None:
    """Return bytes decoded from a legacy charset; `None` if no charset fits.

    Args:
        data: All bytes.
        declared: The declared charset, if any.
    """
    if not data or _CONTROL_BYTE.search(data):
        return None
    encoding = _look_up_encoding(declared) if declared else None
    if (
        encoding is not None
        and (text := _decode_strictly(data, encoding, is_whole=True)) is not None
    ):
        return LegacyText(text, _NAMES_BY_ENCODING.get(encoding, declared or encoding))
    encoding = _detect_encoding(_take_sample(data))
    if encoding is None or (text := _decode_strictly(data, encoding, is_whole=True)) is None:
        return None
    return LegacyText(text, _NAMES_BY_ENCODING[encoding])


class TextDecoder:
    """An incremental decoder of texts in any charset.

    It begins with UTF-8, or with the encoding of a byte order mark. At the first bytes that are not
    valid UTF-8, it detects the charset if all bytes before them were ASCII. If they were not, or no
    charset fits, invalid bytes become U+FFFD.

    Args:
        declared_type: The declared MIME type, perhaps with a charset.
    """

    def __init__(self, declared_type: str | None = None) -> None:
        self._declared_charset_name = _declared_charset(declared_type)
        self._decoder: codecs.IncrementalDecoder | None = None
        # The last bytes of the text so far; `None` once there were characters outside of ASCII.
        self._ascii_before: bytes | None = b""
        self.encoding = UTF_8
        """The current encoding, by its name in `codecs`."""
        self.is_encoding_fixed = False
        """True once `encoding` cannot change any more."""

    def decode(self, data: bytes, *, final: bool = False) -> str:
        """Return the characters that the next bytes complete.

        Args:
            data: The next bytes; at the first call at least four, unless the text is shorter.
            final: True for the last bytes.
        """
        if self._decoder is None:
            self.encoding = text_encoding(data[:4])
            self.is_encoding_fixed = self.encoding != UTF_8
            self._decoder = text_decoder(
                self.encoding, "replace" if self.is_encoding_fixed else "strict"
            )
            if data.startswith(codecs.BOM_UTF8):
                self._ascii_before = None
        try:
            text = self._decoder.decode(data, final)
        except UnicodeDecodeError:
            return self._switch_charset(self._decoder.getstate()[0] + data, final=final)
        if self._ascii_before is not None:
            before = self._ascii_before + text[-_BYTES_BEFORE:].encode()
            self._ascii_before = before[-_BYTES_BEFORE:] if text.isascii() else None
        return text

    def _switch_charset(self, rest: bytes, *, final: bool) -> str:
        """Decode bytes that are not valid UTF-8, and all further bytes, in the final encoding."""
        found = None
        if self._ascii_before is not None and not _is_unicode(rest.decode("utf-8", "replace")):
            found = _choose_encoding(self._ascii_before + rest, self._declared_charset_name)
        self.encoding, self.is_encoding_fixed = found or UTF_8, True
        # `UTF_8` skips a byte order mark, which only the first bytes have.
        unicode = UTF_8 if rest.startswith(codecs.BOM_UTF8) else "utf-8"
        self._decoder = text_decoder(found or unicode)
        return self._decoder.decode(rest, final)


def charset_name(encoding: str) -> str:
    """Return the name in MIME of a legacy charset; `""` for UTF-8 and UTF-16.

    Args:
        encoding: Python's name, such as `TextDecoder.encoding`.
    """
    return "" if encoding.startswith("utf") else _NAMES_BY_ENCODING.get(encoding, encoding)


def _choose_encoding(data: bytes, declared: str | None) -> str | None:
    """Return Python's name of the legacy charset of the beginning of a text, if one fits."""
    if _CONTROL_BYTE.search(data):
        return None
    sample = _take_sample(data)
    encoding = _look_up_encoding(declared) if declared else None
    if encoding is not None and _decode_strictly(sample, encoding) is not None:
        return encoding
    encoding = _detect_encoding(sample)
    return encoding if encoding and _decode_strictly(sample, encoding) is not None else None


def _look_up_encoding(declared: str) -> str | None:
    """Return Python's name of a declared charset; `None` if it is unknown."""
    if len(declared) > _LONGEST_NAME or not declared.isascii():
        return None
    try:
        found = codecs.lookup(declared)
        "".encode(found.name)
    except (LookupError, ValueError):
        # Python also has codecs that are not charsets, such as `hex`.
        return None
    # Like browsers, decode ISO-8859-1 and ASCII as windows-1252, which has more characters.
    return _WESTERN if found.name in ("iso8859-1", "ascii") else found.name.replace("-", "_")


def _decode_strictly(data: bytes, encoding: str, *, is_whole: bool = False) -> str | None:
    """Return decoded bytes; `None` if they are invalid, or have characters that texts do not have.

    Args:
        data: The bytes.
        encoding: Python's name of the encoding.
        is_whole: Whether an incomplete character at the end is invalid.
    """
    try:
        text = text_decoder(encoding, "strict").decode(data, is_whole)
    except (UnicodeError, LookupError):
        return None
    return None if _IMPLAUSIBLE_CHARACTER.search(text) else text


def _take_sample(data: bytes) -> bytes:
    """Return bytes around the first byte that is not ASCII, up to the end of a word or line."""
    first = _NON_ASCII_BYTE.search(data)
    start = max(0, first.start() - _BYTES_BEFORE) if first else 0
    if len(data) - start <= _SAMPLE_BYTES:
        return data[start:]
    sample = data[start : start + _SAMPLE_BYTES]
    end = max(sample.rfind(b" "), sample.rfind(b"\n"))
    return sample[:end] if end > 0 else sample


def _detect_encoding(sample: bytes) -> str | None:
    """Return Python's name of the most likely charset; `None` if several are equally likely."""
    # Imported on first use, since few texts need it.
    from charset_normalizer import from_bytes  # noqa: PLC0415

    matches = from_bytes(sample, cp_isolation=[*_NAMES_BY_ENCODING])
    best = matches.best()
    if best is None:
        return None
    western = next((match for match in matches if _may_be_western(match)), None)
    if western is not None and _is_western_preferred(best, western):
        return _WESTERN
    candidates = [
        match
        for match in matches
        if match.chaos == best.chaos and match.coherence >= best.coherence
    ]
    return _choose_by_lower_case(candidates) if len(candidates) > 1 else best.encoding


def _may_be_western(match: "CharsetMatch") -> bool:
    return match.encoding == _WESTERN or _WESTERN in match.could_be_from_charset


def _is_western_preferred(best: "CharsetMatch", western: "CharsetMatch") -> bool:
    """Return whether a text is decoded as windows-1252 instead of the best match.

    Windows-1250 has most letters of windows-1252, but is rarer, so it has to be clearly better.
    """
    if western is best:
        return True
    is_better = best.coherence - western.coherence > _MIN_COHERENCE_GAIN
    return best.encoding == _CENTRAL and not is_better


def _choose_by_lower_case(candidates: "list[CharsetMatch]") -> str | None:
    """Return the charset in which clearly more letters are lower case than in others, if any."""
    counts = sorted((sum(map(str.islower, str(item))), item.encoding) for item in candidates)
    (second_count, _), (first_count, encoding) = counts[-2:]
    return encoding if first_count > _MIN_LOWER_CASE_RATIO * second_count else None
