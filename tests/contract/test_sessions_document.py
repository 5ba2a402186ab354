"""`docs/sessions.md` shows what the service really takes and answers."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.models.interaction import Interaction
from tests.kit.media import png

pytestmark = pytest.mark.engines("embedded")

DOCUMENT = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text()
SHOWN: list[Any] = [
    json.loads(block) for block in re.findall(r"^```json\n(.*?)\n```$", DOCUMENT, re.M | re.S)
]
MESSAGE, INPUT, INTERACTION, RECEIPT = SHOWN


def shape(value: object) -> object:
    """The keys of a value, at any depth."""
    if isinstance(value, dict):
        return {key: shape(member) for key, member in value.items()}
    return [shape(member) for member in value[:1]] if isinstance(value, list) else None


def test_shown_message_is_appended_as_it_is(client: httpx.Client) -> None:
    answer = client.post("/api/sessions/demo/messages", json=MESSAGE).json()
    assert {key: answer[key] for key in MESSAGE} == MESSAGE


def test_shown_input_is_taken_with_files_that_are_there(client: httpx.Client) -> None:
    uri = client.post("/api/resources", content=png()).json()["uri"]
    body = json.loads(json.dumps(INPUT).replace("blob:\\u2026", uri))
    answer = client.post(
        "/api/sessions/demo/interactions", json={**body, "input_kind": "multimodal"}
    )
    parts = answer.json()["interaction"]["input"]["parts"]
    assert [part["text"] for part in parts] == [part["text"] for part in INPUT["input"]["parts"]]


def test_shown_interaction_is_what_is_kept() -> None:
    assert Interaction.model_validate(INTERACTION).dump() == INTERACTION


def test_shown_receipt_has_the_form_of_a_real_one(client: httpx.Client) -> None:
    uri = client.post("/api/resources", content=png()).json()["uri"]
    attached = {"input": {"parts": [{"attachments": [{"id": uri}]}]}}
    client.post("/api/sessions/demo/interactions", json=attached)
    client.put("/api/pages/img_001", json={"modality": "image", "content": f"@{uri}"})
    receipt = client.delete("/api/sessions/demo").json()
    assert shape({**receipt, "resources": []}) == shape({**RECEIPT, "resources": []})
    assert shape(receipt["resources"]) == shape(RECEIPT["resources"][1:])
