"""Strands Agents: tool results outside of messages, with members that its MCP client adds.

Messages have the form of Bedrock.
"""

from collections.abc import Iterable

from pagefault_dialects.dialects.bedrock import BLOCKS, FAILURE, STATUS
from pagefault_dialects.dialects.envelope import DialectTables, Envelope
from pagefault_dialects.dialects.shapes import (
    Members,
    is_boolean,
    is_object,
    is_object_array,
    is_string,
    shape,
)
from pagefault_dialects.dialects.tool_output import Content


def _choose_contents(members: Members) -> Iterable[Content]:
    """Yield the content; with structured content, an MCP result of both."""
    if "structuredContent" in members:
        names = ("content", "structuredContent")
        yield Content({members.key(name): members[name] for name in names}, ())
    else:
        yield Content(members["content"], members.path("content"), "content")


DIALECT = DialectTables(
    "strands",
    (
        Envelope(
            marks=("toolUseId",),
            shape=shape(
                {"toolUseId": is_string, "content": is_object_array, "status": STATUS},
                {
                    "structuredContent": is_object,
                    "metadata": is_object,
                    "isError": is_boolean,
                    "cancelled": is_boolean,
                },
            ),
            contents=(),
            call_id=("toolUseId",),
            failure=FAILURE,
            ignored_members=frozenset({"status", "isError", "content", "structuredContent"}),
            choose_contents=_choose_contents,
        ),
    ),
    BLOCKS,
    has_closed_content=True,
)
