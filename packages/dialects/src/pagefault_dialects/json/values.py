"""Parse and serialise JSON without loss: any integer, any character, a thousand levels deep.

The standard library's parser is used, since other common parsers reject lone surrogates, which
callers send. NaN, Infinity and unlimited nesting, which it accepts, are rejected here. Serialised
JSON is compact and deterministic. It does not depend on Python's recursion limit, and may have the
slots (`MediaSlot`) that normalization puts into values.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import groupby
from json.encoder import encode_basestring
from typing import Any, TypeAlias

from typing_extensions import TypeAliasType

from pagefault_dialects.errors import InvalidJsonError, PayloadTooLargeError
from pagefault_dialects.json.large_json import (
    PIECE_CHARS,
    PIECE_NODES,
    STRING,
    decode_in_pieces,
    find_string_end,
)
from pagefault_dialects.json.numbers import (
    SPELLED_HOOKS,
    SpelledNumber,
    parse_exact_integer,
    parse_finite_float,
    parse_spelled_number,
    reject_constant,
)
from pagefault_dialects.text_windows import WINDOW_CHARS, match_end, without_lone_surrogates


@dataclass(frozen=True, slots=True)
class MediaSlot:
    """A slot in a value or text, which is later replaced by a reference to `media[index]`."""

    index: int


TextTemplate = tuple[str | MediaSlot, ...]
"""A text with slots, as its pieces in order."""


JsonValue: TypeAlias = Any
"""Any JSON value as `parse_json` returns it."""
AnyJson = TypeAliasType("AnyJson", Any)
"""Any JSON value, as a named type in the OpenAPI document."""
JsonObject = TypeAliasType("JsonObject", dict[str, Any])
"""A JSON object with any members.

It has a name since generators of clients would make a type of each use otherwise.
"""

_STRING = re.compile(STRING, re.DOTALL)
_WHOLE_STRINGS = re.compile(rf'(?:[^"]*+{_STRING.pattern})*+', re.DOTALL)
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_BRACKET = re.compile(r"[\[\]{}]")
_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def parse_json(
    body: bytes,
    *,
    max_depth: int,
    max_nodes: int,
    keeps_spelling: bool = False,
    make_object: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None,
) -> JsonValue:
    """Parse a request body.

    Integers may have any size; those of more than 4,000 digits become a `Decimal`. Lone surrogates
    are returned as they are. The last value of a repeated key is returned.

    Args:
        body: JSON text in UTF-8.
        max_depth: The most levels of arrays and objects.
        max_nodes: The most values in all.
        keeps_spelling: Keep the spelling of numbers such as `1.10`, for values that are serialised
            again.
        make_object: Creates an object from its members; `dict` by default.

    Raises:
        InvalidJsonError: Not UTF-8, not JSON, or a number that is not finite.
        PayloadTooLargeError: Nested too deeply, or too many values.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as exc:
        raise InvalidJsonError(f"The body is not UTF-8 text (byte {exc.start}).") from exc
    check_shape(text, max_depth, max_nodes)
    try:
        hooks = {} if make_object is None else {"object_pairs_hook": make_object}
        return _decode(text, **hooks, **(SPELLED_HOOKS if keeps_spelling else {}))
    except json.JSONDecodeError as exc:
        raise InvalidJsonError(
            f"The body is not JSON (line {exc.lineno}, column {exc.colno})."
        ) from exc
    except RecursionError as exc:
        # Only if the interpreter's recursion limit is lower than `max_depth`.
        raise _too_deep(max_depth) from exc


def parse_repaired_json(
    body: bytes, *, max_depth: int, max_nodes: int, keeps_spelling: bool = False
) -> JsonValue:
    """Parse like `parse_json`, replacing every lone surrogate by U+FFFD.

    Raises:
        InvalidJsonError, PayloadTooLargeError: As `parse_json`; or two keys of an object differ
            only in lone surrogates.
    """
    value = parse_json(
        body, max_depth=max_depth, max_nodes=max_nodes, keeps_spelling=keeps_spelling
    )
    return (
        repair_surrogates(value, keeps_spelling=keeps_spelling)
        if may_have_surrogates(body)
        else value
    )


def may_have_surrogates(body: bytes) -> bool:
    """Return whether a JSON text has escapes of surrogates, in pairs or alone."""
    return _SURROGATE_ESCAPE.search(body) is not None


