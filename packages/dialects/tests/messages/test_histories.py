"""The messages of a history in a body: where they are, their system prompts and their dialect."""

from collections.abc import Sequence
from typing import Any

from pagefault_dialects.dialects.foreign_message import Dialect, ForeignMessage
from pagefault_dialects.messages.histories import (
    find_body_dialect,
    find_list_name,
    find_main_dialect,
    find_messages,
    list_sent_messages,
    merge_config,
    read_history_messages,
)

Json = Any

USER: Json = {"role": "user", "content": "Hi."}
REPLY: Json = {"role": "assistant", "content": "Hello."}
CONTENT: Json = {"role": "user", "parts": [{"text": "Hi."}]}
# Two forms of bodies without a list under one of the names: a list of a form, and an object.
RPC: Json = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "sampling/createMessage",
    "params": {"messages": [USER], "systemPrompt": "Be brief."},
}
CHOICES: Json = {"choices": [{"index": 0, "message": REPLY}]}


def test_list_is_the_first_member_with_a_list_or_a_text() -> None:
    names = {
        "messages": {"messages": [], "input": [], "contents": [], "history": []},
        "input": {"messages": {}, "input": "Hi.", "contents": {}, "history": []},
        "contents": {"contents": [], "history": ""},
        "history": {"history": []},
    }
    assert {name: find_list_name(body) for name, body in names.items()} == {
        name: name for name in names
    }
    others: Sequence[Json] = ([], "messages", None, {}, {"messages": {}}, {"input": 7})
    assert [find_list_name(body) for body in others] == [None] * len(others)
    # Gemini's SDK accepts a single content, but only if there is no list.
    assert find_list_name({"contents": {}}) == "contents"
    assert find_list_name({"contents": {}, "history": []}) == "history"


def test_messages_of_a_body_have_pointers_and_are_listed_as_they_were_sent() -> None:
    rows: Sequence[tuple[Json, list[tuple[str, Json]]]] = [
        ([USER, 3], [("/0", USER), ("/1", 3)]),
        ({"messages": [USER, REPLY]}, [("/messages/0", USER), ("/messages/1", REPLY)]),
        ({"messages": []}, []),
        ({"input": "Hi."}, [("/input", USER)]),
        ({"contents": "Hi."}, [("/contents", CONTENT)]),
        ({"contents": CONTENT}, [("/contents", CONTENT)]),
        (CHOICES, [("/choices/0/message", REPLY)]),
        (RPC, [("/params/messages/0", USER)]),
        # A list of parts is one content.
        ({"contents": CONTENT["parts"]}, [("/contents/0", CONTENT)]),
        (CONTENT["parts"], [("/0", CONTENT)]),
    ]
    assert [find_messages(body) for body, _ in rows] == [found for _, found in rows]
    assert [list_sent_messages(body) for body, _ in rows] == [
        [message for _, message in found] for _, found in rows
    ]
    others: Sequence[Json] = ({"rows": [USER]}, "Hi.", None, {"messages": {}})
    assert [find_messages(body) for body in others] == [None] * len(others)


def test_texts_among_the_contents_of_gemini_are_read_as_contents() -> None:
    body: Json = {"contents": ["Hi.", CONTENT]}
    assert find_messages(body) == [("/contents/0", CONTENT), ("/contents/1", CONTENT)]
    assert list_sent_messages(body) == body["contents"]
    assert find_messages({"messages": ["Hi."]}) == [("/messages/0", "Hi.")]


def _read(pointer: str, message: Json, dialect: Dialect | None = None, **facts: Json) -> Json:
    name = dialect or ""
    return ForeignMessage(pointer, message, dialect, sent=message, dialect_name=name, **facts)


def _read_prompt(pointer: str, content: Json, blocks: Sequence[str] = ()) -> ForeignMessage:
    """Return a system prompt in common form; `blocks` are the pointers of its blocks."""
    pointers = {f"/content/{index}": block for index, block in enumerate(blocks)}
    return ForeignMessage(
        pointer,
        {"role": "system", "content": content},
        original_pointers={"/content": "", **pointers},
        is_system_prompt=True,
    )


def test_system_prompts_of_a_request_are_its_first_messages() -> None:
    texts: Json = [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]
    parts: Json = [{"text": "Be brief."}, {"text": "Be kind."}]
    user = _read("/messages/0", USER)
    content = _read("/contents", CONTENT, "gemini")
    rows: Sequence[tuple[Json, list[ForeignMessage]]] = [
        ({"messages": [USER]}, [user]),
        *(
            ({name: "Be brief.", "messages": [USER]}, [_read_prompt(f"/{name}", "Be brief."), user])
            for name in (
                *("system", "instructions", "systemInstruction", "system_instruction"),
                *("systemPrompt", "system_prompt"),
            )
        ),
        # The order is that of the names above.
        (
            {"messages": [USER], "instructions": "Be kind.", "system": texts},
            [
                _read_prompt("/system", texts, ["/0", "/1"]),
                _read_prompt("/instructions", "Be kind."),
                user,
            ],
        ),
        ({"messages": [USER], "system": "", "instructions": []}, [user]),
        (
            {"contents": "Hi.", "config": {"system_instruction": {"parts": parts}}},
            [
                _read_prompt("/config/system_instruction", parts, ["/parts/0", "/parts/1"]),
                content,
            ],
        ),
        # The member of the request replaces that of its `config`.
        (
            {"contents": "Hi.", "system": "Be brief.", "config": {"system": "Be kind."}},
            [_read_prompt("/system", "Be brief."), content],
        ),
        ({"messages": [USER], "config": {"system": "Be brief."}}, [user]),
        (
            {"contents": "Hi.", "system": {"text": "Be brief."}},
            [_read_prompt("/system", {"text": "Be brief."}), content],
        ),
    ]
    assert [read_history_messages(body) for body, _ in rows] == [found for _, found in rows]


