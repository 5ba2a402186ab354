"""The file that a page is, over HTTP on both engines: its name, ranges, conditions, headers."""

import base64
import hashlib
import json
from typing import Any

import httpx
import pytest

from tests.contract.page_requests import ROUTE, data_uri, download, file_name, outcome, put
from tests.kit.media import png

pytestmark = pytest.mark.engines("embedded")

LARGE_PNG = png(noise=True)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
IMAGE = {"modality": "image"}
WITH_MEDIUM = f"Before {data_uri(LARGE_PNG, 'image/png')} and after."


@pytest.mark.parametrize(
    ("page_id", "name"),
    [
        ("a:b", "a_b.txt"),
        ("a..b", "a..b.txt"),
        ("a.png", "a.png.txt"),
        ("0.", "0..txt"),
        ("x" * 128, "x" * 128 + ".txt"),
        ("a-.._:", "a-..__.txt"),
    ],
)
def test_file_names_stay_in_the_folder(
    shared_client: httpx.Client, page_id: str, name: str
) -> None:
    put(shared_client, page_id, content="x")
    assert file_name(download(shared_client, page_id)) == name


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=100-199", 100, 200),
        ("bytes=-5", -5, None),
        ("bytes=9000-", 9_000, None),
    ],
)
@pytest.mark.parametrize("is_stored", [True, False], ids=["medium", "text"])
def test_range_of_a_file(
    shared_client: httpx.Client, query: str, start: int, end: int | None, is_stored: bool
) -> None:
    text = LARGE_PNG.decode("latin-1")
    content = LARGE_PNG if is_stored else text.encode()
    page = (
        {**IMAGE, "content": data_uri(LARGE_PNG, "image/png")} if is_stored else {"content": text}
    )
    put(shared_client, **page)
    found = download(shared_client, Range=query)
    assert (found.status_code, found.content) == (206, content[start:end])
    first = start % len(content)
    last = (end or len(content)) - 1
    assert found.headers["content-range"] == f"bytes {first}-{last}/{len(content)}"


def test_range_outside_the_file_is_refused(client: httpx.Client) -> None:
    put(client, content="Hello.")
    refused = download(client, Range="bytes=6-")
    assert outcome(refused) == (416, "range-not-satisfiable")
    assert refused.headers["content-range"] == "bytes */6"


def test_known_file_is_not_sent_again(client: httpx.Client) -> None:
    put(client, content="Hello.")
    found = download(client)
    digest = hashlib.sha256(b"Hello.")
    assert found.headers["etag"] == f'"sha256-{digest.hexdigest()}"'
    assert found.headers["repr-digest"] == (
        f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
    )
    known = download(client, If_None_Match=found.headers["etag"])
    assert (known.status_code, known.content) == (304, b"")
    assert download(client, If_Match='"other"').status_code == 412
    put(client, content="Bye.")
    changed = download(client, If_None_Match=found.headers["etag"])
    assert (changed.status_code, changed.content) == (200, b"Bye.")


def test_file_runs_nothing_in_a_browser(client: httpx.Client) -> None:
    put(client, **IMAGE, content=data_uri(SVG * 40, "image/svg+xml"))
    found = download(client)
    headers = {
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox; default-src 'none'",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
    }
    assert file_name(found) == "p.svg"
    assert {name: found.headers[name] for name in headers} == headers


@pytest.mark.parametrize(
    "page",
    [
        {"content": "Hello."},
        {"modality": "structured", "content": [1]},
        {**IMAGE, "content": data_uri(LARGE_PNG, "image/png")},
    ],
    ids=["text", "data", "medium"],
)
def test_head_of_a_file_answers_as_get_without_the_bytes(
    client: httpx.Client, page: dict[str, Any]
) -> None:
    put(client, **page)
    head, get = client.head(f"{ROUTE}/p/download"), download(client)
    own = ("date", "x-request-id")
    told, expected = (
        [field for field in answer.headers.items() if field[0] not in own] for answer in (head, get)
    )
    assert (head.status_code, head.content, told) == (200, b"", expected)
    known = client.head(f"{ROUTE}/p/download", headers={"If-None-Match": get.headers["etag"]})
    assert known.status_code == 304


def test_head_of_what_is_no_file_is_refused(client: httpx.Client) -> None:
    assert client.head(f"{ROUTE}/p/download").status_code == 404
    put(client, content=None)
    assert client.head(f"{ROUTE}/p/download").status_code == 404


@pytest.mark.parametrize(
    ("modality", "content", "sent"),
    [
        ("text", WITH_MEDIUM, WITH_MEDIUM),
        ("structured", {"note": WITH_MEDIUM}, json.dumps({"note": WITH_MEDIUM})),
        ("structured", json.dumps({"note": WITH_MEDIUM}), json.dumps({"note": WITH_MEDIUM})),
    ],
    ids=["text", "data", "JSON in a string"],
)
def test_file_has_the_media_that_were_moved_out_of_it(
    client: httpx.Client, modality: str, content: object, sent: str
) -> None:
    put(client, "words", modality=modality, content=content)
    file = client.get(f"{ROUTE}/words/download").text
    assert file == sent if modality == "text" else json.loads(file) == json.loads(sent)
