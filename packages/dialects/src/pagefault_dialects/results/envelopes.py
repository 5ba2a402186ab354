"""What stands around a tool's result: MCP's CallToolResult, and the message it was taken from.

The Python SDK dumps a CallToolResult with `null` for every member that was not given, `meta` for
`_meta`, and, since its second version, all names in snake_case. FastMCP's client adds `data`, its
own reading of the structured content. All of them are one result, and `null` members are absent.

JSON-RPC's response, Bedrock's `toolResult`, LangChain's `ToolMessage` in its dumps, Gemini's
`functionResponse` and the Vercel AI SDK's `tool-result` and `tool-error` each say in their own way
whether the tool failed. An envelope is taken for one only around the whole result, and only with
the members that its protocol requires: a `status` or an `error` elsewhere is some record's own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pagefault_dialects.json.pointers import first_difference
from pagefault_dialects.media.block_shapes import is_handle, value_at
from pagefault_dialects.media.block_table import MemberPath
from pagefault_dialects.results.blocks import is_typed_block
from pagefault_dialects.results.side_information import without

_NAMES = {
    "content": "content",
    "toolResult": "toolResult",
    "structuredContent": "structuredContent",
    "structured_content": "structuredContent",
    "isError": "isError",
    "is_error": "isError",
    "resultType": "resultType",
    "result_type": "resultType",
    "_meta": "_meta",
}
# Where one of these stands, null or not, a `meta` is the SDK's and not some tool's own.
_SDK_NAMES = frozenset(
    ("structuredContent", "structured_content", "isError", "is_error", "resultType", "result_type")
)
_RESULT_TYPES = frozenset(("resultType", "result_type"))
_JSON_RPC_KEYS = frozenset(("jsonrpc", "id", "result", "error"))
_STATUSES = ("success", "error")
_FUNCTION_RESPONSES = ("functionResponse", "function_response")
_ROLES = ("tool", "user", "function")
_CALL_IDS = ("tool_use_id", "toolUseId")
_FLAGS = ("is_error", "isError")
_FRAME = frozenset((*_CALL_IDS, "type", "cache_control"))
_BLOCK_KEYS = _FRAME | frozenset((*_FLAGS, "content", "structuredContent", "_meta"))
_JSON_OUTPUTS = ("json", "error-json")
_OUTPUT_KEYS = frozenset(("type", "value", "providerOptions", "providerMetadata"))

Object = dict[str, object]


@dataclass(frozen=True, slots=True)
class CallToolResult:
    """The members of a result that are not `null`."""

    members: Mapping[str, tuple[str, object]]
    """The protocol's, by the protocol's names: the name as it is spelled, and the value."""
    extras: dict[str, object]
    """The others."""

    def get(self, name: str) -> object:
        """Return a member of the protocol, `None` if there is none."""
        return self.members[name][1] if name in self.members else None


def read_call_tool_result(result: dict[str, object]) -> CallToolResult | None:
    """Return what an MCP result holds; `None` if it is no MCP result.

    A record may have a `content` of its own, so members beside the known ones are accepted only
    where every item of `content` is a block, or where `isError` stands beside it.
    """
    if is_typed_block(result):
        return None
    read = _read(result)
    content = read.get("content")
    carries = content is not None or read.get("toolResult") is not None
    is_named = "structuredContent" in result or "structured_content" in result
    says_success = "content" in result and isinstance(read.get("isError"), bool)
    if not (carries or is_named or says_success):
        return None
    blocks = isinstance(content, list) and content and all(map(is_typed_block, content))
    whole = says_success and content is not None
    return read if blocks or whole or read.extras.keys() <= _RESULT_TYPES else None


def _read(result: dict[str, object]) -> CallToolResult:
    says_success = any(isinstance(result.get(key), bool) for key in ("isError", "is_error"))
    members: dict[str, tuple[str, object]] = {}
    extras: dict[str, object] = {}
    for key, member in result.items():
        if member is None:
            continue
        name = _name_of(key, result)
        if name is not None and _is_protocol(name, member, says_success=says_success):
            _add(members, extras, name, key, member)
        else:
            extras[key] = member
    if _is_read_again(extras.get("data"), members.get("structuredContent"), result):
        del extras["data"]
    return CallToolResult(members, extras)


def _name_of(key: str, result: dict[str, object]) -> str | None:
    if (
        key == "meta"
        and isinstance(result[key], dict)
        and not isinstance(result.get("_meta"), dict)
    ):
        return "_meta" if result.keys() & _SDK_NAMES else None
    return _NAMES.get(key)


def _add(
    members: dict[str, tuple[str, object]],
    extras: dict[str, object],
    name: str,
    key: str,
    member: object,
) -> None:
    """Take a member in; of two spellings the first counts, and one failure makes it a failure."""
    if name not in members or (name == "isError" and member is True):
        members[name] = (key, member)
    elif name != "isError" and not _is_same(members[name][1], member):
        extras[key] = member


def _is_protocol(name: str, member: object, *, says_success: bool) -> bool:
    match name:
        case "content":
            known = isinstance(member, str | list) or is_typed_block(member) or is_handle(member)
            return known or says_success
        case "isError":
            return isinstance(member, bool)
        case "resultType":
            # "complete" is what every result without the member is; any other value is kept.
            return member == "complete"
        case "_meta":
            return isinstance(member, dict)
        case _:
            return True


def _is_read_again(
    data: object, structured: tuple[str, object] | None, result: dict[str, object]
) -> bool:
    """Return whether FastMCP's `data` is what its structured content says already."""
    is_of_fastmcp = result.keys() >= {"structured_content", "is_error"}
    if data is None or structured is None or not is_of_fastmcp:
        return False
    content = structured[1]
    unwrapped = content
    if isinstance(content, dict) and content.keys() == {"result"}:
        unwrapped = content["result"]
    return _is_same(data, content) or _is_same(data, unwrapped)


