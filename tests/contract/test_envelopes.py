"""Results in the envelopes of their dialects, over HTTP: told, kept, compared, refused."""

import httpx
import pytest

from packages.dialects.tests.dialects.corpus import FILE, read_cases
from tests.kit import media
from tests.kit.media import b64

pytestmark = pytest.mark.engines("embedded")

_PNG = media.png(70, 50, noise=True)
_PICTURE = {"type": "image", "data": b64(_PNG), "mimeType": "image/png"}
_TOOL_MESSAGE = {"type": "tool", "content": "Four degrees.", "tool_call_id": "c1", "name": "look"}


def _post(client: httpx.Client, result: object, **more: object) -> httpx.Response:
    call = {"toolName": "look", "toolCallId": "c1", "result": result, **more}
    return client.post("/api/tool-results", json=call)


def test_members_of_an_envelope_are_kept_in_the_record_and_told_to_no_model(
    client: httpx.Client,
) -> None:
    message = {**_TOOL_MESSAGE, "id": "m1", "artifact": {"plot": _PICTURE}}
    posted = _post(client, message, sessionId="envelope")
    record = posted.json()["sanitized"]
    assert record["parts"] == [{"type": "text", "text": "Four degrees."}]
    (picture,) = record["resources"]
    plot = {**_PICTURE, "data": f"@{picture['uri']}"}
    assert record["meta"]["envelope"] == {
        "dialect": "langchain",
        "id": "m1",
        "artifact": {"plot": plot},
    }
    path = f"/api/resources/{picture['uri'].removeprefix('blob:')}/content"
    assert client.get(path).content == _PNG
    rendering = client.get("/api/sessions/envelope/render", params={"target": "openai-chat"})
    assert "m1" not in rendering.text
    assert picture["uri"] not in rendering.text


def test_another_call_in_an_envelope_is_a_warning(client: httpx.Client) -> None:
    meta = _post(client, _TOOL_MESSAGE, toolCallId="c2").json()["sanitized"]["meta"]
    assert (meta["toolCallId"], meta["envelope"]["toolCallId"]) == ("c2", "c1")
    assert [(warning["code"], warning["pointer"]) for warning in meta["warnings"]] == [
        ("envelope-differs", "/tool_call_id")
    ]


def test_a_result_of_several_answers_is_refused_without_one_to_the_call(
    client: httpx.Client,
) -> None:
    answers = [{**_TOOL_MESSAGE, "tool_call_id": call, "content": call} for call in ("c1", "c2")]
    parts = _post(client, answers).json()["sanitized"]["parts"]
    assert parts == [{"type": "text", "text": "c1"}]
    refused = _post(client, answers, toolCallId="c3")
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/result")
    assert "/messages" in refused.json()["detail"]


def test_one_result_of_each_package_is_stored_with_what_it_says(client: httpx.Client) -> None:
    first = {case.package: case for case in reversed(read_cases(FILE.read_text()))}
    for case in first.values():
        record = _post(client, case.value).json()["sanitized"]
        texts = [part["text"] for part in record["parts"] if part["type"] == "text"]
        assert [text for text in texts if text] == [*case.expect.texts], case.name
        assert record["meta"]["success"] is not case.expect.failed, case.name
