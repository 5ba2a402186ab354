"""AutoGen: results of function executions and of its workbench, and messages around them."""

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

_FAILURE = by_flag("is_error")


def _message_of_results(kind: str, *beside: str) -> Wrapper:
    return Wrapper(
        marks=(("type", kind),),
        shape=shape(
            {"type": one_of(kind), "content": objects},
            {**dict.fromkeys(beside, string), "models_usage": anything, "metadata": record},
        ),
        inner="content",
        label="message",
    )


DIALECT = Dialect(
    "autogen",
    (
        Envelope(
            marks=("call_id",),
            shape=shape({"content": string, "name": string, "call_id": string}, {"is_error": flag}),
            contents=(("content",),),
            reading="content",
            call_id=("call_id",),
            name=("name",),
            failure=_FAILURE,
            frame=frozenset({"is_error"}),
        ),
        Envelope(
            marks=(("type", "ToolResult"),),
            shape=shape(
                {"type": one_of("ToolResult"), "name": string, "result": objects},
                {"is_error": flag},
            ),
            contents=(("result",),),
            reading="content",
            name=("name",),
            failure=_FAILURE,
            frame=frozenset({"type", "is_error"}),
        ),
        _message_of_results("FunctionExecutionResultMessage"),
        _message_of_results("ToolCallExecutionEvent", "id", "source", "created_at"),
    ),
    (
        BlockForm((("content",),), "text", ("type", "TextResultContent")),
        BlockForm((("content", "data"),), "media", ("type", "ImageResultContent"), kind="image"),
    ),
    has_closed_content=True,
)
