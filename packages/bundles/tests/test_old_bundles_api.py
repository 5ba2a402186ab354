"""Bundles of version 1 of the format are read; their requests are identified by their bytes.

`data/session_of_version_1.zip` was made by the last service that wrote version 1, by
the calls of `fill` here.
"""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.bundled_sessions import (
    SESSION,
    block,
    bundled,
    done,
    export,
    members_of,
    take_in,
    with_manifest,
)
from tests.kit import media
from tests.kit.servers import LiveService

BUNDLE = Path("packages/bundles/tests/data/session_of_version_1.zip")
RESULT: dict[str, Any] = {
    "toolName": "record",
    "toolCallId": "call-1",
    "sessionId": SESSION,
    "result": {"content": [block(media.wav(0.01), "audio/wav", "audio")], "isError": False},
}
MESSAGE: dict[str, Any] = {"role": "user", "content": "What was said?"}
ANSWER: dict[str, Any] = {"role": "tool", "tool_call_id": "call-2", "content": "Nothing."}
FAULT = {"session_id": SESSION, "tool_call_id": "call-3", "target_level": 0}
MESSAGES = f"/api/sessions/{SESSION}/messages"
RENDER = f"/api/sessions/{SESSION}/render?target=openai-chat"


def fill(client: httpx.Client) -> None:
    """Make the session that the bundle is of."""
    done(client.post("/api/tool-results", json=RESULT))
    for message in (MESSAGE, ANSWER):
        done(client.post(MESSAGES, json=message))
    page = {"content": "some words", "session_id": SESSION}
    done(client.put("/api/pages/p-1", json=page))
    done(client.post("/api/pages/p-1/fault", json=FAULT))
    file = done(client.post("/api/resources", content=b"attached"))
    interaction = {"input": {"parts": [{"text": "x", "attachments": [{"id": file["uri"]}]}]}}
    path = f"/api/sessions/{SESSION}/interactions"
    asked_id = done(client.post(path, json=interaction))["id"]
    done(client.put(f"{path}/{asked_id}/output", json={"role": "assistant", "content": "y"}))


def test_bundle_of_version_1_is_imported_with_its_ids_and_bytes(service: LiveService) -> None:
    bundle = BUNDLE.read_bytes()
    old = members_of(bundle)
    with service.client() as client:
        assert take_in(client, bundle).status_code == 201
        new = members_of(export(client))
        files = {name: data for name, data in old.items() if name != "manifest.json"}
        assert {name: data for name, data in new.items() if name != "manifest.json"} == files
        manifest = json.loads(old["manifest.json"])
        assert json.loads(new["manifest.json"]) == {**manifest, "version": 4}
        content = client.get("/api/pages/p-1/content")
        assert (content.status_code, content.json()["text"]) == (200, "some words")


def test_messages_of_a_bundle_of_version_2_have_no_dialect(
    service: LiveService,
) -> None:
    with service.client() as client:
        fill(client)
        new = members_of(export(client))
        history = re.sub(rb',"dialect":"[a-z-]+","reading":1', b"", new["history.jsonl"])
        assert len(history) < len(new["history.jsonl"])
        manifest = {**json.loads(new["manifest.json"]), "version": 2}
        old = {**new, "history.jsonl": history, "manifest.json": json.dumps(manifest).encode()}
        listed = client.get(MESSAGES).json()["items"]
        rendered = client.get(RENDER).json()
    with service.client() as client:
        assert take_in(client, bundled(with_manifest(old))).status_code == 201
        assert members_of(export(client))["history.jsonl"] == history
        assert client.get(MESSAGES).json()["items"] == listed
        assert client.get(RENDER).json() == rendered


def test_repeated_request_is_identified_by_its_bytes(service: LiveService) -> None:
    with service.client() as client:
        done(take_in(client, BUNDLE.read_bytes()))
        before = export(client)
        assert client.post("/api/tool-results", json=RESULT).status_code == 200
        assert client.post(MESSAGES, json=ANSWER).status_code == 200
        assert client.post("/api/pages/p-1/fault", json=FAULT).status_code == 200
        assert members_of(export(client))["history.jsonl"] == members_of(before)["history.jsonl"]


@pytest.mark.parametrize(
    ("path", "body"), [("/api/tool-results", RESULT), (MESSAGES, ANSWER)], ids=["result", "message"]
)
def test_other_spelling_of_a_request_of_version_1_is_refused_with_the_reason(
    service: LiveService, path: str, body: dict[str, Any]
) -> None:
    with service.client() as client:
        done(take_in(client, BUNDLE.read_bytes()))
        spelled = json.dumps(body, indent=1)
        answer = client.post(path, content=spelled, headers={"Content-Type": "application/json"})
        assert answer.status_code == 409
        assert "only the same bytes are the same request" in answer.json()["detail"]
