"""Dumps of Semantic Kernel. Its package cannot be installed beside the others: it needs older ones.

The objects have the members of `ChatHistory.model_dump` of version 1.45.0, with and without null.
"""

from collections.abc import Iterator
from typing import Any

from cases import (
    ARGUMENTS_TEXT,
    ASKED,
    CALL,
    DONE,
    PNG_URI,
    SAID,
    SECRET,
    TOOL,
    URL,
    WORDS,
    Case,
    case,
    history,
    message,
)

_BARE: dict[str, Any] = {"metadata": {}}
_FULL = {"inner_content": None, "ai_model_id": None, "metadata": {"k": SECRET}}
_NULLS: dict[str, Any] = {"encoding": None}
_NAMES = {"name": TOOL, "function_name": TOOL, "plugin_name": None}


def results() -> Iterator[Case]:
    for around, more in _spellings():
        result = {**around, **_result(), **more}
        yield case(result, WORDS)
        yield case(_message(around, "tool", result), WORDS)


def messages() -> Iterator[Case]:
    for around, more in _spellings():
        text = {**around, "content_type": "text", "text": ASKED, **more}
        for role, said_by in (("system", "system"), ("developer", "system"), ("user", "user")):
            yield message(_message(around, role, text), said_by, ASKED)
        for kind in ("image", "binary"):
            medium = {**around, "content_type": kind, "data_uri": PNG_URI}
            yield message(_message(around, "user", text, medium), "user", ASKED, images=1)
        thought = {**around, "content_type": "reasoning", "text": SECRET}
        said = {**around, "content_type": "text", "text": SAID, **more}
        built = _message(around, "assistant", thought, said, {**around, **_call()})
        yield message(built, "assistant", SAID, calls=1)
        built = _message(around, "tool", {**around, **_result(), **more})
        yield message(built, "tool", answers=(WORDS,))
        quote = {**around, "content_type": "annotation", "quote": SECRET, "url": URL}
        yield message(_message(around, "assistant", said, quote), "assistant", SAID)


def histories() -> Iterator[Case]:
    for around, more in _spellings():
        asked = {**around, "content_type": "text", "text": ASKED, **more}
        picture = {**around, "content_type": "image", "data_uri": PNG_URI}
        said = {**around, "content_type": "text", "text": SAID, **more}
        done = {**around, "content_type": "text", "text": DONE, **more}
        listed = [
            _message(around, "user", asked, picture),
            _message(around, "assistant", said, {**around, **_call()}),
            _message(around, "tool", {**around, **_result(), **more}),
            _message(around, "assistant", done),
        ]
        yield history({"messages": listed})
        yield history(listed)


def _spellings() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    yield _BARE, {}
    yield _FULL, _NULLS


def _message(around: dict[str, Any], role: str, *items: dict[str, Any]) -> Case:
    nulls = dict.fromkeys(("name", "encoding", "finish_reason", "status"))
    more = nulls if around is _FULL else {}
    return {**around, "content_type": "message", "role": role, "items": [*items], **more}


def _call() -> dict[str, Any]:
    return {"content_type": "function_call", "id": CALL, **_NAMES, "arguments": ARGUMENTS_TEXT}


def _result() -> dict[str, Any]:
    return {"content_type": "function_result", "id": CALL, **_NAMES, "result": WORDS}
