"""Digests of every case: its record, and its rendering for every target, byte for byte."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.config.settings import Settings
from pagefault_dialects.targets.table import TARGETS
from tests.contract import render_cases
from tests.contract.broken_histories import BROKEN
from tests.contract.dialects import DIALECTS
from tests.contract.frozen_digests import answer_digest, compare, digest
from tests.kit.servers import serving
from tests.providers import CHECKS

pytestmark = pytest.mark.engines("embedded")

_DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def client(settings: Settings) -> Iterator[httpx.Client]:
    """A client of a service without keys: ids of resources are derived from the project."""
    with (
        serving(settings.model_copy(update={"auth": "none"})) as live,
        httpx.Client(base_url=live.base_url, timeout=60) as client,
    ):
        yield client


@pytest.fixture
def writes(pytestconfig: pytest.Config) -> bool:
    """True if digests are written."""
    return bool(pytestconfig.getoption("write_documents"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tool_results", "peer_results"])
def test_record_and_renderings_of_a_case_stay_the_same(
    client: httpx.Client, name: str, writes: bool
) -> None:
    found = {}
    for number, line in enumerate((_DATA / f"{name}.jsonl").read_text().splitlines()):
        case = json.loads(line)
        if case.get("kind", "tool_result") != "tool_result":
            continue
        session = f"case-{number}"
        result = case["rawText"] if "rawText" in case else json.dumps(case["raw"])
        call = {
            "toolName": case.get("toolName", "tool"),
            "toolCallId": case.get("toolCallId", "call"),
            "success": case.get("success", True),
            "sessionId": session,
        }
        body = f'{json.dumps(call)[:-1]}, "result": {result}}}'
        stored = client.post(
            "/api/tool-results", content=body, headers={"Content-Type": "application/json"}
        )
        found[case.get("name") or case["id"]] = {
            "record": digest(stored.content),
            **_renderings(client, session),
        }
    compare(name, found, writes=writes)


@pytest.mark.slow
def test_renderings_of_every_medium_stay_the_same(client: httpx.Client, writes: bool) -> None:
    found = {
        name: _renderings(client, render_cases.store(client, name)) for name in render_cases.CASES
    }
    compare("media", found, writes=writes)


@pytest.mark.slow
def test_renderings_of_messages_of_every_dialect_stay_the_same(
    client: httpx.Client, writes: bool
) -> None:
    found = {}
    for name, messages in DIALECTS.items():
        for message in messages:
            client.post(f"/api/sessions/{name}/messages", json=message)
        found[name] = _renderings(client, name)
    compare("dialects", found, writes=writes)


@pytest.mark.slow
def test_broken_histories_are_repaired_for_any_target_as_before(
    client: httpx.Client, writes: bool
) -> None:
    found = {}
    for broken in BROKEN:
        path = "/api/doctor?apply=true"
        answers = {"own": client.post(path, json=broken.request)}
        for target in TARGETS:
            answers[target] = client.post(f"{path}&target={target}", json=broken.request)
            CHECKS[target](answers[target].json()["messages"])
        found[broken.name] = {name: answer_digest(answer) for name, answer in answers.items()}
    compare("broken_histories", found, writes=writes)


def _renderings(client: httpx.Client, session: str) -> dict[str, str]:
    path = f"/api/sessions/{session}/render"
    return {
        target: digest(client.get(path, params={"target": target, "handles": 1}).content)
        for target in TARGETS
    }
