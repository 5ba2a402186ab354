"""MCP's CallToolResult, in every form that SDKs dump.

The Python SDK dumps it with `null` for every unset member, `meta` for `_meta`, and, since its
second version, all names in snake_case. FastMCP's client adds `data`, its own reading of the
structured content. All of them are one result, and `null` members are absent.

Envelopes around it are in `dialects`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pagefault_dialects.json.pointers import first_difference
from pagefault_dialects.media.block_shapes import is_handle
from pagefault_dialects.results.blocks import is_typed_block

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
# If one of these is present, null or not, a `meta` is the SDK's and not a tool's own.
_SDK_NAMES = frozenset(
    ("structuredContent", "structured_content", "isError", "is_error", "resultType", "result_type")
)
_RESULT_TYPES = frozenset(("resultType", "result_type"))


@dataclass(frozen=True, slots=True)
class CallToolResult:
    """The members of a result that are not `null`."""

    members: Mapping[str, tuple[str, object]]
    """Members of the protocol, by its names: the spelled name, and the value."""
    extras: dict[str, object]
    """All other members."""

    def get(self, name: str) -> object:
        """Return a member of the protocol, `None` if there is none."""
        return self.members[name][1] if name in self.members else None


def read_call_tool_result(result: dict[str, object]) -> CallToolResult | None:
    """Return the members of an MCP result; `None` for other values.

    A record may have a `content` of its own, so unknown members are accepted only if every item of
    `content` is a block, or next to `isError`.
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
    """Add a member; of two spellings the first counts, and one failure is a failure."""
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
            # "complete" is the default; any other value is kept.
            return member == "complete"
        case "_meta":
            return isinstance(member, dict)
        case _:
            return True


def _is_read_again(
    data: object, structured: tuple[str, object] | None, result: dict[str, object]
) -> bool:
    """Return whether FastMCP's `data` repeats the structured content."""
    is_of_fastmcp = result.keys() >= {"structured_content", "is_error"}
    if data is None or structured is None or not is_of_fastmcp:
        return False
    content = structured[1]
    unwrapped = content
    if isinstance(content, dict) and content.keys() == {"result"}:
        unwrapped = content["result"]
    return _is_same(data, content) or _is_same(data, unwrapped)


def _is_same(one: object, other: object) -> bool:
    """Return whether two values are the same JSON: in Python, `True` equals `1`."""
    return first_difference(one, other) is None
