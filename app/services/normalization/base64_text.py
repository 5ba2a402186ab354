r"""Base64 as it really arrives: standard and URL-safe, wrapped, unpadded, percent-encoded.

Two questions are answered here. Where base64 is expected, `decode_base64` says what it stands for.
Where nobody announced any, `find_runs` looks for runs that begin with the signature of a file
format; DNA, hexadecimal digits, identifiers and certificates have none and stay text.

All of it is a few passes of compiled code over the text: a payload of 100 MB must not be looked at
character by character.
"""

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote_to_bytes

import pybase64

from app.models.media_types import STRONG_SIGNATURE_STARTS, is_strong_signature, sniff

MIN_UNDECLARED_CHARS = 64
_WRAPPED_COLUMNS = range(60, 77)

_HEAD_CHARS = 64
_RUN_START_CHARS = 40
# How far a signature is looked for behind a path or a name that is glued to the base64.
_PREFIX_CHARS = 256

_STANDARD = "A-Za-z0-9+/"
_URL_SAFE = "A-Za-z0-9_-"
# A slash as many JSON writers put it, and what is percent-encoded in URLs and data URIs.
_ESCAPED = r"\\/|%2[BbFf]"
_LINE_BREAK = r"(?:\r?\n|\\r\\n|\\n)[ \t]*"

_LINES = {
    alphabet: re.compile(rf"[{alphabet}]*+(?:(?:{_ESCAPED})[{alphabet}]*+)*+")
    for alphabet in (_STANDARD, _URL_SAFE)
}
_PADDING = re.compile(r"(?:=|%3[Dd]|\\u003[Dd]){1,2}+")
_LAST_CHARACTER = re.compile(rf"(?:{_ESCAPED}|.)\Z")
_BREAK = re.compile(_LINE_BREAK)
_ANY = re.compile(r"[A-Za-z0-9+/_-]*+")
_RUN_START = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_RUN_START_CHARS}}}")
_ESCAPED_RUN_START = re.compile(
    rf"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]|{_ESCAPED}){{{_RUN_START_CHARS}}}"
)
_WORD = re.compile(r"[A-Za-z]?[a-z]*\Z")
_INDENTED_BREAK = re.compile(rb"[ \t]*[\r\n]+[ \t]*")
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def _encoded_start(start: bytes) -> str:
    """A pattern for base64 of anything that begins with these two bytes, in either alphabet."""
    first, second, third = start[0] >> 2, (start[0] & 3) << 4 | start[1] >> 4, (start[1] & 15) << 2
    return "".join((_one_of(first, 1), _one_of(second, 1), _one_of(third, 4)))


def _one_of(value: int, count: int) -> str:
    characters = _ALPHABET[value : value + count]
    if "+" not in characters and "/" not in characters:
        return f"[{characters}]"
    return f"(?:[{characters}_-]|{_ESCAPED})"


_SIGNATURE = re.compile("|".join(map(_encoded_start, sorted(STRONG_SIGNATURE_STARTS))))
_INNER_START = re.compile(rf"(?<=[/_+-])(?={_SIGNATURE.pattern})")


@dataclass(frozen=True, slots=True)
class Run:
    """Base64 found at `text[start:end]`, and what it stands for."""

    start: int
    end: int
    data: bytes


def decode_base64(text: str) -> bytes | None:
    """The bytes a base64 text stands for, or `None` if it is not base64, or is empty.

    The alphabet is strict, standard or URL-safe but not a mixture; padding may be missing; line
    breaks are skipped. Blanks inside a line are skipped only if the bytes are of a known format,
    since otherwise many a sentence would be base64.
    """
    try:
        data = text.encode("ascii")
    except UnicodeEncodeError:
        return None
    if b"\n" in data or b"\r" in data:
        data = _INDENTED_BREAK.sub(b"", data)
    data = data.strip()
    spaced = b" " in data or b"\t" in data
    if spaced:
        data = data.translate(None, b" \t")
    decoded = _decode_compact(data)
    if decoded is None or (spaced and sniff(decoded[:512]) is None):
        return None
    return decoded


def decode_percent_encoded_base64(text: str) -> bytes | None:
    """As `decode_base64`, for text in which `+`, `/` and `=` may be percent-encoded."""
    if "%" not in text:
        return decode_base64(text)
    return decode_base64(unquote_to_bytes(text).decode("latin-1"))


def decode_run(raw: str) -> bytes | None:
    """The bytes of a run that `run_end` measured, with the escapes it may hold."""
    return decode_base64("".join(_without_escapes(raw).split()))


def decode_undeclared(text: str) -> bytes | None:
    """The bytes of a text that is base64 as a whole and shows a file's signature, else `None`."""
    start = len(text) - len(text.lstrip())
    if len(text) - start < MIN_UNDECLARED_CHARS or not _shows_signature(text, start):
        return None
    body = text.strip()
    is_wrapped = "\n" in body
    columns = _end_of(_ANY, text, start) - start
    if " " in body or len(body) < MIN_UNDECLARED_CHARS:
        return None
    return None if is_wrapped and columns not in _WRAPPED_COLUMNS else decode_base64(body)


def has_long_run(text: str) -> bool:
    """Whether there is anything in the text that could be base64 of a file."""
    return (_ESCAPED_RUN_START if "\\/" in text else _RUN_START).search(text) is not None


