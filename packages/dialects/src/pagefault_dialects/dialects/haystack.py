"""Haystack: results of tool calls, and the chat message around one."""

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper, by_flag
from pagefault_dialects.dialects.shapes import content, flag, items, one_of, record, shape, string
from pagefault_dialects.dialects.tool_output import BlockForm

_ORIGIN = shape({"tool_name": string, "arguments": record}, {"id": string, "extra": record})
_RESULT = Envelope(
    marks=("origin",),
    shape=shape({"result": content, "origin": record, "error": flag}),
    contents=(("result",),),
    reading="content",
    call_id=("origin", "id"),
    name=("origin", "tool_name"),
    failure=by_flag("error"),
    frame=frozenset({"error"}),
    accepts=lambda members: (
        isinstance(members["origin"], dict) and _ORIGIN.read(members["origin"]) is not None
    ),
)

DIALECT = Dialect(
    "haystack",
    (
        _RESULT,
        Wrapper(
            marks=("tool_call_result",),
            shape=shape({"tool_call_result": record}),
            inner="tool_call_result",
            label="part",
            envelope=_RESULT,
        ),
        Wrapper(
            marks=(("role", "tool"),),
            shape=shape(
                {"role": one_of("tool"), "content": items}, {"meta": record, "name": string}
            ),
            inner="content",
            label="message",
        ),
    ),
    (
        BlockForm((("text",),), "text"),
        BlockForm(
            (("image", "base64_image"),), "media", kind="image", mime_type=("image", "mime_type")
        ),
        BlockForm((("file", "base64_data"),), "media", name=("file", "filename")),
    ),
    has_closed_content=True,
)
