"""Limits of one answer about a session, and of one message, over HTTP on both engines."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from app.models.limits import Limits
from tests.contract.bundled_sessions import export, take_in
from tests.contract.page_requests import data_uri, outcome, put, resources
from tests.contract.session_requests import INTERACTIONS, MESSAGES, answer, append, ask
from tests.kit.media import png
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

ONE, TWO, THREE, FOUR = (data_uri(bytes([number]) * 2_000, "image/png") for number in range(4))
LARGE = "x" * (9 * 2**20)


SMALL_LIMITS = Limits(inline_bytes=3_000, media_per_result=3)
"""A service that puts 3,000 bytes of media back into an entry, and takes three media."""


@pytest.fixture
def bounded(small_service: LiveService) -> Iterator[httpx.Client]:
    with small_service.client() as client:
        yield client


def append_images(client: httpx.Client, *uris: str) -> None:
    blocks = [{"type": "image_url", "image_url": {"url": uri}} for uri in uris]
    assert append(client, content=blocks).status_code == 201


def fault(client: httpx.Client, image: bytes) -> None:
    put(client, modality="image", content=data_uri(image, "image/png"))
    body = {"session_id": "s", "tool_call_id": "c", "target_level": 0}
    assert client.post("/api/pages/p/fault", json=body).status_code == 200


def statuses(client: httpx.Client, media: str) -> list[tuple[int, str | None]]:
    """Return the answers for the first entry and for the history."""
    read = [client.get(path, params={"media": media}) for path in (f"{MESSAGES}/1", MESSAGES)]
    return [(item.status_code, item.json().get("code")) for item in read]


READ = [(200, None)] * 2
TOO_LARGE = [(413, "medium-too-large")] * 2


@pytest.mark.parametrize(
    ("images", "expected"),
    [([ONE], READ), ([ONE, TWO], TOO_LARGE), ([ONE, ONE], TOO_LARGE)],
    ids=["one", "two", "the same twice"],
)
def test_all_media_of_a_message_together_have_a_bound_to_be_put_back(
    bounded: httpx.Client, images: list[str], expected: list[tuple[int, str]]
) -> None:
    append_images(bounded, *images)
    assert statuses(bounded, "inline") == expected
    assert statuses(bounded, "reference") == READ


def test_bound_of_media_that_are_put_back_is_that_of_each_entry(bounded: httpx.Client) -> None:
    append_images(bounded, ONE)
    append_images(bounded, TWO)
    items = bounded.get(MESSAGES, params={"media": "inline"}).json()["items"]
    assert [entry["content"][0]["image_url"]["url"] for entry in items] == [ONE, TWO]


@pytest.mark.parametrize(
    ("image", "expected"),
    [(png(20, 20, noise=True), READ), (png(64, 64, noise=True), TOO_LARGE)],
    ids=["below", "above"],
)
def test_image_of_a_page_fault_has_the_same_bound(
    bounded: httpx.Client, image: bytes, expected: list[tuple[int, str]]
) -> None:
    fault(bounded, image)
    assert statuses(bounded, "inline") == expected
    assert statuses(bounded, "reference") == READ


@pytest.mark.parametrize(
    ("texts", "status"),
    [
        ([f"See {uri} there." for uri in (ONE, TWO, THREE)], 201),
        ([f"See {uri} there." for uri in (ONE, TWO, THREE, FOUR)], 413),
        ([f"See {uri} there." for uri in (ONE,) * 4], 413),
        ([f"See {ONE} and {TWO}.", f"And {THREE} and {FOUR}."], 413),
    ],
    ids=["three", "four", "four times one", "two and two"],
)
def test_media_spread_over_the_strings_of_a_message_are_counted_together(
    bounded: httpx.Client, texts: list[str], status: int
) -> None:
    blocks = [{"type": "text", "text": text} for text in texts]
    sent = append(bounded, content=blocks)
    assert sent.status_code == status, sent.text[:500]
    if status == 413:
        assert outcome(sent) == (413, "payload-too-large")
        assert bounded.get("/api/sessions/s").status_code == 404
        assert resources(bounded) == []


def add_message(client: httpx.Client) -> None:
    assert append(client, content=LARGE).status_code == 201


def add_question(client: httpx.Client) -> None:
    ask(client, LARGE)


def add_answered_question(client: httpx.Client) -> None:
    ask(client, "x", output={"role": "assistant", "content": LARGE})


def add_answer(client: httpx.Client) -> None:
    output = {"role": "assistant", "content": LARGE}
    assert answer(client, ask(client, "x")["id"], output).status_code == 200


def seqs_by_page(client: httpx.Client, path: str) -> list[list[int]]:
    """The numbers of the entries of a list, by page; those of a page are few at most."""
    pages: list[list[int]] = []
    path = f"{path}?limit=200"
    while path:
        page = client.get(path)
        assert page.status_code == 200, page.text[:500]
        pages.append([item["seq"] for item in page.json()["items"]])
        path = page.links.get("next", {}).get("url", "")
    return pages


Add = Callable[[httpx.Client], None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("add", "lists"),
    [
        (add_message, {MESSAGES: [[1, 2], [3]]}),
        (add_answer, {MESSAGES: [[1, 2, 3, 4], [5, 6]], INTERACTIONS: [[1, 3], [5]]}),
    ],
    ids=["messages", "outputs later"],
)
def test_list_ends_with_the_entry_that_passes_16_mib_and_goes_on(
    service: LiveService, add: Add, lists: dict[str, list[list[int]]]
) -> None:
    assert_cut(service, add, lists)


@pytest.mark.slow
@pytest.mark.parametrize("add", [add_question, add_answered_question])
def test_what_is_said_in_either_place_counts_towards_16_mib(service: LiveService, add: Add) -> None:
    assert_cut(service, add, {MESSAGES: [[1, 2], [3]], INTERACTIONS: [[1, 2], [3]]})


def assert_cut(service: LiveService, add: Add, lists: dict[str, list[list[int]]]) -> None:
    """Of three large entries the lists are cut so, and those of their bundle as well."""
    with service.client() as client, service.client() as other:
        for _ in range(3):
            add(client)
        assert {path: seqs_by_page(client, path) for path in lists} == lists
        assert take_in(other, export(client, "s")).status_code == 201
        assert {path: seqs_by_page(other, path) for path in lists} == lists
