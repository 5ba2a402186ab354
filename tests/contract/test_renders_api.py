"""Renderings of tool results over HTTP: options, problems, conditions, ladder."""

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from PIL import Image

from app.config.settings import Settings
from pagefault_dialects.targets.table import TARGETS
from tests.contract.page_requests import outcome, pointers
from tests.contract.page_requests import put as put_page
from tests.contract.render_cases import audio_block, file_block, image_block
from tests.contract.render_requests import (
    Json,
    all_words,
    read_rendering,
    rendering,
    shows,
    steps,
    strings,
)
from tests.contract.session_requests import call_tool
from tests.e2e.stored_state import EmbeddedState, ServerState, StoredState
from tests.kit import media
from tests.kit.loaded_command import LoadedCommand
from tests.kit.media import b64
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends, Engine, LiveService, serving

pytestmark = pytest.mark.engines("embedded")

EVERY = pytest.mark.parametrize("target", TARGETS)
RENDER = "/api/render"
ABSENT = "01900000-0000-7000-8000-000000000000"
PNG = media.png(noise=True)
JPEG = media.jpeg(noise=True)
PDF = media.pdf() + b"\n" * 2_000
PUBLIC_URL = "https://media.example/pagefault"
RESULT = {
    "content": [
        {"type": "text", "text": "Here it is."},
        image_block(PNG, annotations={"audience": ["user"]}),
        image_block(JPEG, "image/jpeg", _meta={"caption": "A fox."}),
        audio_block(media.wav(), "audio/wav", _meta={"transcript": "Hello there."}),
        file_block("report.pdf", PDF, "application/pdf"),
        {"type": "text", "text": "For you.", "annotations": {"audience": ["assistant"]}},
    ],
    "structuredContent": {"schema": {"$ref": "#/a"}, "n": 2**70},
}


def stored(client: httpx.Client, result: object, call_id: str = "call_1") -> str:
    """Store a tool result; returns the path of its renderings."""
    record = call_tool(client, call_id, result, session_id=None)
    assert isinstance(record, dict)
    return f"/api/tool-results/{record['id']}/render"


@pytest.fixture(scope="module")
def path(shared_client: httpx.Client) -> str:
    """A result with a bit of everything, which nobody changes."""
    return stored(shared_client, RESULT)


QUERIES: list[Json] = [
    {},
    {"accept": "image/png"},
    {"accept": " IMAGE/* ,application/pdf"},
    {"accept": "application/pdf,audio/*"},
    {"media": "inline"},
    {"media": "reference"},
    {"detail": "high"},
    {"detail": "low", "audience": "user"},
    {"maxBytes": 0},
    {"maxBytes": 30_000, "audience": "assistant"},
    {"maxImages": 0},
    {"maxImages": 1, "audience": "user"},
    {"handles": True},
    {"maxText": 500},
    {"maxImagePixels": 32},
    {"countTokens": False},
]


@pytest.mark.parametrize("requested", QUERIES, ids=repr)
def test_options_mean_the_same_in_address_and_body(
    shared_client: httpx.Client, path: str, requested: Json
) -> None:
    for target in ("openai-chat", "gemini", "langchain"):
        by_address = shared_client.get(path, params={"target": target, **requested})
        body = {"toolResultId": path.split("/")[3], "target": target, **requested}
        by_body = [shared_client.post(RENDER, json=body)]
        if "accept" in requested:
            listed = {**body, "accept": requested["accept"].split(",")}
            by_body.append(shared_client.post(RENDER, json=listed))
        read_rendering(by_address, target)
        assert [message.content for message in by_body] == [by_address.content] * len(by_body)
        assert {answer.headers["etag"] for answer in by_body} == {by_address.headers["etag"]}


def test_handles_name_each_stored_medium_whether_it_is_shown_or_not(
    shared_client: httpx.Client,
) -> None:
    picture = {"type": "image", "data": b64(media.png(noise=True)), "mimeType": "image/png"}
    remote = {"type": "resource_link", "uri": "https://example.com/a.png", "name": "a.png"}
    path = stored(shared_client, {"content": [picture, remote, {"type": "text", "text": "seen"}]})
    (resource,) = shared_client.get(path.removesuffix("/render")).json()["sanitized"]["resources"]
    line = f"[image @{resource['uri']} 64\N{MULTIPLICATION SIGN}48]"
    for requested in ({}, {"maxImages": 0}):
        named, plain = (
            [block.get("text") for block in rendered["messages"][0]["content"]]
            for handles in ({"handles": 1}, {})
            for rendered in [rendering(shared_client, path, "mcp", **requested, **handles)]
        )
        assert [text for text in named if text not in plain] == [line]
        assert [text for text in named if text != line] == plain


@EVERY
def test_result_is_taken_by_its_target_with_all_options(
    shared_client: httpx.Client, path: str, target: str
) -> None:
    for requested in QUERIES[1::3]:
        rendering(shared_client, path, target, **requested)


