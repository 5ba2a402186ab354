"""Microsoft's Agent Framework: contents that answer calls, and the message around them."""

from collections.abc import Iterable

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper, by_presence
from pagefault_dialects.dialects.shapes import (
    Members,
    anything,
    objects,
    one_of,
    record,
    shape,
    string,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content


def _contents(members: Members) -> Iterable[Content]:
    """Yield the items; `result` repeats the texts among them."""
    if members["items"]:
        yield Content(members["items"], members.path("items"), "content")
    elif "result" in members:
        yield Content(members["result"], members.path("result"))


DIALECT = Dialect(
    "agent-framework",
    (
        Envelope(
            marks=(("type", "function_result"),),
            shape=shape(
                {"type": one_of("function_result"), "call_id": string},
                {
                    "result": anything,
                    "items": objects,
                    # For the host: it may hold secrets.
                    "exception": string,
                    "status": string,
                    "id": string,
                    "name": string,
                    "annotations": anything,
                    "additional_properties": record,
                    "raw_representation": anything,
                },
            ),
            contents=(),
            call_id=("call_id",),
            name=("name",),
            failure=by_presence("exception"),
            frame=frozenset({"type", "result"}),
            accepts=lambda members: (
                "items" in members or "result" in members or "exception" in members
            ),
            choose=_contents,
        ),
        Wrapper(
            marks=("contents",),
            shape=shape(
                {"role": one_of("tool", "user"), "contents": objects},
                {
                    "type": one_of("message", "chat_message"),
                    "author_name": string,
                    "message_id": string,
                    "additional_properties": record,
                    "raw_representation": anything,
                },
            ),
            inner="contents",
            label="message",
        ),
    ),
    (
        BlockForm((("text",),), "text", ("type", "text")),
        BlockForm((("uri",),), "media", ("type", "data")),
        BlockForm((("uri",),), "media", ("type", "uri")),
        BlockForm((("message",),), "text", ("type", "error")),
    ),
    has_closed_content=True,
)
