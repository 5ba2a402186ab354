"""Results as protocols between agents, hosts and observers have them.

Each package is imported by its own function: one that is broken ends its own dialect alone.
"""

from collections.abc import Iterator
from typing import Any

from cases import BOOM, CALL, PNG, PNG64, SECRET, WORDS, Case, case, dumps, given


def a2a() -> Iterator[Case]:
    from a2a import types
    from a2a.compat.v0_3 import types as old
    from google.protobuf.json_format import MessageToDict

    text = types.Part(text=WORDS)
    raw = types.Part(raw=PNG, filename="a.png", media_type="image/png")
    contents: list[tuple[list[Any], list[str], int]] = [
        ([text], [WORDS], 0),
        ([raw], [], 1),
        ([text, raw], [WORDS], 1),
    ]
    expected = {"call": None, "tool": None}
    for parts, texts, images in contents:
        for more in given(
            {"name": "n", "description": SECRET, "metadata": {"k": SECRET}, "extensions": ["x"]}
        ):
            artifact = types.Artifact(artifact_id="x", parts=parts, **more)
            event = types.TaskArtifactUpdateEvent(
                task_id="t", context_id="c", artifact=artifact, last_chunk=True
            )
            for item in (artifact, event) if not more else (artifact,):
                for how in (
                    {},
                    {"preserving_proto_field_name": True},
                    {"always_print_fields_with_no_presence": True},
                ):
                    yield case(MessageToDict(item, **how), *texts, images=images, **expected)
        answer = types.StreamResponse(artifact_update=event)
        for how in ({}, {"preserving_proto_field_name": True}):
            got = MessageToDict(answer, **how)
            yield case(got, *texts, images=images, **expected)
            rpc = {"jsonrpc": "2.0", "id": 1, "result": got}
            yield case(rpc, *texts, images=images, **expected)
    data = types.Part()
    data.data.struct_value.update({"rows": 3.0})
    artifact = types.Artifact(artifact_id="x", parts=[data])
    yield case(MessageToDict(artifact), '{"rows":3.0}', **expected)
    words = old.Part(root=old.TextPart(text=WORDS, metadata={"k": SECRET}))
    file = old.FileWithBytes(bytes=PNG64, mime_type="image/png", name="a.png")
    picture = old.Part(root=old.FilePart(file=file))
    rows = old.Part(root=old.DataPart(data={"rows": 3}))
    for parts, texts, images in (
        ([words], [WORDS], 0),
        ([picture], [], 1),
        ([words, rows], [WORDS, '{"rows":3}'], 0),
    ):
        artifact = old.Artifact(artifact_id="x", name="n", parts=parts)
        yield from (case(dump, *texts, images=images, **expected) for dump in dumps(artifact))
        event = old.TaskArtifactUpdateEvent(artifact=artifact, context_id="c", task_id="t")
        yield from (case(dump, *texts, images=images, **expected) for dump in dumps(event))


def acp() -> Iterator[Case]:
    from acp import schema as s

    text = s.ContentToolCallContent(
        type="content", content=s.TextContentBlock(type="text", text=WORDS)
    )
    noted = s.ContentToolCallContent(
        type="content",
        content=s.TextContentBlock(type="text", text=WORDS, field_meta={"k": SECRET}),
    )
    image = s.ContentToolCallContent(
        type="content",
        content=s.ImageContentBlock(type="image", data=PNG64, mime_type="image/png"),
    )
    terminal = s.TerminalToolCallContent(type="terminal", terminal_id=SECRET)
    contents: list[tuple[list[Any], list[str], int]] = [
        ([text], [WORDS], 0),
        ([image], [], 1),
        ([text, image], [WORDS], 1),
        ([text, terminal], [WORDS, "[block: terminal]"], 0),
        ([noted, image], [WORDS], 1),
    ]
    options = {
        "kind": "read",
        "title": SECRET,
        "locations": [s.ToolCallLocation(path=SECRET)],
        "raw_input": {"a": SECRET},
        "raw_output": {"k": SECRET},
        "field_meta": {"k": SECRET},
    }
    for content, texts, images in contents:
        for status in ("completed", "failed"):
            expected = {"images": images, "failed": status == "failed", "tool": None}
            for more in given(options) if content == [text] else [{}, options]:
                built = s.ToolCallProgress(
                    tool_call_id=CALL,
                    session_update="tool_call_update",
                    status=status,
                    content=content,
                    **more,
                )
                few = [*dumps(built)]
                for item in few if not more else few[3:5]:
                    yield case(item, *texts, **expected)
            note = s.SessionNotification(session_id="s", update=built)
            yield from (case(dump, *texts, **expected) for dump in [*dumps(note)][:5])
            rpc = {"jsonrpc": "2.0", "method": "session/update"}
            yield from (case({**rpc, "params": e}, *texts, **expected) for e in [*dumps(note)][3:5])
            bare = s.ToolCallUpdate(tool_call_id=CALL, status=status, content=content)
            yield from (case(dump, *texts, **expected) for dump in dumps(bare))
    built = s.ToolCallProgress(
        tool_call_id=CALL, session_update="tool_call_update", status="completed", raw_output=WORDS
    )
    yield from (case(dump, WORDS, tool=None) for dump in dumps(built))


