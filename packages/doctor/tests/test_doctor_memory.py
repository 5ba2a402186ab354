"""The doctor examines a history of 50 MB within the memory that requests have."""

import json
from pathlib import Path

import pytest

from tests.e2e.test_resumable_upload import Process
from tests.kit import media
from tests.kit.media import b64

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(600)]

MIB = 1024 * 1024
# The budget of requests with its defaults, and the quarter that is not returned at once.
MAX_GROWTH_BYTES = 320 * MIB
# The growth that remains after the answer.
MAX_LEFT_BYTES = 32 * MIB
HISTORY_BYTES = 48 * MIB
# Each request waits for its answer, so no sleep is needed.
MAX_QUESTIONS = 20_000


def history() -> bytes:
    """Return a history of screenshots, in which every ninth result has the id of another call."""
    picture = b64(media.png(560, 560, noise=True))
    url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
    messages: list[dict[str, object]] = [{"role": "user", "content": "Begin."}]
    for number in range(HISTORY_BYTES // len(picture)):
        look = {"name": "look", "arguments": "{}"}
        call = {"id": f"c{number}", "type": "function", "function": look}
        answered = f"x{number}" if number % 9 == 0 else f"c{number}"
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": answered, "content": [url]},
        ]
    return json.dumps({"messages": messages}).encode()


def test_large_history_is_repaired_within_the_budget(tmp_path: Path) -> None:
    body = history()
    assert len(body) > 45 * MIB
    server = Process(tmp_path / "data")
    with server, server.client() as client:
        small = {"messages": [{"role": "user", "content": "Begin."}]}
        assert client.post("/api/doctor", json=small).status_code == 200
        before = server.peak_bytes()
        for _ in range(2):
            headers = {"Content-Type": "application/json"}
            answer = client.post("/api/doctor?apply=true", content=body, headers=headers)
            assert answer.status_code == 200, answer.text[:500]
            assert {finding["rule"] for finding in answer.json()["findings"]} >= {
                "no-call",
                "no-answer",
            }
        assert server.peak_bytes() - before < MAX_GROWTH_BYTES
        # A thread returns it to the system, at most once a second.
        for _ in range(MAX_QUESTIONS):
            if server.resident_bytes() - before < MAX_LEFT_BYTES:
                break
            assert client.get("/healthz").status_code == 200
        assert server.resident_bytes() - before < MAX_LEFT_BYTES
