"""Faults of a history that its rendering repairs: found in turns and in the loss account."""

from collections.abc import Sequence
from dataclasses import replace

from packages.dialects.tests.targets.composed import medium, profile, rule
from pagefault_dialects.dialects.foreign_message import Dialect
from pagefault_dialects.messages.findings import (
    find_lossy_faults,
    find_repaired_faults,
    find_unpaired_calls,
)
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Item,
    Medium,
    Omission,
    SyntheticNote,
    TextItem,
    Turn,
    TurnCall,
)
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.resource import MediaHints
from pagefault_dialects.targets.profile import IdRule
from pagefault_dialects.targets.rules import make_finding as fault
from pagefault_dialects.turns.pairing import pair_calls
from tests.kit.media import png

LONG = "https://a.example/" + "b" * 80
IMAGES = rule(
    *("image/png", "image/gif"),
    max_base64=4_000,
    max_side=100,
    min_side=8,
    max_count=2,
    max_side_of_many=(3, 60),
    addresses=("https", "gs"),
)
PROFILE = profile(image=IMAGES, audio=rule("audio/wav"))


def lost(code: str, pointer: str = "/parts/0", reason: str = "Because.", seq: int = 1) -> LossEntry:
    return LossEntry(
        seq=seq,
        pointer=pointer,
        from_="original",
        to="nothing",
        code=code,
        reason=reason,
        restore="",
    )


def user_turn(*items: Item, seq: int = 1) -> ComposedTurn:
    return Turn("user", items, f"/{seq}", seq)


def find_lossy(
    items: Sequence[Item], *loss: LossEntry, dialect: Dialect | None = None
) -> list[Finding]:
    return [*find_lossy_faults(loss, [user_turn(*items)], PROFILE, dialect)]


def test_finding_about_a_medium_has_its_property_and_the_limit_of_the_target() -> None:
    link = medium(source=Address(LONG))
    sound = medium("audio/mpeg", size_bytes=9)
    rows: Sequence[tuple[str, Medium, int | str | None, int | str | None]] = [
        ("type-not-taken", medium("image/bmp"), "image/gif, image/png", "image/bmp"),
        ("address-not-taken", link, "gs, https", f"{LONG[:79]}…"),
        ("address-not-taken", medium(), "gs, https", "Because."),
        ("too-many-bytes", medium(size_bytes=3_001), 4_000, 4_004),
        ("too-many-bytes", replace(link, size_bytes=None), 4_000, 0),
        ("too-many-pixels", medium(hints=MediaHints(101, 300)), 100, 300),
        ("too-many-pixels", medium(hints=MediaHints(300, 101)), 100, 300),
        ("too-many-pixels", medium(hints=MediaHints(101, 50)), 100, 101),
        # If there are many images, the limit of each is lower.
        ("too-many-pixels", medium(hints=MediaHints(100, 50)), 60, 100),
        ("too-few-pixels", medium(hints=MediaHints(7, 50)), 8, 7),
        ("too-few-pixels", medium(hints=MediaHints(50, 6)), 8, 6),
        ("too-few-pixels", medium(hints=MediaHints()), 8, 0),
        ("too-many-pixels", medium(hints=MediaHints()), 60, 0),
        ("too-many-pixels", medium(source=InlineBytes(png(8, 120))), 100, 120),
        ("too-few-pixels", medium(source=InlineBytes(png(9, 6))), 8, 6),
        ("too-many-media", medium(), 2, 1),
        ("unreadable", medium(), None, "Because."),
        # The target has no limit, or accepts no media of the kind.
        ("too-many-bytes", sound, None, 12),
        ("type-not-taken", medium("video/mp4"), None, "video/mp4"),
    ]
    assert [find_lossy([item], lost(code)) for code, item, _, _ in rows] == [
        [fault(code, "/parts/0", limit=limit, actual=actual, seq=1)]
        for code, _, limit, actual in rows
    ]


def test_low_limit_of_many_images_is_named_only_if_there_is_one() -> None:
    item = medium(hints=MediaHints(90, 50))
    target = profile(image=rule("image/png", max_side=100))
    assert [*find_lossy_faults([lost("too-many-pixels")], [user_turn(item)], target, None)] == [
        fault("too-many-pixels", "/parts/0", limit=100, actual=90, seq=1)
    ]


