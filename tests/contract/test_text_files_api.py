"""Text files that users attach, in renderings for targets that take no files of text."""

import json
from collections.abc import Sequence

import httpx
import pytest

from tests.contract.render_requests import Json, all_words, rendering
from tests.contract.session_requests import append, entries
from tests.kit.media import b64, png

pytestmark = pytest.mark.engines("embedded")

RENDER = "/api/sessions/s/render"
LINES = "".join(f"{number:06} line of text\n" for number in range(150_000))
TARGETS = ["anthropic", "openai-chat", "openai-responses"]


def attach(client: httpx.Client, data: bytes, mime_type: str = "text/plain") -> str:
    """Append a message with a file; return the handle of what is stored of it."""
    file = {"filename": "a.txt", "file_data": f"data:{mime_type};base64,{b64(data)}"}
    content: Sequence[Json] = [{"type": "file", "file": file}, {"type": "text", "text": "sum up"}]
    assert append(client, content=content).is_success
    (entry,) = entries(client)
    return str(entry["content"][0]["file"]["file_data"])


def losses(record: Json) -> list[tuple[str, str, str]]:
    return [(item["from"], item["to"], item["code"]) for item in record["loss"]]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("lines", "left_out"), [(2_600, "47000 characters"), (150_000, "most of 3.0 MB")]
)
def test_a_long_text_file_is_shown_by_its_ends_around_its_handle(
    client: httpx.Client, target: str, lines: int, left_out: str
) -> None:
    text = LINES[: lines * 20]
    handle = attach(client, text.encode())
    record = rendering(client, RENDER, target)
    size = "52.0 kB" if lines == 2_600 else "3.0 MB"
    assert (
        f"[File: a.txt ({size}), text below]\n{text[:4_000]}\n"
        f'[… {left_out} left out; read_text("{handle}") shows all of it …]\n{text[-1_000:]}'
    ) in all_words(record)
    assert losses(record) == [
        ("original", "text", "type-not-taken"),
        ("text", "preview", "text-too-long"),
    ]


def test_a_long_text_file_gives_way_to_a_line(client: httpx.Client) -> None:
    handle = attach(client, LINES[:52_000].encode())
    for _ in range(8):
        assert append(client, content="go on").is_success
        assert append(client, role="assistant", content="Done.").is_success
    record = rendering(client, RENDER, "anthropic", maxTokens=600)
    assert record["tokensEst"] <= 600
    assert f'[File: a.txt (52.0 kB), left out to make room: read_text("{handle}")' in all_words(
        record
    )


def test_pictures_of_a_notebook_are_marks(client: httpx.Client) -> None:
    picture = png(300, 200, noise=True)
    output = {"output_type": "display_data", "data": {"image/png": b64(picture) + "\n"}}
    cell = {"cell_type": "code", "source": ["plot(x)"], "outputs": [output]}
    notebook = json.dumps({"cells": [cell], "nbformat": 4}, indent=1)
    attach(client, notebook.encode(), "application/x-ipynb+json")
    record = rendering(client, RENDER, "anthropic")
    text = notebook.replace(b64(picture), "[base64 of image/png left out]")
    assert text in all_words(record)
    assert losses(record) == [
        ("original", "text", "type-not-taken"),
        ("base64", "placeholder", "base64-left-out"),
    ]
