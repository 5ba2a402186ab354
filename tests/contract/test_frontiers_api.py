"""Renderings of sessions that fit a budget, and the frontier that keeps what was sent before."""

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import cast

import httpx
import pytest

from app.config.settings import Settings
from tests.contract.bundled_sessions import bundled, export, members_of, take_in
from tests.contract.page_requests import put
from tests.contract.render_requests import (
    SESSION_RENDER,
    Json,
    all_words,
    read_rendering,
    rendering,
    shows,
)
from tests.contract.session_requests import MESSAGES, append, call_tool
from tests.kit import media
from tests.kit.media import b64
from tests.kit.servers import LiveService, serving

pytestmark = pytest.mark.engines("embedded")

TURNS = "/api/sessions/s/turns"
LOG = "A line of the log.\n" * 300
PICTURE = media.png(1_024, 1_024)
NOTHING = {
    "toolMedia": 0,
    "saidMedia": 0,
    "toolTexts": 0,
    "toolResults": 0,
    "saidTexts": 0,
    "recalled": 0,
    "arguments": 0,
    "folded": 0,
    "saidFolded": 0,
    "floor": 0,
    "orphans": [],
}


def entries(step: int, returned: object) -> list[Json]:
    """A step of an agent: a call, and what its tool returned."""
    call = {
        "id": f"c{step}",
        "type": "function",
        "function": {"name": "camera", "arguments": "{}"},
    }
    result = {"toolName": "camera", "toolCallId": f"c{step}", "result": returned}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return [{"message": message}, {"toolResult": result}]


def begin(client: httpx.Client) -> None:
    assert append(client, role="user", content="Begin.").status_code == 201


def step(client: httpx.Client, number: int, returned: object = LOG) -> None:
    stored = client.post(TURNS, json={"entries": entries(number, returned)})
    assert stored.status_code == 200, stored.text[:500]


def move(client: httpx.Client, most: int | None = 6_000, **more: object) -> Json:
    """The rendering of the session, whose frontier is moved as far as it has to be."""
    query = {"target": "openai-chat", "maxTokens": most, "frontier": "main", **more}
    return read_rendering(client.post(SESSION_RENDER, json=query), "openai-chat")


def test_history_within_its_budget_is_whole(client: httpx.Client) -> None:
    begin(client)
    step(client, 1)
    record = move(client)
    assert (record["frontier"], record["stableThrough"], record["loss"]) == (NOTHING, 0, [])
    plain = rendering(client, SESSION_RENDER, "openai-chat")
    assert "frontier" not in plain
    assert plain["messages"] == record["messages"]
    assert plain["tokensEst"] == record["tokensEst"]


@pytest.mark.parametrize(
    ("target", "mark"),
    [
        ("anthropic", {"cache_control": {"type": "ephemeral"}}),
        ("bedrock", {"cachePoint": {"type": "default"}}),
    ],
)
def test_marks_stand_at_the_last_message_and_at_the_last_that_was_sent_before(
    client: httpx.Client, target: str, mark: Json
) -> None:
    begin(client)
    step(client, 1, "Short.")
    options = {"target": target, "frontier": "main"}
    first = read_rendering(client.post(SESSION_RENDER, json=options), target)
    step(client, 2, "Short.")
    plain = read_rendering(client.get(SESSION_RENDER, params=options), target)
    marked = read_rendering(
        client.post(SESSION_RENDER, json={**options, "cacheMarkers": True}), target
    )
    assert marked["prefixHash"] == plain["prefixHash"]
    assert marked["stableThrough"] == len(first["messages"])

    def is_marked(message: Json) -> bool:
        last = message["content"][-1]
        return isinstance(last, dict) and mark.items() <= last.items()

    places = [at for at, message in enumerate(marked["messages"]) if is_marked(message)]
    assert places == [len(first["messages"]) - 1, len(plain["messages"]) - 1]
    for message in marked["messages"]:
        if is_marked(message):
            last = message["content"].pop()
            rest = {name: value for name, value in last.items() if name not in mark}
            message["content"] += [rest] if rest else []
    assert marked["messages"] == plain["messages"]
    query = {"target": target, "cacheMarkers": "1"}
    alone = read_rendering(client.get(SESSION_RENDER, params=query), target)
    assert [is_marked(item) for item in alone["messages"]] == [
        *([False] * (len(alone["messages"]) - 1)),
        True,
    ]