def _is_same(one: object, other: object) -> bool:
    """Return whether two values are the same JSON: to Python, `True` and `1` are as well."""
    return first_difference(one, other) is None


@dataclass(frozen=True, slots=True)
class Opened:
    """A result without what stood around it."""

    value: object
    """What is left."""
    path: tuple[str | int, ...] = ()
    """Where it stands in what was given."""
    is_content: bool = False
    """Whether a list there is content by definition."""
    is_protocol_error: bool = False
    """Whether it is the `error` of a JSON-RPC response, with its `message`."""
    is_error: bool | None = None
    """What the envelope says about success, `None` if it says nothing."""
    beside: Object = field(default_factory=dict)
    """What else the envelope held, and where it stood."""
    beside_path: tuple[str | int, ...] = ()


def open_envelope(result: object) -> Opened:
    """Return a result without the envelope around it, or as it is if there is none."""
    value, depth = result, 0
    # A proxy may have put one response into another.
    while isinstance(value, dict) and _is_response(value) and value.get("error") is None:
        value, depth = value["result"], depth + 1
    path = ("result",) * depth
    if isinstance(value, dict) and _is_response(value):
        return _protocol_error(value["error"], (*path, "error"))
    for alone, step in _alone(value):
        for opening in (_bedrock, _tool_result, _langchain, _gemini, _vercel):
            if (opened := opening(alone)) is not None:
                around = (*path, *step)
                beside_path = (*around, *opened.beside_path)
                return replace(opened, path=(*around, *opened.path), beside_path=beside_path)
    return Opened(value, path)


def _is_response(value: Object) -> bool:
    """Return whether this is a JSON-RPC 2.0 response (section 5): a result or error, never both."""
    if value.get("jsonrpc") != "2.0" or not value.keys() <= _JSON_RPC_KEYS:
        return False
    if value.get("error") is not None:
        return value.get("result") is None
    return "result" in value


def _protocol_error(error: object, path: tuple[str, ...]) -> Opened:
    """Return an `error`; what it holds besides its words, as the code, is no text to read."""
    has_words = isinstance(error, dict) and isinstance(error.get("message"), str)
    beside = without(error, [("message",), ("data",)]) if isinstance(error, dict) else {}
    return Opened(
        error,
        path,
        is_protocol_error=has_words,
        is_error=True,
        beside=beside if has_words else {},
        beside_path=path,
    )


def _alone(value: object) -> Iterable[tuple[Object, tuple[str | int, ...]]]:
    """Return where one envelope may stand: alone, in a list, in a message."""
    step: tuple[str | int, ...] = ()
    if isinstance(value, list) and len(value) == 1:
        value, step = value[0], (0,)
    if not isinstance(value, dict):
        return
    yield value, step
    for key in ("content", "parts") if value.get("role") in _ROLES else ():
        items = value.get(key)
        if isinstance(items, list) and len(items) == 1 and _said(value) == {"role", key}:
            item = items[0]
            if isinstance(item, dict):
                yield item, (*step, key, 0)


