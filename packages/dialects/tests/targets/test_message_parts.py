"""Messages of targets are read as their parts, each with its pointer, in the order of the rules."""

from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.targets.message_parts import (
    MessagePart,
    MessageParts,
    MessageReader,
    Side,
    read_anthropic,
    read_bedrock,
    read_chat,
    read_gemini,
    read_item,
    read_otel_genai,
    read_pydantic_ai,
    read_text,
    read_vercel,
)

PLACE = "/messages/3"


def text_part(place: str, text: str, *, is_signed: bool = False) -> MessagePart:
    return MessagePart("text", PLACE + place, text=text, is_signed=is_signed)


def thought(place: str, *, is_signed: bool = False) -> MessagePart:
    return MessagePart("thought", PLACE + place, is_signed=is_signed)


def other(place: str) -> MessagePart:
    return MessagePart("other", PLACE + place)


def call(
    place: str,
    call_id: str | None,
    name: str | None,
    arguments: JsonValue,
    *,
    is_signed: bool = False,
) -> MessagePart:
    return MessagePart(
        *("call", PLACE + place),
        call_id=call_id,
        name=name,
        arguments=arguments,
        is_signed=is_signed,
    )


def answer(
    place: str,
    call_id: str | None,
    name: str | None = None,
    *kinds: str,
    is_error: bool = False,
) -> MessagePart:
    return MessagePart(
        *("answer", PLACE + place),
        call_id=call_id,
        name=name,
        is_error=is_error,
        kinds=frozenset(kinds),
    )


def assert_reads(
    reader: MessageReader, *cases: tuple[JsonObject, Side, tuple[MessagePart, ...]]
) -> None:
    """Compare the side and the parts that a reader returns for each message."""
    assert [reader(message, PLACE) for message, _, _ in cases] == [
        MessageParts(PLACE, side, parts) for _, side, parts in cases
    ]


def test_roles_of_chat_are_four_sides() -> None:
    roles = {
        "system": "system",
        "developer": "system",
        "user": "user",
        "assistant": "assistant",
        "model": "assistant",
        "ai": "assistant",
        "AIMessageChunk": "assistant",
        "human": "user",
        "": "user",
    }
    by_role = [read_chat({"role": role, "type": "x"}, PLACE).side for role in roles if role]
    by_type = [read_chat({"type": role}, PLACE).side for role in roles]
    assert (by_role, by_type) == ([*roles.values()][:-1], [*roles.values()])


def test_content_is_a_text_or_blocks() -> None:
    thoughts = ("redacted_thinking", "reasoning", "reasoning-file")
    texts = ("text", "input_text", "output_text")
    assert_reads(
        read_chat,
        ({"role": "user", "content": "Hi."}, "user", (text_part("/content", "Hi."),)),
        ({"role": "user", "content": ""}, "user", ()),
        ({"role": "user", "content": None}, "user", ()),
        (
            {"role": "user", "content": [*({"type": kind, "text": kind} for kind in texts), 7, ""]},
            "user",
            (
                *(text_part(f"/content/{at}", kind) for at, kind in enumerate(texts)),
                text_part("/content/4", ""),
            ),
        ),
        (
            {
                "role": "user",
                "content": [
                    {"type": "refusal", "refusal": "No."},
                    "Plain.",
                    {"type": "image_url", "text": "not read"},
                    {"text": "without a type"},
                ],
            },
            "user",
            (
                text_part("/content/0", "No."),
                text_part("/content/1", "Plain."),
                other("/content/2"),
                other("/content/3"),
            ),
        ),
        (
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm."},
                    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                    *({"type": kind} for kind in thoughts),
                    {"type": "tool_use", "id": "c", "name": "look", "input": {"n": 1}},
                ],
            },
            "assistant",
            (
                thought("/content/0"),
                *(thought(f"/content/{at}", is_signed=True) for at in range(1, 5)),
                call("/content/5", "c", "look", {"n": 1}),
            ),
        ),
        (
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "a",
                        "content": [{"type": "text", "text": ""}, {"type": "image"}],
                        "is_error": True,
                    },
                    {"type": "tool_result", "toolUseId": "b", "isError": True, "content": "A."},
                    {"type": "tool_result", "tool_use_id": 7, "is_error": "yes", "isError": 1},
                ],
            },
            "user",
            (
                answer("/content/0", "a", None, "text", "other", is_error=True),
                answer("/content/1", "b", None, "text", is_error=True),
                answer("/content/2", None),
            ),
        ),
    )


