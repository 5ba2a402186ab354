"""MCP: results of tools, prompts, and messages of its sampling."""

from collections.abc import Iterable, Iterator

from pagefault_dialects.dialects.envelope import Dialect, Envelope, by_presence, without_paths
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    answer_block,
    call_block,
    compose_message,
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
    anything,
    objects,
    one_of,
    record,
    shape,
    string,
)
from pagefault_dialects.dialects.tool_output import Content, Steps, ToolOutput
from pagefault_dialects.json.values import JsonObject, JsonValue

NAME = "mcp"
_RESPONSE = frozenset(("jsonrpc", "id", "result", "error"))


def open_responses(value: object) -> tuple[object, Steps, ToolOutput | None]:
    """Open a JSON-RPC 2.0 response (section 5), or nested ones, as proxies make them.

    Returns:
        The result inside and its path, or the text of an error.
    """
    depth = 0
    outermost = value
    while isinstance(value, dict) and _is_response(value):
        if (error := value.get("error")) is not None:
            path = (*("result",) * depth, "error")
            return value, path, _protocol_error(error, path, rest_of_response(outermost))
        value, depth = value["result"], depth + 1
    return value, ("result",) * depth, None


def bare_result(value: object, path: Steps, rest: Object) -> ToolOutput:
    """Return the result of a response without another envelope."""
    return ToolOutput(NAME, (Content(value, path),), rest=rest)


def rest_of_response(response: object) -> Object:
    """Return the other members of a response, under the name of the rest."""
    members = response if isinstance(response, dict) else {}
    return {"response": {"id": members["id"]}} if members.get("id") is not None else {}


def _is_response(value: Object) -> bool:
    if value.get("jsonrpc") != "2.0" or not value.keys() <= _RESPONSE:
        return False
    if value.get("error") is not None:
        return value.get("result") is None
    return "result" in value


def _protocol_error(error: object, path: Steps, rest: Object) -> ToolOutput:
    """Return the message of an `error`; its other members, such as the code, are the rest."""
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return ToolOutput(NAME, (Content(error, path),), is_error=True, rest=rest)
    contents = [
        Content(error[name], (*path, name))
        for name in ("message", "data")
        if error.get(name) is not None
    ]
    rest_of_error = without_paths(error, [("message",), ("data",)])
    return ToolOutput(
        NAME, tuple(contents), is_error=True, rest=rest_of_error | rest, rest_path=path
    )


def _task_contents(members: Members) -> Iterable[Content]:
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
            "taskId": string,
            "status": one_of("completed", "failed", "cancelled"),
            "createdAt": string,
            "lastUpdatedAt": string,
        },
        {
            **dict.fromkeys(("ttlMs", "ttl", "pollIntervalMs", "pollInterval"), anything),
            **dict.fromkeys(("resultType", "statusMessage", "requestState"), string),
            **dict.fromkeys(("result", "error", "_meta"), record),
        },
    ),
    contents=(),
    failure=by_presence("error"),
    accepts=lambda members: ("result" in members) != ("error" in members),
    choose=_task_contents,
)


def _read_rpc(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    """Yield a call of a tool over MCP, or its result; else the messages of other JSON-RPC."""
    params, result, call_id = value.get("params"), value.get("result"), str(value.get("id", ""))
    if value.get("method") == "tools/call" and isinstance(params, dict):
        call = call_block(call_id, params.get("name", ""), params.get("arguments") or {})
        yield compose_message("assistant", [("/params", call)], pointer, joins=True)
    elif isinstance(result, dict) and "content" in result:
        yield _of_result(result, f"{pointer}/result", call_id)
    else:
        name = "params" if isinstance(params, dict) else "result"
        yield from reader.read_message(value.get(name), f"{pointer}/{name}")


def _read_result(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    del reader
    yield _of_result(value, pointer, "")


def _of_result(result: JsonObject, pointer: str, call_id: str) -> ForeignMessage:
    # Renderings for MCP put the call here, since the protocol has no member for it.
    meta = result.get("_meta")
    noted: JsonObject = meta if isinstance(meta, dict) else {}
    called = call_id or noted.get("pagefault/toolCallId")
    block = answer_block(called, noted.get("pagefault/toolName"), result)
    return compose_message("tool", [("", block)], pointer)


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    yield reader.read_role_message(value, pointer, "mcp")


def _has_one_block(value: JsonObject) -> bool:
    content = value.get("content")
    return isinstance(content, dict) and isinstance(content.get("type"), str)


def _sampled(value: JsonObject) -> tuple[str, JsonObject] | None:
    """Return the object with messages in a request or a response of MCP, with its pointer."""
    for name in ("params", "result"):
        wrapped = value.get(name)
        if isinstance(wrapped, dict) and (objects(wrapped.get("messages")) or _is_answer(wrapped)):
            return f"/{name}", wrapped
    return None


def _is_answer(value: JsonObject) -> bool:
    """Return whether an object is the answer of a client's model to a server."""
    return value.get("role") in ("user", "assistant") and "model" in value and "content" in value


def _read_sampled(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    found = _sampled(value)
    if found is None:
        return
    pointer, wrapped = found
    if "messages" not in wrapped:
        yield pointer, wrapped
        return
    for index, message in enumerate(wrapped["messages"]):
        yield f"{pointer}/messages/{index}", message


def _prompt(value: JsonValue) -> JsonObject:
    params = value.get("params")
    members: JsonObject = params if isinstance(params, dict) else {}
    return {name: members[name] for name in ("systemPrompt", "tools") if members.get(name)}


_MEDIA = (("type", "image"), ("type", "audio"))

DIALECT = Dialect(
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
            accepts=lambda value: "type" not in value and _is_answer(value),
            read=_read_message,
        ),
    ),
    message_blocks=(
        MessageBlock(marks=(("type", "resource"), ("type", "resource_link"))),
        MessageBlock(
            marks=_MEDIA,
            accepts=lambda block: isinstance(block.get("data"), str) and "mimeType" in block,
        ),
    ),
    conversations=(
        ConversationForm(
            marks=("jsonrpc",),
            accepts=lambda value: _sampled(value) is not None,
            read=_read_sampled,
            prompt=_prompt,
        ),
        ConversationForm(
            marks=("content",),
            accepts=lambda value: _is_answer(value) and _has_one_block(value),
            read=lambda value: [("", value)],
            is_response=True,
        ),
    ),
    frame=frozenset(("_meta", "meta", "model", "stopReason", "stop_reason")),
)