def test_other_targets_have_no_marks(client: httpx.Client) -> None:
    begin(client)
    query = {"target": "openai-chat", "cacheMarkers": "1"}
    marked = read_rendering(client.get(SESSION_RENDER, params=query), "openai-chat")
    assert marked == rendering(client, SESSION_RENDER, "openai-chat")


def test_history_that_passes_its_budget_gives_way_by_a_batch_and_stays_then(
    client: httpx.Client,
) -> None:
    begin(client)
    seen: list[Json] = []
    for number in range(16):
        step(client, number)
        seen.append(move(client, 12_000))
    changes = []
    for number, (old, new) in enumerate(pairwise(seen), start=1):
        kept = new["stableThrough"]
        assert new["messages"][:kept] == old["messages"][:kept]
        assert new["prefixHash"][:kept] == old["prefixHash"][:kept]
        assert new["tokensEst"] <= 12_000
        if kept < len(old["messages"]):
            changes.append(number)
            assert new["frontier"] != old["frontier"]
    assert changes == [6, 9, 12, 14]
    newest = seen[-1]
    assert newest["frontier"] == {**NOTHING, "toolMedia": 22, "toolTexts": 22}
    [first, *_] = newest["loss"]
    assert first == {
        "seq": 3,
        "pointer": "/sanitized/parts/0",
        "from": "text",
        "to": "preview",
        "code": "evicted",
        "reason": "The conversation has to fit its limits; the oldest gives way.",
        "restore": "GET /api/sessions/s/messages/3",
    }
    restored = client.get(f"{MESSAGES}/3")
    assert LOG in restored.json()["sanitized"]["parts"][0]["text"]


def test_model_gets_back_what_was_evicted(client: httpx.Client) -> None:
    begin(client)
    step(client, 1, f"{LOG}The end.")
    for number in range(2, 6):
        step(client, number)
    words = all_words(move(client, 4_000))
    assert 'read_text("@entry:3") shows all of it]' in words
    arguments = json.dumps({"ref": "@entry:3", "offset": len(LOG)})
    call = {"target": "openai-chat", "id": "r1", "name": "read_text", "arguments": arguments}
    answer = client.post("/api/sessions/s/tool-calls", json=call).json()
    [message] = answer["messages"]
    end = len(LOG) + len("The end.")
    assert message["content"] == (
        f"[entry 3, characters {len(LOG)} to {end}; this is its end]\nThe end."
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"ref": "@entry:99"}, "This session has no entry 99."),
        ({"ref": "@entry:1", "grep": "a"}, "[entry 1, 0 of 1 lines match]"),
        ({"ref": "@entry:1", "pointer": "/a"}, "The text is not JSON. Use lines or grep."),
        ({"ref": "entry:1", "offset": 99}, "The text has 6 characters; offset is behind its end."),
    ],
)
def test_model_is_told_what_cannot_be_read_of_an_entry(
    client: httpx.Client, arguments: Json, words: str
) -> None:
    begin(client)
    call = {"target": "openai-chat", "id": "r1", "name": "read_text", "arguments": arguments}
    answer = client.post("/api/sessions/s/tool-calls", json=call).json()
    assert words in all_words(answer)


def test_media_give_way_before_texts(client: httpx.Client) -> None:
    begin(client)
    step(client, 1, LOG)
    for number in range(2, 7):
        step(client, number, [{"type": "image", "data": b64(PICTURE), "mimeType": "image/png"}])
    record = move(client, 4_500, handles=True)
    assert record["frontier"] == {**NOTHING, "toolMedia": 10}
    assert shows(record, PICTURE)
    resource_id = record["loss"][0]["restore"].split("/")[3]
    assert client.get(f"/api/resources/{resource_id}/content").content == PICTURE
    assert f'view_media("@blob:{resource_id}") shows it]' in all_words(record)
    assert [(entry["seq"], entry["to"], entry["code"]) for entry in record["loss"]] == [
        (seq, "placeholder", "evicted") for seq in (5, 7, 9, 11)
    ]


def test_limit_on_images_moves_the_frontier_by_a_batch(client: httpx.Client) -> None:
    begin(client)
    changes = 0
    before: list[str] = []
    for number in range(12):
        picture = media.png(64 + number, 48)
        step(client, number, [{"type": "image", "data": b64(picture), "mimeType": "image/png"}])
        record = move(client, None, maxImages=8)
        changes += record["prefixHash"][: len(before)] != before
        before = record["prefixHash"]
    assert changes == 1


