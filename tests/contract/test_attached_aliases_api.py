"""Files attached by the ids of other systems, on both engines: bound once, told, and moved."""

import httpx
import pytest

from app.models.interaction import AttachedFile, ContentPart, Interaction, MultiModalInput
from pagefault_dialects.json.values import json_text
from tests.contract.alias_requests import ROUTE, attached, name, named_by, with_most_aliases
from tests.contract.bundled_sessions import export, members_of, take_in
from tests.contract.page_requests import outcome, pointers
from tests.contract.render_requests import rendering, shows
from tests.contract.session_requests import (
    ANSWER,
    AT_TEN,
    INTERACTIONS,
    JSON,
    answer,
    ask,
    entries,
    listed,
    rich,
    upload,
)
from tests.kit.media import pdf, png
from tests.kit.servers import LiveService

SESSION = "/api/sessions/s"


def scenarios() -> dict[str, Interaction]:
    """The scenarios of specification 001, each line as it stands there."""
    found = {}

    interaction = Interaction(input="What is the time?")
    found["A"] = interaction

    file_ref = AttachedFile(id="doc-123", mime_type="application/pdf")
    part = ContentPart(text="Please summarize this document.", attachments=[file_ref])
    rich_input = MultiModalInput(parts=[part])

    interaction = Interaction(input=rich_input)
    found["B"] = interaction

    # User: "Look at this image [IMG] and this log [LOG], then explain the error."
    img = AttachedFile(id="img-001", mime_type="image/png")
    log = AttachedFile(id="log-999", mime_type="text/plain")

    part1 = ContentPart(text="Look at this image", attachments=[img])
    part2 = ContentPart(text="and this log", attachments=[log])
    part3 = ContentPart(text="then explain the error.")

    rich_input = MultiModalInput(parts=[part1, part2, part3])
    interaction = Interaction(input=rich_input)
    found["C"] = interaction
    return found


@pytest.mark.requirement("001-scenario-a")
@pytest.mark.requirement("001-scenario-b")
@pytest.mark.requirement("001-scenario-c")
def test_scenarios_of_the_specification_run_as_they_are_written(client: httpx.Client) -> None:
    files = {
        "doc-123": upload(client, pdf(), alias="doc-123"),
        "img-001": upload(client, png(), alias="img-001"),
        "log-999": upload(client, b"a line", alias="log-999"),
    }
    used = {"A": [], "B": ["doc-123"], "C": ["img-001", "log-999"]}
    for scenario, interaction in scenarios().items():
        words = json_text(interaction.dump())
        created = client.post(INTERACTIONS, content=words.encode(), headers=JSON)
        assert created.status_code == 201, created.text[:500]
        assert created.text.endswith(f',"interaction":{words}}}')
        assert client.get(created.headers["location"]).content == created.content
        assert created.json()["attachments"] == [
            {"id": item, "status": "available", "resource": files[item]} for item in used[scenario]
        ]
    rendered = rendering(client, f"{SESSION}/render", "anthropic")
    assert (shows(rendered, pdf()), shows(rendered, png())) == (True, True)


def test_dump_of_scenario_b_is_that_of_the_specification(client: httpx.Client) -> None:
    upload(client, pdf(), alias="doc-123")
    dump = (
        '{"input":{"parts":[{"text":"Please summarize this document.","attachments":'
        '[{"id":"doc-123","mime_type":"application/pdf"}]}]},'
        f'"output":null,"timestamp":"{AT_TEN}"}}'
    )
    created = client.post(INTERACTIONS, content=dump.encode(), headers=JSON)
    assert created.text.endswith(f',"interaction":{dump}}}')
    assert client.get(f"{SESSION}/messages/1").text.endswith(f',"interaction":{dump}}}')


