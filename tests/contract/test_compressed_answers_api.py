"""Long lists and histories are compressed for clients that accept it, and nothing else is."""

import gzip
import hashlib
import itertools
from collections.abc import Callable

import httpx
import pytest

from app.http.compression import COMPRESSED_FROM_BYTES

ENTRIES = 70
TEXT = "much the same text, again and again; " * 20
HISTORY = "/api/sessions/zip/messages"
LISTS = (
    HISTORY,
    "/api/sessions/zip/outline",
    "/api/sessions/zip/working-set?target=openai-chat",
    "/api/tool-results?sessionId=zip",
    "/api/search?q=text&limit=100",
    "/api/sessions",
    "/api/pages",
    "/api/resources",
)
CODING_HEADERS = ("content-encoding", "content-length", "etag", "vary")


@pytest.fixture
def long_session(client: httpx.Client) -> httpx.Client:
    """A client whose session makes each of the lists long."""
    for number in range(ENTRIES):
        result = {"toolName": "look", "toolCallId": f"call_{number}", "sessionId": "zip"}
        body = {**result, "result": f"{number}. {TEXT}"}
        assert client.post("/api/tool-results", json=body).status_code == 201
        page = {"modality": "text", "content": f"{number}. {TEXT}", "session_id": "zip"}
        assert client.put(f"/api/pages/p{number}", json=page).status_code == 201
        assert client.put(f"/api/sessions/other-{number}").status_code == 201
        assert client.post("/api/resources", content=f"{number}".encode()).status_code == 201
    return client


def received(client: httpx.Client, path: str, accepted: str) -> tuple[httpx.Response, bytes]:
    """Return an answer with its bytes as they were sent."""
    with client.stream("GET", path, headers={"Accept-Encoding": accepted}) as answer:
        return answer, b"".join(answer.iter_raw())


def coding_headers(answer: httpx.Response) -> dict[str, str | None]:
    return {name: answer.headers.get(name) for name in CODING_HEADERS}


@pytest.mark.slow
def test_long_lists_are_compressed_for_clients_that_accept_it(long_session: httpx.Client) -> None:
    for path in LISTS:
        plain, body = received(long_session, path, "identity")
        zipped, sent = received(long_session, path, "gzip, br")
        assert len(body) >= COMPRESSED_FROM_BYTES, path
        etag = f'"sha256-{hashlib.sha256(body).hexdigest()}"'
        assert [coding_headers(plain), coding_headers(zipped)] == [
            {
                "content-encoding": None,
                "content-length": f"{len(body)}",
                "etag": etag,
                "vary": "Accept-Encoding",
            },
            {
                "content-encoding": "gzip",
                "content-length": f"{len(sent)}",
                "etag": f"W/{etag}",
                "vary": "Accept-Encoding",
            },
        ], path
        assert gzip.decompress(sent) == body
        assert len(sent) < len(body) / 2, path


@pytest.mark.slow
def test_clients_that_prefer_no_gzip_get_the_bytes_as_they_are(long_session: httpx.Client) -> None:
    for accepted in ("", "gzip;q=0", "br", "*;q=0", "identity, gzip;q=0.5"):
        answer, sent = received(long_session, HISTORY, accepted)
        assert coding_headers(answer) == {
            "content-encoding": None,
            "content-length": f"{len(sent)}",
            "etag": f'"sha256-{hashlib.sha256(sent).hexdigest()}"',
            "vary": "Accept-Encoding",
        }, accepted


@pytest.mark.slow
def test_known_list_is_a_304_in_either_coding(long_session: httpx.Client) -> None:
    codings = ("gzip", "identity")
    current = {coding: received(long_session, HISTORY, coding)[0] for coding in codings}
    for known, accepted in itertools.product(codings, codings):
        tag = current[known].headers["etag"]
        headers = {"Accept-Encoding": accepted, "If-None-Match": tag}
        answer = long_session.get(HISTORY, headers=headers)
        assert (answer.status_code, answer.content) == (304, b"")
        assert coding_headers(answer) == {
            **coding_headers(current[accepted]),
            "content-encoding": None,
            "content-length": None,
        }


def test_list_of_several_pieces_arrives_whole(client: httpx.Client) -> None:
    texts = [hashlib.sha256(bytes([number])).hexdigest() * 300 for number in range(20)]
    for text in texts:
        message = {"role": "user", "content": text}
        assert client.post(HISTORY, json=message).status_code == 201
    zipped, sent = received(client, HISTORY, "gzip")
    body = received(client, HISTORY, "identity")[1]
    assert len(body) > 256 * 1024
    assert zipped.headers["content-length"] == f"{len(sent)}"
    assert gzip.decompress(sent) == body


def _answers(client: httpx.Client) -> dict[str, Callable[[], httpx.Response]]:
    """Answers that stay as they are: short, stored, guards of a write, or with a secret."""
    stored = client.post(
        "/api/resources", content=TEXT.encode() * 20, headers={"Content-Type": "application/json"}
    ).headers["location"]
    result = {"toolName": "t", "toolCallId": "c", "sessionId": "s", "result": {"long": TEXT * 8}}
    record = client.post("/api/tool-results", json=result).headers["location"]
    page = {"modality": "text", "content": TEXT * 20}
    assert client.put("/api/pages/long", json=page).status_code == 201
    render = "/api/sessions/s/render?target=openai-chat&media=reference"
    return {
        "short list": lambda: client.get("/api/sessions/s/outline"),
        "stored bytes": lambda: client.get(f"{stored}/content"),
        "record": lambda: client.get(record),
        "page": lambda: client.get("/api/pages/long"),
        "rendering": lambda: client.get(render),
        "link": lambda: client.post(f"{stored}/signed-url", json={}),
    }


@pytest.mark.promise(
    "security.md#links-and-keys",
    "The service compresses long lists and histories, and no stored bytes, links or guards",
    kept_by="app/http/compression.py",
    tried="6 answers",
)
def test_nothing_else_is_compressed(client: httpx.Client) -> None:
    codings = {
        name: (answer.is_success, answer.headers.get("content-encoding"))
        for name, ask in _answers(client).items()
        for answer in [ask()]
    }
    assert codings == dict.fromkeys(codings, (True, None))
