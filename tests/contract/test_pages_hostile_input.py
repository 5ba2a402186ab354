"""Pages of other projects, and requests that mean harm."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.kit.media import png
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

ROUTE = "/api/pages"
JSON = {"Content-Type": "application/json"}
READS = (
    ("GET", "/api/pages/{page_id}"),
    ("HEAD", "/api/pages/{page_id}"),
    ("GET", "/api/pages/{page_id}?media=inline"),
    ("GET", "/api/pages/{page_id}/content"),
    ("GET", "/api/pages/{page_id}/blocks"),
    ("GET", "/api/pages/{page_id}/blocks?form=json"),
    ("GET", "/api/pages/{page_id}/render?target=anthropic"),
    ("GET", "/api/pages/{page_id}/download"),
    ("HEAD", "/api/pages/{page_id}/download"),
    ("GET", "/api/pages/{page_id}/representations/2"),
    ("GET", "/api/pages"),
    ("GET", "/api/pages?session_id=s"),
    ("GET", "/api/pages/search?q=secret"),
    ("GET", "/api/pages/search?q=secret&session_id=s"),
    ("GET", "/api/sessions/s/manifest"),
    ("GET", "/api/sessions/s/messages"),
)
WRITES: tuple[tuple[str, str, object], ...] = (
    ("PATCH", "/api/pages/{page_id}", {"hint": "x"}),
    ("DELETE", "/api/pages/{page_id}", None),
    ("PUT", "/api/pages/{page_id}/representations/2", {"content": "x"}),
    ("DELETE", "/api/pages/{page_id}/representations/2", None),
    ("POST", "/api/pages/{page_id}/fault", {"session_id": "s", "tool_call_id": "c"}),
)
CREATES: tuple[tuple[str, str, object], ...] = (
    ("PUT", "/api/pages/{page_id}", {"content": "mine"}),
    ("POST", "/api/pages", {"page_id": "p", "content": "mine"}),
    ("POST", "/api/pages/bulk", {"pages": [{"page_id": "p", "content": "mine"}]}),
)
SECRET = {"content": "secret words", "session_id": "s", "hint": "secret"}
STRINGS = (
    "\x00",
    "a\x00b\x00",
    "\u2028\u0085\ufeff\ufffe\uffff",
    "\U0010ffff\U0001f468\u200d\U0001f469",
    "\u202egnp",
    "e" + "\u0301" * 500,
    "'; DROP TABLE pages; --",
    "%s %(x)s {x} \\u0000 \\x00",
    "<script>alert(1)</script>",
    "\x1b[31m\r\n",
    "\x01e\x01z\ue000\ue001",
)


@pytest.fixture(scope="module")
def shared(service: LiveService) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client


def put(client: httpx.Client, **members: object) -> None:
    stored = client.put(f"{ROUTE}/p", json=members)
    assert stored.is_success, stored.text


def send(client: httpx.Client, method: str, path: str, body: object = None) -> httpx.Response:
    content = None if body is None else json.dumps(body)
    return client.request(method, path.format(page_id="p"), content=content, headers=JSON)


def told(answer: httpx.Response) -> tuple[int, dict[str, str], bytes]:
    """All that an answer tells but for when, and the request's own id."""
    own = ("date", "x-request-id")
    headers = {name: value for name, value in answer.headers.items() if name not in own}
    request_id = answer.headers["x-request-id"].encode()
    return answer.status_code, headers, answer.content.replace(request_id, b"")


def assert_answered(answer: httpx.Response) -> None:
    assert answer.status_code < 500, answer.text[:2_000]
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"


def test_tables_cover_every_route_of_pages(service: LiveService) -> None:
    with service.client() as client:
        document = client.get("/openapi.json").json()
    documented = {
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method in operations
        if path.startswith(ROUTE) or path.endswith("/manifest")
    }
    generic = {
        "/representations/2": "/representations/{level}",
        "sessions/s/": "sessions/{session_id}/",
    }
    covered = set()
    for method, path in (*READS, *(case[:2] for case in (*WRITES, *CREATES))):
        plain = path.partition("?")[0]
        for given, name in generic.items():
            plain = plain.replace(given, name)
        covered.add((method, plain))
    assert documented - covered == set()


