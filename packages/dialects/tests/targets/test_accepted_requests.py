"""Messages and blocks of a dialect are written as they were sent if its requests accept them."""

from collections.abc import Callable, Iterable

from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.model.conversation import NativeMessage, TurnRole
from pagefault_dialects.model.render_options import McpRevision, RenderOptions
from pagefault_dialects.targets.anthropic import accepts_block as anthropic_accepts_block
from pagefault_dialects.targets.anthropic import as_request as as_anthropic_request
from pagefault_dialects.targets.bedrock import accepts_block as bedrock_accepts_block
from pagefault_dialects.targets.bedrock import as_request as as_bedrock_request
from pagefault_dialects.targets.gemini import accepts_part
from pagefault_dialects.targets.gemini import as_request as as_gemini_request
from pagefault_dialects.targets.langchain import accepts_block as langchain_accepts_block
from pagefault_dialects.targets.langchain import as_request as as_langchain_request
from pagefault_dialects.targets.mcp import accepts_block as mcp_accepts_block
from pagefault_dialects.targets.mcp import accepts_structured
from pagefault_dialects.targets.mcp import as_request as as_mcp_request
from pagefault_dialects.targets.mistral import accepts_block as mistral_accepts_block
from pagefault_dialects.targets.ollama import accepts_block as ollama_accepts_block
from pagefault_dialects.targets.openai import (
    accepts_chat_block,
    accepts_compat_block,
    accepts_item,
    as_chat_request,
    as_responses_request,
)
from pagefault_dialects.targets.otel_genai import accepts_block as otel_genai_accepts_block
from pagefault_dialects.targets.pydantic_ai import accepts_block as pydantic_ai_accepts_block
from pagefault_dialects.targets.vercel import accepts_part as vercel_accepts_part
from pagefault_dialects.targets.vercel import (
    accepts_part_6,
    as_request_6,
)
from pagefault_dialects.targets.vercel import as_request as as_vercel_request

PICTURE = "https://a.example/b.png"
OPTIONS = RenderOptions()

AsRequest = Callable[[NativeMessage, RenderOptions], JsonObject | None]


def request_of(
    as_request: AsRequest, dialect: str | None, message: JsonObject
) -> JsonObject | None:
    return as_request(NativeMessage(dialect, message, ()), OPTIONS)


def assert_requests(
    as_request: AsRequest,
    dialect: str,
    *,
    accepted: Iterable[JsonObject],
    refused: Iterable[JsonObject],
) -> None:
    """Check that a target accepts some messages unchanged, and does not accept others."""
    messages = [*accepted]
    assert [request_of(as_request, dialect, message) for message in messages] == messages
    odd = [message for message in refused if request_of(as_request, dialect, message) is not None]
    assert odd == []


def assert_blocks(
    accepts: Callable[[JsonObject, TurnRole], bool],
    role: TurnRole,
    *,
    accepted: Iterable[JsonObject],
    refused: Iterable[JsonObject],
) -> None:
    """Check which blocks a target accepts in a rewritten message of a role."""
    assert [block for block in accepted if not accepts(block, role)] == []
    assert [block for block in refused if accepts(block, role)] == []


def with_content(role: str, *content: JsonValue) -> JsonObject:
    return {"role": role, "content": [*content]}


TEXT: JsonObject = {"type": "text", "text": "Hi."}
# The objects of blocks of Chat Completions, by their types.
CHAT_IMAGE: JsonObject = {"type": "image_url", "image_url": {"url": PICTURE}}
CHAT_AUDIO: JsonObject = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
CHAT_FILES: list[JsonObject] = [
    {"type": "file", "file": member}
    for member in ({"file_id": "f"}, {"file_data": "AA==", "filename": "a.pdf"})
]
REFUSAL: JsonObject = {"type": "refusal", "refusal": "No."}
FUNCTION: JsonObject = {"name": "look", "arguments": "{}"}
CHAT_CALL: JsonObject = {"id": "c", "type": "function", "function": FUNCTION}


def chat_calls(*calls: JsonValue, **members: JsonValue) -> JsonObject:
    return {"role": "assistant", "content": None, **members, "tool_calls": [*calls]}


