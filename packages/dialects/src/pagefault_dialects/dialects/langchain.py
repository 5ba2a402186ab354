"""LangChain: the ToolMessage in its three dumps."""

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper, by_word
from pagefault_dialects.dialects.shapes import (
    anything,
    content,
    items,
    objects,
    one_of,
    record,
    shape,
    string,
)

_STATUS = one_of("success", "error")
_BESIDE = {
    **dict.fromkeys(("additional_kwargs", "response_metadata"), record),
    **dict.fromkeys(("name", "id"), string),
    "artifact": anything,
    "status": _STATUS,
    "tool_call_id": string,
}
_FAILURE = by_word("status", "error", success=("success",))


def _message(*marks: tuple[str, str], type_is_needed: bool) -> Envelope:
    required = {"content": content, "tool_call_id": string}
    optional = {name: check for name, check in _BESIDE.items() if name not in required}
    kind = {"type": one_of("tool")}
    return Envelope(
        marks=marks,
        shape=shape(
            {**required, **(kind if type_is_needed else {})},
            {**optional, **({} if type_is_needed else kind)},
        ),
        contents=(("content",),),
        reading="content",
        call_id=("tool_call_id",),
        name=("name",),
        failure=_FAILURE,
        frame=frozenset({"type", "status"}),
    )


# In the two dumps around it, what the message is stands outside as well.
_INNER = _message(type_is_needed=False)


def _is_tool_message(value: object) -> bool:
    return items(value) and isinstance(value, list) and value[-1:] == ["ToolMessage"]


DIALECT = Dialect(
    "langchain",
    (
        _message(("type", "tool"), type_is_needed=True),
        Wrapper(
            marks=(("type", "tool"),),
            shape=shape({"type": one_of("tool"), "data": record}),
            inner="data",
            label="message",
            envelope=_INNER,
        ),
        Wrapper(
            marks=(("type", "constructor"),),
            shape=shape(
                {
                    "lc": lambda value: isinstance(value, int),
                    "type": one_of("constructor"),
                    "id": _is_tool_message,
                    "kwargs": record,
                },
                {"name": string},
            ),
            inner="kwargs",
            label="constructor",
            envelope=_INNER,
            # Which class it is, its dialect says.
            frame=frozenset({"lc", "type", "id", "name"}),
        ),
        Wrapper(
            marks=("messages",), shape=shape({"messages": objects}), inner="messages", label="state"
        ),
    ),
)
