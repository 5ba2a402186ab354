"""Old steps of a session as one line, and the ways back that the line and its loss name."""

import json
import re

import httpx
import pytest

from tests.contract.render_requests import SESSION_RENDER, Json, all_words, read_rendering
from tests.contract.session_requests import append

pytestmark = pytest.mark.engines("embedded")

TARGET = "openai-chat"
WRITTEN = "".join(f"line {number} of the file\n" for number in range(600))


def step(client: httpx.Client, number: int, *, has_result: bool = True) -> None:
    arguments = json.dumps({"path": f"{number}.txt", "content": WRITTEN})
    call = {
        "id": f"c{number}",
        "type": "function",
        "function": {"name": "write_file", "arguments": arguments},
    }
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    entries: list[Json] = [{"message": message}]
    if has_result:
        entries.append({"toolResult": result(number)})
    stored = client.post("/api/sessions/s/turns", json={"entries": entries})
    assert stored.status_code == 200, stored.text[:500]


def result(number: int) -> Json:
    return {"toolName": "write_file", "toolCallId": f"c{number}", "result": f"Written {number}."}


def move(client: httpx.Client, most: int = 8_000) -> Json:
    query = {"target": TARGET, "maxTokens": most, "frontier": "main"}
    return read_rendering(client.post(SESSION_RENDER, json=query), TARGET)


def read(client: httpx.Client, ref: str) -> str:
    body = {"target": TARGET, "id": f"read {ref}", "name": "read_text", "handles": False}
    sent = {**body, "arguments": {"ref": ref, "offset": None}, "maxTokens": 60_000}
    answer = client.post("/api/sessions/s/tool-calls", json=sent)
    return str(read_rendering(answer, TARGET)["messages"][0]["content"])


def test_twelve_long_writes_fit_and_each_is_read_back(client: httpx.Client) -> None:
    append(client, role="user", content="Write the files.")
    for number in range(12):
        step(client, number)
        assert move(client)["tokensEst"] <= 8_000
    words = all_words(move(client, 1_200))
    found = re.search(
        r"Steps 1 to (\d+): write_file \1\. read_text (@entries:2-\d+) lists them\.", words
    )
    assert found is not None, words[:500]
    listed = read(client, found[2])
    assert listed.count("write_file") >= int(found[1])
    cut = re.search(r"read_text (@entry:\d+/arguments/0/content) shows all of it", words)
    assert cut is not None, words[:500]
    assert WRITTEN[:5_000] in read(client, cut[1])


def test_fold_is_one_entry_of_the_loss_with_the_request_for_its_entries(
    client: httpx.Client,
) -> None:
    append(client, role="user", content="Write the files.")
    for number in range(6):
        step(client, number)
    record = move(client, 600)
    [fold] = [item for item in record["loss"] if item["code"] == "folded"]
    count = fold["count"]
    assert fold == {
        "pointer": "",
        "from": "original",
        "to": "line",
        "code": "folded",
        "reason": "The conversation has to fit its limits; a line stands for its oldest steps.",
        "restore": "GET /api/sessions/s/messages?after=1",
        "fromSeq": 2,
        "toSeq": 2 * count + 1,
        "count": count,
    }
    listed = client.get(fold["restore"].removeprefix("GET ")).json()
    assert [item["seq"] for item in listed["items"]][: 2 * count] == [*range(2, 2 * count + 2)]
    assert record["frontier"]["folded"] == 2 * count


def test_result_of_a_folded_call_is_a_message_of_its_own(client: httpx.Client) -> None:
    append(client, role="user", content="Write the files.")
    step(client, 0, has_result=False)
    append(client, role="user", content="Go on.")
    for number in range(1, 6):
        step(client, number)
    before = move(client, 700)
    assert before["frontier"]["folded"] > 2
    late = client.post("/api/tool-results", json={**result(0), "sessionId": "s"})
    assert late.status_code == 201, late.text
    after = move(client, 700)
    assert after["messages"][-1] == {
        "role": "user",
        "content": "Result of write_file, step 1: Written 0.",
    }
    assert after["stableThrough"] == len(before["messages"])
