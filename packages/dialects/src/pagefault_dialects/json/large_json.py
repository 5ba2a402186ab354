r"""Parse JSON of many values piece by piece, so that other threads can run in between.

Python switches threads between two instructions, but not inside of `json` or a regular expression.
So `json` gets at most some ten thousand values at once: a *container* (an object or array) of up to
`PIECE_CHARS` characters, or some members of a larger container.

Brackets and commas outside of strings show where large containers begin and end, and where they can
be cut. If `json` rejects a piece, the whole text is parsed at once, so that values and errors are
always those of `json`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pagefault_dialects.text_windows import WINDOW_CHARS, match_end

PIECE_NODES = 30_000
"""JSON with more values is parsed in pieces."""
PIECE_CHARS = 2 * PIECE_NODES
"""Containers with more characters are cut. A value and its comma have at least two characters."""

Hooks: TypeAlias = Mapping[str, Any]
"""Arguments of `json.JSONDecoder`."""

# Every quantifier is possessive, so that an unclosed string fails only once, at its end.
_UP_TO_STRING_END = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
STRING = rf'"{_UP_TO_STRING_END.pattern}"'
"""The regular expression of a string; compile it with `re.DOTALL`."""
_FLAT = rf'(?:[^"\[\]{{}}]++|{STRING})*+'
# A container without nested containers, which is skipped like a string.
_LEAF = rf"\[{_FLAT}\]|\{{{_FLAT}\}}"
_UP_TO_BRACKET = re.compile(rf'(?:[^"\[\]{{}}]++|{STRING}|{_LEAF})*+', re.DOTALL)
_UP_TO_LAST_COMMA = re.compile(rf'(?:(?:[^,"\[\]{{}}]++|{STRING}|{_LEAF})*+,)*+', re.DOTALL)
_BRACKETS = ("[", "]", "{", "}")
_BLANKS = re.compile(r"[ \t\n\r]*+")
# Replaces a large container in the text around it. `json` calls a hook for it, `parse_constant`.
_PLACEHOLDER = "NaN"


class NotInPiecesError(Exception):
    """The text cannot be parsed in pieces: it is invalid JSON, or has no large containers."""


@dataclass(slots=True)
class LargeContainer:
    """A large object or array in a JSON text. All numbers are positions in the text."""

    start: int
    end: int = 0
    cuts: list[int] = field(default_factory=list)
    """The commas between its pieces, in order."""
    children: list["LargeContainer"] = field(default_factory=list)
    """The large containers that are its members, in order; each piece has at most one."""
    _piece_start: int = field(init=False)

    def __post_init__(self) -> None:
        """Begin the first piece behind the bracket."""
        self._piece_start = self.start + 1

    def cut_after_member(self, text: str, member_end: int, step_chars: int) -> None:
        """Cut at the comma behind a member, if the piece is long enough."""
        if member_end - self._piece_start > step_chars:
            comma = match_end(_BLANKS, text, member_end, len(text))
            if text.startswith(",", comma):
                self._cut(comma)

    def cut_at_last_comma(self, text: str, start: int, end: int) -> None:
        """Cut at the last comma of `text[start:end]`, which has no brackets."""
        comma = match_end(_UP_TO_LAST_COMMA, text, start, end) - 1
        # There may be no comma, or the container may be cut there already.
        if comma >= max(start, self._piece_start):
            self._cut(comma)

    def _cut(self, comma: int) -> None:
        self.cuts.append(comma)
        self._piece_start = comma + 1


def find_string_end(text: str, start: int) -> int:
    """Return the position behind the closing quotation mark of a string.

    An unclosed string ends with the text.

    Args:
        text: A JSON text.
        start: The position behind the opening quotation mark.
    """
    while start < len(text):
        end = match_end(_UP_TO_STRING_END, text, start, start + WINDOW_CHARS)
        if text.startswith('"', end):
            return end + 1
        # Only a backslash remains, at the end of the text.
        if end == start:
            break
        start = end
    return len(text)


def find_longest_string(text: str) -> str:
    """Return the longest string of a JSON text, with its escapes and quotation marks."""
    longest = slice(0, 0)
    end = 0
    while (start := text.find('"', end)) >= 0:
        end = find_string_end(text, start + 1)
        if end - start > longest.stop - longest.start:
            longest = slice(start, end)
    return text[longest]


def find_large_containers(text: str, piece_chars: int = PIECE_CHARS) -> list[LargeContainer]:
    """Return the objects and arrays of more than `piece_chars` characters, inner ones first.

    An unclosed container ends with the text. The search ends at an unmatched closing bracket.
    """
    search = _Search(text, piece_chars)
    position = 0
    while position < len(text):
        position = search.advance(position)
    return search.finish()


class _Search:
    """A search for large containers in a text, from bracket to bracket."""

    def __init__(self, text: str, piece_chars: int) -> None:
        self._text = text
        self._piece_chars = piece_chars
        # A piece is cut once it has this length. Its last member is at most twice as long, so the
        # piece has at most `piece_chars`.
        self._step_chars = piece_chars // 3
        self._open_containers: list[LargeContainer] = []
        self._large: list[LargeContainer] = []

    def advance(self, start: int) -> int:
        """Search up to the next bracket, but only a limited length; return the next position."""
        text = self._text
        end = match_end(_UP_TO_BRACKET, text, start, start + self._step_chars)
        character = text[end : end + 1]
        if character in _BRACKETS:
            return self._read_bracket(character, end)
        if self._open_containers:
            self._open_containers[-1].cut_at_last_comma(text, start, end)
        # If the search stopped at a string, the string was too long for this step.
        return find_string_end(text, end + 1) if character == '"' else end

    def _read_bracket(self, bracket: str, position: int) -> int:
        """Open or close a container; return the position behind its bracket."""
        if bracket in "[{":
            self._open_containers.append(LargeContainer(position))
            return position + 1
        if not self._open_containers:
            return len(self._text)
        self._close(position + 1)
        return position + 1

    def _close(self, end: int) -> None:
        container = self._open_containers.pop()
        container.end = end
        outer = self._open_containers[-1] if self._open_containers else None
        if end - container.start > self._piece_chars:
            self._large.append(container)
            if outer is not None:
                outer.children.append(container)
        if outer is not None:
            outer.cut_after_member(self._text, end, self._step_chars)

    def finish(self) -> list[LargeContainer]:
        """Return the large containers, after the end of the text."""
        while self._open_containers:
            self._close(len(self._text))
        return self._large


class _OuterObject:
    """An `object_pairs_hook` that keeps the members of the object that was made last.

    That is the outermost object of a piece. Its members are needed, since its keys may be repeated
    in other pieces.
    """

    def __init__(self, make_object: Callable[[Any], Any]) -> None:
        self._make_object = make_object
        self.pairs: list[tuple[str, Any]] = []

    def make(self, pairs: list[tuple[str, Any]]) -> Any:  # noqa: ANN401 - any object
        self.pairs = pairs
        return self._make_object(pairs)


class Pieces:
    """A parser of large containers, piece by piece.

    Args:
        text: The JSON text.
        hooks: The arguments of `json.JSONDecoder`.
    """

    def __init__(self, text: str, hooks: Hooks) -> None:
        self._text = text
        self._outer = _OuterObject(hooks.get("object_pairs_hook", dict))
        if "object_pairs_hook" in hooks:
            hooks = {**hooks, "object_pairs_hook": self._outer.make}
        # The hook is no method of this class: a reference cycle would keep the text in memory.
        self._decoder = json.JSONDecoder(**hooks)
        self._children = children = list[Any]()
        constant: dict[str, Any] = {"parse_constant": lambda _: children.pop()}
        self._decoder_with_child = json.JSONDecoder(**{**hooks, **constant})

    def parse(
        self, container: LargeContainer, child_of: Callable[[LargeContainer], Any]
    ) -> Iterator[Any]:
        """Yield the members of a container, some at a time, each time as an array or object.

        Args:
            container: A large container.
            child_of: Returns the value for a large container that is a member.

        Raises:
            NotInPiecesError, json.JSONDecodeError: The container is invalid JSON.
        """
        text, start = self._text, container.start + 1
        children = iter(container.children)
        child = next(children, None)
        for end in (*container.cuts, container.end - 1):
            if child is not None and child.start < end:
                members = f"{text[start : child.start]}{_PLACEHOLDER}{text[child.end : end]}"
                self._children[:] = [child_of(child)]
                child = next(children, None)
                piece = self._parse_piece(self._decoder_with_child, container, members)
            else:
                piece = self._parse_piece(self._decoder, container, text[start:end])
            if container.cuts and not piece:
                # There is a comma without a member.
                raise NotInPiecesError
            yield piece
            start = end + 1

    @property
    def outer_pairs(self) -> list[tuple[str, Any]]:
        """The members of the last piece, with repeated keys, if there is an `object_pairs_hook`."""
        return self._outer.pairs

    def _parse_piece(
        self, decoder: json.JSONDecoder, container: LargeContainer, members: str
    ) -> Any:  # noqa: ANN401
        text = self._text
        try:
            return decoder.decode(f"{text[container.start]}{members}{text[container.end - 1]}")
        except IndexError as exc:
            # Beside the placeholder there is another constant, such as `NaN`: invalid JSON.
            raise NotInPiecesError from exc


def decode_in_pieces(text: str, hooks: Hooks, *, piece_chars: int = PIECE_CHARS) -> Any:  # noqa: ANN401
    """Return the result of `json.JSONDecoder(**hooks).decode(text)`, or raise its error."""
    large = find_large_containers(text, piece_chars)
    try:
        return _build_value(text, large, hooks)
    except (NotInPiecesError, json.JSONDecodeError):
        # Parsed again, so that errors have positions in the whole text.
        return json.JSONDecoder(**hooks).decode(text)


def _build_value(text: str, large: list[LargeContainer], hooks: Hooks) -> Any:  # noqa: ANN401 - any JSON
    """Return the value of a text, built from its large containers, the innermost first."""
    check_root(text, large)
    pieces = Pieces(text, hooks)
    values: dict[int, Any] = {}
    for container in large:
        parsed = pieces.parse(container, lambda child: values.pop(child.start))
        values[container.start] = _join_pieces(parsed, pieces, hooks.get("object_pairs_hook"))
    return values[large[-1].start]


def check_root(text: str, large: list[LargeContainer]) -> None:
    """Check that the last large container is the root of a JSON text.

    Raises:
        NotInPiecesError: There is no large container, or other text than white space around it.
    """
    size = len(text)
    if (
        not large
        or match_end(_BLANKS, text, 0, size) != large[-1].start
        or match_end(_BLANKS, text, large[-1].end, size) != size
    ):
        raise NotInPiecesError


def _join_pieces(
    parsed: Iterator[Any], pieces: Pieces, make_object: Callable[[Any], Any] | None
) -> Any:  # noqa: ANN401 - any JSON
    """Return a container that was parsed in pieces; `make_object` is the `object_pairs_hook`."""
    whole = next(parsed)
    if isinstance(whole, list):
        for piece in parsed:
            whole += piece
    elif make_object is None:
        for piece in parsed:
            whole |= piece
    else:
        pairs = [*pieces.outer_pairs]
        for _ in parsed:
            pairs += pieces.outer_pairs
        whole = make_object(pairs)
    return whole
