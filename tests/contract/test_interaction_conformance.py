"""The conformance cases of interactions, each sent to the live service and held to its `dump`.

A case of a part of an interaction is sent inside one, said to be `multimodal`. Ids of files become
the URIs of uploaded resources, since the service takes no others.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from pagefault_dialects.json.values import JsonValue, json_text
from tests.contract.page_requests import outcome

pytestmark = pytest.mark.engines("embedded")

CASES: dict[str, dict[str, Any]] = {
    case["name"]: case
    for case in map(
        json.loads,
        (Path(__file__).parents[1] / "data" / "interactions.jsonl").read_text().splitlines(),
    )
}
ROUTE = "/api/sessions/{}/interactions"
TIMESTAMP = "2023-10-27T10:00:00Z"
WRAPPED: dict[str, tuple[str, Callable[[JsonValue], list[JsonValue]]]] = {
    "AttachedFile": ("/input/parts/0/attachments/0", lambda file: [{"attachments": [file]}]),
    "ContentPart": ("/input/parts/0", lambda part: [part]),
    "MultiModalInput": ("/input", lambda rich: rich["parts"]),
}
NO_RESOURCE = {"file_empty_id_allowed"}
"""Fine as models, but an empty id is no resource."""
POINTERS = {
    "file_extra_keys": ["/url", "/content"],
    "file_camelcase_mimeType": ["/mimeType"],
    "part_attachments_null": ["/attachments"],
    "part_extra_key": ["/type"],
    "mmi_part_is_string": ["/parts/0"],
    "mmi_nested_locs": ["/parts/1/attachments/1/id"],
    "int_input_number": ["/input"],
    "int_input_list_of_parts": ["/input"],
    "int_output_role_uppercase": ["/output/role"],
    "int_output_content_null": ["/output/content"],
    "int_output_empty_object": ["/output/role", "/output/content"],
    "ts_empty": ["/timestamp"],
    "int_multiple_errors": ["/input", "/output/role", "/output/content", "/timestamp"],
}


def with_uris(client: httpx.Client, value: JsonValue) -> JsonValue:
    """The value with an uploaded file in the place of each of its file ids."""
    if isinstance(value, Mapping):
        return {
            key: uri_of(client, member) if key == "id" and member else with_uris(client, member)
            for key, member in value.items()
        }
    return [with_uris(client, item) for item in value] if isinstance(value, list) else value


def uri_of(client: httpx.Client, name: str) -> str:
    return str(client.post("/api/resources", content=name.encode()).json()["uri"])


def interaction_of(model: str, value: JsonValue) -> dict[str, Any]:
    """Return the request with the value of a case."""
    if model == "Interaction":
        return {**value}
    rich = {"parts": WRAPPED[model][1](value)}
    return {"input": rich, "input_kind": "multimodal", "timestamp": TIMESTAMP}


def dump_of(model: str, value: JsonValue) -> str:
    """The JSON text of the stored interaction."""
    if model == "Interaction":
        return json_text(value)
    rich = {"parts": WRAPPED[model][1](value)}
    return json_text({"input": rich, "output": None, "timestamp": TIMESTAMP})


def stored_text(answer: httpx.Response) -> str:
    """The interaction in a record, its last member, as it was sent."""
    return answer.text.partition(',"interaction":')[2][:-1]


@pytest.mark.requirement("001-dump")
@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if case["valid"] and name not in NO_RESOURCE]
)
def test_valid_case_is_stored_as_it_is_dumped(client: httpx.Client, name: str) -> None:
    case = with_uris(client, CASES[name])
    body = json_text(interaction_of(case["model"], case["input"])).encode()
    headers = {"Content-Type": "application/json"}
    created = client.post(ROUTE.format("s"), content=body, headers=headers)
    assert created.status_code == 201, created.text[:500]
    expected = dump_of(case["model"], case["dump"])
    timestamp = created.json()["interaction"]["timestamp"]
    assert stored_text(created) == expected.replace("<now>", timestamp)
    read = client.get(created.headers["location"])
    assert (read.status_code, read.content) == (200, created.content)
    entry = client.get("/api/sessions/s/messages/1")
    assert stored_text(entry) == stored_text(created)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case["valid"]])
def test_invalid_case_is_refused_at_its_place(client: httpx.Client, name: str) -> None:
    case = CASES[name]
    prefix = "" if case["model"] == "Interaction" else WRAPPED[case["model"]][0]
    answer = client.post(ROUTE.format("s"), json=interaction_of(case["model"], case["input"]))
    assert outcome(answer) == (422, "invalid-payload")
    pointers = [fault["pointer"] for fault in answer.json()["errors"]]
    assert pointers == [prefix + pointer for pointer in POINTERS[name]]
    assert client.get("/api/sessions/s").status_code == 404


@pytest.mark.parametrize("name", sorted(NO_RESOURCE))
def test_id_that_is_no_resource_is_missing(client: httpx.Client, name: str) -> None:
    case = CASES[name]
    answer = client.post(ROUTE.format("s"), json=interaction_of(case["model"], case["input"]))
    assert outcome(answer) == (422, "missing-attachment")
    pointers = [fault["pointer"] for fault in answer.json()["errors"]]
    assert pointers == [f"{WRAPPED[case['model']][0]}/id"]
