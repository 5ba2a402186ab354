"""Values as one line of text, which contain no line break and no invisible characters."""

import re
from collections.abc import Callable

import pybase64
import regex

from pagefault_dialects.media.types import is_strong_signature
from pagefault_dialects.model.page import LONGEST_SECONDS
from pagefault_dialects.text_windows import search_windows
from pagefault_dialects.texts.cuts import CLUSTER, ELLIPSIS

LEFT_OUT = "[…]"

# Controls, line and paragraph separators, bidi and other invisible format characters, surrogates,
# except the joiners of emoji, Persian and Indic scripts.
_UNSAFE = regex.compile(r"(?V1)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}--[\u200c\u200d]]+")
_UNSAFE_QUOTED = regex.compile(r"""(?V1)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}"\\--[\u200c\u200d]]+""")
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}

# Wrapped base64: lines of 48 characters or more, with line breaks or their JSON escapes.
_SHORTEST_RUN = 48
# An equals sign that is followed by more text separates a name and a value.
_RUN = rf"[A-Za-z0-9+/_-]{{{_SHORTEST_RUN},}}+(?:=++(?![A-Za-z0-9]))?+"
_BREAK = r"[ \t]*+(?:\r?\n|(?:\\r)?\\n)[ \t]*+"
# A shorter line of whole groups after it is the end of the same data, if it is too long for a word.
_GROUP = r"[A-Za-z0-9+/_-]{4}"
_PADDED = r"(?:[A-Za-z0-9+/_-]{2}==|[A-Za-z0-9+/_-]{3}=)"
_LAST_LINE = (
    rf"(?:{_BREAK}(?:(?:{_GROUP}){{0,11}}{_PADDED}|(?:{_GROUP}){{2,11}})"
    r"(?=[ \t]*+(?:[\r\n\"']|\\[nr]|$)))?"
)
_RUN_START = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_SHORTEST_RUN}}}")
_BASE64 = re.compile(rf"{_RUN}(?:{_BREAK}{_RUN})*+{_LAST_LINE}")
_DATA_SCHEME = re.compile("data:", re.IGNORECASE)
_TYPE = r"\w[\w.+-]{0,126}/\w[\w.+-]{0,126}"
_DATA_URI = re.compile(
    rf"data:(?:{_TYPE})?(?:;[^,;\s]{{0,255}}){{0,16}},\S++(?:(?:{_BREAK}{_RUN})++{_LAST_LINE})?",
    re.IGNORECASE,
)
_LONGEST_CLOCK = 32
_CLOCK = re.compile(r"(?:([0-9]{1,4}):(?=[0-9]{2}:))?([0-9]{1,4}):([0-5][0-9](?:[.,][0-9]{1,9})?)")
_BETWEEN_LINES = re.compile(r"\s|\\[nr]")
# Digests, numbers, rules, names and paths have one case: base64 of this length has both.
_PLAIN = re.compile(r"[0-9a-fA-F]+=*|[^A-Z]+|[^a-z]+")
# A word of names and paths: `Word`, `word`, `WORD` or `42`. Ten of their characters are two or
# three words, and ten characters of base64 are five.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_FEWEST_WORDS_OF_TEN = 3.8
_ROUND = str.maketrans("[]", "()")
_FROM_URL_SAFE = str.maketrans("-_", "+/")


def one_line(text: str) -> str:
    """Return the text on one line: line breaks and invisible characters become JSON escapes."""
    return _UNSAFE.sub(_escape, text)


def bracketed_name(filename: str) -> str:
    """Return a file name for use in brackets, without brackets that could close them."""
    return one_line(filename).translate(_ROUND)


def quoted(text: str) -> str:
    """Return the text as a JSON string on one line, in quotation marks."""
    return f'"{_UNSAFE_QUOTED.sub(_escape, text)}"'


