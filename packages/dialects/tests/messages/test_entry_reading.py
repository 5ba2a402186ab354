"""Single messages, read as they arrive in a session, and again from the store."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.messages.entry_reading import (
    READER_VERSION,
    EntryReading,
    EntryRole,
    count_failed_results,
    find_entry_calls,
    has_only_results,
    is_flat,
    join_turns,
    make_reading,
    read_entry,
    read_entry_turns,
    read_stored,
    read_turns,
)
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    NativeMessage,
    ProviderBlock,
    TextItem,
    Turn,
    TurnCall,
)
from pagefault_dialects.model.render_options import Audience

Json = dict[str, Any]
Value = Any

CALL: Json = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "look",
    "arguments": "{}",
}
ANSWER: Json = {"type": "function_call_output", "call_id": "call_1", "output": "a cat"}


def turns(message: Json) -> list[ComposedTurn]:
    """Return the turns of a message."""
    return read_entry_turns(
        read_entry(message),
        1,
        "",
        {},
        audience="assistant",
        moved_media_ids=frozenset(),
        finds_media=True,
    )


# A dump of a block with all of its members.
NULLS: Json = dict.fromkeys(
    ("text", "image", "document", "toolUse", "toolResult", "reasoningContent", "cachePoint")
)


@pytest.mark.parametrize(
    ("block", "texts"),
    [
        ({"text": "It snows."}, ["It snows."]),
        (
            {"document": {"name": "log", "source": {"text": None, "content": [{"text": "Snow."}]}}},
            ["[document: log]", "Snow."],
        ),
        ({"cachePoint": {"type": "default"}}, []),
        ({"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "UkVB"}}}, []),
    ],
)
def test_members_of_bedrock_that_are_null_are_absent(block: Json, texts: list[str]) -> None:
    message = {"role": "assistant", "content": [{**NULLS, **block}]}
    (turn,) = turns(message)
    assert [item.text for item in turn.items if isinstance(item, TextItem)] == texts


RESULT: Json = {"toolResult": {"toolUseId": "t", "content": [{"text": "It snows."}]}}
CACHED: Json = {"cachePoint": {"type": "default"}}


@pytest.mark.parametrize(
    ("message", "dialect", "role"),
    [
        ({"role": "user", "content": "hi"}, "openai-chat", "user"),
        ({"role": "developer", "content": "hi"}, "openai-chat", "system"),
        (CALL, "openai-responses", "assistant"),
        (ANSWER, "openai-responses", "tool"),
        (
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": ""}],
            },
            "anthropic",
            "tool",
        ),
        ({"role": "user", "content": [CACHED, {"text": "hi"}]}, "bedrock", "user"),
        ({"role": "user", "content": [RESULT, CACHED]}, "bedrock", "tool"),
        ({"role": "model", "parts": [{"text": "hi"}]}, "gemini", "assistant"),
    ],
)
def test_message_has_a_dialect_and_a_role(message: Json, dialect: str, role: str) -> None:
    read = read_entry(message)
    assert (read.dialect, read.role) == (dialect, role)


def test_stored_message_is_read_as_when_it_arrived() -> None:
    read = read_entry(CALL)
    assert read_stored(CALL, read.dialect, READER_VERSION) == read


@pytest.mark.parametrize(
    ("message", "pointer"),
    [
        ({"rows": 3}, ""),
        ({"role": "narrator", "content": "hi"}, "/role"),
        ({"role": "user", "rows": 3}, ""),
    ],
)
def test_message_of_no_dialect_is_refused(message: Json, pointer: str) -> None:
    with pytest.raises(InvalidPayloadError) as caught:
        read_entry(message)
    assert [fault.pointer for fault in caught.value.faults] == [pointer]


def test_turns_point_into_the_message_as_it_was_sent() -> None:
    assert turns(CALL) == [
        Turn(role="assistant", items=(), seq=1, calls=(TurnCall("call_1", "look", {}),))
    ]
    assert turns(ANSWER) == [
        Turn(role="tool", items=(TextItem("", "a cat"),), seq=1, call_id="call_1")
    ]


def test_items_of_one_turn_are_joined_if_their_dialect_does_so() -> None:
    split = [turns(CALL)[0], turns({**CALL, "call_id": "call_2"})[0]]
    both: ComposedTurn = Turn(
        role="assistant", items=(), seq=1, calls=split[0].calls + split[1].calls
    )
    assert join_turns((turn, True) for turn in split) == [both]
    assert join_turns((turn, False) for turn in split) == split
    assert join_turns(((turn, False) for turn in split), joins_calls=True) == [both]


def test_only_the_members_of_the_specification_are_flat() -> None:
    assert is_flat({"role": "user", "content": "hi", "name": "a"})
    assert not is_flat({"role": "user", "content": "hi", "id": "m1"})


def test_stored_block_of_one_provider_is_described_in_words() -> None:
    found = {"type": "web_search_result", "url": "https://a.example", "encrypted_content": "x"}
    block = {"type": "web_search_tool_result", "tool_use_id": "s_1", "content": [found]}
    message = {"role": "assistant", "content": [block, {"type": "text", "text": "Snow."}]}
    read = read_stored(message, "anthropic", READER_VERSION)
    stored = read_entry_turns(read, 1, "", {}, audience="assistant", moved_media_ids=frozenset())
    assert stored == turns(message)
    [kept, description] = stored[0].items
    assert isinstance(kept, ProviderBlock)
    assert (kept.words, kept.forms) == ("https://a.example", {"anthropic": block})
    assert isinstance(description, TextItem)
    assert description.text == "Snow."


@pytest.mark.parametrize(
    "document",
    [
        {"type": "text", "media_type": "text/plain", "data": "Four degrees."},
        {"type": "content", "content": "Four degrees."},
        {"type": "content", "content": [{"type": "text", "text": "Four degrees."}]},
    ],
)
def test_document_of_text_follows_its_title_and_context(document: Json) -> None:
    block = {"type": "document", "source": document, "title": "Weather", "context": "Of May."}
    document_turns = turns({"role": "user", "content": [block]})
    assert [item.text for item in document_turns[0].items if isinstance(item, TextItem)] == [
        "[document: Weather]",
        "Of May.",
        "Four degrees.",
    ]
    answer = {"type": "tool_result", "tool_use_id": "t_1", "content": [block]}
    assert turns({"role": "user", "content": [answer]})[0].items == tuple(
        TextItem("/content/0", item.text)
        for item in document_turns[0].items
        if isinstance(item, TextItem)
    )


def test_embedded_text_of_a_message_keeps_its_address() -> None:
    resource = {"uri": "file:///srv/prod/app.env", "mimeType": "text/plain", "text": "A=1"}
    message = {"role": "user", "content": {"type": "resource", "resource": resource}}
    (item,) = turns(message)[0].items
    assert isinstance(item, TextItem)
    assert (item.text, item.label and item.label.uri) == ("A=1", resource["uri"])


TEXT: Json = {"type": "text", "text": "Hi."}
ANTHROPIC_RESULT: Json = {"type": "tool_result", "tool_use_id": "t", "content": "A cat."}


def message(role: str = "user", **members: Value) -> ForeignMessage:
    return ForeignMessage("/m", {"role": role, **members})


def test_faults_of_a_value_that_is_no_message_have_their_places_and_sentences() -> None:
    def find_faults(*messages: ForeignMessage, sent: Value = None) -> Sequence[Fault]:
        try:
            make_reading(messages, "/all", sent=sent)
        except InvalidPayloadError as exc:
            details.add(exc.detail)
            return exc.faults
        return ()

    details: set[str] = set()
    none = ForeignMessage("/m", None)
    content = message(content="Hi.")
    nothing = "has no content, parts or calls"
    odd = message(rows=3)
    contents: list[Value] = ["Hi.", "", None, [], {"type": "text"}]
    rows: list[tuple[Sequence[Fault], list[Fault]]] = [
        (find_faults(), [Fault("/all", "holds nothing that is said")]),
        (find_faults(none), [Fault("/m", "is no message")]),
        (
            find_faults(none, sent={"content": None}),
            [
                Fault(
                    "/m",
                    "has content, but no member that shows whose it is: dump it with all its "
                    "members",
                )
            ],
        ),
        (
            find_faults(replace(content, unknown_role="critic"), none),
            [Fault("/m/role", "is the role of no dialect"), Fault("/m", "is no message")],
        ),
        (
            find_faults(message(content=7)),
            [Fault("/m/content", "is no text, block or list of blocks")],
        ),
        *((find_faults(message(content=value)), []) for value in contents),
        (find_faults(odd), [Fault("/m", nothing)]),
        (find_faults(odd, sent={"content": ""}), []),
        (find_faults(odd, sent="content"), [Fault("/m", nothing)]),
        (find_faults(message()), []),
        (find_faults(message(name="a", tool_call_id="c")), []),
        *(
            (find_faults(ForeignMessage("/m", {"role": "user", name: None, "rows": 3})), [])
            for name in (
                *("content", "parts", "images", "tool_calls", "function_call", "refusal"),
                *("audio", "reasoning", "reasoning_content", "reasoning_details", "thinking"),
            )
        ),
    ]
    assert [[*found] for found, _ in rows] == [expected for _, expected in rows]
    assert details == {
        "This is no message of any dialect that is read; `errors` says where. Send the message as "
        "its SDK or its provider writes it."
    }


def test_entry_has_the_first_role_of_its_messages_that_is_not_the_systems() -> None:
    results = message(content=[ANTHROPIC_RESULT])
    system, user, model = (message(role, content="Hi.") for role in ("system", "user", "model"))
    named = replace(user, dialect_name="vercel")
    rows: list[tuple[list[ForeignMessage], EntryRole, str]] = [
        ([user], "user", "openai-chat"),
        ([system], "system", "openai-chat"),
        ([message("developer", content="Hi.")], "system", "openai-chat"),
        ([system, model, user], "assistant", "openai-chat"),
        ([results, user, model], "user", "openai-chat"),
        (
            [results, message("tool", content="x"), message("function", content="x")],
            "tool",
            "openai-chat",
        ),
        ([results, system], "system", "openai-chat"),
        ([user, named, replace(user, dialect_name="adk")], "user", "vercel"),
    ]
    assert [make_reading(messages) for messages, *_ in rows] == [
        EntryReading(dialect, role, tuple(messages)) for messages, role, dialect in rows
    ]
    continued = replace(user, continues_turn=True)
    assert [
        make_reading([one, other]).continues_turn
        for one, other in ((user, continued), (continued, user))
    ] == [False, True]


def test_message_has_only_results_if_all_its_blocks_are_results() -> None:
    only: list[Json] = [
        {"role": "tool", "content": "x"},
        {"role": "function"},
        {"role": "user", "content": [ANTHROPIC_RESULT, RESULT]},
        {"role": "user", "parts": [RESULT]},
        {"role": "user", "content": "", "parts": [RESULT, CACHED]},
    ]
    others: list[Json] = [
        {"role": "user", "content": "x"},
        {"role": "user", "content": []},
        {"role": "user", "content": [CACHED]},
        {"role": "user", "content": [ANTHROPIC_RESULT, TEXT]},
        {"role": "user", "content": "x", "parts": [RESULT]},
        {"role": "user", "content": [RESULT], "parts": [TEXT]},
        {"role": "user", "content": RESULT},
    ]
    assert [has_only_results(item) for item in (*only, *others)] == [
        *[True] * len(only),
        *[False] * len(others),
    ]


def test_failed_results_of_a_message_are_counted() -> None:
    failed: Json = {**ANTHROPIC_RESULT, "is_error": True}
    denied: Json = {"type": "tool-approval-response", "approvalId": "a", "approved": False}
    allowed: Json = {**denied, "approved": True}
    rows: list[tuple[list[ForeignMessage], int]] = [
        ([message(content=[failed, ANTHROPIC_RESULT, failed, "x"], parts=[failed])], 3),
        ([message(content=failed), message(content=failed)], 2),
        ([message("tool", content="x", is_error=True)], 1),
        ([message("function", content="x", status="error")], 1),
        ([message("tool", content="x")], 0),
        ([message("user", content="x", is_error=True)], 0),
        ([message("tool", content=[ANTHROPIC_RESULT], is_error=True)], 0),
        ([message("tool", content=[denied, allowed])], 1),
        ([message("assistant", content=[denied, failed])], 1),
        ([ForeignMessage("", None), message(content=[failed])], 1),
    ]
    counts = [
        count_failed_results(EntryReading("anthropic", "user", tuple(messages)))
        for messages, _ in rows
    ]
    assert counts == [count for _, count in rows]


def test_turns_of_an_entry_are_for_an_audience() -> None:
    private: Json = {**TEXT, "annotations": {"audience": ["user"]}}
    entry = read_entry({"role": "user", "content": [private]})
    audiences: Sequence[Audience] = ("user", "everyone")
    found = [
        read_entry_turns(entry, 1, "", {}, audience=audience, moved_media_ids=frozenset())[0]
        for audience in audiences
    ]
    assert [turn.items for turn in found] == [(TextItem("/content/0", "Hi."),)] * 2


def test_block_of_one_provider_in_a_result_has_its_common_form() -> None:
    block: Json = {"type": "search", "title": "T"}
    sent = {**ANTHROPIC_RESULT, "content": [TEXT, block]}
    [turn] = turns({"role": "user", "content": [sent]})
    [_, item] = turn.items
    assert isinstance(item, ProviderBlock)
    assert (item.pointer, item.forms) == ("/content/0", {"anthropic": block})


def test_calls_of_a_message_are_found() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    entry = read_entry({"role": "assistant", "content": None, "tool_calls": [call, call]})
    assert [*find_entry_calls(entry)] == [TurnCall("c", "look", {})] * 2


def test_turns_have_the_sent_message_and_pointers_into_it() -> None:
    sent: Json = {"role": "assistant", "content": [{**ANTHROPIC_RESULT, "tool_use_id": "c"}, TEXT]}
    foreign = ForeignMessage(
        "/m", sent, original_pointers={"/content/0": "/a", "/content/1": "/b"}, sent=sent
    )
    answer: ComposedTurn = Turn("tool", (TextItem("/m/a", "A cat."),), "/origin", 4, call_id="c")
    reply: ComposedTurn = Turn("assistant", (TextItem("/m/b", "Hi."),), "/origin", 4)
    found = read_turns(foreign, 4, "/origin")
    assert found == [answer, reply]
    native = NativeMessage(None, sent, (answer, reply))
    assert [turn.native_messages for turn in found] == [(native,), (native,)]
    # A message with only results has no turn of its own, but an empty message has one.
    results = ForeignMessage("", {"role": "assistant", "content": [ANTHROPIC_RESULT]})
    assert [turn.role for turn in read_turns(results, 1)] == ["tool"]
    assert read_turns(ForeignMessage("", {"role": "assistant"}), 1) == [
        Turn("assistant", (), seq=1)
    ]
    unsent = read_turns(replace(foreign, sent=None), 4, "/origin")
    assert [turn.native_messages for turn in unsent] == [(), ()]


def test_joined_turn_has_all_items_and_calls_with_the_numbers_of_their_entries() -> None:
    def make_turn(
        seq: int, dialect: str = "openai-responses", *, role: Value = "assistant"
    ) -> ComposedTurn:
        call = TurnCall(f"c{seq}", "look", {})
        native = NativeMessage(dialect, {"seq": seq}, ())
        item = TextItem("/content", f"{seq}")
        calls = (call,) if role == "assistant" else ()
        return Turn(role, (item,), seq=seq, calls=calls, native_messages=(native,))

    def join(*turns: tuple[ComposedTurn, bool], joins_calls: bool = False) -> list[ComposedTurn]:
        return join_turns(turns, joins_calls=joins_calls)

    one, two = make_turn(1), make_turn(2)
    [joined] = join((one, False), (two, True))
    assert (joined.seq, joined.native_messages) == (1, one.native_messages + two.native_messages)
    assert [(item.text, item.seq) for item in joined.items if isinstance(item, TextItem)] == [
        ("1", None),
        ("2", 2),
    ]
    assert [(call.call_id, call.entry_position) for call in joined.calls] == [
        ("c1", (1, 0)),
        ("c2", (2, 0)),
    ]
    # In other dialects, no single message is that of the joined turn.
    [mixed] = join((one, False), (make_turn(2, "anthropic"), True))
    assert mixed.native_messages == ()
    # Parts of one entry have no numbers of their own.
    [same] = join((one, False), (replace(one, calls=()), True))
    assert [call.entry_position for call in same.calls] == [None]
    user, plain = make_turn(3, role="user"), replace(make_turn(4), calls=())
    assert join((one, False), (user, True), (two, True)) == [one, user, two]
    assert join((user, False), (replace(user, seq=4), True)) == [user, replace(user, seq=4)]
    assert join((one, False), (plain, False), joins_calls=True) == [one, plain]
    assert join((plain, False), (one, False), joins_calls=True) == [plain, one]
    [three] = join((one, False), (plain, True), (two, False), joins_calls=True)
    assert [call.call_id for call in three.calls] == ["c1", "c2"]
    assert join() == []


def test_stored_message_is_read_at_its_pointer_and_in_its_dialect() -> None:
    sent: Json = {"role": "user", "content": "Hi."}
    [read] = read_stored(sent, "gemini", READER_VERSION, "/message").messages
    assert (read.pointer, read_stored(sent, "gemini", READER_VERSION).dialect) == (
        "/message",
        "gemini",
    )


def test_single_block_is_not_flat() -> None:
    assert is_flat({"role": "user", "content": [TEXT], "tool_calls": [], "tool_call_id": "c"})
    assert is_flat({"role": "user", "content": {"rows": 3}})
    assert not is_flat({"role": "user", "content": TEXT})