def test_accept_lets_the_rest_step_down(shared_client: httpx.Client, path: str) -> None:
    record = rendering(shared_client, path, "mcp", accept="image/*", audience="user")
    assert [shows(record, item) for item in (PNG, JPEG, media.wav(), PDF)] == [
        True,
        True,
        False,
        False,
    ]
    assert steps(record) == [
        ("/sanitized/parts/3", "original", "transcript", "not-accepted"),
        ("/sanitized/parts/4", "original", "placeholder", "not-accepted"),
        ("/sanitized/parts/5", "text", "nothing", "other-audience"),
    ]
    read = all_words(record)
    assert "Hello there." in read
    assert "[File: report.pdf (2.6 kB)]" in read


def test_image_that_is_not_accepted_becomes_one_that_is(client: httpx.Client) -> None:
    path = stored(client, {"content": [image_block(PNG)]})
    record = rendering(client, path, "anthropic", accept="image/jpeg")
    [block] = [item for item in record["messages"][0]["content"][0]["content"] if "source" in item]
    assert block["source"]["media_type"] == "image/jpeg"
    assert steps(record) == [("/sanitized/parts/0", "original", "smaller", "not-accepted")]
    assert "shown as image/jpeg" in all_words(record)


@pytest.mark.parametrize(
    ("audience", "said", "seen", "left_out"),
    [
        ("assistant", True, False, [("/sanitized/parts/1", "image", "nothing", "other-audience")]),
        ("user", False, True, [("/sanitized/parts/5", "text", "nothing", "other-audience")]),
        ("everyone", True, True, []),
    ],
)
def test_annotations_say_who_sees_what(
    shared_client: httpx.Client,
    path: str,
    audience: str,
    said: bool,
    seen: bool,
    left_out: list[tuple[str, ...]],
) -> None:
    for target in ("langchain", "vercel", "mcp"):
        record = rendering(shared_client, path, target, audience=audience)
        assert ("For you." in all_words(record), shows(record, PNG)) == (said, seen)
        assert steps(record) == left_out


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"audience": ["user"], "priority": 0.50}, {"audience": ["user"], "priority": 0.5}),
        ({"audience": ["user", "assistant"], "priority": 1}, ...),
        ({"lastModified": "2026-01-01T00:00:00Z"}, ...),
        ({"audience": ["User", "nobody", 3], "priority": 2, "x": 1}, {"audience": ["user"]}),
        ({"audience": ["user"] * 1_000, "priority": None}, {"audience": ["user"]}),
        ({"audience": [], "priority": True, "lastModified": 5}, None),
    ],
)
def test_mcp_has_the_annotations_of_each_block_that_are_of_its_types(
    client: httpx.Client, given: object, shown: object
) -> None:
    message = {"type": "text", "text": "said", "annotations": given}
    content = [message, {"type": "text", "text": "plain"}, image_block(PNG, annotations=given)]
    record = rendering(client, stored(client, {"content": content}), "mcp", audience="everyone")
    blocks = record["messages"][0]["content"]
    expected = given if shown is ... else shown
    assert [block.get("annotations") for block in blocks] == [expected, None, expected]


def test_mcp_before_annotations_had_a_date_has_none(client: httpx.Client) -> None:
    annotations = {"priority": 0.5, "lastModified": "2026-01-01"}
    path = stored(client, {"content": [image_block(PNG, annotations=annotations)]})
    record = rendering(client, path, "mcp", protocolVersion="2025-03-26")
    [block] = record["messages"][0]["content"]
    assert block["annotations"] == {"priority": 0.5}


@pytest.mark.parametrize("detail", ["low", "high", "auto"])
@pytest.mark.parametrize("target", ["openai-compat", "openai-chat", "openai-responses"])
def test_detail_is_that_of_every_image(
    shared_client: httpx.Client, path: str, target: str, detail: str
) -> None:
    record = rendering(shared_client, path, target, detail=detail, audience="user")
    assert json.dumps(record["messages"]).count(f'"detail": "{detail}"') == 2


@EVERY
def test_reference_stands_where_bytes_would(
    shared_client: httpx.Client, path: str, target: str
) -> None:
    inline = rendering(shared_client, path, target)
    referred = rendering(shared_client, path, target, media="reference")
    assert referred["loss"] == inline["loss"]
    assert referred["tokensEst"] == inline["tokensEst"]
    references = [text for text in strings(referred["messages"]) if text.startswith("@blob:")]
    if target == "mcp":
        references = [text for text in strings(referred["messages"]) if text.startswith("blob:")]
    attached = [item for item in (JPEG, media.wav(), PDF) if shows(inline, item)]
    contents = [
        shared_client.get(f"/api/resources/{reference.partition('blob:')[2]}/content").content
        for reference in references
    ]
    assert sorted(contents) == sorted(attached)
    assert not any(shows(referred, item) for item in attached)


