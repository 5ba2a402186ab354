"""Working sets: the entries in a model's context, and pages that it requests again and again."""

import itertools
import json

import httpx
import pytest

from tests.contract.bundled_sessions import export, take_in
from tests.contract.page_requests import put
from tests.contract.render_requests import SESSION_RENDER, Json, all_words, read_rendering
from tests.contract.session_requests import append
from tests.kit import media
from tests.kit.media import b64
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

WORKING_SET = "/api/sessions/s/working-set"
CALLS = "/api/sessions/s/tool-calls"
LOG = "A line of the log.\n" * 300


def working_set(client: httpx.Client, **query: object) -> Json:
    options = {"target": "openai-chat", **query}
    answer = client.get(WORKING_SET, params=options)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    record: Json = answer.json()
    rendered = read_rendering(client.get(SESSION_RENDER, params=options), "openai-chat")  # type: ignore[arg-type]
    assert record["tokensEst"] == rendered["tokensEst"]
    assert sum(entry["tokens"] for entry in record["entries"]) == record["tokensEst"]
    if "frontier" in rendered:
        assert record["frontier"] == rendered["frontier"]
    return record


def fault(client: httpx.Client, number: int, page_id: str, level: int = 0) -> None:
    arguments = {"page_id": page_id, "target_level": level}
    use(client, number, "page_fault", arguments)


def use(client: httpx.Client, number: int, name: str, arguments: Json) -> None:
    call = {"target": "openai-chat", "id": f"c{number}", "name": name, "arguments": arguments}
    assert client.post(CALLS, json=call).status_code == 200


def begin(client: httpx.Client) -> None:
    assert append(client, role="user", content="Begin.").status_code == 201


def store(client: httpx.Client, call_id: str, returned: object) -> Json:
    body = {"toolName": "look", "toolCallId": call_id, "sessionId": "s", "result": returned}
    answer = client.post("/api/tool-results", json=body)
    assert answer.status_code == 201
    record: Json = answer.json()
    return record


def test_working_set_says_what_is_in_context_at_which_level(client: httpx.Client) -> None:
    begin(client)
    picture = [{"type": "image", "data": b64(media.png(512, 512)), "mimeType": "image/png"}]
    stored = store(client, "a", picture)
    [resource] = stored["sanitized"]["resources"]
    store(client, "b", LOG)
    use(client, 1, "view_media", {"ref": f"@{resource['uri']}"})
    use(client, 2, "read_text", {"ref": "@entry:3"})
    store(client, "d", LOG)
    append(client, role="user", content="Go on.")
    whole = working_set(client)
    assert "maxTokens" not in whole
    assert {entry["level"] for entry in whole["entries"]} == {"FULL"}
    results = [entry for entry in whole["entries"] if entry["role"] == "tool"]
    assert [(result["seq"], result.get("media", 0)) for result in results] == [
        (2, 1),
        (3, 0),
        (5, 1),
        (7, 0),
        (8, 0),
    ]
    assert [result.get("recalls", 0) for result in results] == [1, 1, 0, 0, 0]
    small = working_set(client, maxTokens=whole["tokensEst"] - 2_000)
    shown = {entry["seq"]: entry for entry in small["entries"] if entry["role"] == "tool"}
    assert shown[2] == {
        "seq": 2,
        "role": "tool",
        "toolName": "look",
        "callId": "a",
        "level": "REDUCED",
        "stepLevel": "media",
        "tokens": shown[2]["tokens"],
        "evicted": True,
        "recalls": 1,
    }
    assert (shown[3]["level"], shown[8]["level"]) == ("REDUCED", "FULL")
    tiny = working_set(client, maxTokens=380)
    assert tiny["maxTokens"] == 380
    less = [entry for entry in tiny["entries"] if "evicted" in entry]
    assert (less[0]["role"], less[0]["fromSeq"]) == ("user", 2)
    levels = [(item["level"], item["stepLevel"]) for item in less]
    assert levels[0] == ("REFERENCE", "folded")
    assert levels[-2:] == [("REFERENCE", "line"), ("REDUCED", "preview")]
    said = [entry for entry in tiny["entries"] if entry["role"] == "user" and "count" not in entry]
    assert [item["priority"] for item in said] == ["stays", "stays"]