def test_media_of_one_class_are_counted_in_all_turns() -> None:
    image, sound = medium(), medium("audio/wav")
    turns = [
        user_turn(image, sound),
        user_turn(TextItem("/parts/0", "Hm."), image, seq=2),
        user_turn(image, seq=3),
    ]
    found = [*find_lossy_faults([lost("too-many-media", seq=2)], turns, PROFILE, None)]
    assert found == [fault("too-many-media", "/parts/0", limit=2, actual=3, seq=2)]


def test_medium_among_several_of_a_result_is_found_by_its_type() -> None:
    media = [medium("image/bmp"), medium("image/tiff")]
    [found] = find_lossy(media, lost("type-not-taken", reason="image/tiff is not accepted."))
    [first] = find_lossy(media, lost("type-not-taken", reason="It is not accepted."))
    assert (found.actual, first.actual) == ("image/tiff", "image/bmp")


def test_loss_is_reported_once_and_only_if_it_is_a_fault_without_another_finding() -> None:
    others = ("no-call", "late-answer", "no-answer", "duplicate-answer", "empty-content")
    loss = [
        *map(lost, (*others, "not-a-message", "no-place", "folded")),
        lost("evicted"),
        lost("evicted", reason="Again."),
        lost("evicted", "/parts/1"),
        lost("evicted", seq=2),
        lost("unreadable"),
    ]
    assert find_lossy([], *loss) == [
        fault("evicted", "/parts/0", seq=1),
        fault("evicted", "/parts/1", seq=1),
        fault("evicted", "/parts/0", seq=2),
        fault("unreadable", "/parts/0", seq=1),
    ]


def test_link_of_unknown_type_that_the_provider_loads_is_no_fault_in_its_own_dialect() -> None:
    def link(url: str, mime_type: str = "application/octet-stream") -> Medium:
        return replace(medium(source=Address(url)), mime_type=mime_type)

    loaded = link("https://a.example/b")
    assert find_lossy([loaded], lost("type-not-taken"), dialect="anthropic") == []
    reported: Sequence[tuple[Medium, Dialect | None]] = [
        (loaded, None),
        (link("http://a.example/b"), "anthropic"),
        (link("https://a.example/b", "image/bmp"), "anthropic"),
        (replace(loaded, kind="video"), "anthropic"),
        (replace(medium(), mime_type="application/octet-stream"), "anthropic"),
    ]
    assert [
        len(find_lossy([item], lost("type-not-taken"), dialect=dialect))
        for item, dialect in reported
    ] == [1] * len(reported)


def find_repaired(*turns: ComposedTurn, dialect: Dialect | None = None) -> list[Finding]:
    target = replace(PROFILE, call_id=IdRule("a-z0-9", 6), tool_name=IdRule("a-z_", 5))
    return [*find_repaired_faults(turns, target, dialect)]


def calling(*calls: tuple[str, str], seq: int = 1) -> ComposedTurn:
    return Turn("assistant", (), f"/{seq}", seq, tuple(TurnCall(*call, {}) for call in calls))


def answer(call_id: str, *items: Item, seq: int = 2, **more: object) -> ComposedTurn:
    return Turn("tool", items, f"/{seq}", seq, call_id=call_id, **more)  # type: ignore[arg-type]


def test_ids_and_names_are_unique_and_fit_the_target() -> None:
    ids, names = "up to 6 of a-z0-9", "up to 5 of a-z_"
    long = "c" * 90
    turns = [
        calling(("a", "look"), ("B", "look"), ("c", "see it")),
        calling(("a", "look"), ("B", "look"), (long, long), seq=2),
    ]
    assert find_repaired(*turns) == [
        fault("bad-id", "/1", limit=ids, actual="B", call_id="B", seq=1),
        fault("bad-name", "/1", limit=names, actual="see it", call_id="c", seq=1),
        fault("duplicate-id", "/2", actual="a", call_id="a", seq=2),
        fault("duplicate-id", "/2", actual="B", call_id="B", seq=2),
        fault("bad-id", "/2", limit=ids, actual=f"{long[:79]}…", call_id=long, seq=2),
        fault("bad-name", "/2", limit=names, actual=f"{long[:79]}…", call_id=long, seq=2),
    ]


