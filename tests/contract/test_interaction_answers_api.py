"""The answers of interactions over HTTP, on both engines: each is set once."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.contract.page_requests import outcome, pointers
from tests.contract.session_requests import (
    ANSWER,
    INTERACTIONS,
    answer,
    ask,
    entries,
)

ROUTE = INTERACTIONS
ABSENT_ID = "01900000-0000-7000-8000-000000000000"


def test_answer_may_come_along(client: httpx.Client) -> None:
    record = ask(client, output=ANSWER)
    assert record["interaction"]["output"] == ANSWER
    again = answer(client, record["id"])
    assert (again.status_code, again.json()) == (200, record)
    assert [entry["seq"] for entry in entries(client)] == [1]
    assert entries(client)[0]["interaction"]["output"] == ANSWER


@pytest.mark.requirement("001-interaction")
def test_answer_is_an_entry_of_its_own_and_the_question_stays_as_it_was(
    client: httpx.Client,
) -> None:
    record = ask(client)
    question = client.get("/api/sessions/s/messages/1").content
    ask(client, "Another one?")
    answered = answer(client, record["id"])
    assert answered.status_code == 200
    assert answered.json() == {**record, "interaction": {**record["interaction"], "output": ANSWER}}
    assert client.get(f"{ROUTE}/{record['id']}").content == answered.content
    assert client.get("/api/sessions/s/messages/1").content == question
    entry = client.get("/api/sessions/s/messages/3").json()
    assert entry == {
        "seq": 3,
        "id": f"{record['id']}.output",
        "created_at": entry["created_at"],
        "entry": "answer",
        "interaction_id": record["id"],
        "output": ANSWER,
    }
    assert [item["seq"] for item in entries(client)] == [1, 2, 3]


@pytest.mark.parametrize(
    "again",
    [
        ANSWER,
        {"role": "assistant", "content": "Ten."},
        {"content": "Ten.", "role": "assistant", "name": None},
        {**ANSWER, "timestamp": "2023-10-27T10:00:05+00:00"},
    ],
    ids=str,
)
def test_same_answer_again_changes_nothing(client: httpx.Client, again: object) -> None:
    record = ask(client)
    first = answer(client, record["id"])
    second = answer(client, record["id"], again)
    assert (second.status_code, second.content) == (200, first.content)
    assert [entry["seq"] for entry in entries(client)] == [1, 2]


@pytest.mark.parametrize(
    "change",
    [
        {"content": "Eleven."},
        {"role": "user"},
        {"name": "clock"},
        {"tool_call_id": "c"},
        {"timestamp": "2023-10-27T10:00:06Z"},
    ],
    ids=str,
)
def test_another_answer_is_a_conflict(client: httpx.Client, change: dict[str, object]) -> None:
    record = ask(client)
    first = answer(client, record["id"])
    refused = answer(client, record["id"], {**ANSWER, **change})
    assert outcome(refused) == (409, "interaction-answered")
    assert [fault["pointer"] for fault in refused.json()["errors"]] == [f"/{next(iter(change))}"]
    assert client.get(f"{ROUTE}/{record['id']}").content == first.content
    assert len(entries(client)) == 2


def test_of_answers_at_once_one_wins(client: httpx.Client) -> None:
    record = ask(client)

    def say(number: int) -> int:
        return answer(client, record["id"], {**ANSWER, "content": f"{number}"}).status_code

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(say, range(8))) == {200: 1, 409: 7}
    output = client.get(f"{ROUTE}/{record['id']}").json()["interaction"]["output"]
    assert [entry["seq"] for entry in entries(client)] == [1, 2]
    assert entries(client)[1]["output"] == output


def test_same_answer_at_once_is_one_entry(client: httpx.Client) -> None:
    record = ask(client)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: answer(client, record["id"]), range(8)))
    assert {item.status_code for item in answers} == {200}
    assert len({message.content for message in answers}) == 1
    assert [entry["seq"] for entry in entries(client)] == [1, 2]


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({}, ["/role", "/content"]),
        ({"role": "Assistant", "content": "x"}, ["/role"]),
        ({"role": "assistant", "content": None}, ["/content"]),
        ({"role": "assistant", "content": ["x"]}, ["/content"]),
        ({"role": "assistant", "content": "x", "more": 1}, ["/more"]),
        ({"role": "assistant", "content": "x", "timestamp": "no"}, ["/timestamp"]),
        ({"role": "assistant", "content": "x", "tool_call_id": 5}, ["/tool_call_id"]),
    ],
    ids=str,
)
def test_answer_that_is_none_is_refused(
    client: httpx.Client, body: object, places: list[str]
) -> None:
    record = ask(client)
    refused = answer(client, record["id"], body)
    assert (outcome(refused), pointers(refused)) == ((422, "invalid-payload"), places)
    assert client.get(f"{ROUTE}/{record['id']}").json() == record


def test_answer_to_nothing_is_not_found_and_makes_no_session(client: httpx.Client) -> None:
    for interaction_id in (ABSENT_ID, "x", "%00", "é"):
        assert outcome(answer(client, interaction_id)) == (404, "not-found")
    assert client.get("/api/sessions/s").status_code == 404
    record = ask(client)
    offload_location = client.put(
        f"/api/sessions/t/interactions/{record['id']}/output", json=ANSWER
    )
    assert outcome(offload_location) == (404, "not-found")
    assert client.get("/api/sessions/t").status_code == 404
