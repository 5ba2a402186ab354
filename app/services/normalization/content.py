"""Any JSON value read as content: strings, blocks and lists of them become parts, in order.

A list is content if anything in it is a text, a block or a carrier of media, at any depth of lists;
a list of plain data is one value and becomes one JSON text. Which of the two it is shows only after
its items have been read, so that every item is read once and kept in both forms until then.

Lists and blocks may nest as deep as JSON may, so they are walked with a stack.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from app.media.base64_runs import decode_undeclared
from app.media.block_shapes import Claim, is_handle
from app.media.data_uris import is_data_uri
from app.media.line_lists import joined_lines
from app.models.normalized import NormalizedPart
from app.services.normalization.blocks import NestedContent, read_block
from app.services.normalization.parts import (
    ReadContext,
    extracted_parts,
    json_part,
    medium_part,
    text_parts,
)
from app.services.normalization.structures import Rewriting, rewrite_value


@dataclass(frozen=True, slots=True)
class Data:
    """A value without text to read and without media: plain data, ready to be written."""

    value: object


Outcome = list[NormalizedPart] | Data


@dataclass(slots=True)
class _List:
    """A list being read. `is_content` says that its items are parts whatever they are."""

    items: Iterator[tuple[object, ReadContext]]
    is_content: bool
    following: list[NormalizedPart] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def outcome(self) -> Outcome:
        """What the whole list turned out to be."""
        plain = [outcome.value for outcome in self.outcomes if isinstance(outcome, Data)]
        if not self.is_content and len(plain) == len(self.outcomes):
            return Data(plain)
        parts: list[NormalizedPart] = []
        for outcome in self.outcomes:
            parts += data_parts(outcome)
        return parts + self.following


def read_content(value: object, place: ReadContext) -> list[NormalizedPart]:
    """The parts of any value: text, media, links, and JSON text for plain data.

    `null` as a whole is the text "null"; among other content it is skipped.
    """
    outcome = _read(value, place, is_content=False)
    if isinstance(outcome, Data):
        return [json_part(outcome.value)]
    return outcome


def read_content_list(items: list[object], place: ReadContext) -> list[NormalizedPart]:
    """The parts of a list that is content by definition, as MCP's; none if it is empty."""
    return data_parts(_read(items, place, is_content=True))


def data_parts(outcome: Outcome) -> list[NormalizedPart]:
    """An item's parts within content."""
    if not isinstance(outcome, Data):
        return outcome
    return [] if outcome.value is None else [json_part(outcome.value)]


def _read(value: object, place: ReadContext, *, is_content: bool) -> Outcome:
    # The value is read as the only item of a list around it, whose outcome is then the value's.
    around = _List(iter(()), is_content=False)
    stack = [around]
    _enter(value, place, stack, is_content=is_content)
    while len(stack) > 1:
        current = stack[-1]
        item = next(current.items, None)
        if item is None:
            stack.pop()
            stack[-1].outcomes.append(current.outcome())
        else:
            _enter(*item, stack, is_content=False)
    return around.outcomes[0]


def _enter(value: object, place: ReadContext, stack: list[_List], *, is_content: bool) -> None:
    if isinstance(value, list):
        lines = joined_lines(value) if len(value) > 1 else None
        if lines is None or not (is_data_uri(lines) or decode_undeclared(lines)):
            stack.append(_List(_items(value, place), is_content))
            return
        value = lines
    outcome = _read_item(value, place)
    if not isinstance(outcome, NestedContent):
        stack[-1].outcomes.append(outcome)
        return
    nested, there = outcome.content, outcome.place
    items = _items(nested, there) if isinstance(nested, list) else iter([(nested, there)])
    stack.append(_List(items, is_content=True, following=outcome.following))


def _items(values: list[object], place: ReadContext) -> Iterator[tuple[object, ReadContext]]:
    return ((value, place.inside(index)) for index, value in enumerate(values))


def _read_item(value: object, place: ReadContext) -> Outcome | NestedContent:
    if isinstance(value, str):
        return text_parts(value, place)
    if is_handle(value):
        return [medium_part(value, Claim(), place)]
    if isinstance(value, dict):
        block = read_block(value, place)
        if block is not None:
            return block
    rewriting = Rewriting(place.collector)
    rewritten = rewrite_value(value, place.pointer, rewriting)
    if not rewriting.slots:
        return Data(rewritten)
    return [json_part(rewritten), *extracted_parts(rewriting.slots)]
