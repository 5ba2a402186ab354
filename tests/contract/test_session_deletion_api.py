"""The end of sessions over HTTP, on both engines: the receipt, what stays, and faults midway."""

import sqlite3
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.contract.page_requests import data_uri, outcome, put
from tests.contract.session_requests import answer, append, ask, call_tool, entries, rich, upload
from tests.kit.media import jpeg, pdf, png, wav
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends, LiveService, serving

ROUTE = "/api/sessions/s"
PICTURE = png(noise=True)
PHOTO = jpeg(noise=True)
NOTHING = {
    "toolResults": 0,
    "pageFaults": 0,
    "messages": 0,
    "interactions": 0,
    "answers": 0,
    "pages": 0,
}
THREADS = 8


def fault(client: httpx.Client, page_id: str = "p", session_id: str = "s") -> None:
    query = {"session_id": session_id, "target_level": 0}
    assert client.post(f"/api/pages/{page_id}/fault", json=query).status_code == 200


def result_with(data: bytes, mime_type: str) -> dict[str, object]:
    resource = {
        "uri": "m://a",
        "mimeType": mime_type,
        "blob": data_uri(data, "")[len("data:;base64,") :],
    }
    return {"content": [{"type": "resource", "resource": resource}]}


def delete(client: httpx.Client, session_id: str = "s") -> dict[str, Any]:
    """Delete a session; returns the receipt."""
    deleted = client.delete(f"/api/sessions/{session_id}")
    assert deleted.status_code == 200, deleted.text[:500]
    receipt: dict[str, Any] = deleted.json()
    return receipt


def released(uri: str, data: bytes, *used_by: tuple[str, int, str]) -> dict[str, Any]:
    """Return the line of a receipt about a resource."""
    return {
        "uri": uri,
        "size": len(data),
        "status": "kept" if used_by else "deleted",
        "usedBy": [
            {"kind": kind, "count": count, "exampleId": example} for kind, count, example in used_by
        ],
    }


def fill(client: httpx.Client, session_id: str = "s") -> dict[str, str]:
    """Something of every kind in a session; returns the paths under which it is read."""
    put(
        client,
        f"p-{session_id}",
        modality="image",
        content=data_uri(PICTURE, "image/png"),
        session_id=session_id,
    )
    record = call_tool(client, "c", result_with(wav(), "audio/wav"), session_id=session_id)
    append(client, session_id=session_id, content=[{"url": data_uri(PHOTO, "image/jpeg")}])
    document = upload(client, pdf(), filename=f"{session_id}.pdf")["uri"]
    asked = ask(client, rich(document), session_id=session_id)
    output = {"role": "assistant", "content": "Ten."}
    path = f"/api/sessions/{session_id}/interactions/{asked['id']}"
    assert client.put(f"{path}/output", json=output).status_code == 200
    fault(client, f"p-{session_id}", session_id)
    return {
        "session": f"/api/sessions/{session_id}",
        "messages": f"/api/sessions/{session_id}/messages",
        # The page has the number before.
        "entry": f"/api/sessions/{session_id}/messages/2",
        "interactions": f"/api/sessions/{session_id}/interactions",
        "interaction": path,
        "record": f"/api/tool-results/{record['id']}",
        "page": f"/api/pages/p-{session_id}",
        "document": f"/api/resources/{document}",
    }


def read_all(client: httpx.Client, paths: dict[str, str]) -> dict[str, tuple[int, bytes]]:
    answers = {name: client.get(path) for name, path in paths.items()}
    return {name: (message.status_code, message.content) for name, message in answers.items()}


def statuses(client: httpx.Client, paths: dict[str, str]) -> set[int]:
    return {status for status, _ in read_all(client, paths).values()}


