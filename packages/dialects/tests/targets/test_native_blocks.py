"""Blocks of the target's own dialect are written as they were sent, if nothing in them changes."""

from collections.abc import Sequence
from dataclasses import replace

from packages.dialects.tests.targets.composed import (
    ID,
    ORIGIN,
    OTHER_ID,
    medium,
    original,
    profile,
    turn,
)
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Item,
    Medium,
    NativeBlock,
    Omission,
    ProviderBlock,
    TextItem,
    TurnRole,
)
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.base64_leaves import Base64Leaf
from pagefault_dialects.targets.fitting import MediumRef
from pagefault_dialects.targets.medium_forms import MediumForm
from pagefault_dialects.targets.native_blocks import TurnBlocks, find_turn_blocks, items_of_block
from pagefault_dialects.targets.profile import Profile

TARGET = replace(
    profile(),
    dialect="d",
    allows_blank_texts=False,
    accepts_block=lambda form, role: "refused" not in form and role != "system",
)
VALUE: JsonObject = {"type": "text", "text": "Hi.", "extra": 1}


def block(value: JsonObject = VALUE, items: int = 1, dialect: str = "d") -> NativeBlock:
    return NativeBlock(dialect, value, items, ("extra", "title", "other"))


def text(native: NativeBlock | None, words: str = "Hi.") -> TextItem:
    return TextItem("/parts/0", words, block=native)


def find(
    one: ComposedTurn,
    forms: Sequence[MediumForm] = (),
    target: Profile = TARGET,
    options: RenderOptions | None = None,
) -> TurnBlocks:
    return find_turn_blocks(one, forms, target, options or RenderOptions())


def write(
    *items: Item,
    role: TurnRole = "user",
    call_id: str = "",
    target: Profile = TARGET,
    options: RenderOptions | None = None,
) -> list[object]:
    """Return the value that is written for each item; `None` if its block is not written."""
    media = [item for item in items if isinstance(item, Medium)]
    refs = [MediumRef(index, turn(), item) for index, item in enumerate(media)]
    forms = [MediumForm(ref, original(ref.medium)) for ref in refs]
    blocks = find(replace(turn(*items, role=role), call_id=call_id), forms, target, options)
    found = [blocks.find_block(item) for item in items]
    return [None if native is None else native.node for native in found]


def test_unchanged_block_of_the_dialect_is_written() -> None:
    two = block({"type": "pair"}, items=2)
    assert write(text(block())) == [VALUE]
    assert write(text(two), DataItem("/x", 1), text(two, "More.")) == [None, None, None]
    assert write(text(two), text(two, "More."), text(block())) == [{"type": "pair"}] * 2 + [VALUE]
    assert write(text(None), DataItem("/x", 1)) == [None, None]


def test_block_is_not_written_if_the_target_or_an_item_requires_a_change() -> None:
    native, other = block(), block(items=2)
    cases = [
        write(text(block(dialect="e"))),
        write(text(native), target=replace(TARGET, accepts_block=None)),
        write(text(block({"refused": True}))),
        write(text(native), role="system"),
        write(text(native, " ")),
        write(text(other)),
        write(text(other), text(native), text(other)),
    ]
    assert cases == [*[[None]] * 6, [None, VALUE, None]]


def test_result_is_written_only_for_its_own_call() -> None:
    result = block({"type": "tool_result", "tool_use_id": "c"})
    plain = block()
    assert [
        write(text(result), role="tool", call_id="c"),
        write(text(result), role="tool", call_id="d"),
        write(text(result), role="user", call_id="c"),
        write(text(plain), role="tool", call_id="c"),
    ] == [[result.value], [None], [None], [None]]


def test_media_are_written_in_place_of_their_references() -> None:
    native = block({"type": "image", "data": f"@blob:{ID}"})
    image = replace(medium(), block=native)
    [written] = write(image)
    assert written == {"type": "image", "data": Base64Leaf(original(image))}
    unreferenced = replace(medium(), block=block({"type": "image", "data": f"@blob:{OTHER_ID}"}))
    before = medium("audio/wav", "a.wav")
    assert write(unreferenced) == [None]
    assert write(before, image) == [None, written]
    assert write(image, options=RenderOptions(detail="low")) == [None]
    reduced = MediumForm(MediumRef(0, turn(image), image), original(image), rung="smaller")
    assert find(turn(image, role="user"), [reduced]).find_block(image) is None


def loss(name: str, seq: int | None = 7, restore: str = ORIGIN) -> LossEntry:
    return LossEntry(
        seq=seq,
        pointer="/parts/0",
        from_=name,
        to="nothing",
        code="no-place",
        reason="What the block says had to be changed, so that it is written without.",
        restore=f"GET {restore}",
    )


def test_members_of_a_block_that_is_not_written_are_lost_once() -> None:
    native = block(items=2)
    first, second = text(native), text(native, "More.")
    blocks = find(turn(first, DataItem("/x", 1), second, role="user"))
    # A title is rendered as text.
    assert [blocks.take_loss(item) for item in (first, second, first)] == [
        [loss("extra"), loss("other")],
        [],
        [],
    ]


def test_loss_has_the_entry_of_the_item_and_no_members_that_are_omitted_anyway() -> None:
    native = block({"refused": True})
    item = TextItem("/parts/0", "Hi.", seq=9, block=native)
    omitted = Omission("/parts/0/extra", "extra", "no-place", "")
    blocks = find(turn(item, omitted, role="user"))
    assert blocks.take_loss(item) == [loss("other", 9, f"{ORIGIN[:-1]}9")]


def test_nothing_is_lost_of_written_blocks_and_blocks_of_other_dialects() -> None:
    written, foreign = text(block()), text(block(dialect="e"))
    blocks = find(turn(written, foreign, DataItem("/x", 1), role="user"))
    assert [blocks.take_loss(item) for item in blocks.turn.items] == [[], [], []]
    assert TurnBlocks(turn(written)).take_loss(written) == []


def test_items_of_a_written_block_have_the_block() -> None:
    native = replace(block(), node={"type": "text"})
    image = medium()
    form = MediumForm(MediumRef(0, turn(image), image), original(image))
    left_out = MediumForm(MediumRef(0, turn(image), image), None)
    thought = ProviderBlock("/x", {"d": {}}, "thought", "reasoning", "")
    omission = Omission("/x", "extra", "no-place", "")
    cases: list[tuple[Item, MediumForm | None]] = [
        (text(None), None),
        (thought, None),
        (image, form),
        (image, left_out),
        (omission, None),
    ]
    items = [items_of_block(native, item, form_of_item) for item, form_of_item in cases]
    assert items == [[text(None)], [thought], [original(image)], [], []]
    assert [item.block for [item] in items[:3] if not isinstance(item, DataItem)] == [native] * 3
