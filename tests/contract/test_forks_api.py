"""Forks: sessions that begin as a copy of another one's beginning."""

import json
from typing import Any

import httpx
import pytest

from pagefault_dialects.targets.table import TARGETS
from tests.contract.bundled_sessions import make_session
from tests.contract.session_requests import (
    ANSWER,
    AT_TEN,
    append,
    ask,
    call_tool,
    listed,
    upload,
)
from tests.kit.event_streams import log_of
from tests.kit.media import b64, png
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

Json = dict[str, Any]
PICTURE = png(100, 100, noise=True)
WITH_PICTURE = {"content": [{"type": "image", "data": b64(PICTURE), "mimeType": "image/png"}]}
_IDS = {"id", "interaction_id"}


def fork(client: httpx.Client, up_to: int, name: str = "copy", of: str = "s") -> httpx.Response:
    """The answer to a fork; it may be refused."""
    return client.post(f"/api/sessions/{of}/fork", json={"upTo": up_to, "as": name})


def forked(client: httpx.Client, up_to: int, name: str = "copy", of: str = "s") -> Json:
    """A fork that is new; returns its record."""
    made = fork(client, up_to, name, of)
    assert made.status_code == 201, made.text[:500]
    assert made.headers["location"] == f"/api/sessions/{name}"
    record: Json = made.json()
    return record


def entries(client: httpx.Client, session: str, media: str = "reference") -> list[Json]:
    """A history without the ids of its records."""
    found = listed(client, f"/api/sessions/{session}/messages?limit=200&media={media}")
    return [{key: item[key] for key in item if key not in _IDS} for item in found]


def rendered(client: httpx.Client, session: str, **query: str | int) -> Json:
    """A rendering without the ids and the names of sessions that stand in it."""
    answer = client.get(f"/api/sessions/{session}/render", params={"media": "inline", **query})
    assert answer.status_code == 200, answer.text[:500]
    text = answer.text.replace(f"/api/sessions/{session}/", "/api/sessions/*/")
    record: Json = json.loads(text)
    return record


def with_everything(client: httpx.Client) -> int:
    """A session with an entry of each kind; returns its last number."""
    make_session(client, "s")
    last_seq: int = client.get("/api/sessions/s").json()["lastSeq"]
    return last_seq


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
def test_fork_has_the_entries_and_media_of_the_beginning(client: httpx.Client) -> None:
    last_seq = with_everything(client)
    up_to = last_seq // 2
    record = forked(client, up_to)
    for form in ("reference", "inline"):
        beginning = [entry for entry in entries(client, "s", form) if entry["seq"] <= up_to]
        assert entries(client, "copy", form) == beginning
    assert (record["lastSeq"], record["forkedFrom"]) == (up_to, {"sessionId": "s", "upTo": up_to})
    assert record["title"] == client.get("/api/sessions/s").json()["title"]


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
def test_fork_of_a_whole_session_counts_what_the_session_counts(client: httpx.Client) -> None:
    record = forked(client, with_everything(client))
    counts = client.get("/api/sessions/s").json()["counts"]
    # Pages, and the files that only pages use, stay with the session.
    kinds = ("toolResults", "pageFaults", "messages", "interactions", "answers", "failures")
    assert {kind: record["counts"][kind] for kind in kinds} == {
        kind: counts[kind] for kind in kinds
    }
    assert record["counts"]["pages"] == 0
    old, new = (
        {item["id"] for item in listed(client, f"/api/sessions/{name}/messages") if "id" in item}
        for name in ("s", "copy")
    )
    assert len(new) == len(old)
    assert not old & new


@pytest.mark.slow
def test_rendering_of_a_fork_is_that_of_the_session_up_to_there(client: httpx.Client) -> None:
    up_to = with_everything(client) - 4
    forked(client, up_to)
    for target in TARGETS:
        of_session = rendered(client, "s", target=target, upTo=up_to)
        assert rendered(client, "copy", target=target) == of_session, target


def test_frontier_of_a_fork_stands_where_that_of_the_session_stood(client: httpx.Client) -> None:
    append(client, content="Begin.")
    for number in range(6):
        call_tool(client, f"c{number}", "A line of the log.\n" * 300)
    query = {"target": "anthropic", "maxTokens": 4_000, "frontier": "main"}
    assert client.post("/api/sessions/s/render", json=query).status_code == 200
    forked(client, 4)
    place = {"target": "anthropic", "frontier": "main"}
    copied = rendered(client, "copy", **place)
    beginning = rendered(client, "s", upTo=4, **place)
    assert copied["messages"] == beginning["messages"]
    assert copied["prefixHash"] == beginning["prefixHash"]
    assert copied["stableThrough"] == beginning["stableThrough"]
    assert max(item for item in copied["frontier"].values() if isinstance(item, int)) == 4


@pytest.mark.engines("embedded", "server")
def test_same_fork_again_is_the_same_session(client: httpx.Client) -> None:
    append(client, content="One.")
    record = forked(client, 1)
    append(client, content="Two.")
    again = fork(client, 1)
    assert (again.status_code, again.json()) == (200, record)


def test_fork_to_the_id_of_another_session_is_a_conflict(client: httpx.Client) -> None:
    append(client, content="One.")
    append(client, content="Two.")
    append(client, "t", content="Other.")
    forked(client, 1)
    for up_to, name in ((1, "s"), (1, "t"), (2, "copy")):
        refused = fork(client, up_to, name)
        assert (refused.status_code, refused.json()["code"]) == (409, "session-exists")


