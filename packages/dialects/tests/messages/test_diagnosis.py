"""All faults of a history, in the order of its messages, with pointers into it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pagefault_dialects import render
from pagefault_dialects.dialects.foreign_message import Dialect, ForeignMessage
from pagefault_dialects.messages.diagnosis import (
    diagnose,
    has_target_form,
    make_entry_pointer,
    remove_sent_messages,
)
from pagefault_dialects.messages.histories import find_body_dialect, list_sent_messages
from pagefault_dialects.messages.reading import ReadHistory, pair_turns, read_messages
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.targets.rules import make_finding as fault
from pagefault_dialects.targets.table import TARGETS
from tests.kit.media import b64, png

Json = Any

USER: Json = {"role": "user", "content": "Look."}


def find(body: Json, target: str | None = None) -> list[Finding]:
    """Return the findings of a history that is for a target, by default of its own dialect."""
    history = read_messages(body, closes=True)
    dialect = find_body_dialect(body, history.messages)
    target = target or dialect or "openai-chat"
    loss = render(history.turns, target).loss
    return diagnose(history, TARGETS[target], loss, dialect, sent=list_sent_messages(body))


def call(*ids: str, content: Json = None, arguments: str = "{}") -> Json:
    function = {"name": "look", "arguments": arguments}
    calls = [{"id": call_id, "type": "function", "function": function} for call_id in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def answer(call_id: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": "A cat."}


def use(call_id: str) -> Json:
    block = {"type": "tool_use", "id": call_id, "name": "look", "input": {}}
    return {"role": "assistant", "content": [block]}


def result(call_id: str) -> Json:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": "A cat."}
    return {"role": "user", "content": [block]}


def reply(text: str) -> Json:
    return {"role": "assistant", "content": text}


def content(role: str, *parts: Json) -> Json:
    return {"role": role, "parts": [*parts]}


def anthropic(*messages: Json) -> Json:
    return {"system": "Be kind.", "max_tokens": 9, "messages": [*messages]}


def test_findings_are_in_the_order_of_messages_and_point_into_the_history() -> None:
    messages = [
        USER,
        call("a b", arguments="{"),
        answer("a b"),
        None,
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": 7}]},
        answer("c"),
    ]
    bad_id = {"limit": "up to 40 of A-Za-z0-9_.:-", "actual": "a b", "call_id": "a b"}
    assert find({"messages": messages}) == [
        fault("bad-id", "/messages/1", **bad_id),  # type: ignore[arg-type]
        fault(
            "bad-arguments",
            "/messages/1/tool_calls/0/function/arguments",
            actual="{",
            call_id="a b",
        ),
        fault("not-a-message", "/messages/3"),
        fault("empty-content", "/messages/4/content/0", actual=""),
        fault("no-type", "/messages/4/content/1/type", actual="7"),
        fault("no-call", "/messages/5", call_id="c"),
    ]


def test_finding_about_the_history_as_a_whole_is_first() -> None:
    history = read_messages([USER, None])
    whole = LossEntry(
        pointer="", from_="history", to="nothing", code="request-too-large", reason="", restore=""
    )
    of_entry = whole.model_copy(update={"seq": 1})
    assert diagnose(history, TARGETS["openai-chat"], [of_entry, whole], None) == [
        fault("request-too-large", ""),
        fault("request-too-large", "/0"),
        fault("not-a-message", "/1"),
    ]


def test_calls_with_common_results_are_split_if_they_are_in_several_messages() -> None:
    rows: Sequence[tuple[Json, list[str]]] = [
        ([USER, call("a"), call("b"), answer("a"), answer("b")], ["/2"]),
        (
            [USER, call("a"), call("b"), call("c"), answer("a"), answer("b"), answer("c")],
            ["/2", "/3"],
        ),
        ([USER, call("a"), answer("a"), call("b"), answer("b")], []),
        ([USER, reply("Hm."), call("a"), answer("a")], []),
        (anthropic(USER, use("a"), use("b"), result("a"), result("b")), ["/messages/2"]),
        # Items of OpenAI's Responses are no messages of their own.
        (
            [
                USER,
                *(
                    {"type": "function_call", "call_id": name, "name": "look", "arguments": "{}"}
                    for name in "ab"
                ),
                *(
                    {"type": "function_call_output", "call_id": name, "output": "."}
                    for name in "ab"
                ),
            ],
            [],
        ),
    ]
    found = [[item for item in find(body) if item.rule == "split-calls"] for body, _ in rows]
    assert found == [[fault("split-calls", pointer) for pointer in row] for _, row in rows]


def test_white_space_at_the_end_of_the_last_reply_is_a_fault_for_anthropic() -> None:
    space = "trailing-space"
    end = " \n" * 60
    blocks: Json = [{"type": "text", "text": "A cat. "}, {"type": "text", "text": "Two.\n"}]
    rows: Sequence[tuple[Json, list[Finding]]] = [
        (
            anthropic(USER, reply("A cat is \n")),
            [fault(space, "/messages/1/content", actual='" \\n"')],
        ),
        (
            anthropic(USER, reply(f"A cat is{end}")),
            [fault(space, "/messages/1/content", actual='"' + r" \n" * 26 + "…")],
        ),
        (
            anthropic(USER, {"role": "assistant", "content": blocks}),
            [fault(space, "/messages/1/content/1", actual='"\\n"')],
        ),
        (anthropic(USER, reply("  A cat is")), []),
        (anthropic(USER, reply("A cat. "), USER), []),
        (anthropic(USER, {"role": "user", "content": "Look. "}), []),
        (anthropic({"role": "user", "content": "Look. "}, use("t1"), result("t1")), []),
        ({"messages": [USER, reply("A cat is ")]}, []),
        (anthropic(), []),
    ]
    assert [find(body) for body, _ in rows] == [found for _, found in rows]
    # Neither blank replies nor calls are white space at the end.
    blank = find(anthropic(USER, reply(" ")))
    assert [finding.rule for finding in blank] == ["empty-content"]
    both = {"role": "assistant", "content": [blocks[0], use("t1")["content"][0]]}
    assert [finding.rule for finding in find(anthropic(USER, both))] == ["no-answer"]


def test_rules_of_a_dialect_are_checked_only_for_targets_of_the_same_dialect() -> None:
    body = anthropic(USER, use("a"), result("a"), reply("A cat. "))
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64(png())}"}}
    chat = [USER, call("a"), {**answer("a"), "content": [image]}]
    assert [item.rule for item in find(body)] == ["trailing-space"]
    assert find(body, "gemini") == find(body, "openai-chat") == []
    assert [item.rule for item in find(chat)] == ["media-in-result"]
    assert find(chat, "anthropic") == []
    # A history that could be of any dialect is one of OpenAI's Chat Completions.
    assert find([USER, {"role": "assistant", "content": ""}, USER], "openai-chat") == [
        fault("empty-content", "/1/content", actual="")
    ]


def test_picture_that_a_model_made_is_no_fault_where_its_provider_accepts_it() -> None:
    history = read_messages([USER, USER])
    # An item of OpenAI's Responses is a whole message.
    item, block = "/1", "/1/content/0"
    places = [("no-media-here", item), ("no-media-here", block), ("evicted", item)]
    loss = [
        LossEntry(
            seq=2, pointer=place, from_="original", to="nothing", code=code, reason="", restore=""
        )
        for code, place in places
    ]
    rows: Sequence[tuple[str, Dialect, list[tuple[str, str]]]] = [
        ("gemini", "gemini", places[2:]),
        ("openai-responses", "openai-responses", places[1:]),
        ("anthropic", "anthropic", places),
        ("anthropic", "gemini", places),
        ("anthropic", "openai-responses", places),
    ]
    found = [diagnose(history, TARGETS[target], loss, dialect) for target, dialect, _ in rows]
    assert found == [[fault(code, place) for code, place in row] for *_, row in rows]


def test_order_of_messages_is_checked_in_the_form_of_the_target() -> None:
    unsigned = content("model", {"functionCall": {"name": "look", "args": {}}})
    response = {"functionResponse": {"name": "look", "response": {"result": "A cat."}}}
    contents = [content("user", {"text": "Look."}), unsigned, content("user", response)]
    body = {"contents": contents, "systemInstruction": "Be kind."}
    found = [fault("unsigned-call", "/contents/1/parts/0")]
    history = read_messages(body, closes=True)
    profile = TARGETS["gemini"]

    def examine(sent: Sequence[Json], read: ReadHistory = history) -> list[Finding]:
        return diagnose(read, profile, (), "gemini", sent=sent)

    assert examine(contents) == find(body) == found
    # The messages that were sent are not those of the history.
    assert [examine(()), examine(contents[1:])] == [[], []]
    assert find(body, "openai-chat") == []
    in_file = [replace(message, has_request_form=False) for message in history.messages]
    assert examine(contents, replace(history, messages=in_file)) == []
    # Other faults of the order are in the loss account.
    first = {"contents": [content("model", {"text": "Hi."})]}
    assert find(first) == [fault("no-beginning", "/contents/0")]


def test_history_has_the_form_of_a_target_if_all_its_messages_are_requests_of_its_dialect() -> None:
    message = ForeignMessage("", {"role": "user"})
    requests = ReadHistory([message, message], ())
    file = ReadHistory([message, replace(message, has_request_form=False)], ())
    prompted = ReadHistory([replace(message, is_system_prompt=True), message], ())
    rows: Sequence[tuple[ReadHistory, str, Dialect | None, bool]] = [
        (prompted, "anthropic", "anthropic", True),
        (prompted, "openai-responses", "openai-responses", True),
        (prompted, "openai-chat", "openai-chat", False),
        (prompted, "openai-chat", None, False),
        (requests, "gemini", "gemini", True),
        (requests, "gemini", "bedrock", False),
        (requests, "openai-chat", None, True),
        (requests, "gemini", None, False),
        (file, "gemini", "gemini", False),
        (file, "openai-chat", None, False),
    ]
    assert [has_target_form(history, target, dialect) for history, target, dialect, _ in rows] == [
        expected for *_, expected in rows
    ]


def test_turns_without_their_sent_messages_are_the_same_otherwise() -> None:
    turns = read_messages([USER, call("a"), answer("a")]).turns
    assert all(turn.native_messages for turn in turns)
    removed = remove_sent_messages(turns)
    assert removed == [*turns]
    assert [turn.native_messages for turn in removed] == [()] * 3


def test_findings_of_a_session_have_the_number_of_the_entry_and_a_pointer_into_it() -> None:
    # Entry 3 is a message inside of an object, and entry 4 is no message.
    sent = [USER, call("a", arguments="{"), call("b"), None, answer("a"), answer("b"), answer("c")]
    in_list = read_messages(sent)
    pointers = ["", None, "/message", "", "", "", ""]
    messages = [
        replace(message, pointer=f"{make_entry_pointer(seq)}{pointer or ''}")
        for seq, (message, pointer) in enumerate(zip(in_list.messages, pointers, strict=True), 1)
    ]
    turns = [replace(turn, origin=f"/api/{turn.seq}") for turn in in_list.recorded]
    history = pair_turns(messages, turns, closes_calls=True)
    loss = render(history.turns, "openai-chat").loss
    found = diagnose(history, TARGETS["openai-chat"], loss, "openai-chat", is_session=True)
    assert found == [
        fault(
            "bad-arguments",
            "/tool_calls/0/function/arguments",
            actual="{",
            call_id="a",
            seq=2,
        ),
        fault("split-calls", "", seq=3),
        fault("no-call", "", seq=7, call_id="c"),
    ]
