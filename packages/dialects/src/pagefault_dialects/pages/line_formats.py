"""Formats values for one line of text: quoted strings, durations, texts without base64."""

import json
import re
from collections.abc import Callable

import pybase64
import regex

from pagefault_dialects.media.types import is_strong_signature
from pagefault_dialects.model.page import LONGEST_SECONDS
from pagefault_dialects.text_windows import search_windows
from pagefault_dialects.texts.cuts import ELLIPSIS, GRAPHEME

LEFT_OUT = "[…]"

# Control characters, line and paragraph separators, bidi and other invisible format characters, and
# surrogates. The joiners of emoji and of Persian and Indic scripts are not among them.
_UNSAFE = regex.compile(r"(?V1)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}--[\u200c\u200d]]+")
_UNSAFE_QUOTED = regex.compile(r"""(?V1)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}"\\--[\u200c\u200d]]+""")

# Lines of base64 have 48 characters or more. Between them are line breaks or their JSON escapes.
_MIN_RUN_CHARS = 48
# An equals sign with text behind it is not padding: it separates a name and a value.
_RUN = rf"[A-Za-z0-9+/_-]{{{_MIN_RUN_CHARS},}}+(?:=++(?![A-Za-z0-9]))?+"
_BREAK = r"[ \t]*+(?:\r?\n|(?:\\r)?\\n)[ \t]*+"
# A last, shorter line consists of whole groups of four. Without padding it has at least two groups,
# since a single one may be a word.
_GROUP = r"[A-Za-z0-9+/_-]{4}"
_PADDED = r"(?:[A-Za-z0-9+/_-]{2}==|[A-Za-z0-9+/_-]{3}=)"
_LAST_LINE = (
    rf"(?:{_BREAK}(?:(?:{_GROUP}){{0,11}}{_PADDED}|(?:{_GROUP}){{2,11}})"
    r"(?=[ \t]*+(?:[\r\n\"']|\\[nr]|$)))?"
)
_RUN_START = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_MIN_RUN_CHARS}}}")
_BASE64 = re.compile(rf"{_RUN}(?:{_BREAK}{_RUN})*+{_LAST_LINE}")
_DATA_SCHEME = re.compile("data:", re.IGNORECASE)
_TYPE = r"\w[\w.+-]{0,126}/\w[\w.+-]{0,126}"
_DATA_URI = re.compile(
    rf"data:(?:{_TYPE})?(?:;[^,;\s]{{0,255}}){{0,16}},\S++(?:(?:{_BREAK}{_RUN})++{_LAST_LINE})?",
    re.IGNORECASE,
)
_MAX_CLOCK_CHARS = 32
_CLOCK = re.compile(r"(?:([0-9]{1,4}):(?=[0-9]{2}:))?([0-9]{1,4}):([0-5][0-9](?:[.,][0-9]{1,9})?)")
_BETWEEN_LINES = re.compile(r"\s|\\[nr]")
# Digests, numbers, rules, names and paths often have letters of one case. Base64 has both.
_ONE_CASE = re.compile(r"[0-9a-fA-F]+=*|[^A-Z]+|[^a-z]+")
# Words in names and paths: `Word`, `word`, `WORD` or `42`. Ten characters of a name have two or
# three words, and ten characters of base64 have five.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_MIN_WORDS_PER_TEN_CHARS = 3.8
_TO_PARENTHESES = str.maketrans("[]", "()")
_FROM_URL_SAFE = str.maketrans("-_", "+/")


def escape_line_breaks(text: str) -> str:
    """Return a text on one line: JSON escapes replace line breaks and invisible characters."""
    return _UNSAFE.sub(_escape, text)


def escape_bracketed_name(filename: str) -> str:
    """Return a file name for a text in brackets, with parentheses in place of its own brackets."""
    return escape_line_breaks(filename).translate(_TO_PARENTHESES)


def quote(text: str) -> str:
    """Return a text as a JSON string on one line, with quotation marks."""
    return f'"{_UNSAFE_QUOTED.sub(_escape, text)}"'


