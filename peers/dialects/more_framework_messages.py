"""Messages and histories as more agent frameworks have them.

Each package is imported by its own function: one that is broken ends its own dialect alone.
"""

import io
from collections.abc import Iterator
from typing import Any

from cases import (
    ARGUMENTS,
    ARGUMENTS_TEXT,
    ASKED,
    CALL,
    DONE,
    IMAGE,
    PNG,
    PNG64,
    SAID,
    SECRET,
    TOOL,
    WHEN,
    WORDS,
    Case,
    bare_and_full,
    columns,
    dumps,
    history,
    message,
)


def llama_index() -> Iterator[Case]:
    from llama_index.core.base.llms import types as b

    text, said = b.TextBlock(text=ASKED), b.TextBlock(text=SAID)
    picture = b.ImageBlock(image=PNG, image_mimetype="image/png")
    document = b.DocumentBlock(data=PNG, title="a.png", document_mimetype="image/png")
    thought = b.ThinkingBlock(content=SECRET)
    call = b.ToolCallBlock(tool_call_id=CALL, tool_name=TOOL, tool_kwargs=ARGUMENTS)
    text_call = b.ToolCallBlock(tool_call_id=CALL, tool_name=TOOL, tool_kwargs=ARGUMENTS_TEXT)
    point = b.CachePoint(cache_control=b.CacheControl(type="ephemeral", ttl="5m"))
    function = {"name": TOOL, "arguments": ARGUMENTS_TEXT}
    listed = {"tool_calls": [{"id": CALL, "type": "function", "function": function}]}
    answered = {"tool_call_id": CALL, "name": TOOL}
    contents: list[tuple[str, str, list[Any], Case, tuple[str, ...], Case]] = [
        ("system", "system", [text], {}, (ASKED,), {}),
        ("developer", "system", [text], {}, (ASKED,), {}),
        ("user", "user", [text], {}, (ASKED,), {}),
        ("user", "user", [text, point], {}, (ASKED,), {}),
        ("user", "user", [text, picture], {}, (ASKED,), {"images": 1}),
        ("user", "user", [text, document], {}, (ASKED,), {"images": 1}),
        ("assistant", "assistant", [said], {}, (SAID,), {}),
        ("model", "assistant", [said], {}, (SAID,), {}),
        ("chatbot", "assistant", [said], {}, (SAID,), {}),
        ("assistant", "assistant", [thought, said, call], {}, (SAID,), {"calls": 1}),
        ("assistant", "assistant", [text_call], {}, (), {"calls": 1}),
        ("assistant", "assistant", [said], listed, (SAID,), {"calls": 1}),
        ("assistant", "assistant", [said, call], listed, (SAID,), {"calls": 1}),
        ("tool", "tool", [b.TextBlock(text=WORDS)], answered, (), {"answers": (WORDS,)}),
        ("function", "tool", [b.TextBlock(text=WORDS)], answered, (), {"answers": (WORDS,)}),
    ]
    for role, said_by, blocks, more, texts, expect in contents:
        built = b.ChatMessage(role=role, blocks=blocks, additional_kwargs=more)
        yield from (message(dump, said_by, *texts, **expect) for dump in dumps(built))


def llama_index_histories() -> Iterator[Case]:
    from llama_index.core.base.llms import types as b

    picture = b.ImageBlock(image=PNG, image_mimetype="image/png")
    call = b.ToolCallBlock(tool_call_id=CALL, tool_name=TOOL, tool_kwargs=ARGUMENTS)
    answered = {"tool_call_id": CALL, "name": TOOL}
    words = b.TextBlock(text=WORDS)
    models = [
        b.ChatMessage(role="user", blocks=[b.TextBlock(text=ASKED), picture]),
        b.ChatMessage(role="assistant", blocks=[b.TextBlock(text=SAID), call]),
        b.ChatMessage(role="tool", blocks=[words], additional_kwargs=answered),
        b.ChatMessage(role="assistant", blocks=[b.TextBlock(text=DONE)]),
    ]
    for column in columns(*models):
        yield history(column)
        yield history({"messages": column})


