"""Writes of pages at once, over HTTP on both engines: who wins, and that what is left is whole."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.contract.page_requests import ROUTE, data_uri, found_by, read, resources

THREADS = 8
MEDIA = 12


@pytest.mark.parametrize(
    ("headers", "before", "statuses"),
    [
        ({}, False, {201: 1, 200: 7}),
        ({"If-None-Match": "*"}, False, {201: 1, 412: 7}),
        ({"If-Match": "the stored version"}, True, {200: 1, 412: 7}),
    ],
    ids=["put", "create only", "same version"],
)
def test_of_writes_at_once_as_many_succeed_as_may(
    client: httpx.Client, headers: dict[str, str], before: bool, statuses: dict[int, int]
) -> None:
    if before:
        headers = {"If-Match": client.put(f"{ROUTE}/p", json={"content": "before"}).headers["etag"]}

    def write(number: int) -> int:
        body = {"content": str(number)}
        return client.put(f"{ROUTE}/p", json=body, headers=headers).status_code

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(write, range(8))) == statuses


def test_of_pages_posted_at_once_under_one_id_one_is_created(client: httpx.Client) -> None:
    def post(number: int) -> int:
        body = {"page_id": "p", "content": str(number)}
        return client.post(ROUTE, json=body).status_code

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(post, range(8))) == {201: 1, 409: 7}


def test_writes_of_every_kind_at_once_are_all_answered(client: httpx.Client) -> None:
    calls: list[tuple[str, str, dict[str, object] | None]] = [
        ("PUT", "", {"content": "one", "session_id": "s"}),
        ("PATCH", "", {"hint": "x", "session_id": "t"}),
        ("POST", "/fault", {"session_id": "s", "target_level": 0}),
        ("PUT", "/representations/2", {"content": "1"}),
        ("GET", "/blocks", None),
        ("DELETE", "", None),
    ]

    def call(number: int) -> int:
        method, path, body = calls[number % len(calls)]
        return client.request(method, f"{ROUTE}/p{path}", json=body).status_code

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(call, range(60))) <= {200, 201, 204, 404}


def text_at(client: httpx.Client, level: int) -> str:
    """Return the content of a level of page `p`."""
    return str(read(client, f"p/representations/{level}")["content"])


@pytest.mark.slow
def test_put_and_patch_at_once_leave_a_page_that_belongs_together(client: httpx.Client) -> None:
    # No word is the beginning of another one, which a search for it would find.
    tail = " ".join(["More of the same."] * 500)

    def write(number: int) -> int:
        if number % 2:
            return client.patch(f"{ROUTE}/p", json={"hint": f"hint{number:02}"}).status_code
        body = {"content": f"Number{number:02} is written. {tail}", "hint": f"first{number:02}"}
        return client.put(f"{ROUTE}/p", json=body).status_code

    assert write(0) == 201
    with ThreadPoolExecutor(THREADS) as pool:
        # One that is overtaken again and again is told to send it again.
        assert set(pool.map(write, range(1, 33))) <= {200, 409}
    page = read(client, "p")
    word = page["content"].partition(" ")[0]
    assert [text_at(client, level).partition(" ")[0] for level in range(3)] == [word] * 3
    words = [f"number{number:02}" for number in range(0, 33, 2)]
    hints = [f"{'hint' if number % 2 else 'first'}{number:02}" for number in range(33)]
    assert [item for item in words if found_by(client, item)] == [word.lower()]
    assert [hint for hint in hints if found_by(client, hint)] == [page["hint"]]


def test_levels_supplied_and_content_put_at_once_belong_together(client: httpx.Client) -> None:
    def write(number: int) -> int:
        if number % 2:
            path = f"{ROUTE}/p/representations/1"
            return client.put(path, json={"content": f"Summary{number}."}).status_code
        return client.put(f"{ROUTE}/p", json={"content": f"Number{number}. " * 200}).status_code

    write(0)
    with ThreadPoolExecutor(THREADS) as pool:
        assert set(pool.map(write, range(1, 25))) <= {200, 201, 409}
    is_supplied = read(client, "p/representations/1")["origin"] == "supplied"
    below = text_at(client, 1 if is_supplied else 0)
    assert text_at(client, 2).partition(" ")[0] == below.partition(" ")[0]


@pytest.mark.parametrize("round_", range(2))
def test_bulks_that_share_media_in_opposite_orders_all_succeed(
    client: httpx.Client, round_: int
) -> None:
    # Recordings are stored whatever their size. Every round has others, which are new to the store.
    media = [data_uri(f"{round_}/{place}".encode(), "audio/mpeg") for place in range(MEDIA)]

    def create(number: int) -> int:
        ordered = media[::-1] if number % 2 else media
        pages: list[dict[str, Any]] = [{"modality": "audio", "content": item} for item in ordered]
        return client.post(f"{ROUTE}/bulk", json={"pages": pages}).status_code

    with ThreadPoolExecutor(THREADS) as pool:
        assert Counter(pool.map(create, range(THREADS))) == {201: THREADS}
    assert len(resources(client)) == MEDIA


def test_put_of_a_page_that_is_being_deleted_creates_it_again(client: httpx.Client) -> None:
    def write(number: int) -> tuple[str, int]:
        if number % 2:
            return "DELETE", client.delete(f"{ROUTE}/p").status_code
        body = {"content": str(number), "session_id": "s"}
        return "PUT", client.put(f"{ROUTE}/p", json=body).status_code

    with ThreadPoolExecutor(THREADS) as pool:
        outcomes = set(pool.map(write, range(48)))
    assert outcomes <= {("PUT", 200), ("PUT", 201), ("DELETE", 204), ("DELETE", 404)}
