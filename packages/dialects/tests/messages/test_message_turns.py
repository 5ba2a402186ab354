"""Turns of one message in common form: roles, calls, results, and notes of omissions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pagefault_dialects.messages.message_content import note_no_place, note_reasoning
from pagefault_dialects.messages.message_turns import (
    MessageEntry,
    is_cache_block,
    make_message_turns,
)
from pagefault_dialects.messages.provider_blocks import (
    make_cache_mark,
    make_thought_block,
    make_thought_member,
)
from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Item,
    Medium,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.turns.page_turns import PageFaultCall
from tests.kit.media import b64, png, wav

Json = Any

DATA = png(8, 6)
USE: Json = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
OTHER_USE: Json = {**USE, "id": "b"}
CALL, OTHER_CALL = TurnCall("a", "look", {}), TurnCall("b", "look", {})
THOUGHT: Json = {"type": "thinking", "thinking": "Hm."}
MARK: Json = {"cachePoint": {"type": "default"}}


def turns(message: Json, *, keeps: bool = True, **more: Json) -> list[ComposedTurn]:
    """Return the turns of the message with number 3."""
    entry = MessageEntry(message, 3, "/m", keeps_blocks=keeps, **more)
    return make_message_turns(entry, {}, audience="assistant", describes_blocks=keeps)


def turn(role: TurnRole, *items: Item, **more: Json) -> ComposedTurn:
    return Turn(role, items, "/m", 3, **more)


def text(words: str, pointer: str = "/content") -> TextItem:
    return TextItem(pointer, words)


def result(call_id: str, content: Json = "A cat.", **more: Json) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def answer(call_id: str, *items: Item, **more: Json) -> ComposedTurn:
    return turn("tool", *items, call_id=call_id, **more)


def test_message_is_a_turn_of_its_role() -> None:
    roles: Sequence[tuple[str, TurnRole]] = [
        ("system", "system"),
        ("developer", "system"),
        ("user", "user"),
        ("assistant", "assistant"),
        ("model", "assistant"),
        ("tool", "tool"),
        ("function", "tool"),
    ]
    assert [turns({"role": role, "content": "Hi."}) for role, _ in roles] == [
        [turn(role, text("Hi."))] for _, role in roles
    ]
    assert turns({"role": "user"}) == [turn("user")]
    assert turns({"role": "assistant", "content": None}) == [turn("assistant")]


def test_contents_of_a_message_are_read_in_order() -> None:
    message: Json = {
        "role": "user",
        "images": [b64(DATA)],
        "parts": [{"text": "B"}, "C"],
        "content": {"type": "text", "text": "A"},
    }
    picture = Medium("/images/0", InlineBytes(DATA), "image", "image/png", None, len(DATA))
    [found] = turns(message)
    assert found.items[:3] == (text("A"), text("B", "/parts/0"), text("C", "/parts/1"))
    assert [type(item) for item in found.items[3:]] == [TextItem]
    named = {**message, "images": [{"type": "image", "data": b64(DATA), "mimeType": "image/png"}]}
    assert turns(named)[0].items[3:] == (picture,)


def test_calls_of_the_assistant_come_after_its_content() -> None:
    message = {
        "role": "assistant",
        "content": [USE, {"type": "text", "text": "I look."}, OTHER_USE],
    }
    calls = (CALL, OTHER_CALL)
    assert turns(message) == [turn("assistant", text("I look.", "/content/1"), calls=calls)]
    # Calls without ids are numbered.
    blank = {"role": "assistant", "content": [{**USE, "id": ""}], "tool_calls": [{"name": "see"}]}
    assert turns(blank)[0].calls == (
        TurnCall("call_3_1", "look", {}),
        TurnCall("call_3_2", "see", {}),
    )
    # Others than the assistant make no calls.
    [user] = turns({**message, "role": "user"})
    assert (user.role, user.calls) == ("user", ())


def test_listed_call_replaces_the_same_call_in_a_block() -> None:
    listed: Json = [
        {"id": "a", "name": "look", "args": {"x": 1}},
        {"id": "c", "name": "see", "args": {}},
    ]
    message = {"role": "assistant", "content": [USE, OTHER_USE], "tool_calls": [*listed, listed[0]]}
    one = TurnCall("a", "look", {"x": 1})
    assert turns(message) == [
        turn("assistant", calls=(one, OTHER_CALL, TurnCall("c", "see", {}), one))
    ]


def test_results_follow_the_calls_of_their_message() -> None:
    text_block = {"type": "text", "text": "I see."}
    message = {
        "role": "assistant",
        "content": [
            USE,
            OTHER_USE,
            result("b"),
            text_block,
            {**USE, "id": "c"},
            result("a"),
            result("z"),
        ],
    }
    assert turns(message) == [
        turn("assistant", calls=(CALL, OTHER_CALL)),
        answer("b", text("A cat.", "/content/2")),
        answer("a", text("A cat.", "/content/5")),
        turn("assistant", text("I see.", "/content/3"), calls=(TurnCall("c", "look", {}),)),
        answer("z", text("A cat.", "/content/6")),
        # The members after the content, which is read first, would be in an own turn.
        turn("assistant"),
    ]
    assert turns({"role": "assistant", "content": [result("a")]}) == [
        answer("a", text("A cat.", "/content/0")),
        turn("assistant"),
    ]


def test_results_of_the_user_precede_its_other_content() -> None:
    text_block, note = {"type": "text", "text": "Go on."}, note_no_place("/more", "more")
    message: Json = {
        "role": "user",
        "content": [text_block, result("a", is_error=True), result("b")],
    }
    failed = answer("a", text("A cat.", "/content/1"), is_error=True)
    succeeded = answer("b", text("A cat.", "/content/2"))
    assert turns(message) == [failed, succeeded, turn("user", text("Go on.", "/content/0"))]
    # Without other content, the last result gets the notes.
    only: Json = {"role": "user", "content": [result("a"), result("b"), MARK], "more": 1}
    first, last = (text("A cat.", f"/content/{index}") for index in (0, 1))
    mark = make_cache_mark(MARK, "/content/2")
    assert turns(only) == [answer("a", first), answer("b", last, mark, note)]


def test_result_has_its_parts_and_its_structured_value_unless_a_text_has_it() -> None:
    def read(**more: Json) -> list[Item]:
        response = {"content": [{"type": "text", "text": '{"a":1}'}], **more}
        block: Json = {"functionResponse": {"id": "a", "name": "look", "response": response}}
        block["functionResponse"]["parts"] = [{"type": "text", "text": "B"}]
        [found] = turns({"role": "user", "content": [block]})
        assert (found.call_id, found.tool_name) == ("a", "look")
        return [*found.items]

    place = "/content/0"
    both = [text('{"a":1}', place), text("B", place)]
    assert read() == read(structuredContent={"a": 1}) == both
    assert read(structuredContent={"b": 2}) == [*both, DataItem(place, {"b": 2})]
    assert read(_display="x") == [
        *both,
        note_no_place(f"{place}/functionResponse/response/_display", "_display"),
    ]
    assert turns({"role": "user", "content": [result("a", "")]}) == [answer("a")]


def test_tool_message_is_the_result_of_its_call() -> None:
    item = text("A cat.")
    rows: Sequence[tuple[Json, list[ComposedTurn]]] = [
        ({"tool_call_id": "a"}, [answer("a", item)]),
        ({"tool_call_id": "a", "name": "look"}, [answer("a", item, tool_name="look")]),
        ({"name": ["look"]}, [answer("", item, note_no_place("/name", "name"))]),
        ({}, [answer("", item)]),
        ({"tool_call_id": "a", "is_error": True}, [answer("a", item, is_error=True)]),
        ({"tool_call_id": "a", "status": "error"}, [answer("a", item, is_error=True)]),
        # With results in blocks, its own content is the user's.
        (
            {"content": [result("b"), {"type": "text", "text": "Hm."}]},
            [answer("b", text("A cat.", "/content/0")), turn("user", text("Hm.", "/content/1"))],
        ),
        (
            {"content": [result("b"), {"type": "text", "text": "Hm."}], "tool_call_id": "a"},
            [answer("b", text("A cat.", "/content/0")), answer("a", text("Hm.", "/content/1"))],
        ),
    ]
    assert [turns({"role": "tool", "content": "A cat.", **more}) for more, _ in rows] == [
        found for _, found in rows
    ]


def test_result_of_a_page_fault_has_its_call_and_one_item() -> None:
    fault = PageFaultCall("p", 2, "image/webp")
    content: Json = [
        {"type": "text", "text": "A page."},
        {"type": "image_url", "image_url": {"url": "https://a.example/b"}},
    ]
    message: Json = {"role": "tool", "tool_call_id": "a", "content": content}
    [found] = turns(message, is_page_fault=True, page_fault=fault)
    [item] = found.items
    assert isinstance(item, Medium)
    assert (item.source, item.mime_type, item.before) == (
        *(Address("https://a.example/b"), "image/webp", "A page."),
    )
    called = fault.make_turn_call("a")
    assert replace(found, items=()) == answer("a", tool_name="page_fault", recorded_call=called)
    [unnamed] = turns({**message, "tool_call_id": None}, is_page_fault=True, page_fault=fault)
    assert (unnamed.call_id, unnamed.recorded_call) == ("", fault.make_turn_call("call"))
    [old] = turns({**message, "name": "look"}, is_page_fault=True)
    assert (old.tool_name, old.recorded_call, len(old.items)) == ("look", None, 1)
    [other] = turns(message)
    assert (other.tool_name, other.recorded_call, len(other.items)) == ("", None, 2)


def test_thoughts_and_cache_marks_are_kept_or_noted() -> None:
    blocks: Json = [THOUGHT, MARK, {}, {"type": "text", "text": "A"}]
    message = {"role": "assistant", "content": blocks, "reasoning": "Hm.", "thinking": 7}
    item = text("A", "/content/3")
    kept = [
        make_thought_block(THOUGHT, "/content/0"),
        make_cache_mark(MARK, "/content/1"),
        item,
        make_thought_member("reasoning", "Hm.", "/reasoning"),
        make_thought_member("thinking", 7, "/thinking"),
    ]
    notes = [note_reasoning(place) for place in ("/content/0", "/reasoning", "/thinking")]
    assert [[*found.items] for found in turns(message)] == [kept]
    assert turns(message, keeps=False) == [turn("assistant", notes[0], item, *notes[1:])]


def test_signature_of_a_call_is_kept_and_its_member_is_a_loss_only_elsewhere() -> None:
    signed = {**USE, "extra_content": {"google": {"thought_signature": "c2ln"}}, "more": 1}
    listed = {"id": "b", "name": "look", "args": {"x": 1}, "providerOptions": {"x": 1}}
    message = {"role": "assistant", "content": [signed], "tool_calls": [listed]}
    note = note_no_place("/content/0/extra_content", "extra_content")
    others = [
        note_no_place("/content/0/more", "more"),
        note_no_place("/tool_calls/0/providerOptions", "providerOptions"),
    ]
    kept_by = frozenset({"gemini", "openai-compat"})
    second = TurnCall("b", "look", {"x": 1})
    assert turns(message) == [
        turn(
            "assistant",
            *(replace(note, kept_by=kept_by), *others),
            calls=(replace(CALL, thought_signature="c2ln"), second),
        )
    ]
    assert turns(message, keeps=False) == [turn("assistant", note, *others, calls=(CALL, second))]


def test_approval_is_a_note_and_a_denial_the_result_of_its_call() -> None:
    request: Json = {"type": "tool-approval-request", "approvalId": "r", "toolCallId": "b"}
    note = note_no_place("/content/2", "tool-approval-request")
    message = {"role": "assistant", "content": [USE, OTHER_USE, request]}
    calls = (CALL, replace(OTHER_CALL, approval_id="r"))
    assert turns(message) == [turn("assistant", note, calls=calls)]
    assert turns(message, keeps=False) == [turn("assistant", note, calls=(CALL, OTHER_CALL))]

    response: Json = {"type": "tool-approval-response", "approvalId": "r"}
    denied, allowed = {**response, "approved": False}, {**response, "approved": True}
    place = "/content/0"
    note = note_no_place(place, "tool-approval-response")
    words = text("[The user denied this call.]", place)
    rows: Sequence[tuple[Json, str, ComposedTurn]] = [
        (denied, "tool", answer("", words, is_error=True, approval_id="r")),
        (denied, "user", answer("", words, is_error=True, approval_id="r")),
        (allowed, "tool", answer("", note, approval_id="r")),
        (denied, "assistant", turn("assistant", note)),
        ({"type": "tool-approval-response"}, "user", turn("user", note)),
    ]
    found = [turns({"role": role, "content": [block]}) for block, role, _ in rows]
    assert found == [[expected] for *_, expected in rows]
    assert turns({"role": "tool", "content": [denied]}, keeps=False) == [answer("", note)]


def test_members_of_other_types_than_expected_are_noted() -> None:
    wrong: Json = {
        "refusal": 7,
        "audio": "x",
        "function_call": "y",
        "tool_calls": [USE, 7],
        "name": "z",
    }
    notes = {name: note_no_place(f"/{name}", name) for name in wrong}
    user = turns({"role": "user", "content": "A", **wrong})
    assert user == [turn("user", text("A"), *notes.values())]
    assistant = turns({"role": "assistant", "content": "A", **wrong})
    assert assistant == [turn("assistant", text("A"), *notes.values(), calls=(CALL,))]
    right: Json = {"refusal": "No.", "tool_calls": [USE], "function_call": {"name": "see"}}
    assert turns({"role": "assistant", **right}) == [
        turn("assistant", text("No.", "/refusal"), calls=(CALL, TurnCall("call_3_2", "see", {})))
    ]
    assert turns({"role": "user", **right, "refusal": ""}) == [
        turn("user", *(note_no_place(f"/{name}", name) for name in ("tool_calls", "function_call")))
    ]


def test_audio_beside_the_content_has_its_words() -> None:
    sound = wav(0.005)
    words = AlternativeText("transcript", "Hm.")
    medium = Medium("/audio", InlineBytes(sound), "audio", "audio/wav", None, len(sound))
    rows: Sequence[tuple[Json, list[Item]]] = [
        ({"data": b64(sound), "transcript": "Hm."}, [replace(medium, words=words)]),
        ({"data": b64(sound), "id": "x", "expires_at": 9}, [medium]),
        ({"transcript": "Hm."}, [text("Hm.", "/audio")]),
        ({"id": "x"}, [note_no_place("/audio", "audio")]),
        (
            {"transcript": 7, "data": 8, "b": 9},
            [
                *(note_no_place(f"/audio/{name}", name) for name in ("transcript", "data", "b")),
                note_no_place("/audio", "audio"),
            ],
        ),
    ]
    assert [turns({"role": "assistant", "audio": audio}) for audio, _ in rows] == [
        [turn("assistant", *items)] for _, items in rows
    ]


def test_mark_for_the_cache_may_have_null_members() -> None:
    marks: Sequence[Json] = [MARK, {"cachePoint": None}, {}, {**MARK, "text": None}]
    others: Sequence[Json] = [{"text": None}, {**MARK, "text": "A"}, "cachePoint", None, [MARK]]
    assert [is_cache_block(block) for block in marks] == [True] * len(marks)
    assert [is_cache_block(block) for block in others] == [False] * len(others)
