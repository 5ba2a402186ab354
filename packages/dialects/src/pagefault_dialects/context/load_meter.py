"""The load of turns in a rendering: their tokens, media, and characters of base64.

Source: design document `context.md`, "Budget".
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    Item,
    MediaItem,
    Medium,
    ProviderBlock,
    ResolvedTurn,
    TextItem,
    TurnCall,
)
from pagefault_dialects.model.render_options import base64_length
from pagefault_dialects.targets.base64_leaves import text_of
from pagefault_dialects.targets.opening_turns import split_system_text
from pagefault_dialects.targets.profile import Profile

TURN_TOKENS = 4
"""The tokens of a turn besides its content."""


@dataclass(frozen=True, slots=True)
class Load:
    """The size of turns in the units of the limits: tokens, media, and characters of base64."""

    tokens: int = 0
    media: int = 0
    base64_chars: int = 0

    def __add__(self, other: "Load") -> "Load":
        return Load(
            self.tokens + other.tokens,
            self.media + other.media,
            self.base64_chars + other.base64_chars,
        )

    def __sub__(self, other: "Load") -> "Load":
        return Load(
            self.tokens - other.tokens,
            self.media - other.media,
            self.base64_chars - other.base64_chars,
        )


class _ItemKey(NamedTuple):
    """Identifies an item of a conversation, before and after its turn is resolved."""

    seq: int | None
    """The `seq` of its entry."""
    call_id: str
    """The id of the call, for an item of a tool result; else empty."""
    pointer: str
    """The JSON pointer of the item in its entry."""


_LINE_LOAD = Load(24)
"""The load of the line for a medium that the target does not support."""


class LoadMeter:
    """Measures the load of turns for one target.

    Args:
        profile: The target.
        resolved: The turns after `targets.ladder` has chosen a form of each medium, such as a
            smaller image or a line. Media are measured in these forms. With `None`, media are
            measured as if they were attached unchanged.
    """

    def __init__(self, profile: Profile, resolved: Sequence[ResolvedTurn] | None = None) -> None:
        self._profile = profile
        self._token_rule = profile.tokens
        self._resolved = None if resolved is None else _group_items(resolved)

    def measure_conversation(self, resolved: Sequence[ResolvedTurn]) -> Load:
        """Return the load of a resolved conversation."""
        system, turns = split_system_text(resolved, self._profile)
        media = (item for turn in resolved for item in turn.items if isinstance(item, MediaItem))
        chars = [_base64_chars(medium) for medium in media]
        return Load(self._token_rule.count_turns(turns, system), len(chars), sum(chars))

    def measure_turns(self, turns: Iterable[ComposedTurn]) -> Load:
        """Return the load of turns together."""
        return sum(map(self.measure_turn, turns), Load())

    def measure_turn(self, turn: ComposedTurn) -> Load:
        """Return the load of a turn."""
        load = Load(TURN_TOKENS + self.count_call_tokens(turn.calls))
        for item in turn.items:
            load += self._measure_item(turn, item)
        return load

    def measure_saving(self, old: Sequence[ComposedTurn], new: Sequence[ComposedTurn]) -> Load:
        """Return the load that is saved if the turns in `old` are replaced by those in `new`."""
        if len(old) == len(new):
            # Turns that are in both lists save nothing and need not be measured.
            pairs = [(a, b) for a, b in zip(old, new, strict=True) if a is not b]
            old, new = [a for a, _ in pairs], [b for _, b in pairs]
        return self.measure_turns(old) - self.measure_turns(new)

    def count_call_tokens(self, calls: Iterable[TurnCall]) -> int:
        """Return the tokens of calls."""
        return sum(
            self._token_rule.count_text(call.name)
            + self._token_rule.count_text(json_text(call.arguments))
            for call in calls
        )

    def count_text_tokens(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._token_rule.count_text(text)

    def _measure_item(self, turn: ComposedTurn, item: Item) -> Load:
        if isinstance(item, ProviderBlock):
            form = item.forms.get(self._profile.dialect)
            return Load(
                self._token_rule.count_text(item.words if form is None else json_text(dict(form)))
            )
        if not isinstance(item, Medium):
            return Load(self._token_rule.count_text(text_of(item) or ""))
        if item.is_line:
            return Load(self._token_rule.count_text(item.instead or ""))
        if self._resolved is None:
            is_supported = self._profile.find_media_rule(item.kind) is not None
            return (
                Load(self._token_rule.count_medium(_attach_unchanged(item)), 1)
                if is_supported
                else _LINE_LOAD
            )
        key = _ItemKey(item.seq or turn.seq, turn.call_id, item.pointer)
        resolved = self._resolved.get(key, ())
        return sum(map(self._measure_resolved_item, resolved), Load())

    def _measure_resolved_item(self, item: TextItem | MediaItem) -> Load:
        if isinstance(item, TextItem):
            return Load(self._token_rule.count_text(item.text))
        return Load(self._token_rule.count_medium(item), 1, _base64_chars(item))


def _group_items(
    resolved: Sequence[ResolvedTurn],
) -> Mapping[_ItemKey, Sequence[TextItem | MediaItem]]:
    """Return the texts and media of turns by their keys.

    A line that replaces a medium has the key of the medium.
    """
    items: defaultdict[_ItemKey, list[TextItem | MediaItem]] = defaultdict(list)
    for turn in resolved:
        for item in turn.items:
            if isinstance(item, MediaItem):
                key = _ItemKey(item.medium.seq or turn.seq, turn.call_id, item.medium.pointer)
                items[key].append(item)
            elif isinstance(item, TextItem):
                items[_ItemKey(item.seq or turn.seq, turn.call_id, item.pointer)].append(item)
    return items


def _attach_unchanged(medium: Medium) -> MediaItem:
    """Return the attachment that a medium becomes if the media ladder does not change it."""
    address = medium.source.url if isinstance(medium.source, Address) else None
    return MediaItem(
        medium,
        medium.source,
        medium.kind,
        medium.mime_type,
        medium.size_bytes or 0,
        medium.hints,
        address=address,
    )


def _base64_chars(attachment: MediaItem) -> int:
    """Return the length of an attachment's base64; 0 if the target loads it from an address."""
    return 0 if attachment.address is not None else base64_length(attachment.size_bytes)