def test_members_of_chat_are_thoughts_before_the_content_and_calls_after_it() -> None:
    assert_reads(
        read_chat,
        (
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "a", "function": {"name": "look", "arguments": "{}"}, "custom": {}},
                    {"id": "b", "function": None, "custom": {"name": "run", "input": "ls"}},
                    {"id": "c", "name": "look", "args": {"n": 1}},
                    {"id": "d", "name": "look", "arguments": "{", "args": {}},
                    "no object",
                    {"id": 7, "function": {"name": 7}},
                ],
                "refusal": "No.",
                "audio": {"id": "x"},
                "images": [{}],
                "content": "Hi.",
                "reasoning_details": [{}],
                "thinking": "Hm.",
                "reasoning_content": "Hm.",
                "reasoning": "Hm.",
            },
            "assistant",
            (
                thought("/reasoning"),
                thought("/reasoning_content"),
                thought("/thinking"),
                thought("/reasoning_details"),
                text_part("/content", "Hi."),
                other("/refusal"),
                other("/audio"),
                other("/images"),
                call("/tool_calls/0", "a", "look", "{}"),
                call("/tool_calls/1", "b", "run", {}),
                call("/tool_calls/2", "c", "look", {"n": 1}),
                call("/tool_calls/3", "d", "look", "{"),
                call("/tool_calls/5", None, None, None),
            ),
        ),
        (
            {"role": "assistant", "reasoning": "", "refusal": None, "images": [], "tool_calls": {}},
            "assistant",
            (),
        ),
    )


def test_message_of_a_tool_is_one_answer() -> None:
    blocks: list[JsonValue] = [{"type": "text", "text": "A."}, {"type": "image_url"}]
    assert_reads(
        read_chat,
        (
            {"role": "tool", "tool_call_id": "a", "name": "look", "content": blocks},
            "tool",
            (answer("", "a", "look", "text", "other"),),
        ),
        (
            {"type": "tool", "tool_name": "look", "content": "A.", "status": "error"},
            "tool",
            (answer("", None, "look", "text", is_error=True),),
        ),
        (
            {"role": "tool", "name": "look", "tool_name": "run", "status": "success"},
            "tool",
            (answer("", None, "look"),),
        ),
    )


def test_message_of_the_target_text_has_one_part() -> None:
    assert_reads(
        read_text,
        ({"role": "tool", "content": ""}, "tool", (other(""),)),
        ({"role": "assistant", "content": "A."}, "assistant", (other(""),)),
    )


