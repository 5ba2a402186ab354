"""Loads of turns: tokens, media and characters of base64, before and after media are resolved."""

from dataclasses import replace

from packages.dialects.tests.targets.composed import medium, original, profile, rule
from pagefault_dialects.context.load_meter import Load, LoadMeter
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    DataItem,
    Item,
    Omission,
    ProviderBlock,
    ResolvedTurn,
    TextItem,
    Turn,
    TurnCall,
)
from pagefault_dialects.model.resource import MediaHints
from pagefault_dialects.targets.tokens import TokenRule

# An image has a token for each pixel of its width, and a text as many as it has words.
TARGET = replace(
    profile(image=rule("image/*"), document=rule("application/pdf")),
    dialect="d",
    tokens=TokenRule(lambda width, _: width),
)
HI = TextItem("/0", "one two three")


def turn(*items: Item, seq: int = 7, call_id: str = "") -> ComposedTurn:
    return Turn("tool" if call_id else "user", items, "/m", seq, call_id=call_id)


def test_loads_are_added_and_subtracted_in_each_unit() -> None:
    one, other = Load(9, 5, 40), Load(2, 1, 8)
    assert (one + other, one - other, Load()) == (Load(11, 6, 48), Load(7, 4, 32), Load(0, 0, 0))


def test_turn_has_four_tokens_and_those_of_its_texts_and_calls() -> None:
    block = ProviderBlock("/0", {"d": {"n": 1}}, "thought", "reasoning", "", words="one two")
    call = TurnCall("c", "look up", {"n": 1})
    meter = LoadMeter(TARGET)
    value = Load(meter.count_text_tokens('{"n":1}'))
    turns = [
        (turn(), Load(4)),
        (turn(HI), Load(4 + 3)),
        (turn(HI, HI), Load(4 + 6)),
        (turn(DataItem("/0", {"n": 1})), Load(4) + value),
        (turn(Omission("/0", "text", "evicted", "")), Load(4)),
        (turn(block), Load(4) + value),
        (turn(replace(block, forms={})), Load(4 + 2)),
        (replace(turn(HI), calls=(call, call)), Load(4 + 3 + 2 * 2) + value + value),
    ]
    loads = [load for _, load in turns]
    assert [meter.measure_turn(item) for item, _ in turns] == loads
    assert meter.measure_turns(item for item, _ in turns) == sum(loads, Load())
    assert (meter.count_call_tokens([call]), value.tokens) == (2 + value.tokens, 5)
    assert LoadMeter(replace(TARGET, dialect="e")).measure_turn(turn(block)) == Load(4 + 2)


def test_medium_is_measured_as_if_it_were_attached_unchanged() -> None:
    meter = LoadMeter(TARGET)
    media = [
        (medium(), Load(80, 1)),
        (medium("application/pdf", size_bytes=3_000), Load(100, 1)),
        (medium("application/pdf", size_bytes=0), Load(0, 1)),
        (medium(source=Address("https://a.example"), hints=MediaHints(90, 9)), Load(90, 1)),
        (medium("audio/wav"), Load(24)),
        (medium("audio/wav", is_evicted=True, instead="one two"), Load(2)),
        (medium(is_evicted=True), Load()),
        (medium(is_collected=True, instead="one two"), Load(2)),
    ]
    assert [meter.measure_turn(turn(item)) - Load(4) for item, _ in media] == [
        load for _, load in media
    ]


def test_medium_is_measured_in_the_form_that_the_ladder_has_chosen() -> None:
    image, second = medium(), replace(medium(seq=8), pointer="/parts/1")
    small = replace(original(image), hints=MediaHints(40, 30), size_bytes=900)
    linked = original(second, "https://a.example")
    line, note = TextItem("/parts/0", "one two"), TextItem("/parts/1", "one", seq=8)
    resolved: list[ResolvedTurn] = [
        Turn("user", (line, small, note, linked), "/m", 7),
        Turn("tool", (replace(small, hints=MediaHints(10, 10)),), "/m", 7, call_id="c"),
        Turn("tool", (TextItem("/parts/0", "one"),), "/m", 9, call_id="c"),
    ]
    meter = LoadMeter(TARGET, resolved)
    unknown = replace(image, pointer="/parts/2")
    turns = [
        (turn(image), Load(4 + 42, 1, 1_200)),
        (turn(second), Load(4 + 81, 1)),
        (turn(image, second), Load(4 + 42 + 81, 2, 1_200)),
        (turn(image, call_id="c"), Load(4 + 10, 1, 1_200)),
        (turn(image, seq=9, call_id="c"), Load(4 + 1)),
        (turn(image, seq=9), Load(4)),
        (turn(unknown), Load(4)),
    ]
    assert [meter.measure_turn(item) for item, _ in turns] == [load for _, load in turns]
    assert meter.measure_conversation(resolved) == Load(4 + 123 + 4 + 10 + 4 + 1, 3, 2_400)


def test_system_text_is_counted_without_a_turn_where_it_is_apart() -> None:
    turns: list[ResolvedTurn] = [Turn("system", (HI,)), Turn("user", (HI,))]
    apart = replace(TARGET, has_separate_system=True)
    loads = [LoadMeter(target).measure_conversation(turns) for target in (TARGET, apart)]
    assert loads == [Load(14), Load(10)]


def test_turns_in_both_lists_save_nothing() -> None:
    meter = LoadMeter(TARGET)
    kept, long, short = turn(HI, medium()), turn(HI, HI), turn(HI)
    assert [
        meter.measure_saving([kept, long], [kept, short]),
        meter.measure_saving([kept, long], [short]),
        meter.measure_saving([short], [long]),
        meter.measure_saving([kept], [kept]),
    ] == [Load(3), Load(4 + 3 + 80 + 4 + 6 - 7, 1), Load(-3), Load()]