def quoted_short(text: str, limit_chars: int) -> str:
    """Return the text as `quoted` writes it, cut to `limit_chars` characters in all."""
    room = limit_chars - 2
    if len(text) <= room and len(whole := _UNSAFE_QUOTED.sub(_escape, text)) <= room:
        return f'"{whole}"'
    pieces: list[str] = []
    used = 0
    # Every grapheme takes at least one character, so text beyond the limit is not read.
    for cluster in CLUSTER.finditer(text[: limit_chars + 1]):
        piece = _UNSAFE_QUOTED.sub(_escape, cluster.group())
        if used + len(piece) > room:
            while pieces and used > room - 1:
                used -= len(pieces.pop())
            return f'"{"".join(pieces)}{ELLIPSIS}"'
        pieces.append(piece)
        used += len(piece)
    return f'"{"".join(pieces)}"'


def without_base64(text: str) -> str:
    """Return the text without data URIs and without longer runs of base64.

    Consecutive lines of base64 are one run. Digests, numbers, names, rules and paths stay, whatever
    their length.
    """
    without_uris = _replaced(text, _DATA_SCHEME, _DATA_URI, lambda _: LEFT_OUT)
    return _replaced(
        without_uris,
        _RUN_START,
        _BASE64,
        lambda run: LEFT_OUT if _is_base64(_BETWEEN_LINES.sub("", run)) else run,
    )


def _is_base64(run: str) -> bool:
    """Return whether a run of base64 characters is base64 rather than a long name or number."""
    if _PLAIN.fullmatch(run):
        return False
    is_padded = run.endswith("=") and len(run) % 4 == 0 and run[-3:] != "==="
    head = run[:_SHORTEST_RUN].translate(_FROM_URL_SAFE)
    if is_padded or is_strong_signature(pybase64.b64decode(head)):
        return True
    if ("-" in run or "_" in run) and ("/" in run or "+" in run):
        # Base64 has all characters, so this is a path, which may include base64.
        run = max(re.split("[/+]", run), key=len)
    words = _WORD.findall(run)
    enough = _FEWEST_WORDS_OF_TEN * sum(map(len, words)) / 10
    return len(run) >= _SHORTEST_RUN and len(words) >= enough


def _replaced(
    text: str, start: re.Pattern[str], whole: re.Pattern[str], write: Callable[[str], str]
) -> str:
    """Return the text with every match of `whole` replaced; each match begins with a `start`.

    Starts are searched in windows, and each match is a step of its own.
    """
    pieces: list[str] = []
    position = kept = 0
    while begun := search_windows(start, text, position, len(text), reach=_SHORTEST_RUN):
        found = whole.match(text, begun.start())
        position = found.end() if found else begun.end()
        if found:
            pieces += (text[kept : found.start()], write(found.group()))
            kept = position
    return "".join((*pieces, text[kept:]))


def clock(seconds: float) -> str:
    """Return a duration or a time as `m:ss`, from an hour on as `h:mm:ss`."""
    minutes, whole_seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{whole_seconds:02}"
    return f"{minutes}:{whole_seconds:02}"


def duration_words(seconds: float) -> str:
    """Return a duration: `0.0 s` below a minute, `5:42 (342.0 s)` from a minute on."""
    exact = f"{seconds:.1f} s"
    return exact if seconds < 60 else f"{clock(seconds)} ({exact})"


def moment(value: object) -> float | None:
    """Return the seconds of a JSON value, if it can be a time in a recording.

    It may be a number of seconds, or a clock time as others write it: `0:12`, `1:02:03.5`.
    """
    if isinstance(value, str) and (match := _CLOCK.fullmatch(value.strip()[:_LONGEST_CLOCK])):
        hours, minutes, seconds = match.groups(default="0")
        value = int(hours) * 3600 + int(minutes) * 60 + float(seconds.replace(",", "."))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < LONGEST_SECONDS else None


class _Escapes(dict[int, str]):
    """The escapes of characters that are not rendered as they are, cached."""

    def __missing__(self, code: int) -> str:
        units = chr(code).encode("utf-16-be", "surrogatepass")
        escape = "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
        return self.setdefault(code, escape)


_ESCAPES = _Escapes({ord(character): escape for character, escape in _SHORT_ESCAPES.items()})


def _escape(run: regex.Match[str]) -> str:
    return run.group().translate(_ESCAPES)
