"""MCP: results of tools, prompts, and messages of sampling requests."""

from collections.abc import Iterable, Iterator

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, by_presence, without_paths
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    call_block,
    compose_message,
    result_block,
)
from pagefault_dialects.dialects.message_forms import (
    ConversationForm,
    InnerReader,
    MessageBlock,
    MessageForm,
)
from pagefault_dialects.dialects.shapes import (
    Members,
    Object,
    accept_any,
    is_object,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import Content, ResultPath, ToolOutput
from pagefault_dialects.json.values import JsonObject, JsonValue

NAME = "mcp"
_RESPONSE_MEMBERS = frozenset(("jsonrpc", "id", "result", "error"))


def open_response(value: object) -> tuple[object, ResultPath, ToolOutput | None]:
    """Remove the envelope of a JSON-RPC 2.0 response, or the nested envelopes that proxies write.

    Returns:
        The result, the path to it, and `None`. For an error, the response, the path to its error,
        and the error as the output of a tool. For any other value, the value, an empty path, and
        `None`.
    """
    depth = 0
    outermost = value
    while isinstance(value, dict) and _is_response(value):
        if (error := value.get("error")) is not None:
            path = (*("result",) * depth, "error")
            return value, path, _read_error(error, path, find_response_id(outermost))
        value, depth = value["result"], depth + 1
    return value, ("result",) * depth, None


def make_bare_result(value: object, path: ResultPath, rest: Object) -> ToolOutput:
    """Return the output of a result in a response that has no envelope of a dialect inside."""
    return ToolOutput(NAME, (Content(value, path),), rest=rest)


def find_response_id(response: object) -> Object:
    """Return an object with the id of a response, for `ToolOutput.rest`; empty without an id."""
    members = response if isinstance(response, dict) else {}
    return {"response": {"id": members["id"]}} if members.get("id") is not None else {}


def _is_response(value: Object) -> bool:
    """Return whether an object is a JSON-RPC 2.0 response, with a result or an error."""
    if value.get("jsonrpc") != "2.0" or not value.keys() <= _RESPONSE_MEMBERS:
        return False
    if value.get("error") is not None:
        return value.get("result") is None
    return "result" in value


def _read_error(error: object, path: ResultPath, rest: Object) -> ToolOutput:
    """Return the output of an `error`: its message and data; other members are the rest."""
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return ToolOutput(NAME, (Content(error, path),), is_error=True, rest=rest)
    contents = [
        Content(error[name], (*path, name))
        for name in ("message", "data")
        if error.get(name) is not None
    ]
    other_members = without_paths(error, [("message",), ("data",)])
    return ToolOutput(
        NAME, tuple(contents), is_error=True, rest=other_members | rest, rest_path=path
    )


def _choose_task_contents(members: Members) -> Iterable[Content]:
    """Yield the message and the data of a task's error, or its result."""
    error = members["error"]
    if isinstance(error, dict):
        for name in ("message", "data"):
            if error.get(name) is not None:
                yield Content(error[name], members.path("error", name))
    elif "result" in members:
        yield Content(members["result"], members.path("result"))


# A finished task (SEP-2663), with its result or its error inlined.
_TASK = Envelope(
    marks=("taskId", "task_id"),
    shape=shape(
        {
            "taskId": is_string,
            "status": one_of("completed", "failed", "cancelled"),
            "createdAt": is_string,
            "lastUpdatedAt": is_string,
        },
        {
            **dict.fromkeys(("ttlMs", "ttl", "pollIntervalMs", "pollInterval"), accept_any),
            **dict.fromkeys(("resultType", "statusMessage", "requestState"), is_string),
            **dict.fromkeys(("result", "error", "_meta"), is_object),
        },
    ),
    contents=(),
    failure=by_presence("error"),
    accepts=lambda members: ("result" in members) != ("error" in members),
    choose_contents=_choose_task_contents,
)


def _read_rpc(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    """Yield the call or the result in a message of JSON-RPC; otherwise, the messages inside it."""
    params, result, call_id = value.get("params"), value.get("result"), str(value.get("id", ""))
    if value.get("method") == "tools/call" and isinstance(params, dict):
        call = call_block(call_id, params.get("name", ""), params.get("arguments") or {})
        yield compose_message("assistant", [("/params", call)], pointer, continues_turn=True)
    elif isinstance(result, dict) and "content" in result:
        yield _make_result_message(result, f"{pointer}/result", call_id)
    else:
        name = "params" if isinstance(params, dict) else "result"
        yield from reader.read_message(value.get(name), f"{pointer}/{name}")


def _read_result(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    """Yield the message of a `CallToolResult` that was sent without its response."""
    del reader
    yield _make_result_message(value, pointer, "")


def _make_result_message(result: JsonObject, pointer: str, call_id: str) -> ForeignMessage:
    # Renderings for MCP write the call into `_meta`, since the protocol has no member for it.
    meta = result.get("_meta")
    result_meta: JsonObject = meta if isinstance(meta, dict) else {}
    result_call_id = call_id or result_meta.get("pagefault/toolCallId")
    block = result_block(result_call_id, result_meta.get("pagefault/toolName"), result)
    return compose_message("tool", [("", block)], pointer)


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    yield reader.read_role_message(value, pointer, "mcp")


def _has_one_block(value: JsonObject) -> bool:
    """Return whether the content of a message is a block, and not a list of blocks."""
    content = value.get("content")
    return isinstance(content, dict) and isinstance(content.get("type"), str)


def _find_sampling(value: JsonObject) -> tuple[str, JsonObject] | None:
    """Return the object with the messages of a sampling request or response, after its pointer."""
    for name in ("params", "result"):
        wrapped = value.get(name)
        if isinstance(wrapped, dict) and (
            is_object_array(wrapped.get("messages")) or _is_sampling_response(wrapped)
        ):
            return f"/{name}", wrapped
    return None


def _is_sampling_response(value: JsonObject) -> bool:
    """Return whether an object is the response of a client's model to a sampling request."""
    return value.get("role") in ("user", "assistant") and "model" in value and "content" in value


def _read_sampling(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Yield the messages of a sampling request, or the message of its response."""
    found = _find_sampling(value)
    if found is None:
        return
    pointer, wrapped = found
    if "messages" not in wrapped:
        yield pointer, wrapped
        return
    for index, message in enumerate(wrapped["messages"]):
        yield f"{pointer}/messages/{index}", message


def _read_prompt(value: JsonValue) -> JsonObject:
    """Return the system prompt and the tools of a sampling request."""
    params = value.get("params")
    members: JsonObject = params if isinstance(params, dict) else {}
    return {name: members[name] for name in ("systemPrompt", "tools") if members.get(name)}


_MEDIA_MARKS = (("type", "image"), ("type", "audio"))

DIALECT = DialectTables(
    NAME,
    (_TASK,),
    messages=(
        MessageForm(
            marks=("jsonrpc",), accepts=lambda value: value["jsonrpc"] == "2.0", read=_read_rpc
        ),
        MessageForm(
            marks=("isError", "structuredContent"),
            accepts=lambda value: "content" in value and "role" not in value,
            read=_read_result,
        ),
        MessageForm(marks=("role",), accepts=_has_one_block, read=_read_message),
        MessageForm(
            marks=("stopReason", "stop_reason"),
            accepts=lambda value: "type" not in value and _is_sampling_response(value),
            read=_read_message,
        ),
    ),
    message_blocks=(
        MessageBlock(marks=(("type", "resource"), ("type", "resource_link"))),
        MessageBlock(
            marks=_MEDIA_MARKS,
            accepts=lambda block: isinstance(block.get("data"), str) and "mimeType" in block,
        ),
    ),
    conversations=(
        ConversationForm(
            marks=("jsonrpc",),
            accepts=lambda value: _find_sampling(value) is not None,
            read=_read_sampling,
            prompt=_read_prompt,
        ),
        ConversationForm(
            marks=("content",),
            accepts=lambda value: _is_sampling_response(value) and _has_one_block(value),
            read=lambda value: [("", value)],
            is_response=True,
        ),
    ),
    ignored_members=frozenset(("_meta", "meta", "model", "stopReason", "stop_reason")),
)
