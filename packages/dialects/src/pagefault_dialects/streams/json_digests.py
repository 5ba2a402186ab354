"""The digest of a JSON value: equal values have equal ones, however they are written.

Members are taken in the order of their keys, strings without regard to their escapes, numbers by
their value: an integer is itself, however long, and any other number is the double that a reader
makes of it, so that `1`, `1.0` and `1e0` are one. Of a repeated key the last value counts, as it
does for whoever parses the body.

A whole number below 10^16 is written in digits. From there on one that is a double is written as
Python's `repr` writes the double: `10000000000000000` and `1e16` are both `1e+16`, while
`10000000000000001`, which no double is, stays as it is. So nothing is written with many more digits
than it came with, and equal values are written alike.

Long strings have short names: two of them have one name exactly if they are the same text. A string
that is base64, or a data URI, is named by the SHA-256 of its bytes and by how they are written, any
other by the SHA-256 of its text. So a medium that never was in memory has the name that its text
would have.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring

from pagefault_dialects.json.numbers import number_value
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.base64_text import Base64Lines, NotStrictBase64Error
from pagefault_dialects.media.data_uris import base64_head_end

SCHEME = "json:"
"""What a digest of JSON begins with where it is kept."""

NAMED_CHARS = 65_536
"""Strings of at least so many characters are named; the others stand for themselves."""

_NO_NAMES: Mapping[str, str] = {}
# What is written in one go.
_SHORT_BYTES = 1024 * 1024
# Shorter than any string that has a name.
_SHORT_CHARS = 4_096
_FLUSHED_CHARS = 64 * 1024
# Of a value that is written in one go, itself and those in it.
_FEW_NODES = 64
# Of an array of numbers, however long it is.
_MEMBERS_AT_ONCE = 1_000
# Most texts are found out to be no base64 by their beginning.
_FIRST_CHARS = 4_096
_NEXT_CHARS = 768 * 1024


def json_digest(
    value: JsonValue,
    *,
    prefix: bytes = b"",
    body_bytes: int | None = None,
    names: Mapping[str, str] = _NO_NAMES,
) -> str:
    """Return the digest of a JSON value, with its scheme: equal values have equal ones.

    Args:
        value: The value, as any of the parsers here returns it.
        prefix: What the digest covers before it.
        body_bytes: How long the text was that it comes from, if that is known.
        names: What is read for which of its strings, for those that only stand for others.
    """
    sha256 = hashlib.sha256(prefix)
    is_short = body_bytes is not None and body_bytes <= _SHORT_BYTES and not names
    text = _compact(value) if is_short and isinstance(value, dict | list) else None
    if text is not None and (len(text) < NAMED_CHARS or not _has_long_strings(text)):
        sha256.update(_bytes(text))
    else:
        _Canonical(sha256, names).write(value)
    return SCHEME + sha256.hexdigest()


def _canonical_number(node: int | float | Decimal) -> int | float | Decimal:
    """Return the number whose `repr` is the canonical form, or an integer too long for one."""
    number = number_value(node)
    if isinstance(number, int) and abs(number) >= _LEAST_WITH_EXPONENT:
        try:
            double = float(number)
        except OverflowError:
            return number
        if double == number:
            return double
    return number


def _encodable(node: object) -> int | float:
    value = _canonical_number(node) if isinstance(node, Decimal) else node
    if isinstance(value, Decimal) or not isinstance(value, int | float):
        raise TypeError
    return value


# Doubles are written with an exponent from there on.
_LEAST_WITH_EXPONENT = 10**16
_ENCODER = json.JSONEncoder(
    ensure_ascii=False,
    allow_nan=False,
    check_circular=False,
    sort_keys=True,
    separators=(",", ":"),
    default=_encodable,
)
_STRING = re.compile(r'("(?:[^"\\]++|\\.)*+")')
# Of as many digits as the least one that may have to be written as a double, or more.
_LONG_INTEGER = re.compile(r"(?<=[\[:,])-?[0-9]{17,}+(?=[,\]}])")
_LONG_INTEGER_CHARS = 17
# What a text has that is not canonical yet. Each is found by the characters that it begins with,
# which takes half of the time that one expression for all of them would.
_TO_BE_REWRITTEN = tuple(
    map(re.compile, (r"\.0[,\]}]", r'":-?[0-9]{17}', r"\[-?[0-9]{17}", r",-?[0-9]{17}"))
)


def _compact(value: JsonValue) -> str | None:
    """Return the canonical text of an object or array, if the encoder writes it as such.

    It does not where the nesting is too deep for it, an integer too long, or a string one that
    may begin like a name.
    """
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):
        return None
    if '"\\u0000' in text:
        return None
    if any(each.search(text) for each in _TO_BE_REWRITTEN):
        pieces = _STRING.split(text)
        pieces[::2] = map(_with_canonical_numbers, pieces[::2])
        return "".join(pieces)
    return text


def _with_canonical_numbers(bare: str) -> str:
    """Return what the encoder wrote between two strings, with numbers in their canonical form."""
    if ".0" in bare:
        for end in ",]}":
            # An exponent has two digits at least, so that `-0` is a number of its own.
            bare = bare.replace(f".0{end}", end).replace(f"-0{end}", f"0{end}")
    if len(bare) > _LONG_INTEGER_CHARS:
        return _LONG_INTEGER.sub(lambda found: repr(_canonical_number(int(found[0]))), bare)
    return bare


def _has_long_strings(text: str) -> bool:
    """Return whether a string of a canonical text may be long enough to have a name."""
    bare = text.replace("\\\\", "..").replace('\\"', "..") if "\\" in text else text
    return max(map(len, bare.split('"'))) >= NAMED_CHARS


class _Raw(str):
    """Text to be written as it is, on the stack beside values."""

    __slots__ = ()


class _Canonical:
    """Writes values in their canonical form, a few at a time and whatever their nesting.

    Nothing but the hash sees the whole text.
    """

    def __init__(self, sha256: "hashlib._Hash", names: Mapping[str, str]) -> None:
        self._sha256 = sha256
        self._names = names
        self._pieces: list[str] = []
        self._chars = 0

    def write(self, value: JsonValue) -> None:
        stack: list[JsonValue] = [value]
        while stack:
            node = stack.pop()
            if isinstance(node, _Raw):
                self._put(node)
            elif not isinstance(node, dict | list):
                self._put(self._leaf(node))
            elif _is_small(node) and (text := _compact(node)) is not None:
                self._put(text)
            elif isinstance(node, dict):
                self._open_object(node, stack)
            elif _is_plain(node):
                self._put_plain_array(node)
            else:
                _open_array(node, stack)
        self._flush()

    def _put_plain_array(self, node: list[JsonValue]) -> None:
        self._put("[")
        for start in range(0, len(node), _MEMBERS_AT_ONCE):
            members = node[start : start + _MEMBERS_AT_ONCE]
            text = _compact(members)
            listed = ",".join(map(self._leaf, members)) if text is None else text[1:-1]
            self._put(f",{listed}" if start else listed)
        self._put("]")

    def _open_object(self, node: dict[str, JsonValue], stack: list[JsonValue]) -> None:
        members = {self._named(key): member for key, member in node.items()}
        stack.append(_Raw("}"))
        keys = sorted(members, reverse=True)
        for index, key in enumerate(keys, start=1):
            comma = "" if index == len(keys) else ","
            stack += (members[key], _Raw(f"{comma}{encode_basestring(key)}:"))
        stack.append(_Raw("{"))

    def _leaf(self, node: JsonValue) -> str:
        if isinstance(node, str):
            return encode_basestring(self._named(node))
        if node is None or isinstance(node, bool):
            return json.dumps(node)
        number = _canonical_number(node)
        if not isinstance(number, Decimal):
            return repr(number)
        return format(number, "f")

    def _named(self, text: str) -> str:
        if len(text) >= _SHORT_CHARS:
            name = self._names.get(text)
            if name is not None:
                return name
            if len(text) >= NAMED_CHARS:
                return name_of_text(text)
        # Nothing but a name begins with one NUL.
        return f"\0{text}" if text.startswith("\0") else text

    def _put(self, piece: str) -> None:
        self._pieces.append(piece)
        self._chars += len(piece)
        if self._chars > _FLUSHED_CHARS:
            self._flush()

    def _flush(self) -> None:
        self._sha256.update(_bytes("".join(self._pieces)))
        self._pieces.clear()
        self._chars = 0


def _open_array(node: list[JsonValue], stack: list[JsonValue]) -> None:
    stack.append(_Raw("]"))
    for index in range(len(node) - 1, -1, -1):
        stack.append(node[index])
        if index:
            stack.append(_Raw(","))
    stack.append(_Raw("["))


def _is_plain(members: list[JsonValue]) -> bool:
    """Return whether an array holds nothing but numbers, short strings and the like."""
    return not any(
        isinstance(each, dict | list) or (isinstance(each, str) and len(each) >= _SHORT_CHARS)
        for each in members
    )


def _is_small(value: JsonValue) -> bool:
    """Return whether a value and those in it are few, and all strings among them are short."""
    nodes = [value]
    for node in nodes:
        if isinstance(node, dict):
            nodes += node
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
        elif isinstance(node, str) and len(node) >= _SHORT_CHARS:
            return False
        if len(nodes) > _FEW_NODES:
            return False
    return True


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def name_of_text(text: str) -> str:
    """Return the name of a text: itself if it is short."""
    if len(text) < NAMED_CHARS:
        return text
    head_end = base64_head_end(text[:NAMED_CHARS]) if text[0] in "dD" else 0
    try:
        return _name_of_base64_text(text, head_end)
    except (NotStrictBase64Error, UnicodeEncodeError):
        sha256 = hashlib.sha256()
        for start in range(0, len(text), _NEXT_CHARS):
            # What goes in is never read again, so that halves of a pair may come apart.
            sha256.update(text[start : start + _NEXT_CHARS].encode("utf-8", "surrogatepass"))
        return f"\0text:{sha256.hexdigest()}"


def name_of_base64(head: str, form: str, digest: str) -> str:
    """Return the name of base64 that was read to its end.

    Args:
        head: What stands before it.
        form: All about it that its bytes do not say, `Base64Lines.form`.
        digest: The SHA-256 of its bytes, in hex.
    """
    whole = f"{len(head)} {head}{form} {digest}"
    return f"\0base64:{hashlib.sha256(whole.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _name_of_base64_text(text: str, start: int) -> str:
    lines = Base64Lines()
    sha256 = hashlib.sha256()
    position, step = start, _FIRST_CHARS
    while position < len(text):
        sha256.update(lines.take(text[position : position + step].encode("ascii")))
        position, step = position + step, _NEXT_CHARS
    sha256.update(lines.finish())
    return name_of_base64(text[:start], lines.form, sha256.hexdigest())
