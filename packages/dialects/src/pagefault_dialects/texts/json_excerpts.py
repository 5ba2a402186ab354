"""A JSON value that fits one answer: the value, or its shape and pointers to its first members."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from pagefault_dialects.json.pointer_scanner import LargeValue
from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.texts.cuts import boundary_at_or_before

ANSWER_BYTES = 64 * 1024
"""The most bytes of a text in one answer."""
SHOWN_KEYS = 200
"""The most members of a large value that are described."""
_TYPES: dict[type, str] = {
    **{type(None): "null", bool: "boolean", int: "number", float: "number"},
    **{dict: "object", list: "array", str: "string"},
}
_SHOWN_KEYS_BYTES = 16 * 1024
_SHOWN_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class JsonExcerpt:
    """A value as compact JSON text; if it is too large, `text` is `None` and `shape` is set.

    `words` is the form for readers of plain text.
    """

    pointer: str
    text: str | None
    shape: dict[str, JsonValue] | None
    words: str


def json_excerpt(value: JsonValue | LargeValue, pointer: str) -> JsonExcerpt:
    """Return the value at a pointer, at most 64 KiB of it."""
    if isinstance(value, LargeValue):
        return _outlined(value, value.size_bytes, value.length, value.members, pointer)
    text = json_text(value)
    size_bytes = len(text.encode())
    if size_bytes <= ANSWER_BYTES:
        return JsonExcerpt(pointer, text, None, value if isinstance(value, str) else text)
    if isinstance(value, dict | list):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        return _outlined(value, size_bytes, len(value), members, pointer)
    shape: dict[str, JsonValue] = {"type": _type_of(value), "size": size_bytes}
    if isinstance(value, str):
        start = value[: boundary_at_or_before(value, _SHOWN_CHARS)]
        shape |= {"length": len(value), "start": start}
        shape["hint"] = (
            "Too long for one answer; `start` is its beginning. Find a passage with `grep`, or "
            "read all of the resource from `/api/resources/{uri}/content`."
        )
    else:
        shape["hint"] = "Too long for one answer: read it from `/api/resources/{uri}/content`."
    return JsonExcerpt(pointer, None, shape, json_text(shape))


def _outlined(
    value: JsonValue | LargeValue,
    size_bytes: int,
    length: int,
    members: Iterable[tuple[str | int, JsonValue | LargeValue]],
    pointer: str,
) -> JsonExcerpt:
    """Return the shape of a large object or array, with its first members."""
    shape: dict[str, JsonValue] = {"type": _type_of(value), "size": size_bytes}
    shape |= {"length": length, "keys": _keys(members, pointer)}
    shape["hint"] = (
        "Too large for one answer. Ask for one of its members, by the `pointer` of its key or "
        f"by another; it has {length}."
    )
    return JsonExcerpt(pointer, None, shape, json_text(shape))


def _keys(
    members: Iterable[tuple[str | int, JsonValue | LargeValue]], pointer: str
) -> list[JsonValue]:
    """Return the first members, described, with their pointers."""
    keys: list[JsonValue] = []
    room = _SHOWN_KEYS_BYTES
    for key, member in members:
        described: dict[str, JsonValue] = {
            "key": key,
            "pointer": child_pointer(pointer, key),
            "type": _type_of(member),
        }
        if isinstance(member, LargeValue):
            described["length"] = member.length
        elif isinstance(member, dict | list | str):
            described["length"] = len(member)
        room -= len(json_text(described).encode())
        if room < 0 or len(keys) == SHOWN_KEYS:
            break
        keys.append(described)
    return keys


def _type_of(value: JsonValue | LargeValue) -> str:
    if isinstance(value, LargeValue):
        return "array" if value.is_array else "object"
    # Numbers that keep their spelling are a subclass of `Decimal`.
    return "number" if isinstance(value, Decimal) else _TYPES[type(value)]