def test_messages_of_chat_completions() -> None:
    assert_requests(
        as_chat_request,
        "openai-chat",
        accepted=[
            {"role": "user", "content": "Hi.", "name": "ann"},
            *({"role": role, "content": "Hi."} for role in ("system", "developer", "assistant")),
            *(with_content(role, TEXT) for role in ("system", "developer", "assistant")),
            {"role": "tool", "content": "Hi.", "tool_call_id": "c"},
            {"role": "tool", "content": [TEXT], "tool_call_id": "c"},
            with_content("user", TEXT, CHAT_IMAGE, CHAT_AUDIO, *CHAT_FILES),
            with_content("assistant", REFUSAL),
            {"role": "assistant", "content": None, "refusal": "No."},
            {"role": "assistant", "content": "", "audio": {"id": "a"}},
            chat_calls(CHAT_CALL),
            chat_calls(CHAT_CALL, {"id": "d", "type": "custom", "custom": {}}, content="Hi."),
            chat_calls(CHAT_CALL, content=""),
        ],
        refused=[
            {"role": "critic", "content": "Hi."},
            {"content": "Hi."},
            {"role": "user", "content": "Hi.", "tool_call_id": "c"},
            {"role": "user", "content": ""},
            {"role": "user", "content": []},
            {"role": "user", "content": None},
            {"role": "user", "content": {"text": "Hi."}},
            {"role": "user", "content": "Hi.", "name": 7},
            {"role": "system", "content": "Hi.", "refusal": "No."},
            {"role": "tool", "content": "Hi."},
            {"role": "tool", "content": None, "tool_call_id": "c"},
            {"role": "tool", "content": "Hi.", "tool_call_id": "c", "name": "look"},
            *(with_content(role, CHAT_IMAGE) for role in ("system", "developer", "assistant")),
            with_content("user", REFUSAL),
            with_content("user", TEXT, "Hi."),
            with_content("user", TEXT, {"type": "text", "text": ""}),
            with_content("assistant", {"type": "refusal", "refusal": ""}),
            {"role": "assistant", "content": None},
            {"role": "assistant", "content": ""},
            {"role": "assistant", "content": None, "refusal": ""},
            chat_calls(),
            chat_calls(CHAT_CALL, content=7),
            chat_calls("c"),
            chat_calls({**CHAT_CALL, "index": 0}),
            chat_calls({"id": "c", "function": FUNCTION}),
            chat_calls({"id": "c", "type": "custom", "function": FUNCTION}),
            chat_calls({"id": "c", "type": "function", "function": {"name": "look"}}),
            chat_calls({"id": "c", "type": "function", "function": {**FUNCTION, "name": 7}}),
            chat_calls({"id": "c", "type": "function", "custom": {}}),
            chat_calls({"id": "c", "type": "custom", "custom": "ls"}),
            {"role": "assistant", "content": None, "tool_calls": {"0": CHAT_CALL}},
        ],
    )


def test_members_of_responses_are_dropped_from_messages_of_chat_completions() -> None:
    sent: JsonObject = {
        "role": "assistant",
        "content": "Hi.",
        "annotations": [{}],
        "parsed": {},
        "refusal": None,
        "tool_calls": None,
        "audio": {"id": "a", "data": "AA==", "transcript": "Hi."},
    }
    assert request_of(as_chat_request, "openai-chat", sent) == {
        "role": "assistant",
        "content": "Hi.",
        "refusal": None,
        "audio": {"id": "a"},
    }


def test_blocks_of_chat_completions() -> None:
    for role in ("user", "tool"):
        assert_blocks(
            accepts_chat_block,
            role,
            accepted=[TEXT, CHAT_IMAGE, CHAT_AUDIO, *CHAT_FILES],
            refused=[REFUSAL, {}, {"type": "file", "file": {}}, {"type": "image_url"}],
        )
    assert_blocks(accepts_chat_block, "assistant", accepted=[TEXT, REFUSAL], refused=[CHAT_IMAGE])
    assert_blocks(
        accepts_compat_block,
        "assistant",
        accepted=[
            *({name: "Hm."} for name in ("reasoning", "reasoning_content", "thinking")),
            {"reasoning_details": [{}]},
            {"thinking": "Hm.", "reasoning": None},
        ],
        refused=[
            *({name: 7} for name in ("reasoning", "reasoning_content", "thinking")),
            {"reasoning_details": "Hm."},
            {"thinking": "Hm.", "reasoning": "Hm."},
            {"thoughts": "Hm."},
        ],
    )


