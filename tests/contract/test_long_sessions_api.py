"""A session with more text than is read at once, whose first rendering comes late."""

import json

import httpx
import pytest

from tests.contract.page_requests import put
from tests.contract.render_requests import SESSION_RENDER, Json, all_words, read_rendering
from tests.contract.session_requests import SESSION

STEPS = 900
WRITTEN = "".join(f"line {number} of the file\n" for number in range(1_050))
TARGET = "openai-chat"
BUDGET: dict[str, str | int] = {"target": TARGET, "maxTokens": 8_000}
TURNS = f"{SESSION}/turns"
STABLE = {"stableThrough"}


def call(call_id: str, name: str, arguments: Json) -> Json:
    function = {"name": name, "arguments": json.dumps(arguments)}
    made = {"id": call_id, "type": "function", "function": function}
    return {"message": {"role": "assistant", "content": None, "tool_calls": [made]}}


def result(call_id: str, name: str, text: str) -> Json:
    return {"toolResult": {"toolName": name, "toolCallId": call_id, "result": text}}


def user_message(text: str) -> Json:
    return {"message": {"role": "user", "content": text}}


def send(client: httpx.Client, *entries: Json, **more: object) -> Json:
    stored = client.post(TURNS, json={"entries": entries, **more})
    assert stored.status_code == 200, stored.text[:500]
    record: Json = stored.json()
    return record


@pytest.fixture(scope="module")
def task(shared_client: httpx.Client) -> httpx.Client:
    """A task of 900 steps that write files of 24 kB, after a call that waits and a pinned page."""
    put(shared_client, "rules", modality="text", content="Write no more than 24 kB.", pinned=True)
    send(
        shared_client,
        user_message("Write the files."),
        call("late", "count_words", {}),
        call("page", "page_fault", {"page_id": "rules", "target_level": 0}),
        result("page", "page_fault", "Write no more than 24 kB."),
    )
    for first in range(0, STEPS, 50):
        entries: list[Json] = []
        for number in range(first, first + 50):
            arguments = {"path": f"{number}.txt", "content": f"{number}\n{WRITTEN}"}
            entries.append(call(f"c{number}", "write", arguments))
            entries.append(result(f"c{number}", "write", f"Written {number}."))
        send(shared_client, *entries)
    return shared_client


def rendered(answer: httpx.Response) -> Json:
    """The rendering, which fits 8,000 tokens and uses half of them."""
    record = read_rendering(answer, TARGET)
    assert 4_000 <= record["tokensEst"] <= 8_000
    return record


def without(record: Json, names: set[str] = STABLE) -> Json:
    return {name: value for name, value in record.items() if name not in names}


@pytest.mark.slow
def test_first_rendering_by_a_frontier_folds_what_is_too_long_to_be_read(
    task: httpx.Client,
) -> None:
    first = rendered(task.post(SESSION_RENDER, json={**BUDGET, "frontier": "main"}))
    [page, fold] = [item for item in first["loss"] if item["code"] == "folded"]
    assert (page["fromSeq"], fold["toSeq"]) == (2, first["frontier"]["folded"] + 1)
    steps = fold["count"]
    assert f"Steps 3 to {steps + 2}: write {steps}. read_text @entries:" in all_words(first)
    assert first["messages"][-1]["content"] == f"Written {STEPS - 1}."
    again = rendered(task.post(SESSION_RENDER, json={**BUDGET, "frontier": "main"}))
    assert without(again) == without(first)
    assert again["stableThrough"] == len(first["messages"])


@pytest.mark.slow
def test_earlier_rendering_begins_at_the_fold_of_its_move(task: httpx.Client) -> None:
    moved = rendered(task.post(SESSION_RENDER, json={**BUDGET, "frontier": "at"}))
    query = {**BUDGET, "frontier": "at", "at": moved["lastSeq"]}
    assert without(rendered(task.get(SESSION_RENDER, params=query))) == without(moved)


@pytest.mark.slow
def test_earlier_rendering_before_the_first_move_fits_as_well(task: httpx.Client) -> None:
    last_seq = rendered(task.get(SESSION_RENDER, params=BUDGET))["lastSeq"]
    at = {**BUDGET, "frontier": "other", "at": last_seq - 20}
    up_to = {**BUDGET, "upTo": last_seq - 20}
    earlier = rendered(task.get(SESSION_RENDER, params=at))
    assert earlier["lastSeq"] == last_seq - 20
    assert rendered(task.get(SESSION_RENDER, params=up_to))["messages"][0] == earlier["messages"][0]
    begun = task.get(SESSION_RENDER, params={**at, "at": 12})
    assert read_rendering(begun, TARGET)["messages"][0]["content"] == "Write the files."


