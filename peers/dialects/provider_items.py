"""Messages with what only one provider has: server tools, documents, code, screens and shells.

Each package is imported by its own function: one that is broken ends its own dialect alone.
"""

from collections.abc import Iterator

from cases import (
    ARGUMENTS,
    ARGUMENTS_TEXT,
    ASKED,
    BOOM,
    CALL,
    DONE,
    PNG,
    PNG64,
    PNG_URI,
    SAID,
    SECRET,
    TOOL,
    URL,
    WORDS,
    Case,
    dumps,
    given,
    history,
    message,
)

_USER = {"role": "user", "content": ASKED}


def openai_responses() -> Iterator[Case]:
    """Items beside messages, and calls that MCP servers answered."""
    from openai.types import responses as r
    from openai.types.responses import response_input_item as i

    mcp = {"type": "mcp_call", "id": CALL, "name": TOOL, "arguments": ARGUMENTS_TEXT}
    mcp["server_label"] = SECRET
    failed = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": BOOM}]}
    for more in ({"output": WORDS}, {"error": failed}):
        for beside in given({"status": "completed", "approval_request_id": "r"}):
            built = i.McpCall.model_validate({**mcp, **more, **beside})
            answers = (WORDS,) if "output" in more else (BOOM,)
            yield from (
                message(dump, "assistant", calls=1, answers=answers) for dump in dumps(built)
            )
    for model, item in (
        (i.McpListTools, {"type": "mcp_list_tools", "server_label": SECRET, "tools": []}),
        (i.ImageGenerationCall, {"type": "image_generation_call", "result": PNG64}),
        (r.ResponseCompactionItem, {"type": "compaction", "encrypted_content": SECRET}),
        (
            r.ResponseFunctionWebSearch,
            {"type": "web_search_call", "action": {"type": "search", "query": SECRET}},
        ),
        (
            r.ResponseCodeInterpreterToolCall,
            {
                "type": "code_interpreter_call",
                "code": WORDS,
                "container_id": "c",
                "outputs": [{"type": "logs", "logs": DONE}],
            },
        ),
        (r.ResponseFileSearchToolCall, {"type": "file_search_call", "queries": [SECRET]}),
    ):
        built = model.model_validate({**item, "id": "i_1", "status": "completed"})
        # Blocks of the provider alone become words; the assistant has no pictures.
        texts = (WORDS, DONE) if item["type"] == "code_interpreter_call" else ()
        yield from (message(dump, "assistant", *texts) for dump in dumps(built))


def openai_responses_tools() -> Iterator[Case]:
    """Calls of tools that are no functions, and their outputs."""
    from openai.types import responses as r
    from openai.types.responses import response_input_item as i

    for model, item in (
        (
            i.ShellCallOutput,
            {
                "type": "shell_call_output",
                "output": [
                    {
                        "stdout": WORDS,
                        "stderr": "",
                        "outcome": {"type": "exit", "exit_code": 0},
                    }
                ],
            },
        ),
        (
            i.ApplyPatchCallOutput,
            {"type": "apply_patch_call_output", "status": "completed", "output": WORDS},
        ),
        (i.ProgramOutput, {"type": "program_output", "result": WORDS, "status": "completed"}),
    ):
        built = model.model_validate({"call_id": CALL, "id": "o_1", **item})
        yield from (message(dump, "tool", answers=(WORDS,)) for dump in dumps(built))
    screen = {"type": "computer_screenshot", "image_url": PNG_URI}
    built = i.ComputerCallOutput.model_validate(
        {"type": "computer_call_output", "call_id": CALL, "output": screen}
    )
    yield from (message(dump, "tool", images=1) for dump in dumps(built))
    for model, item in (
        (
            r.ResponseComputerToolCall,
            {
                **{"type": "computer_call", "action": {"type": "screenshot"}},
                "pending_safety_checks": [],
            },
        ),
        (i.ShellCall, {"type": "shell_call", "action": {"commands": ["ls"]}}),
        (
            i.LocalShellCall,
            {"type": "local_shell_call", "action": {"type": "exec", "command": [], "env": {}}},
        ),
        (
            i.ApplyPatchCall,
            {"type": "apply_patch_call", "operation": {"type": "delete_file", "path": "a"}},
        ),
        (r.ResponseCustomToolCall, {"type": "custom_tool_call", "name": TOOL, "input": "x"}),
    ):
        built = model.model_validate({"call_id": CALL, "id": "c_1", "status": "completed", **item})
        yield from (message(dump, "assistant") for dump in dumps(built))