ITEMS: list[JsonObject] = [
    {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "Hi."},
    {"type": "function_call_output", "call_id": "c", "output": []},
    {"type": "reasoning", "summary": []},
    {"type": "reasoning", "id": "r", "summary": []},
    {"type": "web_search_call", "id": "w"},
]
CONTENTS: list[JsonObject] = [
    {"type": "input_text", "text": "Hi."},
    {"type": "output_text", "text": "Hi."},
    CHAT_AUDIO,
    {"type": "input_image", "image_url": PICTURE},
    {"type": "input_image", "file_id": "f", "image_url": None},
    {"type": "input_file", "file_id": "f"},
    {"type": "input_file", "file_data": "AA==", "filename": "a.pdf"},
    {"type": "input_file", "file_url": PICTURE},
]
ODD_ITEMS: list[JsonObject] = [
    {"type": "function_call", "name": "look", "arguments": "{}"},
    {"type": "function_call", "call_id": "c", "name": "look", "arguments": {}},
    {"type": "function_call_output", "call_id": "c"},
    {"type": "function_call_output", "output": "Hi."},
    {"type": "reasoning", "id": 7, "summary": []},
    {"type": "reasoning", "id": "r"},
]
ODD_CONTENTS: list[JsonObject] = [
    {"type": "input_text"},
    {"type": "output_text", "text": 7},
    {"type": "input_audio", "input_audio": {"data": "AA=="}},
    {"type": "output_audio", "data": "AA=="},
    {"type": "input_image"},
    {"type": "input_image", "image_url": "a.png"},
    {"type": "input_file", "filename": "a.pdf"},
    {"type": "input_file", "file_id": "f", "filename": 7},
]


def test_items_of_responses() -> None:
    message: JsonObject = {"type": "message", "role": "user"}
    assert_requests(
        as_responses_request,
        "openai-responses",
        accepted=[
            {"role": "user", "content": "Hi."},
            {**message, "content": "Hi.", "id": "m", "status": "completed", "phase": "final"},
            *({**message, "content": [block]} for block in CONTENTS),
            *ITEMS,
            {"type": "additional_tools", "role": "developer", "tools": []},
            {"type": "function_call_output", "call_id": "c", "output": [*CONTENTS]},
        ],
        refused=[
            {"role": "user", "content": ""},
            {"role": "user", "content": []},
            {"role": "user"},
            {"role": "user", "content": "Hi.", "name": "ann"},
            *({**message, "content": [CONTENTS[0], block]} for block in ODD_CONTENTS),
            {**message, "content": ["Hi."]},
            *ODD_ITEMS,
            {"type": "reasoning", "role": "assistant", "summary": []},
            {"type": "function_call_output", "call_id": "c", "output": [ODD_CONTENTS[0]]},
        ],
    )
    # Without a known dialect, blocks could be those of another one.
    blocks: JsonObject = {"role": "user", "content": [CONTENTS[0]]}
    assert request_of(as_responses_request, None, blocks) is None
    parsed = {**ITEMS[0], "parsed_arguments": {}, "created_by": "a"}
    assert request_of(as_responses_request, "openai-responses", parsed) == ITEMS[0]
    assert_blocks(
        accepts_item,
        "assistant",
        accepted=[*ITEMS, *CONTENTS],
        refused=[*ODD_ITEMS, *ODD_CONTENTS, {"text": "Hi."}, {"type": ""}],
    )


SOURCES: list[JsonObject] = [
    {"type": "base64", "media_type": "image/png", "data": "AA=="},
    {"type": "url", "url": PICTURE},
    {"type": "text", "media_type": "text/plain", "data": "Hi."},
    {"type": "file", "file_id": "f"},
    {"type": "content", "content": [TEXT]},
    {"type": "content", "content": "Hi."},
]
ODD_SOURCES: list[JsonObject] = [
    {"type": "base64", "media_type": "image/png", "data": ""},
    {"type": "base64", "data": "AA=="},
    {"type": "url", "url": "a.png"},
    {"type": "text"},
    {"type": "file", "file_id": 7},
    {"type": "content", "content": {}},
]
THOUGHTS: list[JsonObject] = [
    {"type": "thinking", "thinking": "", "signature": "s"},
    {"type": "redacted_thinking", "data": "AA=="},
]
ANTHROPIC_BLOCKS: list[JsonObject] = [
    TEXT,
    *({"type": "image", "source": source} for source in SOURCES),
    *({"type": "document", "source": source} for source in SOURCES),
    {"type": "tool_use", "id": "c", "name": "look", "input": {}},
    {"type": "server_tool_use", "id": "c", "name": "look", "input": {}},
    {"type": "search_result", "source": "a", "title": "A", "content": [TEXT]},
    {"type": "container_upload", "file_id": "f"},
    {"type": "web_search_tool_result", "tool_use_id": "c", "content": []},
]
ODD_ANTHROPIC_BLOCKS: list[JsonObject] = [
    {"type": "text"},
    {"type": 7, "text": "Hi."},
    {"text": "Hi."},
    {"type": "image"},
    {"type": "document", "source": PICTURE},
    *({"type": "image", "source": source} for source in ODD_SOURCES),
    {"type": "tool_use", "id": "c", "name": "look", "input": "{}"},
    {"type": "server_tool_use", "name": "look", "input": {}},
    {"type": "search_result", "source": "a", "title": "A", "content": "Hi."},
    {"type": "container_upload"},
    *(
        {"type": kind}
        for kind in (
            *("image_url", "input_audio", "file", "refusal", "input_text", "output_text"),
            *("input_image", "input_file", "tool-call", "tool-result", "resource"),
            *("resource_link", "audio", "video", "function_call", "tool_call", "reasoning"),
        )
    ),
]


