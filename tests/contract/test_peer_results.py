"""Results of real servers and test cases of other systems, sent through the live service.

Each case is posted as it is and held to its `check`; every key of one has a function here. A case
with a note is one where its maker and the specifications differ: `DIFFERS` says in which keys.
"""

import base64
import json
import mimetypes
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from pagefault_dialects.json.values import JsonValue
from tests.contract.render_requests import strings
from tests.providers import CHECKS as PROVIDERS

pytestmark = pytest.mark.engines("embedded")

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "peer_results.jsonl").read_text().splitlines()
]
# What is not checked of a case with a note, which says why.
DIFFERS: Mapping[str, set[str]] = MappingProxyType(
    {"mcp-audio-test.unknown": {"kinds"}, "ck-img-b64-fake": {"json"}}
)
_REPEAT = "$repeat:"
_MEDIA_KEYS = {
    "image_url",
    "input_image",
    "image",
    "input_audio",
    "audio",
    "file",
    "input_file",
    "document",
    "video",
    "inlineData",
    "resource",
}


def spelled_out(value: JsonValue) -> JsonValue:
    """A value with every `$repeat:letters:times` written out."""
    if isinstance(value, str) and value.startswith(_REPEAT):
        letters, _, times = value.removeprefix(_REPEAT).rpartition(":")
        return letters * int(times)
    if isinstance(value, dict):
        return {key: spelled_out(item) for key, item in value.items()}
    return [spelled_out(item) for item in value] if isinstance(value, list) else value


def checked_keys(case: dict[str, Any]) -> dict[str, Any]:
    """The keys of a case's check that hold here, with what they ask."""
    left_out = DIFFERS.get(case["id"], set())
    return {key: spelled_out(value) for key, value in case["check"].items() if key not in left_out}


@dataclass(frozen=True)
class Taken:
    """The record of a tool result."""

    client: httpx.Client
    record: dict[str, Any]

    @property
    def sanitized(self) -> dict[str, Any]:
        sanitized: dict[str, Any] = self.record["sanitized"]
        return sanitized

    @property
    def parts(self) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = self.sanitized["parts"]
        return parts

    @property
    def texts(self) -> list[str]:
        return [part["text"] for part in self.parts if part["type"] == "text"]

    def bytes_of(self, part: dict[str, Any]) -> bytes:
        held = part.get("image") or part["data"]
        if held.startswith("@blob:"):
            return self.content(held[1:])
        return base64.b64decode(held)

    def content(self, uri: str) -> bytes:
        answer = self.client.get(f"/api/resources/{quote(uri, safe='')}/content")
        assert answer.status_code == 200
        return answer.content

    def readings(self) -> list[str]:
        """Every text of the record, those that are resources of their own, and it all as JSON."""
        stored = [
            self.content(resource["uri"]).decode()
            for resource in self.sanitized["resources"]
            if resource["kind"] == "text"
        ]
        text = json.dumps(self.sanitized, ensure_ascii=False)
        return [*strings(self.sanitized), *stored, text]

    def rendered(self, target: str) -> dict[str, Any]:
        path = f"/api/tool-results/{self.record['id']}/render"
        answer = self.client.get(path, params={"target": target})
        assert answer.status_code == 200, answer.text[:500]
        rendering: dict[str, Any] = answer.json()
        PROVIDERS[target](rendering["messages"])
        return rendering


def is_one_of_types(taken: Taken, expected: list[Any]) -> None:
    found = [part["type"] for part in taken.parts]
    assert found in (expected if isinstance(expected[0], list) else [expected])


def contains(taken: Taken, expected: list[str]) -> None:
    readings = taken.readings()
    assert [text for text in expected if not any(text in reading for reading in readings)] == []


def lacks(taken: Taken, expected: list[str]) -> None:
    readings = taken.readings()
    assert [text for text in expected if any(text in reading for reading in readings)] == []


def has_texts(taken: Taken, expected: list[str]) -> None:
    assert taken.texts == expected


def has_types_of_media(taken: Taken, expected: list[str]) -> None:
    assert [part["mimeType"] for part in taken.parts if part["type"] != "text"] == expected


def has_kinds(taken: Taken, expected: list[str]) -> None:
    assert [part["mediaKind"] for part in taken.parts if part["type"] == "file"] == expected


def has_kinds_of_resources(taken: Taken, expected: list[str]) -> None:
    assert [resource["kind"] for resource in taken.sanitized["resources"]] == expected


def has_bytes(taken: Taken, expected: dict[str, str]) -> None:
    found = {index: taken.bytes_of(taken.parts[int(index)]) for index in expected}
    assert found == {index: base64.b64decode(value) for index, value in expected.items()}


def has_filenames(taken: Taken, expected: dict[str, str]) -> None:
    assert {index: taken.parts[int(index)]["filename"] for index in expected} == expected


def has_addresses(taken: Taken, expected: dict[str, str]) -> None:
    parts = {index: taken.parts[int(index)] for index in expected}
    assert {index: part.get("image") or part["data"] for index, part in parts.items()} == expected


def is_reference(taken: Taken, index: int) -> None:
    assert taken.parts[index]["data"].startswith("@blob:")


def has_structure(taken: Taken, expected: object) -> None:
    assert taken.sanitized["meta"]["structuredContent"] == expected