def test_loss_says_how_to_get_at_what_was_left_out(shared_client: httpx.Client, path: str) -> None:
    record = rendering(shared_client, path, "text")
    found = []
    for entry in record["loss"]:
        method, _, address = entry["restore"].partition(" ")
        assert method == "GET"
        found.append(shared_client.get(address).content)
    whole = shared_client.get(path.removesuffix("/render")).content
    assert found == [whole, JPEG, media.wav(), PDF]


REFUSED_OF_ADDRESS: list[tuple[str, str]] = [
    ("", "/query/target"),
    ("target=nothing", "/query/target"),
    ("target=", "/query/target"),
    ("target=ANTHROPIC", "/query/target"),
    ("target=text&accept=png", "/query/accept"),
    ("target=text&accept=", "/query/accept"),
    ("target=text&accept=image/*,,", "/query/accept"),
    (f"target=text&accept={','.join(['image/png'] * 51)}", "/query/accept"),
    (f"target=text&accept=image/{'x' * 5_000}", "/query/accept"),
    ("target=text&media=url", "/query/media"),
    ("target=text&detail=huge", "/query/detail"),
    ("target=text&maxBytes=-1", "/query/maxBytes"),
    (f"target=text&maxBytes={2**54}", "/query/maxBytes"),
    ("target=text&maxImages=many", "/query/maxImages"),
    ("target=text&audience=system", "/query/audience"),
]


@pytest.mark.parametrize(("query", "pointer"), REFUSED_OF_ADDRESS)
def test_option_that_makes_no_sense_is_refused(
    shared_client: httpx.Client, path: str, query: str, pointer: str
) -> None:
    assert pointers(shared_client.get(f"{path}?{query}")) == [pointer]


REFUSED_OF_BODY: list[tuple[Json, list[str]]] = [
    ({"target": None}, ["/target"]),
    ({"target": "nothing"}, ["/target"]),
    ({"accept": ["png"]}, ["/accept"]),
    ({"accept": "png"}, ["/accept"]),
    ({"accept": ["image/png"] * 51}, ["/accept"]),
    ({"accept": {"image/png": 1}}, ["/accept"]),
    ({"media": "url"}, ["/media"]),
    ({"media": "signed-url"}, ["/media"]),
    ({"detail": 1}, ["/detail"]),
    ({"maxBytes": -1}, ["/maxBytes"]),
    ({"maxImages": 2**54}, ["/maxImages"]),
    ({"audience": ["user"]}, ["/audience"]),
    ({"handles": "often"}, ["/handles"]),
    ({"format": "x"}, ["/format"]),
    ({"toolResultId": None}, [""]),
    ({"toolResultId": ""}, [""]),
    ({"pageId": "p"}, [""]),
    ({"sessionId": "s", "pageId": "p"}, [""]),
    ({"pageId": "-"}, ["/pageId"]),
    ({"sessionId": "-"}, ["/sessionId"]),
    ({"level": 4}, ["/level"]),
    ({"toolCallId": ""}, ["/toolCallId"]),
    ({"since": -1}, ["/since"]),
]


@pytest.mark.parametrize(("change", "faulty"), REFUSED_OF_BODY)
def test_body_that_makes_no_sense_is_refused(
    shared_client: httpx.Client, path: str, change: Json, faulty: list[str]
) -> None:
    body = {"target": "text", "toolResultId": path.split("/")[3], **change}
    assert pointers(shared_client.post(RENDER, json=body)) == faulty


@pytest.mark.parametrize(
    ("content", "headers", "refused"),
    [
        (b"{", {"Content-Type": "application/json"}, (400, "invalid-json")),
        (b"{}", {"Content-Type": "text/plain"}, (415, "unsupported-media-type")),
        (b"[" * 2_000, {"Content-Type": "application/json"}, (413, "json-too-deep")),
    ],
)
def test_body_that_is_no_json_is_refused(
    shared_client: httpx.Client, content: bytes, headers: dict[str, str], refused: tuple[int, str]
) -> None:
    assert outcome(shared_client.post(RENDER, content=content, headers=headers)) == refused


@pytest.mark.parametrize(
    ("named", "address"),
    [
        ({"toolResultId": ABSENT}, f"/api/tool-results/{ABSENT}/render"),
        ({"toolResultId": "x"}, "/api/tool-results/x/render"),
        ({"pageId": "absent"}, "/api/pages/absent/render"),
        ({"sessionId": "absent"}, "/api/sessions/absent/render"),
    ],
)
def test_record_that_is_not_there_is_not_found(
    shared_client: httpx.Client, named: Json, address: str
) -> None:
    by_body = shared_client.post(RENDER, json={"target": "text", **named})
    by_address = shared_client.get(address, params={"target": "text"})
    assert [outcome(item) for item in (by_body, by_address)] == [(404, "not-found")] * 2
    assert by_body.json()["detail"] == by_address.json()["detail"]


