"""Levels that a client supplies, over HTTP: shown, conditioned, withdrawn."""

import base64
from typing import Any

import httpx
import pytest

from tests.contract.page_requests import (
    ROUTE,
    data_uri,
    found_by,
    level_of,
    outcome,
    pointers,
    put,
    read,
    supply,
)
from tests.kit.media import jpeg, png, wav

pytestmark = pytest.mark.engines("embedded")

LARGE_PNG = png(noise=True)
TEXT = "The very first sentence. " + "Word " * 2_000
DERIVED = ("derived", "The very first sentence.")
LEVEL = f"{ROUTE}/p/representations/2"
NOBODY = '"sha256-' + "0" * 64 + '"'


def image_url(blocks: dict[str, Any]) -> str:
    url: str = blocks["content"][1]["image_url"]["url"]
    return url


def etag(client: httpx.Client) -> str:
    """The tag of level 2 of page `p`, as a reader of that address is told it."""
    answer = client.get(LEVEL)
    assert answer.status_code == 200, answer.text
    return answer.headers["etag"]


def test_supplied_level_is_shown_and_those_above_follow(client: httpx.Client) -> None:
    put(client, content=TEXT)
    created, replaced, same = (supply(client, 1, text) for text in ("One. Two.", "Two.", "Two."))
    assert [answer.status_code for answer in (created, replaced, same)] == [201, 200, 200]
    assert created.headers["location"] == f"{ROUTE}/p/representations/1"
    assert replaced.json() == {
        "page_id": "p",
        "level": 1,
        "name": "REDUCED",
        "origin": "supplied",
        "content": "Two.",
        "media": None,
        "size_bytes": 4,
        "size_tokens": 1,
    }
    assert level_of(client, 1) == ("supplied", "Two.")
    assert level_of(client, 2) == ("derived", "Two.")
    page = read(client, "p")
    assert (page["content"], page["version"]) == (TEXT, 3)


@pytest.mark.parametrize(
    ("level", "content", "code"),
    [
        (0, "x", "level-is-content"),
        (2, "x" * 20_000, "invalid-payload"),
        (2, None, "invalid-payload"),
        (2, {"a": 1}, "invalid-payload"),
        (2, data_uri(jpeg(), "image/jpeg"), "invalid-payload"),
        (3, data_uri(LARGE_PNG, "image/png"), "invalid-payload"),
        (4, "x", "invalid-payload"),
    ],
    ids=["full", "longer", "nothing", "data", "small image", "image", "no level"],
)
def test_level_that_does_not_fit_is_refused(
    shared_client: httpx.Client, level: int, content: object, code: str
) -> None:
    before = put(shared_client, content=TEXT)
    if isinstance(content, str) and content.startswith("data:"):
        before = put(shared_client, modality="image", content="A caption. " * 9_000)
    assert outcome(supply(shared_client, level, content)) == (422, code)
    assert read(shared_client, "p") == before


@pytest.mark.parametrize(
    ("modality", "content"),
    [
        ("audio", data_uri(wav(), "audio/wav")),
        ("video", "https://example.com/a.mp4"),
        ("text", data_uri(b"A long text. " * 100, "text/plain")),
    ],
)
def test_every_level_with_content_costs_tokens(
    client: httpx.Client, modality: str, content: str
) -> None:
    page = put(client, modality=modality, content=content)
    levels = [read(client, f"p/representations/{level}") for level in page["levels"]]
    costs = [page["size_tokens"], *(level["size_tokens"] for level in levels)]
    assert min(costs) > 0
    if modality == "text":
        assert costs[:2] == [325, 325]


def test_supplied_thumbnail_is_attached_at_reduced(client: httpx.Client) -> None:
    put(client, modality="image", content="https://example.com/a.png")
    sent = data_uri(LARGE_PNG, "image/png")
    assert supply(client, "reduced", sent).status_code == 201
    assert base64.b64decode(image_url(read(client, "p/blocks", level=1))[22:]) == LARGE_PNG
    assert image_url(read(client, "p/blocks", level=0)) == "https://example.com/a.png"


def test_supplied_level_goes_with_the_content_it_describes(client: httpx.Client) -> None:
    put(client, content=TEXT)
    supply(client, 2, "Mine.")
    put(client, content=TEXT, hint="other")
    client.patch(f"{ROUTE}/p", json={"caption": "other"})
    kept = level_of(client, 2)
    put(client, content=TEXT + "more")
    assert (kept, level_of(client, 2)) == (
        ("supplied", "Mine."),
        DERIVED,
    )


def test_level_is_supplied_over_the_one_that_is_named_only(client: httpx.Client) -> None:
    put(client, content=TEXT)
    headers = {"If-Match": etag(client)}
    assert [supply(client, 2, text, headers).status_code for text in ("x", "y")] == [201, 412]
    assert level_of(client, 2) == ("supplied", "x")


def test_tag_of_a_level_that_was_written_is_that_of_its_address(client: httpx.Client) -> None:
    put(client, content=TEXT)
    for text in ("One.", "Two."):
        assert supply(client, 2, text).headers["etag"] == etag(client)
    known = client.get(LEVEL, headers={"If-None-Match": etag(client)})
    assert (known.status_code, known.content) == (304, b"")


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_tag_of_the_page_or_of_another_level_is_not_that_of_the_level(
    client: httpx.Client, method: str
) -> None:
    page = client.put(f"{ROUTE}/p", json={"content": TEXT})
    supply(client, 2, "Mine.")
    other = client.get(f"{ROUTE}/p/representations/1")
    tags = f"{page.headers['etag']}, {client.get(f'{ROUTE}/p').headers['etag']}"
    headers = {"If-Match": f"{tags}, {other.headers['etag']}, {NOBODY}"}
    body = {"content": "x"} if method == "PUT" else None
    answer = client.request(method, LEVEL, json=body, headers=headers)
    assert outcome(answer) == (412, "precondition-failed")
    assert level_of(client, 2) == ("supplied", "Mine.")