def test_result_before_its_call_is_a_fault() -> None:
    long = "c" * 90
    turns = [
        answer("a", seq=1),
        user_turn(seq=2),
        calling(("a", "look"), ("b", "look"), seq=3),
        answer("b", seq=4),
        answer("a", seq=5),
        calling(("b", "look"), seq=6),
        answer("z", seq=7),
        answer(long, seq=8),
        calling((long, "look"), seq=9),
    ]
    assert [finding for finding in find_repaired(*turns) if finding.rule == "wrong-order"] == [
        fault("wrong-order", "/1", actual="a", call_id="a", seq=1),
        fault("wrong-order", "/8", actual=f"{long[:79]}…", call_id=long, seq=8),
    ]


def test_turn_without_content_is_a_fault_unless_it_is_a_result_or_has_calls() -> None:
    rows: Sequence[tuple[ComposedTurn, Dialect | None, bool]] = [
        (user_turn(), None, True),
        (user_turn(DataItem("", {})), None, False),
        (calling(), "gemini", True),
        (calling(("a", "look")), None, False),
        (answer("a"), "anthropic", False),
        (answer("a", is_error=True), "anthropic", True),
        (answer("a", is_error=True), "bedrock", True),
        (answer("a", is_error=True), "gemini", False),
        (answer("a", is_error=True), None, False),
    ]
    assert [find_repaired(turn, dialect=dialect) for turn, dialect, _ in rows] == [
        [fault("empty-content", turn.origin, seq=turn.seq)] if is_fault else []
        for turn, _, is_fault in rows
    ]


def test_empty_text_is_a_fault_unless_it_is_all_that_a_result_or_a_message_with_calls_says() -> (
    None
):
    whole, block, words = (
        TextItem("/content", ""),
        TextItem("/content/0", ""),
        TextItem("/content/1", "Hm."),
    )
    with_calls = replace(calling(("a", "look")), items=(whole,))
    rows: Sequence[tuple[ComposedTurn, Dialect | None, list[str]]] = [
        (user_turn(whole, words, block), None, ["/content", "/content/0"]),
        (with_calls, None, []),
        (replace(with_calls, items=(words, block)), None, ["/content/0"]),
        (answer("a", whole), "anthropic", []),
        (answer("a", block), "anthropic", ["/content/0"]),
        (answer("a", whole, is_error=True), "anthropic", ["/content"]),
        (answer("a", whole, is_error=True), "gemini", []),
    ]
    assert [find_repaired(turn, dialect=dialect) for turn, dialect, _ in rows] == [
        [fault("empty-content", pointer, actual="", seq=turn.seq) for pointer in pointers]
        for turn, _, pointers in rows
    ]


def test_blank_text_is_empty_if_the_target_omits_it() -> None:
    turn = user_turn(TextItem("/content", " " * 90))
    strict = replace(PROFILE, allows_blank_texts=False)
    assert [*find_repaired_faults([turn], PROFILE, None)] == []
    assert [*find_repaired_faults([turn], strict, None)] == [
        fault("empty-content", "/content", actual=f"{' ' * 79}…", seq=1)
    ]


def test_medium_in_a_text_or_of_another_type_than_declared_is_a_fault() -> None:
    claimed = f"image/{'x' * 90}"
    items = [
        medium(is_in_text=True),
        medium(claimed_type=claimed),
        medium(is_in_text=True, claimed_type="image/gif"),
        medium(),
    ]
    in_text = fault("base64-in-text", "/parts/0", actual="image/png", seq=1)
    assert find_repaired(user_turn(*items)) == [
        in_text,
        fault("mislabelled-media", "/parts/0", limit="image/png", actual=f"{claimed[:79]}…", seq=1),
        in_text,
        fault("mislabelled-media", "/parts/0", limit="image/png", actual="image/gif", seq=1),
    ]


