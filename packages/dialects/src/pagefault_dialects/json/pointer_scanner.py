"""JSON pointers followed through a text without building its value.

A text is parsed in pieces, one of which is in memory at a time. If a pointer leads to a large
value, its size and its first members are described.
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
    repaired,
)
from pagefault_dialects.text_windows import without_lone_surrogates

_MISSING = object()


@dataclass(frozen=True, slots=True)
class LargeValue:
    """A large object or array that was not built.

    `size_bytes` is its size as compact JSON. `members` are the first of its `length` members, each
    with its name or index; large ones among them have no size and no members. Repeated keys count
    each.
    """

    is_array: bool
    length: int
    size_bytes: int = 0
    members: "tuple[tuple[str | int, JsonValue | LargeValue], ...]" = ()


@dataclass(frozen=True, slots=True)
class Scanned:
    """The value at a pointer, and the number of its names that were found."""

    value: "JsonValue | LargeValue"
    steps: int


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """The limits of a text's depth and values, and of the answer.

    A value of at most `built_bytes` as compact JSON is built, whatever its spelling. Of a larger
    one `members` are described. Containers up to `piece_chars` are parsed at once.
    """

    depth: int
    nodes: int
    built_bytes: int
    members: int
    piece_chars: int = PIECE_CHARS


def scan_pointer(text: str, names: tuple[str, ...], limits: ScanLimits) -> Scanned:
    """Follow the names of a pointer through a JSON text; of a repeated key the last value wins.

    The whole text is read, and lone surrogates are repaired.

    Raises:
        InvalidJsonError: It is invalid JSON.
        PayloadTooLargeError: It is nested too deeply, or has too many values.
    """
    check_shape(text, limits.depth, limits.nodes)
    large = large_containers(text, limits.piece_chars)
    if not large:
        return _followed(_parsed(text, limits), names)
    try:
        check_root(text, large)
        scan = _Scan(text, large)
        place, steps = scan.follow(names)
        if not isinstance(place, LargeContainer):
            return _followed(repaired(place, keeps_spelling=True), names, steps)
        described = scan.describe(place, limits.members)
    except (NotInPiecesError, json.JSONDecodeError) as exc:
        raise InvalidJsonError("The text is not JSON.") from exc
    if described.size_bytes > limits.built_bytes:
        return Scanned(described, steps)
    return Scanned(_parsed(text[place.start : place.end], limits), steps)


def _parsed(text: str, limits: ScanLimits) -> JsonValue:
    return parse_repaired_json(
        text.encode(), max_depth=limits.depth, max_nodes=limits.nodes, keeps_spelling=True
    )


def _followed(value: JsonValue, names: tuple[str, ...], steps: int = 0) -> Scanned:
    followed = follow(value, names[steps:])
    return Scanned(followed.value, steps + followed.steps)


class _Scan:
    """A pass through the large containers of a text, each before those inside it."""

    def __init__(self, text: str, large: list[LargeContainer]) -> None:
        self._text = text
        self._large = large[::-1]
        self._pieces = Pieces(text, EXACT_HOOKS)

    def follow(self, names: tuple[str, ...]) -> tuple["LargeContainer | JsonValue", int]:
        """Return the value at these names, and the number of names found; reads the whole text.

        The value is a small member of a large container, through which the remaining names may
        lead, or the large container at their end.
        """
        place: Any = self._large[0]
        steps = 0
        for container in self._large:
            name = names[steps] if place is container and steps < len(names) else None
            found = self._member(container, name)
            if found is not _MISSING:
                place = found
                steps += 1
        return place, steps

    def _member(self, container: LargeContainer, name: str | None) -> object:
        """Return the member of a name, if there is one, after parsing all members."""
        found: object = _MISSING
        start = 0
        for piece in self._of(container):
            if name is None:
                continue
            if isinstance(piece, dict):
                found = piece.get(name, found)
            elif INDEX.fullmatch(name) and start <= int(name) < start + len(piece):
                found = piece[int(name) - start]
            start += len(piece)
        return found

    def _of(self, container: LargeContainer) -> Iterator[Any]:
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
            for piece in self._of(container):
                if container is target:
                    room = max_members - len(first_members)
                    first_members += [*_items(piece, length)][:room]
                length += len(piece)
                size_bytes += _size_bytes(piece)
            lengths[container.start] = length
            # Brackets, and commas.
            size_bytes += 2 + max(0, length - 1)
        members = tuple((key, self._described(member, lengths)) for key, member in first_members)
        length = lengths[target.start]
        return LargeValue(self._is_array(target), length, size_bytes, members)

    def _described(self, member: Any, lengths: dict[int, int]) -> JsonValue | LargeValue:  # noqa: ANN401
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
