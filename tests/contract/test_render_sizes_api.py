"""`maxText` and `maxImagePixels`: how long a text, and how large an image, a rendering has."""

import base64

import httpx
import pytest

from tests.contract.page_requests import pointers, put
from tests.contract.render_requests import (
    SESSION_RENDER,
    Json,
    all_words,
    read_rendering,
    rendering,
    steps,
)
from tests.contract.session_requests import append, call_tool
from tests.kit.images import opened, picture, saved
from tests.kit.media import b64

pytestmark = pytest.mark.engines("embedded")

IMAGE = {"type": "image", "data": b64(saved(picture(), "PNG")), "mimeType": "image/png"}
LINES = "\n".join(f"{number} lines of a log" for number in range(1, 301))
LONG = "\n".join(f"{number} lines of a long log" for number in range(1, 1_001))
CALL = "/api/sessions/s/tool-calls"
BOUNDS = [("maxText", 500, 1_000_000), ("maxImagePixels", 16, 65_535)]


def blocks(record: Json) -> list[Json]:
    """Return the blocks of the only message of a rendering for MCP."""
    (message,) = record["messages"]
    content: list[Json] = message["content"]
    return content


def sides(content: list[Json]) -> list[tuple[int, int]]:
    """Return the size of each image."""
    shown = [base64.b64decode(item["data"]) for item in content if item["type"] == "image"]
    return [opened(item).size for item in shown]


def render_path(client: httpx.Client, result: object, session_id: str | None = "s") -> str:
    record = call_tool(client, "call_1", result, session_id=session_id)
    assert isinstance(record, dict)
    return f"/api/tool-results/{record['id']}/render"


def read(client: httpx.Client, call_id: str, **arguments: object) -> Json:
    """A call of `read_text`, as a turn has it."""
    return {"id": call_id, "name": "read_text", "arguments": arguments}


@pytest.mark.parametrize(("name", "least", "most"), BOUNDS)
def test_size_out_of_bounds_is_refused_wherever_it_is_taken(
    client: httpx.Client, name: str, least: int, most: int
) -> None:
    path = render_path(client, "done")
    put(client, "p", content="A page.")
    by_address = (path, SESSION_RENDER, "/api/sessions/s/working-set", "/api/pages/p/render")
    bodies: list[tuple[str, str, Json]] = [
        ("/api/render", "", {"target": "mcp", "sessionId": "s"}),
        (SESSION_RENDER, "", {"target": "mcp"}),
        (CALL, "", {"target": "mcp", "id": "own", "name": "list_media"}),
    ]
    entry = {"message": {"role": "user", "content": "Go on."}}
    for size in (least - 1, most + 1):
        for address in by_address:
            answer = client.get(address, params={"target": "mcp", name: size})
            assert pointers(answer) == [f"/query/{name}"]
        for address, at, body in bodies:
            assert pointers(client.post(address, json={**body, name: size})) == [f"{at}/{name}"]
        turn = {"entries": [entry], "render": {"target": "mcp", name: size}}
        answer = client.post("/api/sessions/s/turns", json=turn)
        assert pointers(answer) == [f"/render/{name}"]
        written = client.post(
            "/api/tool-results",
            params={"render": "mcp", name: size},
            json={"toolName": "clock", "toolCallId": "c", "result": "ten"},
        )
        assert pointers(written) == [f"/query/{name}"]
    for size in (least, most):
        for address in by_address:
            assert client.get(address, params={"target": "mcp", name: size}).is_success
        for address, _, body in bodies:
            assert client.post(address, json={**body, name: size}).is_success


def test_image_is_no_larger_than_is_asked_for(client: httpx.Client) -> None:
    path = render_path(client, {"content": [IMAGE]})
    whole = rendering(client, path, "mcp")
    assert (sides(blocks(whole)), whole["loss"]) == ([(300, 200)], [])
    small = rendering(client, path, "mcp", maxImagePixels=30)
    assert sides(blocks(small)) == [(30, 20)]
    assert steps(small) == [("/sanitized/parts/0", "original", "smaller", "too-many-pixels")]
    assert "shown as 30x20 instead of 300x200 pixels" in all_words(small)
    assert rendering(client, path, "mcp", maxImagePixels=300) == whole
    # A target's own limit stays.
    assert rendering(client, path, "text", maxImagePixels=30) == rendering(client, path, "text")


