"""An alias may name a file that is elsewhere, by its `https` address."""

import httpx
import pytest

from tests.contract.alias_requests import attached, name, named_by
from tests.contract.bundled_sessions import export, take_in
from tests.contract.page_requests import outcome, pointers
from tests.contract.render_requests import rendering, steps
from tests.contract.session_requests import ask

pytestmark = pytest.mark.engines("embedded")

URL = "https://files.example/reports/cat.png"
RENDER = "/api/sessions/s/render"


def test_alias_of_an_address_names_a_file_that_holds_it(client: httpx.Client) -> None:
    made = name(client, "cat-1", URL)
    assert made.status_code == 201, made.text
    record = made.json()
    assert (record["resource"]["mimeType"], record["resource"]["filename"]) == (
        "text/uri-list",
        "cat.png",
    )
    content = client.get(f"/api/resources/{record['uri']}/content")
    assert content.text == f"{URL}\r\n"
    again = name(client, "cat-1", URL)
    assert (again.status_code, again.content) == (200, made.content)
    assert outcome(name(client, "cat-1", f"{URL}?2")) == (409, "alias-taken")
    assert named_by(client, "cat-1") == record["uri"]


@pytest.mark.parametrize(
    "uri",
    [
        "http://files.example/a.png",
        "https://user:secret@files.example/a.png",
        "https://files.example/a b.png",
        "https://files.example/ü.png",
        "https:///a.png",
        "https://",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://files.example/" + "a" * 2_048,
    ],
)
def test_what_is_no_address_of_a_file_is_refused(client: httpx.Client, uri: str) -> None:
    refused = name(client, "cat-1", uri)
    assert (refused.status_code, pointers(refused)) == (422, ["/uri"])
    assert named_by(client, "cat-1") is None


def test_file_by_an_address_is_rendered_by_it(client: httpx.Client) -> None:
    name(client, "cat-1", URL)
    files = [{"id": "cat-1", "mime_type": "image/png"}]
    asked = ask(client, {"parts": [{"text": "Look.", "attachments": files}]})
    assert isinstance(asked, dict)
    assert [(item, status) for item, status, _ in attached(asked)] == [("cat-1", "available")]
    message = {"type": "image", "source": {"type": "url", "url": URL}}
    record = rendering(client, RENDER, "anthropic")
    assert record["messages"][-1]["content"][-1] == message
    assert record["loss"] == []
    refused = rendering(client, RENDER, "gemini")
    (step,) = steps(refused)
    assert step[-1] == "address-not-taken"


@pytest.mark.engines("embedded", "server")
def test_file_by_an_address_goes_with_a_bundle(client: httpx.Client) -> None:
    name(client, "cat-1", URL)
    ask(client, {"parts": [{"text": "Look.", "attachments": [{"id": "cat-1"}]}]})
    bundle = export(client, "s")
    client.delete("/api/sessions/s")
    assert take_in(client, bundle).is_success
    record = rendering(client, RENDER, "openai-chat")
    assert URL in str(record["messages"])