def haystack() -> Iterator[Case]:
    from haystack.dataclasses import ChatMessage, ImageContent, ReasoningContent, ToolCall

    picture = ImageContent(base64_image=PNG64, mime_type="image/png")
    for meta in ({}, {"k": SECRET}):
        for name in (None, "n"):
            more = {"meta": meta, "name": name}
            yield message(ChatMessage.from_user(ASKED, **more).to_dict(), "user", ASKED)
            built = ChatMessage.from_user(content_parts=[ASKED, picture], **more)
            yield message(built.to_dict(), "user", ASKED, images=1)
            yield message(ChatMessage.from_system(ASKED, **more).to_dict(), "system", ASKED)
            yield message(ChatMessage.from_assistant(SAID, **more).to_dict(), "assistant", SAID)
        for extra in (None, {"k": SECRET}):
            call = ToolCall(TOOL, ARGUMENTS, id=CALL, extra=extra)
            for text, texts in ((SAID, (SAID,)), (None, ())):
                built = ChatMessage.from_assistant(text, tool_calls=[call], meta=meta)
                yield message(built.to_dict(), "assistant", *texts, calls=1)
            thought = ReasoningContent(SECRET, extra=extra or {})
            built = ChatMessage.from_assistant(SAID, reasoning=thought, tool_calls=[call])
            yield message(built.to_dict(), "assistant", SAID, calls=1)
            for error in (False, True):
                built = ChatMessage.from_tool(WORDS, call, error=error, meta=meta)
                yield message(built.to_dict(), "tool", answers=(WORDS,))


def haystack_histories() -> Iterator[Case]:
    from haystack.dataclasses import ChatMessage, ImageContent, ToolCall

    picture = ImageContent(base64_image=PNG64, mime_type="image/png")
    call = ToolCall(TOOL, ARGUMENTS, id=CALL)
    models = [
        ChatMessage.from_user(content_parts=[ASKED, picture]),
        ChatMessage.from_assistant(SAID, tool_calls=[call]),
        ChatMessage.from_tool(WORDS, call),
        ChatMessage.from_assistant(DONE),
    ]
    for listed in (
        [model.to_dict() for model in models],
        [model.to_openai_dict_format() for model in models],
    ):
        yield history(listed)
        yield history({"messages": listed})


def agent_framework() -> Iterator[Case]:
    from agent_framework import Content, Message

    text, said = Content.from_text(ASKED), Content.from_text(SAID)
    picture = Content.from_data(PNG, "image/png")
    call = Content.from_function_call(CALL, TOOL, arguments=ARGUMENTS)
    text_call = Content.from_function_call(CALL, TOOL, arguments=ARGUMENTS_TEXT)
    thought = Content.from_text_reasoning(text=SECRET)
    answer = Content.from_function_result(CALL, result=WORDS)
    failed = Content.from_function_result(CALL, result=WORDS, exception=SECRET)
    shown = Content.from_function_result(CALL, result=[Content.from_text(WORDS), picture])
    contents: list[tuple[str, list[Any], tuple[str, ...], Case]] = [
        ("system", [text], (ASKED,), {}),
        ("user", [text], (ASKED,), {}),
        ("user", [text, picture], (ASKED,), {"images": 1}),
        ("assistant", [said], (SAID,), {}),
        ("assistant", [thought, said, call], (SAID,), {"calls": 1}),
        ("assistant", [text_call], (), {"calls": 1}),
        ("tool", [answer], (), {"answers": (WORDS,)}),
        ("tool", [failed], (), {"answers": (WORDS,)}),
        ("tool", [shown], (), {"answers": (WORDS,), "images": 1}),
    ]
    options = {"author_name": "n", "message_id": "m"}
    options["additional_properties"] = {"k": SECRET}
    for role, parts, texts, expect in contents:
        for more in bare_and_full(options):
            built = Message(role, parts, **more)
            for item in (built.to_dict(), built.to_dict(exclude_none=False)):
                yield message(item, role, *texts, **expect)