def _bedrock(value: Object) -> Opened | None:
    """Return what is in `{"toolResult": {toolUseId, content, status}}`, or in that object alone."""
    inner = value
    path: MemberPath = ()
    around = value.get("toolResult")
    if isinstance(around, dict) and _said(value) == {"toolResult"}:
        inner, path = around, ("toolResult",)
    if not isinstance(inner.get("content"), list) or not isinstance(inner.get("toolUseId"), str):
        return None
    status = inner.get("status")
    if status not in _STATUSES and (status is not None or not path):
        return None
    return _of_content(inner, path, status)


def _tool_result(value: Object) -> Opened | None:
    """Return the MCP result that a `tool_result` of Anthropic, or of MCP's sampling, is.

    One with anything else in it is a block like others.
    """
    ids = {key: value[key] for key in _CALL_IDS if isinstance(value.get(key), str)}
    content = value.get("content")
    if value.get("type") != "tool_result" or not ids or not isinstance(content, str | list):
        return None
    flags = [value.get(key) for key in _FLAGS]
    if not _said(value) <= _BLOCK_KEYS or not all(isinstance(each, bool | None) for each in flags):
        return None
    return Opened({key: value[key] for key in value if key not in _FRAME}, beside=ids)


def _langchain(value: Object) -> Opened | None:
    """Return what is in a `ToolMessage`: `model_dump`, `message_to_dict` or `dumpd`."""
    message: object = value
    path: MemberPath = ()
    if value.get("type") == "tool" and value.keys() == {"type", "data"}:
        message, path = value["data"], ("data",)
    elif value.get("type") == "constructor" and isinstance(value.get("lc"), int):
        kind = value.get("id")
        is_message = isinstance(kind, list) and bool(kind) and kind[-1] == "ToolMessage"
        if is_message and value.keys() <= {"lc", "type", "id", "kwargs"}:
            message, path = value.get("kwargs"), ("kwargs",)
    elif value.get("type") != "tool":
        return None
    if not isinstance(message, dict) or not isinstance(message.get("content"), str | list):
        return None
    if message.get("type", "tool") != "tool" or not isinstance(message.get("tool_call_id"), str):
        return None
    return _of_content(message, path, message.get("status"))


def _of_content(inner: Object, path: MemberPath, status: object) -> Opened:
    gone: list[MemberPath] = [("content",), ("type",)]
    gone += [("status",)] if status in _STATUSES else []
    return Opened(
        inner["content"],
        (*path, "content"),
        is_content=True,
        is_error=status == "error" if status in _STATUSES else None,
        beside=without(inner, gone),
        beside_path=path,
    )


def _gemini(value: Object) -> Opened | None:
    """Return `{"functionResponse": {name, response}}` as it is: its `response` may be anything."""
    for key in _FUNCTION_RESPONSES:
        response = value_at(value, (key, "response"))
        if isinstance(response, dict) and isinstance(value_at(value, (key, "name")), str):
            # `error` is where Gemini is told of a failure; empty, it tells of none. Its SDK puts
            # the whole of an MCP result there.
            failed = bool(response.get("error")) or response.get("isError") is True
            # What its SDK dumps is `null` for whatever was not given, beside the response.
            given = {**value, key: dict(_given(value[key]))}
            return Opened(dict(_given(given)), is_error=failed or None)
    return None


def _vercel(value: Object) -> Opened | None:
    """Return what is in a `tool-result` or a `tool-error` part."""
    key = {"tool-result": "output", "tool-error": "error"}.get(str(value.get("type")))
    if key is None or key not in value or not isinstance(value.get("toolCallId"), str):
        return _vercel_output(value)
    held = value[key]
    inner = _vercel_output(held) if key == "output" and isinstance(held, dict) else None
    return Opened(
        inner.value if inner else held,
        (key, *inner.path) if inner else (key,),
        is_error=inner.is_error if inner else True if key == "error" else None,
        beside=without(value, [(key,), ("type",)]) | (inner.beside if inner else {}),
    )


def _vercel_output(output: Object) -> Opened | None:
    """Return the MCP result that is in `{"type": "json", value}`, as clients of MCP put it there.

    Any other output is a block like others.
    """
    held = output.get("value")
    if output.get("type") not in _JSON_OUTPUTS or not output.keys() <= _OUTPUT_KEYS:
        return None
    if not isinstance(held, dict) or read_call_tool_result(held) is None:
        return None
    return Opened(
        held,
        ("value",),
        is_error=True if output["type"] == "error-json" else None,
        beside=without(output, [("value",), ("type",)]),
    )


def _said(value: Object) -> set[str]:
    return {key for key, _ in _given(value)}


def _given(value: object) -> list[tuple[str, object]]:
    members = value.items() if isinstance(value, dict) else ()
    return [(key, member) for key, member in members if member is not None]
