"""Reads the texts of files that are rendered for a model, without the base64 in them.

A text up to a given length is rendered as a whole. Of a longer text, only the beginning and the end
are rendered, and of a large file, only these are read.
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
    find_boundary_after,
    find_boundary_before,
)

MAX_WHOLE_BYTES = 1 << 20
"""The size up to which a file is read as a whole."""
HEAD_BYTES = 1 << 16
"""The number of bytes that are read from the beginning of a larger file."""
TAIL_BYTES = 1 << 14
"""The number of bytes that are read from the end of a larger file."""

# Enough for the signatures of archives, images and the like.
_SNIFFED_BYTES = 512
# A run of this length is not a word or a number: it is the end of base64 whose beginning was left
# out.
_CUT_BASE64 = re.compile(r"[A-Za-z0-9+/=_-]{128,}+")
# The length of the byte order mark in bytes, which is also the size of a code unit.
_MARK_BYTES = {"utf-16": 2, "utf-32": 4}
# A character of UTF-8 has at most so many bytes after its first byte.
_MAX_PARTIAL_BYTES = 3


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, or the beginning and the end of a long text."""

    text: str
    """The whole text, or its beginning."""
    charset: str = ""
    """The legacy charset of the file; empty for UTF-8, UTF-16 and UTF-32."""
    tail: str = ""
    """The end of a long text."""
    left_out: str = ""
    """The amount of text between beginning and end, such as `900 characters`; empty for a whole
    text."""
    base64_runs: int = 0
    """The number of files in base64 that were replaced by placeholders, such as
    `[base64 of image/png left out]`."""

    def abridge(self, reading_call: str) -> str:
        """Return the text.

        A long text is returned as its beginning, a line with the amount that is left out, and its
        end.

        Args:
            reading_call: The call of a tool that returns the whole text. The line names this call.
                Empty if there is none.
        """
        if not self.left_out:
            return self.text
        shows = f"; {reading_call} shows all of it" if reading_call else ""
        return f"{self.text}\n[… {self.left_out} left out{shows} …]\n{self.tail}"


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
    left_out = f"{len(text) - len(head) - len(tail)} characters"
    return FileText(head, decoded.charset, tail, left_out, runs)


def read_file_ends(
    head: bytes, tail: bytes, declared_type: str | None, left_out: str
) -> FileText | None:
    """Return the beginning and the end of a large file's text; `None` if it is not text.

    Args:
        head: The first `HEAD_BYTES` bytes.
        tail: The last `TAIL_BYTES` bytes.
        declared_type: The declared MIME type, perhaps with a charset.
        left_out: The amount of text between them, such as `3.1 MB`.
    """
    decoder = TextDecoder(declared_type)
    first = decoder.decode(head)
    if not _is_text(first):
        return None
    encoding = decoder.encoding
    if is_wide(encoding):
        # The decoder needs the byte order mark, which only the beginning has. The tail may begin in
        # the middle of a code unit, whose other bytes are skipped.
        unit_bytes = _MARK_BYTES[encoding]
        whole_units = tail[len(tail) % unit_bytes :]
        last = text_decoder(encoding).decode(head[:unit_bytes] + whole_units, final=True)
    elif decoder.is_encoding_fixed:
        last = text_decoder(encoding).decode(tail, final=True)
    else:
        # ASCII at the beginning does not decide between UTF-8 and the legacy charsets. Other
        # characters have shown that the file is UTF-8, so its declared charset is ignored.
        tail_decoder = TextDecoder(declared_type if first.isascii() else None)
        last = tail_decoder.decode(_skip_partial_character(tail), final=True)
        encoding = tail_decoder.encoding if first.isascii() else encoding
    first, runs = _replace_base64(first)
    last, more_runs = _replace_base64(last)
    if cut := _CUT_BASE64.match(last):
        # The base64 began in the text that is left out.
        last = last[cut.end() :]
    return FileText(
        _take_head(first), charset_name(encoding), _take_tail(last), left_out, runs + more_runs
    )


def _take_head(text: str) -> str:
    return text[: find_boundary_before(text, HEAD_CHARS)]


def _take_tail(text: str) -> str:
    return text[find_boundary_after(text, max(0, len(text) - TAIL_CHARS)) :]


def _is_text(text: str) -> bool:
    """Return whether decoded bytes were a text: no NUL, and at most a tenth of them invalid."""
    return "\0" not in text and text.count("\ufffd") * 10 <= len(text)


def _skip_partial_character(data: bytes) -> bytes:
    """Return bytes of UTF-8 without a partial character at their beginning."""
    start = 0
    while start < _MAX_PARTIAL_BYTES and data[start : start + 1] and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


def _replace_base64(text: str) -> tuple[str, int]:
    """Return a text with placeholders for the files in base64, and the number of these files."""
    pieces: list[str] = []
    end = count = 0
    for run in find_runs(text, 0, len(text)):
        placeholder = f"[base64 of {sniff(run.data[:_SNIFFED_BYTES]) or 'a file'} left out]"
        pieces += text[end : run.start], placeholder
        end, count = run.end, count + 1
    return "".join([*pieces, text[end:]]), count
