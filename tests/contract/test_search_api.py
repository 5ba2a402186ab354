"""Search over everything that has words, over HTTP on both engines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.models.search_entry import MAX_INDEXED_CHARS
from tests.contract.bundled_sessions import export, take_in
from tests.contract.session_requests import answer, append, ask, call_tool, listed, upload
from tests.kit.media import png
from tests.kit.servers import LiveService

ROUTE = "/api/search"
QUESTIONS = Path(__file__).parents[1] / "data" / "questions.jsonl"
# Where a good search engine for documents is; what has all words only, as before, finds 0.01.
RECALL_AT_5 = 0.85
HOSTILE = [
    *"\"'\\*():&|!<>^-+~{}[]%_;$?.,/@#`",
    *("AND", "OR", "NOT", "NEAR", "NEAR(a b)", "a AND", "NOT a", 'a"b', '"a', "a*b*c", "zeb*"),
    *("'; DROP TABLE pages; --", "%s %(x)s :x ? $1", "heading:zebra", "{a b}: c", "a <-> b & !c"),
    *("\x00", "a\x00b", "\ue000", "\ue001 a", "\ue003zebra", "\u202e\u2066a", "a\u0301" * 300),
    *("z" * 1_000, "\u5b57" * 1_000, "a " * 500, '"' * 1_000, "abc* " * 200, "x-" * 500, "the"),
]


def search(client: httpx.Client, q: str, **query: str | int) -> httpx.Response:
    return client.get(ROUTE, params={"q": q, **query})


def found(client: httpx.Client, q: str, **query: str | int) -> list[dict[str, Any]]:
    answered = search(client, q, **query)
    assert answered.status_code == 200, answered.text
    items: list[dict[str, Any]] = answered.json()["items"]
    return items


def handles(client: httpx.Client, q: str, **query: str | int) -> list[str]:
    return [hit["handle"] for hit in found(client, q, **query)]


def put_page(client: httpx.Client, page_id: str, **members: object) -> None:
    assert client.put(f"/api/pages/{page_id}", json=members).is_success


def say(client: httpx.Client, text: str, session_id: str = "s") -> dict[str, Any]:
    record: dict[str, Any] = append(client, session_id, role="user", content=text).json()
    return record


@pytest.fixture(scope="module")
def library(service: LiveService) -> Iterator[httpx.Client]:
    """A client in a project that has something of everything, which nobody changes."""
    with service.client() as client:
        put_page(client, "img_001", modality="image", caption="Red sunset", session_id="s")
        put_page(client, "talk", modality="audio", transcript="We watched sunsets.")
        text = {"type": "text", "text": "Sunset is at 20:41."}
        call_tool(client, "call_42", {"content": [text]})
        say(client, "When does the sun set? I like every sunset.")
        say(client, "Nothing of the kind.", "t")
        ask(client, "Where was this sunset seen?")
        upload(client, b"%PDF-1.4 x", filename="sunset_report-2024.pdf")
        yield client


def test_everything_that_has_words_is_found_with_its_place(library: httpx.Client) -> None:
    hits = found(library, "sunsets")
    assert sorted(hit["kind"] for hit in hits) == [
        *("file", "interaction", "message", "page", "page", "tool_result"),
    ]
    (message,) = (hit for hit in hits if hit["kind"] == "message")
    assert message == {
        "kind": "message",
        "id": message["id"],
        "handle": f"@entry:{message['seq']}",
        "sessionId": "s",
        "seq": message["seq"],
        "pageId": None,
        "resource": None,
        "modality": None,
        "title": "user",
        "snippet": "When does the sun set? I like every sunset.",
        "createdAt": message["createdAt"],
    }
    (file,) = (hit for hit in hits if hit["kind"] == "file")
    assert (file["handle"], file["resource"]) == (f"@blob:{file['id']}", f"blob:{file['id']}")
    (page, _) = (hit for hit in hits if hit["kind"] == "page")
    assert (page["handle"], page["pageId"], page["title"]) == ("img_001", "img_001", "Red sunset")
    assert all(len(hit["snippet"].encode()) <= 300 for hit in hits)


@pytest.mark.parametrize(
    ("q", "first"),
    [
        ("img_001", "img_001"),
        ("show me img_001, please", "img_001"),
        ("the red sunset picture", "img_001"),
        ("call_42", "tool_result"),
        ("sunset_report-2024.pdf", "file"),
        ("the report", "file"),
        ("recording of sunsets", "talk"),
    ],
)
def test_what_is_named_or_has_all_words_stands_first(
    library: httpx.Client, q: str, first: str
) -> None:
    hit = found(library, q)[0]
    assert first in {hit["kind"], hit["handle"]}


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ({"kinds": "page"}, ["page", "page"]),
        ({"kinds": "transcript"}, ["page"]),
        ({"kinds": "file,message"}, ["file", "message"]),
        ({"kinds": "tool_result", "sessionId": "s"}, ["tool_result"]),
        ({"sessionId": "s"}, ["interaction", "message", "page", "tool_result"]),
        ({"sessionId": "t"}, []),
    ],
    ids=str,
)
def test_search_is_narrowed(library: httpx.Client, query: dict[str, str], kinds: list[str]) -> None:
    assert sorted(hit["kind"] for hit in found(library, "sunset", **query)) == kinds


def test_list_goes_on_where_its_cursor_and_link_say(library: httpx.Client) -> None:
    whole = found(library, "red sunset at sea")
    first = search(library, "red sunset at sea", limit=2)
    assert len(whole) == 6
    assert listed(library, f"{ROUTE}?q=red sunset at sea&limit=2") == whole
    other = search(library, "red", cursor=first.json()["nextCursor"])
    assert (other.status_code, other.json()["code"]) == (400, "invalid-cursor")


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"q": ""},
        {"q": " "},
        {"q": "!?"},
        {"q": "x" * 1_001},
        {"q": "a*"},
        {"q": "x", "kinds": "pages"},
        {"q": "x", "kinds": ""},
        {"q": "x", "limit": "201"},
        {"q": "x", "sessionId": "no id"},
        {"q": "x", "session_id": "s"},
        {"q": "x", "sort": "new"},
    ],
    ids=str,
)
def test_wrong_search_is_refused(library: httpx.Client, query: dict[str, str]) -> None:
    refused = library.get(ROUTE, params=query)
    assert (refused.status_code, refused.headers["content-type"]) == (
        422,
        "application/problem+json",
    )


@pytest.mark.slow
def test_no_search_is_too_odd(library: httpx.Client) -> None:
    assert len(HOSTILE) >= 60
    for path in (ROUTE, "/api/pages/search"):
        for q in HOSTILE:
            answered = library.get(path, params={"q": q})
            assert answered.status_code in {200, 422}, (q, answered.text)


def test_search_follows_every_write_and_end(service: LiveService) -> None:
    with service.client() as client:
        result = call_tool(client, "c", {"content": [{"type": "text", "text": "a walrus"}]})
        said = say(client, "the walrus again")
        asked = ask(client, "who?")
        assert handles(client, "walrus") == [f"@entry:{said['seq']}", f"@entry:{result['seq']}"]
        assert answer(client, asked["id"], {"role": "assistant", "content": "walrus"}).is_success
        assert f"@entry:{asked['seq']}" in handles(client, "walrus")
        file = upload(client, b"x", filename="walrus.txt")
        assert found(client, "walrus")[0]["resource"] == file["uri"]
        assert client.delete(f"/api/resources/{file['uri']}").is_success
        assert client.delete("/api/sessions/s").is_success
        assert search(client, "walrus").json() == {"items": [], "nextCursor": None, "pending": 0}


def test_page_that_was_faulted_is_found_once(service: LiveService) -> None:
    with service.client() as client:
        put_page(client, "p", content="A walrus.", session_id="s")
        assert client.post("/api/pages/p/fault", json={"session_id": "s"}).is_success
        assert handles(client, "walrus") == ["p"]


def test_file_is_found_in_every_session_that_refers_to_it(service: LiveService) -> None:
    with service.client() as client:
        uri = upload(client, png(), filename="walrus.png")["uri"]
        for session in ("s", "t"):
            put_page(client, session, modality="image", content=f"@{uri}", session_id=session)
        for session, pages in (("s", ["s"]), ("t", ["t"]), ("u", [])):
            hits = found(client, "walrus.png", kinds="file", sessionId=session)
            assert [hit["sessionId"] for hit in hits] == pages


def test_file_is_not_found_in_a_session_that_refers_to_it_no_longer(service: LiveService) -> None:
    with service.client() as client:
        uri = upload(client, png(), filename="walrus.png")["uri"]
        put_page(client, "p", modality="image", content=f"@{uri}", session_id="s")
        assert handles(client, "walrus.png", kinds="file", sessionId="s") == [f"@{uri}"]
        put_page(client, "p", modality="image", content=f"@{uri}", session_id="t")
        assert search(client, "nothing").json()["pending"] == 0
        assert handles(client, "walrus.png", kinds="file", sessionId="s") == []
        assert handles(client, "walrus.png", kinds="file", sessionId="t") == [f"@{uri}"]
        assert client.delete("/api/pages/p").is_success
        assert handles(client, "walrus.png", kinds="file", sessionId="t") == []
        assert handles(client, "walrus.png", kinds="file") == [f"@{uri}"]


def test_another_projects_words_are_as_if_they_were_not_there(service: LiveService) -> None:
    with service.client() as client, service.client() as other:
        said = say(client, "a walrus")
        put_page(client, "img_001", content="walrus")
        nothing: dict[str, Any] = {"items": [], "nextCursor": None, "pending": 0}
        for q in ("walrus", "img_001", said["id"]):
            assert search(other, q).json() == nothing
        assert handles(client, said["id"])[0] == f"@entry:{said['seq']}"


def test_imported_session_is_found(service: LiveService) -> None:
    with service.client() as client, service.client() as other:
        say(client, "a walrus")
        call_tool(client, "c", {"content": [{"type": "text", "text": "a walrus"}]})
        assert take_in(other, export(client, "s")).status_code == 201
        assert sorted(handles(other, "walrus")) == ["@entry:1", "@entry:2"]


def test_beginning_of_a_long_text_is_found(service: LiveService) -> None:
    with service.client() as client:
        filler = "word " * (MAX_INDEXED_CHARS // 5 - 20)
        say(client, f"{filler} walrus {filler} seal")
        append(client, "s", role="user", content=[{"type": "text", "text": "x " * 200_000 + "end"}])
        assert handles(client, "walrus") == ["@entry:1"]
        assert handles(client, "seal") == []
        assert handles(client, "x", limit=1) == ["@entry:2"]


@pytest.mark.slow
def test_questions_find_their_pages(service: LiveService) -> None:
    pairs = [json.loads(line) for line in QUESTIONS.read_text().splitlines()]
    pages = [{"page_id": pair["page_id"], "content": pair["text"]} for pair in pairs]
    with service.client() as client:
        assert client.post("/api/pages/bulk", json={"pages": pages}).status_code == 201
        records = [
            client.get("/api/pages/search", params={"q": pair["question"], "limit": 5}).json()
            for pair in pairs
        ]
        there = [
            pair["page_id"] in {hit["page_id"] for hit in hits["items"]}
            for pair, hits in zip(pairs, records, strict=True)
        ]
        assert len(pairs) == 300
        assert sum(there) / len(pairs) >= RECALL_AT_5


def test_message_with_results_alone_is_found_as_a_tool_result_with_its_tools(
    client: httpx.Client,
) -> None:
    uses = [
        {"type": "tool_use", "id": f"u{number}", "name": name, "input": {"q": "walrus"}}
        for number, name in enumerate(("clock", "camera", "clock"))
    ]
    answers = [
        {"type": "tool_result", "tool_use_id": use["id"], "content": f"Zebra {use['id']}."}
        for use in uses
    ]
    append(client, role="assistant", content=uses)
    append(client, content=answers)
    append(client, content=[answers[0] | {"tool_use_id": "unknown"}])
    append(client, content=[*answers[:1], {"type": "text", "text": "A zebra? No."}])
    function = {"name": "lamp", "arguments": "{}"}
    call = {"id": "u9", "type": "function", "function": function}
    append(client, role="assistant", content=None, tool_calls=[call])
    append(client, role="tool", content="A zebra.", tool_call_id="u9")
    assert {
        hit["seq"]: (hit["kind"], hit["title"], hit.get("toolNames"))
        for hit in found(client, "zebra", kinds="tool_result")
    } == {
        2: ("message", "tool", ["clock", "camera"]),
        3: ("message", "tool", None),
        6: ("message", "tool", ["lamp"]),
    }
    # They are messages all the same.
    assert sorted(hit["seq"] for hit in found(client, "zebra", kinds="message")) == [2, 3, 4, 6]
    (mixed,) = (hit for hit in found(client, "zebra", kinds="message") if hit["seq"] == 4)
    assert (mixed["title"], "toolNames" in mixed) == ("user", False)
