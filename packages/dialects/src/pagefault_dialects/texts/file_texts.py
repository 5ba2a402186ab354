"""Texts of files in messages: whole up to a length, else both ends; without base64.

Of a large file only the ends are read, whatever its size.
"""

import re
from dataclasses import dataclass

from pagefault_dialects.media.base64_runs import find_runs
from pagefault_dialects.media.legacy_charsets import TextDecoder, charset_name, decode_any_text
from pagefault_dialects.media.types import sniff
from pagefault_dialects.text_windows import is_wide, text_decoder
from pagefault_dialects.texts.cuts import (
    HEAD_CHARS,
    TAIL_CHARS,
    boundary_at_or_after,
    boundary_at_or_before,
)

MAX_WHOLE_BYTES = 1 << 20
"""Larger files are not read as a whole."""
HEAD_BYTES = 1 << 16
"""The number of first bytes that are read instead."""
TAIL_BYTES = 1 << 14
"""The number of last bytes that are read instead."""

# Enough for the signatures of archives, images and the like.
_SNIFFED_BYTES = 512
# No word and no number has this length.
_CUT_RUN = re.compile(r"[A-Za-z0-9+/=_-]{128,}+")
_MARKS = {"utf-16": 2, "utf-32": 4}
_MAX_CONTINUED = 3


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file.

    If it is too long, `text` is its beginning, `tail` its end, and `rest` the amount between them.
    `charset` is its legacy charset, and `base64_runs` the number of base64 files that were removed.
    """

    text: str
    charset: str = ""
    tail: str = ""
    rest: str = ""
    base64_runs: int = 0

    def abridged(self, reading_call: str) -> str:
        """Return the text; if it is too long, its ends around a line about the rest.

        Args:
            reading_call: The call that returns all of it; empty if there is none.
        """
        if not self.rest:
            return self.text
        shows = f"; {reading_call} shows all of it" if reading_call else ""
        return f"{self.text}\n[… {self.rest} left out{shows} …]\n{self.tail}"


def read_file_text(data: bytes, declared_type: str | None, max_chars: int) -> FileText | None:
    """Return the text of a file that was read as a whole; `None` for other files.

    Args:
        data: All bytes.
        declared_type: The declared MIME type, perhaps with a charset.
        max_chars: The most characters of an unabridged text.
    """
    decoded = decode_any_text(data, declared_type)
    if decoded is None:
        return None
    text, runs = _without_base64(decoded.text)
    if len(text) <= max_chars:
        return FileText(text, decoded.charset, base64_runs=runs)
    head, tail = _head(text), _tail(text)
    rest = f"{len(text) - len(head) - len(tail)} characters"
    return FileText(head, decoded.charset, tail, rest, runs)


def read_file_ends(
    head: bytes, tail: bytes, declared_type: str | None, rest: str
) -> FileText | None:
    """Return the ends of the text of a large file; `None` if it is no text.

    Args:
        head: Its first `HEAD_BYTES` bytes.
        tail: Its last `TAIL_BYTES` bytes.
        declared_type: The declared MIME type, perhaps with a charset.
        rest: The amount between them.
    """
    decoder = TextDecoder(declared_type)
    first = decoder.decode(head)
    if not _is_text(first):
        return None
    encoding = decoder.encoding
    if is_wide(encoding):
        # The mark determines the byte order; characters begin at multiples of their width.
        width = _MARKS[encoding]
        last = text_decoder(encoding).decode(head[:width] + tail[len(tail) % width :], final=True)
    elif decoder.is_final:
        last = text_decoder(encoding).decode(tail, final=True)
    else:
        ending = TextDecoder(declared_type if first.isascii() else None)
        last = ending.decode(_whole_characters(tail), final=True)
        encoding = ending.encoding if first.isascii() else encoding
    first, runs = _without_base64(first)
    last, more_runs = _without_base64(last)
    if cut := _CUT_RUN.match(last):
        # It belongs to the omitted part.
        last = last[cut.end() :]
    return FileText(_head(first), charset_name(encoding), _tail(last), rest, runs + more_runs)


def _head(text: str) -> str:
    return text[: boundary_at_or_before(text, HEAD_CHARS)]


def _tail(text: str) -> str:
    return text[boundary_at_or_after(text, max(0, len(text) - TAIL_CHARS)) :]


def _is_text(text: str) -> bool:
    """Return whether nearly all bytes are valid in the charset."""
    return "\0" not in text and text.count("\ufffd") * 10 <= len(text)


def _whole_characters(data: bytes) -> bytes:
    """Return bytes of UTF-8 without a partial character at their beginning."""
    start = 0
    while start < _MAX_CONTINUED and data[start : start + 1] and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


def _without_base64(text: str) -> tuple[str, int]:
    """Return a text with a mark for each base64 file, and the number of these."""
    pieces: list[str] = []
    end = count = 0
    for run in find_runs(text, 0, len(text)):
        mark = f"[base64 of {sniff(run.data[:_SNIFFED_BYTES]) or 'a file'} left out]"
        pieces += text[end : run.start], mark
        end, count = run.end, count + 1
    return "".join([*pieces, text[end:]]), count