@pytest.mark.promise(
    "security.md#the-database",
    "What an alias was bound to does not change when the alias does",
    kept_by="app/services/sessions/interaction_requests.py",
    tried="3 reads, the same bytes",
)
def test_renamed_and_deleted_alias_changes_nothing_of_what_was_bound_by_it(
    client: httpx.Client,
) -> None:
    image, other = upload(client, png(), alias="img-001"), upload(client, b"other")
    record = ask(client, rich("img-001"))
    path = f"{INTERACTIONS}/{record['id']}"
    before = [client.get(item).content for item in (path, INTERACTIONS, f"{SESSION}/messages")]
    entry = entries(client)[0]
    assert (entry["bound"], "bound" in entries(client)[0]) == ({"img-001": image["uri"]}, True)
    assert name(client, "img-001", other["uri"], **{"If-Match": "*"}).is_success
    assert attached(ask(client, rich("img-001"), session_id="t")) == [
        ("img-001", "available", other["uri"])
    ]
    assert client.delete(f"{ROUTE}/img-001").status_code == 204
    after = [client.get(item).content for item in (path, INTERACTIONS, f"{SESSION}/messages")]
    assert after == before
    assert outcome(client.delete(f"/api/resources/{image['uri']}")) == (409, "resource-in-use")
    assert shows(rendering(client, f"{SESSION}/render", "openai-chat"), png())
    assert answer(client, record["id"], ANSWER).json()["attachments"] == record["attachments"]


def test_file_is_listed_once_for_each_name_it_is_attached_by(client: httpx.Client) -> None:
    uri = upload(client, png(), alias="a")["uri"]
    name(client, "b", uri)
    spelled = ["b", uri, "a", f"@{uri}", "b"]
    record = ask(client, rich(*spelled))
    kept = record["interaction"]["input"]["parts"][0]["attachments"]
    assert [item["id"] for item in kept] == spelled
    assert attached(record) == [(item, "available", uri) for item in ("b", uri, "a")]
    assert entries(client)[0]["bound"] == {"b": uri, "a": uri}


def test_interaction_without_aliases_is_told_as_ever(client: httpx.Client) -> None:
    ask(client, rich(upload(client, png())["uri"]))
    assert "bound" not in entries(client)[0]


def test_unknown_ids_are_refused_with_the_ways_to_go_on(client: httpx.Client) -> None:
    upload(client, png(), alias="img-1")
    refused = client.post(INTERACTIONS, json={"input": rich("img-1", "img-2", "doc 3")})
    assert outcome(refused) == (422, "missing-attachment")
    assert pointers(refused) == [f"/input/parts/0/attachments/{n}/id" for n in (1, 2)]
    detail = refused.json()["detail"]
    assert ("alias" in detail, "attachments=any" in detail) == (True, True)
    assert client.get(SESSION).status_code == 404


def test_unknown_ids_are_taken_if_asked_for_and_said_to_be_unknown(client: httpx.Client) -> None:
    image = upload(client, png(), alias="img-1")["uri"]
    absent = f"blob:{'0' * 32}"
    ids = ["img-1", "doc-1", absent, "nobody's \x00 é", "", "doc-1"]
    body = {"input": rich(*ids), "timestamp": AT_TEN}
    created = client.post(INTERACTIONS, params={"attachments": "any"}, json=body)
    assert created.status_code == 201, created.text[:500]
    expected = [("img-1", "available", image)]
    expected += [(identifier, "unknown", None) for identifier in ids[1:5]]
    assert attached(created.json()) == expected
    stored = created.json()["interaction"]["input"]["parts"][0]["attachments"]
    assert [item["id"] for item in stored] == ids
    # Whatever gets these names afterwards is not what was meant when it was written.
    name(client, "doc-1", image)
    assert client.get(created.headers["location"]).content == created.content
    assert entries(client)[0]["bound"] == {"img-1": image, "0" * 32: None}
    rendered = rendering(client, f"{SESSION}/render", "openai-chat")
    assert shows(rendered, png())
    assert [(finding["pointer"], finding["code"]) for finding in rendered["loss"]] == [
        (f"/interaction/input/parts/0/attachments/{n}", "not-stored") for n in range(1, 6)
    ]


def test_attachments_are_known_or_any(client: httpx.Client) -> None:
    refused = client.post(INTERACTIONS, params={"attachments": "all"}, json={"input": "x"})
    assert outcome(refused) == (422, "invalid-payload")
    known = client.post(INTERACTIONS, params={"attachments": "known"}, json={"input": rich("x")})
    assert outcome(known) == (422, "missing-attachment")


