"""Digests of JSON values, which are equal for equal values in any spelling.

Members are sorted by their keys, escapes of strings do not count, and numbers are compared by
value: integers exactly, other numbers as doubles, so `1`, `1.0` and `1e0` are equal. The last value
of a repeated key counts, as in JSON parsers.

Integers below 10^16 are written in digits. Larger ones that are doubles are written like Python's
`repr` of the double: `10000000000000000` and `1e16` are both `1e+16`, while `10000000000000001`,
which is not a double, is unchanged. So the canonical form of a number is never much longer.

Long strings are replaced by short names, which are equal for equal texts only. The name of base64
or of a data URI is the SHA-256 of its bytes and its spelling, that of another string the SHA-256 of
its text. So the name of a medium does not need its text in memory.
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
"""The prefix of a stored digest of JSON."""

NAMED_CHARS = 65_536
"""The least number of characters of a string that is replaced by its name."""

_NO_NAMES: Mapping[str, str] = {}
# The largest text that is encoded at once.
_SHORT_BYTES = 1024 * 1024
# Shorter than any string with a name.
_SHORT_CHARS = 4_096
_FLUSHED_CHARS = 64 * 1024
# Of a value that is encoded at once, with the values in it.
_FEW_NODES = 64
# Of an array of numbers, however long it is.
_MEMBERS_AT_ONCE = 1_000
# The beginning of most texts shows that they are no base64.
_FIRST_CHARS = 4_096
_NEXT_CHARS = 768 * 1024


def json_digest(
    value: JsonValue,
    *,
    prefix: bytes = b"",
    body_bytes: int | None = None,
    names: Mapping[str, str] = _NO_NAMES,
) -> str:
    """Return the digest of a JSON value, with its scheme.

    Args:
        value: The value, as returned by the parsers of this package.
        prefix: Bytes that are hashed before the value.
        body_bytes: The size of the JSON text, if it is known.
        names: The names of strings that are placeholders.
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


# `repr` of larger doubles has an exponent.
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
# Integers with at least the digits of the least one that may be written as a double.
_LONG_INTEGER = re.compile(r"(?<=[\[:,])-?[0-9]{17,}+(?=[,\]}])")
_LONG_INTEGER_CHARS = 17
# Marks of texts that are not canonical yet. Separate expressions with literal beginnings take half
# of the time of a single one.
_TO_BE_REWRITTEN = tuple(
    map(re.compile, (r"\.0[,\]}]", r'":-?[0-9]{17}', r"\[-?[0-9]{17}", r",-?[0-9]{17}"))
)


def _compact(value: JsonValue) -> str | None:
    """Return the canonical text of an object or array; `None` if the encoder cannot write it.

    That is so if its nesting is too deep, an integer too long, or a string may begin like a name.
    """
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):
        return None
    if '"\\u0000' in text:
        return None
    if any(item.search(text) for item in _TO_BE_REWRITTEN):
        pieces = _STRING.split(text)
        pieces[::2] = map(_with_canonical_numbers, pieces[::2])
        return "".join(pieces)
    return text


def _with_canonical_numbers(bare: str) -> str:
    """Return the JSON between two strings, with numbers in their canonical form."""
    if ".0" in bare:
        for end in ",]}":
            # Exponents have at least two digits, so `-0` is a whole number here.
            bare = bare.replace(f".0{end}", end).replace(f"-0{end}", f"0{end}")
    if len(bare) > _LONG_INTEGER_CHARS:
        return _LONG_INTEGER.sub(lambda found: repr(_canonical_number(int(found[0]))), bare)
    return bare


def _has_long_strings(text: str) -> bool:
    """Return whether a string of a canonical text may be long enough to have a name."""
    bare = text.replace("\\\\", "..").replace('\\"', "..") if "\\" in text else text
    return max(map(len, bare.split('"'))) >= NAMED_CHARS


class _Raw(str):
    """JSON text on the stack, beside values."""

    __slots__ = ()


class _Canonical:
    """Writer of values of any nesting in canonical form, a few at a time, into a hash."""

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
        # Only names begin with a single NUL.
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
    """Return whether an array has only scalar members without long strings."""
    return not any(
        isinstance(member, dict | list) or (isinstance(member, str) and len(member) >= _SHORT_CHARS)
        for member in members
    )


def _is_small(value: JsonValue) -> bool:
    """Return whether a value contains few values and no long strings."""
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
            # The bytes are only hashed, so surrogate pairs may be split.
            sha256.update(text[start : start + _NEXT_CHARS].encode("utf-8", "surrogatepass"))
        return f"\0text:{sha256.hexdigest()}"


def name_of_base64(head: str, form: str, digest: str) -> str:
    """Return the name of a base64 string.

    Args:
        head: The text before the base64.
        form: The spelling of the base64, `Base64Lines.form`.
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
