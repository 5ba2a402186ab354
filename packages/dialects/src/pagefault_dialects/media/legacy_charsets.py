"""Texts in the charsets of before UTF-8: found by their bytes, and decoded.

Bytes with control characters that no text has are no text in any charset. A charset that is
declared is tried first; else the one is taken under which the text looks most like words. Where
several look the same, none is taken, since a text in a wrong charset says something else.
"""

import codecs
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pagefault_dialects.text_windows import decode_text

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

# What is common, by Python's names, and as they are called elsewhere.
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
_LONGEST_NAME = 40
_WESTERN, _CENTRAL = "cp1252", "cp1250"
_CLEARLY_BETTER = 0.1
_FAR_MORE = 2
_CHARSET = re.compile(r";\s*charset=\"?([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
# What no text has: controls, but for tabs, ends of lines and pages, and escapes of terminals.
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_NO_CHARACTER = re.compile("[\x80-\x84\x86-\x9f\ufffd\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class LegacyText:
    """A text, and the name of the charset that it was in."""

    text: str
    charset: str


def decode_any_text(data: bytes, declared_type: str | None = None) -> LegacyText | None:
    """Return the text that bytes are, in UTF-8 or UTF-16 or in a charset of before.

    The charset is empty where it is one of Unicode's. `None` if the bytes are no text.

    Args:
        data: All bytes.
        declared_type: The MIME type as the sender writes it, perhaps with a charset.
    """
    text = decode_text(data)
    if "\ufffd" not in text:
        return LegacyText(text, "")
    declared = _CHARSET.search(declared_type or "")
    return decode_legacy_text(data, declared[1] if declared else None)


def decode_legacy_text(data: bytes, declared: str | None = None) -> LegacyText | None:
    """Return the text that bytes are in a charset of before UTF-8; `None` if they are in none.

    Args:
        data: All bytes.
        declared: What the sender calls the charset, if anything.
    """
    if not data or _NO_TEXT.search(data):
        return None
    encoding = _known_encoding(declared) if declared else None
    if encoding is not None and (text := _decoded(data, encoding)) is not None:
        return LegacyText(text, _NAMES.get(encoding, declared or encoding))
    encoding = _found_encoding(_sample(data))
    if encoding is None or (text := _decoded(data, encoding)) is None:
        return None
    return LegacyText(text, _NAMES[encoding])


def _known_encoding(declared: str) -> str | None:
    """Return Python's name of an encoding of texts."""
    if len(declared) > _LONGEST_NAME or not declared.isascii():
        return None
    try:
        found = codecs.lookup(declared)
        "".encode(found.name)
    except (LookupError, ValueError):
        # Python has codecs that are no encodings of texts, such as `hex`.
        return None
    # Browsers read both as the wider one, and so do senders mean them.
    return _WESTERN if found.name in ("iso8859-1", "ascii") else found.name.replace("-", "_")


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except (UnicodeError, LookupError):
        return None
    return None if _NO_CHARACTER.search(text) else text


def _sample(data: bytes) -> bytes:
    """Return the beginning of a text, up to an end of a word, so that no character is cut."""
    if len(data) <= _SAMPLE_BYTES:
        return data
    sample = data[:_SAMPLE_BYTES]
    end = max(sample.rfind(b" "), sample.rfind(b"\n"))
    return sample[:end] if end > 0 else sample


def _found_encoding(sample: bytes) -> str | None:
    # Loaded where it is needed: few texts are in such a charset.
    from charset_normalizer import from_bytes  # noqa: PLC0415

    matches = from_bytes(sample, cp_isolation=[*_NAMES])
    best = matches.best()
    if best is None:
        return None
    western = next((each for each in matches if _may_be_western(each)), None)
    if western is not None and _is_central_or_equal(best, western):
        return _WESTERN
    alike = [each for each in matches if _is_alike(each, best)]
    return _clearest(alike) if len(alike) > 1 else best.encoding


def _may_be_western(match: "CharsetMatch") -> bool:
    return match.encoding == _WESTERN or _WESTERN in match.could_be_from_charset


def _is_central_or_equal(best: "CharsetMatch", western: "CharsetMatch") -> bool:
    """Return whether the more common of two charsets with the same letters will do."""
    if western is best:
        return True
    is_better = best.coherence - western.coherence > _CLEARLY_BETTER
    return best.encoding == _CENTRAL and not is_better


def _is_alike(match: "CharsetMatch", best: "CharsetMatch") -> bool:
    return match.chaos == best.chaos and match.coherence >= best.coherence


def _clearest(alike: "list[CharsetMatch]") -> str | None:
    """Return the charset in which far more letters are small ones than in all others, if any."""
    counts = sorted((sum(map(str.islower, str(each))), each.encoding) for each in alike)
    (second, _), (most, encoding) = counts[-2:]
    return encoding if most > _FAR_MORE * second else None