def test_change_of_what_a_level_does_not_hold_leaves_its_tag_valid(client: httpx.Client) -> None:
    put(client, content=TEXT)
    before = etag(client)
    client.patch(f"{ROUTE}/p", json={"hint": "other"})
    supply(client, 3, "Tag.")
    client.get(f"{ROUTE}/p/blocks")
    assert etag(client) == before
    assert supply(client, 2, "Mine.", {"If-Match": before}).status_code == 201


@pytest.mark.parametrize(
    ("headers", "there", "absent"),
    [
        ({"If-None-Match": "*"}, 412, 201),
        ({"If-Match": "*"}, 201, 412),
        ({"If-None-Match": NOBODY}, 201, 201),
        ({"If-Match": NOBODY}, 412, 412),
    ],
    ids=str,
)
def test_condition_asks_whether_the_level_is_there(
    client: httpx.Client, headers: dict[str, str], there: int, absent: int
) -> None:
    put(client, content=TEXT)
    assert supply(client, 2, "Mine.", headers).status_code == there
    assert put(client, modality="audio", content=None)["levels"] == [3]
    assert supply(client, 2, "x", headers).status_code == absent


def test_level_that_is_read_already_is_not_supplied_again(client: httpx.Client) -> None:
    put(client, content=TEXT)
    supply(client, 2, "Mine.")
    assert supply(client, 2, "Other.", {"If-None-Match": etag(client)}).status_code == 412
    assert level_of(client, 2) == ("supplied", "Mine.")


@pytest.mark.engines("embedded", "server")
def test_withdrawn_level_is_derived_again(client: httpx.Client) -> None:
    before = put(client, content=TEXT, hint="first")
    supply(client, 1, "One. Two.")
    supply(client, 2, "Two.")
    withdrawn = client.delete(LEVEL, headers={"If-Match": etag(client)})
    assert (withdrawn.status_code, withdrawn.content) == (204, b"")
    assert (level_of(client, 1), level_of(client, 2)) == (
        ("supplied", "One. Two."),
        ("derived", "One. Two."),
    )
    assert client.delete(f"{ROUTE}/p/representations/REDUCED").status_code == 204
    assert level_of(client, 2) == DERIVED
    page = read(client, "p")
    assert page == before | {"version": 5, "updated_at": page["updated_at"]}
    assert found_by(client, "sentence") == ["p"]


@pytest.mark.engines("embedded", "server")
def test_withdrawn_thumbnail_is_made_again(client: httpx.Client) -> None:
    put(client, modality="image", content=data_uri(png(600, 400, noise=True), "image/png"))
    derived = read(client, "p/representations/1")
    supply(client, 1, "A few words.")
    supply(client, 1, data_uri(LARGE_PNG, "image/png"))
    assert level_of(client, 1) != ("derived", derived["content"])
    assert client.delete(f"{ROUTE}/p/representations/1").status_code == 204
    assert read(client, "p/representations/1") == derived


def test_withdrawn_level_that_cannot_be_derived_is_not_there(client: httpx.Client) -> None:
    put(client, modality="image", content=None)
    supply(client, 2, "Words.")
    assert client.delete(LEVEL).status_code == 204
    assert outcome(client.get(LEVEL)) == (404, "level-missing")
    assert read(client, "p")["levels"] == [3]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_level_that_was_not_supplied_cannot_be_withdrawn(client: httpx.Client, level: int) -> None:
    path = f"{ROUTE}/p/representations/{level}"
    assert outcome(client.delete(path)) == (404, "not-found")
    before = put(client, content=TEXT)
    assert outcome(client.delete(path)) == (404, "level-missing")
    assert read(client, "p") == before


@pytest.mark.engines("embedded", "server")
def test_level_is_not_withdrawn_if_it_is_another_by_now(client: httpx.Client) -> None:
    put(client, content=TEXT)
    supply(client, 2, "Mine.")
    seen = etag(client)
    supply(client, 2, "Theirs.")
    assert client.delete(LEVEL, headers={"If-Match": seen}).status_code == 412
    assert level_of(client, 2) == ("supplied", "Theirs.")


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_change_that_leaves_a_supplied_level_too_long_says_which_and_what_to_do(
    client: httpx.Client, method: str
) -> None:
    page: dict[str, Any] = {"modality": "audio", "content": "https://example.com/a.mp3"}
    put(client, **page, transcript="One sentence. Another. " * 20)
    supply(client, 2, "A summary that is longer than the next transcript.")
    before = read(client, "p")
    change: dict[str, object] = {"transcript": "Short."}
    body = change if method == "PATCH" else page | change
    refused = client.request(method, f"{ROUTE}/p", json=body)
    assert refused.status_code == 422
    detail = refused.json()["detail"]
    assert [word in detail for word in ("ABSTRACT", "supply a shorter one", "DELETE")] == [True] * 3
    assert read(client, "p") == before
    assert client.delete(LEVEL).status_code == 204
    assert client.request(method, f"{ROUTE}/p", json=body).status_code == 200
    assert level_of(client, 2) == ("derived", "Short.")


def test_longer_level_is_refused_at_its_content(client: httpx.Client) -> None:
    put(client, content=TEXT)
    supply(client, 1, "Short.")
    assert pointers(supply(client, 2, "Longer than that.")) == ["/content"]