def agent_framework_tools() -> Iterator[Case]:
    """Calls that the provider runs, and consent to calls."""
    from agent_framework import Content, Message

    words, picture = Content.from_text(WORDS), Content.from_data(PNG, "image/png")
    call = Content.from_function_call(CALL, TOOL, arguments=ARGUMENTS)
    request = Content.from_function_approval_request("r", call)
    shell = Content.from_shell_command_output(stdout=WORDS, exit_code=0)
    called, one = {"calls": 1}, {"answers": (WORDS,)}
    run = {"arguments": ARGUMENTS}
    contents: list[tuple[str, str, Any, Case]] = [
        ("assistant", "assistant", request, called),
        ("assistant", "assistant", Content.from_mcp_server_tool_call(CALL, TOOL, **run), called),
        (
            *("assistant", "assistant"),
            *(Content.from_search_tool_call(CALL, tool_name=TOOL, **run), called),
        ),
        ("tool", "tool", Content.from_mcp_server_tool_result(CALL, output=WORDS), one),
        ("tool", "tool", Content.from_mcp_server_tool_result(CALL, output=[words]), one),
        ("tool", "tool", Content.from_search_tool_result(CALL, tool_name=TOOL, items=[words]), one),
        (
            *("tool", "tool"),
            *(Content.from_code_interpreter_tool_result(call_id=CALL, outputs=[words]), one),
        ),
        ("tool", "tool", Content.from_shell_tool_result(call_id=CALL, outputs=[shell]), one),
        (
            *("tool", "tool"),
            *(Content.from_computer_tool_result(call_id=CALL, screenshot=picture), {"images": 1}),
        ),
        ("user", "user", Content.from_function_approval_response(True, "r", call), {}),
        (
            *("user", "tool", Content.from_function_approval_response(False, "r", call)),
            {"answers": ("[The user denied this call.]",)},
        ),
    ]
    for role, said_by, part, expect in contents:
        for how in ({}, {"exclude_none": False}):
            yield message(Message(role, [part]).to_dict(**how), said_by, **expect)
    both = Message("assistant", [Content.from_text(SAID), call, request])
    yield message(both.to_dict(), "assistant", SAID, calls=1)


def agent_framework_histories() -> Iterator[Case]:
    from agent_framework import Content, Message

    call = Content.from_function_call(CALL, TOOL, arguments=ARGUMENTS)
    picture = Content.from_data(PNG, "image/png")
    models = [
        Message("user", [Content.from_text(ASKED), picture]),
        Message("assistant", [Content.from_text(SAID), call]),
        Message("tool", [Content.from_function_result(CALL, result=WORDS)]),
        Message("assistant", [Content.from_text(DONE)]),
    ]
    for how in ({}, {"exclude_none": False}):
        listed = [model.to_dict(**how) for model in models]
        yield history(listed)
        yield history({"messages": listed})


