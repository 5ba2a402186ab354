"""`POST /api/resolve` over HTTP: content in the place of references."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app.models.limits import Limits
from pagefault_dialects.context.cut_arguments import cut_arguments
from tests.contract.page_requests import data_uri, outcome, pointers
from tests.contract.session_requests import JSON, append, comparable, upload
from tests.kit.media import b64, mp4, noise_bytes, png
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

ROUTE = "/api/resolve"
PICTURE = png()
TEXT = 'first "line"\r\nsecond \\ line \u0000 Zażółć\n'
ABSENT = f"@blob:{'0' * 32}"
NOT_REFERRED_TO = "Nothing in this session refers to such a resource."


def keep(client: httpx.Client, content: bytes, session_id: str = "s", **query: str) -> str:
    """A file that a message of the session refers to; returns the reference."""
    uri = upload(client, content, **query)["uri"]
    assert append(client, session_id=session_id, content=f"@{uri}").status_code == 201
    return f"@{uri}"


def ask(
    client: httpx.Client, arguments: object, form: str | None = None, session_id: str = "s"
) -> httpx.Response:
    requested = {"arguments": arguments, "sessionId": session_id}
    return client.post(ROUTE, json=requested if form is None else {**requested, "as": form})


def resolve(client: httpx.Client, arguments: object, form: str | None = None) -> dict[str, Any]:
    answer = ask(client, arguments, form)
    assert answer.status_code == 200, answer.text[:500]
    found: dict[str, Any] = answer.json()
    return found


def named(pointer: str, reference: str, mime_type: str, size: int) -> dict[str, object]:
    return {"pointer": pointer, "uri": reference[1:], "mimeType": mime_type, "size": size}


def left(pointer: str, reference: str, reason: str = NOT_REFERRED_TO) -> dict[str, object]:
    return {"pointer": pointer, "reference": reference, "reason": reason}


def test_reference_becomes_a_data_uri_unless_another_form_is_asked_for(
    client: httpx.Client,
) -> None:
    reference = keep(client, PICTURE)
    expected = {
        "arguments": {"image": data_uri(PICTURE, "image/png"), "width": 640},
        "resolved": [named("/image", reference, "image/png", len(PICTURE))],
        "unresolved": [],
    }
    for form in (None, "data-uri"):
        assert resolve(client, {"image": reference, "width": 640}, form) == expected


def test_reference_becomes_base64(client: httpx.Client) -> None:
    content = noise_bytes(3 * 2**20 + 1)
    reference = keep(client, content)
    assert resolve(client, [reference], "base64") == {
        "arguments": [b64(content)],
        "resolved": [named("/0", reference, "application/octet-stream", len(content))],
        "unresolved": [],
    }


@pytest.mark.engines("embedded", "server")
def test_reference_becomes_a_link_that_opens_without_a_key(client: httpx.Client) -> None:
    reference = keep(client, PICTURE)
    found = resolve(client, reference, "signed-url")
    answer = httpx.get(found["arguments"], trust_env=False, verify=TRUSTS_NOBODY)
    assert (answer.status_code, answer.content) == (200, PICTURE)
    assert found["resolved"] == [named("", reference, "image/png", len(PICTURE))]


def test_reference_becomes_text(client: httpx.Client) -> None:
    reference = keep(client, TEXT.encode(), filename="a.txt")
    found = resolve(client, {"log": reference}, "text")
    assert found["arguments"] == {"log": TEXT}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("\ufeffmarked".encode(), "marked"),
        ("Zażółć".encode("utf-16"), "Zażółć"),
        (b"bad \xff byte", "bad \ufffd byte"),
        (b"", ""),
    ],
)
def test_text_is_decoded(client: httpx.Client, content: bytes, expected: str) -> None:
    reference = keep(client, content, filename="a.txt")
    assert resolve(client, reference, "text")["arguments"] == expected


def test_what_is_no_text_is_left_and_named(client: httpx.Client) -> None:
    picture, text = keep(client, PICTURE), keep(client, b"words", filename="a.txt")
    assert resolve(client, [picture, text], "text") == {
        "arguments": [picture, "words"],
        "resolved": [named("/1", text, "text/plain", 5)],
        "unresolved": [left("/0", picture, "It is image/png and no text: ask with another `as`.")],
    }


@pytest.mark.parametrize("form", ["base64", "data-uri", "text"])
def test_reference_among_words_is_replaced_in_its_place(client: httpx.Client, form: str) -> None:
    reference = keep(client, b"words", filename="a.txt")
    (content,) = resolve(client, [reference], form)["arguments"]
    inside = f"_{reference}_, {ABSENT}; ({reference})"
    assert resolve(client, {"a": inside}, form) == {
        "arguments": {"a": f"_{content}_, {ABSENT}; ({content})"},
        "resolved": [named("/a", reference, "text/plain", 5)] * 2,
        "unresolved": [left("/a", ABSENT)],
    }


def test_line_that_names_a_file_is_replaced_as_a_whole(client: httpx.Client) -> None:
    picture, text = keep(client, PICTURE), keep(client, TEXT.encode(), filename="a.txt")
    lines = [f"[image {picture} 64x48]", f" [text {text} 12,345 characters]\n", f"[text {text}]"]
    found = resolve(client, lines)
    uris = [data_uri(PICTURE, "image/png"), *[data_uri(TEXT.encode(), "text/plain")] * 2]
    assert found["arguments"] == uris
    kept = [f"[image {ABSENT} 64x48]", f"See [image {picture} 64x48]."]
    answer = resolve(client, kept, "base64")
    assert answer["arguments"] == [kept[0], f"See [image {b64(PICTURE)} 64x48]."]
    assert answer["unresolved"] == [left("/0", ABSENT)]


def test_links_stand_among_words(client: httpx.Client) -> None:
    reference = keep(client, PICTURE)
    arguments = resolve(client, f"![]({reference}) and {reference}", "signed-url")["arguments"]
    first, second = arguments.removeprefix("![](").split(") and ")
    assert first == second
    assert httpx.get(first, trust_env=False, verify=TRUSTS_NOBODY).content == PICTURE


def test_json_inside_a_string_stays_json(client: httpx.Client) -> None:
    reference = keep(client, PICTURE)
    inner = json.dumps({"image": reference})
    found = resolve(client, {"arguments": inner})["arguments"]["arguments"]
    assert json.loads(found) == {"image": data_uri(PICTURE, "image/png")}


def test_keys_and_other_spellings_are_left_alone(client: httpx.Client) -> None:
    reference = keep(client, PICTURE)
    value = {reference: [reference[1:], reference[6:], "@blob:", "@blob: x", f"{reference[:6]}-"]}
    assert resolve(client, value) == {"arguments": value, "resolved": [], "unresolved": []}


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [
        (f"{ABSENT}0", f"{ABSENT}0"),
        (ABSENT[:-1], ABSENT[:-1]),
        (f"@blob:{'A' * 32}", f"@blob:{'A' * 32}"),
        (f"{ABSENT}{'a' * 5_000}", f"{ABSENT}{'a' * 32}"),
    ],
    ids=["longer", "shorter", "upper case", "much longer"],
)
def test_reference_that_is_spelled_wrongly_is_left_and_named(
    client: httpx.Client, wrong: str, shown: str
) -> None:
    append(client, content="x")
    assert resolve(client, [wrong]) == {
        "arguments": [wrong],
        "resolved": [],
        "unresolved": [left("/0", shown)],
    }


def test_value_keeps_its_depth_its_spelling_and_its_order(client: httpx.Client) -> None:
    reference = keep(client, PICTURE)
    deep = '{"k":' * 900 + f'"{reference}"' + "}" * 900
    rest = f'"z":1.10,"a":-0,"big":{2**70},"long":{"9" * 5_000},"e":1E+2,"é\\"":[null,true,[],{{}}]'
    body = '{"sessionId":"s","arguments":{' + rest + ',"deep":' + deep + '},"as":"base64"}'
    answer = client.post(ROUTE, content=body.encode(), headers=JSON)
    assert answer.status_code == 200, answer.text[:500]
    value = "{" + rest + ',"deep":' + deep.replace(reference, b64(PICTURE)) + "}"
    pointer = "/deep" + "/k" * 900
    head = '{"arguments":' + value + ',"resolved":[{"pointer":"' + pointer + '",'
    assert answer.text.startswith(head)


def test_pointers_are_escaped(client: httpx.Client) -> None:
    reference = keep(client, PICTURE)
    found = resolve(client, {"a/b~": [[], {"": reference}]})
    assert [finding["pointer"] for finding in found["resolved"]] == ["/a~1b~0/1/"]


@pytest.mark.parametrize("value", [None, True, 7, "words", [], {}, {"as": "text"}])
def test_value_without_references_comes_back(client: httpx.Client, value: object) -> None:
    keep(client, PICTURE)
    assert resolve(client, value) == {"arguments": value, "resolved": [], "unresolved": []}


def test_result_of_one_tool_is_the_argument_of_the_next(client: httpx.Client) -> None:
    block = {"type": "image", "data": b64(png(noise=True)), "mimeType": "image/png"}
    body = {"toolName": "t", "toolCallId": "c", "sessionId": "s", "result": {"content": [block]}}
    parts = client.post("/api/tool-results", json=body).json()["sanitized"]["parts"]
    found = resolve(client, {"picture": parts[0]["image"]}, "base64")
    assert found["arguments"] == {"picture": block["data"]}


@pytest.mark.engines("embedded", "server")
def test_resource_of_another_session_is_as_absent(client: httpx.Client) -> None:
    other, loose = keep(client, PICTURE, "other"), f"@{upload(client, b'loose')['uri']}"
    append(client, content="x")
    value = [other, loose, ABSENT]
    for form in ("data-uri", "base64", "text", "signed-url"):
        assert resolve(client, value, form) == {
            "arguments": value,
            "resolved": [],
            "unresolved": [left(f"/{index}", item) for index, item in enumerate(value)],
        }


@pytest.mark.engines("embedded", "server")
@pytest.mark.promise(
    "security.md#other-projects-data",
    "A `blob:` reference to another project's file resolves like one to a missing file",
    kept_by="app/services/agents/references.py",
    tried="1 reference",
)
def test_resource_of_another_project_is_as_absent(
    client: httpx.Client, service: LiveService
) -> None:
    append(client, content="x")
    with service.client() as other:
        reference = keep(other, PICTURE)
    assert resolve(client, [reference]) == {
        "arguments": [reference],
        "resolved": [],
        "unresolved": [left("/0", reference)],
    }
    requested = {"arguments": [reference], "sessionId": "s", "scope": "project"}
    assert client.post(ROUTE, json=requested).json() == {
        "arguments": [reference],
        "resolved": [],
        "unresolved": [left("/0", reference, "This project has no such resource.")],
    }


def test_unknown_session_is_not_found_and_not_made(
    client: httpx.Client, service: LiveService
) -> None:
    with service.client() as other:
        append(other, session_id="theirs", content="x")
    answers = [ask(client, 1, session_id=name) for name in ("unknown", "theirs")]
    assert outcome(answers[0]) == (404, "not-found")
    assert comparable(answers[0]) == comparable(answers[1])
    assert client.get("/api/sessions").json()["items"] == []


@pytest.mark.engines("embedded", "server")
def test_nothing_is_written(client: httpx.Client) -> None:
    reference = keep(client, PICTURE)
    paths = ["/api/sessions", "/api/resources", "/api/sessions/s/messages"]
    before = [client.get(path).content for path in paths]
    for form in ("data-uri", "base64", "text", "signed-url"):
        resolve(client, [reference, ABSENT], form)
    assert [client.get(path).content for path in paths] == before


@pytest.mark.engines("embedded", "server")
def test_deleted_session_gives_nothing_out(client: httpx.Client) -> None:
    reference = keep(client, PICTURE)
    assert client.delete("/api/sessions/s").status_code == 200
    assert outcome(ask(client, reference)) == (404, "not-found")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"sessionId": "s"}, ["/arguments"]),
        ({"arguments": 1}, ["/sessionId"]),
        ({"arguments": 1, "sessionId": "-a"}, ["/sessionId"]),
        ({"arguments": 1, "sessionId": "a\n"}, ["/sessionId"]),
        ({"arguments": 1, "sessionId": 7}, ["/sessionId"]),
        ({"arguments": 1, "sessionId": "s", "as": "url"}, ["/as"]),
        ({"arguments": 1, "sessionId": "s", "as": None}, ["/as"]),
        ({"arguments": 1, "sessionId": "s", "form": "text"}, ["/form"]),
    ],
)
def test_body_of_another_form_is_refused(
    client: httpx.Client, body: dict[str, object], expected: list[str]
) -> None:
    assert pointers(client.post(ROUTE, json=body)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", (400, "invalid-json")),
        (b"[]", (422, "invalid-payload")),
        (b'{"arguments":NaN,"sessionId":"s"}', (400, "invalid-json")),
        (b'{"arguments":' + b"[" * 2_000 + b"]" * 2_000 + b"}", (413, "json-too-deep")),
        (b'{"arguments":"' + b"x" * 2**24 + b'","sessionId":"s"}', (413, "payload-too-large")),
    ],
    ids=["empty", "array", "NaN", "deep", "large"],
)
def test_body_nobody_can_read_is_refused(
    client: httpx.Client, body: bytes, expected: tuple[int, str]
) -> None:
    assert outcome(client.post(ROUTE, content=body, headers=JSON)) == expected


def test_lone_surrogates_become_replacement_characters(client: httpx.Client) -> None:
    reference = keep(client, PICTURE)
    body = rb'{"arguments":{"\ud800":"\udfff%s"},"sessionId":"s","as":"base64"}'
    answer = client.post(ROUTE, content=body % reference.encode(), headers=JSON)
    assert answer.json()["arguments"] == {"\ufffd": f"\ufffd{b64(PICTURE)}"}


def test_body_that_is_not_said_to_be_json_is_refused(client: httpx.Client) -> None:
    body = json.dumps({"arguments": 1, "sessionId": "s"})
    refused = client.post(ROUTE, content=body, headers={"Content-Type": "text/plain"})
    assert outcome(refused) == (415, "unsupported-media-type")


SMALL_LIMITS = Limits(
    inline_bytes=3_000, page_text_bytes=2_000, media_per_result=3, message_bytes=10_000
)
"""A service that puts 3,000 bytes of media or 2,000 of text into an answer."""


@pytest.fixture
def bounded(small_service: LiveService) -> Iterator[httpx.Client]:
    with small_service.client() as client:
        yield client


@pytest.mark.parametrize(
    ("form", "sizes", "status"),
    [
        ("base64", [1_000, 2_000], 200),
        ("base64", [1_000, 2_001], 413),
        ("data-uri", [3_001], 413),
        ("text", [1_000, 1_000], 200),
        ("text", [1_000, 1_001], 413),
        ("signed-url", [1_000, 3_001], 200),
    ],
)
def test_all_that_is_put_in_together_has_a_bound(
    bounded: httpx.Client, form: str, sizes: list[int], status: int
) -> None:
    value = [keep(bounded, b"x" * size, filename="a.txt") for size in sizes]
    answer = ask(bounded, value, form)
    assert answer.status_code == status
    if status == 413:
        largest = len(sizes) - 1
        assert outcome(answer) == (413, "medium-too-large")
        assert "`as: signed-url`" in answer.json()["detail"]
        assert answer.json()["errors"][0] == {
            "pointer": f"/arguments/{largest}",
            "detail": f"has {sizes[largest]} bytes",
        }


def test_what_is_put_in_twice_counts_twice(bounded: httpx.Client) -> None:
    reference = keep(bounded, b"x" * 2_000, filename="a.txt")
    assert ask(bounded, [reference], "base64").status_code == 200
    assert outcome(ask(bounded, [f"{reference} {reference}"], "base64"))[0] == 413


@pytest.mark.parametrize(("count", "status"), [(3, 200), (4, 413)])
def test_references_are_counted(bounded: httpx.Client, count: int, status: int) -> None:
    append(bounded, content="x")
    for value in ([ABSENT] * count, " ".join([ABSENT] * count)):
        answer = ask(bounded, value)
        assert answer.status_code == status
        if status == 413:
            assert outcome(answer) == (413, "too-many-references")


def test_places_that_take_long_to_name_are_refused(bounded: httpx.Client) -> None:
    append(bounded, content="x")
    answer = ask(bounded, {"k" * 5_000: [ABSENT, ABSENT]})
    assert outcome(answer) == (413, "too-many-references")


@pytest.mark.engines("embedded", "server")
def test_many_large_references_come_back_whole(client: httpx.Client) -> None:
    contents = [noise_bytes(2**20 + number) for number in range(4)] + [mp4(), PICTURE]
    references = [keep(client, content) for content in contents]
    found = resolve(client, references * 3, "base64")
    assert found["arguments"] == [b64(content) for content in contents] * 3


def test_scope_of_the_project_takes_what_other_sessions_have(client: httpx.Client) -> None:
    other = keep(client, PICTURE, session_id="other")
    keep(client, TEXT.encode())
    requested = {"arguments": [other, ABSENT], "sessionId": "s"}
    narrow, wide = (
        client.post(ROUTE, json={**requested, "scope": scope}).json()
        for scope in ("session", "project")
    )
    assert narrow["unresolved"] == [left("/0", other), left("/1", ABSENT)]
    assert wide == {
        "arguments": [data_uri(PICTURE, "image/png"), ABSENT],
        "resolved": [named("/0", other, "image/png", len(PICTURE))],
        "unresolved": [left("/1", ABSENT, "This project has no such resource.")],
    }
    wrong = client.post(ROUTE, json={**requested, "scope": "all"})
    assert (wrong.status_code, pointers(wrong)) == (422, ["/scope"])


CODE = 'first "line"\n' + "x" * 900


def work(client: httpx.Client) -> None:
    """A history of a question with a small picture, and a call with a long argument."""
    image = {"type": "image_url", "image_url": {"url": data_uri(PICTURE, "image/png")}}
    blocks = [{"type": "text", "text": "Write it."}, image]
    assert append(client, content=blocks).is_success
    function = {"name": "edit", "arguments": json.dumps({"code": CODE, "a/b": [1]})}
    calls = [{"id": "c", "type": "function", "function": function}]
    assert append(client, role="assistant", content="I do.", tool_calls=calls).is_success


@pytest.mark.engines("embedded", "server")
def test_handles_of_a_history_become_what_they_name(client: httpx.Client) -> None:
    work(client)
    cut = cut_arguments({"code": CODE}, "@entry:2/arguments/0")["code"]
    arguments = {
        "code": "@entry:2/arguments/0/code",
        "cut": cut,
        "rest": "Says: @entry:2/arguments/0/a~1b/0, and @entry:2.",
        "line": "[text @entry:2 5 characters]",
        "list": "@entries:2-9",
    }
    answer = resolve(client, arguments, "text")
    called = '{"code":"first \\"line\\"\\n%s…","a/b":[1]}' % ("x" * 27)
    listed = f'2 assistant calls edit {called}, 5 characters: "I do."\n'
    assert answer["arguments"] == {
        "code": CODE,
        "cut": CODE,
        "rest": "Says: 1, and I do..",
        "line": "I do.",
        "list": listed,
    }
    assert answer["unresolved"] == []
    sizes = {
        resource["uri"]: (resource["mimeType"], resource["size"]) for resource in answer["resolved"]
    }
    assert sizes == {
        "entry:2/arguments/0/code": ("text/plain", len(CODE)),
        "entry:2/arguments/0/a~1b/0": ("text/plain", 1),
        "entry:2": ("text/plain", 5),
        "entries:2-9": ("text/plain", len(listed.encode())),
    }
    assert resolve(client, ["@entry:2/arguments/0/code"], "base64")["arguments"] == [
        b64(CODE.encode())
    ]
    handle = f"@entry:1/{hashlib.sha256(PICTURE).hexdigest()[:12]}"
    assert resolve(client, [handle])["arguments"] == [data_uri(PICTURE, "image/png")]


@pytest.mark.engines("embedded", "server")
def test_handle_that_names_nothing_in_the_history_stays_and_says_the_nearest_way(
    client: httpx.Client,
) -> None:
    work(client)
    reasons = {
        "@entry:9": "This session has no entry 9. @entries:1-2 lists those there are.",
        "@entry:2/arguments/0/x": (
            '@entry:2/arguments/0 (edit) has nothing at "/x". There are "code", "a/b".'
        ),
        "@entries:7-": (
            "This session has no entry with such a number. @entries:1-2 lists those there are."
        ),
        "@entry:1/000000000000": "The entry has no such medium.",
    }
    assert resolve(client, list(reasons), "text") == {
        "arguments": list(reasons),
        "resolved": [],
        "unresolved": [
            {"pointer": f"/{index}", "reference": reference, "reason": reason}
            for index, (reference, reason) in enumerate(reasons.items())
        ],
    }
    append(client, session_id="other", content="Secret.")
    assert resolve(client, ["@entry:2"], "text")["arguments"] == ["I do."]


@pytest.mark.parametrize(
    "wrong",
    [
        "@entries:1-9999999999999999",
        "@entries:1-3/x",
        "@entries:1-2-3",
        "@entries:9999999999999999",
        "@entry:1234567890123456",
        "@entry:2/x",
        "@entry:2.5",
        "@entry:2/arguments",
        "@entry:2/arguments/1234567890",
        "@entry:2/arguments/0/~2",
        "@entry:1/0000000000000",
    ],
)
def test_reference_that_goes_on_behind_an_entry_is_left_whole(
    client: httpx.Client, wrong: str
) -> None:
    work(client)
    answer = resolve(client, [f"See {wrong}."], "text")
    assert answer["arguments"] == [f"See {wrong}."]
    assert [item["reference"] for item in answer["unresolved"]] == [wrong]
    assert answer["unresolved"][0]["reason"].startswith("No reference is spelled so")
    read = {"target": "openai-chat", "id": "r", "name": "read_text", "arguments": {"ref": wrong}}
    used = client.post("/api/sessions/s/tool-calls", json=read)
    assert "There is no" in used.text, used.text


@pytest.mark.parametrize("end", [".", ",", ":", "...", "/", "-", "_", ")", "\u2014so", "'s"])
def test_punctuation_behind_a_reference_is_of_the_sentence(client: httpx.Client, end: str) -> None:
    work(client)
    stored = keep(client, TEXT.encode(), filename="a.txt")
    answer = resolve(client, [f"See @entry:2{end} {stored}{end}"], "text")
    assert answer["arguments"] == [f"See I do.{end} {TEXT}{end}"]
    assert answer["unresolved"] == []


def test_history_is_linked_to_by_no_address(client: httpx.Client) -> None:
    work(client)
    (left_out,) = resolve(client, "@entry:2", "signed-url")["unresolved"]
    assert left_out["reason"].startswith("It is part of a history")


def test_list_of_entries_that_is_too_large_is_refused(bounded: httpx.Client) -> None:
    for _ in range(40):
        append(bounded, content="Ten sheep. " * 20)
    assert resolve(bounded, ["@entries:1-10"], "text")["unresolved"] == []
    refused = ask(bounded, ["@entries:1-40"], "text")
    assert refused.status_code == 413
    assert "@entries:1-40 has more than the 2000 bytes" in refused.json()["detail"]