def quote_short(text: str, limit_chars: int) -> str:
    """Return a text as a JSON string on one line, cut to `limit_chars` with quotation marks."""
    max_chars = limit_chars - 2
    if len(text) <= max_chars and len(whole := _UNSAFE_QUOTED.sub(_escape, text)) <= max_chars:
        return f'"{whole}"'
    pieces: list[str] = []
    used_chars = 0
    # Every grapheme takes at least one character, so text beyond the limit is not read.
    for cluster in GRAPHEME.finditer(text[: limit_chars + 1]):
        piece = _UNSAFE_QUOTED.sub(_escape, cluster.group())
        if used_chars + len(piece) > max_chars:
            while pieces and used_chars > max_chars - 1:
                used_chars -= len(pieces.pop())
            return f'"{"".join(pieces)}{ELLIPSIS}"'
        pieces.append(piece)
        used_chars += len(piece)
    return f'"{"".join(pieces)}"'


def without_base64(text: str) -> str:
    """Return a text with `[…]` in place of each data URI and of base64 of 48 characters or more.

    Consecutive lines of base64 are replaced together. Digests, numbers, names, rules and paths of
    any length are left in the text.
    """
    without_uris = _replace_matches(text, _DATA_SCHEME, _DATA_URI, lambda _: LEFT_OUT)
    return _replace_matches(
        without_uris,
        _RUN_START,
        _BASE64,
        lambda run: LEFT_OUT if _is_base64(_BETWEEN_LINES.sub("", run)) else run,
    )


def _is_base64(run: str) -> bool:
    """Return whether base64 characters are base64 rather than a long name, path or number."""
    if _ONE_CASE.fullmatch(run):
        return False
    is_padded = run.endswith("=") and len(run) % 4 == 0 and run[-3:] != "==="
    head = run[:_MIN_RUN_CHARS].translate(_FROM_URL_SAFE)
    if is_padded or is_strong_signature(pybase64.b64decode(head)):
        return True
    if ("-" in run or "_" in run) and ("/" in run or "+" in run):
        # Base64 does not mix its two alphabets, so this is a path. One of its parts may be base64.
        run = max(re.split("[/+]", run), key=len)
    words = _WORD.findall(run)
    min_words = _MIN_WORDS_PER_TEN_CHARS * sum(map(len, words)) / 10
    return len(run) >= _MIN_RUN_CHARS and len(words) >= min_words


def _replace_matches(
    text: str, start: re.Pattern[str], whole: re.Pattern[str], write: Callable[[str], str]
) -> str:
    """Return a text with every match of a pattern replaced.

    The search runs in bounded steps, so that it does not block other threads.

    Args:
        text: The text.
        start: A pattern for the beginning of a match.
        whole: The pattern.
        write: Returns the replacement of a match.
    """
    pieces: list[str] = []
    position = copied_end = 0
    while found := search_windows(start, text, position, len(text), reach=_MIN_RUN_CHARS):
        match = whole.match(text, found.start())
        position = match.end() if match else found.end()
        if match:
            pieces += (text[copied_end : match.start()], write(match.group()))
            copied_end = position
    return "".join((*pieces, text[copied_end:]))


def format_clock(seconds: float) -> str:
    """Return a duration or a time as `m:ss`; from an hour on as `h:mm:ss`."""
    minutes, whole_seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{whole_seconds:02}"
    return f"{minutes}:{whole_seconds:02}"


def format_duration(seconds: float) -> str:
    """Return a duration as `12.0 s`; from a minute on as `5:42 (342.0 s)`."""
    exact = f"{seconds:.1f} s"
    return exact if seconds < 60 else f"{format_clock(seconds)} ({exact})"


def parse_timecode(value: object) -> float | None:
    """Return the seconds of a timecode, a position in a recording; `None` for other JSON values.

    A timecode is a number of seconds, or a text such as `0:12` or `1:02:03.5`.
    """
    if isinstance(value, str) and (match := _CLOCK.fullmatch(value.strip()[:_MAX_CLOCK_CHARS])):
        hours, minutes, seconds = match.groups(default="0")
        value = int(hours) * 3600 + int(minutes) * 60 + float(seconds.replace(",", "."))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < LONGEST_SECONDS else None


class _Escapes(dict[int, str]):
    """A cached translation table from code points to JSON escapes."""

    def __missing__(self, code: int) -> str:
        return self.setdefault(code, json.dumps(chr(code))[1:-1])


# JSON has short escapes of the first two, and none of the last.
_ESCAPES = _Escapes({0x08: "\\u0008", 0x0C: "\\u000c", 0x7F: "\\u007f"})


def _escape(run: regex.Match[str]) -> str:
    return run.group().translate(_ESCAPES)
