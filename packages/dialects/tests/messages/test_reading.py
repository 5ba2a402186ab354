"""Whole histories as conversations, and their loss accounts with pointers into the history."""

from typing import Any

import pytest

from pagefault_dialects import heal
from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.messages.reading import locate_loss, pair_turns, read_messages
from pagefault_dialects.model.conversation import ComposedTurn, TextItem, Turn, TurnCall
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import RenderOptions

Json = Any

USER: Json = {"role": "user", "content": "Look."}
ANSWER: Json = {"role": "tool", "tool_call_id": "a", "content": "A cat."}


def call(*ids: str, arguments: str = "{}") -> Json:
    function = {"name": "look", "arguments": arguments}
    calls = [{"id": call_id, "type": "function", "function": function} for call_id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def calling(seq: int, *ids: str, **arguments: Json) -> ComposedTurn:
    calls = tuple(TurnCall(call_id, "look", arguments) for call_id in ids)
    return Turn("assistant", (), f"/{seq - 1}", seq, calls)


def test_turns_are_numbered_by_their_messages_and_paired() -> None:
    body = [USER, None, call("a"), USER]
    user: ComposedTurn = Turn("user", (TextItem("/0/content", "Look."),), "/0", 1)
    last: ComposedTurn = Turn("user", (TextItem("/3/content", "Look."),), "/3", 4)
    history = read_messages(body)
    assert [message.pointer for message in history.messages] == ["/0", "/1", "/2", "/3"]
    assert [*history.recorded] == [*history.joined] == [user, calling(3, "a"), last]
    assert [turn.role for turn in history.turns] == ["user", "assistant", "tool", "user"]
    # Calls at the end stay open, unless they are closed.
    open_calls, closed = (read_messages(body[:3], closes=closes) for closes in (False, True))
    assert [len(read.turns) for read in (open_calls, closed)] == [2, 3]


def test_value_without_a_history_is_refused() -> None:
    with pytest.raises(InvalidPayloadError) as caught:
        read_messages({"rows": []})
    assert (caught.value.detail, caught.value.faults) == (
        'There is no history in this: send a list of messages, `{"messages": […]}`, or the '
        "request of a provider.",
        (Fault("/messages", "must be a list of messages"),),
    )


def test_consecutive_calls_are_joined_and_repeated_calls_removed() -> None:
    messages = [ForeignMessage("", {}), ForeignMessage("", {}, continues_turn=True)]
    same, other = calling(1, "a", "b", "a"), calling(2, "a", x=1)
    paired = pair_turns(messages, [same, other], closes_calls=False)
    [joined] = paired.joined
    assert [item.call_id for item in joined.calls] == ["a", "b", "a", "a"]
    [turn] = paired.turns
    assert [(item.call_id, item.arguments) for item in turn.calls] == [
        ("a", {}),
        ("a-2", {"x": 1}),
        ("b", {}),
    ]
    text_turn: ComposedTurn = Turn("assistant", (TextItem("", "A"),), seq=1)
    more: ComposedTurn = Turn("assistant", (TextItem("", "B"),), seq=2)
    assert len(pair_turns(messages, [text_turn, more], closes_calls=False).joined) == 1
    assert len(pair_turns([messages[0]] * 2, [text_turn, more], closes_calls=False).joined) == 2


def lost(pointer: str = "", restore: str = "GET /api/x", **more: Json) -> LossEntry:
    return LossEntry(
        pointer=pointer,
        from_="original",
        to="nothing",
        code="evicted",
        reason="r",
        restore=restore,
        **more,
    )


def test_loss_points_into_the_history() -> None:
    messages = [ForeignMessage(f"/messages/{index}", {}) for index in range(3)]
    messages.append(ForeignMessage("/messages/3", None))
    entries = [
        lost("/messages/1/content", seq=2),
        lost(seq=3),
        lost(),
        lost("/messages/1", "Ask again.", seq=2),
        lost(from_seq=1, to_seq=3, count=3),
    ]
    no_message = LossEntry(
        pointer="/messages/3",
        from_="entry",
        to="nothing",
        code="not-a-message",
        reason="It is no message of a known dialect.",
        restore="/messages/3",
    )
    assert [*locate_loss(entries, messages)] == [
        no_message,
        lost("/messages/1/content", "/messages/1/content"),
        lost("/messages/2", "/messages/2"),
        lost("/messages/0", "/messages/0"),
        lost("/messages/1", "Ask again."),
        lost("/messages/0", "/messages/0 to /messages/2", count=3),
    ]


def test_history_without_faults_is_returned_as_it_was_sent() -> None:
    body = {"messages": [USER, call("a"), ANSWER]}
    healed = heal(body)
    assert (healed.target, healed.messages, healed.loss) == ("openai-chat", body["messages"], ())
    assert heal(body, "openai-chat").messages == body["messages"]
    assert heal(body, options=RenderOptions(max_tokens=9_000)).messages == body["messages"]
    # Other options, and other targets, change it.
    assert heal(body, "anthropic").messages != body["messages"]
    marked = heal(
        {"messages": [USER], "system": "s", "max_tokens": 9},
        options=RenderOptions(cache_markers=True),
    )
    assert "cache_control" in str(marked.messages)


def test_history_with_faults_is_rendered_without_its_sent_messages() -> None:
    faulty = [USER, {**call("a", arguments=""), "name": "n"}, ANSWER]
    assert heal(faulty).messages == [USER, call("a"), ANSWER]
    half = [{"role": "user", "content": "a\ud83d", "name": "n"}]
    assert heal(half).messages == [{"role": "user", "content": "a\ufffd", "name": "n"}]
    uncounted = RenderOptions(count_tokens=False)
    assert (heal(faulty).tokens is None, heal(faulty, options=uncounted).tokens) == (False, None)
    healed = heal([USER, call("a", "b"), ANSWER, None])
    assert [(entry.pointer, entry.code, entry.restore) for entry in healed.loss] == [
        ("/3", "not-a-message", "/3"),
        ("/1", "no-answer", "/1"),
    ]
    with pytest.raises(InvalidPayloadError):
        heal(faulty, "unknown")