def test_item_of_responses_is_a_message_a_call_an_answer_or_a_thought() -> None:
    assert_reads(
        read_item,
        ({"role": "developer", "content": "A."}, "system", (text_part("/content", "A."),)),
        (
            {"type": "message", "role": "assistant", "content": [{"type": "output_text"}]},
            "assistant",
            (text_part("/content/0", ""),),
        ),
        ({"type": "function_call_output", "call_id": "a"}, "tool", (answer("", "a"),)),
        ({"type": "shell_call_output", "call_id": "a"}, "tool", (answer("", "a"),)),
        ({"type": "function_call_output"}, "assistant", (other(""),)),
        ({"type": "reasoning", "call_id": "a"}, "assistant", (thought("", is_signed=True),)),
        (
            {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{"},
            "assistant",
            (call("", "a", "look", "{"),),
        ),
        (
            {"type": "shell_call", "call_id": "a", "arguments": "{"},
            "assistant",
            (call("", "a", "shell_call", {}),),
        ),
        ({"type": "web_search_call", "id": "ws"}, "assistant", (other(""),)),
        ({"type": "item_reference", "call_id": "a"}, "assistant", (other(""),)),
    )


def test_message_of_anthropic_or_mcp_has_blocks_one_block_or_a_text() -> None:
    meta = {"pagefault/toolCallId": "a", "pagefault/toolName": "look"}
    assert_reads(
        read_anthropic,
        (
            {"role": "user", "content": [{"type": "text", "text": "A."}]},
            "user",
            (text_part("/content/0", "A."),),
        ),
        (
            {"role": "assistant", "content": {"type": "text", "text": "A."}},
            "assistant",
            (text_part("/content", "A."),),
        ),
        ({"role": "assistant", "content": "A."}, "assistant", (text_part("/content", "A."),)),
        ({"role": "assistant"}, "assistant", ()),
        ({}, "user", ()),
        (
            {"content": [{"type": "text"}], "_meta": meta, "isError": True},
            "tool",
            (answer("", "a", "look", is_error=True),),
        ),
        ({"content": [], "_meta": "none", "isError": 1}, "tool", (answer("", None),)),
    )


def test_content_of_gemini_has_members_in_either_case() -> None:
    parts: list[JsonValue] = [
        {"text": "A."},
        {"text": "", "thoughtSignature": "s"},
        {"text": "A.", "thought_signature": "s"},
        {"text": "Hm.", "thought": True},
        {"thought": True, "thoughtSignature": "s"},
        {"functionCall": {"id": "a", "name": "look", "args": {"n": 1}}, "thoughtSignature": "s"},
        {"function_call": {"name": "look"}},
        {"functionResponse": {"id": "a", "name": "look"}},
        {"function_response": {"name": "look"}},
        {"inlineData": {}},
        "no object",
        {"functionCall": 1, "functionResponse": 1, "text": "A."},
    ]
    assert_reads(
        read_gemini,
        (
            {"role": "model", "parts": parts},
            "assistant",
            (
                text_part("/parts/0", "A."),
                text_part("/parts/1", "", is_signed=True),
                text_part("/parts/2", "A.", is_signed=True),
                thought("/parts/3"),
                thought("/parts/4", is_signed=True),
                call("/parts/5", "a", "look", {"n": 1}, is_signed=True),
                call("/parts/6", None, "look", {}),
                answer("/parts/7", "a", "look"),
                answer("/parts/8", None, "look"),
                other("/parts/9"),
                text_part("/parts/11", "A."),
            ),
        ),
        ({"role": "user"}, "user", ()),
    )


def test_block_of_converse_is_named_by_its_member() -> None:
    result: JsonObject = {
        "toolUseId": "a",
        "status": "error",
        "content": [{"text": "A."}, {"json": {}}],
    }
    content: list[JsonValue] = [
        {"text": "A."},
        {"text": ""},
        {"toolUse": {"toolUseId": "a", "name": "look", "input": {"n": 1}}},
        {"toolResult": result},
        {"toolResult": {"toolUseId": "a", "status": "success", "content": [{"image": {}}]}},
        {"reasoningContent": {}},
        {"cachePoint": {"type": "default"}},
        {"image": {}},
        {"text": None, "toolUse": None, "toolResult": None},
    ]
    assert_reads(
        read_bedrock,
        (
            {"role": "assistant", "content": content},
            "assistant",
            (
                text_part("/content/0", "A."),
                text_part("/content/1", ""),
                call("/content/2", "a", "look", {"n": 1}),
                answer("/content/3", "a", None, "text", is_error=True),
                answer("/content/4", "a", None, "other"),
                thought("/content/5", is_signed=True),
                other("/content/7"),
                other("/content/8"),
            ),
        ),
        ({"role": "user", "content": "A."}, "user", ()),
    )


def test_calls_that_a_provider_ran_are_other_parts_for_the_ai_sdk() -> None:
    result = {"type": "tool-result", "toolCallId": "a", "toolName": "look"}
    assert_reads(
        read_vercel,
        ({"role": "user", "content": "A."}, "user", (text_part("/content", "A."),)),
        (
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "A."},
                    {"type": "reasoning", "text": "Hm."},
                    {"type": "file"},
                    {"type": "tool-call", "toolCallId": "a", "toolName": "look", "input": {}},
                    {"type": "tool-call", "toolCallId": "b", "toolName": "look", "input": {"n": 1}},
                    {"type": "tool-call", "toolCallId": "c", "providerExecuted": True},
                    result,
                ],
            },
            "assistant",
            (
                text_part("/content/0", "A."),
                thought("/content/1", is_signed=True),
                other("/content/2"),
                other("/content/3"),
                call("/content/4", "b", "look", {"n": 1}),
                other("/content/5"),
                other("/content/6"),
            ),
        ),
        (
            {
                "role": "tool",
                "content": [result, {"type": "tool-call", "toolCallId": "a", "toolName": "look"}],
            },
            "tool",
            (answer("/content/0", "a", "look"), call("/content/1", "a", "look", None)),
        ),
    )


