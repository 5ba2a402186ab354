"""A value inside a JSON text, or what it looks like where it is too large to be shown."""

from dataclasses import dataclass
from decimal import Decimal

from app.models.json_pointer import child_pointer
from app.models.json_value import JsonValue, json_text
from app.rendering.texts.excerpts import ANSWER_BYTES
from app.rendering.texts.graphemes import boundary_at_or_before

_SHOWN_KEYS = 200
_SHOWN_KEYS_BYTES = 16 * 1024
_SHOWN_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class JsonExcerpt:
    """A value as compact JSON text; where it is too large, `text` is `None` and `shape` is there.

    `words` is what a reader of plain text gets.
    """

    pointer: str
    text: str | None
    shape: dict[str, JsonValue] | None
    words: str


def json_excerpt(value: JsonValue, pointer: str) -> JsonExcerpt:
    """The value that a pointer has led to, at most 64 KiB of it."""
    text = json_text(value)
    size_bytes = len(text.encode())
    if size_bytes <= ANSWER_BYTES:
        return JsonExcerpt(pointer, text, None, value if isinstance(value, str) else text)
    shape: dict[str, JsonValue] = {"type": _type_of(value), "size": size_bytes}
    if isinstance(value, dict | list):
        shape |= {"length": len(value), "keys": _keys(value, pointer)}
        shape["hint"] = (
            "Too large for one answer. Ask for one of its members, by the `pointer` of its key or "
            f"by another; it has {len(value)}."
        )
    elif isinstance(value, str):
        start = value[: boundary_at_or_before(value, _SHOWN_CHARS)]
        shape |= {"length": len(value), "start": start}
        shape["hint"] = (
            "Too long for one answer; `start` is its beginning. Find a passage with `grep`, or "
            "read all of the resource from `/api/resources/{uri}/content`."
        )
    else:
        shape["hint"] = "Too long for one answer: read it from `/api/resources/{uri}/content`."
    return JsonExcerpt(pointer, None, shape, json_text(shape))


def _keys(value: dict[str, JsonValue] | list[JsonValue], pointer: str) -> list[JsonValue]:
    """What the first members are, and the pointers to them."""
    keys: list[JsonValue] = []
    room = _SHOWN_KEYS_BYTES
    for key, member in value.items() if isinstance(value, dict) else enumerate(value):
        shown: dict[str, JsonValue] = {
            "key": key,
            "pointer": child_pointer(pointer, key),
            "type": _type_of(member),
        }
        if isinstance(member, dict | list | str):
            shown["length"] = len(member)
        room -= len(json_text(shown).encode())
        if room < 0 or len(keys) == _SHOWN_KEYS:
            break
        keys.append(shown)
    return keys


def _type_of(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float | Decimal):
        return "number"
    if isinstance(value, dict | list):
        return "object" if isinstance(value, dict) else "array"
    return "string"
