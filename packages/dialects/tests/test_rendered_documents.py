"""Documents of renderings: their members, the hashes of their prefixes, and marks for the cache."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pagefault_dialects.model.conversation import ResolvedTurn, TextItem, Turn, TurnCall, TurnRole
from pagefault_dialects.model.frontier import NOTHING_EVICTED
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import ImageDetail, RenderOptions
from pagefault_dialects.rendered_documents import (
    add_cache_marks,
    build_document,
    build_session_document,
    write_prefix,
)
from pagefault_dialects.targets.base64_leaves import JsonLeaf, Node
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.profile import IdRule, Profile

Json = Any


def write(turns: Sequence[ResolvedTurn], profile: Profile, detail: ImageDetail) -> list[Node]:
    """Write a message of each turn; turns of one role in succession are merged."""
    messages: list[Node] = []
    for turn in turns:
        role = "user" if turn.role == "tool" else turn.role
        blocks: list[Node] = [
            {"text": item.text} for item in turn.items if isinstance(item, TextItem)
        ]
        last = messages[-1] if messages else None
        if isinstance(last, dict) and last["role"] == role and isinstance(last["content"], list):
            last["content"] += blocks
        else:
            messages.append({"role": role, "content": blocks})
    return messages


PROFILE = Profile("t", "nowhere", write, "7", has_separate_system=True, call_id=IdRule("a-z", 12))
OPTIONS = RenderOptions(count_tokens=False)
SYSTEM: ResolvedTurn = Turn("system", (TextItem("/content", "Be kind."),), seq=1)


def turn(role: TurnRole, seq: int, **more: Json) -> ResolvedTurn:
    return Turn(role, (TextItem("/content", f"{role} {seq}"),), seq=seq, **more)


def message(role: str, *numbers: int | str) -> Json:
    texts = [f"{role} {number}" if isinstance(number, int) else number for number in numbers]
    return {"role": role, "content": [{"text": text} for text in texts]}


def lost(seq: int) -> LossEntry:
    return LossEntry(
        seq=seq, pointer="", from_="original", to="nothing", code="evicted", reason="", restore=""
    )


def resolve(*turns: ResolvedTurn) -> ResolvedTurns:
    """Return resolved turns, each with an entry of the loss account."""
    loss = tuple(lost(turn.seq or 0) for turn in turns)
    return ResolvedTurns(turns, loss, (1,) * len(turns))


HISTORY = (SYSTEM, turn("user", 2), turn("assistant", 3), turn("user", 4), turn("assistant", 5))


def test_document_has_the_messages_and_what_else_there_is() -> None:
    calls = tuple(TurnCall(call_id, "look", {}) for call_id in ("a", "B", "c"))
    turns = (
        *(SYSTEM, turn("user", 2), turn("assistant", 3, calls=calls)),
        turn("tool", 4, call_id="a"),
    )
    head = {"target": "t", "profile": "t/7"}
    messages = [message("user", 2), message("assistant", 3), message("user", "tool 4")]
    whole = build_document(resolve(*turns), PROFILE, replace(OPTIONS, count_tokens=True))
    loss = [JsonLeaf(lost(seq).wire()) for seq in (1, 2, 3, 4)]
    assert [*whole.items()] == [
        *head.items(),
        ("messages", messages),
        ("system", "Be kind."),
        ("loss", loss),
        ("openCalls", [PROFILE.call_id.fit("B"), "c"]),
        ("tokensEst", PROFILE.tokens.count_turns(turns[1:], "Be kind.")),
    ]
    small = build_document(ResolvedTurns((turn("user", 2),), ()), PROFILE, OPTIONS)
    assert small == {**head, "messages": [message("user", 2)], "loss": []}


def test_detail_is_what_the_target_accepts_of_the_requested_one() -> None:
    def write_detail(turns: Sequence[ResolvedTurn], _: Profile, detail: ImageDetail) -> list[Node]:
        return [detail]

    target = replace(PROFILE, write=write_detail, default_detail="low")
    details: Sequence[ImageDetail | None] = (None, "auto", "original")
    assert [
        build_document(ResolvedTurns((), ()), target, replace(OPTIONS, detail=detail))["messages"]
        for detail in details
    ] == [["low"], ["auto"], ["high"]]


def session(
    *turns: ResolvedTurn, since: int = 0, options: RenderOptions = OPTIONS, **more: Json
) -> Json:
    last_seq = turns[-1].seq or 0
    return build_session_document(
        resolve(*turns), PROFILE, options, last_seq=last_seq, since=since, **more
    ).document


def test_document_of_a_session_since_an_entry_has_only_what_is_new() -> None:
    whole, early = session(*HISTORY), session(*HISTORY[:3])
    assert whole["prefixHash"][:2] == early["prefixHash"]
    assert len({*whole["prefixHash"]}) == len(whole["messages"]) == 4
    assert (whole["lastSeq"], whole["system"], "sinceHash" in whole) == (5, "Be kind.", False)
    assert all(len(bytes.fromhex(digest)) == 8 for digest in whole["prefixHash"])
    new = session(*HISTORY, since=3)
    assert new == {
        "target": "t",
        "profile": "t/7",
        "messages": whole["messages"][2:],
        "loss": [JsonLeaf(lost(seq).wire()) for seq in (4, 5)],
        "prefixHash": whole["prefixHash"][2:],
        "lastSeq": 5,
        "sinceHash": early["prefixHash"][-1],
    }
    nothing = session(*HISTORY, since=5)
    assert (nothing["messages"], nothing["loss"], nothing["prefixHash"]) == ([], [], [])
    assert nothing["sinceHash"] == whole["prefixHash"][-1]


def test_system_text_is_sent_again_only_if_it_may_have_changed() -> None:
    assert "system" not in session(*HISTORY, since=1)
    memory = replace(OPTIONS, memory=("manifest",))
    assert session(*HISTORY, since=4, options=memory)["system"] == "Be kind."
    late = replace(SYSTEM, seq=6)
    assert session(late, *HISTORY[1:], since=5)["system"] == "Be kind."


def test_tokens_of_a_session_are_those_of_the_new_messages() -> None:
    counted = replace(OPTIONS, count_tokens=True)
    assert session(*HISTORY, since=3, options=counted)["tokensEst"] == PROFILE.tokens.count_turns(
        HISTORY[3:], ""
    )
    assert session(*HISTORY, options=counted)["tokensEst"] == PROFILE.tokens.count_turns(
        HISTORY[1:], "Be kind."
    )


def test_hash_is_of_target_system_and_all_blocks_so_far() -> None:
    def last_hash(*turns: ResolvedTurn, profile: Profile = PROFILE) -> bytes:
        return build_session_document(
            resolve(*turns), profile, OPTIONS, last_seq=9, since=0
        ).hashes[-1]

    merged = last_hash(*HISTORY, turn("assistant", 6))
    others = [
        last_hash(*HISTORY),
        last_hash(*HISTORY, turn("assistant", 6)),
        last_hash(*HISTORY, turn("user", 6)),
        last_hash(*HISTORY[1:], turn("assistant", 6)),
        last_hash(*HISTORY, turn("assistant", 6), profile=replace(PROFILE, version="8")),
        last_hash(*HISTORY, turn("assistant", 6), profile=replace(PROFILE, target="u")),
    ]
    assert [other == merged for other in others] == [False, True, False, False, False, False]
    # Blocks of one role count as one message, and as two messages in succession.
    split = replace(PROFILE, write=lambda turns, *rest: [write([item], *rest)[0] for item in turns])
    assert last_hash(*HISTORY, turn("assistant", 6), profile=split) == merged
    # Of a message with other members, the whole is hashed.
    named = replace(PROFILE, write=lambda *_: [{"role": "user", "content": [], "name": "n"}])
    bare = replace(PROFILE, write=lambda *_: [{"role": "user", "content": []}])
    parts = replace(PROFILE, write=lambda *_: [{"role": "user", "parts": []}])
    text = replace(PROFILE, write=lambda *_: [{"role": "user", "content": ""}])
    named_hash, bare_hash, parts_hash, text_hash = (
        last_hash(SYSTEM, profile=profile) for profile in (named, bare, parts, text)
    )
    assert len({named_hash, bare_hash, text_hash}) == 3
    assert parts_hash == bare_hash


def test_hashes_after_a_prefix_are_those_of_the_whole() -> None:
    whole = session(*HISTORY)
    prefix = write_prefix(resolve(*HISTORY[:3]), PROFILE, OPTIONS)
    assert (prefix.system, prefix.role) == ("Be kind.", "assistant")
    assert session(*HISTORY[3:], prefix=prefix)["prefixHash"] == whole["prefixHash"][2:]
    longer = write_prefix(resolve(HISTORY[3]), PROFILE, OPTIONS, prefix)
    assert longer == write_prefix(resolve(*HISTORY[:4]), PROFILE, OPTIONS)
    assert session(HISTORY[4], prefix=longer)["prefixHash"] == whole["prefixHash"][3:]
    assert session(*HISTORY[3:], prefix=prefix, since=4)["sinceHash"] == whole["prefixHash"][2]


def test_answers_that_belong_into_a_message_of_the_caller_change_the_hash() -> None:
    calls = (TurnCall("a", "look", {}), TurnCall("b", "look", {}))
    called = (turn("user", 2), turn("assistant", 3, calls=calls), turn("tool", 4, call_id="a"))
    later = turn("tool", 5, call_id="b")
    whole = session(*called, later)
    known = session(*called)["prefixHash"][-1]
    # The message with the first answer gets the second one.
    assert session(*called, later, since=4)["sinceHash"] != known
    assert session(*called[:2], later, since=3)["sinceHash"] == whole["prefixHash"][1]
    # An earlier turn that a frontier has changed makes no difference as long as hashes are equal.
    evicting = replace(OPTIONS, frontier=NOTHING_EVICTED)
    assert (
        session(*HISTORY, since=3, options=evicting)["sinceHash"]
        == session(*HISTORY, since=3)["sinceHash"]
    )


def mark(node: Node) -> Node:
    assert isinstance(node, dict)
    return {**node, "cachePoint": 1}


def marked(messages: list[Node], *, sent: int = 0, marks: bool = True) -> Json:
    document: dict[str, Node] = {"messages": messages}
    profile = replace(PROFILE, mark_cached=mark)
    add_cache_marks(document, profile, replace(OPTIONS, cache_markers=marks), sent_messages=sent)
    return document["messages"]


def test_last_message_of_this_and_of_the_previous_request_are_marked() -> None:
    def messages(*numbers: int) -> list[Node]:
        return [
            {"role": "user", **({"cachePoint": 1} if number in numbers else {})}
            for number in (1, 2, 3)
        ]

    assert marked(messages()) == messages(3)
    assert marked(messages(), sent=1) == messages(1, 3)
    assert marked(messages(), sent=3) == messages(3)
    assert marked(messages(), sent=1, marks=False) == messages()
    assert marked([]) == []
    document: dict[str, Node] = {"messages": messages()}
    add_cache_marks(document, PROFILE, replace(OPTIONS, cache_markers=True))
    assert document == {"messages": messages()}


def test_oldest_marks_beyond_four_are_removed() -> None:
    def block(*, is_marked: bool, name: str = "cache_control") -> Json:
        return {"type": "text", **({name: {"type": "ephemeral"}} if is_marked else {})}

    def history(*marks: bool) -> list[Node]:
        """A message, a result with blocks, a leaf, and the last message with marks of its own."""
        first, second, third, fourth, fifth, sixth = marks
        result = {"type": "tool_result", "content": [block(is_marked=third)]}
        nested: Json = {**result, **({"cache_control": 1} if fourth else {})}
        leaf = JsonLeaf({"type": "tool_result", "content": [block(is_marked=fifth)]})
        return [
            {"role": "user", "content": [block(is_marked=first), block(is_marked=second)]},
            {"role": "user", "content": [nested]},
            {"role": "user", "content": [leaf]},
            {"role": "user", "content": [block(is_marked=sixth, name="cachePoint")]},
        ]

    four = history(True, True, False, False, True, True)
    assert marked(four, marks=False) == four
    # The first two are removed.
    assert marked(history(*[True] * 6), marks=False) == history(False, False, *[True] * 4)
    assert marked(history(True, False, *[True] * 4), marks=False) == history(
        False, False, *[True] * 4
    )
    # A new mark counts as well, and inner marks come before that of the block around them.
    added = marked(history(*[True] * 6), sent=1)
    assert [item["content"] for item in added[:1]] == [[block(is_marked=False)] * 2]
    assert sum(map(str(added).count, ("cachePoint", "cache_control"))) == 4


def test_block_that_is_only_a_mark_is_removed_with_it() -> None:
    points: list[Node] = [{"cachePoint": {"type": "default"}} for _ in range(5)]
    messages: Json = [{"role": "user", "content": [{"text": "A"}, *points]}]
    assert marked(messages, marks=False) == [
        {"role": "user", "content": [{"text": "A"}, *points[1:]]}
    ]
    # Only results and messages have blocks in their content.
    other: Json = [{"role": "user", "content": [{"type": "x", "content": points}]}]
    assert marked(other, marks=False) == other
    text: Json = [{"role": "user", "content": "A"}, "B"]
    assert marked([*text, *points], marks=False) == [*text, *points[1:]]
