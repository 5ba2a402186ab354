"""Computes digests of JSON values, which are equal for equal values in any spelling.

Requests with the same idempotency key are compared by these digests. A digest is the SHA-256 of a
canonical JSON text:

- Members are sorted by their keys, and strings have no optional escapes. The last value of a
  repeated key counts, as in JSON parsers.
- Integers are compared exactly, other numbers as doubles: `1`, `1.0` and `1e0` are equal. Integers
  below 10^16 are written in digits. Larger integers are written like Python's `repr` of the double
  if they are equal to it: `10000000000000000` and `1e16` are both `1e+16`. `10000000000000001`,
  which no double equals, is written in digits. So the canonical text of a number is never much
  longer than the number.
- Strings of at least `NAMED_CHARS` characters are replaced by names. The name of base64 or of a
  data URI is a SHA-256 of its decoded bytes and its spelling, so it can be computed without the
  text in memory. The name of any other string is the SHA-256 of its text.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from json.encoder import encode_basestring

from pagefault_dialects.json.numbers import number_value
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.base64_text import Base64Decoder, NotStrictBase64Error
from pagefault_dialects.media.data_uris import find_base64_start

SCHEME = "json:"
"""The prefix of a stored digest of JSON."""

NAMED_CHARS = 65_536
"""The length from which a string is replaced by its name."""

_NO_NAMES: Mapping[str, str] = {}
# The largest body whose value is encoded at once.
_MAX_ENCODED_BYTES = 1024 * 1024
# Shorter strings have no name, and are no placeholders of long strings.
_UNNAMED_CHARS = 4_096
# The canonical text that is collected before it is hashed.
_BUFFER_CHARS = 64 * 1024
# The most values in an object or array that is encoded at once. The object or array counts as one.
_MAX_SMALL_NODES = 64
# The members of a long array of scalars that are encoded at once.
_BATCH_MEMBERS = 1_000
# A long text is decoded as base64 in pieces. The first piece is small, since most texts that are no
# base64 can be rejected by their first characters.
_FIRST_PIECE_CHARS = 4_096
_PIECE_CHARS = 768 * 1024


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
        body_bytes: The size of the JSON text, if it is known. Small texts are encoded at once.
        names: The names of the long strings that were replaced by placeholders, by the placeholder.
    """
    sha256 = hashlib.sha256(prefix)
    is_short = body_bytes is not None and body_bytes <= _MAX_ENCODED_BYTES and not names
    text = _encode_canonical(value) if is_short and isinstance(value, dict | list) else None
    if text is not None and (len(text) < NAMED_CHARS or not _may_have_long_strings(text)):
        sha256.update(_encode_utf8(text))
    else:
        _CanonicalWriter(sha256, names).write(value)
    return SCHEME + sha256.hexdigest()


def _canonicalize_number(node: int | float | Decimal) -> int | float | Decimal:
    """Return the number whose `repr` is the canonical text; a `Decimal` for very long integers."""
    number = number_value(node)
    if isinstance(number, int) and abs(number) >= _LEAST_WITH_EXPONENT:
        try:
            double = float(number)
        except OverflowError:
            return number
        if double == number:
            return double
    return number


def _convert_decimal(node: object) -> int | float:
    """Return a `Decimal` as a number that `json` encodes; raise `TypeError` if it cannot."""
    value = _canonicalize_number(node) if isinstance(node, Decimal) else node
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
    default=_convert_decimal,
)
_STRING = re.compile(r'("(?:[^"\\]++|\\.)*+")')
# Integers with at least the digits of the least one that may be written as a double.
_LONG_INTEGER = re.compile(r"(?<=[\[:,])-?[0-9]{17,}+(?=[,\]}])")
_LONG_INTEGER_CHARS = 17
# If one of these matches, the text may have numbers that are not canonical. Separate expressions
# that begin with literal characters take half of the time of a single one.
_NONCANONICAL_NUMBERS = tuple(
    map(re.compile, (r"\.0[,\]}]", r'":-?[0-9]{17}', r"\[-?[0-9]{17}", r",-?[0-9]{17}"))
)


def _encode_canonical(value: JsonValue) -> str | None:
    """Return the canonical text of an object or array, encoded at once.

    Return `None` if the value is nested too deeply for the encoder or has too long an integer, or
    if a string begins with NUL, as names do.
    """
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):
        return None
    if '"\\u0000' in text:
        return None
    if any(pattern.search(text) for pattern in _NONCANONICAL_NUMBERS):
        pieces = _STRING.split(text)
        pieces[::2] = map(_rewrite_numbers, pieces[::2])
        return "".join(pieces)
    return text


def _rewrite_numbers(text: str) -> str:
    """Return the JSON text between two strings with its numbers in canonical form."""
    if ".0" in text:
        for end in ",]}":
            # Exponents have at least two digits, so `-0` is a whole number here.
            text = text.replace(f".0{end}", end).replace(f"-0{end}", f"0{end}")
    if len(text) > _LONG_INTEGER_CHARS:
        return _LONG_INTEGER.sub(lambda found: repr(_canonicalize_number(int(found[0]))), text)
    return text


def _may_have_long_strings(text: str) -> bool:
    """Return whether a string of a canonical text may be long enough to have a name."""
    unescaped = text.replace("\\\\", "..").replace('\\"', "..") if "\\" in text else text
    return max(map(len, unescaped.split('"'))) >= NAMED_CHARS


class _JsonText(str):
    """JSON text that is written as it is; other strings are values that are encoded."""

    __slots__ = ()


