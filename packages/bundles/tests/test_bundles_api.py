"""Sessions are exported and imported over HTTP byte for byte, in one transaction."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.models.limits import Limits
from tests.contract.bundled_sessions import (
    SESSION,
    bundled,
    done,
    everything,
    export,
    listed,
    make_session,
    make_small_session,
    members_of,
    messages,
    sha256,
    take_in,
    tool_results,
    with_manifest,
)
from tests.contract.render_cases import image_block
from tests.contract.session_requests import call_tool
from tests.kit import media
from tests.kit.servers import ENGINES, Backends, Engine, LiveService, serving

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def source(service: LiveService) -> Iterator[httpx.Client]:
    """Yield a client in a project with a session that has records of every kind."""
    with service.client() as client:
        make_session(client)
        yield client


@pytest.mark.slow
def test_session_moves_to_another_project_byte_for_byte(
    service: LiveService, source: httpx.Client
) -> None:
    bundle = export(source)
    with service.client() as other:
        created = take_in(other, bundle)
        assert created.status_code == 201, created.text
        assert created.headers["location"] == f"/api/sessions/{SESSION}"
        assert created.content == source.get(f"/api/sessions/{SESSION}").content
        assert export(other) == bundle
        assert everything(other) == everything(source)


def test_moved_fork_keeps_its_origin(service: LiveService) -> None:
    with service.client() as here, service.client() as there:
        make_small_session(here)
        fork = {"upTo": 2, "as": "copy"}
        assert here.post(f"/api/sessions/{SESSION}/fork", json=fork).status_code == 201
        bundle = export(here, "copy")
        created = take_in(there, bundle)
        assert created.status_code == 201, created.text
        assert created.json()["forkedFrom"] == {"sessionId": SESSION, "upTo": 2}
        assert created.content == here.get("/api/sessions/copy").content
        assert export(there, "copy") == bundle


def test_moved_session_keeps_its_marks(service: LiveService) -> None:
    with service.client() as here, service.client() as there:
        make_small_session(here)
        marks = {"pinned": True, "tags": ["nightly"], "note": "Why?"}
        assert here.patch(f"/api/sessions/{SESSION}", json=marks).status_code == 200
        bundle = export(here)
        created = take_in(there, bundle)
        assert created.status_code == 201, created.text
        assert marks.items() <= created.json().items()
        assert export(there) == bundle


@pytest.mark.slow
@pytest.mark.xdist_group("heavy")
def test_session_moves_between_engines_and_back(backends: Backends, tmp_path: Path) -> None:
    embedded, server = (backends.settings(engine, tmp_path / engine) for engine in ENGINES)
    with (
        serving(embedded) as one,
        serving(server) as two,
        one.client() as here,
        two.client() as there,
        one.client() as back,
    ):
        make_session(here)
        bundle = export(here)
        assert take_in(there, bundle).status_code == 201
        assert export(there) == bundle
        assert take_in(back, export(there)).status_code == 201
        assert export(back) == bundle
        assert everything(here) == everything(there) == everything(back)


@pytest.mark.slow
def test_deleted_session_comes_back_where_it_was(service: LiveService) -> None:
    with service.client() as client:
        make_small_session(client)
        before, bundle = everything(client), export(client)
        done(client.delete(f"/api/sessions/{SESSION}"))
        assert listed(client, "/api/resources") == listed(client, "/api/pages") == []
        assert take_in(client, bundle).status_code == 201
        assert export(client) == bundle
        assert {q: a for q, a in everything(client).items() if "/api/pages" not in q} == {
            q: a for q, a in before.items() if "/api/pages" not in q
        }


def test_bundle_is_the_same_with_and_without_derived_images(service: LiveService) -> None:
    large = media.png(9_000, 45)
    with service.client() as here, service.client() as there:
        call_tool(here, "c", {"content": [image_block(large)]}, session_id=SESSION)
        bundle = export(here)
        for client in (here, there):
            if client is there:
                assert take_in(there, bundle).status_code == 201
            rendered = client.get(f"/api/sessions/{SESSION}/render?target=anthropic")
            assert [step["to"] for step in rendered.json()["loss"]] == ["line", "call", "smaller"]
            kept = listed(client, "/api/resources")
            assert [(item["width"], item.get("filename")) for item in kept] == [
                (8_000, None),
                (9_000, None),
            ]
            assert export(client) == bundle
        deleted = done(there.delete(f"/api/sessions/{SESSION}"))
        assert [resource["size"] for resource in deleted["resources"]] == [len(large)]
        assert listed(there, "/api/resources") == []
        assert take_in(there, bundle).status_code == 201
        assert export(there) == bundle


@pytest.mark.slow
def test_two_sessions_that_share_files_move_one_after_the_other(service: LiveService) -> None:
    with service.client() as one, service.client() as other:
        make_session(one, "s-1", "a-")
        for body in tool_results():
            done(one.post("/api/tool-results", json={**body, "sessionId": "s-2"}))
        for body in messages():
            done(one.post("/api/sessions/s-2/messages", json=body))
        bundles = [export(one, "s-1"), export(one, "s-2")]
        assert [take_in(other, bundle).status_code for bundle in bundles] == [201, 201]
        assert [export(other, "s-1"), export(other, "s-2")] == bundles


@pytest.mark.slow
def test_bundle_has_the_files_of_its_manifest(source: httpx.Client) -> None:
    answer = source.get(f"/api/sessions/{SESSION}/bundle")
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == 'attachment; filename="s-1.zip"'
    assert answer.headers["cache-control"] == "no-store"
    members = members_of(answer.content)
    manifest = json.loads(members["manifest.json"])
    assert list(members)[:4] == [
        "history.jsonl",
        "interactions.jsonl",
        "pages.jsonl",
        "resources.jsonl",
    ]
    assert manifest["files"] == [
        {"name": name, "size": len(data), "sha256": sha256(data)}
        for name, data in list(members.items())[:-1]
    ]
    record = source.get(f"/api/sessions/{SESSION}").json()
    assert {key: value for key, value in manifest.items() if key != "files"} == {
        "format": "pagefault-session",
        "version": 4,
        "session": {
            "id": SESSION,
            "created_at": record["createdAt"],
            "updated_at": record["updatedAt"],
            "last_seq": record["lastSeq"],
        },
    }
    for line in members["history.jsonl"].splitlines():
        entry = json.loads(line)
        if entry["kind"] == "tool_result":
            stored = source.get(f"/api/tool-results/{entry['id']}").content
            sanitized = line.partition(b'"sanitized":')[2]
            assert stored.endswith(b'"sanitized":' + sanitized)


@pytest.mark.slow
def test_calls_that_were_answered_before_the_move_get_the_stored_answers(
    service: LiveService, source: httpx.Client
) -> None:
    with service.client() as other:
        assert take_in(other, export(source)).status_code == 201
        before = everything(other)[f"/api/sessions/{SESSION}"]
        for body in tool_results():
            call = {**body, "sessionId": SESSION}
            answers = [client.post("/api/tool-results", json=call) for client in (source, other)]
            assert [answer.status_code for answer in answers] == [200, 200]
            assert answers[0].content == answers[1].content
        assert other.get(f"/api/sessions/{SESSION}").content == before
        changed = {**tool_results()[0], "sessionId": SESSION, "result": "other"}
        assert other.post("/api/tool-results", json=changed).status_code == 409


def test_answers_to_calls_of_one_id_and_long_ids_are_moved(service: LiveService) -> None:
    long = "call_" + "x" * 16_000
    bodies = [
        {"toolName": "t", "toolCallId": call_id, "result": text, "newCall": True}
        for call_id, text in (("a", "one"), ("a", "two"), (long, "three"), (long, "four"))
    ]
    with service.client() as one, service.client() as other:
        for body in bodies:
            created = one.post("/api/tool-results", json={**body, "sessionId": SESSION})
            assert created.status_code == 201
        answer = {"role": "tool", "tool_call_id": "b", "content": "five"}
        call = {"id": "b", "type": "function", "function": {"name": "t", "arguments": "{}"}}
        for message in ({"role": "assistant", "content": None, "tool_calls": [call]}, answer) * 2:
            done(one.post(f"/api/sessions/{SESSION}/messages", json=message))
        bundle = export(one)
        assert take_in(other, bundle).status_code == 201
        assert export(other) == bundle
        path = f"/api/sessions/{SESSION}/render?target=openai-chat"
        assert other.get(path).json()["messages"] == one.get(path).json()["messages"]
        again = other.post(f"/api/sessions/{SESSION}/messages", json=answer)
        assert again.status_code == 200


def test_answers_keep_their_order_where_they_move_to(service: LiveService) -> None:
    calls = [
        {"id": letter, "type": "function", "function": {"name": "t", "arguments": "{}"}}
        for letter in "abc"
    ]
    calling = {"message": {"role": "assistant", "content": None, "tool_calls": calls}}
    results = [
        {"toolResult": {"toolName": "t", "toolCallId": letter, "result": letter}} for letter in "ca"
    ]
    path = f"/api/sessions/{SESSION}/render?target=openai-chat"
    with service.client() as one, service.client() as other:
        turn = {"entries": [calling, *results]}
        assert one.post(f"/api/sessions/{SESSION}/turns", json=turn).status_code == 200
        answer = {"role": "tool", "tool_call_id": "b", "content": "b"}
        done(one.post(f"/api/sessions/{SESSION}/messages", json=answer))
        bundle = export(one)
        assert take_in(other, bundle).status_code == 201
        assert export(other) == bundle
        moved = other.get(path).json()["messages"]
        assert moved == one.get(path).json()["messages"]
        assert [call["tool_call_id"] for call in moved[1:]] == ["b", "c", "a"]


def test_moved_session_can_be_continued_and_deleted(service: LiveService) -> None:
    with service.client() as one, service.client() as other:
        make_small_session(one)
        assert take_in(other, export(one)).status_code == 201
        message = {"role": "user", "content": "more"}
        added = done(other.post(f"/api/sessions/{SESSION}/messages", json=message))
        # Two pages have taken numbers too.
        assert added["seq"] == 8
        assert take_in(one, export(other)).status_code == 409
        uris = [resource["uri"] for resource in listed(other, "/api/resources")]
        assert {other.delete(f"/api/resources/{uri}").status_code for uri in uris} == {409}
        receipt = done(other.delete(f"/api/sessions/{SESSION}"))
        assert {resource["status"] for resource in receipt["resources"]} == {"deleted"}
        assert listed(other, "/api/resources") == listed(other, "/api/pages") == []


def test_empty_session_is_a_bundle_too(service: LiveService) -> None:
    with service.client() as one, service.client() as other:
        done(one.put(f"/api/sessions/{SESSION}"))
        bundle = export(one)
        assert take_in(other, bundle).status_code == 201
        assert export(other) == bundle


def test_existing_records_are_not_replaced(service: LiveService) -> None:
    with service.client() as one:
        make_small_session(one)
        bundle = export(one)
        again = take_in(one, bundle)
        assert (again.status_code, again.json()["code"]) == (409, "session-exists")
        assert export(one) == bundle
    with service.client() as other:
        done(other.put("/api/pages/p-2", json={"content": "mine"}))
        conflict = take_in(other, bundle)
        assert (conflict.status_code, conflict.json()["code"]) == (409, "page-exists")
        assert "p-2" in conflict.json()["detail"]
        assert other.get(f"/api/sessions/{SESSION}").status_code == 404
        assert listed(other, "/api/resources") == []
        assert other.get("/api/pages/p-2").json()["content"] == "mine"


def test_unknown_session_has_no_bundle(client: httpx.Client) -> None:
    answer = client.get("/api/sessions/s-none/bundle")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 415),
        ({"Content-Type": "application/json"}, 415),
        ({"Content-Type": "application/zip", "Content-Encoding": "gzip"}, 415),
        ({"Content-Type": "application/octet-stream"}, 422),
        ({"Content-Type": "Application/ZIP; x=y"}, 422),
    ],
)
def test_bundle_has_to_be_announced_as_one(
    client: httpx.Client, headers: dict[str, str], status: int
) -> None:
    answer = client.post("/api/sessions/import", content=b"x", headers=headers)
    assert answer.status_code == status


def test_bundle_above_the_limit_leaves_nothing(
    backends: Backends, engine: Engine, tmp_path: Path, service: LiveService
) -> None:
    with service.client() as one:
        make_small_session(one)
        bundle = export(one)
    limits = Limits(bundle_bytes=len(bundle) - 1)
    settings = backends.settings(engine, tmp_path, limits=limits)
    with serving(settings) as small, small.client() as client:
        answer = take_in(client, bundle)
        assert (answer.status_code, answer.json()["code"]) == (413, "payload-too-large")
        assert listed(client, "/api/sessions") == []


@pytest.mark.slow
@pytest.mark.xdist_group("heavy")
def test_large_blob_passes_through(service: LiveService) -> None:
    piece = media.noise_bytes(MIB)
    with service.client() as one, service.client() as other:
        file = done(one.post("/api/resources", content=(piece for _ in range(40))))
        interaction = {"input": {"parts": [{"attachments": [{"id": file["uri"]}]}]}}
        done(one.post(f"/api/sessions/{SESSION}/interactions", json=interaction))
        assert take_in(other, export(one)).status_code == 201
        content = other.get(f"/api/resources/{file['uri']}/content").content
        assert hashlib.sha256(content).hexdigest() == sha256(piece * 40)


def test_thousand_entries_keep_their_order(service: LiveService) -> None:
    with service.client() as one, service.client() as other:
        message = {"role": "user", "content": "0"}
        first = done(one.post(f"/api/sessions/{SESSION}/messages", json=message))
        # Written into the bundle, which is faster than a thousand requests.
        members = members_of(export(one))
        line = members["history.jsonl"].decode()
        lines = [
            line.replace(first["id"], f"{first['id'][:-6]}{number:06x}")
            .replace('"seq":1,', f'"seq":{number + 1},')
            .replace('"content":"0"', f'"content":"{number}"')
            for number in range(1_100)
        ]
        assert len(set(lines)) == len(lines)
        manifest = members["manifest.json"].replace(b'"last_seq":1}', b'"last_seq":1100}')
        entries = {"history.jsonl": "".join(lines).encode(), "manifest.json": manifest}
        bundle = bundled(with_manifest({**members, **entries}))
        assert take_in(other, bundle).status_code == 201
        assert export(other) == bundle
        history = listed(other, f"/api/sessions/{SESSION}/messages?limit=200")
        assert [entry["content"] for entry in history] == [str(n) for n in range(1_100)]
