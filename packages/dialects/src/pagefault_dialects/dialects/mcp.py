"""MCP: envelopes of a CallToolResult, which `results.call_tool_results` reads."""

from collections.abc import Iterable

from pagefault_dialects.dialects.envelope import Dialect, Envelope, by_presence, without_paths
from pagefault_dialects.dialects.shapes import (
    Members,
    Object,
    anything,
    one_of,
    record,
    shape,
    string,
)
from pagefault_dialects.dialects.tool_output import Content, Steps, ToolOutput

NAME = "mcp"
_RESPONSE = frozenset(("jsonrpc", "id", "result", "error"))


def open_responses(value: object) -> tuple[object, Steps, ToolOutput | None]:
    """Open a JSON-RPC 2.0 response (section 5), or one inside another, as proxies make them.

    Returns:
        The result inside and its path, or the words of an error.
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
    """Return the result of a response in no other envelope."""
    return ToolOutput(NAME, (Content(value, path),), rest=rest)


def rest_of_response(response: object) -> Object:
    """Return the other members of a response, under the name that they are kept under."""
    members = response if isinstance(response, dict) else {}
    return {"response": {"id": members["id"]}} if members.get("id") is not None else {}


def _is_response(value: Object) -> bool:
    if value.get("jsonrpc") != "2.0" or not value.keys() <= _RESPONSE:
        return False
    if value.get("error") is not None:
        return value.get("result") is None
    return "result" in value


def _protocol_error(error: object, path: Steps, rest: Object) -> ToolOutput:
    """Return the words of an `error`; its other members, such as the code, are only kept."""
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return ToolOutput(NAME, (Content(error, path),), is_error=True, rest=rest)
    contents = [
        Content(error[name], (*path, name))
        for name in ("message", "data")
        if error.get(name) is not None
    ]
    others = without_paths(error, [("message",), ("data",)])
    return ToolOutput(NAME, tuple(contents), is_error=True, rest=others | rest, rest_path=path)


def _task_contents(members: Members) -> Iterable[Content]:
    error = members["error"]
    if isinstance(error, dict):
        for name in ("message", "data"):
            if error.get(name) is not None:
                yield Content(error[name], members.path("error", name))
    elif "result" in members:
        yield Content(members["result"], members.path("result"))


# A task that is done (SEP-2663), with its result or its error inlined.
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

DIALECT = Dialect(NAME, (_TASK,))
