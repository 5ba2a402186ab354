"""Interactions over HTTP: what is asked, with files, and what is kept."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from pagefault_dialects.json.values import json_text
from tests.contract.page_requests import data_uri, outcome, pointers
from tests.contract.session_requests import (
    ANSWER,
    AT_TEN,
    INTERACTIONS,
    JSON,
    answer,
    ask,
    comparable,
    entries,
    listed,
    rich,
    upload,
)
from tests.kit.media import pdf, png
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

ROUTE = INTERACTIONS
ABSENT_ID = "01900000-0000-7000-8000-000000000000"


@pytest.mark.requirement("001-scenario-a")
def test_scenario_a_is_stored_and_read_back(client: httpx.Client) -> None:
    created = client.post(ROUTE, json={"input": "What is the time?", "timestamp": AT_TEN})
    record = created.json()
    assert created.headers["location"] == f"{ROUTE}/{record['id']}"
    assert created.text == (
        f'{{"id":"{record["id"]}","session_id":"s","seq":1,"input_kind":"text","attachments":[],'
        f'"interaction":{{"input":"What is the time?","output":null,"timestamp":"{AT_TEN}"}}}}'
    )
    read = client.get(created.headers["location"])
    assert (read.status_code, read.content) == (200, created.content)
    known = client.get(created.headers["location"], headers={"If-None-Match": read.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


@pytest.mark.requirement("001-attached-file")
@pytest.mark.requirement("001-scenario-b")
def test_scenario_b_carries_the_descriptor_of_its_file(client: httpx.Client) -> None:
    report = upload(client, pdf(), filename="report.pdf")
    attached = {"id": report["uri"], "mime_type": "application/pdf"}
    part = {"text": "Please summarize this document.", "attachments": [attached]}
    body = {"input": {"parts": [part]}, "input_kind": "multimodal", "timestamp": AT_TEN}
    created = client.post(ROUTE, json=body)
    record = created.json()
    assert record == {
        "id": record["id"],
        "session_id": "s",
        "seq": 1,
        "input_kind": "multimodal",
        "attachments": [{"id": report["uri"], "status": "available", "resource": report}],
        "interaction": {"input": {"parts": [part]}, "output": None, "timestamp": AT_TEN},
    }
    assert created.text.endswith(
        '"interaction":{"input":{"parts":[{"text":"Please summarize this document.",'
        f'"attachments":[{{"id":"{report["uri"]}","mime_type":"application/pdf"}}]}}]}},'
        f'"output":null,"timestamp":"{AT_TEN}"}}}}'
    )


@pytest.mark.engines("embedded", "server")
@pytest.mark.requirement("001-content-part")
@pytest.mark.requirement("001-multi-modal-input")
@pytest.mark.requirement("001-scenario-c")
def test_scenario_c_keeps_the_parts_and_their_files_in_order(client: httpx.Client) -> None:
    image, log = upload(client, png()), upload(client, b"a line")
    parts: list[dict[str, Any]] = [
        {
            "text": "Look at this image",
            "attachments": [{"id": image["uri"], "mime_type": "image/png"}],
        },
        {"text": "and this log", "attachments": [{"id": log["uri"], "mime_type": "text/plain"}]},
        {"text": "then explain the error."},
    ]
    record = ask(client, {"parts": parts})
    parts[2]["attachments"] = []
    assert json_text(record["interaction"]["input"]) == json_text({"parts": parts})
    assert [attachment["resource"] for attachment in record["attachments"]] == [image, log]


def test_file_is_attached_by_every_spelling_and_listed_once_each(client: httpx.Client) -> None:
    uri = upload(client, png())["uri"]
    spelled = [uri, uri.removeprefix("blob:"), f"@{uri}", uri]
    record = ask(client, rich(*spelled))
    kept = record["interaction"]["input"]["parts"][0]["attachments"]
    assert [item["id"] for item in kept] == spelled
    assert [
        (attachment["id"], attachment["resource"]["uri"]) for attachment in record["attachments"]
    ] == [(uri, uri)]


@pytest.mark.engines("embedded", "server")
def test_attached_file_cannot_be_deleted_and_its_interaction_is_named(client: httpx.Client) -> None:
    uri = upload(client, png())["uri"]
    record = ask(client, rich(uri))
    refused = client.delete(f"/api/resources/{uri}")
    assert outcome(refused) == (409, "resource-in-use")
    assert f"interaction {record['id']}" in refused.json()["detail"]
    assert client.get(f"/api/resources/{uri}/content").content == png()


def test_members_that_an_attachment_does_not_have_are_an_error_that_names_them(
    client: httpx.Client,
) -> None:
    uri = upload(client, png())["uri"]
    attached = {"id": uri, "filename": "a.png", "a/b": 1}
    given: dict[str, Any] = {"parts": [{"text": "x"}, {"attachments": [{"id": uri}, attached]}]}
    path = "/api/sessions/named/interactions"
    refused = client.post(path, json={"input": given})
    assert refused.status_code == 422
    assert [error["pointer"] for error in refused.json()["errors"]] == [
        "/input/parts/1/attachments/1/a~1b",
        "/input/parts/1/attachments/1/filename",
    ]
    # Said to be one, or with further members around, it is a legacy object.
    for body in ({"input": given, "input_kind": "dict"}, {"input": {**given, "n": 1}}):
        assert client.post(path, json=body).json()["input_kind"] == "dict"


def test_resources_a_legacy_object_names_are_kept(client: httpx.Client) -> None:
    uri = upload(client, png())["uri"]
    given = {"image": f"@{uri}", "other": f"@blob:{'0' * 32}", "text": f"see @{uri}"}
    record = ask(client, given)
    assert (record["input_kind"], record["interaction"]["input"]) == ("dict", given)
    assert outcome(client.delete(f"/api/resources/{uri}")) == (409, "resource-in-use")


@pytest.mark.parametrize("count", [1, 21, 300])
def test_all_files_that_are_missing_are_named_in_one_answer(
    client: httpx.Client, count: int
) -> None:
    there = upload(client, png())["uri"]
    ids = [there, *(f"blob:{number:032x}" for number in range(count)), there]
    refused = client.post(ROUTE, json={"input": rich(*ids)})
    assert outcome(refused) == (422, "missing-attachment")
    assert pointers(refused) == [
        f"/input/parts/0/attachments/{number}/id" for number in range(1, count + 1)
    ]
    assert [client.get(path).status_code for path in (ROUTE, "/api/sessions/s")] == [404, 404]
    assert client.delete(f"/api/resources/{there}").status_code == 204


@pytest.mark.parametrize(
    "wrong",
    ["", "doc-123", "blob:", f"blob:{'A' * 32}", f"blob:{'0' * 33}", "\x00", "\U0001f600"],
)
def test_id_that_no_resource_can_have_is_missing(client: httpx.Client, wrong: str) -> None:
    refused = client.post(ROUTE, json={"input": rich(wrong)})
    assert outcome(refused) == (422, "missing-attachment")
    assert pointers(refused) == ["/input/parts/0/attachments/0/id"]


@pytest.mark.engines("embedded", "server")
def test_file_of_another_project_is_missing_in_the_same_words(
    client: httpx.Client, service: LiveService
) -> None:
    with service.client() as other:
        foreign = upload(other, png())["uri"]
    absent = f"blob:{'0' * 32}"
    refused = [client.post(ROUTE, json={"input": rich(item)}) for item in (foreign, absent)]
    assert outcome(refused[0]) == (422, "missing-attachment")
    assert comparable(refused[0]) == comparable(refused[1])
    assert foreign not in refused[0].text


@pytest.mark.requirement("001-input-kind-assertion")
@pytest.mark.parametrize(
    ("given", "places"),
    [
        ({"parts": [{"txt": "x"}]}, ["/input/parts/0/txt"]),
        ({"Parts": []}, ["/input/parts", "/input/Parts"]),
        ({"parts": [{"text": 5}]}, ["/input/parts/0/text"]),
        (
            {"parts": [{"attachments": [{"uri": "a"}]}]},
            ["/input/parts/0/attachments/0/id", "/input/parts/0/attachments/0/uri"],
        ),
        ({"raw": "data"}, ["/input/parts", "/input/raw"]),
        ("text", ["/input"]),
    ],
    ids=str,
)
def test_misspelt_rich_input_is_refused_where_it_is_said_to_be_one(
    client: httpx.Client, given: object, places: list[str]
) -> None:
    refused = client.post(ROUTE, json={"input": given, "input_kind": "multimodal"})
    assert outcome(refused) == (422, "invalid-payload")
    assert pointers(refused) == places
    assert client.get("/api/sessions/s").status_code == 404


@pytest.mark.parametrize("asserted", ["multimodal", "text", "dict"])
@pytest.mark.parametrize(
    ("given", "kind"), [("x", "text"), ({"parts": []}, "multimodal"), ({"x": 1}, "dict")], ids=str
)
def test_input_is_of_the_kind_it_is_said_to_be(
    client: httpx.Client, given: object, kind: str, asserted: str
) -> None:
    created = client.post(ROUTE, json={"input": given, "input_kind": asserted})
    assert created.status_code == (201 if kind == asserted else 422)
    if kind == asserted:
        assert created.json()["input_kind"] == kind


@pytest.mark.requirement("001-polymorphic-input")
@pytest.mark.parametrize(
    "text",
    [
        '{"raw":"data","foo":123}',
        '{"parts":[{"text":"x","type":"text"}],"parts2":null}',
        '{"n":1180591620717411303424,"f":1.5,"neg0":-0.0,"e":1e-07}',
        '{"":{"~":{"a/b":[[],{},null,true]}}}',
        '{"\u0000":"\u0000\u2028\u202e\U0001f469"}',
        '{"z":1,"a":2,"m":[3,1,2]}',
    ],
)
def test_legacy_object_is_kept_key_for_key(client: httpx.Client, text: str) -> None:
    body = '{"input":%s,"timestamp":"%s"}' % (text.replace("\0", "\\u0000"), AT_TEN)  # noqa: UP031
    created = client.post(ROUTE, content=body.encode(), headers=JSON)
    assert created.status_code == 201, created.text[:500]
    stored = created.text.partition(',"interaction":')[2]
    words = text.replace("\0", "\\u0000")
    assert stored == f'{{"input":{words},"output":null,"timestamp":"{AT_TEN}"}}}}'
    assert client.get(created.headers["location"]).content == created.content


def test_thousand_levels_of_a_legacy_object_come_back(client: httpx.Client) -> None:
    text = '{"x":[' * 500 + "1" + "]}" * 500
    body = f'{{"input":{text},"timestamp":"{AT_TEN}"}}'.encode()
    created = client.post(ROUTE, content=body, headers=JSON)
    assert created.status_code == 201, created.text[:500]
    assert text in created.text
    reads = [client.get(created.headers["location"]), client.get(ROUTE)]
    reads.append(client.get("/api/sessions/s/messages"))
    assert [text in read.text for read in reads] == [True] * 3


@pytest.mark.requirement("001-timestamp")
@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("2023-10-27T10:00:00", AT_TEN),
        ("2023-10-27T10:00:00+00:00", AT_TEN),
        ("2023-10-27T10:00:00-05:30", "2023-10-27T10:00:00-05:30"),
        ("2023-10-27T10:00:00.25+02:00", "2023-10-27T10:00:00.250000+02:00"),
        ("2024-02-29", "2024-02-29T00:00:00Z"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        (1698400800.5, "2023-10-27T10:00:00.500000Z"),
    ],
    ids=str,
)
def test_timestamps_are_kept_with_their_offset(
    client: httpx.Client, given: object, shown: str
) -> None:
    record = ask(client, timestamp=given)
    assert record["interaction"]["timestamp"] == shown
    answered = answer(client, record["id"], {**ANSWER, "timestamp": given})
    assert answered.json()["interaction"]["output"]["timestamp"] == shown
    assert client.get(f"{ROUTE}/{record['id']}").content == answered.content
    assert entries(client)[1]["output"]["timestamp"] == shown


@pytest.mark.engines("embedded", "server")
def test_interactions_are_listed_by_seq_and_kind(client: httpx.Client) -> None:
    uri = upload(client, png())["uri"]
    kinds = ["text", "dict", "multimodal", "text", "multimodal", "dict", "text"]
    inputs = {"text": "x", "dict": {"x": 1}, "multimodal": rich(uri)}
    records = [ask(client, inputs[kind]) for kind in kinds]
    assert [record["input_kind"] for record in records] == kinds
    for limit in (1, 2, 7, 200):
        for kind in (None, "text", "dict", "multimodal"):
            wanted = [record for record in records if kind in (None, record["input_kind"])]
            query = f"?limit={limit}" + (f"&input_kind={kind}" if kind else "")
            assert listed(client, f"{ROUTE}{query}") == wanted
    page = client.get(ROUTE, params={"limit": 7})
    assert (page.json()["nextCursor"], page.links) == (None, {})


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("cursor=x", (400, "invalid-cursor")),
        ("cursor=WyJtZXNzYWdlcyIsMV0", (400, "invalid-cursor")),
        ("input_kind=rich", (422, "invalid-payload")),
        ("limit=0", (422, "invalid-payload")),
        ("limit=201", (422, "invalid-payload")),
    ],
)
def test_list_that_is_asked_for_wrongly_is_refused(
    client: httpx.Client, query: str, expected: tuple[int, str]
) -> None:
    ask(client)
    assert outcome(client.get(f"{ROUTE}?{query}")) == expected


def test_session_without_interactions_has_an_empty_list_and_no_session_has_none(
    client: httpx.Client,
) -> None:
    assert outcome(client.get(ROUTE)) == (404, "not-found")
    client.put("/api/sessions/s")
    assert client.get(ROUTE).json() == {"items": [], "nextCursor": None}


@pytest.mark.parametrize("interaction_id", [ABSENT_ID, "x", "%00", "é", "a" * 300, "1 OR 1=1"])
def test_interaction_that_is_not_there_is_not_found(
    client: httpx.Client, interaction_id: str
) -> None:
    ask(client)
    assert outcome(client.get(f"{ROUTE}/{interaction_id}")) == (404, "not-found")


@pytest.mark.engines("embedded", "server")
def test_interaction_of_another_session_or_project_is_not_found(
    client: httpx.Client, service: LiveService
) -> None:
    record = ask(client)
    assert outcome(client.get(f"/api/sessions/t/interactions/{record['id']}"))[0] == 404
    with service.client() as other:
        assert outcome(other.get(f"{ROUTE}/{record['id']}"))[0] == 404
        other.put("/api/sessions/s")
        assert outcome(other.get(f"{ROUTE}/{record['id']}"))[0] == 404
        assert outcome(answer(other, record["id"]))[0] == 404
    assert client.get(f"{ROUTE}/{record['id']}").json() == record


@pytest.mark.engines("embedded", "server")
def test_idempotency_key_makes_a_retry_safe(client: httpx.Client) -> None:
    body = {"input": "What is the time?"}
    headers = {"Idempotency-Key": "k"}
    first, second = (client.post(ROUTE, json=body, headers=headers) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.content == first.content
    other = client.post(ROUTE, json={"input": "Else?"}, headers=headers)
    offload_location = client.post("/api/sessions/t/interactions", json=body, headers=headers)
    expected = (422, "idempotency-key-reused")
    assert (outcome(other), outcome(offload_location)) == (expected, expected)
    assert [len(entries(client)), client.get("/api/sessions/t").status_code] == [1, 404]


@pytest.mark.engines("embedded", "server")
def test_refused_interaction_frees_its_key(client: httpx.Client) -> None:
    uri = upload(client, png())["uri"]
    headers = {"Idempotency-Key": "k"}
    body = {"input": rich(f"blob:{'0' * 32}")}
    assert client.post(ROUTE, json=body, headers=headers).status_code == 422
    created = client.post(ROUTE, json={"input": rich(uri)}, headers=headers)
    assert (created.status_code, created.json()["seq"]) == (201, 1)


@pytest.mark.engines("embedded", "server")
def test_same_key_at_once_makes_one_interaction(client: httpx.Client) -> None:
    def send(_: int) -> int:
        headers = {"Idempotency-Key": "k"}
        return client.post(ROUTE, json={"input": "x"}, headers=headers).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = Counter(pool.map(send, range(8)))
    assert (statuses[201], set(statuses) <= {200, 201, 409}) == (1, True)
    assert len(entries(client)) == 1


@pytest.mark.engines("embedded", "server")
def test_interactions_at_once_take_every_number_once(client: httpx.Client) -> None:
    uri = upload(client, png(noise=True))["uri"]
    with ThreadPoolExecutor(8) as pool:
        records = list(pool.map(lambda _: ask(client, rich(uri)), range(24)))
    assert sorted(record["seq"] for record in records) == list(range(1, 25))
    assert listed(client, f"{ROUTE}?limit=5") == sorted(records, key=lambda record: record["seq"])


def test_inline_media_of_a_legacy_object_are_kept_as_they_are(client: httpx.Client) -> None:
    given = {"image": data_uri(png(noise=True), "image/png")}
    assert ask(client, given)["interaction"]["input"] == given