def has_success(taken: Taken, expected: bool) -> None:
    assert taken.sanitized["meta"]["success"] is expected


def is_rendered(taken: Taken, expected: dict[str, dict[str, Any]]) -> None:
    for target, wanted in expected.items():
        rendering = taken.rendered(target)
        words = "\n".join(strings(rendering["messages"]))
        assert set(wanted) <= {"contains", "lacks", "once", "media", "loss"}
        assert [text for text in wanted.get("contains", []) if text not in words] == [], words
        assert [text for text in wanted.get("lacks", []) if text in words] == [], words
        assert {text: words.count(text) for text in wanted.get("once", [])} == dict.fromkeys(
            wanted.get("once", []), 1
        )
        if "media" in wanted:
            assert media_in(rendering["messages"]) == wanted["media"], target
        if "loss" in wanted:
            assert bool(rendering["loss"]) is wanted["loss"], rendering["loss"]


def media_in(value: object) -> int:
    """Return the number of media blocks in messages."""
    if isinstance(value, list):
        return sum(map(media_in, value))
    if not isinstance(value, dict):
        return 0
    inner = sum(map(media_in, value.values()))
    is_medium = value.get("type") in _MEDIA_KEYS or any(
        isinstance(value.get(key), dict) for key in _MEDIA_KEYS
    )
    return max(int(is_medium), inner)


OF_RESULTS: Mapping[str, Callable[[Taken, Any], None]] = MappingProxyType(
    {
        "types": is_one_of_types,
        "contains": contains,
        "notText": lacks,
        "texts": has_texts,
        "mimes": has_types_of_media,
        "kinds": has_kinds,
        "rkinds": has_kinds_of_resources,
        "bytes": has_bytes,
        "filename": has_filenames,
        "url": has_addresses,
        "ref": is_reference,
        "structured": has_structure,
        "successIs": has_success,
        "render": is_rendered,
    }
)


def has_status(answer: httpx.Response, expected: int) -> None:
    assert answer.status_code == expected


def is_list(answer: httpx.Response, expected: bool) -> None:
    assert isinstance(answer.json()["content"], list) is expected


def reads(answer: httpx.Response, expected: list[str]) -> None:
    page_id = answer.request.url.path.split("/")[3]
    wanted = [text.replace("<pid>", page_id) for text in expected]
    assert [text for text in wanted if text not in answer.text] == [], answer.text


def has_members(answer: httpx.Response, expected: dict[str, Any]) -> None:
    found = answer.json()
    assert {key: found.get(key) for key in expected} == expected


def has_extension(answer: httpx.Response, expected: str) -> None:
    assert answer.headers["content-disposition"].endswith(f'{expected}"')
    assert str(mimetypes.guess_type(f"a{expected}")[0]) in answer.headers["content-type"]


def has_body(answer: httpx.Response, expected: str) -> None:
    assert answer.content == base64.b64decode(expected)


OF_PAGES: Mapping[str, Callable[[httpx.Response, Any], None]] = MappingProxyType(
    {
        "status": has_status,
        "isList": is_list,
        "contains": reads,
        "json": has_members,
        "ext": has_extension,
        "body": has_body,
    }
)


def cases_of(kind: str) -> list[Any]:
    """The cases of a kind, by their ids."""
    return [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] == kind]


@pytest.mark.parametrize("case", cases_of("tool_result"))
def test_result_is_taken_as_its_case_expects(
    shared_client: httpx.Client, case: dict[str, Any]
) -> None:
    body = {
        "toolName": "peer",
        "toolCallId": f"call-{CASES.index(case)}",
        "success": case["success"],
        "sessionId": "peers",
        "result": spelled_out(case["raw"]),
    }
    created = shared_client.post("/api/tool-results", json=body)
    assert created.status_code == 201, created.text[:500]
    taken = Taken(shared_client, created.json())
    for key, expected in checked_keys(case).items():
        OF_RESULTS[key](taken, expected)


@pytest.mark.parametrize("case", cases_of("page"))
def test_page_is_what_its_case_expects(shared_client: httpx.Client, case: dict[str, Any]) -> None:
    page_id = f"page-{secrets.token_hex(8)}"
    path = f"/api/pages/{page_id}"
    if case["page"] is not None:
        stored = shared_client.put(path, json=spelled_out(case["page"]))
        assert stored.status_code == 201, stored.text[:500]
    answer = (
        shared_client.get(path, headers={"Accept": "text/plain"})
        if case["op"] == "detail"
        else shared_client.get(f"{path}/{case['op']}", params=case["args"])
    )
    for key, expected in checked_keys(case).items():
        OF_PAGES[key](answer, expected)


@pytest.mark.parametrize("case", cases_of("interaction"))
def test_interaction_is_taken_as_its_case_expects(
    shared_client: httpx.Client, case: dict[str, Any]
) -> None:
    # No upload of theirs is here.
    created = shared_client.post(
        "/api/sessions/peers/interactions?attachments=any", json=spelled_out(case["body"])
    )
    check = checked_keys(case)
    assert set(check) <= {"status", "input"}
    assert created.status_code == check.get("status", 201), created.text[:500]
    if "input" in check:
        assert created.json()["interaction"]["input"] == check["input"]


def test_only_cases_with_a_note_differ() -> None:
    assert set(DIFFERS) <= {case["id"] for case in CASES if "note" in case}