def test_rendering_without_a_frontier_fits(task: httpx.Client) -> None:
    whole = rendered(task.get(SESSION_RENDER, params=BUDGET))
    query = {**BUDGET, "since": whole["lastSeq"] - 4}
    new = task.get(SESSION_RENDER, params=query).raise_for_status().json()
    assert new["messages"] == whole["messages"][-4:]
    assert new["prefixHash"] == whole["prefixHash"][-4:]


def test_rendering_of_a_turn_fits(task: httpx.Client) -> None:
    record = send(task, user_message("Go on."), render={**BUDGET, "frontier": "turns"})["rendering"]
    assert record["tokensEst"] <= 8_000
    assert record["messages"][-1]["content"] == "Go on."


def test_pinned_page_in_a_folded_step_stays_whole(task: httpx.Client) -> None:
    record = rendered(task.get(SESSION_RENDER, params=BUDGET))
    [page] = [message for message in record["messages"] if message.get("tool_call_id") == "page"]
    assert page["content"] == "Write no more than 24 kB."


def test_late_result_of_a_folded_call_names_its_step(task: httpx.Client) -> None:
    send(task, result("late", "count_words", "40,000 words."))
    record = rendered(task.get(SESSION_RENDER, params=BUDGET))
    assert "Result of count_words, step 1: 40,000 words." in all_words(record)


def test_levels_of_entries_are_known(task: httpx.Client) -> None:
    params = {**BUDGET, "limit": 8}
    outline = task.get(f"{SESSION}/outline", params=params).raise_for_status().json()
    levels = [item.get("stepLevel") for item in outline["items"]]
    assert levels == [None, "folded", None, None, *["folded"] * 4]
    described = task.get(f"{SESSION}/working-set", params=BUDGET).raise_for_status().json()
    [page] = described["pages"]
    assert page == {"pageId": "rules", "seq": 4, "level": "FULL", "faults": 1, "priority": "stays"}
    assert sum(entry["tokens"] for entry in described["entries"]) == described["tokensEst"]


@pytest.mark.slow
def test_new_messages_are_rendered_without_a_budget(task: httpx.Client) -> None:
    send(task, user_message("And now?"))
    last_seq = rendered(task.get(SESSION_RENDER, params=BUDGET))["lastSeq"]
    query = {"target": TARGET, "since": last_seq - 1}
    new = task.get(SESSION_RENDER, params=query).raise_for_status().json()
    assert new["messages"] == [{"role": "user", "content": "And now?"}]


def test_entries_are_listed_in_pieces(task: httpx.Client) -> None:
    arguments = {"ref": "@entries:2-1800", "offset": None}
    body = {**BUDGET, "id": "read", "name": "read_text", "arguments": arguments}
    answer = task.post(f"{SESSION}/tool-calls", json=body)
    assert "write" in str(read_rendering(answer, TARGET)["messages"][0]["content"])


@pytest.mark.slow
def test_fork_is_rendered(task: httpx.Client) -> None:
    forked = task.post(f"{SESSION}/fork", json={"upTo": 1_600, "as": "fork"})
    assert forked.status_code == 201, forked.text
    body = {**BUDGET, "frontier": "fork"}
    record = rendered(task.post("/api/sessions/fork/render", json=body))
    assert record["lastSeq"] == 1_600


@pytest.mark.slow
def test_messages_and_a_result_long_before_its_call_fit(client: httpx.Client) -> None:
    text = "Some words of a user. " * 450
    send(client, user_message("Begin."), result("early", "look", "Found."))
    for first in range(0, 1_800, 100):
        send(client, *(user_message(f"{first + number} {text}") for number in range(100)))
    send(client, call("early", "look", {}), user_message("And now?"))
    record = rendered(client.get(SESSION_RENDER, params=BUDGET))
    assert record["messages"][0]["content"] == "Begin."
    assert record["messages"][-1]["content"] == "And now?"


def test_what_needs_the_whole_history_names_the_budget_instead(task: httpx.Client) -> None:
    for refused in (
        task.get(SESSION_RENDER, params={"target": TARGET}),
        task.post("/api/doctor", params={"target": TARGET}, json={"sessionId": "s"}),
    ):
        assert refused.status_code == 413
        assert "`maxTokens`" in refused.json()["detail"]