class _CanonicalWriter:
    """A writer of the canonical text of values of any depth into a hash.

    Only a small part of the text is in memory.
    """

    def __init__(self, sha256: "hashlib._Hash", names: Mapping[str, str]) -> None:
        self._sha256 = sha256
        self._names = names
        self._pieces: list[str] = []
        self._chars = 0

    def write(self, value: JsonValue) -> None:
        """Write a value."""
        # Values and text that are still to be written, in reverse order.
        stack: list[JsonValue] = [value]
        while stack:
            node = stack.pop()
            if isinstance(node, _JsonText):
                self._write_text(node)
            elif not isinstance(node, dict | list):
                self._write_text(self._format_scalar(node))
            elif _is_small(node) and (text := _encode_canonical(node)) is not None:
                self._write_text(text)
            elif isinstance(node, dict):
                self._open_object(node, stack)
            elif _has_only_scalars(node):
                self._write_plain_array(node)
            else:
                _open_array(node, stack)
        self._flush()

    def _write_plain_array(self, node: list[JsonValue]) -> None:
        """Write an array of scalars, in batches."""
        self._write_text("[")
        for start in range(0, len(node), _BATCH_MEMBERS):
            members = node[start : start + _BATCH_MEMBERS]
            text = _encode_canonical(members)
            batch = ",".join(map(self._format_scalar, members)) if text is None else text[1:-1]
            self._write_text(f",{batch}" if start else batch)
        self._write_text("]")

    def _open_object(self, node: dict[str, JsonValue], stack: list[JsonValue]) -> None:
        """Push the parts of an object onto a stack, the last part first."""
        members = {self._replace_long(key): member for key, member in node.items()}
        stack.append(_JsonText("}"))
        keys = sorted(members, reverse=True)
        for index, key in enumerate(keys, start=1):
            comma = "" if index == len(keys) else ","
            stack += (members[key], _JsonText(f"{comma}{encode_basestring(key)}:"))
        stack.append(_JsonText("{"))

    def _format_scalar(self, node: JsonValue) -> str:
        """Return the canonical text of a string, a number, true, false or null."""
        if isinstance(node, str):
            return encode_basestring(self._replace_long(node))
        if node is None or isinstance(node, bool):
            return json.dumps(node)
        number = _canonicalize_number(node)
        if not isinstance(number, Decimal):
            return repr(number)
        return format(number, "f")

    def _replace_long(self, text: str) -> str:
        """Return the name of a long string or of its placeholder; short strings stay."""
        if len(text) >= _UNNAMED_CHARS:
            name = self._names.get(text)
            if name is not None:
                return name
            if len(text) >= NAMED_CHARS:
                return make_name_of_text(text)
        # Only names begin with a single NUL, so a second one is added to other strings.
        return f"\0{text}" if text.startswith("\0") else text

    def _write_text(self, piece: str) -> None:
        self._pieces.append(piece)
        self._chars += len(piece)
        if self._chars > _BUFFER_CHARS:
            self._flush()

    def _flush(self) -> None:
        self._sha256.update(_encode_utf8("".join(self._pieces)))
        self._pieces.clear()
        self._chars = 0


def _open_array(node: list[JsonValue], stack: list[JsonValue]) -> None:
    """Push the parts of an array onto a stack, the last part first."""
    stack.append(_JsonText("]"))
    for index in range(len(node) - 1, -1, -1):
        stack.append(node[index])
        if index:
            stack.append(_JsonText(","))
    stack.append(_JsonText("["))


def _has_only_scalars(members: list[JsonValue]) -> bool:
    """Return whether an array has only scalar members without long strings."""
    return not any(
        isinstance(member, dict | list)
        or (isinstance(member, str) and len(member) >= _UNNAMED_CHARS)
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
        elif isinstance(node, str) and len(node) >= _UNNAMED_CHARS:
            return False
        if len(nodes) > _MAX_SMALL_NODES:
            return False
    return True


def _encode_utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def make_name_of_text(text: str) -> str:
    """Return the name of a text; shorter texts than `NAMED_CHARS` characters are returned as is."""
    if len(text) < NAMED_CHARS:
        return text
    head_end = find_base64_start(text[:NAMED_CHARS]) if text[0] in "dD" else 0
    try:
        return _make_name_of_base64_text(text, head_end)
    except (NotStrictBase64Error, UnicodeEncodeError):
        sha256 = hashlib.sha256()
        for start in range(0, len(text), _PIECE_CHARS):
            # The bytes are only hashed, so surrogate pairs may be split.
            sha256.update(text[start : start + _PIECE_CHARS].encode("utf-8", "surrogatepass"))
        return f"\0text:{sha256.hexdigest()}"


def make_name_of_base64(head: str, spelling: str, digest: str) -> str:
    """Return the name of a base64 string.

    Args:
        head: The text before the base64, such as the head of a data URI.
        spelling: The spelling of the base64, `Base64Decoder.spelling`.
        digest: The SHA-256 of the decoded bytes, in hex.
    """
    identity = f"{len(head)} {head}{spelling} {digest}"
    return f"\0base64:{hashlib.sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _make_name_of_base64_text(text: str, start: int) -> str:
    """Return the name of a text that is base64 from `start` on.

    Raises:
        NotStrictBase64Error, UnicodeEncodeError: The text is not base64.
    """
    decoder = Base64Decoder()
    sha256 = hashlib.sha256()
    position, step = start, _FIRST_PIECE_CHARS
    while position < len(text):
        sha256.update(decoder.decode(text[position : position + step].encode("ascii")))
        position, step = position + step, _PIECE_CHARS
    sha256.update(decoder.finish())
    return make_name_of_base64(text[:start], decoder.spelling, sha256.hexdigest())
