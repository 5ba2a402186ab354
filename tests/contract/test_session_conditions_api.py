"""Conditions on sessions and answers, and what their words protect, on both engines."""

import httpx
import pytest

from tests.contract.bundled_sessions import export, take_in
from tests.contract.page_requests import data_uri, outcome
from tests.contract.session_requests import (
    INTERACTIONS,
    JSON,
    MESSAGES,
    SESSION,
    answer,
    append,
    ask,
    entries,
    upload,
)
from tests.kit.media import png
from tests.kit.servers import LiveService

OUTPUT = {"role": "assistant", "content": "Ten.", "timestamp": "2023-10-27T10:00:05Z"}
OTHER = '"' + "0" * 64 + '"'
FAILED = (412, "precondition-failed")
NUMBERS = "[1.10,1E5,-0,0.1234567890123456789,1e-400]"
URI = data_uri(png(noise=True), "image/png")


def put(client: httpx.Client, **conditions: str) -> httpx.Response:
    headers = {name.replace("_", "-"): value for name, value in conditions.items()}
    return client.put(SESSION, headers=headers)


def test_session_is_created_if_there_is_none(client: httpx.Client) -> None:
    created, again = (put(client, If_None_Match="*") for _ in range(2))
    assert created.status_code == 201
    assert outcome(again) == FAILED
    assert client.get(SESSION).content == created.content


def test_session_is_put_if_it_is_the_one_the_caller_has(client: httpx.Client) -> None:
    append(client, content="x")
    record = client.get(SESSION)
    assert outcome(put(client, If_Match=OTHER)) == FAILED
    same = put(client, If_Match=record.headers["etag"])
    assert (same.status_code, same.content) == (200, record.content)
    append(client, content="y")
    assert outcome(put(client, If_Match=record.headers["etag"])) == FAILED
    assert put(client, If_Match="*").status_code == 200


@pytest.mark.parametrize("etag", [OTHER, "*"])
def test_session_that_is_not_there_matches_nothing(client: httpx.Client, etag: str) -> None:
    assert outcome(put(client, If_Match=etag)) == FAILED
    assert outcome(client.get(SESSION)) == (404, "not-found")
    assert client.get("/api/sessions").json()["items"] == []


def test_session_is_put_without_members(client: httpx.Client) -> None:
    refused = client.put(SESSION, json={"id": "s"})
    assert outcome(refused) == (422, "invalid-payload")
    assert client.get(SESSION).status_code == 404
    answers = [client.put(SESSION, json={}), client.put(SESSION)]
    assert [item.status_code for item in answers] == [201, 200]


def test_answer_is_set_if_the_interaction_is_the_one_the_caller_has(client: httpx.Client) -> None:
    path = f"{INTERACTIONS}/{ask(client)['id']}"
    before = client.get(path)
    refused = client.put(f"{path}/output", json=OUTPUT, headers={"If-Match": OTHER})
    assert outcome(refused) == FAILED
    assert client.get(path).content == before.content
    assert len(entries(client)) == 1
    response = client.put(
        f"{path}/output", json=OUTPUT, headers={"If-Match": before.headers["etag"]}
    )
    assert response.status_code == 200
    after = client.get(path)
    assert response.content == after.content != before.content
    assert response.headers["etag"] == after.headers["etag"]
    assert response.headers["location"] == path
    assert after.json()["interaction"]["output"] == OUTPUT
    stale = client.put(f"{path}/output", json=OUTPUT, headers={"If-Match": before.headers["etag"]})
    assert outcome(stale) == FAILED
    assert len(entries(client)) == 2


@pytest.mark.parametrize("place", ["text", "part", "output along", "output later"])
def test_file_that_words_refer_to_is_kept_as_long_as_they_are(
    client: httpx.Client, place: str
) -> None:
    uri = upload(client, b"the file")["uri"]
    reference = f"@{uri}"
    output = {"role": "assistant", "content": reference}
    if place == "text":
        ask(client, reference)
    elif place == "part":
        ask(client, {"parts": [{"text": "See"}, {"text": reference}]})
    elif place == "output along":
        ask(client, output=output)
    else:
        assert answer(client, ask(client)["id"], output).status_code == 200
    path = f"/api/resources/{uri.removeprefix('blob:')}"
    assert client.delete(path).status_code == 409
    assert client.get(f"{path}/content").content == b"the file"
    assert client.delete(SESSION).status_code == 200
    assert outcome(client.get(path)) == (404, "not-found")


def test_role_of_a_model_is_taken(client: httpx.Client) -> None:
    sent = {"role": "model", "content": None, "parts": [{"text": "x"}]}
    created = client.post(MESSAGES, json=sent)
    assert created.status_code == 201, created.text
    record = client.get(f"{MESSAGES}/1").json()
    assert (record["role"], record["message"]) == ("assistant", sent)


@pytest.mark.parametrize(
    "content",
    ['"Words."', f'[{{"type":"image_url","image_url":{{"url":"{URI}"}}}},{{"n":{NUMBERS}}}]'],
    ids=["text", "beside an image that is moved"],
)
def test_numbers_of_a_message_keep_their_spelling(service: LiveService, content: str) -> None:
    body = f'{{"role":"user","n":{NUMBERS},"content":{content}}}'
    with service.client() as client, service.client() as other:
        created = client.post(MESSAGES, content=body, headers=JSON)
        assert created.status_code == 201, created.text[:500]
        assert created.text.count(NUMBERS) == body.count(NUMBERS)
        assert take_in(other, export(client, "s")).status_code == 201
        for reader in (client, other):
            assert reader.get(f"{MESSAGES}/1").content == created.content
            inline = reader.get(f"{MESSAGES}/1", params={"media": "inline"})
            assert inline.text.endswith(f'"message":{body}}}')


def test_numbers_of_an_input_keep_their_spelling(service: LiveService) -> None:
    text = f'{{"n":{NUMBERS},"deep":[{{"n":{NUMBERS}}}]}}'
    with service.client() as client, service.client() as other:
        created = client.post(INTERACTIONS, content=f'{{"input":{text}}}', headers=JSON)
        assert created.status_code == 201, created.text[:500]
        assert f'"input":{text}' in created.text
        path = created.headers["location"]
        assert take_in(other, export(client, "s")).status_code == 201
        for reader in (client, other):
            assert reader.get(path).content == created.content
            assert f'"input":{text}' in reader.get(f"{MESSAGES}/1").text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (MESSAGES, rb'{"role":"user","\ud800":1,"\udc00":2}'),
        (MESSAGES, rb'{"role":"user","content":[{"a\ud800":1,"a\ud801":2}]}'),
        (INTERACTIONS, rb'{"input":{"\ud800":1,"\ud801":2}}'),
    ],
)
def test_keys_that_differ_in_lone_surrogates_only_are_refused(
    client: httpx.Client, path: str, body: bytes
) -> None:
    assert outcome(client.post(path, content=body, headers=JSON)) == (400, "invalid-json")
    assert client.get(SESSION).status_code == 404


def test_seconds_may_be_spelled_with_zeros_at_their_end(client: httpx.Client) -> None:
    body = b'{"input":"x","timestamp":1698400800.50}'
    created = client.post(INTERACTIONS, content=body, headers=JSON)
    assert created.status_code == 201, created.text
    assert created.json()["interaction"]["timestamp"] == "2023-10-27T10:00:00.500000Z"
