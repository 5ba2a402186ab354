"""The Agent Client Protocol: updates of tool calls."""

from collections.abc import Iterable

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper, by_word
from pagefault_dialects.dialects.shapes import (
    Check,
    Members,
    anything,
    objects,
    one_of,
    record,
    shape,
    string,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content

_STATUS = one_of("pending", "in_progress", "completed", "failed")
_BESIDE: dict[str, Check] = {
    **dict.fromkeys(("kind", "title"), string),
    **dict.fromkeys(("content", "locations"), objects),
    **dict.fromkeys(("rawInput", "rawOutput"), anything),
    "status": _STATUS,
    "_meta": record,
}


def _contents(members: Members) -> Iterable[Content]:
    """Yield the content; without any, the raw output."""
    if members["content"]:
        yield Content(members["content"], members.path("content"), "content")
    elif "rawOutput" in members:
        yield Content(members["rawOutput"], members.path("rawOutput"))


def _update(*required: str, marks: tuple[str, ...]) -> Envelope:
    checks: dict[str, Check] = {
        "toolCallId": string,
        "sessionUpdate": one_of("tool_call_update", "tool_call"),
        **_BESIDE,
    }
    optional = {
        name: check
        for name, check in checks.items()
        if name not in required and name != "sessionUpdate"
    }
    return Envelope(
        marks=marks,
        shape=shape({name: checks[name] for name in required}, optional),
        contents=(),
        call_id=("toolCallId",),
        failure=by_word("status", "failed"),
        frame=frozenset({"sessionUpdate", "content"}),
        accepts=lambda members: "content" in members or "rawOutput" in members,
        choose=_contents,
    )


DIALECT = Dialect(
    "acp",
    (
        _update("sessionUpdate", "toolCallId", marks=("sessionUpdate", "session_update")),
        # Alone, an update says at least how far its call is.
        _update("toolCallId", "status", marks=("toolCallId", "tool_call_id")),
        Wrapper(
            marks=("update",),
            shape=shape({"sessionId": string, "update": record}, {"_meta": record}),
            inner="update",
            label="notification",
        ),
    ),
    (
        BlockForm((("content",),), "content", ("type", "content")),
        BlockForm((("path",), ("oldText",), ("newText",)), "text", ("type", "diff")),
        BlockForm((("path",), ("old_text",), ("new_text",)), "text", ("type", "diff")),
        BlockForm((("text",),), "text", ("type", "text")),
        BlockForm((("data",),), "media", ("type", "image"), kind="image"),
        BlockForm((("data",),), "media", ("type", "audio"), kind="audio"),
    ),
    has_closed_content=True,
)
