"""Pages that are large, over HTTP on both engines: lists stay bounded, too much is refused."""

from collections.abc import Iterator

import httpx
import pytest

from tests.contract.page_requests import ROUTE, outcome, put, read
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

PAGES = 30
HEAVY = {"notes": "n" * 900_000}
TOO_HEAVY = {"notes": "n" * 2**20}
LARGEST_ANSWER_BYTES = 10 * 2**20


@pytest.fixture(scope="module")
def heavy(service: LiveService) -> Iterator[httpx.Client]:
    """A client with pages of which a few fill an answer, all of one session."""
    with service.client() as client:
        for number in range(PAGES):
            put(client, f"p{number:02}", content="pond", metadata=HEAVY, session_id="s")
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("path", [ROUTE, f"{ROUTE}/search?q=pond"])
def test_list_of_large_pages_is_cut_and_goes_on(heavy: httpx.Client, path: str) -> None:
    found: list[str] = []
    cursor: str | None = None
    while cursor is not None or not found:
        query = dict(httpx.URL(path).params) | {"limit": str(PAGES)}
        answer = heavy.get(path, params=query | ({"cursor": cursor} if cursor else {}))
        assert answer.status_code == 200
        assert len(answer.content) < LARGEST_ANSWER_BYTES
        items, cursor = answer.json()["items"], answer.json()["nextCursor"]
        assert 0 < len(items) < PAGES
        found += [page["page_id"] for page in items]
    assert found == [f"p{number:02}" for number in reversed(range(PAGES))]


@pytest.mark.slow
def test_manifest_of_large_pages_says_how_many_it_leaves_out(heavy: httpx.Client) -> None:
    found = heavy.get("/api/sessions/s/manifest", params={"limit": PAGES}).json()
    named = len(found["pages"])
    assert (named > 0, found["total"]) == (True, PAGES)
    left_out = [f"\u2026 {PAGES - named} more"] if named < PAGES else []
    assert found["text"].splitlines()[1 + named :] == left_out


@pytest.mark.parametrize(
    "member",
    [
        {"metadata": TOO_HEAVY},
        {"caption": "c" * 2**19, "transcript": "\u00e9" * 2**18},
        {"scenes": ["A door, and behind it a dog. " * 40] * 1_000},
        {"provenance": ["p" * 128] * 1_000, "hint": "h" * 950_000},
    ],
    ids="+".join,
)
def test_page_with_too_much_said_about_it_is_refused(
    client: httpx.Client, member: dict[str, object]
) -> None:
    put(client, content="one")
    before = read(client, "p")
    answers = [
        client.put(f"{ROUTE}/p", json={"content": "two", **member}),
        client.patch(f"{ROUTE}/p", json=member),
        client.post(ROUTE, json={"content": "two", **member}),
        client.post(f"{ROUTE}/bulk", json={"pages": [{"content": "two"}, member]}),
    ]
    assert [outcome(answer) for answer in answers] == [(413, "payload-too-large")] * 4
    assert read(client, "p") == before
    assert len(client.get(ROUTE).json()["items"]) == 1


def test_fields_that_are_patched_together_too_large_are_refused(client: httpx.Client) -> None:
    put(client, content="one", metadata=HEAVY)
    refused = client.patch(f"{ROUTE}/p", json={"metadata": {"more": "m" * 200_000}})
    assert outcome(refused) == (413, "payload-too-large")
    assert client.patch(f"{ROUTE}/p", json={"metadata": {"notes": None}}).status_code == 200


@pytest.mark.parametrize("modality", ["image", "audio", "video"])
def test_url_has_a_largest_length(client: httpx.Client, modality: str) -> None:
    address = "https://example.com/a.png?signature="
    longest = address + "a" * (64 * 1_024 - len(address))
    assert put(client, modality=modality, content=longest)["content"] == longest
    refused = client.put(f"{ROUTE}/p", json={"modality": modality, "content": longest + "a"})
    assert refused.status_code in (413, 422)
    assert read(client, "p")["content"] == longest
