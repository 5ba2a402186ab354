"""Pydantic AI: parts of a request that answer calls."""

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper, by_word
from pagefault_dialects.dialects.shapes import anything, items, objects, one_of, shape, string
from pagefault_dialects.dialects.tool_output import BlockForm

_RETURN = {"tool_name": string, "content": anything, "tool_call_id": string}
_BESIDE = ("tool_kind", "metadata", "timestamp", "outcome", "retry", "content_file_digests")
_OUTCOME = by_word("outcome", *("failed", "denied", "interrupted", "retried"), success=("success",))


def _tool_return(kind: str, *beside: str) -> Envelope:
    return Envelope(
        marks=(("part_kind", kind),),
        shape=shape(
            {"part_kind": one_of(kind), **_RETURN}, (*_BESIDE, *beside), nullable=("content",)
        ),
        contents=(("content",),),
        call_id=("tool_call_id",),
        name=("tool_name",),
        failure=_OUTCOME,
        # Of the kinds of failures, only the outcome says which it was.
        frame=frozenset({"part_kind"}),
    )


_RETRY_PROMPT = Envelope(
    marks=(("part_kind", "retry-prompt"),),
    shape=shape(
        {
            "part_kind": one_of("retry-prompt"),
            "content": lambda value: isinstance(value, str) or objects(value),
            "tool_name": string,
            "tool_call_id": string,
        },
        ("timestamp", "retry"),
    ),
    contents=(("content",),),
    call_id=("tool_call_id",),
    name=("tool_name",),
    failure=lambda _: True,
    frame=frozenset(),
)
# What a tool itself may return, with more for the model and for the host.
_RETURN_VALUE = Envelope(
    marks=(("kind", "tool-return"),),
    shape=shape(
        {"kind": one_of("tool-return"), "return_value": anything},
        ("content", "metadata", "tools"),
        nullable=("return_value",),
    ),
    contents=(("return_value",), ("content",)),
    frame=frozenset({"kind"}),
)
_REQUEST = Wrapper(
    marks=(("kind", "request"),),
    shape=shape(
        {"kind": one_of("request"), "parts": items},
        ("timestamp", "instructions", "run_id", "conversation_id", "metadata", "state"),
    ),
    inner="parts",
    label="message",
    frame=frozenset({"kind"}),
)


DIALECT = Dialect(
    "pydantic-ai",
    (
        _tool_return("tool-return"),
        _tool_return("builtin-tool-return", "provider_name", "provider_details"),
        _RETRY_PROMPT,
        _RETURN_VALUE,
        _REQUEST,
    ),
    (
        BlockForm((("data",),), "media", ("kind", "binary"), name=("identifier",)),
        BlockForm((("url",),), "media", ("kind", "image-url"), kind="image"),
        BlockForm((("url",),), "media", ("kind", "audio-url"), kind="audio"),
        BlockForm((("url",),), "media", ("kind", "video-url"), kind="video"),
        BlockForm((("url",),), "media", ("kind", "document-url")),
    ),
)
