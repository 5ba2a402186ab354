"""Texts in legacy charsets: detected from their bytes, and decoded.

Bytes with control characters that texts do not have are not text. A declared charset is tried
first; otherwise the one in which the text looks most like words. If several look equally likely,
the text is not decoded, since the wrong charset changes its meaning.
"""

import codecs
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pagefault_dialects.text_windows import UTF_8, decode_text, text_decoder, text_encoding

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

# Common charsets, by Python's names, with their aliases.
_NAMES = MappingProxyType(
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
_CLEARLY_BETTER = 0.1
_FAR_MORE = 2
_CHARSET = re.compile(r";\s*charset=\"?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
# Control characters that texts do not have: all but tabs, line and page ends, and escapes.
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_NO_ASCII = re.compile(rb"[\x80-\xff]")
_NO_CHARACTER = re.compile("[\x80-\x84\x86-\x9f\ufffd\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class LegacyText:
    """A decoded text, and the name of its charset."""

    text: str
    charset: str


def decode_any_text(data: bytes, declared_type: str | None = None) -> LegacyText | None:
    """Return bytes decoded from UTF-8, UTF-16 or a legacy charset; `None` if they are no text.

    The charset is empty for those of Unicode.

    Args:
        data: All bytes.
        declared_type: The declared MIME type, perhaps with a charset.
    """
    text = decode_text(data)
    if _is_unicode(text):
        return LegacyText(text, "")
    return decode_legacy_text(data, _declared_charset(declared_type))


def _is_unicode(text: str) -> bool:
    """Return whether a text was UTF-8: few bytes of other charsets decode as UTF-8 by chance."""
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
    if not data or _NO_TEXT.search(data):
        return None
    encoding = _known_encoding(declared) if declared else None
    if encoding is not None and (text := _decoded(data, encoding, is_whole=True)) is not None:
        return LegacyText(text, _NAMES.get(encoding, declared or encoding))
    encoding = _found_encoding(_sample(data))
    if encoding is None or (text := _decoded(data, encoding, is_whole=True)) is None:
        return None
    return LegacyText(text, _NAMES[encoding])


class TextDecoder:
    """An incremental decoder of texts in any charset.

    It decodes UTF-8, unless a byte order mark says otherwise, until invalid bytes occur. If all
    bytes before them are ASCII, it detects the charset. Otherwise, or if none is found, invalid
    bytes become U+FFFD.

    Args:
        declared_type: The declared MIME type, perhaps with a charset.
    """

    def __init__(self, declared_type: str | None = None) -> None:
        self._declared = _declared_charset(declared_type)
        self._decoder: codecs.IncrementalDecoder | None = None
        self._before: bytes | None = b""
        self.encoding = UTF_8
        """The encoding as far as known, by a name of `codecs`."""
        self.is_settled = False
        """True once the encoding is final."""

    def decode(self, data: bytes, *, final: bool = False) -> str:
        """Return the characters that further bytes complete; the first call needs four bytes."""
        if self._decoder is None:
            self.encoding = text_encoding(data[:4])
            self.is_settled = self.encoding != UTF_8
            self._decoder = text_decoder(self.encoding, "replace" if self.is_settled else "strict")
            if data.startswith(codecs.BOM_UTF8):
                self._before = None
        try:
            text = self._decoder.decode(data, final)
        except UnicodeDecodeError:
            return self._decode_otherwise(self._decoder.getstate()[0] + data, final=final)
        if self._before is not None:
            is_ascii = text.isascii()
            self._before = (self._before + text[-_BYTES_BEFORE:].encode()) if is_ascii else None
            self._before = self._before and self._before[-_BYTES_BEFORE:]
        return text

    def _decode_otherwise(self, rest: bytes, *, final: bool) -> str:
        found = None
        if self._before is not None and not _is_unicode(rest.decode("utf-8", "replace")):
            found = _encoding_of(self._before + rest, self._declared)
        self.encoding, self.is_settled = found or UTF_8, True
        # An existing mark was read already, unless these are the first bytes.
        unicode = UTF_8 if rest.startswith(codecs.BOM_UTF8) else "utf-8"
        self._decoder = text_decoder(found or unicode)
        return self._decoder.decode(rest, final)


def charset_name(encoding: str) -> str:
    """Return Python's name of a legacy charset; `""` for those of Unicode."""
    return "" if encoding.startswith("utf") else _NAMES.get(encoding, encoding)


def _encoding_of(data: bytes, declared: str | None) -> str | None:
    """Return the legacy charset of the beginning of a text, if one fits."""
    if _NO_TEXT.search(data):
        return None
    sample = _sample(data)
    encoding = _known_encoding(declared) if declared else None
    if encoding is not None and _decoded(sample, encoding) is not None:
        return encoding
    encoding = _found_encoding(sample)
    return encoding if encoding and _decoded(sample, encoding) is not None else None


def _known_encoding(declared: str) -> str | None:
    """Return Python's name of a text encoding."""
    if len(declared) > _LONGEST_NAME or not declared.isascii():
        return None
    try:
        found = codecs.lookup(declared)
        "".encode(found.name)
    except (LookupError, ValueError):
        # Python has codecs that are no text encodings, such as `hex`.
        return None
    # Browsers decode both as the wider one, which is what senders mean.
    return _WESTERN if found.name in ("iso8859-1", "ascii") else found.name.replace("-", "_")


def _decoded(data: bytes, encoding: str, *, is_whole: bool = False) -> str | None:
    try:
        text = text_decoder(encoding, "strict").decode(data, is_whole)
    except (UnicodeError, LookupError):
        return None
    return None if _NO_CHARACTER.search(text) else text


def _sample(data: bytes) -> bytes:
    """Return a sample around the first bytes that are not ASCII, up to the end of a word.

    It ends between characters.
    """
    first = _NO_ASCII.search(data)
    start = max(0, first.start() - _BYTES_BEFORE) if first else 0
    if len(data) - start <= _SAMPLE_BYTES:
        return data[start:]
    sample = data[start : start + _SAMPLE_BYTES]
    end = max(sample.rfind(b" "), sample.rfind(b"\n"))
    return sample[:end] if end > 0 else sample


def _found_encoding(sample: bytes) -> str | None:
    # Imported on first use: few texts need it.
    from charset_normalizer import from_bytes  # noqa: PLC0415

    matches = from_bytes(sample, cp_isolation=[*_NAMES])
    best = matches.best()
    if best is None:
        return None
    western = next((match for match in matches if _may_be_western(match)), None)
    if western is not None and _is_central_or_equal(best, western):
        return _WESTERN
    alike = [
        match
        for match in matches
        if match.chaos == best.chaos and match.coherence >= best.coherence
    ]
    return _clearest(alike) if len(alike) > 1 else best.encoding


def _may_be_western(match: "CharsetMatch") -> bool:
    return match.encoding == _WESTERN or _WESTERN in match.could_be_from_charset


def _is_central_or_equal(best: "CharsetMatch", western: "CharsetMatch") -> bool:
    """Return whether the more common of two charsets with the same letters is good enough."""
    if western is best:
        return True
    is_better = best.coherence - western.coherence > _CLEARLY_BETTER
    return best.encoding == _CENTRAL and not is_better


def _clearest(alike: "list[CharsetMatch]") -> str | None:
    """Return the charset in which far more letters are lower case than in all others, if any."""
    counts = sorted((sum(map(str.islower, str(item))), item.encoding) for item in alike)
    (second, _), (most, encoding) = counts[-2:]
    return encoding if most > _FAR_MORE * second else None