def test_page_of_another_project_is_read_as_an_absent_one(
    client: httpx.Client, service: LiveService
) -> None:
    absent = {read: told(send(client, *read)) for read in READS}
    with service.client() as other:
        put(other, **SECRET)
        other.get(f"{ROUTE}/p/content")
        other.post(f"{ROUTE}/p/fault", json={"session_id": "s"})
        assert all(send(other, *read).is_success for read in READS)
        assert {read: told(send(client, *read)) for read in READS} == absent


@pytest.mark.parametrize(("method", "path", "body"), WRITES, ids=lambda value: str(value)[:40])
def test_page_of_another_project_is_written_to_as_an_absent_one(
    client: httpx.Client, service: LiveService, method: str, path: str, body: object
) -> None:
    absent = told(send(client, method, path, body))
    with service.client() as other:
        put(other, **SECRET)
        before = other.get(f"{ROUTE}/p").content
        assert told(send(client, method, path, body)) == absent
        assert absent[0] == 404
        assert other.get(f"{ROUTE}/p").content == before
        assert other.get("/api/sessions/s/messages").json()["items"] == []


@pytest.mark.parametrize(("method", "path", "body"), CREATES, ids=lambda value: str(value)[:40])
def test_id_another_project_uses_is_free(
    client: httpx.Client, service: LiveService, method: str, path: str, body: object
) -> None:
    with service.client() as other:
        put(other, **SECRET)
        before = other.get(f"{ROUTE}/p").content
        assert send(client, method, path, body).status_code == 201
        assert other.get(f"{ROUTE}/p").content == before
        assert client.get(f"{ROUTE}/p").json()["content"] == "mine"


@pytest.mark.parametrize("modality", ["image", "text", "structured"])
def test_resource_of_another_project_is_referred_to_as_an_absent_one(
    client: httpx.Client, service: LiveService, modality: str
) -> None:
    with service.client() as other:
        uri = other.post("/api/resources", content=png()).json()["uri"]
    answers = [
        client.put(f"{ROUTE}/p", json={"modality": modality, "content": reference})
        for reference in (f"@{uri}", f"@blob:{'0' * 32}")
    ]
    expected = [422, 422] if modality == "image" else [201, 200]
    assert [answer.status_code for answer in answers] == expected
    assert client.get("/api/resources").json()["items"] == []