@pytest.mark.promise(
    "security.md#other-projects-data",
    "Another project's record is rendered like one that does not exist",
    kept_by="app/stores/records/scope.py",
    tried="3 records",
)
def test_foreign_record_is_as_one_that_is_not_there(service: LiveService) -> None:
    with service.client() as owner, service.client() as stranger:
        record = call_tool(owner, "call_1", "theirs")
        assert isinstance(record, dict)
        put_page(owner, "theirs", content="theirs")
        for key, foreign, absent in (
            ("toolResultId", record["id"], ABSENT),
            ("sessionId", "s", "absent"),
            ("pageId", "theirs", "absent"),
        ):
            answers = [
                stranger.post(RENDER, json={"target": "text", key: item}).json()
                for item in (foreign, absent)
            ]
            for answered in answers:
                answered.pop("requestId")
            assert answers[0] == answers[1]
            assert answers[0]["status"] == 404


def test_conditions_are_judged(shared_client: httpx.Client, path: str) -> None:
    def status(name: str, value: str) -> int:
        query = {"target": "gemini"}
        answered = shared_client.get(path, params=query, headers={name: value})
        assert answered.headers.get("etag", etag) == etag
        assert answered.content == b"" or answered.status_code != 304
        return answered.status_code

    first = shared_client.get(path, params={"target": "gemini"})
    etag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    assert etag.startswith('"sha256-')
    assert [
        status("If-None-Match", etag),
        status("If-None-Match", f'"x", W/{etag}'),
        status("If-None-Match", "*"),
        status("If-None-Match", '"x"'),
        status("If-Match", etag),
        status("If-Match", "*"),
        status("If-Match", '"x"'),
        status("If-Match", f"W/{etag}"),
    ] == [304, 304, 304, 200, 200, 200, 412, 412]


def test_etag_differs_with_what_is_rendered(shared_client: httpx.Client, path: str) -> None:
    asked: list[Json] = [{"target": target} for target in TARGETS]
    asked += [{"target": "mcp", **requested} for requested in QUERIES[1:4]]
    answers = [shared_client.get(path, params=item) for item in asked]
    assert len({answer.headers["etag"] for answer in answers}) == len({a.content for a in answers})
    assert len({answer.content for answer in answers}) == len(asked)


def test_deleting_resources_changes_no_rendering(client: httpx.Client) -> None:
    path = stored(client, {"content": [image_block(media.png(9_000, 200))]})
    before = rendering(client, path, "anthropic")
    items = client.get("/api/resources").json()["items"]
    deleted = [client.delete(f"/api/resources/{item['uri']}").status_code for item in items]
    # The smaller image goes, and is made again; the one that the record holds stays.
    assert sorted(deleted) == [204, 409]
    assert rendering(client, path, "anthropic") == before


def test_no_result_is_changed_by_being_rendered(client: httpx.Client) -> None:
    path = stored(client, RESULT)
    record = path.removesuffix("/render")
    before = client.get(record)
    for target in TARGETS:
        assert client.get(path, params={"target": target}).status_code == 200
    after = client.get(record)
    assert (after.content, after.headers["etag"]) == (before.content, before.headers["etag"])


def images_of(record: Json) -> list[Image.Image]:
    """Every image of Anthropic's messages, decoded."""
    images: list[Image.Image] = []
    for message in record["messages"]:
        for result in message["content"]:
            for block in result.get("content", ()):
                if block["type"] == "image":
                    data = base64.b64decode(block["source"]["data"], validate=True)
                    image = Image.open(io.BytesIO(data))
                    image.load()
                    images.append(image)
    return images


def test_image_of_too_many_pixels_is_made_smaller(client: httpx.Client) -> None:
    path = stored(client, {"content": [image_block(media.png(9_000, 45))]})
    record = rendering(client, path, "anthropic")
    [image] = images_of(record)
    assert (image.size, image.format) == ((8_000, 40), "JPEG")
    assert steps(record) == [("/sanitized/parts/0", "original", "smaller", "too-many-pixels")]
    assert "shown as 8000x40 instead of 9000x45 pixels" in all_words(record)


@pytest.mark.parametrize(
    ("size", "mime_type", "shown"),
    [
        ((16, 14), "image/png", (37, 32)),
        ((1, 1), "image/png", (32, 32)),
        ((20, 900), "image/jpeg", (32, 1_440)),
        ((16, 14), "image/bmp", (37, 32)),
    ],
)
def test_image_of_too_few_pixels_is_enlarged_for_anthropic(
    client: httpx.Client, size: tuple[int, int], mime_type: str, shown: tuple[int, int]
) -> None:
    form = {"image/png": "PNG", "image/jpeg": "JPEG", "image/bmp": "BMP"}[mime_type]
    small = media.image(form, *size)
    path = stored(client, {"content": [image_block(small, mime_type)]})
    record = rendering(client, path, "anthropic")
    [image] = images_of(record)
    assert (image.size, image.format) == (shown, "PNG")
    expected = ("larger", "too-few-pixels")
    if mime_type == "image/bmp":
        expected = ("smaller", "type-not-taken")
    assert steps(record) == [("/sanitized/parts/0", "original", *expected)]
    words = f"shown as {shown[0]}x{shown[1]} instead of {size[0]}x{size[1]} pixels"
    assert words in all_words(record)
    if mime_type != "image/bmp":
        assert rendering(client, path, "openai-chat")["loss"] == []
        assert rendering(client, path, "bedrock")["loss"] == []


