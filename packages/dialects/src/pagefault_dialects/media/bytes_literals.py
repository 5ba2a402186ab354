r"""Find Python's literals of bytes, such as `b'\x89PNG\r\n…'`, in texts.

They occur in results of tools that call `str` on bytes, or on a list or an object with bytes. Only
literals that begin with the signature of a file format count. They have to be spelled as `repr`
spells them: printable ASCII characters, the escapes of bytes, and escaped quotation marks. Other
literals are left as text. The search ends after a thousand other literals, since reading each takes
time.
"""

import re
from collections.abc import Iterator

from pagefault_dialects.media.base64_runs import EncodedRun, decode_undeclared
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS, decode_base64
from pagefault_dialects.media.data_uris import split_data_uri
from pagefault_dialects.media.types import STRONG_SIGNATURE_STARTS, is_strong_signature
from pagefault_dialects.text_windows import WINDOW_CHARS, search_windows

_START = re.compile(r"(?<![\w\\])b(['\"])")
# A text may be full of literals, so only those that begin like a file are read.
_SIGNATURES = "|".join(re.escape(repr(start)[2:-1]) for start in sorted(STRONG_SIGNATURE_STARTS))
_FILE_START = re.compile(rf"{_START.pattern}(?={_SIGNATURES})")
_START_CHARS = 12
_MAX_MISSES = 1_000
# The start in a JSON text, where quotation marks are escaped. A member "web" or "b" does not match.
_START_IN_JSON = re.compile(r"(?<!\w)b(?:'|\\\")")
_ESCAPE = r"\\(?:x[0-9a-f]{2}|[\\'\"nrt])"
_BODIES = {
    "'": re.compile(rf"(?:[ !-&(-\[\]-~]++|{_ESCAPE})*+"),
    '"': re.compile(rf"(?:[ !#-\[\]-~]++|{_ESCAPE})*+"),
}
_HEAD_CHARS = 256
# The least size; undeclared base64 has the same limit. A shorter literal is an example in a text.
_MIN_BYTES = CERTAIN_BASE64_CHARS * 3 // 4


def decode_bytes_literal(text: str, *, is_declared: bool = False) -> bytes | None:
    """Return the bytes of a text that is a single literal; `None` for other texts.

    Where a type is declared, a literal may have the base64 or the data URI of a file in place of
    its bytes.

    Args:
        text: Any text.
        is_declared: Whether a MIME type is declared, so that no signature is needed.
    """
    body = text.strip()
    start = _START.match(body)
    run = _read_literal(body, start, is_declared=is_declared) if start else None
    if run is None or run.end != len(body):
        return None
    return (_decode_encoded(run.data) if is_declared else None) or run.data


def _decode_encoded(data: bytes) -> bytes | None:
    """Return the bytes of a data URI, or of the base64 of a file; `None` for other data."""
    text = data.decode("latin-1")
    uri = split_data_uri(text)
    return decode_undeclared(text) if uri is None else uri.data


def decode_declared_text(text: str) -> bytes | None:
    """Return the bytes of a text that is declared as a medium; `None` if it has no bytes.

    The text is base64, in which slashes may be escaped as in JSON, or a literal.
    """
    data = decode_base64(text.replace("\\/", "/"))
    return data or decode_bytes_literal(text, is_declared=True)


def may_hold_bytes_literal(text: str) -> bool:
    """Return whether a JSON text may have a literal in one of its strings. Fast."""
    return search_windows(_START_IN_JSON, text, 0, len(text), reach=_START_CHARS) is not None


def find_bytes_literals(text: str) -> Iterator[EncodedRun]:
    """Yield the literals in a text that begin with the signature of a file, in order."""
    position = misses = 0
    while misses < _MAX_MISSES and (
        found := search_windows(_FILE_START, text, position, len(text), reach=_START_CHARS)
    ):
        run = _read_literal(text, found)
        if run:
            yield run
        misses += run is None
        position = run.end if run else found.end()


def _read_literal(
    text: str, start: re.Match[str], *, is_declared: bool = False
) -> EncodedRun | None:
    quote, end = start[1], start.end()
    head = _BODIES[quote].match(text, end, end + _HEAD_CHARS)
    if not is_declared and (head is None or not is_strong_signature(_decode_body(head))):
        return None
    pieces: list[bytes] = []
    # An escape that the end of a window cuts is read with the next window.
    while (piece := _BODIES[quote].match(text, end, end + WINDOW_CHARS)) and piece.end() > end:
        pieces.append(_decode_body(piece))
        end = piece.end()
    data = b"".join(pieces)
    is_whole = text.startswith(quote, end) and (is_declared or len(data) >= _MIN_BYTES)
    return EncodedRun(start.start(), end + 1, data) if is_whole else None


def _decode_body(body: re.Match[str]) -> bytes:
    return body.group().encode("ascii").decode("unicode_escape").encode("latin-1")