@pytest.mark.parametrize(
    "page_id",
    [
        *(".", "..", "-", "_a", " ", "a b", "a\n", "a\x00", "\x00", "a/b", "../p", "%2e%2e"),
        *("x" * 129, "x" * 100_00, "\u00e9", "\u0661", "\ud800".encode("utf-8", "surrogatepass")),
        *(b"\xff\xfe", "search", "bulk/x", "a?b", "a#b", "a;b", "a\\b", "CON:"),
    ],
    ids=ascii,
)
def test_odd_ids_are_answered_on_every_route(shared: httpx.Client, page_id: str | bytes) -> None:
    escaped = quote(page_id, safe="")
    for method, path, body in (*((*read, None) for read in READS), *WRITES, *CREATES):
        if "{page_id}" in path:
            address = path.replace("{page_id}", escaped)
            content = None if body is None else json.dumps(body)
            answer = shared.request(method, address, content=content, headers=JSON)
            if method == "HEAD":
                assert answer.status_code < 500
            else:
                assert_answered(answer)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"7",
        b"\xff\xfe",
        b'{"content":"\xed\xa0\x80"}',
        b"\xef\xbb\xbf{}",
        b'{"content":NaN}',
        b'{"content":-Infinity}',
        b'{"content":1e999,"modality":"structured"}',
        b'{"importance":NaN}',
        b'{"importance":' + b"9" * 5_000 + b"}",
        b'{"duration_seconds":1e999}',
        b'{"duration_seconds":' + b"9" * 400 + b"}",
        b'{"dimensions":[1e400,-1]}',
        b'{"dimensions":[' + b"9" * 5_000 + b",1]}",
        b'{"modality":"\\ud800"}',
        b'{"\\ud800":1}',
        b'{"\\u0000":1}',
        b'{"page_id":"\\udfff"}',
        b'{"session_id":"a\\u0000"}',
        b'{"metadata":[]}',
        b'{"metadata":null}',
        b'{"scenes":[null]}',
        b'{"scenes":[[[]]]}',
        b'{"provenance":["\\ud800"]}',
        b'{"pages":{}}',
        b'{"pages":[null,[],{"content":NaN}]}',
        b'{"content":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"metadata":' + b'{"a":' * 2_000 + b"1" + b"}" * 2_000 + b"}",
        b'{"metadata":{"a":[' + b"1," * 300_000 + b"1]}}",
        b'{"content":"data:image/png;base64,' + b"A" * 5_001 + b'","modality":"image"}',
        b'{"content":"data:,","modality":"video"}',
        b'{"content":"data:' + b";a" * 2_000 + b',x","modality":"image"}',
        b'{"content":"@blob:","modality":"image"}',
        b'{"content":"@blob:../../etc/passwd","modality":"audio"}',
        b'{"target_level":' + b"9" * 5_000 + b"}",
        b'{"target_level":NaN}',
        b'{"tool_call_id":"\\ud800"}',
        b'{"max_chars":99999999999999999999}',
        b'{"offset":1e400}',
    ],
    ids=lambda body: str(body[:40]),
)
def test_odd_bodies_are_answered_on_every_route(shared: httpx.Client, body: bytes) -> None:
    for method, path, _ in (*CREATES, *WRITES):
        answer = shared.request(method, path.format(page_id="p"), content=body, headers=JSON)
        assert_answered(answer)
        assert_answered(shared.get(f"{ROUTE}/p/blocks"))


