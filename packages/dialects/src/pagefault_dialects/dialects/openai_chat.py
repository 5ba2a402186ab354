"""Chat messages of OpenAI, and of the many that write them alike: Mistral, Ollama, OpenRouter."""

from collections.abc import Iterable

from pagefault_dialects.dialects.envelope import Dialect, Envelope
from pagefault_dialects.dialects.shapes import Members, content, items, one_of, shape, string
from pagefault_dialects.dialects.tool_output import BlockForm, Content


def _contents(members: Members) -> Iterable[Content]:
    if "content" in members:
        yield Content(members["content"], members.path("content"), "content")
    if "images" in members:
        yield Content(members["images"], members.path("images"), "media")


_TOOL_MESSAGE = Envelope(
    marks=(("role", "tool"),),
    shape=shape(
        {"role": one_of("tool"), "content": content},
        {
            "tool_call_id": string,
            "name": string,
            # Ollama's.
            "tool_name": string,
            "images": items,
            "thinking": string,
        },
        nullable=("content",),
    ),
    contents=(),
    call_id=("tool_call_id",),
    name=("name",),
    accepts=lambda members: "tool_call_id" in members,
    choose=_contents,
)
_OLLAMA_MESSAGE = Envelope(
    marks=_TOOL_MESSAGE.marks,
    shape=_TOOL_MESSAGE.shape,
    contents=(),
    call_id=("tool_call_id",),
    name=("tool_name",),
    accepts=lambda members: "tool_name" in members,
    choose=_contents,
)
_FUNCTION_MESSAGE = Envelope(
    marks=(("role", "function"),),
    shape=shape(
        {"role": one_of("function"), "name": string, "content": content}, nullable=("content",)
    ),
    contents=(("content",),),
    reading="content",
    name=("name",),
)

DIALECT = Dialect(
    "openai-chat",
    (_TOOL_MESSAGE, _OLLAMA_MESSAGE, _FUNCTION_MESSAGE),
    (BlockForm((("text",),), "text", ("type", "text")),),
)
