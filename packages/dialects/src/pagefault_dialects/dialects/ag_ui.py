"""AG-UI: the event of a result, and the tool message."""

from collections.abc import Iterable

from pagefault_dialects.dialects.envelope import Dialect, Envelope, by_presence
from pagefault_dialects.dialects.shapes import (
    Members,
    anything,
    content,
    one_of,
    record,
    shape,
    string,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content


def _contents(members: Members) -> Iterable[Content]:
    """Yield the content; without any, the error."""
    name = "content" if members["content"] or "error" not in members else "error"
    yield Content(members[name], members.path(name), "content")


DIALECT = Dialect(
    "ag-ui",
    (
        Envelope(
            marks=(("type", "TOOL_CALL_RESULT"),),
            shape=shape(
                {
                    "type": one_of("TOOL_CALL_RESULT"),
                    "messageId": string,
                    "toolCallId": string,
                    "content": content,
                },
                {
                    "role": one_of("tool"),
                    "metadata": record,
                    "subagentRunId": string,
                    **dict.fromkeys(("timestamp", "rawEvent"), anything),
                },
            ),
            contents=(("content",),),
            reading="content",
            call_id=("toolCallId",),
        ),
        Envelope(
            marks=(("role", "tool"),),
            shape=shape(
                {
                    "role": one_of("tool"),
                    "id": string,
                    "toolCallId": string,
                    "content": content,
                },
                {
                    **dict.fromkeys(("error", "encryptedValue", "subagentRunId"), string),
                    "metadata": record,
                },
            ),
            contents=(),
            call_id=("toolCallId",),
            failure=by_presence("error"),
            choose=_contents,
        ),
    ),
    (
        BlockForm((("text",),), "text", ("type", "text")),
        BlockForm((("source", "value"),), "media", ("type", "image"), kind="image"),
        BlockForm((("source", "value"),), "media", ("type", "audio"), kind="audio"),
        BlockForm((("source", "value"),), "media", ("type", "video"), kind="video"),
        BlockForm((("source", "value"),), "media", ("type", "document")),
    ),
    has_closed_content=True,
)
