"""Native blocks: blocks of the target's own dialect, which are written as they were sent.

If a message has changed, the target rewrites it; see `native_messages.py`. Blocks in it that have
not changed are still written as they were sent, so they keep members that no item of the turn
represents.
"""

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
from pagefault_dialects.targets.medium_forms import (
    MediumForm,
    find_stored_media,
    make_loss_entry,
    make_record_request,
)
from pagefault_dialects.targets.native_messages import find_references, is_item_accepted, write_node
from pagefault_dialects.targets.profile import Profile

# Members that are rendered as text if the block itself is not written. So they are not lost.
_RENDERED_MEMBERS = frozenset({"context", "title"})
_REASON = "What the block says had to be changed, so that it is written without."


@dataclass(frozen=True, slots=True)
class TurnBlocks:
    """The native blocks of a turn, and how they are written."""

    turn: ComposedTurn
    written: Mapping[int, NativeBlock | None] = field(default_factory=dict)
    """Each block as it is written, by the `id()` of the block. With `None`, the target writes the
    items of the block instead."""
    _reported: set[int] = field(default_factory=set)
    """The `id()` of blocks whose loss entries were returned."""

    def find_block(self, item: Item) -> NativeBlock | None:
        """Return the block that is written for an item; `None` if the item itself is written."""
        block = block_of(item)
        return None if block is None else self.written.get(id(block))

    def take_loss(self, item: Item) -> list[LossEntry]:
        """Return the loss entries of the block of an item, if the block is not written.

        They are returned once, for the first item of the block.
        """
        block = block_of(item)
        if block is None or self.written.get(id(block), block) is not None:
            return []
        if isinstance(item, DataItem | SyntheticNote) or id(block) in self._reported:
            return []
        self._reported.add(id(block))
        omitted = {value.what for value in self.turn.items if isinstance(value, Omission)}
        no_loss = omitted | _RENDERED_MEMBERS
        names = dict.fromkeys(name for name in block.members if name not in no_loss)
        notes = [Omission(item.pointer, name, "no-place", _REASON, seq=item.seq) for name in names]
        return [
            make_loss_entry(
                *(note, note.pointer, note.what, note.to),
                make_record_request(self.turn, note),
                note.seq or self.turn.seq,
            )
            for note in notes
        ]


def items_of_block(block: NativeBlock, item: Item, form: MediumForm | None) -> list[ResolvedItem]:
    """Return the rendered items of an item whose block is written as it was sent.

    Each of these items has this block, so the target writes the block, and only once.
    """
    if isinstance(item, TextItem | ProviderBlock):
        return [replace(item, block=block)]
    attachment = None if form is None else form.attachment
    return [] if attachment is None else [replace(attachment, block=block)]


def find_turn_blocks(
    turn: ComposedTurn, forms: Sequence[MediumForm], profile: Profile, options: RenderOptions
) -> TurnBlocks:
    """Return the native blocks of a turn, and their written forms.

    Args:
        turn: A turn whose message is not written as it was sent.
        forms: The forms of its media, in order.
        profile: The target.
        options: The options of the rendering.
    """
    indexes: defaultdict[int, list[int]] = defaultdict(list)
    for index, item in enumerate(turn.items):
        block = block_of(item)
        if block is not None and block.dialect == profile.dialect:
            indexes[id(block)].append(index)
    if not indexes:
        return TurnBlocks(turn)
    next_forms = iter(forms)
    item_forms = [next(next_forms) if isinstance(item, Medium) else None for item in turn.items]
    written = {
        block_id: _write_block(
            turn, slice(item_indexes[0], item_indexes[-1] + 1), item_forms, profile, options
        )
        for block_id, item_indexes in indexes.items()
    }
    return TurnBlocks(turn, written)


def _write_block(
    turn: ComposedTurn,
    indexes: slice,
    forms: Sequence[MediumForm | None],
    profile: Profile,
    options: RenderOptions,
) -> NativeBlock | None:
    """Return a block as it is written; `None` if the target writes the items of the block instead.

    Args:
        turn: The turn with the block.
        indexes: The indexes of the items that were read from the block.
        forms: The form of each item of the turn that is a medium; else `None`.
        profile: The target.
        options: The options of the rendering.
    """
    items = turn.items[indexes]
    blocks = [block_of(item) for item in items]
    first = blocks[0]
    is_whole = all(block is first for block in blocks)
    if first is None or not is_whole or first.items != len(items):
        return None
    is_taken = profile.accepts_block is not None and profile.accepts_block(first.value, turn.role)
    call_id = turn.call_id if turn.role == "tool" else None
    if not is_taken or first.value.get("tool_use_id") != call_id:
        return None
    if not all(is_item_accepted(item, profile, options) for item in items):
        return None
    stored = find_stored_media(filter(None, forms[indexes]))
    if stored is None or not stored.keys() <= {*find_references(first.value)}:
        return None
    return replace(first, node=write_node(first.value, stored))