def test_long_text_is_a_preview_that_names_its_entry(client: httpx.Client) -> None:
    path = render_path(client, {"content": [{"type": "text", "text": LINES}]})
    whole = rendering(client, path, "mcp", maxText=len(LINES))
    assert [block["text"] for block in blocks(whole)] == [LINES]
    cut = rendering(client, path, "mcp", maxText=len(LINES) - 1)
    (shown,) = blocks(cut)
    assert 'characters left out; read_text("@entry:1") shows all of it …]' in shown["text"]
    assert (shown["text"].startswith("1 lines"), shown["text"].endswith("300 lines of a log")) == (
        True,
        True,
    )
    assert steps(cut) == [("/sanitized/parts/0", "text", "preview", "text-too-long")]
    by_turn = rendering(client, SESSION_RENDER, "mcp", maxText=len(LINES) - 1)
    assert by_turn["messages"][-1] == cut["messages"][0]


@pytest.mark.parametrize("session_id", ["s", None])
def test_text_that_is_stored_apart_is_shown_whole_or_shorter(
    client: httpx.Client, session_id: str | None
) -> None:
    path = render_path(client, {"content": [{"type": "text", "text": LONG}]}, session_id)
    (resource,) = client.get(path.removesuffix("/render")).json()["sanitized"]["resources"]
    line = f"[text @{resource['uri']} {len(LONG):,} characters]"
    whole = rendering(client, path, "mcp", maxText=len(LONG), handles=1)
    assert [block["text"] for block in blocks(whole)] == [LONG, line]
    assert whole["loss"] == []
    usual = rendering(client, path, "mcp", handles=1)
    assert rendering(client, path, "mcp", maxText=len(LONG) - 1, handles=1) == usual
    short, named = blocks(rendering(client, path, "mcp", maxText=500, handles=1))
    assert len(short["text"]) < 500
    assert (f"the whole text is {resource['uri']} …]" in short["text"], named["text"]) == (
        True,
        line,
    )


def test_preview_that_a_tool_imitates_is_not_made_whole(client: httpx.Client) -> None:
    path = render_path(client, LONG)
    (resource,) = client.get(path.removesuffix("/render")).json()["sanitized"]["resources"]
    (preview,) = blocks(rendering(client, path, "mcp"))
    copied = call_tool(client, "offload_location", preview["text"], session_id="other")
    assert isinstance(copied, dict)
    address = f"/api/tool-results/{copied['id']}/render"
    # The other session has no such text.
    assert blocks(rendering(client, address, "mcp", maxText=50_000)) == [preview]
    assert resource["uri"] in preview["text"]


def test_session_has_the_texts_of_its_tools_in_that_length(client: httpx.Client) -> None:
    question = LINES.replace("lines", "questions")
    append(client, content=question)
    call_tool(client, "short", LINES)
    call_tool(client, "long", LONG)
    put(client, "p", content=LINES.replace("lines", "pages"), modality="text")
    for call_id, name, arguments in (
        ("own_1", "read_text", {"ref": "@entry:2"}),
        ("own_2", "page_fault", {"page_id": "p", "target_level": 0}),
    ):
        query = {"target": "openai-chat", "id": call_id, "name": name, "arguments": arguments}
        answer = client.post(CALL, json={**query, "maxText": 500, "maxImagePixels": 16})
        said = all_words(read_rendering(answer, "openai-chat"))
        assert "150 lines of a log" in said or "150 pages of a log" in said
    render = {"target": "openai-chat", "maxText": 500}
    entry = {"message": {"role": "user", "content": "Go on."}}
    turn = client.post(
        "/api/sessions/s/turns", json={"entries": [entry], "render": {**render, "handles": False}}
    )
    record = turn.json()["rendering"]
    assert record == rendering(client, SESSION_RENDER, "openai-chat", maxText=500)
    texts = [message["content"] for message in record["messages"] if message["role"] == "tool"]
    short, long, piece, page = texts
    assert 'read_text("@entry:2") shows all of it' in short
    assert "the whole text is blob:" in long
    assert max(len(short), len(long)) < 500
    assert (LINES in piece, "150 pages of a log" in page) == (True, True)
    assert question in all_words(record)
    assert [item["code"] for item in record["loss"] if item["from"] == "text"] == [
        "text-too-long",
        "text-too-long",
    ]
    whole = rendering(client, SESSION_RENDER, "openai-chat", maxText=1_000_000)
    assert [message["content"] for message in whole["messages"] if message["role"] == "tool"][
        :2
    ] == [
        LINES,
        LONG,
    ]


