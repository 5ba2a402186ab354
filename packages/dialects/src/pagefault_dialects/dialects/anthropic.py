"""Anthropic's Messages: blocks that answer calls, and the user's message of them."""

from collections.abc import Iterable

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper, by_flag
from pagefault_dialects.dialects.shapes import (
    Members,
    anything,
    content,
    flag,
    items,
    one_of,
    record,
    shape,
    string,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content


def _result(members: Members) -> Iterable[Content]:
    """Yield the MCP result that the block of MCP's sampling holds, or its content."""
    if "structuredContent" in members or ("_meta" in members and "content" in members):
        names = ("content", "structuredContent", "_meta")
        result = {name: members[name] for name in names if name in members}
        yield Content(result, ())
    elif "content" in members:
        yield Content(members["content"], members.path("content"), "content")


_TOOL_RESULT = Envelope(
    marks=(("type", "tool_result"),),
    shape=shape(
        {"type": one_of("tool_result")},
        {
            "tool_use_id": string,
            "content": content,
            "is_error": flag,
            "cache_control": record,
            "toolset_name": string,
            # MCP's sampling.
            "structuredContent": anything,
            "_meta": record,
        },
    ),
    contents=(),
    call_id=("tool_use_id",),
    failure=by_flag("is_error"),
    frame=frozenset({"type", "is_error", "content", "structuredContent", "_meta"}),
    accepts=lambda members: "tool_use_id" in members,
    choose=_result,
)
_MCP_TOOL_RESULT = Envelope(
    marks=(("type", "mcp_tool_result"),),
    shape=shape(
        {"type": one_of("mcp_tool_result"), "tool_use_id": string},
        {"content": content, "is_error": flag, "cache_control": record},
    ),
    contents=(("content",),),
    reading="content",
    call_id=("tool_use_id",),
    failure=by_flag("is_error"),
    frame=frozenset({"is_error"}),
)
_USER_MESSAGE = Wrapper(
    marks=(("role", "user"),),
    shape=shape({"role": one_of("user"), "content": items}),
    inner="content",
    label="message",
)

DIALECT = Dialect(
    "anthropic",
    (_TOOL_RESULT, _MCP_TOOL_RESULT, _USER_MESSAGE),
    (
        BlockForm(
            (("content",),),
            "content",
            ("type", "search_result"),
            name=("title",),
            uri=("source",),
        ),
        BlockForm(
            (("source", "data"), ("source", "url")),
            "media",
            ("type", "document"),
            name=("title",),
        ),
        BlockForm((("source", "content"),), "content", ("type", "document"), name=("title",)),
        BlockForm((("tool_name",),), "text", ("type", "tool_reference")),
    ),
    has_closed_content=True,
)
