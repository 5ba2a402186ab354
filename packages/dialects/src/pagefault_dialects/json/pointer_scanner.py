"""JSON pointers are followed through a text without building its whole value.

A text is parsed in pieces, one of which is in memory at a time. If a pointer leads to a large
value, a description is returned: its size and its first members.
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
    large_containers,
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
    """The description of a large object or array, which was not built."""

    is_array: bool
    length: int
    """The number of its members; repeated keys are counted each time."""
    size_bytes: int = 0
    """The size as compact JSON; 0 for a member of another large value."""
    members: "tuple[tuple[str | int, JsonValue | LargeValue], ...]" = ()
    """The first members, each with its name or index; none for a member of a large value."""


@dataclass(frozen=True, slots=True)
class ScannedValue:
    """The value at a pointer, and the number of its names that were found."""

    value: "JsonValue | LargeValue"
    steps: int


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """The limits of a scan."""

    depth: int
    """The most levels of arrays and objects in the text."""
    nodes: int
    """The most values in the text."""
    built_bytes: int
    """The most bytes of compact JSON of a value that is built; larger values are described."""
    members: int
    """The most members in a description."""
    piece_chars: int = PIECE_CHARS
    """Objects and arrays up to this length are parsed at once."""


def scan_pointer(text: str, names: tuple[str, ...], limits: ScanLimits) -> ScannedValue:
    """Follow the names of a pointer through a JSON text; of a repeated key the last value wins.

    The whole text is read, and lone surrogates are repaired.

    Raises:
        InvalidJsonError: It is invalid JSON.
        PayloadTooLargeError: It is nested too deeply, or has too many values.
    """
    check_shape(text, limits.depth, limits.nodes)
    large = large_containers(text, limits.piece_chars)
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
    """One pass through the large objects and arrays of a text, outer ones before inner ones."""

    def __init__(self, text: str, large: list[LargeContainer]) -> None:
        self._text = text
        self._large = large[::-1]
        self._pieces = Pieces(text, EXACT_HOOKS)

    def follow(self, names: tuple[str, ...]) -> tuple["LargeContainer | JsonValue", int]:
        """Return the value at these names, and the number of names that were found.

        The value is the large container that the names lead to, or else the first small member on
        the way; the remaining names may lead into that. The whole text is read in either case.
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
        """Parse all members of a container; return the one of this name, or `_MISSING`."""
        found: object = _MISSING
        start = 0
        for piece in self._pieces_of(container):
            if name is None:
                continue
            if isinstance(piece, dict):
                found = piece.get(name, found)
            elif INDEX.fullmatch(name) and start <= int(name) < start + len(piece):
                found = piece[int(name) - start]
            start += len(piece)
        return found

    def _pieces_of(self, container: LargeContainer) -> Iterator[Any]:
        for piece in self._pieces.of(container, lambda child: child):
            if isinstance(piece, dict) and not all(map(str.isascii, piece)):
                yield {without_lone_surrogates(key): value for key, value in piece.items()}
            else:
                yield piece

    def describe(self, target: LargeContainer, max_members: int) -> LargeValue:
        """Describe a large container."""
        lengths: dict[int, int] = {}
        first_members: list[tuple[str | int, Any]] = []
        size_bytes = 0
        for container in self._large:
            if not target.start <= container.start < target.end:
                continue
            length = 0
            for piece in self._pieces_of(container):
                if container is target:
                    room = max_members - len(first_members)
                    first_members += [*_items(piece, length)][:room]
                length += len(piece)
                size_bytes += _size_bytes(piece)
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


def _items(piece: Any, start: int) -> Iterator[tuple[str | int, Any]]:  # noqa: ANN401
    yield from piece.items() if isinstance(piece, dict) else enumerate(piece, start)


def _size_bytes(piece: Any) -> int:  # noqa: ANN401
    """Return the size of a piece's members as compact JSON, without large members."""
    if isinstance(piece, dict):
        small: Any = {
            key: value for key, value in piece.items() if not isinstance(value, LargeContainer)
        }
        named = sum(len(_utf8(key)) + 1 for key in piece.keys() - small.keys())
    else:
        small = [item for item in piece if not isinstance(item, LargeContainer)]
        named = 0
    return named + len(_utf8(small)) - 2 - max(0, len(small) - 1)


def _utf8(value: JsonValue) -> bytes:
    return without_lone_surrogates(json_text(value)).encode()
