"""Renderings by a process that has read a session before, beside those by one that has not."""

import json

import httpx
import pytest

from app.config.settings import Settings
from pagefault_dialects.targets.table import TARGETS
from tests.contract.dialects import DIALECTS
from tests.contract.render_cases import CASES
from tests.contract.render_requests import SESSION_RENDER, Json
from tests.contract.session_requests import append
from tests.kit.servers import serving


def rendered(client: httpx.Client, target: str) -> bytes:
    query: Json = {"target": target, "maxTokens": 6_000, "handles": "1"}
    answers = [client.get(SESSION_RENDER, params={"target": target})]
    answers.append(client.get(SESSION_RENDER, params=query))
    assert [answer.status_code for answer in answers] == [200, 200], answers[-1].text[:300]
    return b"\n".join(answer.content for answer in answers)


@pytest.mark.slow
@pytest.mark.engines("embedded")
def test_what_a_process_remembers_changes_no_rendering(settings: Settings) -> None:
    with serving(settings) as live, live.client() as client:
        for name, dialect in DIALECTS.items():
            for message in dialect:
                # Each dialect calls its call the same, and a call is answered once.
                own = json.loads(json.dumps(message).replace("call_1", f"call_{name}"))
                assert append(client, **own).status_code == 201
        for name, case in CASES.items():
            for number, result in enumerate(case.results[:3]):
                body: Json = {
                    "toolName": "look",
                    "toolCallId": f"{name}-{number}",
                    "sessionId": "s",
                }
                stored = client.post("/api/tool-results", json={**body, "result": result})
                assert stored.status_code == 201, name
        structured = {"content": [], "structuredContent": {"rows": ["row"] * 50_000}}
        body = {"toolName": "table", "toolCallId": "t", "sessionId": "s", "result": structured}
        assert client.post("/api/tool-results", json=body).status_code == 201
        project = client.headers
        first = {target: rendered(client, target) for target in TARGETS}
        assert {target: rendered(client, target) for target in reversed([*TARGETS])} == first
    with serving(settings) as live, live.client() as client:
        client.headers = project
        # In another order: a target that changed what is remembered would show.
        assert {target: rendered(client, target) for target in reversed([*TARGETS])} == first