@pytest.mark.parametrize("method_path", [(method, path) for method, path, _ in CREATES], ids=str)
@pytest.mark.parametrize(
    "headers",
    [{"Content-Type": "text/plain"}, {"Content-Type": ""}, {**JSON, "Content-Encoding": "gzip"}],
    ids=str,
)
def test_body_that_is_not_plain_json_is_refused(
    shared: httpx.Client, method_path: tuple[str, str], headers: dict[str, str]
) -> None:
    method, path = method_path
    answer = shared.request(method, path.format(page_id="q"), content=b"{}", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-media-type")


@pytest.mark.parametrize("text", STRINGS, ids=ascii)
def test_text_comes_back_as_it_was_sent(shared: httpx.Client, text: str) -> None:
    page: dict[str, Any] = {
        "content": {"content": text, text: [text]},
        "modality": "structured",
        "hint": text,
        "caption": text,
        "transcript": text,
        "schema_name": text[:512],
        "mime_type": text[:255],
        "scenes": [text, {"summary": text, text: text}],
        "metadata": {text: {"a": text}, "timestamps": [text]},
    }
    put(shared, **page)
    stored = shared.get(f"{ROUTE}/p").json()
    assert {name: stored[name] for name in page} == page
    shared.put(f"{ROUTE}/p/representations/2", json={"content": text[:1]})
    for name in ("content", "blocks", "blocks?level=2", "blocks?form=json&level=3", "download"):
        assert shared.get(f"{ROUTE}/p/{name}").status_code == 200
    assert shared.get(f"{ROUTE}/p", headers={"Accept": "text/plain"}).status_code == 200


def test_nul_is_shown_searched_and_kept_in_history(client: httpx.Client) -> None:
    put(client, content="left\x00right", session_id="s")
    text = "Page p (text, FULL):\nleft\x00right"
    assert client.get(f"{ROUTE}/p/blocks").json()["content"] == text
    assert client.get(f"{ROUTE}/p/download").content == b"left\x00right"
    assert len(client.get(f"{ROUTE}/search?q=right").json()["items"]) == 1
    query = {"target_level": 0, "session_id": "s", "tool_call_id": "a\x00b"}
    client.post(f"{ROUTE}/p/fault", json=query)
    client.post(f"{ROUTE}/p/fault", json=query)
    (entry,) = client.get("/api/sessions/s/messages").json()["items"]
    assert (entry["tool_call_id"], entry["content"]) == ("a\x00b", text)


@pytest.mark.parametrize(
    ("escaped", "kept"),
    [
        ("\\ud800", "\ufffd"),
        ("a\\udc00b", "a\ufffdb"),
        ("\\udc00\\ud800", "\ufffd\ufffd"),
        ("\\ud83d\\ude00", "\U0001f600"),
        ("\\\\ud800", "\\ud800"),
    ],
)
def test_lone_surrogates_are_replaced(client: httpx.Client, escaped: str, kept: str) -> None:
    body = '{"content":"%s","hint":"%s","metadata":{"%s":1}}' % ((escaped,) * 3)
    assert client.put(f"{ROUTE}/p", content=body, headers=JSON).status_code == 201
    page = client.get(f"{ROUTE}/p").json()
    assert (page["content"], page["hint"], page["metadata"]) == (kept, kept, {kept: 1})


def test_data_nested_a_thousand_levels_deep_is_read_in_every_form(client: httpx.Client) -> None:
    deep = "[" * 1_000 + "]" * 1_000
    body = f'{{"modality":"structured","content":{deep},"session_id":"s"}}'
    assert client.put(f"{ROUTE}/p", content=body, headers=JSON).status_code == 201
    assert client.get(f"{ROUTE}/p/download").text == deep
    assert f'"content":{deep},' in client.get(f"{ROUTE}/p?media=inline").text
    wide = '{"a":' * 1_000 + "1" + "}" * 1_000
    assert send(client, "PATCH", "/api/pages/p", {"hint": "x"}).status_code == 200
    patched = client.patch(f"{ROUTE}/p", content=f'{{"metadata":{wide}}}', headers=JSON)
    assert patched.status_code == 200
    for name in ("content", "blocks", "blocks?form=json", "blocks?level=1", "representations/0"):
        assert client.get(f"{ROUTE}/p/{name}").status_code == 200
    assert client.get(f"{ROUTE}/p", headers={"Accept": "text/plain"}).status_code == 200
    assert send(client, "POST", "/api/pages/p/fault", {"target_level": 0}).status_code == 200


def test_numbers_of_any_length_keep_their_digits(client: httpx.Client) -> None:
    digits = "123456789" * 1_000
    body = (
        f'{{"modality":"structured","content":[{digits}],"metadata":{{"n":{digits},'
        f'"embedding":[{digits}],"timestamps":[{digits}]}},"scenes":[{{"start":{digits}}}]}}'
    )
    assert client.put(f"{ROUTE}/p", content=body, headers=JSON).status_code == 201
    assert client.get(f"{ROUTE}/p").text.count(digits) == 5
    patched = client.patch(f"{ROUTE}/p", content=f'{{"metadata":{{"m":-{digits}}}}}', headers=JSON)
    assert (patched.status_code, patched.text.count(digits)) == (200, 6)
    for name in ("content", "blocks", "blocks?form=json", "blocks?level=1", "blocks?level=2"):
        assert client.get(f"{ROUTE}/p/{name}").status_code == 200
    assert client.get(f"{ROUTE}/p/download").text == f"[{digits}]"


@pytest.mark.parametrize("modality", ["image", "audio", "video"])
def test_absurd_measures_are_shown(client: httpx.Client, modality: str) -> None:
    put(
        client,
        modality=modality,
        content="words",
        duration_seconds=1e9,
        dimensions=[2**31 - 1, 2**31 - 1],
        scenes=[{"start": 1e308, "end": -1, "summary": "x"}, {}, "", {"start": True, "text": "y"}],
        metadata={"embedding": [1, None], "timestamps": {}},
        session_id="s",
    )
    for level in range(4):
        for what in ("content", "blocks", "representations", "download"):
            is_path = what == "representations"
            path = f"{what}/{level}" if is_path else f"{what}?level={level}"
            answer = client.get(f"{ROUTE}/p/{path}")
            assert answer.status_code in (200, 404)
    assert client.get(f"{ROUTE}/p", headers={"Accept": "text/plain"}).status_code == 200
    assert client.get("/api/sessions/s/manifest").status_code == 200