@pytest.mark.engines("embedded", "server")
def test_reading_a_frontier_does_not_move_it(client: httpx.Client) -> None:
    begin(client)
    for number in range(4):
        step(client, number)
    query: dict[str, str | int] = {"maxTokens": 5_000, "frontier": "main"}
    read = rendering(client, SESSION_RENDER, "openai-chat", **query)
    assert read["frontier"] == {**NOTHING, "toolMedia": 6, "toolTexts": 6}
    unmoved = rendering(client, SESSION_RENDER, "openai-chat", frontier="main")
    assert unmoved["frontier"] == NOTHING
    move(client, 5_000)
    moved = rendering(client, SESSION_RENDER, "openai-chat", frontier="main")
    assert (moved["frontier"], moved["stableThrough"]) == (read["frontier"], 9)
    assert moved["messages"] == read["messages"]


def test_stored_moves_of_a_frontier_are_counted(client: httpx.Client) -> None:
    def moved() -> list[str]:
        lines = client.get("/metrics").text.splitlines()
        return [line for line in lines if line.startswith("pagefault_frontier_moves_total")]

    begin(client)
    for number in range(4):
        step(client, number)
    before = moved()
    for _ in range(3):
        move(client, 5_000)
    count = float(before[0].rpartition(" ")[2])
    assert moved() == [f'pagefault_frontier_moves_total{{result="moved"}} {count + 1}', *before[1:]]


@pytest.mark.engines("embedded", "server")
def test_turn_moves_a_frontier(client: httpx.Client) -> None:
    begin(client)
    for number in range(4):
        step(client, number)
    query = {"target": "openai-chat", "maxTokens": 5_000, "frontier": "main", "handles": False}
    turn = {"entries": entries(9, LOG), "render": query}
    rendered = client.post(TURNS, json=turn).json()["rendering"]
    assert rendered["frontier"]["toolTexts"] > 0
    assert move(client, 5_000)["messages"] == rendered["messages"]


def test_frontier_that_the_caller_keeps_is_stored_nowhere(client: httpx.Client) -> None:
    begin(client)
    for number in range(4):
        step(client, number)
    query: Json = {"target": "openai-chat", "sessionId": "s", "maxTokens": 5_000, "frontier": {}}
    first = read_rendering(client.post("/api/render", json=query), "openai-chat")
    assert first["frontier"]["toolTexts"] == 6
    assert "stableThrough" not in first
    query |= {"frontier": first["frontier"], "maxTokens": None}
    second = read_rendering(client.post("/api/render", json=query), "openai-chat")
    assert second["messages"] == first["messages"]
    assert second["prefixHash"] == first["prefixHash"]
    unmoved = rendering(client, SESSION_RENDER, "openai-chat", frontier="main")
    assert unmoved["frontier"] == NOTHING


def test_answer_that_was_shown_behind_a_written_call_keeps_it(client: httpx.Client) -> None:
    begin(client)
    call_tool(client, "c1", "Ten.")
    first = move(client)
    assert first["frontier"] == {**NOTHING, "orphans": [2]}
    message = entries(1, None)[0]["message"]
    assert append(client, **message).status_code == 201
    second = move(client)
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert [item["code"] for item in second["loss"]] == ["no-call", "answered-before"]
    plain = rendering(client, SESSION_RENDER, "openai-chat")
    assert plain["loss"] == []


def test_pinned_page_stays_whole(client: httpx.Client) -> None:
    begin(client)
    for page_id, pinned in (("kept", True), ("other", False)):
        put(client, page_id, modality="text", content=f"{page_id} {LOG}", pinned=pinned)
        call = {
            "target": "openai-chat",
            "id": page_id,
            "name": "page_fault",
            "arguments": {"page_id": page_id, "target_level": 0},
        }
        assert client.post("/api/sessions/s/tool-calls", json=call).status_code == 200
    step(client, 1)
    words = all_words(move(client, 5_200))
    assert f"kept {LOG[:1000]}" in words
    assert 'page_fault("other", 0) shows' in words


def test_result_and_page_fit_a_budget_of_their_own(client: httpx.Client) -> None:
    stored = cast(Json, call_tool(client, "c1", LOG))
    path = f"/api/tool-results/{stored['id']}/render"
    record = rendering(client, path, "openai-chat", maxTokens=500)
    assert record["tokensEst"] <= 500
    assert [item["code"] for item in record["loss"]] == ["evicted"]


