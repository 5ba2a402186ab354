r"""JSON of many values in pieces: parsed, and looked through without being built.

The interpreter switches threads between two steps of Python, and never inside the library's parser
or a regular expression. So one of these calls gets some ten thousand values at most: a container of
up to `PIECE_CHARS` characters, or some members of a larger one.

Brackets and commas outside of strings show where large containers begin and end, and where they are
cut. The library parses each piece. If it refuses one, it parses the whole text instead, so that
values and errors are always the library's.
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
"""Containers with more characters are cut: a value and its comma have two."""

Hooks: TypeAlias = Mapping[str, Any]
"""Arguments of `json.JSONDecoder`."""

# Every quantifier is possessive: an unclosed string fails once, at the end of the text, without
# retries from each of its escapes.
_TO_STRING_END = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
STRING = rf'"{_TO_STRING_END.pattern}"'
"""The expression of a string, to be compiled with `re.DOTALL`."""
_FLAT = rf'(?:[^"\[\]{{}}]++|{STRING})*+'
# A container without nested ones: it is skipped like a string.
_LEAF = rf"\[{_FLAT}\]|\{{{_FLAT}\}}"
_TO_BRACKET = re.compile(rf'(?:[^"\[\]{{}}]++|{STRING}|{_LEAF})*+', re.DOTALL)
_TO_LAST_COMMA = re.compile(rf'(?:(?:[^,"\[\]{{}}]++|{STRING}|{_LEAF})*+,)*+', re.DOTALL)
_BRACKETS = ("[", "]", "{", "}")
_BLANKS = re.compile(r"[ \t\n\r]*+")
# Replaces a large container in the text around it; the parser has a hook for it.
_PLACEHOLDER = "NaN"


class NotInPiecesError(Exception):
    """The text is invalid JSON, or has no large containers."""


@dataclass(slots=True)
class LargeContainer:
    """A large object or array: its place, the commas at which it is cut, its large members.

    `cuts` and `children` are in order, and after each child there is a cut, or the end.
    """

    start: int
    end: int = 0
    cuts: list[int] = field(default_factory=list)
    children: list["LargeContainer"] = field(default_factory=list)
    _piece_start: int = field(init=False)

    def __post_init__(self) -> None:
        """Begin the first piece."""
        self._piece_start = self.start + 1

    def cut_behind(self, text: str, at: int, step_chars: int) -> None:
        """Cut at the comma after a member that ends here, if the piece is long enough."""
        if at - self._piece_start > step_chars:
            at = match_end(_BLANKS, text, at, len(text))
            if text.startswith(",", at):
                self._cut(at)

    def cut_within(self, text: str, start: int, end: int) -> None:
        """Cut at the last comma of a stretch of text without brackets."""
        comma = match_end(_TO_LAST_COMMA, text, start, end) - 1
        # It may be where the previous piece was cut.
        if comma >= max(start, self._piece_start):
            self._cut(comma)

    def _cut(self, comma: int) -> None:
        self.cuts.append(comma)
        self._piece_start = comma + 1


def string_end(text: str, start: int) -> int:
    """Return the end, behind its quotation mark, of the string that begins at `start`."""
    while start < len(text):
        end = match_end(_TO_STRING_END, text, start, start + WINDOW_CHARS)
        if text.startswith('"', end):
            return end + 1
        # Only a backslash remains, at the end of the text.
        if end == start:
            break
        start = end
    return len(text)


def longest_string(text: str) -> str:
    """Return the longest string of a JSON text as it is written, with its quotation marks."""
    longest = slice(0, 0)
    end = 0
    while (start := text.find('"', end)) >= 0:
        end = string_end(text, start + 1)
        if end - start > longest.stop - longest.start:
            longest = slice(start, end)
    return text[longest]


def large_containers(text: str, piece_chars: int = PIECE_CHARS) -> list[LargeContainer]:
    """Return the objects and arrays with more characters than this, inner ones first.

    An unclosed one ends with the text. The search ends at a bracket that closes nothing.
    """
    search = _Search(text, piece_chars)
    at = 0
    while at < len(text):
        at = search.step(at)
    return search.finish()


class _Search:
    """The search for large containers, from bracket to bracket."""

    def __init__(self, text: str, piece_chars: int) -> None:
        self._text = text
        self._piece_chars = piece_chars
        # A piece is cut at this length, after a member of twice the length at most.
        self._step_chars = piece_chars // 3
        self._opened: list[LargeContainer] = []
        self._large: list[LargeContainer] = []

    def step(self, start: int) -> int:
        """Search up to the next bracket, or a limited stretch; return the next position."""
        text = self._text
        at = match_end(_TO_BRACKET, text, start, start + self._step_chars)
        mark = text[at : at + 1]
        if mark in _BRACKETS:
            return self._bracket(mark, at)
        if self._opened:
            self._opened[-1].cut_within(text, start, at)
        # A string may end after the stretch.
        return string_end(text, at + 1) if mark == '"' else at

    def _bracket(self, mark: str, at: int) -> int:
        if mark in "[{":
            self._opened.append(LargeContainer(at))
            return at + 1
        if not self._opened:
            return len(self._text)
        self._close(at + 1)
        return at + 1

    def _close(self, end: int) -> None:
        container = self._opened.pop()
        container.end = end
        outer = self._opened[-1] if self._opened else None
        if end - container.start > self._piece_chars:
            self._large.append(container)
            if outer is not None:
                outer.children.append(container)
        if outer is not None:
            outer.cut_behind(self._text, end, self._step_chars)

    def finish(self) -> list[LargeContainer]:
        """Return the containers found."""
        while self._opened:
            self._close(len(self._text))
        return self._large


class _OuterObject:
    """A hook for objects that keeps the pairs of the last one.

    The outermost object is made last. Its keys may be repeated in other pieces.
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
        text: The text.
        hooks: The arguments of `json.JSONDecoder`.
    """

    def __init__(self, text: str, hooks: Hooks) -> None:
        self._text = text
        self._outer = _OuterObject(hooks.get("object_pairs_hook", dict))
        if "object_pairs_hook" in hooks:
            hooks = {**hooks, "object_pairs_hook": self._outer.make}
        # The decoder has no reference to the text, which would form a cycle.
        self._decoder = json.JSONDecoder(**hooks)
        self._children = children = list[Any]()
        constant: dict[str, Any] = {"parse_constant": lambda _: children.pop()}
        self._with_child = json.JSONDecoder(**{**hooks, **constant})

    def of(
        self, container: LargeContainer, child_of: Callable[[LargeContainer], Any]
    ) -> Iterator[Any]:
        """Yield the members of a container, a few at a time: each as an array or an object.

        Args:
            container: A large container.
            child_of: Returns the value of a large container inside it.

        Raises:
            NotInPiecesError, json.JSONDecodeError: It is invalid JSON.
        """
        text, start = self._text, container.start + 1
        children = iter(container.children)
        child = next(children, None)
        for end in (*container.cuts, container.end - 1):
            if child is not None and child.start < end:
                members = f"{text[start : child.start]}{_PLACEHOLDER}{text[child.end : end]}"
                self._children[:] = [child_of(child)]
                child = next(children, None)
                piece = self._parsed(self._with_child, container, members)
            else:
                piece = self._parsed(self._decoder, container, text[start:end])
            if container.cuts and not piece:
                # A comma without a member.
                raise NotInPiecesError
            yield piece
            start = end + 1

    @property
    def outer_pairs(self) -> list[tuple[str, Any]]:
        """The pairs that an `object_pairs_hook` got for the last piece."""
        return self._outer.pairs

    def _parsed(self, decoder: json.JSONDecoder, container: LargeContainer, members: str) -> Any:  # noqa: ANN401
        text = self._text
        try:
            return decoder.decode(f"{text[container.start]}{members}{text[container.end - 1]}")
        except IndexError as exc:
            # The text has a constant, which is invalid JSON, in addition to the placeholder.
            raise NotInPiecesError from exc


def decode_in_pieces(text: str, hooks: Hooks, *, piece_chars: int = PIECE_CHARS) -> Any:  # noqa: ANN401
    """Return the result of `json.JSONDecoder(**hooks).decode(text)`, or raise its error."""
    large = large_containers(text, piece_chars)
    try:
        return _built(text, large, hooks)
    except (NotInPiecesError, json.JSONDecodeError):
        # For errors with positions in the whole text.
        return json.JSONDecoder(**hooks).decode(text)


def _built(text: str, large: list[LargeContainer], hooks: Hooks) -> Any:  # noqa: ANN401 - any JSON
    """Build the value of a text from its large containers, the innermost first."""
    check_root(text, large)
    pieces = Pieces(text, hooks)
    values: dict[int, Any] = {}
    for container in large:
        found = pieces.of(container, lambda child: values.pop(child.start))
        values[container.start] = _joined(found, pieces, hooks.get("object_pairs_hook"))
    return values[large[-1].start]


def check_root(text: str, large: list[LargeContainer]) -> None:
    """Check that only blanks are outside of the last large container.

    Raises:
        NotInPiecesError: There is other text.
    """
    size = len(text)
    if (
        not large
        or match_end(_BLANKS, text, 0, size) != large[-1].start
        or match_end(_BLANKS, text, large[-1].end, size) != size
    ):
        raise NotInPiecesError


def _joined(found: Iterator[Any], pieces: Pieces, make_object: Callable[[Any], Any] | None) -> Any:  # noqa: ANN401 - any JSON
    whole = next(found)
    if isinstance(whole, list):
        for piece in found:
            whole += piece
    elif make_object is None:
        for piece in found:
            whole |= piece
    else:
        pairs = [*pieces.outer_pairs]
        for _ in found:
            pairs += pieces.outer_pairs
        whole = make_object(pairs)
    return whole
