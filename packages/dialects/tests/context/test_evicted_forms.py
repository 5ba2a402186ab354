"""Evicted turns have shorter forms, each with the call that returns the whole content."""

from collections.abc import Sequence
from dataclasses import replace

from packages.dialects.tests.targets.composed import ID, medium
from pagefault_dialects.context.evicted_forms import (
    REASON,
    as_line,
    format_entry_call,
    format_entry_text,
    is_signed,
    make_fold_turn,
    make_late_result,
    with_cut_arguments,
    with_media_as_lines,
    with_previews,
    with_shorter_arguments,
    with_shorter_texts,
)
from pagefault_dialects.context.steps import FoldSummary
from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.model.conversation import (
    CACHE_MARK,
    Address,
    AlternativeText,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Item,
    Medium,
    NativeBlock,
    Omission,
    ProviderBlock,
    SyntheticNote,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.targets.rules import RULES

BLOCK = NativeBlock("d", {}, 1, ())
MARK = ProviderBlock("/0", {}, "mark", CACHE_MARK, "")
THOUGHT = ProviderBlock("/0", {"d": {}}, "thought", "reasoning", "")
NOTE = SyntheticNote("answer", "no-answer", "", 3)
READ = 'read_text("@entry:3")'


def turn(
    *items: Item,
    role: TurnRole = "tool",
    origin: str = "/api/m/3",
    seq: int | None = 3,
    **more: object,
) -> ComposedTurn:
    return Turn(role, items, origin, seq, tool_name="look" if role == "tool" else "", **more)  # type: ignore[arg-type]


def text(words: str, pointer: str = "/0", **more: object) -> TextItem:
    return TextItem(pointer, words, **more)  # type: ignore[arg-type]


def shortened(
    pointer: str = "/0", what: str = "text", to: str = "preview", **more: object
) -> Omission:
    return Omission(pointer, what, "evicted", REASON, to=to, **more)  # type: ignore[arg-type]


def test_entry_is_read_as_its_texts_and_the_names_of_its_media() -> None:
    turns = [
        turn(text("A."), text(""), DataItem("/1", {"n": 1}), THOUGHT),
        turn(medium(), text("B.")),
        turn(),
    ]
    assert format_entry_text(turns) == 'A.\n\n{"n":1}\n\n[Image: a.png (3.0 kB)]\n\nB.'
    assert [format_entry_call(3), format_entry_call(None)] == [READ, ""]


def test_medium_becomes_a_line_with_the_call_that_shows_it_and_its_caption() -> None:
    def words(kind: str, words_of: str) -> AlternativeText:
        return AlternativeText(kind, words_of)  # type: ignore[arg-type]

    named = "[Image: a.png (3.0 kB), left out to make room"
    view = f'view_media("@blob:{ID}") shows it]'
    page = 'page_fault("p", 0) shows it]'
    caption = words("caption", "A door.")
    cases: list[tuple[Medium, str | None, AlternativeText | None, str]] = [
        (medium(), None, None, f"{named}: {view}"),
        (medium(), "p", None, f"{named}: {page}"),
        (medium(words=caption), None, caption, f"{named}: {view}\nA door."),
        (medium(words=words("transcript", "A.")), None, None, f"{named}: {view}"),
        (
            medium(words=words("caption", "x" * 401)),
            *(None, words("caption", f"{'x' * 399}…"), f"{named}: {view}\n{'x' * 399}…"),
        ),
        (medium(source=InlineBytes(b"")), None, None, f"{named}]"),
        (medium(source=Address("https://a.example")), "p", None, f"{named}: {page}"),
        (
            medium("text/csv", "a.csv"),
            *(None, None),
            f'[File: a.csv (3.0 kB), left out to make room: read_text("@blob:{ID}") shows it]',
        ),
    ]
    assert [with_media_as_lines(turn(item, text("Hi.")), page) for item, page, _, _ in cases] == [
        turn(replace(item, words=caption, instead=line, is_evicted=True), text("Hi."))
        for item, _, caption, line in cases
    ]


def test_turn_without_media_to_evict_is_returned_itself() -> None:
    for item in (turn(text("Hi.")), turn(), turn(medium(is_collected=True, instead="[a]"))):
        assert with_media_as_lines(item, None) is item


def test_long_text_becomes_a_preview_in_results_and_messages() -> None:
    result, message = text("a" * 801), text("a" * 2_001)

    def preview(length: int, call: str = READ) -> str:
        hint = f"; {call} shows all of it" if call else ""
        return f"{'a' * 399}…\n[… shortened from {length} characters{hint}]"

    outside = turn(result, origin="/doctor")
    page = "a" * 801 + "\n[truncated: characters 0 to 801 of 9000; go on with offset=801]"
    stored = replace(result, handle="@blob:x")
    cut_before = replace(result, whole_chars=7_000)
    assert [
        with_previews(turn(result), None),
        with_previews(outside, None),
        with_previews(turn(message, role="user"), None),
        with_previews(turn(text(page)), "p"),
        with_previews(turn(result), "p"),
        with_previews(turn(stored), None),
        with_previews(turn(cut_before), None),
        with_previews(turn(replace(result, seq=9)), None),
        with_previews(turn(DataItem("/0", ["a" * 801], seq=9)), None),
    ] == [
        turn(shortened(), text(preview(801))),
        turn(shortened(), text(preview(801, "")), origin="/doctor"),
        turn(shortened(), text(preview(2_001)), role="user"),
        turn(shortened(), text(preview(9_000, 'page_fault("p", 0)'))),
        turn(shortened(), text(preview(801, 'page_fault("p", 0)'))),
        turn(shortened(), text(preview(801, 'read_text("@blob:x")'))),
        turn(shortened(), text(preview(7_000))),
        turn(shortened(seq=9), text(preview(801, 'read_text("@entry:9")'))),
        turn(
            shortened(seq=9),
            text(
                f'["{"a" * 397}…\n'
                '[… shortened from 805 characters; read_text("@entry:9") shows all of it]'
            ),
        ),
    ]


def test_short_texts_and_values_of_messages_are_not_shortened() -> None:
    for item in (
        turn(text("a" * 800), medium(), THOUGHT),
        turn(text("a" * 2_000), role="user"),
        turn(DataItem("/0", "a" * 3_000), role="user"),
    ):
        assert with_previews(item, None) is item


def cut(words: str, length: int, call: str) -> str:
    """Shorten a text with an `x` to what `shorten` was called with."""
    return f"{length} {call}" if "x" in words else words


def test_each_changed_text_follows_one_note() -> None:
    before = shortened()
    items: list[Item] = [text("x"), text("y"), text("x", "/1", block=BLOCK), before]
    items += [text("x"), medium()]
    with_notes = with_shorter_texts(turn(*items), None, cut)
    assert with_notes == turn(
        *(shortened(), text(f"1 {READ}")),
        text("y"),
        *(shortened("/1"), text(f"1 {READ}", "/1")),
        *(before, text(f"1 {READ}")),
        medium(),
    )
    notes = [item for item in with_notes.items if isinstance(item, Omission)]
    assert [note.block for note in notes] == [None, BLOCK, None]


def test_structured_content_is_removed_if_it_would_be_changed() -> None:
    def with_value(value: JsonValue, role: TurnRole = "tool") -> ComposedTurn:
        return turn(text("x"), role=role, structured=(value,))

    items = (shortened(), text(f"1 {READ}"))
    cases: list[tuple[str, TurnRole]] = [("x", "tool"), ("y", "tool"), ("x", "assistant")]
    assert [with_shorter_texts(with_value(value, role), None, cut) for value, role in cases] == [
        turn(*items),
        turn(*items, structured=("y",)),
        turn(*items, role="assistant", structured=("x",)),
    ]
    assert with_shorter_texts(turn(structured=("x",)), None, cut) == turn()


def test_result_becomes_a_line_that_names_its_call_and_media() -> None:
    def line(words: str, **more: object) -> tuple[Item, ...]:
        return shortened("", "result", "line", **more), TextItem("", f"[The result of {words}]")

    long = text("a" * 241)
    media = [medium() for _ in range(5)]
    handles = ", ".join([f"@blob:{ID}"] * 3)
    inline = medium(source=InlineBytes(b""))
    cases: list[tuple[ComposedTurn, str | None, str]] = [
        (turn(long), None, f'"look" was left out: {READ} shows it'),
        (turn(long), "p", '"look" was left out: page_fault("p", 0) shows it'),
        (turn(long, origin="/doctor"), None, '"look" was left out'),
        (turn(long, structured=(1,)), None, f'"look" was left out: {READ} shows it'),
        (
            turn(*media[:3], inline),
            *(None, f'"look" was left out: {READ} shows it; its media: {handles}'),
        ),
        (
            turn(*media),
            *(None, f'"look" was left out: {READ} shows it; its media: {handles} and 2 more'),
        ),
        (turn(inline), None, f'"look" was left out: {READ} shows it'),
        (turn(DataItem("/0", 1)), None, f'"look" was left out: {READ} shows it'),
        (
            replace(turn(long), tool_name="a\n" + "b" * 99),
            *(None, f'"a\\\\n{"b" * 57}…" was left out: {READ} shows it'),
        ),
    ]
    assert [as_line(item, page) for item, page, _ in cases] == [
        replace(item, items=line(words), structured=None) for item, _, words in cases
    ]
    [note, _] = as_line(turn(replace(long, block=BLOCK)), None).items
    assert isinstance(note, Omission)
    assert note.block is BLOCK


def test_short_result_is_not_replaced_by_a_line() -> None:
    for item in (
        turn(text("a" * 120), text("a" * 120)),
        turn(text("a"), shortened(), NOTE, MARK),
        turn(),
    ):
        assert as_line(item, None) is item
    line = TextItem("", f'[The result of "look" was left out: {READ} shows it]')
    replaced = [turn(text("a"), THOUGHT), turn(text("a" * 120), text("a" * 121))]
    assert [as_line(item, None).items[1:] for item in replaced] == [(line,)] * 2


def calling(*calls: TurnCall, items: Sequence[Item] = (), **more: object) -> ComposedTurn:
    return turn(*items, role="assistant", calls=calls, **more)  # type: ignore[arg-type]


def test_signed_turns_keep_their_arguments() -> None:
    call = TurnCall("c", "write", {"text": "a" * 400})
    signed = calling(replace(call, thought_signature="s"))
    thinking = calling(call, items=[THOUGHT])
    marked = calling(call, items=[MARK])
    assert [is_signed(item) for item in (signed, thinking, marked, calling(call))] == [
        *(True, True),
        *(False, False),
    ]
    assert with_cut_arguments(signed) is signed
    assert with_cut_arguments(thinking) is thinking
    mark = "[... 200 characters left out; read_text @entry:3/arguments/0/text shows all of it ...]"
    cut_call = replace(call, arguments={"text": "a" * 200 + mark})
    assert with_cut_arguments(marked) == calling(
        cut_call, items=[MARK, shortened("", "arguments", seq=3)]
    )


def test_shorter_arguments_are_those_of_their_own_entry() -> None:
    def shorten(arguments: JsonObject, handle: str | None) -> JsonObject:
        return {"handle": handle} if arguments else arguments

    first, none = TurnCall("a", "look", {"n": 1}), TurnCall("b", "look", {})
    joined = TurnCall("c", "look", {"n": 1}, entry_position=(9, 4))
    long = text("a" * 2_001)

    def note(seq: int) -> Omission:
        return shortened("", "arguments", seq=seq)

    def cut_call(call: TurnCall, handle: str | None) -> TurnCall:
        return replace(call, arguments={"handle": handle})

    assert [
        with_shorter_arguments(item, shorten)
        for item in (
            calling(first, none, first, joined, items=[text("Hi.")]),
            calling(first, origin="/doctor"),
            calling(first, seq=None),
            calling(none, items=[long]),
        )
    ] == [
        calling(
            cut_call(first, "@entry:3/arguments/0"),
            none,
            cut_call(first, "@entry:3/arguments/2"),
            cut_call(joined, "@entry:9/arguments/4"),
            items=[text("Hi."), note(3), note(3), note(9)],
        ),
        calling(cut_call(first, None), items=[note(3)], origin="/doctor"),
        calling(first, seq=None),
        with_previews(calling(none, items=[long]), None),
    ]
    unchanged = calling(none, items=[text("Hi.")])
    assert with_shorter_arguments(unchanged, shorten) is unchanged


def test_late_result_is_a_message_that_names_its_step() -> None:
    def late(*items: Item, name: str = "look", is_error: bool = False) -> ComposedTurn:
        return make_late_result(replace(turn(*items, is_error=is_error), tool_name=name), 12)

    heading = "Result of look, step 12:"
    value = DataItem("/1", 1)
    assert [
        late(NOTE, text("A."), text("B.")),
        late(text("A."), is_error=True),
        late(text("A."), name=""),
        late(text("A."), name="a\n" + "b" * 50),
        late(shortened(), value, text("A.")),
        late(medium()),
        late(shortened()),
        late(),
    ] == [
        turn(*items, role="user")
        for items in (
            [text(f"{heading} A."), text("B.")],
            [text("Result of look, step 12, which failed: A.")],
            [text("Result of a tool, step 12: A.")],
            [text(f"Result of a\\n{'b' * 36}…, step 12: A.")],
            [shortened(), TextItem("", heading), value, text("A.")],
            [TextItem("", heading), medium()],
            [shortened(), TextItem("", heading)],
            [TextItem("", heading)],
        )
    ]


def test_fold_is_a_message_with_the_request_that_lists_its_run() -> None:
    summary = FoldSummary(2, 3, 1, 2, 0, 4, 9, {"look": 2})
    outside = replace(summary, from_seq=None, to_seq=None)
    sentence = "Steps 2 to 3 and 1 message: look 2."
    reason = RULES["folded"].reason

    def fold(origin: str, seq: int | None, restore: str, line: str, from_seq: int | None) -> object:
        note = Omission(
            *("", "original", "folded", reason, restore), to="line", run=(from_seq, seq, 3)
        )
        return Turn("user", (note, TextItem("", line)), origin, seq)

    listed = f"{sentence} read_text @entries:4-9 lists them."
    assert [
        make_fold_turn(summary, "/api/sessions/s/messages/4"),
        make_fold_turn(summary, "/doctor/4"),
        make_fold_turn(summary, "4"),
        make_fold_turn(outside, "/api/m/4"),
    ] == [
        fold("/api/sessions/s/messages/4", 9, "GET /api/sessions/s/messages?after=3", listed, 4),
        fold("/doctor/4", 9, "GET /doctor?after=3", sentence, 4),
        fold("4", 9, "GET 4", sentence, 4),
        fold("/api/m/4", None, "GET /api/m/4", sentence, None),
    ]