def test_strip_that_cannot_be_enlarged_stays_as_it_is(client: httpx.Client) -> None:
    path = stored(client, {"content": [image_block(media.png(8_000, 9))]})
    record = rendering(client, path, "anthropic")
    assert ([image.size for image in images_of(record)], record["loss"]) == ([(8_000, 9)], [])


@pytest.mark.slow
def test_image_in_the_record_is_made_another_one_that_nobody_stores(client: httpx.Client) -> None:
    sizes = [(1 + number % 30, 8) for number in range(260)]
    blocks = [image_block(media.image("BMP", *size), "image/bmp") for size in sizes]
    path = stored(client, {"content": blocks})
    record = rendering(client, path, "anthropic")
    # Those that are held in memory are the newest ones.
    shown = [tuple(side * 32 / min(size) for side in size) for size in sizes]
    rounded = [(round(width), round(height)) for width, height in shown]
    assert [image.size for image in images_of(record)] == rounded[4:]
    assert client.get("/api/resources").json()["items"] == []
    assert rendering(client, path, "anthropic") == record


def test_many_images_may_have_fewer_pixels_each(client: httpx.Client) -> None:
    blocks = [image_block(media.png(3_000 + number, 48)) for number in range(21)]
    few = rendering(client, stored(client, {"content": blocks[:20]}), "anthropic")
    many = rendering(client, stored(client, {"content": blocks}, "call_2"), "anthropic")
    assert [max(image.size) for image in images_of(few)] == list(range(3_000, 3_020))
    assert [max(image.size) for image in images_of(many)] == [2_000] * 21
    assert steps(many) == [
        (f"/sanitized/parts/{number}", "original", "smaller", "too-many-pixels")
        for number in range(21)
    ]


def test_image_of_too_many_bytes_is_made_smaller(client: httpx.Client) -> None:
    path = stored(client, {"content": [image_block(media.png(1_500, 1_400, noise=True))]})
    record = rendering(client, path, "bedrock")
    [shown] = [
        item["image"]
        for item in record["messages"][0]["content"][0]["toolResult"]["content"]
        if "image" in item
    ]
    assert len(shown["source"]["bytes"]) <= 5_000_000
    with Image.open(io.BytesIO(base64.b64decode(shown["source"]["bytes"]))) as image:
        image.load()
        assert (image.format or "").lower() == shown["format"]
    assert steps(record) == [("/sanitized/parts/0", "original", "smaller", "too-many-bytes")]


def objects(value: object) -> list[object]:
    """Every object in a JSON value, at whatever depth."""
    if not isinstance(value, dict | list):
        return []
    held = list(value.values()) if isinstance(value, dict) else value
    return [value, *(found for item in held for found in objects(item))]


@EVERY
def test_data_with_a_reference_in_it_is_told_whole(
    shared_client: httpx.Client, path: str, target: str
) -> None:
    record = rendering(shared_client, path, target)
    data = RESULT["structuredContent"]
    text = json.dumps(data, separators=(",", ":"))
    # Where a tool may answer with JSON it does, and else with the text of it.
    assert data in objects(record["messages"]) or text in all_words(record)
    assert text in all_words(record) or target in ("mcp", "bedrock")


CITY = {"name": "K\u00f6ln", "inhabitants": 1073096, "share": 0.1}


def sheet(rows: int) -> Json:
    """A resource that holds a table as bytes, in an address that names no file."""
    blob = b64(b"a,b\n" * rows)
    held = {"uri": "file:///data/a-b", "mimeType": "text/csv", "blob": blob}
    return {"type": "resource", "resource": held}


TOLD_TWICE: list[Json] = [
    {"content": [{"type": "text", "text": "1073096"}], "structuredContent": {"result": 1073096}},
    {
        "content": [{"type": "text", "text": json.dumps(CITY, indent=2)}],
        "structuredContent": CITY,
    },
    {
        "content": [{"type": "text", "text": json.dumps(CITY)}, image_block(PNG)],
        "structuredContent": {
            "result": [{"type": "text", "text": json.dumps(CITY)}, image_block(PNG)]
        },
    },
    {
        "content": [{"type": "text", "text": "1073096 or so\n" * 1_000}],
        "structuredContent": {"content": "1073096 or so\n" * 1_000},
    },
    *(
        {"content": [sheet(rows)], "structuredContent": {"content": [sheet(rows)]}}
        for rows in (1, 50, 2_000, 30_000)
    ),
]


