"""What every case is made of."""

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

PNG64 = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mOoBwAAgQCAfhwpxwAAAABJRU5ErkJggg=="
)
PNG = base64.b64decode(PNG64)
PNG_URI = f"data:image/png;base64,{PNG64}"
IMAGE = hashlib.sha256(PNG).hexdigest()[:12]
URL = "https://x.example/a.png"
WORDS = "Four degrees."
BOOM = "No answer."
SECRET = "kept"
"""Stands wherever a member is only kept, and must be told nowhere."""
CALL, TOOL = "call_1", "look"
WHEN = "2026-05-04T03:02:01Z"


def case(
    value: Any,
    *texts: str,
    images: int = 0,
    failed: bool = False,
    call: str | None = CALL,
    tool: str | None = TOOL,
) -> dict[str, Any]:
    """A result, and what is expected of it."""
    expect = {"texts": texts, "media": [IMAGE] * images, "failed": failed}
    expect |= {"call": call, "tool": tool}
    return {"value": value, "expect": {key: said for key, said in expect.items() if said}}


def given(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """No optional member, each alone, all of them."""
    yield {}
    if len(options) > 1:
        yield from ({name: value} for name, value in options.items())
    if options:
        yield options


def dumps(model: Any) -> Iterator[Any]:
    """A pydantic model in every spelling of its dump."""
    for by_alias in (False, True):
        for exclude in ({}, {"exclude_none": True}, {"exclude_unset": True}):
            yield model.model_dump(mode="json", by_alias=by_alias, **exclude)
    yield json.loads(model.model_dump_json())