def test_page_that_is_faulted_again_and_again_gives_way_last(
    client: httpx.Client, service: LiveService
) -> None:
    begin(client)
    for page_id in ("often", "once", "pinned"):
        content = f"{page_id} {LOG}"
        put(client, page_id, modality="text", content=content, pinned=page_id == "pinned")
    for number in range(3):
        fault(client, number, "often")
    fault(client, 3, "once")
    fault(client, 4, "pinned")
    append(client, role="user", content="Go on.")
    whole = working_set(client)
    most = whole["tokensEst"] // 2
    adaptive = working_set(client, maxTokens=most)
    assert adaptive["pages"] == [
        {"pageId": "often", "seq": 7, "level": "FULL", "faults": 3, "priority": "raised"},
        {"pageId": "once", "seq": 9, "level": "REDUCED", "faults": 1, "priority": "normal"},
        {"pageId": "pinned", "seq": 11, "level": "FULL", "faults": 1, "priority": "stays"},
    ]
    plain = working_set(client, maxTokens=most, adaptive=0)
    assert [(page["pageId"], page["level"], page["priority"]) for page in plain["pages"]] == [
        ("often", "REDUCED", "normal"),
        ("once", "FULL", "normal"),
        ("pinned", "FULL", "stays"),
    ]
    options = {"target": "openai-chat", "maxTokens": 2_200, "frontier": "main", "evictBatch": 0}
    moved = read_rendering(client.post(SESSION_RENDER, json=options), "openai-chat")
    assert moved["frontier"]["recalled"] == 6
    assert 'page_fault("often", 0) shows it' in all_words(moved)
    bundle = export(client, "s")
    with service.client() as offload_location:
        assert take_in(offload_location, bundle).is_success
        assert export(offload_location, "s") == bundle
        query = {"target": "openai-chat", "frontier": "main"}
        there = offload_location.get(WORKING_SET, params=query)
    assert there.json()["frontier"] == moved["frontier"]
    tight = working_set(client, frontier="main")
    assert (tight["pages"][0]["level"], tight["pages"][0]["priority"]) == ("REFERENCE", "raised")


def test_answer_that_has_given_way_does_not_come_back_when_its_page_is_faulted_again(
    client: httpx.Client,
) -> None:
    begin(client)
    put(client, "p", modality="text", content=LOG)
    query = {"target": "openai-chat", "maxTokens": 2_800, "frontier": "main"}
    seen: list[Json] = []
    for number in range(6):
        fault(client, number, "p")
        append(client, role="user", content="Go on.")
        seen.append(read_rendering(client.post(SESSION_RENDER, json=query), "openai-chat"))
    for old, new in itertools.pairwise(seen):
        if old["frontier"] == new["frontier"]:
            assert new["stableThrough"] == len(old["messages"])
    assert seen[-1]["frontier"]["recalled"] > 0
    read = client.get(WORKING_SET, params={"target": "openai-chat", "frontier": "main"})
    assert read.json()["pages"][0]["faults"] == 6


@pytest.mark.parametrize(
    ("session_id", "query", "status", "code"),
    [
        ("missing", {"target": "mcp"}, 404, "not-found"),
        ("s", {}, 422, "invalid-payload"),
        ("s", {"target": "nobody"}, 422, "invalid-payload"),
        ("s", {"target": "mcp", "maxTokens": 0}, 422, "budget-too-small"),
        ("s", {"target": "mcp", "since": 1}, 422, "unknown-parameter"),
    ],
)
def test_working_set_that_there_is_none_of_is_a_problem(
    client: httpx.Client, session_id: str, query: dict[str, str | int], status: int, code: str
) -> None:
    begin(client)
    refused = client.get(f"/api/sessions/{session_id}/working-set", params=query)
    assert refused.status_code == status
    assert json.loads(refused.text).get("code", code) == code


def test_working_set_of_nothing_is_empty(client: httpx.Client) -> None:
    assert client.put("/api/sessions/s").status_code == 201
    record = working_set(client)
    assert (record["entries"], record["pages"], record["tokensEst"]) == ([], [], 0)
