"""Calls of tools while the object store is away: the model is told, and nothing is half stored."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.contract.render_requests import all_words, read_rendering
from tests.contract.session_requests import call_tool, listed
from tests.kit.scripted_object_store import ScriptedObjectStore, refusal
from tests.kit.servers import Backends, LiveService, serving


@pytest.fixture
def store() -> Iterator[ScriptedObjectStore]:
    with ScriptedObjectStore() as store:
        yield store


@pytest.fixture
def service(
    backends: Backends, tmp_path: Path, store: ScriptedObjectStore
) -> Iterator[LiveService]:
    settings = backends.settings("server", tmp_path / "data")
    blobs = settings.blobs.model_copy(update={"s3_endpoint": store.endpoint_url})
    with serving(settings.model_copy(update={"blobs": blobs})) as service:
        yield service


@pytest.mark.engines("server")
def test_model_is_told_to_call_again_and_nothing_is_stored(
    client: httpx.Client, store: ScriptedObjectStore
) -> None:
    record = call_tool(client, "log", "a line\n" * 2_000)
    assert isinstance(record, dict)
    ref = record["sanitized"]["resources"][0]["uri"]
    body = {
        "target": "anthropic",
        "id": "toolu_1",
        "name": "read_text",
        "arguments": {"ref": ref, "limit": 6},
    }
    store.rule = lambda method, _: refusal(503, "SlowDown") if method == "GET" else None
    # The second time it is run anew.
    for _ in range(2):
        answer = client.post("/api/sessions/s/tool-calls", json=body)
        failed = read_rendering(answer, "anthropic")
        assert failed["messages"][0]["content"][0]["is_error"] is True
        assert "nothing was stored. Make the same call again" in all_words(failed)
        assert len(listed(client, "/api/sessions/s/messages")) == 1