def test_resource_that_became_known_later_is_not_what_was_attached(client: httpx.Client) -> None:
    uri = upload(client, b"late")["uri"]
    client.delete(f"/api/resources/{uri}").raise_for_status()
    created = client.post(INTERACTIONS, params={"attachments": "any"}, json={"input": rich(uri)})
    assert attached(created.json()) == [(uri, "unknown", None)]
    assert upload(client, b"late")["uri"] == uri
    assert client.get(created.headers["location"]).content == created.content
    assert client.delete(f"/api/resources/{uri}").status_code == 204


def test_same_key_gives_the_answer_that_was_bound_first(client: httpx.Client) -> None:
    first, second = upload(client, b"1", alias="doc-1")["uri"], upload(client, b"2")["uri"]
    headers = {"Idempotency-Key": "k"}
    body = {"input": rich("doc-1")}
    created = client.post(INTERACTIONS, json=body, headers=headers)
    name(client, "doc-1", second, **{"If-Match": "*"})
    again = client.post(INTERACTIONS, json=body, headers=headers)
    assert (created.status_code, again.status_code) == (201, 200)
    assert again.content == created.content
    assert attached(again.json()) == [("doc-1", "available", first)]


def test_aliases_travel_with_their_session(service: LiveService) -> None:
    with service.client() as here, service.client() as there:
        image = upload(here, png(), alias="img-1")["uri"]
        name(here, "a#1", image)
        upload(here, b"of no session", alias="offload_location")
        body = {"input": rich("a#1", "nobody's", f"blob:{'0' * 32}"), "timestamp": AT_TEN}
        here.post(INTERACTIONS, params={"attachments": "any"}, json=body).raise_for_status()
        bundle = export(here, "s")
        assert take_in(there, bundle).status_code == 201
        assert export(there, "s") == bundle
        assert {resource["alias"]: resource["uri"] for resource in listed(there, ROUTE)} == {
            "img-1": image,
            "a#1": image,
        }
        for path in (INTERACTIONS, f"{SESSION}/messages"):
            assert there.get(path).content == here.get(path).content
        assert shows(rendering(there, f"{SESSION}/render", "openai-chat"), png())


def test_bundle_without_aliases_says_nothing_of_them(client: httpx.Client) -> None:
    ask(client, rich(upload(client, png())["uri"]))
    members = members_of(export(client, "s"))
    lines = members["resources.jsonl"] + members["interactions.jsonl"]
    assert (b"aliases" in lines, b"bindings" in lines) == (False, False)


def test_import_replaces_no_alias_and_stores_nothing_then(service: LiveService) -> None:
    with service.client() as here, service.client() as there:
        upload(here, png(), alias="img-1")
        ask(here, rich("img-1"))
        bundle = export(here, "s")
        mine = upload(there, b"mine", alias="img-1")["uri"]
        assert outcome(take_in(there, bundle)) == (409, "alias-exists")
        assert (there.get(SESSION).status_code, named_by(there, "img-1")) == (404, mine)
        there.delete(f"{ROUTE}/img-1").raise_for_status()
        assert take_in(there, bundle).status_code == 201
        assert export(there, "s") == bundle


def test_import_gives_no_resource_more_aliases_than_it_may_have(service: LiveService) -> None:
    with service.client() as here, service.client() as there:
        uri = upload(here, png())["uri"]
        ask(here, rich(uri))
        bundle = with_most_aliases(export(here, "s"))
        assert take_in(there, bundle).status_code == 201
        ask(there, rich(uri), session_id="t")
        assert there.delete(f"{ROUTE}/doc-0007").status_code == 204
        assert name(there, "more", uri).status_code == 201
        there.delete(SESSION).raise_for_status()
        assert outcome(take_in(there, bundle)) == (409, "too-many-aliases")
        assert there.get(SESSION).status_code == 404
        assert there.delete(f"{ROUTE}/more").status_code == 204
        assert take_in(there, bundle).status_code == 201
        assert export(there, "s") == bundle