def repair_surrogates(value: JsonValue, *, keeps_spelling: bool = False) -> JsonValue:
    """Return a value with U+FFFD in place of every lone surrogate.

    Raises:
        InvalidJsonError: Two keys of an object differ only in lone surrogates.
    """
    # In JSON text without escapes, a pair is one character, so only lone surrogates are replaced.
    text = without_lone_surrogates(json_text(value))
    return _decode(
        text, object_pairs_hook=_reject_repeated_keys, **(SPELLED_HOOKS if keeps_spelling else {})
    )


def parse_stored_json(text: bytes) -> JsonValue:
    """Return the value of a stored JSON text, with the spelling of its numbers.

    Limits are not checked, since they were checked before it was stored.
    """
    return _decode(text.decode(), **SPELLED_HOOKS)


def parse_embedded_json(text: str, *, max_depth: int, max_nodes: int) -> JsonValue:
    """Parse a string that is JSON text, for a value that can be serialised without loss.

    Numbers such as `1.10` keep their spelling. The limits are those of `parse_json`.

    Raises:
        InvalidJsonError: Not JSON, a number that is not finite, or a repeated key, which would be
            lost.
        PayloadTooLargeError: Nested too deeply, or too many values.
    """
    check_shape(text, max_depth, max_nodes)
    try:
        return _decode(
            text, parse_float=parse_spelled_number, object_pairs_hook=_reject_repeated_keys
        )
    except json.JSONDecodeError as exc:
        raise InvalidJsonError("The text is not JSON.") from exc


def json_text(value: JsonValue) -> str:
    """Return a JSON value as compact text; slots in it are left out."""
    template = json_template(value)
    return "".join(piece for piece in template if isinstance(piece, str))


def json_bytes(value: JsonValue) -> bytes:
    """Return a JSON value as compact text in UTF-8, with lone surrogates as escapes."""
    return json_text(value).encode("utf-8", "backslashreplace")


def json_template(value: JsonValue) -> TextTemplate:
    """Return a JSON value as compact text with its slots.

    In the value, a slot or a template may replace a string. It is written inside quotation marks.
    Members keep their order.
    """
    try:
        return (_COMPACT.encode(value),)
    except (TypeError, RecursionError):
        # It has slots or a `Decimal`, or is nested deeper than the interpreter's recursion limit.
        return _build_template(value)


def iterate_values(value: JsonValue) -> Iterator[tuple[JsonValue, int]]:
    """Yield a value and all values inside it, each with its depth, from 1."""
    stack: list[Iterator[JsonValue]] = [iter((value,))]
    while stack:
        for node in stack[-1]:
            yield node, len(stack)
            if isinstance(node, dict | list):
                stack.append(iter(node.values() if isinstance(node, dict) else node))
                break
        else:
            stack.pop()


def check_shape(text: str, max_depth: int, max_nodes: int) -> None:
    """Check the depth and the number of values of a JSON text, without parsing it.

    Raises:
        PayloadTooLargeError: Nested too deeply, or too many values.
    """
    brackets = _count_brackets(text)
    if brackets <= max_depth and brackets + text.count(",") <= max_nodes:
        # Nearly all texts are within the limits even if brackets and commas in strings are counted.
        # Only other texts are searched for strings.
        return
    nodes = depth = 0
    for piece in _remove_strings(text):
        nodes += piece.count(",") + piece.count("[") + piece.count("{")
        if nodes > max_nodes:
            raise PayloadTooLargeError(
                f"The JSON holds more than {max_nodes} values. Send large data as a file or as "
                "text.",
                code="json-too-large",
            )
        for bracket in _BRACKET.findall(piece):
            depth += 1 if bracket in "[{" else -1
            if depth > max_depth:
                raise _too_deep(max_depth)
            if depth < 0:
                # The text is invalid JSON, and the parser stops here.
                return


def _remove_strings(text: str) -> Iterator[str]:
    """Yield a JSON text without its strings, in pieces.

    An unclosed string ends with the text. The time is linear for any text.
    """
    start = 0
    while start < len(text):
        limit = start + WINDOW_CHARS
        end = match_end(_WHOLE_STRINGS, text, start, limit)
        if end > start:
            yield _STRING.sub("", text[start:end])
        quote = text.find('"', end, limit)
        yield text[end : limit if quote < 0 else quote]
        start = limit if quote < 0 else find_string_end(text, quote + 1)


