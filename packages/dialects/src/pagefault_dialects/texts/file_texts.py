"""Texts of files for messages of renderings, without base64.

A text up to a given length is written as a whole. Of a longer text only the beginning and the end
are written, and of a large file only these are read.
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
# A run of this length is no word and no number: it is the rest of base64 that was cut.
_CUT_BASE64 = re.compile(r"[A-Za-z0-9+/=_-]{128,}+")
_MARK_BYTES = {"utf-16": 2, "utf-32": 4}
_MAX_PARTIAL_BYTES = 3


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, or the beginning and the end of a long text."""

    text: str
    """The whole text, or its beginning."""
    charset: str = ""
    """The legacy charset of the file; empty for UTF-8 and UTF-16."""
    tail: str = ""
    """The end of a long text."""
    rest: str = ""
    """The amount of text between beginning and end in words; empty for a whole text."""
    base64_runs: int = 0
    """The number of files in base64 that were replaced by marks."""

    def abridge(self, reading_call: str) -> str:
        """Return the text; for a long text its ends around a line about the text between.

        Args:
            reading_call: The call of a tool that returns the whole text, for the line; empty if
                there is none.
        """
        if not self.rest:
            return self.text
        shows = f"; {reading_call} shows all of it" if reading_call else ""
        return f"{self.text}\n[… {self.rest} left out{shows} …]\n{self.tail}"


def read_file_text(data: bytes, declared_type: str | None, max_chars: int) -> FileText | None:
    """Return the text of a file that was read as a whole; `None` if it is not text.

    Args:
        data: All bytes.
        declared_type: The declared MIME type, perhaps with a charset.
        max_chars: The length up to which the whole text is returned.
    """
    decoded = decode_any_text(data, declared_type)
    if decoded is None:
        return None
    text, runs = _replace_base64(decoded.text)
    if len(text) <= max_chars:
        return FileText(text, decoded.charset, base64_runs=runs)
    head, tail = _take_head(text), _take_tail(text)
    rest = f"{len(text) - len(head) - len(tail)} characters"
    return FileText(head, decoded.charset, tail, rest, runs)


def read_file_ends(
    head: bytes, tail: bytes, declared_type: str | None, rest: str
) -> FileText | None:
    """Return the beginning and the end of a large file's text; `None` if it is not text.

    Args:
        head: The first `HEAD_BYTES` bytes.
        tail: The last `TAIL_BYTES` bytes.
        declared_type: The declared MIME type, perhaps with a charset.
        rest: The amount of text between them in words.
    """
    decoder = TextDecoder(declared_type)
    first = decoder.decode(head)
    if not _is_text(first):
        return None
    encoding = decoder.encoding
    if is_wide(encoding):
        # The byte order mark is copied from the beginning. Characters begin at multiples of their
        # width.
        width = _MARK_BYTES[encoding]
        last = text_decoder(encoding).decode(head[:width] + tail[len(tail) % width :], final=True)
    elif decoder.is_final:
        last = text_decoder(encoding).decode(tail, final=True)
    else:
        ending = TextDecoder(declared_type if first.isascii() else None)
        last = ending.decode(_skip_partial_character(tail), final=True)
        encoding = ending.encoding if first.isascii() else encoding
    first, runs = _replace_base64(first)
    last, more_runs = _replace_base64(last)
    if cut := _CUT_BASE64.match(last):
        # The base64 began in the text that is left out.
        last = last[cut.end() :]
    return FileText(
        _take_head(first), charset_name(encoding), _take_tail(last), rest, runs + more_runs
    )


def _take_head(text: str) -> str:
    return text[: boundary_at_or_before(text, HEAD_CHARS)]


def _take_tail(text: str) -> str:
    return text[boundary_at_or_after(text, max(0, len(text) - TAIL_CHARS)) :]


def _is_text(text: str) -> bool:
    """Return whether a decoded text has no NUL, and hardly any invalid bytes."""
    return "\0" not in text and text.count("\ufffd") * 10 <= len(text)


def _skip_partial_character(data: bytes) -> bytes:
    """Return bytes of UTF-8 without a partial character at their beginning."""
    start = 0
    while start < _MAX_PARTIAL_BYTES and data[start : start + 1] and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


def _replace_base64(text: str) -> tuple[str, int]:
    """Return a text with a mark in place of each file in base64, and the number of marks."""
    pieces: list[str] = []
    end = count = 0
    for run in find_runs(text, 0, len(text)):
        mark = f"[base64 of {sniff(run.data[:_SNIFFED_BYTES]) or 'a file'} left out]"
        pieces += text[end : run.start], mark
        end, count = run.end, count + 1
    return "".join([*pieces, text[end:]]), count