def autogen() -> Iterator[Case]:
    from autogen_agentchat import messages as e
    from autogen_core import FunctionCall
    from autogen_core import models as m

    call = FunctionCall(id=CALL, arguments=ARGUMENTS_TEXT, name=TOOL)
    answer = m.FunctionExecutionResult(content=WORDS, name=TOOL, call_id=CALL)
    failed = m.FunctionExecutionResult(content=WORDS, name=TOOL, call_id=CALL, is_error=True)
    models: list[tuple[Any, str, tuple[str, ...], Case]] = [
        (m.SystemMessage(content=ASKED), "system", (ASKED,), {}),
        (m.UserMessage(content=ASKED, source="user"), "user", (ASKED,), {}),
        (m.AssistantMessage(content=SAID, source="root"), "assistant", (SAID,), {}),
        (m.AssistantMessage(content=SAID, thought=SECRET, source="root"), "assistant", (SAID,), {}),
        (m.AssistantMessage(content=[call], source="root"), "assistant", (), {"calls": 1}),
    ]
    for item in (answer, failed):
        built = m.FunctionExecutionResultMessage(content=[item])
        models.append((built, "tool", (), {"answers": (WORDS,)}))
    usage = m.RequestUsage(prompt_tokens=1, completion_tokens=1)
    for more in bare_and_full({"metadata": {"k": SECRET}, "models_usage": usage}):
        around = {"id": "e-1", "created_at": WHEN, "source": "root", **more}
        asked = {**around, "source": "user"}
        models += [
            (e.TextMessage(content=ASKED, **asked), "user", (ASKED,), {}),
            (e.TextMessage(content=SAID, **around), "assistant", (SAID,), {}),
            (e.ToolCallRequestEvent(content=[call], **around), "assistant", (), {"calls": 1}),
            (
                e.ToolCallExecutionEvent(content=[answer], **around),
                *("tool", (), {"answers": (WORDS,)}),
            ),
            (e.ThoughtEvent(content=SECRET, **around), "assistant", (), {}),
            (e.StopMessage(content=SAID, **around), "assistant", (SAID,), {}),
            (e.HandoffMessage(content=SAID, target="b", **around), "assistant", (SAID,), {}),
        ]
    for model, role, texts, expect in models:
        for dump in dumps(model):
            if "type" in dump:
                yield message(dump, role, *texts, **expect)
    for model in _autogen_pictures():
        whole = model.model_dump(mode="json")
        made = message(whole, "user", ASKED, images=1)
        made["expect"]["media"] = [_written_by_autogen(whole)]
        yield made


def _autogen_pictures() -> list[Any]:
    from autogen_agentchat.messages import MultiModalMessage
    from autogen_core import Image
    from autogen_core.models import UserMessage
    from PIL import Image as Pictures

    content = [ASKED, Image(Pictures.open(io.BytesIO(PNG)))]
    event = MultiModalMessage(content=content, source="user", id="e-1", created_at=WHEN)
    return [UserMessage(content=content, source="user"), event]


def _written_by_autogen(message: Case) -> str:
    """Return the digest of the picture: AutoGen writes pictures anew."""
    import base64
    import hashlib

    data = message["content"][1]["data"]
    return hashlib.sha256(base64.b64decode(data)).hexdigest()[: len(IMAGE)]


def autogen_histories() -> Iterator[Case]:
    from autogen_agentchat import messages as e
    from autogen_core import FunctionCall
    from autogen_core import models as m

    call = FunctionCall(id=CALL, arguments=ARGUMENTS_TEXT, name=TOOL)
    answer = m.FunctionExecutionResult(content=WORDS, name=TOOL, call_id=CALL)
    models = [
        m.UserMessage(content=ASKED, source="user"),
        m.AssistantMessage(content=[call], source="root"),
        m.FunctionExecutionResultMessage(content=[answer]),
        m.AssistantMessage(content=DONE, source="root"),
    ]
    around = {"created_at": WHEN, "source": "root"}
    events = [
        e.TextMessage(content=ASKED, id="e-1", created_at=WHEN, source="user"),
        e.ThoughtEvent(content=SECRET, id="e-2", **around),
        e.ToolCallRequestEvent(content=[call], id="e-3", **around),
        e.ToolCallExecutionEvent(content=[answer], id="e-4", **around),
        e.TextMessage(content=DONE, id="e-5", **around),
    ]
    for listed in (models, events):
        told = [item.model_dump(mode="json") for item in listed]
        yield history(told, ASKED, DONE, images=0)
        yield history({"messages": told}, ASKED, DONE, images=0)
    state = {"type": "AssistantAgentState", "version": "1.0.0", "llm_context": {}}
    state["llm_context"] = {"messages": [model.model_dump(mode="json") for model in models]}
    yield history(state, ASKED, DONE, images=0)
