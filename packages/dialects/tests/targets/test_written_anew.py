"""Messages that are written anew for their own dialect, since something in them had to change."""

from typing import Any

import pytest

from pagefault_dialects import render
from pagefault_dialects.messages.reading import read_messages
from pagefault_dialects.model.render_options import ImageDetail, RenderOptions

Json = dict[str, Any]
_URL = "https://files.example/a.png"
# No request has it, so that the message around it is written anew.
_UNKNOWN: Json = {"type": "hologram", "x": 1}


def _looked_at(target: str, options: RenderOptions) -> list[Json]:
    image = {"type": "image_url", "image_url": {"url": _URL, "detail": "original"}}
    turns = read_messages([{"role": "user", "content": [image, _UNKNOWN]}]).turns
    rendered = render(turns, target, options)
    assert [each.pointer for each in rendered.loss] == ["/0/content/1"]
    block: Json = rendered.messages[0]["content"][0]
    return [block]


@pytest.mark.parametrize("detail", [None, "original"])
def test_image_keeps_its_original_detail_for_models_that_have_it(
    detail: ImageDetail | None,
) -> None:
    options = RenderOptions(detail=detail)
    assert _looked_at("openai-chat", options) == [
        {"type": "image_url", "image_url": {"url": _URL, "detail": "original"}}
    ]
    assert _looked_at("openai-responses", options) == [
        {"type": "input_image", "image_url": _URL, "detail": "original"}
    ]
    for other in ("openai-compat", "mistral"):
        assert _looked_at(other, options) == [
            {"type": "image_url", "image_url": {"url": _URL, "detail": "high"}}
        ]
