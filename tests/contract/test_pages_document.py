"""`docs/pages.md` shows what the service really answers."""

import json
import re
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.engines("embedded")

DOCUMENT = (Path(__file__).parents[2] / "docs" / "pages.md").read_text()
PAGE = re.compile(r"^### \w+: `(?P<id>[^`]+)`\n\n```json\n(?P<page>.*?)\n```\n", re.M | re.S)
ANSWER = re.compile(
    r"^`GET (?P<path>/api/pages/[^`]+)`\n\n```(?P<form>\w+)\n(?P<shown>.*?)\n```\n", re.M | re.S
)
PAGES = {match["id"]: match["page"] for match in PAGE.finditer(DOCUMENT)}
ANSWERS = [match.group("path", "form", "shown") for match in ANSWER.finditer(DOCUMENT)]


def test_one_page_of_each_modality_is_shown_at_each_level() -> None:
    levels = ("FULL", "REDUCED", "ABSTRACT", "REFERENCE")
    assert {path for path, _, _ in ANSWERS} == {
        f"/api/pages/{page_id}/blocks?level={level}" for page_id in PAGES for level in levels
    }
    assert [json.loads(page)["modality"] for page in PAGES.values()] == [
        "text",
        "image",
        "audio",
        "video",
        "structured",
    ]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer[0])
def test_shown_answer_is_the_real_one(client: httpx.Client, answer: tuple[str, str, str]) -> None:
    path, form, shown = answer
    page_id = path.split("/")[3]
    assert client.put(f"/api/pages/{page_id}", json=json.loads(PAGES[page_id])).is_success
    content = client.get(path).json()["content"]
    assert content == (json.loads(shown) if form == "json" else shown)
