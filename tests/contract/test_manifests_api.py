"""Manifests of sessions with more pages than are told at once."""

import httpx
import pytest

from pagefault_dialects.targets.tokens import count_tokens
from tests.contract.render_requests import Json, rendering
from tests.contract.session_requests import append

pytestmark = pytest.mark.engines("embedded")

MANIFEST = "/api/sessions/s/manifest"
PAGES = 430


@pytest.fixture(scope="module")
def library(shared_client: httpx.Client) -> httpx.Client:
    """A session with pages of which some are pinned, and some as important as others."""
    pages = [
        {
            "page_id": f"page_{number}",
            "content": "Ten sheep.",
            "hint": f"Note {number}",
            "session_id": "s",
            "pinned": number % 100 == 7,
            "importance": [0.1, 0.5, 0.3][number % 3],
        }
        for number in range(PAGES)
    ]
    assert shared_client.post("/api/pages/bulk", json={"pages": pages}).status_code == 201
    append(shared_client, content="Go on.")
    return shared_client


def read(client: httpx.Client, **query: object) -> Json:
    answer = client.get(MANIFEST, params=query)  # type: ignore[arg-type] # numbers and texts
    assert answer.status_code == 200, answer.text
    record: Json = answer.json()
    return record


def all_of(client: httpx.Client, **query: object) -> list[Json]:
    found = [read(client, **query)]
    while (cursor := found[-1]["nextCursor"]) is not None:
        found.append(read(client, **query, cursor=cursor))
    return found


def expected() -> list[str]:
    order = [(number % 100 == 7, [0.1, 0.5, 0.3][number % 3], number) for number in range(PAGES)]
    return [f"page_{number}" for *_, number in sorted(order, reverse=True)]


def test_manifest_goes_on_to_its_end(library: httpx.Client) -> None:
    parts = all_of(library, limit=100)
    assert [page["page_id"] for part in parts for page in part["pages"]] == expected()
    assert [len(part["pages"]) for part in parts] == [100, 100, 100, 100, 30]
    assert {part["total"] for part in parts} == {PAGES}
    ends = [part["text"].splitlines()[-1] for part in parts]
    assert ends[:4] == ["… 330 more", "… 230 more", "… 130 more", "… 30 more"]
    assert ends[4] == parts[4]["pages"][-1]["line"]


@pytest.mark.slow
def test_manifest_has_as_many_pages_as_its_tokens_allow(library: httpx.Client) -> None:
    parts = all_of(library, limit=200, memoryTokens=2_000)
    assert [page["page_id"] for part in parts for page in part["pages"]] == expected()
    assert all(count_tokens(part["text"]) <= 2_000 for part in parts)
    assert all(count_tokens(part["text"]) > 1_900 for part in parts[:-1])
    [first, *_] = all_of(library, memoryTokens=0, limit=200)[:1]
    assert len(first["pages"]) == 1


def test_next_part_is_linked_for_a_model_as_well(library: httpx.Client) -> None:
    answer = library.get(MANIFEST, params={"limit": 200}, headers={"Accept": "text/plain"})
    following = library.get(answer.links["next"]["url"])
    assert following.json()["pages"][0]["page_id"] == expected()[200]


def test_rendering_tells_more_than_two_hundred_pages_within_its_tokens(
    library: httpx.Client,
) -> None:
    for target, most in (("openai-chat", 9_000), ("anthropic", 3_000)):
        requested: Json = {"memory": "manifest", "memoryTokens": most}
        record = rendering(library, "/api/sessions/s/render", target, **requested)
        text = record.get("system") or record["messages"][0]["content"]
        shown = [line for line in text.splitlines() if line.startswith("- page_")]
        assert [line.split()[1] for line in shown] == expected()[: len(shown)]
        share = 1.2 if target == "anthropic" else 1
        assert most * 0.97 < count_tokens(text) * share <= most
        assert text.endswith(f"… {PAGES - len(shown)} more")

    everything = rendering(
        library, "/api/sessions/s/render", "text", memory="manifest", memoryTokens=99_999
    )
    assert all(f"{page_id} (" in str(everything["messages"]) for page_id in expected())


@pytest.mark.parametrize(
    "cursor", ["nonsense", "WyJtYW5pZmVzdCIsMSwieCIsMSwxXQ", "WyJwYWdlcyIsMV0"]
)
def test_cursor_of_another_list_is_refused(library: httpx.Client, cursor: str) -> None:
    refused = library.get(MANIFEST, params={"cursor": cursor})
    assert refused.status_code == 400
    assert refused.json()["code"] == "invalid-cursor"