def test_part_of_pydantic_ai_has_the_kind_of_its_part() -> None:
    tool = {"tool_name": "look", "tool_call_id": "a"}
    parts: list[JsonValue] = [
        {"part_kind": "system-prompt", "content": "A."},
        {"part_kind": "user-prompt", "content": ["B.", {"kind": "image-url"}]},
        {"part_kind": "text", "content": ""},
        {"part_kind": "thinking", "content": "Hm."},
        {"part_kind": "thinking", "content": "", "signature": "s"},
        {"part_kind": "tool-call", **tool, "args": '{"n": 1}'},
        {"part_kind": "tool-return", **tool},
        {"part_kind": "retry-prompt", **tool},
        {"part_kind": "retry-prompt", "content": "Again."},
        {"part_kind": "file"},
    ]
    assert_reads(
        read_pydantic_ai,
        (
            {"kind": "request", "parts": parts},
            "user",
            (
                text_part("/parts/0/content", "A."),
                text_part("/parts/1/content/0", "B."),
                other("/parts/1/content/1"),
                text_part("/parts/2", ""),
                thought("/parts/3"),
                thought("/parts/4", is_signed=True),
                call("/parts/5", "a", "look", '{"n": 1}'),
                answer("/parts/6", "a", "look"),
                answer("/parts/7", "a", "look"),
                other("/parts/8"),
                other("/parts/9"),
            ),
        ),
        ({"kind": "response", "parts": []}, "assistant", ()),
    )


def test_part_of_the_semantic_conventions_has_its_type() -> None:
    parts: list[JsonValue] = [
        {"type": "text", "content": "A."},
        {"type": "reasoning", "content": "Hm."},
        {"type": "tool_call", "id": "a", "name": "look", "arguments": {"n": 1}},
        {"type": "tool_call_response", "id": "a", "response": "B."},
        {"type": "blob"},
    ]
    assert_reads(
        read_otel_genai,
        (
            {"role": "assistant", "parts": parts},
            "assistant",
            (
                text_part("/parts/0", "A."),
                thought("/parts/1"),
                call("/parts/2", "a", "look", {"n": 1}),
                answer("/parts/3", "a"),
                other("/parts/4"),
            ),
        ),
    )


def test_parts_of_a_kind_are_in_the_order_of_the_message() -> None:
    parts = (text_part("/content/0", "A."), thought("/content/1"), text_part("/content/2", "B."))
    message = MessageParts(PLACE, "assistant", parts)
    assert message.of_kind("text") == [parts[0], parts[2]]
    assert message.of_kind("call") == []