def test_medium_in_a_result_is_a_fault_where_results_are_texts() -> None:
    def found(rule_name: str) -> list[Finding]:
        return [fault(rule_name, "/parts/0", actual="image/png", call_id="a", seq=2)]

    result = answer("a", medium(), medium(is_in_text=True))
    failed = replace(result, is_error=True)
    rows: Sequence[tuple[ComposedTurn, Dialect | None, list[Finding]]] = [
        (result, "openai-chat", found("media-in-result")),
        (result, "anthropic", []),
        (result, None, []),
        (failed, "openai-chat", found("media-in-result")),
        (failed, "anthropic", found("media-in-error")),
        (failed, "bedrock", found("media-in-error")),
        (failed, "gemini", []),
        (user_turn(medium()), "openai-chat", []),
    ]
    in_text = fault("base64-in-text", "/parts/0", actual="image/png", seq=2)
    assert [
        [item for item in find_repaired(turn, dialect=dialect) if item != in_text]
        for turn, dialect, _ in rows
    ] == [expected for _, _, expected in rows]


def find_unpaired(*turns: ComposedTurn) -> list[Finding]:
    return [*find_unpaired_calls(pair_calls(turns, closes_calls=True), turns)]


def test_calls_and_results_without_each_other_are_reported_where_they_were_sent() -> None:
    user = user_turn(TextItem("/content", "Go on."), seq=3)
    words = TextItem("/content", "A cat.")
    late = replace(user, seq=4, origin="/4")
    rows: Sequence[tuple[list[ComposedTurn], list[Finding]]] = [
        ([calling(("a", "look")), answer("a", words), user], []),
        ([calling(("a", "look")), user], [fault("no-answer", "/1", seq=1, call_id="a")]),
        ([answer("a", words), user], [fault("no-call", "/2", seq=2, call_id="a")]),
        (
            [calling(("a", "look")), user, answer("a", words, seq=5)],
            [
                fault("no-answer", "/1", seq=1, call_id="a"),
                fault("late-answer", "/5", seq=5, call_id="a"),
            ],
        ),
        (
            [calling(("a", "look")), answer("a", words), answer("a", words, seq=3), late],
            [fault("duplicate-answer", "/content", seq=3, call_id="a")],
        ),
        # Pairing adds a number to the id of the second result.
        (
            [
                answer("a+", words, tool_name="see"),
                user,
                answer("b", words, seq=4, tool_name="look"),
                answer("a+", words, seq=4, tool_name="look"),
            ],
            [
                fault("no-call", "/2", seq=2, call_id="a+"),
                fault("no-call", "/4", seq=4, call_id="b"),
                fault("no-call", "/4", seq=4, call_id="a+"),
            ],
        ),
        ([answer("", words), user], [fault("no-call", "/2", seq=2, call_id="call")]),
    ]
    assert [find_unpaired(*turns) for turns, _ in rows] == [expected for _, expected in rows]


def test_unanswered_call_of_a_joined_turn_is_reported_at_the_turn_that_had_it() -> None:
    first, second = calling(("a", "look")), calling(("b", "look"), seq=2)
    joined = replace(first, calls=first.calls + second.calls)
    user = user_turn(TextItem("/content", "Go on."), seq=3)
    conversation = pair_calls([joined, user], closes_calls=True)
    [found_a, found_b] = find_unpaired_calls(conversation, [first, second, user])
    assert found_a == fault("no-answer", "/1", seq=1, call_id="a")
    assert found_b == fault("no-answer", "/2", seq=2, call_id="b")


def test_second_result_is_found_by_its_place() -> None:
    omitted = Omission("/content/1", "answer", "duplicate-answer", "", seq=4)
    other = replace(omitted, code="no-place")
    note = SyntheticNote("line", "no-beginning", "", 4)
    recorded = [
        answer("b", TextItem("/content/1", "A cat."), seq=3),
        answer("a", note, TextItem("/content/1", "A cat."), seq=4),
        user_turn(TextItem("/content/1", "A cat."), seq=4),
    ]
    assert [*find_unpaired_calls([user_turn(other, note, omitted)], recorded)] == [
        fault("duplicate-answer", "/content/1", seq=4, call_id="a")
    ]
    assert [*find_unpaired_calls([user_turn(omitted)], [])] == [
        fault("duplicate-answer", "/content/1", seq=4)
    ]