def tool_result(content: JsonValue, **members: JsonValue) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": "c", "content": content, **members}


RESULTS = [
    tool_result(None),
    tool_result("Hi."),
    tool_result([TEXT, {"type": "image", "source": SOURCES[0]}]),
    tool_result("No.", is_error=True),
    tool_result([TEXT], is_error=True),
]
ODD_RESULTS = [
    tool_result(7),
    tool_result(["Hi."]),
    tool_result([{"type": "text"}]),
    tool_result([{"type": "image", "source": ODD_SOURCES[0]}]),
    tool_result([], is_error=True),
    tool_result(None, is_error=True),
    tool_result("", is_error=True),
    tool_result([TEXT, {"type": "image", "source": SOURCES[0]}], is_error=True),
    {"type": "tool_result", "content": "Hi."},
]


def test_messages_of_anthropic() -> None:
    assert_requests(
        as_anthropic_request,
        "anthropic",
        accepted=[
            {"role": "user", "content": "Hi."},
            {"role": "assistant", "content": "Hi."},
            *(with_content("user", TEXT, block) for block in ANTHROPIC_BLOCKS),
            *(with_content("user", block, TEXT) for block in RESULTS),
            with_content("assistant", *THOUGHTS, TEXT),
            with_content("assistant", {"type": "of_a_newer_version"}),
            with_content("user", *RESULTS),
        ],
        refused=[
            {"role": "system", "content": "Hi."},
            {"content": "Hi."},
            {"role": "user", "content": None},
            {"role": "user", "content": "Hi.", "name": "ann"},
            with_content("user"),
            with_content("user", "Hi."),
            *(with_content("user", TEXT, block) for block in ODD_ANTHROPIC_BLOCKS),
            *(with_content("user", block) for block in ODD_RESULTS),
            *(with_content("user", TEXT, block) for block in RESULTS),
            *(with_content("user", block) for block in THOUGHTS),
            with_content("assistant", {"type": "thinking", "thinking": "Hm."}),
            with_content("assistant", {"type": "redacted_thinking"}),
        ],
    )
    response: JsonObject = {
        **{"id": "m", "type": "message", "model": "a", "stop_reason": "end_turn"},
        **{"stop_sequence": "x", "stop_details": {"a": 1}, "usage": {"a": 1}},
        **{"container": {"a": 1}, "context_management": {"a": 1}, "other": None},
        **with_content("assistant", TEXT),
    }
    request = request_of(as_anthropic_request, "anthropic", response)
    assert request == with_content("assistant", TEXT)


def test_blocks_of_anthropic_have_known_types_in_rewritten_messages() -> None:
    unknown: JsonObject = {"type": "of_a_newer_version"}
    assert_blocks(
        anthropic_accepts_block,
        "user",
        accepted=[*ANTHROPIC_BLOCKS, *RESULTS],
        refused=[
            *ODD_ANTHROPIC_BLOCKS,
            *ODD_RESULTS,
            *THOUGHTS,
            unknown,
            {"type": "image", "source": {"type": "new"}},
            {"type": "document", "source": {"type": "content", "content": [unknown]}},
            {"type": "document", "source": {"type": "content", "content": ["Hi."]}},
            tool_result([unknown]),
        ],
    )
    assert_blocks(anthropic_accepts_block, "assistant", accepted=THOUGHTS, refused=[unknown])