@pytest.mark.parametrize("most", [0, 20])
def test_budget_below_what_stays_is_refused_with_what_it_takes(
    client: httpx.Client, most: int
) -> None:
    begin(client)
    step(client, 1)
    refused = client.post(SESSION_RENDER, json={"target": "openai-chat", "maxTokens": most})
    assert refused.status_code == 422
    problem = refused.json()
    assert problem["code"] == "budget-too-small"
    [fault] = problem["errors"]
    least = int(fault["detail"].split()[2])
    assert fault == {"pointer": "/maxTokens", "detail": f"must be {least} or more for this history"}
    assert move(client, least)["tokensEst"] <= least
    assert "even at its shortest: the first user message" in problem["detail"]


@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "bedrock"])
def test_who_takes_what_is_new_while_the_hash_is_his_has_what_is_whole(
    client: httpx.Client, target: str
) -> None:
    """As `docs/context.md` tells hosts to do, while batches are evicted."""
    begin(client)
    query: Json = {"target": target, "maxTokens": 6_000, "frontier": "main"}
    mine = read_rendering(client.post(SESSION_RENDER, json=query), target)
    renewed = 0
    for number in range(1, 13):
        message, answered = entries(number, LOG)
        spoken = {"message": {"role": "user", "content": f"And {number}?"}}
        body = {
            "entries": [message, answered, *([spoken] if number % 3 == 0 else [])],
            "render": {**query, "since": mine["lastSeq"], "handles": False},
        }
        new = client.post(TURNS, json=body).json()["rendering"]
        whole = read_rendering(client.get(SESSION_RENDER, params=query), target)
        assert (new["frontier"], new["lastSeq"]) == (whole["frontier"], whole["lastSeq"])
        if new["sinceHash"] == mine["prefixHash"][-1]:
            assert new["tokensEst"] < 2_500
            joined = [*mine["messages"], *new["messages"]]
            assert shown_once(joined) == shown_once(whole["messages"])
        else:
            renewed += 1
        mine = whole
    assert 1 <= renewed <= 6


def shown_once(messages: list[Json]) -> list[tuple[str, object]]:
    """Return the role and the blocks of each message."""
    return [
        (message["role"], block)
        for message in messages
        for block in (
            message["content"] if isinstance(message["content"], list) else [message["content"]]
        )
    ]


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        (
            TURNS,
            {"entries": entries(1, "x"), "render": {"since": 1, "cacheMarkers": True}},
            "/since",
        ),
        ("/api/render", {"sessionId": "s", "since": 1, "cacheMarkers": True}, "/since"),
        (SESSION_RENDER, {"since": 1, "cacheMarkers": True, "frontier": "a"}, "/since"),
        ("/api/render", {"pageId": "p", "frontier": "a"}, "/frontier"),
        (SESSION_RENDER, {"frontier": "not a name"}, "/frontier"),
        (SESSION_RENDER, {"frontier": {"toolMedia": -1}}, "/frontier"),
        (SESSION_RENDER, {"frontier": {"more": 1}}, "/frontier"),
        (SESSION_RENDER, {"maxTokens": -1}, "/maxTokens"),
    ],
)
def test_frontier_that_is_none_is_refused(
    client: httpx.Client, path: str, body: Json, pointer: str
) -> None:
    begin(client)
    render = body.get("render", body)
    render["target"] = "openai-chat"
    refused = client.post(path, json=body)
    assert refused.status_code == 422
    assert any(pointer in fault["pointer"] for fault in refused.json()["errors"])
    assert client.get("/api/sessions/s").json()["lastSeq"] == 1


@pytest.mark.engines("embedded", "server")
def test_frontier_goes_with_its_session(client: httpx.Client) -> None:
    begin(client)
    for number in range(4):
        step(client, number)
    assert move(client, 5_000)["frontier"] != NOTHING
    assert client.delete("/api/sessions/s").is_success
    begin(client)
    assert move(client, 5_000)["frontier"] == NOTHING


@pytest.mark.engines("embedded", "server")
def test_those_who_move_a_frontier_at_once_agree(client: httpx.Client) -> None:
    begin(client)
    for number in range(6):
        step(client, number)
    with ThreadPoolExecutor(8) as threads:
        records = list(threads.map(lambda _: move(client, 6_000), range(16)))
    assert len({json.dumps(record["frontier"]) for record in records}) == 1
    assert len({record["prefixHash"][-1] for record in records}) == 1


@pytest.mark.engines("embedded", "server")
def test_frontier_is_there_after_a_restart(settings: Settings) -> None:
    with serving(settings) as live, live.client() as client:
        begin(client)
        for number in range(6):
            step(client, number)
        moved = move(client)
        project = client.headers
    with serving(settings) as live, live.client() as client:
        client.headers = project
        again = rendering(client, SESSION_RENDER, "openai-chat", maxTokens=6_000, frontier="main")
    del moved["stableThrough"]
    assert again.pop("stableThrough") == len(moved["messages"])
    assert again == moved


