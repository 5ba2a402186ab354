"""`docs/events.md` names every event and every member, and shows what the service really tells."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from app.wire.events import EventTicket
from tests.contract.bundled_sessions import export, take_in
from tests.contract.page_requests import put
from tests.contract.session_requests import ANSWER, append, ask, call_tool
from tests.kit.event_shapes import DATA_OF
from tests.kit.event_streams import Block, log_of
from tests.kit.process import ROOT

pytestmark = pytest.mark.engines("embedded")

DOCUMENT = (ROOT / "docs" / "events.md").read_text()
COMMON = {"sessionId", "seq", "id", "createdAt"}
ONLY_WHILE_DEBUGGING = {"rawResult"}


def sections() -> Iterator[tuple[str, str]]:
    """Every event that has a section, and the section."""
    for section in re.split(r"^#{2,3} ", DOCUMENT, flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        for name in re.findall(r"`([\w:]+)`", heading):
            yield name, text


SECTIONS = dict(sections())


def shown(text: str) -> dict[str, Any]:
    """The example of a section."""
    (block,) = re.findall(r"^```json\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    example: dict[str, Any] = json.loads(block)
    return example


def rows(text: str) -> set[str]:
    """The members in the table of a section."""
    return set(re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", text, re.MULTILINE))


def shape(value: object) -> object:
    """The keys of a value, at any depth and in their order."""
    if isinstance(value, dict):
        return [(key, shape(member)) for key, member in value.items()]
    return [shape(member) for member in value] if isinstance(value, list) else None


def documented(name: str) -> set[str]:
    """The members that the shape of an event has."""
    return set(DATA_OF[name].__struct_encode_fields__)  # type: ignore[index]


def test_every_event_has_a_section() -> None:
    assert SECTIONS.keys() == DATA_OF.keys()


@pytest.mark.parametrize("name", DATA_OF)
def test_section_has_every_member_in_its_table_or_in_the_one_of_all(name: str) -> None:
    members = documented(name)
    assert rows(SECTIONS[name]) == (members if name == "reset" else members - COMMON)
    assert rows(DOCUMENT) >= COMMON


@pytest.mark.parametrize("name", DATA_OF)
def test_example_has_every_member_and_is_a_valid_event(name: str) -> None:
    example = shown(SECTIONS[name])
    TypeAdapter[object](DATA_OF[name]).validate_python(example)  # type: ignore[index]
    assert example.keys() == documented(name) - ONLY_WHILE_DEBUGGING


def written(client: httpx.Client) -> list[Block]:
    """An event of every kind, made as the document says."""
    call_tool(client, "call_1", "It is ten.", "demo")
    append(client, "demo", content="What is the time?", type="message")
    asked = ask(client, session_id="demo")
    output = f"/api/sessions/demo/interactions/{asked['id']}/output"
    assert client.put(output, json=ANSWER).is_success
    put(client, "notes", content="It is ten.", session_id="demo")
    put(client, "notes", content="It is eleven.", session_id="demo")
    fault = {"target_level": "FULL", "session_id": "demo", "tool_call_id": "call_2"}
    assert client.post("/api/pages/notes/fault", json=fault).is_success
    assert client.delete("/api/pages/notes").is_success
    fork = {"upTo": 6, "as": "demo-2"}
    assert client.post("/api/sessions/demo/fork", json=fork).is_success
    bundle = export(client, "demo")
    seen = log_of(client)
    assert client.delete("/api/sessions/demo").is_success
    take_in(client, bundle)
    return seen + log_of(client, after=seen[-1].position + 1)


def test_examples_have_the_form_of_real_events(client: httpx.Client) -> None:
    real = {str(block.event): shape(block.told) for block in written(client)}
    assert real == {name: shape(shown(SECTIONS[name])) for name in DATA_OF if name != "reset"}


def test_shown_ticket_has_every_member() -> None:
    text = DOCUMENT.partition("## Browsers: tickets")[2].partition("\n## ")[0]
    ticket = EventTicket.model_validate(shown(text))
    assert ticket.model_dump(mode="json", by_alias=True) == shown(text)


class HeardEnough(Exception):  # noqa: N818 - it ends a loop that has no end
    """Two events were printed."""


def test_shown_python_listens(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"^```python\n(.*?)\n```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    monkeypatch.setenv("PAGEFAULT_URL", str(client.base_url))
    monkeypatch.setenv("PAGEFAULT_API_KEY", client.headers["authorization"].split()[1])
    append(client, "demo", content="one")
    append(client, "demo", content="two")
    told: list[tuple[int, str, Any]] = []

    def hear(*shown: Any) -> None:  # noqa: ANN401 - what `print` takes
        told.append(shown)
        if len(told) == 2:
            raise HeardEnough

    with pytest.raises(HeardEnough):
        exec(code.replace("after=12", "after=0"), {"print": hear})  # noqa: S102
    assert [(id_, event, data["message"]["content"]) for id_, event, data in told] == [
        (1, "message:created", "one"),
        (2, "message:created", "two"),
    ]


def test_front_page_and_architecture_lead_here() -> None:
    assert "(docs/events.md)" in (ROOT / "README.md").read_text()
    assert "(events.md)" in (ROOT / "docs" / "architecture.md").read_text()