def test_receipt_says_what_became_of_everything(client: httpx.Client) -> None:
    alone = upload(client, b"alone")["uri"]
    shared = upload(client, PICTURE)["uri"]
    on_page = upload(client, PHOTO)["uri"]
    outside = upload(client, wav())["uri"]
    untouched = upload(client, b"untouched")["uri"]
    ask(client, rich(alone, shared, on_page, outside))
    ask(client, rich(alone))
    append(client, content=[{"url": f"@{shared}"}])
    call_tool(client, "c", result_with(wav(), "audio/wav"))
    asked = [ask(client, rich(shared), session_id="t") for _ in range(2)]
    message = append(client, session_id="t", content=[{"url": f"@{shared}"}]).json()
    put(client, "theirs", modality="image", content=f"@{on_page}")
    record = call_tool(client, "c", result_with(wav(), "audio/wav"), session_id=None)
    answer(client, client.get(f"{ROUTE}/interactions").json()["items"][1]["id"])
    receipt = delete(client)
    resources = [
        released(alone, b"alone"),
        released(
            shared,
            PICTURE,
            ("interaction", 2, min(item["id"] for item in asked)),
            ("message", 1, message["id"]),
        ),
        released(on_page, PHOTO, ("page", 1, "theirs")),
        released(outside, wav(), ("tool_result", 1, record["id"])),
    ]
    assert receipt == {
        "id": "s",
        "deleted": {
            **NOTHING,
            "toolResults": 1,
            "messages": 1,
            "interactions": 2,
            "answers": 1,
        },
        "resources": sorted(resources, key=lambda resource: str(resource["uri"])),
    }
    there = {uri: client.get(f"/api/resources/{uri}/content") for uri in (shared, on_page, outside)}
    assert [item.content for item in there.values()] == [PICTURE, PHOTO, wav()]
    assert client.get(f"/api/resources/{untouched}").status_code == 200
    assert outcome(client.get(f"/api/resources/{alone}")) == (404, "not-found")


def test_everything_of_the_session_is_gone_and_nothing_of_another(client: httpx.Client) -> None:
    paths, others = fill(client), fill(client, "t")
    before = read_all(client, others)
    assert statuses(client, paths) == {200}
    receipt = delete(client)
    assert receipt["deleted"] == {
        "toolResults": 1,
        "pageFaults": 1,
        "messages": 1,
        "interactions": 1,
        "answers": 1,
        "pages": 1,
    }
    kept = {resource["status"] for resource in receipt["resources"]}
    assert (len(receipt["resources"]), kept) == (4, {"deleted", "kept"})
    assert statuses(client, {**paths, "content": f"{paths['page']}/content"}) == {404}
    assert read_all(client, others) == before
    assert {item["id"] for item in client.get("/api/sessions").json()["items"]} == {"t"}
    assert delete(client, "t")["deleted"]["pages"] == 1
    assert client.get("/api/resources").json()["items"] == []
    for path in ("/api/pages", "/api/tool-results", "/api/pages/search?q=image"):
        assert client.get(path).json()["items"] == []


def test_session_of_the_same_name_starts_anew(client: httpx.Client) -> None:
    paths = fill(client)
    before = read_all(client, paths)
    delete(client)
    again = append(client, content="x")
    assert (again.status_code, again.json()["seq"]) == (201, 1)
    assert [entry["seq"] for entry in entries(client)] == [1]
    delete(client)
    assert fill(client).keys() == paths.keys()
    assert [entry["seq"] for entry in entries(client)] == [2, 3, 4, 5, 6]
    # A tool call that the first session answered is free, and every record is a new one.
    assert read_all(client, paths)["interaction"][0] == 404
    assert client.get(f"{ROUTE}/messages").content != before["messages"][1]


def test_another_project_is_not_touched(client: httpx.Client, service: LiveService) -> None:
    with service.client() as other:
        theirs = fill(other)
        before = read_all(other, theirs)
        fill(client)
        delete(client)
        assert read_all(other, theirs) == before


def test_session_is_deleted_once(client: httpx.Client) -> None:
    fill(client)
    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(lambda _: client.delete(ROUTE), range(THREADS)))
    assert Counter(item.status_code for item in answers) == {200: 1, 404: THREADS - 1}


