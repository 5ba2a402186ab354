"""`docs/readback.md` shows what the service really takes and answers."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.session_requests import append, upload
from tests.kit.media import png

pytestmark = pytest.mark.engines("embedded")

DOCUMENT = (Path(__file__).parents[2] / "docs" / "readback.md").read_text()
SHOWN: list[Any] = [
    json.loads(block) for block in re.findall(r"^```json\n(.*?)\n```$", DOCUMENT, re.M | re.S)
]
REQUEST, RESOLVED, LINES, MATCHES, VALUE = SHOWN
LOG = [f"10:02:{number:02} GET /cart" for number in range(1, 401)]


def text_of(client: httpx.Client, content: str, name: str, query: str) -> dict[str, Any]:
    uri = upload(client, content.encode(), filename=name)["uri"]
    answer = client.get(f"/api/resources/{uri}/text?{query}")
    assert answer.status_code == 200, answer.text[:500]
    return {**answer.json(), "uri": "blob:…"}


def test_shown_references_become_what_is_shown(client: httpx.Client) -> None:
    content = png()
    reference = f"@{upload(client, content)['uri']}"
    append(client, session_id="demo", content=reference)
    image = REQUEST["arguments"]["image"]
    answer = client.post(
        "/api/resolve", json=json.loads(json.dumps(REQUEST).replace(image, reference))
    )
    found = json.loads(answer.text.replace(reference[1:], image[1:]))
    assert found["arguments"]["image"].startswith(RESOLVED["arguments"]["image"].removesuffix("…"))
    found["arguments"]["image"] = RESOLVED["arguments"]["image"]
    found["resolved"][0]["size"] = RESOLVED["resolved"][0]["size"]
    assert found == RESOLVED


def test_shown_lines_are_those_that_come_back(client: httpx.Client) -> None:
    found = text_of(client, "\n".join(LOG), "a.log", "lines=10-12")
    assert {**found, "totalBytes": LINES["totalBytes"]} == LINES


def test_shown_match_is_the_one_that_is_found(client: httpx.Client) -> None:
    log = [*LOG[:13], MATCHES["matches"][0]["text"], *LOG[14:]]
    found = text_of(client, "\n".join(log), "a.log", "grep=POST")
    assert {**found, "totalBytes": MATCHES["totalBytes"]} == MATCHES


def test_shown_shape_is_that_of_a_large_value(client: httpx.Client) -> None:
    document = {"rows": [{"id": number, "text": "x" * 90} for number in range(1_000)], "next": None}
    found = text_of(client, json.dumps(document), "a.json", "pointer=")
    assert found["shape"]["size"] == len(json.dumps(document, separators=(",", ":")))
    found["shape"]["size"] = VALUE["shape"]["size"]
    assert found == VALUE