@pytest.mark.slow
@EVERY
def test_what_a_tool_returned_twice_is_told_once(shared_client: httpx.Client, target: str) -> None:
    for number, result in enumerate(TOLD_TWICE):
        once = stored(shared_client, {"content": result["content"]}, f"once_{number}")
        path = stored(shared_client, result, f"twice_{number}")
        plain = rendering(shared_client, once, target)
        twice = rendering(shared_client, path, target)
        if target == "mcp":
            held = [message.pop("structuredContent") for message in twice["messages"]]
            assert [type(item) for item in held] == [dict]
        fit = TARGETS[target].call_id.fit
        spelled = json.dumps(plain["messages"]).replace(
            fit(f"once_{number}"), fit(f"twice_{number}")
        )
        assert json.dumps(twice["messages"]) == spelled
        assert twice["loss"] == plain["loss"]


BLOCKS_OF_MCP: dict[str, Json] = {
    "text resource": {
        "type": "resource",
        "resource": {"uri": "file:///srv/prod/app.env", "mimeType": "text/plain", "text": "A=0"},
    },
    "JSON resource": {
        "type": "resource",
        "resource": {"uri": "file:///a.json", "mimeType": "application/json", "text": '{"a":1}'},
        "annotations": {"priority": 0.5},
        "_meta": {"io.example/kind": "settings"},
    },
    "app": {
        "type": "resource",
        "resource": {
            "uri": "ui://weather/view",
            "mimeType": "text/html;profile=mcp-app",
            "text": "<!doctype html><p>Sunny</p>",
            "_meta": {"ui": {"prefersBorder": True}},
        },
    },
    "bytes": {
        "type": "resource",
        "resource": {
            "uri": "file:///srv/report.pdf",
            "mimeType": "application/pdf",
            "blob": media.b64(media.pdf()),
        },
        "_meta": {"io.example/page": 3},
    },
    "image resource": {
        "type": "resource",
        "resource": {
            "uri": "file:///srv/a.png",
            "mimeType": "image/png",
            "blob": media.b64(media.png()),
        },
    },
    "link": {
        "type": "resource_link",
        "uri": "file:///srv/notes.md",
        "name": "notes.md",
        "title": "Notes",
        "mimeType": "text/markdown",
        "size": 1_200,
        "description": "What was said.\nAnd by whom.",
        "annotations": {"audience": ["assistant"]},
        "_meta": {"io.example/n": 2**60},
    },
    "least link": {"type": "resource_link", "uri": "https://a.example/x", "name": "x"},
    "text": {"type": "text", "text": "Hi.", "_meta": {"io.example/of": [1, None]}},
    "image": {
        "type": "image",
        "data": media.b64(media.png()),
        "mimeType": "image/png",
        "_meta": {"io.example/dpi": 72},
    },
}


@pytest.mark.parametrize("name", BLOCKS_OF_MCP)
def test_blocks_of_mcp_are_rendered_for_it_as_they_came(
    shared_client: httpx.Client, name: str
) -> None:
    block = BLOCKS_OF_MCP[name]
    sent = {"content": [block], "_meta": {"ui": {"resourceUri": "ui://weather/view"}}}
    path = stored(shared_client, sent, f"mcp {name}")
    record = rendering(shared_client, path, "mcp")
    (message,) = record["messages"]
    assert message["content"] == [block]
    assert message["_meta"]["ui"] == {"resourceUri": "ui://weather/view"}
    assert record["loss"] == []
    if name in ("text resource", "link"):
        read = all_words(rendering(shared_client, path, "openai-chat"))
        assert read.count(block.get("uri") or block["resource"]["uri"]) == 1


def test_revision_of_mcp_says_what_structured_content_may_be(client: httpx.Client) -> None:
    said = [{"type": "text", "text": "a"}]
    path = stored(client, {"content": said, "structuredContent": [1, "b"]})
    newest = rendering(client, path, "mcp")
    older = rendering(client, path, "mcp", protocolVersion="2025-11-25")
    assert newest["messages"][0]["structuredContent"] == [1, "b"]
    assert "structuredContent" not in older["messages"][0]
    assert older["messages"][0]["content"] == [*said, {"type": "text", "text": '[1,"b"]'}]
    assert older["loss"] == []
    for oldest in ("2025-03-26", "2024-11-05"):
        assert rendering(client, path, "mcp", protocolVersion=oldest) == older
    refused = client.get(path, params={"target": "mcp", "protocolVersion": "2025"})
    assert pointers(refused) == ["/query/protocolVersion"]


