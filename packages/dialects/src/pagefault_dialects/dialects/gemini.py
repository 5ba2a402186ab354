"""Gemini's Content: parts that answer function calls, in both spellings."""

from collections.abc import Iterable

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper
from pagefault_dialects.dialects.shapes import (
    Members,
    flag,
    items,
    one_of,
    record,
    shape,
    string,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content

# `output` and `error` are Gemini's own words; the ADK puts values under `result`.
_OUTPUTS = ("error", "output", "result")


def _contents(members: Members) -> Iterable[Content]:
    """Yield what a function returned, and the media beside it."""
    response = members["response"]
    outputs = _without_nulls(response)
    if outputs.keys() and outputs.keys() <= {*_OUTPUTS}:
        for name in _OUTPUTS:
            if name in outputs and not (name == "error" and len(outputs) > 1 and not outputs[name]):
                yield Content(outputs[name], members.path("response", name))
    elif outputs:
        yield Content(response, members.path("response"))
    if "parts" in members:
        yield Content(members["parts"], members.path("parts"), "content")


def _has_failed(members: Members) -> bool | None:
    """Return whether there is an error; the SDK puts the whole of an MCP result there, too."""
    response = _without_nulls(members["response"])
    return bool(response.get("error")) or response.get("isError") is True or None


def _without_nulls(value: object) -> dict[str, object]:
    members = value if isinstance(value, dict) else {}
    return {key: member for key, member in members.items() if member is not None}


_MEMBERS = {"id": string, "parts": items, "willContinue": flag, "scheduling": string}
_FUNCTION_RESPONSE = Envelope(
    marks=(),
    shape=shape({"name": string, "response": record}, _MEMBERS),
    contents=(),
    call_id=("id",),
    name=("name",),
    failure=_has_failed,
    choose=_contents,
)
# Alone it has to say for whom it is, and what of it is the output.
_LONE_RESPONSE = Envelope(
    marks=("response",),
    shape=shape({"id": string, "name": string, "response": record}, _MEMBERS),
    contents=(),
    call_id=("id",),
    name=("name",),
    failure=_has_failed,
    accepts=lambda members: (
        bool(_without_nulls(members["response"]))
        and _without_nulls(members["response"]).keys() <= {*_OUTPUTS}
    ),
    choose=_contents,
)
_PART = Wrapper(
    marks=("functionResponse", "function_response"),
    shape=shape(
        {"functionResponse": record}, ("thoughtSignature", "partMetadata", "mediaResolution")
    ),
    inner="functionResponse",
    label="part",
    envelope=_FUNCTION_RESPONSE,
)
_CONTENT = Wrapper(
    marks=("parts",),
    shape=shape({"parts": items}, {"role": one_of("user", "function", "tool", "model")}),
    inner="parts",
    label="message",
)

DIALECT = Dialect(
    "gemini",
    (_PART, _LONE_RESPONSE, _CONTENT),
    (
        BlockForm((("inlineData", "data"), ("inline_data", "data")), "media"),
        BlockForm((("fileData", "fileUri"), ("file_data", "file_uri")), "media"),
        BlockForm((("text",),), "text"),
    ),
    has_closed_content=True,
)