def _too_deep(max_depth: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"The JSON is nested deeper than {max_depth} levels. Flatten it, or send it as a string.",
        code="json-too-deep",
    )


def _decode(text: str, **hooks: Callable[[Any], object]) -> JsonValue:
    """Return the value of a JSON text; `hooks` are arguments of `json.JSONDecoder`."""
    hooks = {"parse_constant": reject_constant, "parse_float": parse_finite_float, **hooks}
    try:
        return _decode_with_hooks(text, hooks)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # The interpreter refuses integers of more than 4,300 digits.
        return _decode_with_hooks(text, {**hooks, "parse_int": parse_exact_integer})


def _decode_with_hooks(text: str, hooks: dict[str, Any]) -> JsonValue:
    if len(text) > PIECE_CHARS and text.count(",") + _count_brackets(text) > PIECE_NODES:
        return decode_in_pieces(text, hooks)
    # `make_object` of a caller is used for one body only, so a decoder with it is not cached.
    is_cacheable = hooks.get("object_pairs_hook") in (None, _reject_repeated_keys)
    return (_decoder if is_cacheable else json.JSONDecoder)(**hooks).decode(text)


def _count_brackets(text: str) -> int:
    """Return the number of opening brackets in a text, including those in strings."""
    return text.count("[") + text.count("{")


@cache
def _decoder(**hooks: Any) -> json.JSONDecoder:  # noqa: ANN401 - as the library has them
    """Return a cached decoder, since creating one takes as long as parsing a short message."""
    return json.JSONDecoder(**hooks)


def _reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise InvalidJsonError("A key of an object is repeated.")
    return members


class _JsonText(str):
    """JSON text that is already encoded, as opposed to a string that is not."""

    __slots__ = ()


_OBJECT, _ARRAY = (_JsonText("{"), _JsonText("}")), (_JsonText("["), _JsonText("]"))
_COMMA = _JsonText(",")


def _build_template(value: JsonValue) -> TextTemplate:
    """Return a JSON value as text with slots, without recursion."""
    pieces: list[str | MediaSlot] = []
    stack: list[Any] = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, _JsonText):
            pieces.append(node)
        elif isinstance(node, dict | list):
            stack.extend(reversed(_split_container(node)))
        else:
            pieces.extend(_encode_leaf(node))
    return join_template(pieces)


def _split_container(node: dict[str, Any] | list[Any]) -> list[Any]:
    """Return the text of an object or array around its values, and the values, in order."""
    opening, closing = _OBJECT if isinstance(node, dict) else _ARRAY
    tokens: list[Any] = [opening]
    if isinstance(node, dict):
        for key, member in node.items():
            tokens += (_JsonText(f"{encode_basestring(key)}:"), member, _COMMA)
    else:
        for item in node:
            tokens += (item, _COMMA)
    # The closing bracket replaces the last comma, if there is one.
    tokens[-1 if node else 1 :] = (closing,)
    return tokens


def _encode_leaf(node: JsonValue) -> list[str | MediaSlot]:
    if isinstance(node, MediaSlot):
        return ['"', node, '"']
    if isinstance(node, tuple):
        inner = [
            piece if isinstance(piece, MediaSlot) else encode_basestring(piece)[1:-1]
            for piece in node
        ]
        return ['"', *inner, '"']
    if isinstance(node, SpelledNumber):
        return [node.literal]
    if isinstance(node, Decimal):
        return [format(node, "f")]
    return [json.dumps(node, ensure_ascii=False, allow_nan=False)]


def join_template(pieces: list[str | MediaSlot]) -> TextTemplate:
    """Return pieces as a template, with neighbouring strings joined and empty ones removed."""
    joined: list[str | MediaSlot] = []
    for is_text, group in groupby(pieces, lambda piece: isinstance(piece, str)):
        run = list(group)
        text = "".join(piece for piece in run if isinstance(piece, str))
        joined += run if not is_text else [text] if text else []
    return tuple(joined)


def text_member(value: JsonValue, name: str) -> str:
    """Return the string that is a member of an object; `""` if there is no such string."""
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, str) else ""


def has_content(value: JsonValue) -> bool:
    """Return whether a value is not `null`, `false` or empty, as SDKs write unset fields."""
    return not (value is None or value is False or value in ("", [], {}))