@pytest.mark.parametrize(
    ("revision", "loss"),
    [
        ("2024-11-05", ["address-not-taken"]),
        ("2025-03-26", ["address-not-taken"]),
        ("2025-06-18", []),
    ],
)
def test_address_is_told_in_words_before_mcp_had_links(
    client: httpx.Client, revision: str, loss: list[str]
) -> None:
    address = "https://files.example/a.png"
    path = stored(client, {"content": [{"type": "image", "url": address}]})
    record = rendering(client, path, "mcp", protocolVersion=revision)
    [block] = record["messages"][0]["content"]
    assert [item["code"] for item in record["loss"]] == loss
    assert (block["type"], address in str(block)) == ("text" if loss else "resource_link", True)


@EVERY
@pytest.mark.parametrize("declared", [{}, {"mimeType": "image/webp"}])
def test_image_at_an_address_without_an_extension_is_one(
    shared_client: httpx.Client, target: str, declared: Json
) -> None:
    block = {"type": "image", "url": "https://files.example/chart", **declared}
    path = stored(shared_client, {"content": [block]}, f"address_{len(declared)}")
    record = rendering(shared_client, path, target)
    rule = TARGETS[target].media.get("image")
    assert (record["loss"] == []) == (rule is not None and bool(rule.addresses))
    assert "https://files.example/chart" in all_words(record)


@pytest.fixture(scope="module")
def public(
    backends: Backends, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveService]:
    """A service that providers reach."""
    settings = backends.settings(engine, tmp_path_factory.mktemp("public"))
    with serving(settings.model_copy(update={"public_url": PUBLIC_URL})) as live:
        yield live


@EVERY
def test_signed_urls_work_without_a_key(public: LiveService, target: str) -> None:
    with public.client() as client:
        path = stored(client, RESULT)
        inline = rendering(client, path, target)
        record = rendering(client, path, target, media="signed-url")
        urls = [text for text in strings(record["messages"]) if text.startswith(PUBLIC_URL)]
    assert record["loss"] == inline["loss"]
    with httpx.Client(base_url=public.base_url, trust_env=False, verify=TRUSTS_NOBODY) as anyone:
        answers = [anyone.get(url.removeprefix(PUBLIC_URL)) for url in urls]
    assert [answer.status_code for answer in answers] == [200] * len(urls)
    loaded = [answer.content for answer in answers]
    attached = [item for item in (JPEG, media.wav(), PDF) if shows(inline, item)]
    left = [item for item in attached if shows(record, item)]
    assert sorted([*loaded, *left]) == sorted(attached)
    kinds = {JPEG: "image", media.wav(): "audio", PDF: "document"}
    rules = TARGETS[target].media
    assert sorted(loaded) == sorted(
        item
        for item in attached
        if rules[kinds[item]].addresses  # type: ignore[index]
    )


def test_signed_urls_of_smaller_images_work_too(public: LiveService) -> None:
    with public.client() as client:
        path = stored(client, {"content": [image_block(media.png(9_000, 45))]})
        record = rendering(client, path, "anthropic", media="signed-url")
        [url] = [text for text in strings(record["messages"]) if text.startswith(PUBLIC_URL)]
    answered = httpx.get(
        public.base_url + url.removeprefix(PUBLIC_URL), trust_env=False, verify=TRUSTS_NOBODY
    )
    with Image.open(io.BytesIO(answered.content)) as image:
        assert image.size == (8_000, 40)


@pytest.mark.parametrize("target", TARGETS)
def test_signed_urls_need_an_address_of_the_service(
    shared_client: httpx.Client, path: str, target: str
) -> None:
    answered = shared_client.get(path, params={"target": target, "media": "signed-url"})
    assert pointers(answered) == ["/media"]
    assert "PAGEFAULT_PUBLIC_URL" in answered.json()["detail"]


@pytest.mark.slow
def test_same_call_gives_the_same_bytes_after_a_restart(settings: Settings) -> None:
    asked = [{"target": target, **requested} for target in TARGETS for requested in QUERIES[:2]]
    large = {"content": [*RESULT["content"], image_block(media.png(9_000, 45))]}
    with serving(settings) as service:
        key = service.new_key("p")
        with service.client(key) as client:
            path = stored(client, large)
            first = [client.get(path, params=item) for item in asked]
            second = [client.get(path, params=item) for item in asked]
    with serving(settings) as service, service.client(key) as client:
        third = [client.get(path, params=item) for item in asked]
    told_thrice = [
        [(answer.status_code, answer.headers["etag"], answer.content) for answer in answers]
        for answers in (first, second, third)
    ]
    assert told_thrice[0] == told_thrice[1] == told_thrice[2]


