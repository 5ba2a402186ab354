"""Items of OpenAI's Agents SDK for JavaScript, by its schema `protocol`; they are no classes."""

from collections.abc import Iterator
from typing import Any

from cases import (
    ARGUMENTS_TEXT,
    ASKED,
    BOOM,
    CALL,
    DONE,
    PNG64,
    PNG_URI,
    SAID,
    SECRET,
    TOOL,
    WORDS,
    Case,
    case,
    given,
    history,
    message,
)

_WORDS = {"type": "input_text", "text": WORDS}
_PICTURE = {"type": "input_image", "image": PNG_URI}
_DATA = {"data": PNG64, "mediaType": "image/png"}
_OPTIONS = {"id": "i_1", "providerData": {"k": SECRET}}
_SCREEN = {"type": "computer_screenshot", "data": PNG_URI}
_RAN = {"stdout": WORDS, "stderr": "", "outcome": {"type": "exit", "exitCode": 0}}
_CALL = {"type": "function_call", "callId": CALL, "name": TOOL, "arguments": ARGUMENTS_TEXT}
_RESULT = {"type": "function_call_result", "callId": CALL, "name": TOOL, "status": "completed"}


def results() -> Iterator[Case]:
    outputs: list[tuple[Any, list[str], int]] = [
        (WORDS, [WORDS], 0),
        ({"type": "text", "text": WORDS}, [WORDS], 0),
        ({"type": "image", "image": PNG_URI, "detail": "low"}, [], 1),
        ({"type": "image", "image": _DATA}, [], 1),
        ({"type": "file", "file": {**_DATA, "filename": "a.png"}}, [], 1),
        ([_WORDS, _PICTURE], [WORDS], 1),
        ([_WORDS, {"type": "input_file", "file": PNG_URI, "filename": "a.png"}], [WORDS], 1),
    ]
    for output, texts, images in outputs:
        for more in given(_OPTIONS):
            yield case({**_RESULT, "output": output, **more}, *texts, images=images)
    for more in given(_OPTIONS):
        around = {"callId": CALL, **more}
        yield case(
            {**around, "type": "computer_call_result", "output": _SCREEN}, images=1, tool=None
        )
        yield case({**around, "type": "shell_call_output", "output": [_RAN]}, WORDS, tool=None)
        patched = {"type": "apply_patch_call_output", "status": "failed", "output": BOOM}
        yield case({**around, **patched}, BOOM, tool=None, failed=True)


def messages() -> Iterator[Case]:
    asked = {"type": "input_text", "text": ASKED}
    for picture in (
        _PICTURE,
        {"type": "input_image", "image": PNG64, "detail": "low"},
        {"type": "input_file", "file": PNG_URI, "filename": "a.png"},
    ):
        for more in given(_OPTIONS):
            built = {"role": "user", "content": [asked, picture], **more}
            yield message(built, "user", ASKED, images=1)
            yield message({"type": "message", **built}, "user", ASKED, images=1)
    for more in given(_OPTIONS):
        yield message({**_CALL, "status": "completed", **more}, "assistant", calls=1)
        yield message(
            {**_RESULT, "output": [_WORDS, _PICTURE], **more}, "tool", answers=(WORDS,), images=1
        )
        thought = {"type": "reasoning", "content": [{"type": "input_text", "text": SECRET}]}
        yield message({**thought, "rawContent": [], **more}, "assistant")
        hosted = {"type": "hosted_tool_call", "name": TOOL, "status": "completed"}
        yield message({**hosted, "arguments": SECRET, "output": SECRET, **more}, "assistant")
        shown = {"type": "computer_call_result", "callId": CALL, "output": _SCREEN}
        yield message({**shown, **more}, "tool", images=1)
        ran = {"type": "shell_call_output", "callId": CALL, "output": [_RAN]}
        yield message({**ran, **more}, "tool", answers=(WORDS,))


def histories() -> Iterator[Case]:
    said = {"type": "output_text", "text": SAID}
    last = {"type": "output_text", "text": DONE}
    reply = {"type": "message", "role": "assistant", "status": "completed"}
    asked = {"type": "message", "role": "user"}
    listed: list[Case] = [
        {**asked, "content": [{"type": "input_text", "text": ASKED}, _PICTURE]},
        {"type": "reasoning", "content": [{"type": "input_text", "text": SECRET}]},
        {**reply, "content": [said]},
        {**_CALL, "status": "completed"},
        {**_RESULT, "output": WORDS},
        {**reply, "content": [last]},
    ]
    yield history(listed)
    plain = {"role": "user", "content": ASKED}
    yield history([plain, *listed[1:]], images=0)