def ag_ui() -> Iterator[Case]:
    from ag_ui.core import (
        DataSource,
        ImagePart,
        TextPart,
        ToolCallResultEvent,
        ToolMessage,
    )

    image = ImagePart(source=DataSource(value=PNG64, mime_type="image/png"))
    noted = ImagePart(
        source=DataSource(value=PNG64, mime_type="image/png"), id="p", metadata={"k": SECRET}
    )
    contents: list[tuple[Any, list[str], int]] = [
        (WORDS, [WORDS], 0),
        ([TextPart(text=WORDS)], [WORDS], 0),
        ([TextPart(text=WORDS, id="t", metadata={"k": SECRET})], [WORDS], 0),
        ([image], [], 1),
        ([noted], [], 1),
        ([TextPart(text=WORDS), image], [WORDS], 1),
    ]
    for content, texts, images in contents:
        expected = {"images": images, "tool": None}
        extras = {"metadata": {"k": SECRET}, "subagent_run_id": "s"}
        noise = {"timestamp": 1, "raw_event": {"k": SECRET}, "role": "tool"}
        for more in given({**extras, **noise}) if content == WORDS else [{}]:
            event = ToolCallResultEvent(message_id="m", tool_call_id=CALL, content=content, **more)
            for dump in dumps(event):
                if "type" in dump:
                    yield case(dump, *texts, **expected)
        for more in given({**extras, "encrypted_value": SECRET}) if content == WORDS else [{}]:
            message = ToolMessage(id="m", tool_call_id=CALL, content=content, **more)
            for dump in dumps(message):
                if "role" in dump:
                    yield case(dump, *texts, **expected)
    for content, error, words in ((BOOM, SECRET, BOOM), ("", BOOM, BOOM)):
        message = ToolMessage(id="m", tool_call_id=CALL, content=content, error=error)
        for dump in dumps(message):
            if "role" in dump:
                yield case(dump, words, failed=True, tool=None)


def otel_genai() -> Iterator[Case]:
    from dataclasses import asdict

    from opentelemetry.util.genai.types import InputMessage, ToolCallResponsePart

    for response, texts in ((WORDS, [WORDS]), ({"rows": 3}, ['{"rows":3}']), (None, [])):
        for call in (CALL, None):
            part = ToolCallResponsePart(response=response, id=call)
            expected = {"call": call, "tool": None}
            yield case(asdict(part), *texts, **expected)
            yield case(asdict(InputMessage("tool", [part])), *texts, **expected)


def mcp() -> Iterator[Case]:
    from mcp import types as t

    text = t.TextContent(type="text", text=WORDS)
    image = t.ImageContent(type="image", data=PNG64, mime_type="image/png")
    rows = {"rows": 3}
    expected = {"call": None, "tool": None}
    contents: list[tuple[list[Any], list[str], int]] = [
        ([text], [WORDS], 0),
        ([image], [], 1),
        ([text, image], [WORDS], 1),
        ([], [], 0),
    ]
    for content, texts, images in contents:
        for more in given({"structured_content": rows, "is_error": True, "_meta": {"k": SECRET}}):
            result = t.CallToolResult(content=content, **more)
            shown = texts if content or "structured_content" not in more else ['{"rows":3}']
            failed = "is_error" in more
            for dump in dumps(result):
                if "content" not in dump:
                    continue
                yield case(dump, *shown, images=images, failed=failed, **expected)
            response = {"jsonrpc": "2.0", "id": 7, "result": dump}
            yield case(response, *shown, images=images, failed=failed, **expected)
            block = t.ToolResultContent(
                type="tool_result", tool_use_id=CALL, content=content, **more
            )
            shown = texts if content or "structured_content" not in more else ['{"rows":3}']
            for dump in dumps(block):
                yield case(dump, *shown, images=images, failed=failed, tool=None)
    error = t.ErrorData(code=-32000, message=BOOM)
    answer = {"jsonrpc": "2.0", "id": 7, "error": error.model_dump(mode="json")}
    yield case(answer, BOOM, failed=True, **expected)