@pytest.mark.engines("embedded", "server")
def test_frontiers_of_two_names_know_nothing_of_each_other(client: httpx.Client) -> None:
    begin(client)
    for number in range(6):
        step(client, number)
    assert move(client, 6_000)["frontier"] != NOTHING
    assert move(client, None, frontier="other")["frontier"] == NOTHING


@pytest.mark.engines("embedded", "server")
def test_frontier_travels_with_its_session(client: httpx.Client, service: LiveService) -> None:
    begin(client)
    for number in range(6):
        step(client, number)
    moved = move(client)
    move(client, None, frontier="other")
    bundle = export(client, "s")
    with service.client() as offload_location:
        assert take_in(offload_location, bundle).is_success
        again = move(offload_location)
        assert export(offload_location, "s") == bundle
    assert again["frontier"] == moved["frontier"]
    assert again["stableThrough"] == len(moved["messages"])
    assert again["messages"] == moved["messages"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"name":"other"', b'"name":"alpha"'),
        (b'"through":[0,0,', b'"through":[-1,0,'),
        (b'"through":[0,0,', b'"through":[9223372036854775807,0,'),
        (b'"orphans":[]', b'"orphans":[-1]'),
        (b'"sent":"', b'"sent":"xy'),
    ],
)
def test_bundle_with_a_frontier_that_is_none_is_refused(
    client: httpx.Client, service: LiveService, old: bytes, new: bytes
) -> None:
    begin(client)
    move(client)
    move(client, frontier="other")
    members = members_of(export(client, "s"))
    assert old in members["manifest.json"]
    members["manifest.json"] = members["manifest.json"].replace(old, new, 1)
    with service.client() as offload_location:
        refused = take_in(offload_location, bundled(members))
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid-bundle")


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
def test_two_services_that_move_a_frontier_at_once_agree(settings: Settings) -> None:
    with (
        serving(settings) as one,
        serving(settings) as two,
        one.client() as first,
        two.client() as second,
        ThreadPoolExecutor(4) as threads,
    ):
        second.headers = first.headers
        begin(first)
        for number in range(6):
            step(first, number)
            records = list(threads.map(move, [first, second] * 4))
            shown = {
                (json.dumps(record["frontier"]), record["prefixHash"][-1]) for record in records
            }
            assert len(shown) == 1
        again = move(second)
        assert again["stableThrough"] == len(again["messages"])


@pytest.mark.engines("embedded", "server")
def test_page_that_is_deleted_lowers_what_is_stable(client: httpx.Client) -> None:
    begin(client)
    put(client, "kept", modality="text", content=f"kept {LOG}", pinned=True)
    arguments = {"page_id": "kept", "target_level": 0}
    call = {"target": "openai-chat", "id": "k", "name": "page_fault", "arguments": arguments}
    assert client.post("/api/sessions/s/tool-calls", json=call).status_code == 200
    for number in range(4):
        step(client, number)
    before = move(client, 5_000)
    assert before["frontier"]["toolTexts"] > 3
    assert move(client, 5_000)["stableThrough"] == len(before["messages"])
    assert client.delete("/api/pages/kept").is_success
    after = move(client, 5_000)
    # The user's message and the call stay; the answer of the page that is no longer pinned goes.
    assert (after["stableThrough"], after["messages"][:2]) == (2, before["messages"][:2])
    assert f"kept {LOG[:1000]}" not in all_words(after)
    assert move(client, 5_000)["stableThrough"] == len(after["messages"])


def test_url_that_is_signed_anew_lowers_what_is_stable(settings: Settings) -> None:
    query = {"target": "anthropic", "media": "signed-url", "frontier": "main"}
    picture = [{"type": "image", "data": b64(PICTURE), "mimeType": "image/png"}]
    offload_location = settings.model_copy(update={"public_url": "https://two.example"})
    settings = settings.model_copy(update={"public_url": "https://one.example"})
    headers = None
    for where, stable in ((settings, 0), (settings, 3), (offload_location, 2)):
        # URLs are the same for an hour; those of another host are not.
        with serving(where) as live, live.client() as client:
            if headers is None:
                headers = client.headers
                begin(client)
                step(client, 1, picture)
            client.headers = headers
            record = read_rendering(client.post(SESSION_RENDER, json=query), "anthropic")
            assert record["stableThrough"] == stable
            assert f"{where.public_url}/" in json.dumps(record["messages"])