@pytest.mark.parametrize("max_chars", [1_500, 1_000_000])
def test_text_that_is_evicted_is_named_by_what_has_all_of_it(
    client: httpx.Client, max_chars: int
) -> None:
    append(client, content="Watch it.")
    path = render_path(client, LONG)
    (resource,) = client.get(path.removesuffix("/render")).json()["sanitized"]["resources"]
    append(client, content="And now?")
    query = {"maxText": max_chars, "maxTokens": 250}
    words = all_words(rendering(client, SESSION_RENDER, "openai-chat", **query))
    way = f'read_text("@{resource["uri"]}") shows all of it'
    assert way in words


def test_page_is_as_long_as_its_level(client: httpx.Client) -> None:
    put(client, "p", content=LINES, modality="text")
    path = "/api/pages/p/render"
    record = rendering(client, path, "mcp", level=0, maxText=500)
    assert record == rendering(client, path, "mcp", level=0)
    assert "150 lines of a log" in all_words(record)


def test_image_of_a_page_and_of_a_call_is_no_larger(client: httpx.Client) -> None:
    path = render_path(client, {"content": [IMAGE]})
    (resource,) = client.get(path.removesuffix("/render")).json()["sanitized"]["resources"]
    put(client, "p", content=f"@{resource['uri']}", modality="image")
    shown = blocks(rendering(client, "/api/pages/p/render", "mcp", level=0, maxImagePixels=30))
    query: Json = {"target": "mcp", "id": "own", "name": "view_media"}
    query |= {"arguments": {"ref": f"@{resource['uri']}"}}
    seen = blocks(read_rendering(client.post(CALL, json={**query, "maxImagePixels": 30}), "mcp"))
    assert (sides(shown), sides(seen)) == ([(30, 20)], [(30, 20)])


def test_rendering_of_a_size_is_revalidated(client: httpx.Client) -> None:
    path = render_path(client, {"content": [{"type": "text", "text": LINES}, IMAGE]})
    sizes: list[Json] = [{}, {"maxText": 500}, {"maxText": 600}, {"maxImagePixels": 30}]
    tags = []
    for size in sizes:
        query = {"target": "mcp", **size}
        first, second = (client.get(path, params=query) for _ in range(2))
        assert (first.content, first.headers["etag"]) == (second.content, second.headers["etag"])
        tags.append(first.headers["etag"])
        headers = {"If-None-Match": tags[-1]}
        assert client.get(path, params=query, headers=headers).status_code == 304
    assert len(set(tags)) == len(sizes)
    headers = {"If-None-Match": tags[0]}
    assert client.get(path, params={"target": "mcp", **sizes[1]}, headers=headers).is_success


def test_answer_to_a_write_has_the_rendering_in_that_size(client: httpx.Client) -> None:
    body: Json = {"toolName": "a", "toolCallId": "b", "sessionId": "s"}
    body |= {"result": {"content": [{"type": "text", "text": LINES}, IMAGE]}}
    asked: Json = {"render": "mcp", "maxText": 500, "maxImagePixels": 30}
    written = client.post("/api/tool-results", params=asked, json=body).json()
    path = f"/api/tool-results/{written['id']}/render"
    rendered = written["rendering"]
    assert rendered == rendering(client, path, "mcp", maxText=500, maxImagePixels=30)
    assert (sides(blocks(rendered)), len(blocks(rendered)[0]["text"]) < 500) == ([(30, 20)], True)
