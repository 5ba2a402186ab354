"""Aliases over HTTP, on both engines: what other systems call a file, and what is bound by it."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from urllib.parse import quote

import httpx
import pytest

from tests.contract.alias_requests import (
    ROUTE,
    attached,
    name,
    named_by,
    path_of,
    with_most_aliases,
)
from tests.contract.bundled_sessions import export, take_in
from tests.contract.page_requests import outcome, pointers
from tests.contract.session_requests import (
    INTERACTIONS,
    ask,
    comparable,
    listed,
    rich,
    upload,
)
from tests.contract.upload_requests import PIECE, TUS, begin, pair, send
from tests.kit.event_streams import listening
from tests.kit.media import pdf, png
from tests.kit.servers import LiveService, serving

SESSION = "/api/sessions/s"
EVERY_CHARACTER = "a!#$%&'()*+,-.:;<=>?@[]^_`{|}~Z9"


@pytest.mark.slow
def test_alias_is_made_read_listed_and_deleted(client: httpx.Client) -> None:
    report = upload(client, pdf(), filename="report.pdf")
    made = name(client, "doc-123", report["uri"])
    assert (made.status_code, made.headers["location"]) == (201, f"{ROUTE}/doc-123")
    record = made.json()
    assert record == {
        "alias": "doc-123",
        "uri": report["uri"],
        "createdAt": record["createdAt"],
        "resource": report,
    }
    again = name(client, "doc-123", report["uri"].removeprefix("blob:"))
    assert (again.status_code, again.content) == (200, made.content)
    read = client.get(f"{ROUTE}/doc-123")
    assert (read.status_code, read.content) == (200, made.content)
    known = client.get(f"{ROUTE}/doc-123", headers={"If-None-Match": read.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")
    assert client.get(ROUTE).json() == {"items": [record], "nextCursor": None}
    assert client.delete(f"{ROUTE}/doc-123").status_code == 204
    assert outcome(client.get(f"{ROUTE}/doc-123")) == (404, "not-found")
    assert outcome(client.delete(f"{ROUTE}/doc-123")) == (404, "not-found")
    assert client.get(f"/api/resources/{report['uri']}").is_success


def test_upload_names_its_resource_in_each_form(client: httpx.Client) -> None:
    raw = client.post("/api/resources", content=b"raw", params={"alias": "raw-1"})
    form = client.post(
        "/api/resources", files={"file": ("f.txt", b"form")}, params={"alias": "form-1"}
    )
    path = begin(client, 3, pair("filename", b"t.txt") + "," + pair("alias", b"tus-1"))
    pieces = send(client, path, 0, b"tus")
    uris = [raw.json()["uri"], form.json()["uri"], pieces.headers["upload-resource"]]
    assert [named_by(client, word) for word in ("raw-1", "form-1", "tus-1")] == uris
    again = client.post("/api/resources", content=b"raw", params={"alias": "raw-1"})
    more = client.post("/api/resources", content=b"raw", params={"alias": "raw-2"})
    assert [(answer.status_code, answer.json()["uri"]) for answer in (again, more)] == [
        (200, uris[0])
    ] * 2
    mine = [item["alias"] for item in listed(client, f"{ROUTE}?uri={quote(uris[0])}")]
    assert sorted(mine) == ["raw-1", "raw-2"]


@pytest.mark.parametrize("parameter", ["alias", "filename"])
def test_name_where_it_is_not_read_is_refused_and_stores_nothing(
    client: httpx.Client, parameter: str
) -> None:
    form = client.post(
        "/api/resources", files={"file": ("f.txt", b"form")}, data={parameter: "doc-1"}
    )
    assert outcome(form) == (422, "invalid-payload")
    assert f"POST /api/resources?{parameter}=" in form.json()["detail"]
    query = client.post(
        "/api/uploads", headers={**TUS, "Upload-Length": "3"}, params={parameter: "doc-1"}
    )
    assert (outcome(query), pointers(query)) == (
        (422, "unknown-parameter"),
        [f"/query/{parameter}"],
    )
    assert f"Upload-Metadata: {parameter} ZG9jLTE=" in query.json()["detail"]
    assert (listed(client, ROUTE), listed(client, "/api/resources")) == ([], [])


def test_upload_under_an_alias_of_another_file_stores_nothing(client: httpx.Client) -> None:
    first = upload(client, b"first", alias="doc-1")
    refused = client.post("/api/resources", content=b"other", params={"alias": "doc-1"})
    assert outcome(refused) == (409, "alias-taken")
    assert [resource["uri"] for resource in listed(client, "/api/resources")] == [first["uri"]]
    assert named_by(client, "doc-1") == first["uri"]


def test_upload_in_pieces_under_an_alias_that_is_taken_is_refused_and_can_go_on(
    client: httpx.Client,
) -> None:
    upload(client, b"first", alias="doc-1")
    metadata = pair("alias", b"doc-1")
    headers = {**TUS, "Upload-Metadata": metadata, "Upload-Length": "6"}
    assert outcome(client.post("/api/uploads", headers=headers)) == (409, "alias-taken")
    path = begin(client, 5, metadata)
    refused = send(client, path, 0, b"other")
    assert outcome(refused) == (409, "alias-taken")
    assert "All bytes of the file are stored" in refused.json()["detail"]
    assert client.head(path, headers=TUS).status_code == 409
    client.delete(f"{ROUTE}/doc-1").raise_for_status()
    completed = client.head(path, headers=TUS)
    assert (completed.status_code, completed.headers["upload-offset"]) == (200, "5")
    assert named_by(client, "doc-1") == completed.headers["upload-resource"]


@pytest.mark.parametrize(
    "alias",
    [
        "doc-123",
        "arn:aws:s3:::bucket",
        "01BYE5RZ!107=",
        "0190b2c4-7a1e-7000-8000-000000000000",
        "x" * 256,
        "search",
        "-V1StGXR8_Z5jdHi6B-myT",
        "_",
        "...",
        "@x",
        "{0190b2c4-7a1e-7000-8000-000000000000}",
        EVERY_CHARACTER,
    ],
)
def test_alias_of_any_visible_character_is_addressed_percent_encoded(
    client: httpx.Client, alias: str
) -> None:
    uri = upload(client, png(), alias=alias)["uri"]
    read = client.get(path_of(alias))
    assert (read.json()["alias"], read.json()["uri"]) == (alias, uri)
    put = name(client, alias, uri)
    assert (put.status_code, put.headers["location"]) == (200, path_of(alias))
    assert attached(ask(client, rich(alias))) == [(alias, "available", uri)]
    assert client.delete(path_of(alias)).status_code == 204


@pytest.mark.promise(
    "security.md#the-database",
    "An alias cannot stand in for a resource's id or URI",
    kept_by="app/models/resource_descriptor.py",
    tried="5 spellings, 3 ways",
)
@pytest.mark.parametrize(
    "alias", ["0" * 32, "0c8e6cc1ab1f4d34B4A5A0E21F7D6C15", f"blob:{'0' * 32}", "@blob:x", "BLOB:x"]
)
def test_alias_that_looks_like_a_resource_is_refused_and_told_so(
    client: httpx.Client, alias: str
) -> None:
    uri = upload(client, png())["uri"]
    refused = [
        name(client, alias, uri),
        client.post("/api/resources", content=b"x", params={"alias": alias}),
        client.post(
            "/api/uploads",
            headers={
                **PIECE,
                "Upload-Length": "1",
                "Upload-Metadata": pair("alias", alias.encode()),
            },
        ),
    ]
    assert [outcome(item) for item in refused] == [(422, "invalid-alias")] * 3
    assert "form of a resource's id" in refused[0].json()["detail"]
    assert outcome(client.get(path_of(alias))) == (404, "not-found")
    assert (listed(client, ROUTE), len(listed(client, "/api/resources"))) == ([], 1)


@pytest.mark.parametrize(
    ("alias", "wrong"),
    [
        ("", "this one has 0"),
        (".", "is a step in a path"),
        ("..", "is a step in a path"),
        ("a b", "character 2 of this one is U+0020"),
        ("a/b", "character 2 of this one is U+002F"),
        ("a\\b", "U+005C"),
        ('a"b', "U+0022"),
        ("é", "character 1 of this one is U+00E9"),
        ("\x00", "U+0000"),
        ("a\n", "character 2 of this one is U+000A"),
        ("x" * 257, "this one has 257"),
    ],
)
def test_alias_of_other_characters_is_refused_and_told_which(
    client: httpx.Client, alias: str, wrong: str
) -> None:
    refused = client.post("/api/resources", content=b"x", params={"alias": alias})
    assert outcome(refused) == (422, "invalid-alias")
    assert wrong in refused.json()["detail"]
    assert listed(client, "/api/resources") == []


@pytest.mark.parametrize("uri", ["", "doc-1", f"blob:{'0' * 32}", "blob:x", "http://e.org/x"])
def test_alias_of_no_resource_is_refused(client: httpx.Client, uri: str) -> None:
    upload(client, png(), alias="doc-1")
    refused = name(client, "doc-2", uri)
    assert (*outcome(refused), pointers(refused)) == (422, "invalid-payload", ["/uri"])
    assert named_by(client, "doc-2") is None


def test_alias_names_another_resource_only_over_the_version_that_is_known(
    client: httpx.Client,
) -> None:
    first, second = upload(client, b"1")["uri"], upload(client, b"2")["uri"]
    etag = name(client, "doc-1", first).headers["etag"]
    assert outcome(name(client, "doc-1", second)) == (409, "alias-taken")
    stale = name(client, "doc-1", second, **{"If-Match": '"sha256-0"'})
    only_new = name(client, "doc-1", first, **{"If-None-Match": "*"})
    absent = name(client, "doc-2", first, **{"If-Match": "*"})
    failed = [outcome(item) for item in (stale, only_new, absent)]
    assert failed == [(412, "precondition-failed")] * 3
    assert (named_by(client, "doc-1"), named_by(client, "doc-2")) == (first, None)
    moved = name(client, "doc-1", second, **{"If-Match": etag})
    assert (moved.status_code, moved.json()["uri"]) == (200, second)
    assert client.get(f"{ROUTE}/doc-1").content == moved.content
    kept = client.delete(f"{ROUTE}/doc-1", headers={"If-Match": etag})
    assert outcome(kept) == (412, "precondition-failed")
    gone = client.delete(f"{ROUTE}/doc-1", headers={"If-Match": moved.headers["etag"]})
    assert gone.status_code == 204


def test_aliases_go_with_their_resource(client: httpx.Client) -> None:
    uri = upload(client, b"gone", alias="doc-1")["uri"]
    used = upload(client, b"used", alias="doc-2")["uri"]
    kept = upload(client, b"kept", alias="doc-3")["uri"]
    ask(client, rich("doc-2", "doc-3"))
    ask(client, rich(kept), session_id="t")
    assert client.delete(f"/api/resources/{uri}").status_code == 204
    assert named_by(client, "doc-1") is None
    assert client.delete(SESSION).is_success
    assert client.get(f"/api/resources/{used}").status_code == 404
    assert [(resource["alias"], resource["uri"]) for resource in listed(client, ROUTE)] == [
        ("doc-3", kept)
    ]
    other = upload(client, b"new", alias="doc-1")["uri"]
    assert named_by(client, "doc-1") == other


def test_aliases_are_listed_newest_first_page_by_page(client: httpx.Client) -> None:
    uris = [upload(client, bytes([number]))["uri"] for number in range(2)]
    names = [f'id-{number}"'.replace('"', "~") for number in range(7)]
    made = [name(client, item, uris[n % 2]).json() for n, item in enumerate(names)]
    for limit in (1, 2, 7, 200):
        assert listed(client, f"{ROUTE}?limit={limit}") == made[::-1]
        mine = listed(client, f"{ROUTE}?limit={limit}&uri={quote(uris[0])}")
        assert mine == made[::-1][::2]
    assert client.get(f"{ROUTE}?uri={'0' * 32}").json() == {"items": [], "nextCursor": None}
    assert outcome(client.get(f"{ROUTE}?cursor=x")) == (400, "invalid-cursor")
    assert outcome(client.get(f"{ROUTE}?uri=doc-1")) == (422, "invalid-payload")


def test_longest_alias_fits_into_a_cursor(client: httpx.Client) -> None:
    uri = upload(client, png())["uri"]
    made = [name(client, letter * 256, uri).json() for letter in "ab"]
    assert listed(client, f"{ROUTE}?limit=1") == made[::-1]


@pytest.mark.promise(
    "security.md#other-projects-data",
    "Another project's alias does not exist, whether it is read, attached or assigned",
    kept_by="app/stores/records/resources.py",
    tried="3 ways, the same answers",
)
def test_aliases_of_another_project_do_not_exist(
    client: httpx.Client, service: LiveService
) -> None:
    with service.client() as other:
        theirs = upload(other, png(), alias="doc-1")["uri"]
        assert outcome(client.get(f"{ROUTE}/doc-1")) == (404, "not-found")
        refused = [client.post(INTERACTIONS, json={"input": rich(word)}) for word in ("doc-1", "x")]
        assert comparable(refused[0]) == comparable(refused[1])
        foreign = [name(client, "doc-2", item) for item in (theirs, f"blob:{'0' * 32}")]
        assert (comparable(foreign[0]), foreign[0].status_code) == (
            comparable(foreign[1]),
            422,
        )
        mine = upload(client, pdf(), alias="doc-1")["uri"]
        assert client.delete(f"{ROUTE}/doc-1").status_code == 204
        assert (named_by(other, "doc-1"), mine == theirs) == (theirs, False)


def test_resource_has_a_thousand_aliases_and_no_more(client: httpx.Client) -> None:
    uri, other = upload(client, b"1")["uri"], upload(client, b"2", alias="other")["uri"]
    ask(client, rich(uri))
    bundle = with_most_aliases(export(client, "s"))
    client.delete(SESSION).raise_for_status()
    assert take_in(client, bundle).status_code == 201
    assert len(listed(client, f"{ROUTE}?limit=200&uri={quote(uri)}")) == 1_000
    refused = [
        name(client, "doc-x", uri),
        client.post("/api/resources", content=b"1", params={"alias": "doc-x"}),
        name(client, "other", uri, **{"If-Match": "*"}),
    ]
    assert [outcome(item) for item in refused] == [(409, "too-many-aliases")] * 3
    assert (named_by(client, "doc-x"), named_by(client, "other")) == (None, other)
    assert name(client, "doc-0001", uri).status_code == 200


def test_alias_is_no_event_and_takes_no_number(client: httpx.Client) -> None:
    uri = upload(client, png(), alias="doc-1")["uri"]
    name(client, "doc-2", uri)
    client.delete(f"{ROUTE}/doc-2").raise_for_status()
    assert ask(client)["seq"] == 1
    with listening(client, "/api/events", last_event_id=0) as stream:
        assert [item.event for item in stream.some(1)] == ["interaction:created"]


@pytest.fixture
def two(service: LiveService) -> Iterator[list[httpx.Client]]:
    """Clients of one project at two services over the same stores, which share nothing else."""
    key = service.new_key()
    with serving(service.settings) as second, ExitStack() as stack:
        yield [stack.enter_context(item.client(key)) for item in (service, second)]


@pytest.mark.promise(
    "security.md#the-database",
    "One of several racing writes of an alias wins, and no alias is left without its resource",
    kept_by="app/stores/records/resources.py",
    tried="2 services, 4 races of 6",
)
def test_racing_puts_of_one_alias_have_one_winner(two: list[httpx.Client]) -> None:
    uris = [upload(two[0], bytes([number]))["uri"] for number in range(6)]
    for race in range(4):
        with ThreadPoolExecutor(len(uris)) as pool:
            answers = list(
                pool.map(
                    lambda n: name(two[n % 2], f"doc-{race}", uris[n]),  # noqa: B023
                    range(len(uris)),
                )
            )
        assert Counter(answer.status_code for answer in answers) == {201: 1, 409: len(uris) - 1}
        winner = next(answer.json()["uri"] for answer in answers if answer.status_code == 201)
        assert {named_by(item, f"doc-{race}") for item in two} == {winner}


def test_racing_puts_of_the_same_are_one_alias(two: list[httpx.Client]) -> None:
    uri = upload(two[0], png())["uri"]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda n: name(two[n % 2], "doc-1", uri), range(6)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 5}
    assert len({answer.content for answer in answers}) == 1


def test_racing_moves_over_one_version_have_one_winner(two: list[httpx.Client]) -> None:
    uris = [upload(two[0], bytes([number]))["uri"] for number in range(6)]
    etag = name(two[0], "doc-1", uris[0]).headers["etag"]
    with ThreadPoolExecutor(5) as pool:
        answers = list(
            pool.map(
                lambda n: name(two[n % 2], "doc-1", uris[n], **{"If-Match": etag}), range(1, 6)
            )
        )
    assert Counter(answer.status_code for answer in answers) == {200: 1, 412: 4}
    winner = next(answer.json()["uri"] for answer in answers if answer.is_success)
    assert named_by(two[1], "doc-1") == winner


def test_aliases_and_deletes_at_once_leave_no_alias_of_nothing(two: list[httpx.Client]) -> None:
    for race in range(6):
        uri = upload(two[0], b"raced %d" % race)["uri"]
        with ThreadPoolExecutor(2) as pool:
            made = pool.submit(name, two[0], "doc-1", uri)
            gone = pool.submit(two[1].delete, f"/api/resources/{uri}")
        assert (made.result().status_code in (200, 201, 422), gone.result().status_code) == (
            True,
            204,
        )
        is_there = two[0].get(f"/api/resources/{uri}").is_success
        assert named_by(two[0], "doc-1") == (uri if is_there else None)
        two[0].delete(f"/api/resources/{uri}")
