"""LlamaIndex: outputs of tools, events that carry them, and chat messages."""

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper, by_flag
from pagefault_dialects.dialects.shapes import (
    anything,
    flag,
    objects,
    one_of,
    record,
    shape,
    string,
)
from pagefault_dialects.dialects.tool_output import BlockForm

_RAW = {"tool_name": string, "raw_input": record, "raw_output": anything}


def _output(member: str) -> Envelope:
    return Envelope(
        marks=("raw_output",),
        shape=shape(
            {member: objects if member == "blocks" else string, **_RAW},
            {"is_error": flag},
            nullable=("raw_output",),
        ),
        contents=((member,),),
        reading="content",
        name=("tool_name",),
        failure=by_flag("is_error"),
        frame=frozenset({"is_error"}),
    )


_BLOCK = "block_type"
DIALECT = Dialect(
    "llama-index",
    (
        _output("blocks"),
        # Until its blocks came, an output was a text.
        _output("content"),
        Wrapper(
            marks=("tool_output",),
            shape=shape(
                {"tool_output": record, "tool_name": string, "tool_id": string},
                {"tool_kwargs": record, "return_direct": flag},
            ),
            inner="tool_output",
            label="event",
            call_id=("tool_id",),
            frame=frozenset({"tool_name", "tool_id"}),
        ),
        Envelope(
            marks=("blocks",),
            shape=shape(
                {
                    "role": one_of("tool", "function"),
                    "blocks": objects,
                    "additional_kwargs": record,
                }
            ),
            contents=(("blocks",),),
            reading="content",
            call_id=("additional_kwargs", "tool_call_id"),
            name=("additional_kwargs", "name"),
        ),
    ),
    (
        BlockForm((("text",),), "text", (_BLOCK, "text")),
        BlockForm(
            (("image",), ("url",)),
            "media",
            (_BLOCK, "image"),
            kind="image",
            mime_type=("image_mimetype",),
        ),
        BlockForm((("audio",), ("url",)), "media", (_BLOCK, "audio"), kind="audio"),
        BlockForm(
            (("video",), ("url",)),
            "media",
            (_BLOCK, "video"),
            kind="video",
            mime_type=("video_mimetype",),
        ),
        BlockForm(
            (("data",), ("url",)),
            "media",
            (_BLOCK, "document"),
            name=("title",),
            mime_type=("document_mimetype",),
        ),
        BlockForm(
            (("content",),), "content", (_BLOCK, "citable"), name=("title",), uri=("source",)
        ),
        BlockForm((), "nothing", (_BLOCK, "cache")),
    ),
    has_closed_content=True,
)
