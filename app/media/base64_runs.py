r"""Base64 nobody announced, found by the signature of a file format at its beginning.

DNA, hexadecimal digits, identifiers and certificates have none and stay text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.media.base64_lines import ESCAPED, run_end
from app.media.base64_text import (
    CERTAIN_BASE64_CHARS,
    decode_base64,
    decode_compact,
    without_blanks,
    without_escapes,
)
from app.media.types import STRONG_SIGNATURE_STARTS, is_strong_signature
from app.models.text_windows import WINDOW_CHARS, search_windows

_HEAD_CHARS = 64
_RUN_START_CHARS = 40
# Every one of them may be an escape of three characters.
_REACH = 3 * _RUN_START_CHARS
# How far a signature is looked for behind a path or a name that is glued to the base64.
_PREFIX_CHARS = 256

_LAST_CHARACTER = re.compile(rf"(?:{ESCAPED}|.)\Z")
_ANY = re.compile(r"[A-Za-z0-9+/_-]*+")
_RUN_START = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_RUN_START_CHARS}}}")
_ESCAPED_RUN_START = re.compile(
    rf"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]|{ESCAPED}){{{_RUN_START_CHARS}}}"
)
_BLANK = re.compile(r"\s")
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_LETTER = b"A"
_TO_LETTERS = bytes(_LETTER[0] if chr(each) in f"{_ALPHABET}-_" else 0 for each in range(256))


def _encoded_start(start: bytes) -> str:
    """A pattern for base64 of anything that begins with these two bytes, in either alphabet."""
    first, second, third = start[0] >> 2, (start[0] & 3) << 4 | start[1] >> 4, (start[1] & 15) << 2
    return "".join((_one_of(first, 1), _one_of(second, 1), _one_of(third, 4)))


def _one_of(value: int, count: int) -> str:
    characters = _ALPHABET[value : value + count]
    if "+" not in characters and "/" not in characters:
        return f"[{characters}]"
    return f"(?:[{characters}_-]|{ESCAPED})"


_SIGNATURE = re.compile("|".join(map(_encoded_start, sorted(STRONG_SIGNATURE_STARTS))))
_INNER_START = re.compile(rf"(?<=[/_+-])(?={_SIGNATURE.pattern})")


@dataclass(frozen=True, slots=True)
class Run:
    """Base64 found at `text[start:end]`, and what it stands for."""

    start: int
    end: int
    data: bytes


def decode_undeclared(text: str) -> bytes | None:
    """The bytes of a text that is base64 as a whole and shows a file's signature, else `None`."""
    start = len(text) - len(text.lstrip())
    if len(text) - start < CERTAIN_BASE64_CHARS or not shows_signature(text, start):
        return None
    body = text.strip()
    if len(body) < CERTAIN_BASE64_CHARS:
        return None
    if _BLANK.search(body) and _measured(body, 0) != len(body):
        return None
    return decode_base64(body)


def has_long_run(text: str) -> bool:
    """Whether there is anything in the text that could be base64 of a file."""
    if "\\/" in text:
        return search_windows(_ESCAPED_RUN_START, text, 0, len(text), reach=_REACH) is not None
    return _has_letters_in_a_row(text, 0, len(text))


def find_runs(text: str, start: int, end: int) -> Iterator[Run]:
    """The base64 of recognisable files inside `text[start:end]`, in order."""
    escaped = text.find("\\/", start, end) >= 0 or text.find("%2", start, end) >= 0
    if not escaped and not _has_letters_in_a_row(text, start, end):
        return
    # Escapes cost twice the time and are rare.
    pattern = _ESCAPED_RUN_START if escaped else _RUN_START
    position = start
    while found := search_windows(pattern, text, position, end, reach=_REACH):
        run = _run_at(text, found.start())
        if run and run.end <= end:
            yield run
            position = run.end
        else:
            position = _end_of(_ANY, text, found.end())


def labelled_run_end(text: str, start: int, label_chars: int) -> int | None:
    """As `run_end`, for base64 behind the head of a data URI."""
    return run_end(text, start, begins_anew=shows_signature, label_chars=label_chars)


def shows_signature(text: str, start: int) -> bool:
    """Whether base64 of a recognisable file begins here."""
    if not _SIGNATURE.match(text, start):
        return False
    head = without_escapes(text[start : start + 2 * _HEAD_CHARS])
    run = _ANY.match("".join(head.split())[:_HEAD_CHARS])
    whole = run.group()[: run.end() // 4 * 4] if run else ""
    decoded = decode_compact(whole.encode()) if whole else None
    return decoded is not None and is_strong_signature(decoded)


def _has_letters_in_a_row(text: str, start: int, end: int) -> bool:
    """Whether a run begins somewhere, in a tenth of the time that it takes to find out where."""
    row = _LETTER * _RUN_START_CHARS
    for at in range(start, end, WINDOW_CHARS):
        window = text[at : min(at + WINDOW_CHARS + _RUN_START_CHARS, end)]
        if row in window.encode("utf-8", "surrogatepass").translate(_TO_LETTERS):
            return True
    return False


def _run_at(text: str, start: int) -> Run | None:
    signed = _signed_start(text, start)
    if signed is None:
        return None
    end = _measured(text, signed)
    if end is None:
        return None
    compact = without_blanks(without_escapes(text[signed:end]))
    if len(compact.rstrip("=")) % 4 == 1:
        # Cut off in the middle: the last character says nothing and stays in the text.
        last = _LAST_CHARACTER.search(text, max(signed, end - 3), end)
        compact, end = compact[:-1], last.start() if last else end - 1
    if len(compact) < CERTAIN_BASE64_CHARS:
        return None
    data = decode_base64(compact)
    return Run(signed, end, data) if data else None


def _measured(text: str, start: int) -> int | None:
    return run_end(text, start, begins_anew=shows_signature)


def _signed_start(text: str, start: int) -> int | None:
    if shows_signature(text, start):
        return start
    if text[start - 1 : start] == "\\" and shows_signature(text, start + 1):
        # The run's first letter belongs to an escape: "\nSUQz…" in JSON inside a longer text.
        return start + 1
    end = min(_end_of(_ANY, text, start), start + _PREFIX_CHARS)
    inner = (found.start() for found in _INNER_START.finditer(text, start + 1, end))
    return next((at for at in inner if shows_signature(text, at)), None)


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start
