"""Pages of a history that are read again: always what is in the store, whoever has changed it."""

from typing import Any

import httpx
import pytest

from tests.contract.bundled_sessions import (
    bundled,
    done,
    export,
    members_of,
    take_in,
    with_manifest,
)

MESSAGES = "/api/sessions/s/messages"


def append(client: httpx.Client, *contents: str) -> None:
    for content in contents:
        done(client.post(MESSAGES, json={"role": "user", "content": content}))


def read(client: httpx.Client, **query: str | int) -> dict[str, Any]:
    """A page of the history: what its entries say, and where it goes on."""
    page = done(client.get(MESSAGES, params=query))
    return {"said": [item["content"] for item in page["items"]], "next": page["nextCursor"]}


def test_page_that_is_read_again_is_the_same_answer(client: httpx.Client) -> None:
    append(client, "a", "b", "c")
    first, again = (client.get(MESSAGES, params={"limit": 2}) for _ in range(2))
    assert (first.content, first.headers["etag"], first.headers["link"]) == (
        again.content,
        again.headers["etag"],
        again.headers["link"],
    )
    known = {"If-None-Match": again.headers["etag"]}
    assert client.get(MESSAGES, params={"limit": 2}, headers=known).status_code == 304


def test_last_page_grows_with_its_history_and_those_before_do_not(client: httpx.Client) -> None:
    append(client, "a", "b", "c")
    first = read(client, limit=2)
    last = read(client, limit=2, cursor=first["next"])
    assert (first["said"], last) == (["a", "b"], {"said": ["c"], "next": None})
    append(client, "d", "e")
    assert read(client, limit=2) == first
    grown = read(client, limit=2, cursor=first["next"])
    assert grown["said"] == ["c", "d"]
    assert read(client, limit=2, cursor=grown["next"]) == {"said": ["e"], "next": None}


def test_write_that_the_history_does_not_show_changes_no_page(client: httpx.Client) -> None:
    append(client, "a")
    before = read(client)
    done(client.put("/api/pages/p", json={"content": "x", "session_id": "s"}))
    assert read(client) == before


@pytest.mark.parametrize("contents", [("c", "d"), ("c",), ("c", "d", "e")])
def test_session_of_the_same_name_shows_nothing_of_the_one_before(
    client: httpx.Client, contents: tuple[str, ...]
) -> None:
    append(client, "a", "b")
    read(client)
    read(client, limit=1)
    done(client.delete("/api/sessions/s"))
    assert client.get(MESSAGES).status_code == 404
    assert client.get(MESSAGES, params={"limit": 1}).status_code == 404
    append(client, *contents)
    assert read(client)["said"] == [*contents]
    assert read(client, limit=1)["said"] == ["c"]


def test_bundle_that_was_edited_shows_what_was_written_into_it(client: httpx.Client) -> None:
    """It has the ids, the numbers and the moments of the session it was made of."""
    append(client, "aaa", "bbb")
    read(client)
    members = members_of(export(client, "s"))
    done(client.delete("/api/sessions/s"))
    edited = {name: data.replace(b'"bbb"', b'"ccc"') for name, data in members.items()}
    taken_in = take_in(client, bundled(with_manifest(edited)))
    assert taken_in.status_code == 201, taken_in.text
    assert read(client)["said"] == ["aaa", "ccc"]
