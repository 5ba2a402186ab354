"""`at=SEQ` of a session's rendering: as it stood when that entry was the newest one."""

import json
import sqlite3
from contextlib import closing
from itertools import pairwise
from random import Random

import httpx
import psycopg
import pytest

from app.config.settings import Settings
from tests.contract.bundled_sessions import bundled, export, members_of, take_in, with_manifest
from tests.contract.render_requests import SESSION_RENDER, Json
from tests.contract.session_requests import append
from tests.kit import media
from tests.kit.media import b64
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

TURNS = "/api/sessions/s/turns"
BUDGETS = [2_000, 5_000, 12_000]
NOT_OF_A_RENDERING = {"stableThrough"}
"""It counts the messages that are equal to those that were sent last."""


class RandomAgent:
    """Makes entries: steps, several calls at once, results that are late, or early, or missing."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - the same entries each time
        self._made = 0
        self._open: list[str] = []
        self._early: list[str] = []

    def entries(self) -> list[Json]:
        """Return the entries of one request."""
        random = self.random
        choices = ["step", "step", "step", "calls", "late", "early", "call", "said"]
        kind = random.choice(choices)
        if kind == "said":
            return [{"message": {"role": "user", "content": self._text()}}]
        if kind == "late" and self._open:
            return [self._result(self._open.pop(random.randrange(len(self._open))))]
        if kind == "call" and self._early:
            return [self._calls([self._early.pop(0)])]
        ids = [self._new_id() for _ in range(random.choice([1, 1, 3]))]
        if kind == "early":
            self._early += ids
            return [self._result(identifier) for identifier in ids]
        if kind == "calls":
            self._open += ids
            return [self._calls(ids)]
        return [self._calls(ids), *map(self._result, ids)]

    def _new_id(self) -> str:
        self._made += 1
        return f"c{self._made}"

    def _text(self) -> str:
        return "A line of the log.\n" * self.random.choice([1, 20, 300])

    def _calls(self, ids: list[str]) -> Json:
        arguments = json.dumps({"text": self._text()})
        function = {"name": "look", "arguments": arguments}
        calls = [{"id": identifier, "type": "function", "function": function} for identifier in ids]
        return {"message": {"role": "assistant", "content": None, "tool_calls": calls}}

    def _result(self, call_id: str) -> Json:
        random = self.random
        picture = media.png(random.choice([64, 512]), 64)
        message = {"type": "image", "data": b64(picture), "mimeType": "image/png"}
        result = random.choice([self._text(), [message]])
        return {"toolResult": {"toolName": "look", "toolCallId": call_id, "result": result}}


def sent(client: httpx.Client, **wanted: object) -> Json:
    """Render the session and move its frontier."""
    body = {"target": "openai-chat", "maxTokens": 4_000, "frontier": "main", **wanted}
    answer = client.post(SESSION_RENDER, json=body)
    assert answer.status_code == 200, answer.text[:500]
    record: Json = answer.json()
    return record


def read(client: httpx.Client, path: str = SESSION_RENDER, **wanted: object) -> Json:
    """Read a rendering with the same options."""
    options = {"target": "openai-chat", "maxTokens": 4_000, "frontier": "main", **wanted}
    query = {name: str(value) for name, value in options.items() if value is not None}
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text[:500]
    record: Json = answer.json()
    return record


def of_messages(record: Json) -> Json:
    """All that a rendering says of its messages."""
    return {name: value for name, value in record.items() if name not in NOT_OF_A_RENDERING}


def begin(client: httpx.Client) -> None:
    assert append(client, role="user", content="Begin.").status_code == 201


def step(client: httpx.Client, number: int) -> None:
    """Append a step of two entries."""
    function = {"name": "look", "arguments": "{}"}
    calls = [{"id": f"s{number}", "type": "function", "function": function}]
    result = {"toolName": "look", "toolCallId": f"s{number}", "result": f"{number} " * 2_000}
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    entries = [{"message": message}, {"toolResult": result}]
    assert client.post(TURNS, json={"entries": entries}).status_code == 200


def steps(client: httpx.Client, many: int = 8) -> list[Json]:
    """Begin a session, and render it after each of some steps."""
    begin(client)
    records = []
    for number in range(many):
        step(client, number)
        records.append(sent(client))
    assert len({json.dumps(record["frontier"]) for record in records}) > 2
    return records


def forget_moves(settings: Settings) -> None:
    """Remove what an earlier version does not store."""
    statement = "DELETE FROM frontier_moves"
    if settings.db.url is not None:
        with psycopg.connect(settings.db.url.get_secret_value(), autocommit=True) as connection:
            connection.execute(statement)
        return
    path = settings.data_dir / "pagefault.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(statement)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "target"),
    [*enumerate(["openai-chat", "anthropic", "gemini", "bedrock", "mcp"])],
)
def test_rendering_at_an_entry_is_the_one_that_was_sent_then(
    client: httpx.Client, seed: int, target: str
) -> None:
    agent = RandomAgent(seed * 100 + len(target))
    begin(client)
    records: dict[tuple[int, str], tuple[Json, Json]] = {}
    for _ in range(25):
        entries = agent.entries()
        assert client.post(TURNS, json={"entries": entries}).status_code == 200
        if agent.random.random() < 0.3:
            continue
        name = agent.random.choice(["main", "other"])
        options: Json = {"target": target, "frontier": name, "handles": agent.random.random() < 0.5}
        options["maxTokens"] = agent.random.choice(BUDGETS)
        record = sent(client, **options)
        # Of two that moved a frontier at the same entry, the later is how it stood then.
        records[record["lastSeq"], name] = options, record
    for (seq, _), (options, record) in records.items():
        query = {**options, "handles": int(options["handles"]), "at": seq}
        assert of_messages(read(client, **query)) == of_messages(record), (seed, seq)
    assert any(record["frontier"]["orphans"] for _, record in records.values())


def test_rendering_by_a_turn_is_read_again_at_its_entry(client: httpx.Client) -> None:
    begin(client)
    records = []
    for number in range(6):
        message = {"role": "user", "content": f"{number} " * 2_000}
        render = {"target": "anthropic", "maxTokens": 4_000, "frontier": "main"}
        answer = client.post(TURNS, json={"entries": [{"message": message}], "render": render})
        assert answer.status_code == 200, answer.text[:500]
        records.append(answer.json()["rendering"])
    for record in records:
        again = read(client, target="anthropic", at=record["lastSeq"])
        assert of_messages(again) == of_messages(record)


def test_working_set_at_an_entry_is_of_the_rendering_that_was_sent_then(
    client: httpx.Client,
) -> None:
    begin(client)
    path = "/api/sessions/s/working-set"
    sets = []
    for number in range(8):
        step(client, number)
        sets.append((sent(client)["lastSeq"], read(client, path)))
    for seq, record in sets:
        assert read(client, path, at=seq) == record


@pytest.mark.engines("embedded", "server")
def test_frontier_stands_at_an_entry_as_the_last_request_before_it_moved_it(
    client: httpx.Client,
) -> None:
    records = steps(client)
    for old, new in pairwise(records):
        between = read(client, at=new["lastSeq"] - 1, maxTokens=None)
        assert between["frontier"] == old["frontier"]
        assert between["lastSeq"] == new["lastSeq"] - 1


@pytest.mark.engines("embedded", "server")
def test_nothing_is_evicted_before_the_first_move(client: httpx.Client) -> None:
    begin(client)
    step(client, 1)
    seq = sent(client, maxTokens=20_000)["lastSeq"]
    for number in range(2, 8):
        step(client, number)
    moved = sent(client)["frontier"]
    assert moved["toolTexts"] > 0
    early = read(client, at=seq, maxTokens=None)
    assert (early["loss"], early["lastSeq"]) == ([], seq)
    assert not any(early["frontier"].values())
    never = read(client, at=seq, frontier="never", maxTokens=None)
    assert of_messages(never) == of_messages(early)


@pytest.mark.slow
def test_frontier_without_moves_is_held_to_the_entry(
    client: httpx.Client, service: LiveService
) -> None:
    records = steps(client)
    newest = records[-1]
    forget_moves(service.settings)
    for seq in (5, newest["lastSeq"]):
        frontier = read(client, at=seq, maxTokens=None)["frontier"]
        assert frontier == {
            name: min(value, seq) if isinstance(value, int) else []
            for name, value in newest["frontier"].items()
        }
    # From the next move on, moves are known again.
    for number in range(10, 20):
        step(client, number)
        records.append(sent(client))
    assert records[-1]["frontier"] != newest["frontier"]
    for record in records[8:]:
        assert of_messages(read(client, at=record["lastSeq"])) == of_messages(record)
    frontier = read(client, at=newest["lastSeq"], maxTokens=None)["frontier"]
    assert frontier == newest["frontier"]


@pytest.mark.parametrize(
    ("query", "detail", "fault"),
    [
        ({"frontier": None}, "Name the frontier as well", "needs frontier"),
        ({"since": 2}, "Leave `since` and `upTo` out", "cannot stand beside since or upTo"),
        ({"upTo": 2}, "Leave `since` and `upTo` out", "cannot stand beside since or upTo"),
        ({"at": 4}, "The newest entry of the session has the number 3.", "is above 3"),
    ],
)
def test_rendering_that_never_was_is_refused(
    client: httpx.Client, query: Json, detail: str, fault: str
) -> None:
    begin(client)
    step(client, 1)
    options = {"target": "openai-chat", "frontier": "main", "at": 3, **query}
    params = {name: str(value) for name, value in options.items() if value is not None}
    refused = client.get(SESSION_RENDER, params=params)
    assert refused.status_code == 422
    problem = refused.json()
    assert detail in problem["detail"]
    assert problem["errors"] == [{"pointer": "/query/at", "detail": fault}]


def test_fork_has_the_renderings_of_its_entries(client: httpx.Client) -> None:
    records = steps(client)
    up_to = records[5]["lastSeq"]
    forked = client.post("/api/sessions/s/fork", json={"upTo": up_to, "as": "copy"})
    assert forked.status_code == 201
    path = "/api/sessions/copy/render"
    for record in records[:5]:
        copied = read(client, path, at=record["lastSeq"])
        assert copied["messages"] == record["messages"]
        assert copied["frontier"] == record["frontier"]
    newest = read(client, path, at=up_to)
    assert of_messages(newest) == of_messages(read(client, path))


@pytest.mark.engines("embedded", "server")
def test_session_that_was_made_again_has_no_moves(client: httpx.Client) -> None:
    records = steps(client)
    assert client.delete("/api/sessions/s").is_success
    begin(client)
    step(client, 1)
    assert read(client, at=3, maxTokens=None)["loss"] == []
    assert records[0]["lastSeq"] == 3


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
def test_imported_session_shows_its_earlier_renderings(
    client: httpx.Client, service: LiveService
) -> None:
    many = 30
    steps(client, many)
    places = [*range(1, 2 * many, 13)]
    earlier = [read(client, at=seq) for seq in places]
    bundle = export(client, "s")
    with service.client() as other:
        assert take_in(other, bundle).status_code == 201
        assert [read(other, at=seq) for seq in places] == earlier
        assert export(other, "s") == bundle


def test_session_of_an_older_bundle_holds_its_frontier_to_the_entry(
    client: httpx.Client, service: LiveService
) -> None:
    newest = steps(client)[-1]
    members = members_of(export(client, "s"))
    manifest = json.loads(members["manifest.json"])
    assert manifest["session"]["frontiers"][0].pop("moves")
    members["manifest.json"] = json.dumps({**manifest, "version": 3}).encode()
    bundle = bundled(with_manifest(members))
    with service.client() as other:
        assert take_in(other, bundle).status_code == 201
        frontier = read(other, at=5, maxTokens=None)["frontier"]
        assert frontier == {
            name: min(value, 5) if isinstance(value, int) else []
            for name, value in newest["frontier"].items()
        }