def test_fork_of_a_later_session_of_the_same_name_is_a_conflict(client: httpx.Client) -> None:
    append(client, content="One.")
    forked(client, 1)
    client.delete("/api/sessions/s")
    append(client, content="Another one.")
    assert fork(client, 1).status_code == 409


def test_fork_of_no_session_is_not_found(client: httpx.Client) -> None:
    assert fork(client, 0).status_code == 404


def test_fork_beyond_the_end_is_refused_with_the_end(client: httpx.Client) -> None:
    append(client, content="One.")
    refused = fork(client, 2)
    assert refused.status_code == 422
    assert refused.json()["errors"] == [{"pointer": "/upTo", "detail": "is above 1"}]


def test_fork_up_to_nothing_is_an_empty_session(client: httpx.Client) -> None:
    append(client, content="One.")
    assert forked(client, 0)["lastSeq"] == 0
    assert append(client, "copy", content="Anew.").json()["seq"] == 1


@pytest.mark.engines("embedded", "server")
def test_fork_and_its_session_go_on_apart(client: httpx.Client) -> None:
    append(client, content="One.")
    forked(client, 1)
    append(client, content="Left.")
    append(client, "copy", content="Right.")
    call_tool(client, "c", session_id="s")
    call_tool(client, "c", session_id="copy")
    said = {
        name: [entry.get("content") for entry in entries(client, name)] for name in ("s", "copy")
    }
    assert said == {"s": ["One.", "Left.", None], "copy": ["One.", "Right.", None]}


def test_call_that_was_answered_in_the_session_is_answered_in_the_fork(
    client: httpx.Client,
) -> None:
    call_tool(client, "c")
    forked(client, 1)
    body = {"toolName": "camera", "toolCallId": "c", "result": "else", "sessionId": "copy"}
    assert client.post("/api/tool-results", json=body).status_code == 409


@pytest.mark.engines("embedded", "server")
def test_output_that_came_later_is_not_in_the_fork(client: httpx.Client) -> None:
    asked: Any = ask(client)
    append(client, content="Between.")
    client.put(f"/api/sessions/s/interactions/{asked['id']}/output", json=ANSWER)
    forked(client, 2)
    (copied,) = listed(client, "/api/sessions/copy/interactions")
    assert copied["interaction"]["output"] is None
    path = f"/api/sessions/copy/interactions/{copied['id']}/output"
    answered = client.put(path, json={**ANSWER, "content": "Eleven.", "timestamp": AT_TEN})
    assert answered.status_code == 200, answered.text[:500]
    (first,) = listed(client, "/api/sessions/s/interactions")
    assert first["interaction"]["output"]["content"] == ANSWER["content"]


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize("deleted", ["s", "copy"])
def test_either_of_both_outlives_the_other_with_its_media(
    client: httpx.Client, deleted: str
) -> None:
    call_tool(client, "c", WITH_PICTURE)
    append(client, content=[{"type": "image_url", "image_url": {"url": uri_of(PICTURE)}}])
    forked(client, 2)
    receipt = client.delete(f"/api/sessions/{deleted}").json()
    assert {resource["status"] for resource in receipt["resources"]} == {"kept"}
    (left,) = {"s", "copy"} - {deleted}
    record = rendered(client, left, target="openai-chat")
    assert [item["code"] for item in record["loss"]] == ["no-call"]
    assert json.dumps(record).count(b64(PICTURE)) == 2
    receipt = client.delete(f"/api/sessions/{left}").json()
    assert {resource["status"] for resource in receipt["resources"]} == {"deleted"}


def uri_of(data: bytes) -> str:
    return f"data:image/png;base64,{b64(data)}"


@pytest.mark.engines("embedded", "server")
def test_references_of_a_fork_are_those_of_its_session_and_of_no_other(
    client: httpx.Client,
) -> None:
    picture = upload(client, PICTURE)["uri"]
    append(client, "other", content=f"@{picture}")
    append(client, content=f"@{picture}", role="assistant")
    forked(client, 1)
    assert client.get("/api/sessions/copy").json()["counts"]["resources"] == 0
    body = {"refs": [f"@{picture}"], "sessionId": "copy"}
    assert client.post("/api/resolve", json=body).status_code != 500
    assert rendered(client, "copy", target="openai-chat")["messages"][-1]["content"] == (
        f"@{picture}"
    )


@pytest.mark.engines("embedded", "server")
def test_search_finds_what_is_said_in_both(client: httpx.Client) -> None:
    append(client, content="A sextant on the mantelpiece.")
    forked(client, 1)
    found = client.get("/api/search", params={"q": "sextant mantelpiece"}).json()["items"]
    assert sorted((item["sessionId"], item["handle"]) for item in found) == [
        ("copy", "@entry:1"),
        ("s", "@entry:1"),
    ]


def test_fork_is_one_event(client: httpx.Client) -> None:
    append(client, content="One.")
    call_tool(client, "c")
    forked(client, 2)
    block = log_of(client)[-1]
    assert (block.event, block.told) == (
        "session:forked",
        {
            "forkedFrom": {"sessionId": "s", "upTo": 2},
            "copied": {
                "toolResults": 1,
                "pageFaults": 0,
                "messages": 1,
                "interactions": 0,
                "answers": 0,
            },
            "sessionId": "copy",
            "seq": 2,
            "id": "copy",
            "createdAt": block.told["createdAt"],
        },
    )


@pytest.mark.engines("embedded", "server")
def test_session_of_another_project_is_not_found(
    client: httpx.Client, service: LiveService
) -> None:
    append(client, content="One.")
    with service.client() as other:
        assert fork(other, 1).status_code == 404
