"""Parts of every case."""

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

PNG64 = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAQAAAABbAUdZAAAAD0lEQVR42mNYBQQMg5cAAJImVQH6K/hY"
    "AAAAAElFTkSuQmCC"
)
PNG = base64.b64decode(PNG64)
PNG_URI = f"data:image/png;base64,{PNG64}"
IMAGE = hashlib.sha256(PNG).hexdigest()[:12]
URL = "https://x.example/a.png"
ASKED, SAID, DONE = "How cold is it?", "I look.", "It is cold."
"""Texts of the user in a message, and of the assistant before its call and after the answer."""
WORDS = "Four degrees."
BOOM = "No answer."
SECRET = "kept"
"""Stands wherever a member is only kept, and must be told nowhere."""
CALL, TOOL = "call_1", "look"
ARGUMENTS = {"a": 1}
ARGUMENTS_TEXT = '{"a": 1}'
Case = dict[str, Any]
WHEN = "2026-05-04T03:02:01Z"


def case(
    value: Any,
    *texts: str,
    images: int = 0,
    failed: bool = False,
    call: str | None = CALL,
    tool: str | None = TOOL,
) -> Case:
    """A result, and the expected reading."""
    expect = {"texts": texts, "media": [IMAGE] * images, "failed": failed}
    expect |= {"call": call, "tool": tool}
    return {"value": value, "expect": {key: said for key, said in expect.items() if said}}


def message(
    value: Any,
    role: str,
    *texts: str,
    calls: int = 0,
    answers: tuple[str, ...] = (),
    images: int = 0,
    call: str | None = CALL,
) -> Case:
    """A message, its role, and its texts for a model."""
    expect = {"role": role, **_told(texts, calls, answers, images, call)}
    return {"value": value, "expect": {key: said for key, said in expect.items() if said}}


def history(
    value: Any,
    *texts: str,
    calls: int = 1,
    answers: tuple[str, ...] = (WORDS,),
    images: int = 1,
    call: str | None = CALL,
) -> Case:
    """A conversation, by default a question with a picture, a call, its answer and a last word."""
    expect = _told(texts or (ASKED, SAID, DONE), calls, answers, images, call)
    return {"value": value, "expect": {key: said for key, said in expect.items() if said}}


def _told(
    texts: tuple[str, ...], calls: int, answers: tuple[str, ...], images: int, call: str | None
) -> Case:
    return {
        "texts": texts,
        "calls": [[TOOL, ARGUMENTS]] * calls,
        "answers": [[call, text] for text in answers],
        "media": [IMAGE] * images,
    }


def columns(*models: Any) -> Iterator[list[Any]]:
    """Several pydantic models, each time all in the same spelling."""
    yield from map(list, zip(*map(dumps, models), strict=True))


def given(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """No optional member, each alone, all of them."""
    yield {}
    if len(options) > 1:
        yield from ({name: value} for name, value in options.items())
    if options:
        yield options


def bare_and_full(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """No optional member, all of them."""
    yield {}
    yield options


def dumps(model: Any) -> Iterator[Any]:
    """A pydantic model in every spelling of its dump."""
    for by_alias in (False, True):
        for exclude in ({}, {"exclude_none": True}, {"exclude_unset": True}):
            yield model.model_dump(mode="json", by_alias=by_alias, **exclude)
    yield json.loads(model.model_dump_json())
