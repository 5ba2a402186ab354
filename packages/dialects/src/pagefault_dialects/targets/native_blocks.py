"""Native blocks: unchanged blocks of a rewritten message are written as they were sent."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Item,
    Medium,
    NativeBlock,
    Omission,
    ProviderBlock,
    ResolvedItem,
    SyntheticNote,
    TextItem,
    block_of,
)
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.media_choices import Choice, loss_entry, record_path, stored_media
from pagefault_dialects.targets.native_messages import is_item_taken, references, write_node
from pagefault_dialects.targets.profile import Profile

# Members that become words if the block is not written.
_WORDS = frozenset({"context", "title"})
_REASON = "What the block says had to be changed, so that it is written without."


@dataclass(frozen=True, slots=True)
class TurnBlocks:
    """The native blocks of a turn, by their ids."""

    turn: ComposedTurn
    written: Mapping[int, NativeBlock | None] = field(default_factory=dict)
    """The written form of each; `None` if its items are written."""
    _lost: set[int] = field(default_factory=set)

    def find(self, item: Item) -> NativeBlock | None:
        """Return the block that is written in place of an item; `None` if the item is."""
        block = block_of(item)
        return None if block is None else self.written.get(id(block))

    def loss(self, item: Item) -> list[LossEntry]:
        """Return the loss of a block that is not written, at the first of its items."""
        block = block_of(item)
        if block is None or self.written.get(id(block), block) is not None:
            return []
        if isinstance(item, DataItem | SyntheticNote) or id(block) in self._lost:
            return []
        self._lost.add(id(block))
        known = {value.what for value in self.turn.items if isinstance(value, Omission)} | _WORDS
        names = dict.fromkeys(name for name in block.members if name not in known)
        notes = [Omission(item.pointer, name, "no-place", _REASON, seq=item.seq) for name in names]
        return [
            loss_entry(
                *(note, note.pointer, note.what, note.to),
                record_path(self.turn, note),
                note.seq or self.turn.seq,
            )
            for note in notes
        ]


def part_of(block: NativeBlock, item: Item, choice: Choice | None) -> list[ResolvedItem]:
    """Return the items that count for an item whose block is written."""
    if isinstance(item, TextItem | ProviderBlock):
        return [replace(item, block=block)]
    attachment = None if choice is None else choice.attachment
    return [] if attachment is None else [replace(attachment, block=block)]


def turn_blocks(
    turn: ComposedTurn, choices: Sequence[Choice], profile: Profile, options: RenderOptions
) -> TurnBlocks:
    """Return the native blocks of a turn, and their written forms.

    Args:
        turn: A turn whose message is rewritten.
        choices: The forms of its media.
        profile: The target.
        options: The options of the rendering.
    """
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, item in enumerate(turn.items):
        block = block_of(item)
        if block is not None and block.dialect == profile.home:
            places[id(block)].append(place)
    if not places:
        return TurnBlocks(turn)
    following = iter(choices)
    chosen = [next(following) if isinstance(item, Medium) else None for item in turn.items]
    written = {
        key: _written(turn, range(found[0], found[-1] + 1), chosen, profile, options)
        for key, found in places.items()
    }
    return TurnBlocks(turn, written)


def _written(
    turn: ComposedTurn,
    places: range,
    choices: Sequence[Choice | None],
    profile: Profile,
    options: RenderOptions,
) -> NativeBlock | None:
    """Return the block of these places; `None` if its items are written."""
    items = turn.items[places.start : places.stop]
    blocks = [block_of(item) for item in items]
    first = blocks[0]
    is_whole = all(block is first for block in blocks)
    if first is None or not is_whole or first.items != len(items):
        return None
    is_taken = profile.accepts_block is not None and profile.accepts_block(first.value, turn.role)
    named = turn.call_id if turn.role == "tool" else None
    if not is_taken or first.value.get("tool_use_id") != named:
        return None
    if not all(is_item_taken(item, profile, options) for item in items):
        return None
    stored = stored_media(filter(None, choices[places.start : places.stop]))
    if stored is None or not stored.keys() <= {*references(first.value)}:
        return None
    return replace(first, node=write_node(first.value, stored))
