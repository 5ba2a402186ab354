"""Bedrock's Converse: blocks that answer calls."""

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper, by_word
from pagefault_dialects.dialects.shapes import objects, one_of, record, shape, string
from pagefault_dialects.dialects.tool_output import BlockForm

FAILURE = by_word("status", "error", success=("success",))
STATUS = one_of("success", "error")
_TOOL_RESULT = Envelope(
    marks=(),
    shape=shape({"toolUseId": string, "content": objects}, {"status": STATUS, "type": string}),
    contents=(("content",),),
    reading="content",
    call_id=("toolUseId",),
    failure=FAILURE,
    frame=frozenset({"status"}),
)
_BLOCK = Wrapper(
    marks=("toolResult",),
    shape=shape({"toolResult": record}),
    inner="toolResult",
    label="block",
    envelope=_TOOL_RESULT,
)

BLOCKS = (
    BlockForm((("text",),), "text"),
    BlockForm((("json",),), "json"),
    # Strands writes bytes like this where JSON has none.
    BlockForm((("image", "source", "bytes", "data"),), "media", kind="image"),
    BlockForm((("image", "source", "bytes"),), "media", kind="image"),
    BlockForm((("document", "source", "bytes", "data"),), "media", name=("document", "name")),
    BlockForm((("document", "source", "bytes"),), "media", name=("document", "name")),
    BlockForm((("document", "source", "text"),), "text", name=("document", "name")),
    BlockForm((("document", "source", "content"),), "content", name=("document", "name")),
    BlockForm((("video", "source", "bytes", "data"),), "media", kind="video"),
    BlockForm((("video", "source", "bytes"),), "media", kind="video"),
    BlockForm(
        (("searchResult", "content"),),
        "content",
        name=("searchResult", "title"),
        uri=("searchResult", "source"),
    ),
)
DIALECT = Dialect("bedrock", (_BLOCK,), BLOCKS, has_closed_content=True)