def find_runs(text: str, start: int, end: int) -> Iterator[Run]:
    """The base64 of recognisable files inside `text[start:end]`, in order."""
    escaped = text.find("\\/", start, end) >= 0 or text.find("%2", start, end) >= 0
    # Escapes cost twice the time and are rare.
    pattern = _ESCAPED_RUN_START if escaped else _RUN_START
    position = start
    while found := pattern.search(text, position, end):
        run = _run_at(text, found.start())
        if run and run.end <= end:
            yield run
            position = run.end
        else:
            position = _end_of(_ANY, text, found.end())


def run_end(text: str, start: int, *, label_chars: int = 0) -> int:
    """Where the base64 that begins at `start` ends, following it over wrapped lines.

    Args:
        text: Any text.
        start: Where the base64 begins.
        label_chars: Length of what stands before it on its first line, as in a data URI.
    """
    alphabet = max(_LINES, key=lambda name: _end_of(_LINES[name], text, start))
    line = _LINES[alphabet]
    end = _end_of(line, text, start)
    if padding := _PADDING.match(text, end):
        return padding.end()
    line_break = _BREAK.match(text, end)
    if not line_break:
        return end
    first = len(_without_escapes(text[start:end]))
    widths = [label_chars + first]
    if label_chars:
        second = text[line_break.end() : _end_of(line, text, line_break.end())]
        widths += [len(_without_escapes(second)), first]
    columns = next((width for width in widths if width in _WRAPPED_COLUMNS), None)
    if columns is None:
        return end
    end = _end_of(_full_lines(alphabet, columns), text, end)
    return _end_of_tail(text, start, end, _last_line(alphabet, columns))


def _decode_compact(data: bytes) -> bytes | None:
    if b"-" in data or b"_" in data:
        if b"+" in data or b"/" in data:
            return None
        data = data.translate(_FROM_URL_SAFE)
    if len(data) % 4:
        core = data.rstrip(b"=")
        if len(core) % 4 == 1 or len(data) - len(core) > 2:
            return None
        data = core + b"=" * (-len(core) % 4)
    try:
        return pybase64.b64decode(data, validate=True) or None
    except (binascii.Error, ValueError):
        return None


def _run_at(text: str, start: int) -> Run | None:
    signed = _signed_start(text, start)
    if signed is None:
        return None
    end = run_end(text, signed)
    compact = "".join(_without_escapes(text[signed:end]).split())
    if len(compact.rstrip("=")) % 4 == 1:
        # Cut off in the middle: the last character says nothing and stays in the text.
        last = _LAST_CHARACTER.search(text, max(signed, end - 3), end)
        compact, end = compact[:-1], last.start() if last else end - 1
    if len(compact) < MIN_UNDECLARED_CHARS:
        return None
    data = decode_base64(compact)
    return Run(signed, end, data) if data else None


def _signed_start(text: str, start: int) -> int | None:
    if _shows_signature(text, start):
        return start
    if text[start - 1 : start] == "\\" and _shows_signature(text, start + 1):
        # The run's first letter belongs to an escape: "\nSUQz…" in JSON inside a longer text.
        return start + 1
    end = min(_end_of(_ANY, text, start), start + _PREFIX_CHARS)
    inner = (found.start() for found in _INNER_START.finditer(text, start + 1, end))
    return next((at for at in inner if _shows_signature(text, at)), None)


def _shows_signature(text: str, start: int) -> bool:
    if not _SIGNATURE.match(text, start):
        return False
    head = _without_escapes(text[start : start + 2 * _HEAD_CHARS])
    run = _ANY.match("".join(head.split())[:_HEAD_CHARS])
    whole = run.group()[: run.end() // 4 * 4] if run else ""
    decoded = _decode_compact(whole.encode()) if whole else None
    return decoded is not None and is_strong_signature(decoded)


def _end_of_tail(text: str, start: int, end: int, last_line: re.Pattern[str]) -> int:
    if padding := _PADDING.match(text, end):
        return padding.end()
    tail = last_line.match(text, end)
    if not tail:
        return end
    if padding := _PADDING.match(text, tail.end()):
        return padding.end()
    closed = tail.end() == len(text) or text[tail.end()] in "\"'`<"
    # A short last line may as well be the first word of what follows the base64.
    if _WORD.match(tail.group(1)) and not closed:
        return end
    whole = _without_escapes(text[start : tail.end()])
    return end if len("".join(whole.split())) % 4 == 1 else tail.end()


def _without_escapes(raw: str) -> str:
    if "\\" in raw:
        raw = raw.replace("\\/", "/").replace("\\r", "").replace("\\n", "")
        raw = raw.replace("\\u003d", "=").replace("\\u003D", "=")
    return unquote_to_bytes(raw).decode("latin-1") if "%" in raw else raw


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


@lru_cache(maxsize=64)
def _full_lines(alphabet: str, columns: int) -> re.Pattern[str]:
    character = rf"(?:[{alphabet}]|{_ESCAPED})"
    # A line without escapes is one step; only the others are read character by character.
    line = rf"(?:[{alphabet}]{{{columns}}}|{character}{{{columns}}})(?!{character})"
    return re.compile(rf"(?:{_LINE_BREAK}{line})*+")


@lru_cache(maxsize=64)
def _last_line(alphabet: str, columns: int) -> re.Pattern[str]:
    character = rf"(?:[{alphabet}]|{_ESCAPED})"
    return re.compile(rf"{_LINE_BREAK}({character}{{1,{columns - 1}}})(?!{character})")