def openai_chat() -> Iterator[Case]:
    """Custom tools, functions of before, what OpenRouter and DeepSeek add."""
    from openai.types import chat as c

    function = {"name": TOOL, "arguments": ARGUMENTS_TEXT}
    built = c.ChatCompletionMessage.model_validate(
        {"role": "assistant", "content": SAID, "function_call": function}
    )
    yield from (message(dump, "assistant", SAID, calls=1) for dump in dumps(built))
    built = c.ChatCompletionFunctionMessageParam(role="function", name=TOOL, content=WORDS)
    yield message(built, "tool", answers=(WORDS,), call=None)
    details = [{"type": "reasoning.text", "text": SECRET, "signature": "s"}]
    for more in given({"reasoning_details": details, "reasoning_content": SECRET}):
        call = {"id": CALL, "type": "function", "function": function}
        block = {"role": "assistant", "content": SAID, "tool_calls": [call], **more}
        built = c.ChatCompletionMessage.model_validate(block)
        yield from (message(dump, "assistant", SAID, calls=1) for dump in dumps(built))


def mistral() -> Iterator[Case]:
    """Chunks that OpenAI has in other forms."""
    from mistralai.client import models as m

    chunks = [m.TextChunk(text=ASKED), m.ReferenceChunk(reference_ids=[1])]
    chunks.append(m.DocumentURLChunk(document_url=URL, document_name=SECRET))
    for count in (1, 2):
        built = m.UserMessage(content=chunks[:count])
        yield from (message(dump, "user", ASKED) for dump in dumps(built) if dump.get("role"))


