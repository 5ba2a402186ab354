r"""Literals of bytes as Python writes them, `b'\x89PNG\r\n…'`, found within text.

A tool that calls `str` on a result has them in its texts, also within the text of a list or an
object. Only literals that begin with the signature of a file format count: others are prose. The
reader is strict, as `repr` is: the characters are ASCII and printable, escapes are those of bytes,
and the quotation mark is escaped within. A literal without an end stays text, and so does the rest
of a text after a thousand of them.
"""

import re
from collections.abc import Iterator

from pagefault_dialects.media.base64_runs import Run
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS
from pagefault_dialects.media.types import STRONG_SIGNATURE_STARTS, is_strong_signature
from pagefault_dialects.text_windows import WINDOW_CHARS, search_windows

_START = re.compile(r"(?<![\w\\])b(['\"])")
# A text may be full of starts; each has to look like the beginning of a file.
_SIGNATURES = "|".join(re.escape(repr(start)[2:-1]) for start in sorted(STRONG_SIGNATURE_STARTS))
_FILE_START = re.compile(rf"{_START.pattern}(?={_SIGNATURES})")
_START_CHARS = 12
_MAX_MISSES = 1_000
# In a JSON text, where quotation marks are escaped: no member "web" or "b" looks like it.
_START_IN_JSON = re.compile(r"(?<!\w)b(?:'|\\\")")
_ESCAPE = r"\\(?:x[0-9a-f]{2}|[\\'\"nrt])"
_BODIES = {
    "'": re.compile(rf"(?:[ !-&(-\[\]-~]++|{_ESCAPE})*+"),
    '"': re.compile(rf"(?:[ !#-\[\]-~]++|{_ESCAPE})*+"),
}
_HEAD_CHARS = 256
# As much as undeclared base64 needs. A shorter one is an example in prose.
_LEAST_BYTES = CERTAIN_BASE64_CHARS * 3 // 4


def decode_bytes_literal(text: str, *, is_declared: bool = False) -> bytes | None:
    """Return the bytes of a text that is one literal; `None` for other texts.

    Args:
        text: Any text.
        is_declared: Whether a type is declared; otherwise only the bytes of a known format count.
    """
    body = text.strip()
    start = _START.match(body)
    run = _literal_at(body, start, is_declared=is_declared) if start else None
    return run.data if run and run.end == len(body) else None


def may_hold_bytes_literal(text: str) -> bool:
    """Return whether a JSON text may have a literal in one of its strings."""
    return search_windows(_START_IN_JSON, text, 0, len(text), reach=_START_CHARS) is not None


def find_bytes_literals(text: str) -> Iterator[Run]:
    """Yield the literals of recognisable files in a text, in order."""
    position = misses = 0
    while misses < _MAX_MISSES and (
        found := search_windows(_FILE_START, text, position, len(text), reach=_START_CHARS)
    ):
        run = _literal_at(text, found)
        if run:
            yield run
        misses += run is None
        position = run.end if run else found.end()


def _literal_at(text: str, start: re.Match[str], *, is_declared: bool = False) -> Run | None:
    quote, end = start[1], start.end()
    head = _BODIES[quote].match(text, end, end + _HEAD_CHARS)
    if not is_declared and (head is None or not is_strong_signature(_decoded(head))):
        return None
    pieces: list[bytes] = []
    # An escape that the window cuts is read with the next one.
    while (piece := _BODIES[quote].match(text, end, end + WINDOW_CHARS)) and piece.end() > end:
        pieces.append(_decoded(piece))
        end = piece.end()
    data = b"".join(pieces)
    is_whole = text.startswith(quote, end) and (is_declared or len(data) >= _LEAST_BYTES)
    return Run(start.start(), end + 1, data) if is_whole else None


def _decoded(body: re.Match[str]) -> bytes:
    return body.group().encode("ascii").decode("unicode_escape").encode("latin-1")
