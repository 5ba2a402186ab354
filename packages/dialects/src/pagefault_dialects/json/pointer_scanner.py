"""Follow JSON pointers through large JSON texts, without building the whole value.

A text is parsed in pieces, and only one piece is in memory at a time. If the value at a pointer is
large, its description is returned instead: its size and its first members.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pagefault_dialects.errors import InvalidJsonError
from pagefault_dialects.json.large_json import (
    PIECE_CHARS,
    LargeContainer,
    NotInPiecesError,
    Pieces,
    check_root,
    find_large_containers,
)
from pagefault_dialects.json.numbers import EXACT_HOOKS
from pagefault_dialects.json.pointers import INDEX, follow
from pagefault_dialects.json.values import (
    JsonValue,
    check_shape,
    json_text,
    parse_repaired_json,
    repair_surrogates,
)
from pagefault_dialects.text_windows import without_lone_surrogates

_MISSING = object()


@dataclass(frozen=True, slots=True)
class LargeValue:
    """The description of a large object or array."""

    is_array: bool
    length: int
    """The number of its members; each repeated key counts."""
    size_bytes: int = 0
    """The size as compact JSON; 0 if this value is itself one of `members`."""
    members: "tuple[tuple[str | int, JsonValue | LargeValue], ...]" = ()
    """The first members, each with its name or index; empty if this value is one of `members`."""


@dataclass(frozen=True, slots=True)
class ScannedValue:
    """The value at a pointer, or the last value that exists on the path to it."""

    value: "JsonValue | LargeValue"
    steps: int
    """The number of names in the pointer that exist."""


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """The limits of a scan."""

    depth: int
    """The most levels of arrays and objects in the text."""
    nodes: int
    """The most values in the text."""
    built_bytes: int
    """The most bytes of compact JSON of a value that is returned; larger ones are described."""
    members: int
    """The most members in a description."""
    piece_chars: int = PIECE_CHARS
    """Objects and arrays up to this length are parsed at once."""


def scan_pointer(text: str, names: tuple[str, ...], limits: ScanLimits) -> ScannedValue:
    """Return the value at the names of a pointer in a JSON text.

    The whole text is read. Lone surrogates are repaired, and the last value of a repeated key is
    returned.

    Args:
        text: The JSON text.
        names: The names and indexes of the pointer, as `parse_json_pointer` returns them.
        limits: The limits of the text and of the result.

    Raises:
        InvalidJsonError: The text is invalid JSON.
        PayloadTooLargeError: The text is nested too deeply, or has too many values.
    """
    check_shape(text, limits.depth, limits.nodes)
    large = find_large_containers(text, limits.piece_chars)
    if not large:
        return _follow_rest(_parse(text, limits), names)
    try:
        check_root(text, large)
        scan = _Scan(text, large)
        value, steps = scan.follow(names)
        if not isinstance(value, LargeContainer):
            return _follow_rest(repair_surrogates(value, keeps_spelling=True), names, steps)
        description = scan.describe(value, limits.members)
    except (NotInPiecesError, json.JSONDecodeError) as exc:
        raise InvalidJsonError("The text is not JSON.") from exc
    if description.size_bytes > limits.built_bytes:
        return ScannedValue(description, steps)
    return ScannedValue(_parse(text[value.start : value.end], limits), steps)


def _parse(text: str, limits: ScanLimits) -> JsonValue:
    return parse_repaired_json(
        text.encode(), max_depth=limits.depth, max_nodes=limits.nodes, keeps_spelling=True
    )


def _follow_rest(value: JsonValue, names: tuple[str, ...], steps: int = 0) -> ScannedValue:
    """Follow the names after the first `steps` through a value in memory."""
    found = follow(value, names[steps:])
    return ScannedValue(found.value, steps + found.steps)


class _Scan:
    """A pass through the large objects and arrays of a text, outer ones before inner ones."""

    def __init__(self, text: str, large: list[LargeContainer]) -> None:
        self._text = text
        self._large = large[::-1]
        self._pieces = Pieces(text, EXACT_HOOKS)

    def follow(self, names: tuple[str, ...]) -> tuple["LargeContainer | JsonValue", int]:
        """Return the value at names, and the number of names that were followed.

        The value is the large container at these names. If a value on the path is small, that value
        is returned, and the caller follows the other names. The whole text is read in any case.
        """
        value: Any = self._large[0]
        steps = 0
        for container in self._large:
            name = names[steps] if value is container and steps < len(names) else None
            found = self._find_member(container, name)
            if found is not _MISSING:
                value = found
                steps += 1
        return value, steps

    def _find_member(self, container: LargeContainer, name: str | None) -> object:
        """Parse all members of a container; return the one with a name, or `_MISSING`."""
        found: object = _MISSING
        start = 0
        for piece in self._parse_pieces(container):
            if name is None:
                continue
            if isinstance(piece, dict):
                found = piece.get(name, found)
            elif INDEX.fullmatch(name) and start <= int(name) < start + len(piece):
                found = piece[int(name) - start]
            start += len(piece)
        return found

    def _parse_pieces(self, container: LargeContainer) -> Iterator[Any]:
        for piece in self._pieces.parse(container, lambda child: child):
            if isinstance(piece, dict) and not all(map(str.isascii, piece)):
                yield {without_lone_surrogates(key): value for key, value in piece.items()}
            else:
                yield piece

    def describe(self, target: LargeContainer, max_members: int) -> LargeValue:
        """Return the description of a large container."""
        lengths: dict[int, int] = {}
        first_members: list[tuple[str | int, Any]] = []
        size_bytes = 0
        for container in self._large:
            if not target.start <= container.start < target.end:
                continue
            length = 0
            for piece in self._parse_pieces(container):
                if container is target:
                    remaining = max_members - len(first_members)
                    first_members += [*_iterate_members(piece, length)][:remaining]
                length += len(piece)
                size_bytes += _measure_members(piece)
            lengths[container.start] = length
            # The brackets, and the commas between members.
            size_bytes += 2 + max(0, length - 1)
        members = tuple(
            (key, self._describe_member(member, lengths)) for key, member in first_members
        )
        length = lengths[target.start]
        return LargeValue(self._is_array(target), length, size_bytes, members)

    def _describe_member(self, member: Any, lengths: dict[int, int]) -> JsonValue | LargeValue:  # noqa: ANN401
        if not isinstance(member, LargeContainer):
            return member
        return LargeValue(self._is_array(member), lengths[member.start])

    def _is_array(self, container: LargeContainer) -> bool:
        return self._text[container.start] == "["


def _iterate_members(piece: Any, start: int) -> Iterator[tuple[str | int, Any]]:  # noqa: ANN401
    """Yield the members of a piece, each with its name, or with its index from `start` on."""
    yield from piece.items() if isinstance(piece, dict) else enumerate(piece, start)


def _measure_members(piece: Any) -> int:  # noqa: ANN401
    """Return the size of a piece's members as compact JSON, without large members."""
    if isinstance(piece, dict):
        small: Any = {
            key: value for key, value in piece.items() if not isinstance(value, LargeContainer)
        }
        # The keys of large members, with their colons.
        key_bytes = sum(len(_encode_utf8(key)) + 1 for key in piece.keys() - small.keys())
    else:
        small = [item for item in piece if not isinstance(item, LargeContainer)]
        key_bytes = 0
    return key_bytes + len(_encode_utf8(small)) - 2 - max(0, len(small) - 1)


def _encode_utf8(value: JsonValue) -> bytes:
    return without_lone_surrogates(json_text(value)).encode()
