"""Reads MCP's CallToolResult, in every form in which SDKs dump it.

The Python SDK dumps a result with `null` for every unset member, `meta` for `_meta`, and, since its
second version, all names in snake_case. FastMCP's client adds `data`, which repeats the structured
content as parsed values. All forms are read as the same result, in which `null` members are absent.

The envelopes of results are in `dialects`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pagefault_dialects.json.pointers import find_first_difference
from pagefault_dialects.media.block_shapes import is_media_source
from pagefault_dialects.results.blocks import is_typed_block

# The names of members in MCP, by their spellings in dumps.
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
# If one of these is present, null or not, the SDK wrote `meta` for `_meta`; otherwise the tool did.
_SDK_NAMES = frozenset(
    ("structuredContent", "structured_content", "isError", "is_error", "resultType", "result_type")
)
_RESULT_TYPES = frozenset(("resultType", "result_type"))


@dataclass(frozen=True, slots=True)
class CallToolResult:
    """The members of a result that are not `null`."""

    members: Mapping[str, tuple[str, object]]
    """The members that the protocol defines, by their names in the protocol. Each is a pair of the
    name in the result, which may have another spelling, and the value."""
    extras: dict[str, object]
    """All other members."""

    def get(self, name: str) -> object:
        """Return the value of a member that the protocol defines; `None` if it is absent."""
        return self.members[name][1] if name in self.members else None


def read_call_tool_result(result: dict[str, object]) -> CallToolResult | None:
    """Return the members of an MCP result; `None` for any other object.

    Other records of tools may have a member `content` as well. An object with members that the
    protocol does not define is therefore an MCP result only if every item of `content` is a block,
    or if it has an `isError`.
    """
    if is_typed_block(result):
        return None
    members = _read_members(result)
    content = members.get("content")
    has_content = content is not None or members.get("toolResult") is not None
    has_structured = "structuredContent" in result or "structured_content" in result
    has_is_error = "content" in result and isinstance(members.get("isError"), bool)
    if not (has_content or has_structured or has_is_error):
        return None
    has_blocks = isinstance(content, list) and content and all(map(is_typed_block, content))
    is_complete = has_is_error and content is not None
    has_no_extras = members.extras.keys() <= _RESULT_TYPES
    return members if has_blocks or is_complete or has_no_extras else None


def _read_members(result: dict[str, object]) -> CallToolResult:
    has_is_error = any(isinstance(result.get(key), bool) for key in ("isError", "is_error"))
    members: dict[str, tuple[str, object]] = {}
    extras: dict[str, object] = {}
    for key, member in result.items():
        if member is None:
            continue
        name = _find_name(key, result)
        if name is not None and _is_valid_member(name, member, has_is_error=has_is_error):
            _add_member(members, extras, name, key, member)
        else:
            extras[key] = member
    if _repeats_structured_content(extras.get("data"), members.get("structuredContent"), result):
        del extras["data"]
    return CallToolResult(members, extras)


def _find_name(key: str, result: dict[str, object]) -> str | None:
    """Return the name of a member in the protocol; `None` if the protocol does not define it."""
    if (
        key == "meta"
        and isinstance(result[key], dict)
        and not isinstance(result.get("_meta"), dict)
    ):
        return "_meta" if result.keys() & _SDK_NAMES else None
    return _NAMES.get(key)


def _add_member(
    members: dict[str, tuple[str, object]],
    extras: dict[str, object],
    name: str,
    key: str,
    member: object,
) -> None:
    """Add a member that the protocol defines, unless it was added in another spelling already.

    A second value goes to `extras`, unless it equals the first. Of two values of `isError`, true is
    kept.
    """
    if name not in members or (name == "isError" and member is True):
        members[name] = (key, member)
    elif name != "isError" and not _are_equal(members[name][1], member):
        extras[key] = member


def _is_valid_member(name: str, member: object, *, has_is_error: bool) -> bool:
    """Return whether a member has a value that the protocol allows."""
    match name:
        case "content":
            is_content = isinstance(member, str | list) or is_typed_block(member)
            return is_content or is_media_source(member) or has_is_error
        case "isError":
            return isinstance(member, bool)
        case "resultType":
            # "complete" is the default; any other value is kept.
            return member == "complete"
        case "_meta":
            return isinstance(member, dict)
        case _:
            return True


def _repeats_structured_content(
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
    return _are_equal(data, content) or _are_equal(data, unwrapped)


def _are_equal(first: object, second: object) -> bool:
    """Return whether two JSON values are equal. With `==`, `True` would equal `1`."""
    return find_first_difference(first, second) is None