# Several processes are there where the stores are servers.
@pytest.mark.slow
@pytest.mark.engines("server")
@pytest.mark.timeout(180)
def test_two_processes_give_the_same_bytes(
    backends: Backends, engine: Engine, pagefault: LoadedCommand, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    state: StoredState = EmbeddedState(folder) if engine == "embedded" else ServerState(backends)
    env = {**state.env, "PAGEFAULT_AUTH": "api-key"}
    made = pagefault.run("keys", "create", "--project", "p", "--data-dir", str(folder), env=env)
    key = made.stdout.strip()
    large = {"content": [*RESULT["content"], image_block(media.png(9_000, 45))]}
    with (
        PagefaultProcess(folder, env=env, is_installed=True) as one,
        PagefaultProcess(folder, env=env) as other,
        one.client(key) as first,
        other.client(key) as second,
    ):
        path = stored(first, large)
        for target in reversed(list(TARGETS)):
            answers = [
                client.get(path, params={"target": target}) for client in (second, first, second)
            ]
            refused = [answer.text[:500] for answer in answers if answer.status_code != 200]
            assert refused == []
            assert len({answer.headers["etag"] for answer in answers}) == 1
            assert len({answer.content for answer in answers}) == 1
            read_rendering(answers[0], target)


def test_base64_is_that_of_the_stored_bytes(shared_client: httpx.Client, path: str) -> None:
    record = rendering(shared_client, path, "mcp")
    content = record["messages"][0]["content"]
    assert [item["data"] for item in content if "data" in item] == [
        b64(JPEG),
        b64(media.wav()),
    ]


def rows(number: int) -> list[Json]:
    """A table that is too long for a record."""
    return [{"row": name, "name": f"K\u00f6ln {name}", "share": 0.1} for name in range(number)]


LONG_TEXT = "1073096 or so\n" * 10_000
LONG_TWICE: list[tuple[Json, str]] = [
    ({"result": LONG_TEXT}, LONG_TEXT),
    ({"rows": rows(3_000)}, json.dumps({"rows": rows(3_000)}, indent=2)),
    ({"result": rows(3_000)}, json.dumps(rows(3_000))),
]


@pytest.fixture(scope="module", params=range(len(LONG_TWICE)))
def long_twice(
    request: pytest.FixtureRequest, shared_client: httpx.Client
) -> tuple[str, str, Json]:
    """A long result, the same with structured content, and that content."""
    value, text = LONG_TWICE[request.param]
    result = {"content": [{"type": "text", "text": text}]}
    once = stored(shared_client, result, "once")
    return once, stored(shared_client, result | {"structuredContent": value}, "twice"), value


@pytest.mark.slow
@EVERY
def test_what_is_too_long_for_a_record_is_told_once_as_well(
    shared_client: httpx.Client, target: str, long_twice: tuple[str, str, Json]
) -> None:
    *paths, value = long_twice
    once, twice = (rendering(shared_client, path, target) for path in paths)
    if target == "mcp":
        assert [message.pop("structuredContent") for message in twice["messages"]] == [value]
    fit = TARGETS[target].call_id.fit
    spelled = json.dumps(once["messages"]).replace(fit("once"), fit("twice"))
    assert json.dumps(twice["messages"]) == spelled
    assert twice["loss"] == once["loss"]


@EVERY
def test_structured_content_too_long_for_words_is_shown_where_it_has_a_place_of_its_own(
    shared_client: httpx.Client, target: str
) -> None:
    value = {"rows": rows(3_000)}
    said = [{"type": "text", "text": "3000 rows."}]
    path = stored(shared_client, {"content": said, "structuredContent": value}, "long")
    record = rendering(shared_client, path, target)
    left_out = [("/sanitized/meta/structuredContent", "structuredContent", "nothing")]
    if target == "mcp":
        assert record["messages"][0]["structuredContent"] == value
        assert record["messages"][0]["content"] == said
        assert record["loss"] == []
        older = rendering(shared_client, path, "mcp", protocolVersion="2025-03-26")
        assert "structuredContent" not in older["messages"][0]
        assert steps(older) == [(*left_out[0], "stored-apart")]
        return
    assert steps(record) == [(*left_out[0], "stored-apart")]
    [entry] = record["loss"]
    whole = shared_client.get(entry["restore"].removeprefix("GET "), params={"pointer": "/rows/7"})
    assert whole.json()["value"] == value["rows"][7]


def test_structured_contents_of_a_history_are_shown_up_to_a_length_of_them_all(
    client: httpx.Client,
) -> None:
    value = {"text": "a" * 1_500_000}
    for number in range(4):
        structured = value | {"number": number}
        result = {"content": [{"type": "text", "text": "ok"}], "structuredContent": structured}
        call_tool(client, f"call_{number}", result)
    record = rendering(client, "/api/sessions/s/render", "mcp")
    answers = [message for message in record["messages"] if "resultType" in message]
    responses = [answer.get("structuredContent", {}).get("number") for answer in answers]
    assert responses == [0, 1, None, None]
    assert [(entry["seq"], entry["code"]) for entry in record["loss"] if entry["seq"] > 2] == [
        (3, "no-call"),
        (3, "stored-apart"),
        (4, "no-call"),
        (4, "stored-apart"),
    ]