def anthropic() -> Iterator[Case]:
    """Server tools with their results, documents, results of searches, MCP."""
    from anthropic import types as a
    from anthropic.types import beta as b

    usage = {"input_tokens": 1, "output_tokens": 1}
    around = {"id": "m_1", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    search = {"type": "server_tool_use", "id": "s_1", "name": "web_search"}
    search["input"] = {"query": SECRET}
    hit = {"type": "web_search_result", "title": "t", "url": URL, "encrypted_content": SECRET}
    found = {"type": "web_search_tool_result", "tool_use_id": "s_1", "content": [hit]}
    ran = {**search, "name": "code_execution", "input": {"code": WORDS}}
    output = {"type": "code_execution_result", "stdout": DONE, "stderr": "", "return_code": 0}
    told = {"type": "code_execution_tool_result", "tool_use_id": "s_1"}
    told["content"] = {**output, "content": []}
    cited = {"type": "web_search_result_location", "cited_text": SECRET, "url": URL, "title": "t"}
    text = {"type": "text", "text": SAID, "citations": [{**cited, "encrypted_index": SECRET}]}
    hits = f"t, {URL}"
    for content, texts in (
        ([search, found, text], (hits, SAID)),
        ([ran, told, text], (WORDS, DONE, SAID)),
    ):
        built = a.Message.model_validate({**around, "content": content})
        yield from (message(dump, "assistant", *texts) for dump in dumps(built))
    use = {"type": "mcp_tool_use", "id": CALL, "name": TOOL, "input": ARGUMENTS}
    use["server_name"] = SECRET
    answer = {"type": "mcp_tool_result", "tool_use_id": CALL, "is_error": False}
    answer["content"] = [{"type": "text", "text": WORDS}]
    built = b.BetaMessage.model_validate(
        {**around, "content": [use, answer, {"type": "text", "text": SAID}]}
    )
    yield from (
        message(dump, "assistant", SAID, calls=1, answers=(WORDS,)) for dump in dumps(built)
    )
    words = {"type": "text", "media_type": "text/plain", "data": ASKED}
    blocks = {"type": "content", "content": [{"type": "text", "text": ASKED}]}
    for source in (words, blocks, {"type": "content", "content": ASKED}):
        for more in given({"title": "t", "citations": {"enabled": True}}):
            document = a.DocumentBlockParam(type="document", source=source, **more)
            yield message({"role": "user", "content": [document]}, "user", ASKED)
    part = {"type": "text", "text": ASKED}
    hit = a.SearchResultBlockParam(type="search_result", source=URL, title="t", content=[part])
    upload = a.ContainerUploadBlockParam(type="container_upload", file_id=SECRET)
    source = {"type": "file", "file_id": SECRET}
    unseen = {"type": "image", "source": source}
    for content in ([part, upload], [part, unseen], [{**part, "citations": []}]):
        yield message({"role": "user", "content": content}, "user", ASKED)
    yield message({"role": "user", "content": [hit]}, "user", ASKED)
    tool = {"type": "tool_result", "tool_use_id": CALL}
    for inner in ({**document, "title": "t"}, hit):
        block = {**tool, "content": [inner]}
        yield message({"role": "user", "content": [block]}, "tool", answers=(ASKED,))


def gemini() -> Iterator[Case]:
    """Code that ran, files, several answers without ids."""
    from google.genai import types as g

    code = g.Part(executable_code=g.ExecutableCode(code=SAID, language="PYTHON"))
    output = g.Part(code_execution_result=g.CodeExecutionResult(outcome="OUTCOME_OK", output=DONE))
    built = g.Content(role="model", parts=[code, output])
    for dump in (*dumps(built), built.to_json_dict()):
        yield message(dump, "assistant", SAID, DONE)
    blob = g.FunctionResponseBlob(mime_type="image/png", data=PNG)
    answer = g.FunctionResponse(
        id=CALL,
        name=TOOL,
        response={"output": WORDS},
        parts=[g.FunctionResponsePart(inline_data=blob)],
    )
    built = g.Content(role="user", parts=[g.Part(function_response=answer)])
    for dump in (*dumps(built), built.to_json_dict()):
        yield message(dump, "tool", answers=(WORDS,), images=1)
    picture = g.Part(inline_data=g.Blob(mime_type="image/png", data=PNG))
    for beside in given(
        {
            "media_resolution": g.PartMediaResolution(level="MEDIA_RESOLUTION_LOW"),
            "media_processing": "MEDIA_PROCESSING_UNSPECIFIED",
            "part_metadata": {"k": SECRET},
            "speech_metadata": g.SpeechMetadata(speaker=SECRET),
            "audio_transcription": g.Transcription(text=SECRET),
        }
    ):
        built = g.Content(role="user", parts=[g.Part(text=ASKED, **beside), picture])
        yield from (message(dump, "user", ASKED, images=1) for dump in dumps(built))
        answer = g.FunctionResponse(id=CALL, name=TOOL, response={"output": WORDS})
        built = g.Content(role="user", parts=[g.Part(function_response=answer, **beside)])
        yield from (message(dump, "tool", answers=(WORDS,)) for dump in dumps(built))


def gemini_histories() -> Iterator[Case]:
    """Yield contents that the SDK accepts, and calls without ids."""
    from google.genai import types as g

    yield history({"contents": ASKED}, ASKED, calls=0, answers=(), images=0)
    yield history({"contents": [ASKED, SAID]}, ASKED, SAID, calls=0, answers=(), images=0)
    one = g.Content(role="user", parts=[g.Part(text=ASKED)])
    for dump in dumps(one):
        yield history({"contents": dump}, ASKED, calls=0, answers=(), images=0)
    call = g.Part(function_call=g.FunctionCall(name=TOOL, args=ARGUMENTS))
    answer = g.Part(function_response=g.FunctionResponse(name=TOOL, response={"output": WORDS}))
    said = g.Content(role="model", parts=[call])
    told = g.Content(role="user", parts=[answer])
    for first, second, third in zip(*map(dumps, (one, said, told)), strict=True):
        listed = [first, second, third]
        yield history(listed, ASKED, images=0, call=None)


def bedrock() -> Iterator[Case]:
    """Citations, guarded texts, documents of words, results of searches."""
    part = {"text": ASKED}
    cited = {"content": [{"text": SAID}], "citations": [{"title": SECRET}]}
    yield message(
        {"role": "assistant", "content": [{"citationsContent": cited}]}, "assistant", SAID
    )
    guarded = {"guardContent": {"text": {"text": ASKED, "qualifiers": ["query"]}}}
    document = {"format": "txt", "name": "d", "source": {"text": ASKED}}
    blocks = {**document, "source": {"content": [part]}}
    stored = {**document, "source": {"s3Location": {"uri": "s3://b/d"}}}
    found = {"source": URL, "title": "t", "content": [part], "citations": {"enabled": True}}
    for block in (guarded, {"document": document}, {"document": blocks}, {"searchResult": found}):
        yield message({"role": "user", "content": [block]}, "user", ASKED)
    yield message({"role": "user", "content": [part, {"document": stored}]}, "user", ASKED)
    result = {"toolUseId": CALL, "status": "success", "content": [{"document": document}]}
    yield message({"role": "user", "content": [{"toolResult": result}]}, "tool", answers=(ASKED,))