def test_empty_session_has_an_empty_receipt(client: httpx.Client) -> None:
    client.put(ROUTE)
    assert delete(client) == {"id": "s", "deleted": NOTHING, "resources": []}
    assert client.get(ROUTE).status_code == 404


def test_page_that_went_to_another_session_stays_with_its_image(client: httpx.Client) -> None:
    put(client, modality="image", content=data_uri(PICTURE, "image/png"), session_id="s")
    fault(client)
    client.patch("/api/pages/p", json={"session_id": "t"})
    (kept,) = delete(client)["resources"]
    assert (kept["status"], [item["kind"] for item in kept["usedBy"]]) == ("kept", ["page"])
    assert client.get("/api/pages/p/download").content == PICTURE


def test_medium_of_a_deleted_session_can_be_stored_again(client: httpx.Client) -> None:
    content = [{"url": data_uri(PICTURE, "image/png")}]
    first = append(client, content=content).json()
    delete(client)
    again = append(client, content=content).json()
    assert again["content"] == first["content"]
    reference = again["content"][0]["url"].removeprefix("@")
    assert client.get(f"/api/resources/{reference}/content").content == PICTURE


def test_key_of_a_deleted_entry_does_not_bring_it_back(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k"}
    body = {"role": "user", "content": "x"}
    assert client.post(f"{ROUTE}/messages", json=body, headers=headers).status_code == 201
    delete(client)
    again = client.post(f"{ROUTE}/messages", json=body, headers=headers)
    assert again.status_code == 404
    assert client.get(ROUTE).status_code == 404


@pytest.mark.slow
def test_delete_while_others_write_leaves_no_half_session(client: httpx.Client) -> None:
    uri = upload(client, PICTURE)["uri"]
    image = data_uri(PHOTO, "image/jpeg")

    def write(number: int) -> tuple[str, int]:
        page = {"modality": "image", "content": image, "session_id": "s"}
        call = {"toolName": "t", "toolCallId": f"{number}", "sessionId": "s"}
        calls = [
            lambda: append(client, content=[{"url": image}, {"url": f"@{uri}"}]),
            lambda: client.post(f"{ROUTE}/interactions", json={"input": rich(uri)}),
            lambda: client.put(f"/api/pages/p{number % 3}", json=page),
            lambda: client.post(
                "/api/tool-results", json={**call, "result": result_with(PHOTO, "image/jpeg")}
            ),
            lambda: client.delete(ROUTE),
        ]
        return str(number % 5), calls[number % 5]().status_code

    with ThreadPoolExecutor(THREADS) as pool:
        outcomes = Counter(pool.map(write, range(100)))
    # A file that went with the session is missing to the next interaction, which is told so.
    allowed = {"0": {201}, "1": {201, 422}, "2": {200, 201, 409}, "3": {201}, "4": {200, 404}}
    assert {
        (kind, status) for kind, status in outcomes if status not in allowed[kind] | {503}
    } == set()
    assert_whole(client)


def assert_whole(client: httpx.Client) -> None:
    """Everything that is there is there with all that it shows."""
    found = client.get(ROUTE)
    pages = client.get("/api/pages?limit=200").json()["items"]
    for page in pages:
        assert page["session_id"] == "s"
        assert client.get(f"/api/pages/{page['page_id']}/download").status_code == 200
    if found.status_code == 404:
        assert client.get("/api/tool-results").json()["items"] == []
        assert pages == []
        return
    session = found.json()
    history = entries(client)
    # Writes of pages have numbers of their own among these.
    numbers = [entry["seq"] for entry in history]
    assert numbers == sorted(set(numbers) & set(range(1, session["lastSeq"] + 1)))
    counts = session["counts"]
    assert sum(counts[kind] for kind in NOTHING if kind != "pages") == len(history)
    assert counts["pages"] == len(pages)
    inline = client.get(f"{ROUTE}/messages?limit=200&media=inline")
    assert inline.status_code == 200
    items = client.get(f"{ROUTE}/interactions?limit=200").json()["items"]
    assert {attachment["status"] for one in items for attachment in one["attachments"]} <= {
        "available"
    }
    for resource in client.get("/api/resources?limit=200").json()["items"]:
        assert client.get(f"/api/resources/{resource['uri']}/content").status_code == 200
    delete(client)
    assert client.get("/api/pages").json()["items"] == []


def test_file_is_attached_while_its_session_is_deleted_or_it_is_missing(
    client: httpx.Client,
) -> None:
    """A client that got a success for an attached file can read it."""
    for round_ in range(6):
        uri = upload(client, f"file {round_}".encode())["uri"]
        ask(client, rich(uri))
        with ThreadPoolExecutor(4) as pool:
            deleting = pool.submit(client.delete, ROUTE)
            asking = [
                pool.submit(client.post, "/api/sessions/t/interactions", json={"input": rich(uri)})
                for _ in range(3)
            ]
        attached = [item.result().status_code for item in asking]
        assert deleting.result().status_code == 200
        assert set(attached) <= {201, 422}
        there = client.get(f"/api/resources/{uri}/content").status_code
        assert (there == 200) == (201 in attached)


def test_connections_that_break_midway_twice_leave_the_session_whole(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("server", tmp_path / "data")
    url = settings.db.url.get_secret_value() if settings.db.url else ""
    with serving(settings) as service, service.client() as client:
        paths = fill(client)
        before = read_all(client, paths)
        with (
            psycopg.connect(url, autocommit=True) as observer,
            psycopg.connect(url) as holder,
            ThreadPoolExecutor(1) as pool,
        ):
            # Pages, links and resources are gone when the deletion comes to the tool results.
            holder.execute("SELECT 1 FROM tool_results FOR UPDATE")
            deleting = pool.submit(client.delete, ROUTE)
            # The transaction is tried again once.
            ended = [*ended_while_waiting(observer), *ended_while_waiting(observer)]
            holder.rollback()
            assert ended == [True, True]
            answered = deleting.result()
        assert outcome(answered) == (503, "store-unavailable")
        assert read_all(client, paths) == before
        assert delete(client)["deleted"]["toolResults"] == 1
        assert statuses(client, paths) == {404}


def ended_while_waiting(observer: psycopg.Connection[tuple[Any, ...]]) -> list[bool]:
    """End the one connection that waits for a lock, as soon as there is one."""
    for _ in range(100_000):
        ended = observer.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE wait_event_type = 'Lock' AND datname = current_database()"
        ).fetchall()
        if ended:
            return [bool(row[0]) for row in ended]
    return []


def test_process_that_is_killed_midway_leaves_the_session_whole(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with PagefaultProcess(data_dir) as process:
        with process.client() as client:
            paths = fill(client)
            before = read_all(client, paths)
        # The last statement of a deletion never ends, and nothing of it is committed.
        with closing(sqlite3.connect(data_dir / "pagefault.db", isolation_level=None)) as database:
            database.execute(ENDLESS)
        with process.client() as client:
            deleting = threading.Thread(target=lambda: suppressed_delete(client))
            deleting.start()
            wait_until_written_to(data_dir / "pagefault.db")
            process.kill()
            deleting.join()
        with closing(sqlite3.connect(data_dir / "pagefault.db")) as database:
            database.execute("DROP TRIGGER endless")
        process.start()
        with process.client() as client:
            assert read_all(client, paths) == before
            assert delete(client)["deleted"]["interactions"] == 1
            assert statuses(client, paths) == {404}


ENDLESS = """
CREATE TRIGGER endless BEFORE DELETE ON sessions BEGIN
  SELECT count(*) FROM (
    WITH RECURSIVE numbers(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers)
    SELECT n FROM numbers
  );
END
"""


def suppressed_delete(client: httpx.Client) -> None:
    with suppress(httpx.TransportError):
        client.delete(ROUTE)


def wait_until_written_to(path: Path) -> None:
    """Return once somebody holds the database's write lock."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as database:
        for _ in range(100_000):
            try:
                database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return
            database.execute("ROLLBACK")
    pytest.fail("nothing was written")