def test_each_system_message_of_the_ai_sdk_and_of_mastra_is_a_system_prompt() -> None:
    cached = {"anthropic": {"cacheControl": {"type": "ephemeral"}}}
    brief: Json = {"role": "system", "content": "Be brief.", "providerOptions": cached}
    kind: Json = {"role": "system", "content": [{"type": "text", "text": "Be kind."}]}
    user = _read("/messages/0", USER)

    def prompt(pointer: str, content: Json) -> ForeignMessage:
        blocks = {"/content/0": "/content/0"} if isinstance(content, list) else {}
        return ForeignMessage(
            pointer,
            {"role": "system", "content": content},
            original_pointers={"/content": "/content", **blocks},
            is_system_prompt=True,
        )

    rows: Sequence[tuple[Json, list[ForeignMessage]]] = [
        ({"instructions": brief}, [prompt("/instructions", "Be brief.")]),
        (
            {"system": [brief, kind]},
            [prompt("/system/0", "Be brief."), prompt("/system/1", kind["content"])],
        ),
        (
            {
                "taggedSystemMessages": {"user/memory": [brief], "none": []},
                "systemMessages": [kind, "Be brief."],
            },
            [
                prompt("/systemMessages/0", kind["content"]),
                _read_prompt("/systemMessages/1", "Be brief."),
                prompt("/taggedSystemMessages/user~1memory/0", "Be brief."),
            ],
        ),
        ({"systemMessages": [], "taggedSystemMessages": {}}, []),
        ({"taggedSystemMessages": [brief]}, [prompt("/taggedSystemMessages/0", "Be brief.")]),
    ]
    assert [read_history_messages({**body, "messages": [USER]}) for body, _ in rows] == [
        [*found, user] for _, found in rows
    ]
    # A list of messages tells nothing about the dialect, in contrast to a list of Bedrock's blocks.
    assert find_body_dialect({"system": [brief], "messages": [USER]}, [user]) is None


def test_only_messages_of_a_request_or_a_list_have_the_form_of_requests() -> None:
    read = [read_history_messages(body) for body in ([USER], {"history": [USER]}, CHOICES, RPC)]
    assert read == [
        [_read("/0", USER)],
        [_read("/history/0", USER)],
        [_read("/choices/0/message", REPLY, has_request_form=False)],
        [_read("/params/messages/0", USER, has_request_form=False)],
    ]
    assert read_history_messages({"rows": [USER]}) is None


def test_members_of_the_config_of_a_gemini_request_are_moved_up() -> None:
    config = {"temperature": 1, "model": "inner"}
    request = {"contents": [], "model": "outer", "config": config}
    assert merge_config(request) == {**request, "temperature": 1}
    others: Sequence[Json] = ({"input": [], "config": config}, {"contents": [], "config": [config]})
    assert [merge_config(other) for other in others] == [*others]


def _of(*dialects: Dialect | None) -> list[ForeignMessage]:
    return [ForeignMessage("", {}, dialect) for dialect in dialects]


def test_main_dialect_is_the_most_frequent_one_or_the_first_of_these() -> None:
    rows: Sequence[tuple[list[ForeignMessage], Dialect | None]] = [
        ([], None),
        (_of(None, None), None),
        (_of(None, "gemini", None), "gemini"),
        (_of("gemini", "anthropic", "anthropic"), "anthropic"),
        (_of("gemini", "anthropic"), "gemini"),
        # Results of MCP sampling have the form of Anthropic's.
        (_of("anthropic", "anthropic", "mcp"), "mcp"),
        (_of("anthropic", "anthropic", "mcp", "gemini"), "anthropic"),
    ]
    assert [find_main_dialect(messages) for messages, _ in rows] == [main for _, main in rows]


def test_system_prompt_decides_about_the_dialect_before_messages_and_names() -> None:
    typed: Json = [{"type": "text", "text": "Be brief."}]
    untyped: Json = [{"text": "Be brief."}]
    rows: Sequence[tuple[Json, list[ForeignMessage], Dialect | None]] = [
        ({"system": "Be brief.", "max_tokens": 9}, _of("gemini"), "anthropic"),
        ({"system": typed, "max_tokens": 9}, _of("gemini"), "anthropic"),
        ({"system": "Be brief."}, _of("gemini"), "gemini"),
        ({"system": typed}, _of("gemini"), "gemini"),
        ({"system": "", "max_tokens": 9}, _of("gemini"), "gemini"),
        ({"system": {}, "max_tokens": 9}, _of("gemini"), "gemini"),
        ({"system": untyped, "max_tokens": 9}, _of("gemini"), "bedrock"),
        ({"system": untyped}, _of("gemini"), "bedrock"),
        ({"system": [*typed, *untyped]}, _of("gemini"), "bedrock"),
        ({"system": ["Be brief."]}, _of("gemini"), "bedrock"),
        ({"system": [{"type": 7}]}, _of("gemini"), "bedrock"),
        ({"system": []}, _of("gemini"), "gemini"),
        ([], _of("gemini"), "gemini"),
        ({"input": []}, _of("gemini"), "gemini"),
        ({"input": []}, _of(None), "openai-responses"),
        ({"contents": {}}, [], "gemini"),
        ({"messages": []}, [], None),
        ([], [], None),
    ]
    assert [find_body_dialect(body, messages) for body, messages, _ in rows] == [
        dialect for _, _, dialect in rows
    ]
