"""Messages of the target's own dialect are copied unless a turn or the target requires a change."""

from collections.abc import Sequence
from dataclasses import replace

from packages.dialects.tests.targets.composed import ID, OTHER_ID, medium, original, profile, rule
from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.model.conversation import (
    Address,
    BlockLabel,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Item,
    NativeMessage,
    Omission,
    ProviderBlock,
    ResolvedTurn,
    SyntheticNote,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.base64_leaves import Base64Leaf, JsonLeaf, Node
from pagefault_dialects.targets.fitting import Obstacle, list_media
from pagefault_dialects.targets.native_messages import (
    NativeRange,
    find_media_range,
    find_media_ranges,
    find_native_ranges,
    find_references,
    is_item_accepted,
    refers_to_all,
    select_request_members,
    write_node,
    write_or_copy_turns,
)
from pagefault_dialects.targets.profile import IdRule, Profile

OPTIONS = RenderOptions()
TARGET = replace(
    profile(image=rule("image/png")),
    as_request=lambda native, _: None if native.message.get("refused") else native.message,
)
REFERENCE = f"@blob:{ID}"
STORED = {ID: original(medium())}
HI = TextItem("/content", "Hi.")


def message(**members: JsonValue) -> JsonObject:
    return {"role": "user", **members}


def turn(
    *items: Item,
    role: TurnRole = "user",
    call_id: str = "",
    calls: tuple[TurnCall, ...] = (),
    is_error: bool = False,
) -> ComposedTurn:
    return Turn(role, items, "/m/1", 1, calls=calls, call_id=call_id, is_error=is_error)


def sent(
    *turns: ComposedTurn, model: str | None = None, **members: JsonValue
) -> list[ComposedTurn]:
    """Return the turns of one message, which know it."""
    native = NativeMessage("d", message(**members), turns, model)
    return [replace(item, native_messages=(native,)) for item in turns]


def find_ranges(
    *turns: ComposedTurn,
    target: Profile = TARGET,
    options: RenderOptions = OPTIONS,
    obstacle: Obstacle | None = None,
) -> list[tuple[int, int]]:
    refs = list_media(turns)
    ranges = find_native_ranges(turns, target, options, refs, [obstacle] * len(refs))
    return [(item.start, item.stop) for item in ranges]


def test_unchanged_messages_are_copied_as_requests_have_them() -> None:
    first, second = sent(turn(HI), turn(medium()), n=1), sent(turn(HI), n=2)
    turns = [*first, turn(HI), *second, *sent(turn(HI), refused=True)]
    ranges = find_native_ranges(turns, TARGET, OPTIONS, list_media(turns), [None])
    assert ranges == [
        NativeRange(start, stop, ((native, native.message),))
        for start, stop, native in (
            (0, 2, first[0].native_messages[0]),
            (3, 4, second[0].native_messages[0]),
        )
    ]
    assert find_ranges(*turns, target=replace(TARGET, as_request=None)) == []
    assert find_ranges(first[0], *second) == [(1, 2)]


def test_message_of_a_changed_turn_is_not_copied() -> None:
    block = ProviderBlock("/0", {"d": {"n": 1}}, "thought", "no-place", "")
    left_out = Omission("/1", "text", "no-place", "")
    items: list[Item] = [HI, DataItem("/2", 1), medium(), left_out, block]
    call = TurnCall("c", "look", {"n": 1})
    answer_turn = turn(*items, role="assistant", calls=(call,))
    [copied] = sent(answer_turn)
    tool = turn(HI, role="tool", call_id="c")
    [answer] = sent(tool)
    # Its result was sent without an id, and was paired with a call since.
    nameless = replace(sent(replace(tool, call_id=""))[0], call_id="c")

    def with_item(index: int, item: Item) -> ComposedTurn:
        return replace(copied, items=(*items[:index], item, *items[index + 1 :]))

    unchanged = [
        copied,
        with_item(0, TextItem("/content", "Hi.")),
        with_item(2, replace(medium(), filename="b.png")),
        with_item(3, replace(left_out, reason="Other.")),
        with_item(4, replace(block, reason="Other.")),
        answer,
        replace(copied, origin="/m/2"),
    ]
    changed = [
        with_item(0, TextItem("/content", "Ho.")),
        with_item(0, DataItem("/content", "Hi.")),
        with_item(1, DataItem("/2", 2)),
        with_item(2, medium(source=Address("https://a.example"))),
        with_item(2, replace(medium(), pointer="/1")),
        with_item(2, replace(medium(), is_evicted=True)),
        with_item(2, replace(medium(), before="[a]")),
        with_item(2, replace(medium(), instead="[a]")),
        with_item(3, replace(left_out, pointer="/9")),
        with_item(3, replace(left_out, code="reasoning")),
        with_item(4, replace(block, pointer="/9")),
        with_item(4, replace(block, forms={})),
        replace(copied, items=tuple(items[1:])),
        replace(copied, items=(*items, HI)),
        replace(copied, role="user"),
        replace(copied, calls=()),
        replace(copied, calls=(replace(call, arguments={}),)),
        replace(answer, call_id="d"),
        replace(answer, is_error=True),
        nameless,
    ]
    assert [find_ranges(item) for item in unchanged] == [[(0, 1)]] * len(unchanged)
    assert [find_ranges(item) for item in changed] == [[]] * len(changed)
    without_ids = replace(TARGET, ids_are_optional=True)
    assert find_ranges(nameless, target=without_ids) == [(0, 1)]


def test_message_that_the_target_does_not_accept_is_not_copied() -> None:
    [failed] = sent(turn(HI, role="tool", call_id="c", is_error=True))
    [called] = sent(turn(role="assistant", calls=(TurnCall("C", "LOOK", {}),)))
    [answer] = sent(turn(HI, role="tool", call_id="C"))
    [blank] = sent(turn(TextItem("/content", " ")))
    lower = IdRule("a-z")
    strict = replace(TARGET, allows_blank_texts=False)
    assert [
        find_ranges(failed),
        find_ranges(failed, target=replace(TARGET, has_error_flag=False)),
        find_ranges(called),
        find_ranges(called, target=replace(TARGET, call_id=lower)),
        find_ranges(called, target=replace(TARGET, tool_name=lower)),
        find_ranges(answer),
        find_ranges(answer, target=replace(TARGET, call_id=lower)),
        find_ranges(blank),
        find_ranges(blank, target=strict),
    ] == [[(0, 1)], [], [(0, 1)], [], [], [(0, 1)], [], [(0, 1)], []]


def test_thoughts_are_copied_for_their_own_model() -> None:
    thought = Omission("/0", "thought", "reasoning", "")
    [thinking] = sent(turn(thought, HI, role="assistant"), model="a")
    [plain] = sent(turn(HI, role="assistant"), model="a")
    for_a, for_b = RenderOptions(model="a"), RenderOptions(model="b")
    assert [
        find_ranges(thinking, options=for_a),
        find_ranges(thinking, options=for_b),
        find_ranges(plain, options=for_b),
        find_ranges(thinking),
    ] == [[(0, 1)], [], [(0, 1)], [(0, 1)]]


def test_joined_messages_are_copied_one_after_another() -> None:
    call = TurnCall("c", "look", {})
    parts = [turn(HI, role="assistant"), turn(role="assistant", calls=(call,))]
    natives = tuple(NativeMessage("d", message(n=at), (part,)) for at, part in enumerate(parts))
    joined = replace(
        turn(HI, role="assistant", calls=(call,)), native_messages=natives, continues_turn=True
    )
    [found] = find_native_ranges([joined], TARGET, OPTIONS, [], [])
    assert found.messages == tuple((native, native.message) for native in natives)
    assert find_ranges(replace(joined, calls=())) == []


def test_medium_that_only_the_provider_can_load_does_not_prevent_a_copy() -> None:
    addressed = medium(source=Address("https://a.example/b"))
    [plain], [linked] = sent(turn(medium())), sent(turn(addressed))
    by_url = replace(TARGET, media={"image": rule("image/png", addresses=("https",))})
    of_files = replace(TARGET, media={"image": rule("image/png", addresses=("gs",))})
    native = replace(TARGET, native_types=frozenset({"image/png"}))
    nothing = replace(TARGET, media={})
    cases = [
        (plain, "no-media-here", TARGET, True),
        (plain, "too-many-bytes", TARGET, False),
        (linked, "address-not-taken", TARGET, True),
        (linked, "address-not-taken", by_url, False),
        (linked, "address-not-taken", nothing, False),
        (plain, "type-not-taken", TARGET, False),
        (plain, "type-not-taken", native, True),
        (linked, "type-not-taken", by_url, True),
        (linked, "type-not-taken", of_files, False),
        (linked, "type-not-taken", replace(native, media={}), True),
    ]
    assert [
        find_ranges(item, target=target, obstacle=Obstacle(code, ""))
        for item, code, target, _ in cases
    ] == [[(0, 1)] if is_copied else [] for _, _, _, is_copied in cases]


def test_call_of_a_provider_is_copied_only_with_its_result() -> None:
    def calls(call_id: str, kind: str) -> list[ComposedTurn]:
        call = TurnCall(call_id, "shell", {})
        return sent(turn(role="assistant", calls=(call,)), type=kind, call_id=call_id)

    def answers(call_id: str, kind: str) -> list[ComposedTurn]:
        return sent(turn(role="tool", call_id=call_id), type=kind, call_id=call_id)

    def changed(found: list[ComposedTurn]) -> list[ComposedTurn]:
        return [replace(item, items=(HI,)) for item in found]

    shell = calls("a", "shell_call"), answers("a", "shell_call_output")
    function = calls("b", "function_call"), answers("b", "function_call_output")
    assert [
        find_ranges(*shell[0], *shell[1]),
        find_ranges(*shell[0], *changed(shell[1])),
        find_ranges(*changed(shell[0]), *shell[1]),
        find_ranges(*shell[0], *changed(shell[1]), *function[0], *function[1]),
        find_ranges(*function[0], *changed(function[1])),
        find_ranges(*shell[0]),
    ] == [[(0, 1), (1, 2)], [], [], [(2, 3), (3, 4)], [(0, 1)], [(0, 1)]]


def test_dropped_message_drops_the_messages_that_it_answers() -> None:
    first, second = TurnCall("a", "shell", {}), TurnCall("b", "shell", {})
    outer = sent(turn(role="assistant", calls=(first,)), type="shell_call", call_id="a")
    [both] = sent(
        turn(role="assistant", calls=(second,), call_id="a"), type="shell_call", call_id="b"
    )
    answer = turn(HI, role="tool", call_id="b")
    assert find_ranges(*outer, both) == [(0, 1), (1, 2)]
    assert find_ranges(*outer, both, answer) == []


def test_media_of_turns_are_counted_in_order() -> None:
    turns = [turn(medium(), HI, medium()), turn(HI), turn(medium())]
    ranges = find_media_ranges(turns)
    assert ranges == [range(2), range(2, 2), range(2, 3)]
    assert [find_media_range(NativeRange(*ends, ()), ranges) for ends in ((0, 1), (0, 3))] == [
        range(2),
        range(3),
    ]


def test_item_is_accepted_unless_it_has_to_be_written_in_another_way() -> None:
    strict = replace(TARGET, allows_blank_texts=False)
    blank = TextItem("/content", " ")
    left_out = Omission("/0", "text", "no-place", "")
    inline = medium(source=InlineBytes(b""))
    signed, detailed = RenderOptions(media="signed-url"), RenderOptions(detail="low")
    cases: list[tuple[Item, Profile, RenderOptions, bool]] = [
        (HI, strict, OPTIONS, True),
        (blank, TARGET, OPTIONS, True),
        (blank, strict, OPTIONS, False),
        (DataItem("/0", None), TARGET, OPTIONS, True),
        (SyntheticNote("call", "no-call", "", None), TARGET, OPTIONS, False),
        (ProviderBlock("/0", {}, "", "", ""), TARGET, OPTIONS, True),
        (medium(), TARGET, OPTIONS, True),
        (medium(), TARGET, signed, False),
        (inline, TARGET, signed, True),
        (inline, TARGET, detailed, False),
        (medium(claimed_type="image/jpeg"), TARGET, OPTIONS, False),
        (medium(is_in_text=True), TARGET, OPTIONS, False),
        (medium(label=BlockLabel("a")), TARGET, OPTIONS, True),
        (left_out, TARGET, OPTIONS, True),
        (replace(left_out, code="reasoning"), TARGET, OPTIONS, True),
        (replace(left_out, code="other-audience"), TARGET, OPTIONS, False),
        (replace(left_out, to="text"), TARGET, OPTIONS, False),
    ]
    assert [is_item_accepted(*case[:3]) for case in cases] == [case[3] for case in cases]


def nested(value: JsonValue, levels: int) -> JsonValue:
    for _ in range(levels):
        value = [value]
    return value


def test_references_are_found_outside_of_arguments_and_texts() -> None:
    cases: list[JsonValue] = [
        {"source": {"data": REFERENCE}},
        [REFERENCE, {"url": f"@blob:{OTHER_ID}"}],
        *({name: REFERENCE} for name in ("arguments", "input", "args", "text")),
        f"see {REFERENCE}",
        f"{REFERENCE}0",
        nested(REFERENCE, 12),
        nested(REFERENCE, 13),
        7,
    ]
    assert [[*find_references(case)] for case in cases] == [
        [ID],
        [ID, OTHER_ID],
        *([] for _ in range(6)),
        [ID],
        [],
        [],
    ]


def test_references_are_replaced_by_bytes_or_by_their_address() -> None:
    [leaf] = [Base64Leaf(STORED[ID])]
    uri = Base64Leaf(STORED[ID], "data:image/png;base64,")
    url = {ID: original(medium(), "https://a.example/b")}
    cases: list[tuple[JsonValue, Node]] = [
        ({"data": REFERENCE, "n": 1}, {"data": leaf, "n": 1}),
        (
            {"url": REFERENCE, "image_url": REFERENCE, "file_data": [REFERENCE]},
            {"url": uri, "image_url": uri, "file_data": [uri]},
        ),
        ({"image_url": {"data": REFERENCE}}, {"image_url": {"data": leaf}}),
        ({"input": [REFERENCE]}, {"input": JsonLeaf([REFERENCE])}),
        ({"args": {}, "arguments": []}, {"args": JsonLeaf({}), "arguments": JsonLeaf([])}),
        ({"arguments": "{}"}, {"arguments": "{}"}),
        ([f"@blob:{OTHER_ID}", f"{REFERENCE}0"], [f"@blob:{OTHER_ID}", f"{REFERENCE}0"]),
    ]
    assert [write_node(value, STORED) for value, _ in cases] == [node for _, node in cases]
    assert write_node({"url": REFERENCE}, url) == {"url": "https://a.example/b"}
    assert write_node({"url": REFERENCE}, {}) == {"url": REFERENCE}


def test_deep_values_are_written_unchanged() -> None:
    def count_levels(levels: int, *, media: bool) -> int:
        """Return the depth at which the rest of nested arrays is a leaf."""
        node = write_node(nested([], levels), STORED if media else {})
        depth = 0
        while isinstance(node, list) and node:
            depth, node = depth + 1, node[0]
        return depth if isinstance(node, JsonLeaf) else -1

    assert [
        count_levels(12, media=True),
        count_levels(13, media=True),
        count_levels(3, media=False),
        count_levels(4, media=False),
    ] == [-1, 13, -1, 4]


def test_range_refers_to_all_media_or_is_not_copied() -> None:
    native = NativeMessage("d", message(content=[{"data": REFERENCE}]), ())
    found = NativeRange(0, 1, ((native, {"role": "user", "data": REFERENCE}),))
    assert [
        refers_to_all(found, {}),
        refers_to_all(found, STORED),
        refers_to_all(found, {**STORED, OTHER_ID: STORED[ID]}),
    ] == [True, True, False]
    assert found.copy_messages(STORED) == ({"role": "user", "data": Base64Leaf(STORED[ID])},)


def test_request_has_only_the_members_of_requests() -> None:
    requests, responses = frozenset({"role", "content"}), frozenset({"id"})
    whole: JsonObject = {"role": "user", "content": None, "id": "m", "refusal": None, "parts": []}
    assert [
        select_request_members(whole, requests, responses),
        select_request_members({**whole, "parts": [1]}, requests, responses),
        select_request_members({}, requests, responses),
    ] == [{"role": "user", "content": None}, None, {}]


def resolved(
    role: TurnRole, name: str = "", *, copied: Sequence[Node] | None = None
) -> ResolvedTurn:
    messages = None if copied is None else tuple(copied)
    return Turn(role, (), tool_name=name, copied_messages=messages)


def test_copied_messages_are_between_those_that_are_written() -> None:
    def write(turns: Sequence[ResolvedTurn]) -> list[Node]:
        return [{"wrote": [turn.role for turn in turns]}]

    turns = [
        resolved("user"),
        resolved("assistant"),
        resolved("user", copied=["a", "b"]),
        resolved("user", copied=[]),
        resolved("user"),
    ]
    assert write_or_copy_turns(turns, write) == [
        {"wrote": ["user", "assistant"]},
        *("a", "b"),
        {"wrote": ["user"]},
    ]
    assert write_or_copy_turns([], write) == []


def test_consecutive_messages_with_results_are_joined() -> None:
    def write(turns: Sequence[ResolvedTurn]) -> list[Node]:
        return [block(turn.tool_name) for turn in turns]

    def block(name: str) -> Node:
        return {"role": name, "content": [name]}

    turns = [
        resolved("tool", "a"),
        resolved("tool", copied=[block("b"), block("c")]),
        resolved("tool", copied=[]),
        resolved("tool", "d"),
        resolved("user", copied=[block("e")]),
        resolved("tool", "f"),
        resolved("user", "g"),
        resolved("tool", copied=[block("h")]),
    ]
    joined: list[Node] = [
        {"role": "a", "content": ["a", "b"]},
        {"role": "c", "content": ["c", "d"]},
        *(block(name) for name in "efgh"),
    ]
    assert write_or_copy_turns(turns, write, content="content") == joined
    assert write_or_copy_turns(turns, write) == [block(name) for name in "abcdefgh"]