GEMINI_PARTS: list[JsonObject] = [
    {"text": "Hi."},
    {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
    {"inline_data": {"mime_type": "image/png", "data": "AA=="}},
    {"fileData": {"fileUri": "gs://a"}},
    {"file_data": {"file_uri": "gs://a"}},
    {"functionCall": {"name": "look", "args": {}}},
    {"function_call": {"name": "look"}},
    {"functionResponse": {"name": "look", "response": {}}},
    {"function_response": {"name": "look", "response": {}}},
    {"executableCode": {"code": "1"}},
    {"executable_code": {"code": "1"}},
    {"text": "Hm.", "thought": True, "thoughtSignature": "s"},
    {"text": "Hm.", "thought_signature": "s", "inlineData": None},
    {"ofANewerVersion": {}},
]
ODD_GEMINI_PARTS: list[JsonObject] = [
    {"type": "text", "text": "Hi."},
    {"text": 7},
    {"inlineData": {"data": "AA=="}},
    {"inline_data": {"mimeType": "image/png", "data": "AA=="}},
    {"fileData": {}},
    {"file_data": {"fileUri": "gs://a"}},
    {"functionCall": {"args": {}}},
    {"function_call": {"name": "look", "args": "{}"}},
    {"functionResponse": {"name": "look"}},
    {"function_response": {"response": {}}},
    {"executableCode": {}},
    {"executable_code": {"code": 1}},
    {"text": "Hm.", "thought": "yes"},
    {"text": "Hm.", "thoughtSignature": 7},
    {"text": "Hm.", "thought_signature": 7},
    {"thought": True, "thoughtSignature": "s"},
    {"text": None},
    {"text": "Hi.", "fileData": {"fileUri": "gs://a"}},
    {},
]


def test_contents_of_gemini() -> None:
    assert_requests(
        as_gemini_request,
        "gemini",
        accepted=[
            *({"role": role, "parts": [*GEMINI_PARTS]} for role in ("user", "model", "function")),
            {"parts": [*GEMINI_PARTS]},
        ],
        refused=[
            {"role": "assistant", "parts": [*GEMINI_PARTS]},
            {"role": "user", "parts": []},
            {"role": "user", "parts": GEMINI_PARTS[0]},
            {"role": "user", "parts": [*GEMINI_PARTS], "name": "ann"},
            {"role": "user", "parts": ["Hi."]},
            *({"role": "user", "parts": [GEMINI_PARTS[0], part]} for part in ODD_GEMINI_PARTS),
        ],
    )
    assert_blocks(accepts_part, "user", accepted=GEMINI_PARTS, refused=ODD_GEMINI_PARTS)


CONVERSE_SOURCES: list[JsonObject] = [
    {"bytes": "AA=="},
    {"s3Location": {"uri": "s3://a"}},
    {"text": "Hi."},
    {"content": []},
]
CONVERSE_BLOCKS: list[JsonObject] = [
    {"text": "Hi."},
    *(
        {kind: {"format": "png", "source": source}}
        for kind in ("image", "audio", "video")
        for source in CONVERSE_SOURCES
    ),
    {"document": {"name": "a", "source": CONVERSE_SOURCES[0]}},
    {"toolUse": {"toolUseId": "c", "name": "look", "input": {}}},
    {"cachePoint": {"type": "default"}},
    {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
    {"reasoningContent": {"redactedContent": "AA=="}},
    {"text": "Hi.", "image": None},
    {"ofANewerVersion": {}},
]
CONVERSE_RESULTS: list[JsonObject] = [
    {"toolResult": {"toolUseId": "c", "content": []}},
    {"toolResult": {"toolUseId": "c", "content": [{"json": {}}], "status": "success"}},
    {"toolResult": {"toolUseId": "c", "content": [{"text": "No."}], "status": "error"}},
]
ODD_CONVERSE_SOURCES: list[JsonObject] = [
    *({}, {"bytes": 7}, {"s3Location": {}}, {"text": 7}, {"content": "Hi."}),
]
ODD_CONVERSE_BLOCKS: list[JsonObject] = [
    {"type": "text", "text": "Hi."},
    {"text": 7},
    {"text": None},
    {},
    *(
        {kind: {"format": "png", "source": source}}
        for kind in ("image", "audio", "video")
        for source in ODD_CONVERSE_SOURCES
    ),
    *({kind: {"source": CONVERSE_SOURCES[0]}} for kind in ("image", "audio", "video", "document")),
    {"toolUse": {"toolUseId": "c", "name": "look"}},
    {"toolUse": {"name": "look", "input": {}}},
    {"cachePoint": {}},
    {"reasoningContent": {}},
    {"reasoningContent": {"reasoningText": {}}},
    {"text": "Hi.", "image": {"format": "png", "source": CONVERSE_SOURCES[0]}},
    {"toolResult": {"toolUseId": "c"}},
    {"toolResult": {"content": []}},
]


def test_messages_of_converse() -> None:
    assert_requests(
        as_bedrock_request,
        "bedrock",
        accepted=[
            with_content("user", *CONVERSE_RESULTS, *CONVERSE_BLOCKS),
            with_content("assistant", *CONVERSE_BLOCKS),
            with_content("user"),
        ],
        refused=[
            with_content("system", CONVERSE_BLOCKS[0]),
            {"role": "user", "content": "Hi."},
            {**with_content("user", CONVERSE_BLOCKS[0]), "name": "ann"},
            with_content("user", "Hi."),
            *(with_content("user", CONVERSE_BLOCKS[0], block) for block in ODD_CONVERSE_BLOCKS),
            *(with_content("user", CONVERSE_BLOCKS[0], block) for block in CONVERSE_RESULTS),
            *(
                with_content(
                    "user",
                    {"toolResult": {"toolUseId": "c", "content": content, "status": "error"}},
                )
                for content in ([], [{"text": "No."}, {"json": {}}], ["No."])
            ),
        ],
    )
    assert_blocks(
        bedrock_accepts_block,
        "user",
        accepted=[*CONVERSE_BLOCKS, *CONVERSE_RESULTS],
        refused=ODD_CONVERSE_BLOCKS,
    )


RESOURCES: list[JsonObject] = [
    {"type": "resource", "resource": {"uri": "ui://a"}},
    {"type": "resource_link", "uri": PICTURE, "name": "b"},
]
MCP_BLOCKS: list[JsonObject] = [
    TEXT,
    {"type": "image", "data": "AA==", "mimeType": "image/png"},
    {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
    *RESOURCES,
]
MCP_CALLS: list[JsonObject] = [
    {"type": "tool_use", "id": "c", "name": "look", "input": {}},
    {"type": "tool_result", "toolUseId": "c", "content": []},
]
ODD_RESOURCES: list[JsonObject] = [
    {"type": "resource", "resource": {}},
    {"type": "resource", "resource": {"uri": "a b"}},
    {"type": "resource_link", "uri": PICTURE},
    {"type": "resource_link", "uri": "a\nb", "name": "b"},
]
ODD_MCP_BLOCKS: list[JsonObject] = [
    {"type": "text"},
    {"type": "image", "data": "AA=="},
    {"type": "audio", "mimeType": "audio/wav"},
    {"type": "file"},
    *ODD_RESOURCES,
    {"type": "tool_use", "id": "c", "name": "look", "input": "{}"},
    {"type": "tool_result", "toolUseId": "c", "content": "Hi."},
]


def mcp_result(*content: JsonValue, **members: JsonValue) -> JsonObject:
    return {"resultType": "complete", "content": [*content], **members}


def test_messages_and_results_of_mcp() -> None:
    names = {"pagefault/toolCallId": "c", "pagefault/toolName": "look"}
    sampled = with_content("assistant", MCP_CALLS[0])
    accepted = [
        sampled,
        with_content("user", MCP_CALLS[1]),
        *({"role": "user", "content": block} for block in MCP_BLOCKS),
        with_content("user", *MCP_BLOCKS, *MCP_CALLS),
        {"role": "user", "content": TEXT, "_meta": {}},
        mcp_result(),
        mcp_result(*MCP_BLOCKS, isError=True, _meta=names),
        mcp_result(TEXT, _meta={"a": 1}),
    ]
    assert_requests(
        as_mcp_request,
        "mcp",
        accepted=accepted,
        refused=[
            {"role": "system", "content": TEXT},
            {"role": "user", "content": []},
            {"role": "user", "content": TEXT, "name": "ann"},
            {"role": "user", "content": "Hi."},
            *({"role": "user", "content": block} for block in ODD_MCP_BLOCKS),
            *(with_content("user", TEXT, block) for block in ODD_MCP_BLOCKS),
            *(mcp_result(TEXT, block) for block in ODD_MCP_BLOCKS),
            mcp_result(TEXT, jsonrpc="2.0"),
            {"content": [TEXT]},
            {"resultType": "incomplete", "content": [TEXT]},
            {"resultType": "complete", "content": TEXT},
            *(mcp_result(TEXT, _meta={name: "c"}) for name in names),
        ],
    )
    # Only sampling has messages of calls, so their dialect is known from their blocks.
    unknown = [with_content("user", TEXT), with_content("user", MCP_CALLS[0], TEXT), mcp_result()]
    assert [request_of(as_mcp_request, None, message) for message in unknown] == [None] * 3
    older = RenderOptions(protocol_version="2025-11-25")
    assert as_mcp_request(NativeMessage("mcp", sampled, ()), older) is None


def test_message_of_another_dialect_is_not_accepted() -> None:
    message: JsonObject = {"role": "user", "content": "Hi."}
    messages: list[tuple[AsRequest, JsonObject]] = [
        (as_chat_request, message),
        (as_responses_request, message),
        (as_anthropic_request, message),
        (as_gemini_request, {"role": "user", "parts": [GEMINI_PARTS[0]]}),
        (as_bedrock_request, with_content("user", CONVERSE_BLOCKS[0])),
        (as_mcp_request, with_content("assistant", MCP_CALLS[0])),
    ]
    # A message of sampling is recognized in any history.
    assert [
        (request_of(as_request, None, message), request_of(as_request, "vercel", message))
        for as_request, message in messages
    ] == [*((message, None) for _, message in messages[:-1]), (messages[-1][1],) * 2]


def test_links_and_structured_content_depend_on_the_revision_of_mcp() -> None:
    assert_blocks(
        mcp_accepts_block, "user", accepted=RESOURCES, refused=[*ODD_RESOURCES, TEXT, *MCP_CALLS]
    )
    revisions: list[McpRevision] = ["2025-03-26", "2025-06-18", "2026-07-28"]
    values: list[JsonValue] = [{}, [], None]
    assert [
        [mcp_accepts_block(block, "user", revision) for block in RESOURCES]
        for revision in revisions[:2]
    ] == [[True, False], [True, True]]
    assert [
        [accepts_structured(value, revision=revision) for value in values] for revision in revisions
    ] == [[False] * 3, [True, False, False], [True] * 3]
    assert accepts_structured(None)


VERCEL_CALL: JsonObject = {"type": "tool-call", "toolCallId": "c", "toolName": "l", "input": {}}
VERCEL_FILE: JsonObject = {"type": "file", "data": "AA==", "mediaType": "application/pdf"}
VERCEL_FILE_7: JsonObject = {"type": "file", "data": {"type": "data"}, "mediaType": "image/png"}


def vercel_result(output: JsonValue) -> JsonObject:
    return {"type": "tool-result", "toolCallId": "c", "toolName": "l", "output": output}


VERCEL_CONTENT = vercel_result({"type": "content", "value": []})
VERCEL_PARTS: list[JsonObject] = [
    TEXT,
    {"type": "reasoning", "text": ""},
    {"type": "image", "image": PICTURE},
    VERCEL_FILE,
    VERCEL_CALL,
    vercel_result({"type": "text", "value": ""}),
    vercel_result({"type": "error-text", "value": ""}),
    vercel_result({"type": "json", "value": None}),
    *(
        {"type": kind}
        for kind in ("reasoning-file", "custom", "tool-approval-request", "tool-approval-response")
    ),
]
ODD_VERCEL_PARTS: list[JsonObject] = [
    {"type": "text", "text": ""},
    {"type": "reasoning"},
    {"type": "image", "image": {}},
    {"type": "file", "data": 7, "mediaType": "application/pdf"},
    {"type": "file", "data": "AA=="},
    {"type": "tool-call", "toolCallId": "c", "toolName": "l", "input": "{}"},
    vercel_result("Hi."),
    vercel_result({}),
    vercel_result({"type": "text", "value": 7}),
    vercel_result({"type": "error-text"}),
    vercel_result({"type": "content", "value": "Hi."}),
    {"type": "source-url"},
    {"text": "Hi."},
]


def test_messages_of_the_ai_sdk() -> None:
    parts = [*VERCEL_PARTS, VERCEL_FILE_7, VERCEL_CONTENT]
    assert_requests(
        as_vercel_request,
        "vercel",
        accepted=[
            {"role": "user", "content": "Hi."},
            {"role": "assistant", "content": "Hi.", "providerOptions": {}},
            *(with_content(role, *parts) for role in ("user", "assistant", "tool")),
        ],
        refused=[
            {"role": "system", "content": "Hi."},
            {"role": "tool", "content": "Hi."},
            {"role": "user", "content": ""},
            {"role": "user", "content": []},
            {"role": "user", "content": {}},
            {"role": "user", "content": "Hi.", "name": "ann"},
            with_content("user", "Hi."),
            *(with_content("user", TEXT, part) for part in ODD_VERCEL_PARTS),
        ],
    )
    assert_requests(
        as_request_6,
        "vercel",
        accepted=[{"role": "user", "content": "Hi."}, with_content("tool", *VERCEL_PARTS)],
        refused=[
            *(with_content("user", TEXT, part) for part in (VERCEL_FILE_7, VERCEL_CONTENT)),
            *(with_content("user", TEXT, part) for part in ODD_VERCEL_PARTS),
        ],
    )


def test_parts_of_the_ai_sdk_in_messages_and_in_outputs() -> None:
    newer = [VERCEL_FILE_7, VERCEL_CONTENT]
    for role in ("user", "assistant"):
        assert_blocks(
            vercel_accepts_part, role, accepted=[*VERCEL_PARTS, *newer], refused=ODD_VERCEL_PARTS
        )
        assert_blocks(
            accepts_part_6, role, accepted=VERCEL_PARTS, refused=[*ODD_VERCEL_PARTS, *newer]
        )
    ids: list[JsonObject] = [
        {"type": "file-id", "fileId": "f"},
        {"type": "image-file-id", "fileId": {"openai": "f"}},
        {"type": "custom"},
    ]
    references: list[JsonObject] = [
        VERCEL_FILE_7,
        {"type": "file-reference", "providerReference": {}},
        {"type": "image-file-reference", "providerReference": {}},
    ]
    odd: list[JsonObject] = [
        TEXT,
        VERCEL_FILE,
        {"type": "file-id"},
        {"type": "image-file-id", "fileId": 7},
        {"type": "file-reference"},
        {"type": "image-file-reference", "providerReference": "f"},
        {"type": "file", "data": {}},
    ]
    assert_blocks(vercel_accepts_part, "tool", accepted=[*ids, *references], refused=odd)
    assert_blocks(accepts_part_6, "tool", accepted=ids, refused=[*references, *odd])


def test_messages_of_langchain() -> None:
    blocks: list[JsonObject] = [
        {"type": "text"},
        *({"type": kind, "file_id": "f"} for kind in ("image", "audio", "video", "file")),
        {"cachePoint": {}},
    ]
    odd: list[JsonObject] = [
        {"type": ""},
        {"type": 7},
        *({"type": kind, "file_id": 7} for kind in ("image", "audio", "video", "file")),
    ]
    kinds = ("human", "ai", "system", "tool", "function")
    accepted: list[JsonObject] = [
        *({"type": kind, "content": ""} for kind in kinds),
        {"type": "ai", "content": ["Hi.", *blocks], "response_metadata": {"a": 1}},
    ]
    refused: list[JsonObject] = [
        {"type": "remove", "content": "Hi."},
        {"content": "Hi."},
        {"type": "ai", "role": "assistant", "content": "Hi."},
        {"type": "ai", "content": None},
        {"type": "ai", "content": [7]},
        *({"type": "ai", "content": ["Hi.", block]} for block in odd),
    ]
    messages = [*accepted, *refused]
    assert [request_of(as_langchain_request, "langchain", message) for message in messages] == [
        *accepted,
        *[None] * len(refused),
    ]
    assert request_of(as_langchain_request, None, accepted[0]) is None
    assert_blocks(langchain_accepts_block, "user", accepted=blocks, refused=odd)


def test_only_thoughts_of_the_assistant_are_blocks_of_other_targets() -> None:
    thoughts: dict[Callable[[JsonObject, TurnRole], bool], JsonObject] = {
        mistral_accepts_block: {
            "type": "thinking",
            "thinking": [
                TEXT,
                {"type": "reference", "reference_ids": [1]},
                {"type": "tool_reference", "tool": "look", "title": "A"},
            ],
        },
        ollama_accepts_block: {"thinking": "Hm."},
        otel_genai_accepts_block: {"type": "reasoning", "content": "Hm."},
        pydantic_ai_accepts_block: {"part_kind": "thinking", "content": "Hm."},
    }
    for accepts, thought in thoughts.items():
        odd = [{**thought, name: 7} for name in thought]
        assert_blocks(accepts, "assistant", accepted=[thought], refused=[*odd, TEXT, {}])
        assert_blocks(accepts, "user", accepted=[], refused=[thought])
    assert_blocks(
        mistral_accepts_block,
        "assistant",
        accepted=[{"type": "thinking", "thinking": []}],
        refused=[
            {"type": "thinking", "thinking": [item]}
            for item in (
                *("Hm.", {}, {"type": "text"}, {"type": "image_url"}),
                {"type": "reference", "reference_ids": 1},
                {"type": "tool_reference", "tool": "look"},
                {"type": "tool_reference", "title": "A"},
            )
        ],
    )
