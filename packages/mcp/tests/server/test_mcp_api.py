"""`/mcp`: the memory as a server of MCP, asked by the client of the official SDK."""

import base64
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from app.config.settings import QuotaSettings
from app.wiring.stores import open_access
from pagefault_dialects.context.cut_arguments import cut_arguments
from pagefault_dialects.targets.tokens import count_tokens
from tests.contract.page_requests import put
from tests.contract.session_requests import append, call_tool, listed, upload
from tests.kit import media
from tests.kit.media import b64
from tests.kit.servers import Backends, LiveService, serving

pytestmark = [pytest.mark.anyio, pytest.mark.engines("embedded")]

PICTURE = media.png(noise=True)
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
NOTES = "pagefault://pages/notes"
LONG = "Ten sheep. " * 30_000
REQUESTS = 10
ACCEPTED = {"Accept": "application/json, text/event-stream"}
JSON = {"Content-Type": "application/json"}
SAVE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "save_page", "arguments": {"content": "Ten sheep."}},
}
NO_SESSION = (
    "The call was not run: session has to be a name that starts with a letter or digit and has up "
    "to 128 of A-Z a-z 0-9 . _ : -, such as trip-2."
)


@pytest.fixture
def key(service: LiveService) -> str:
    return service.new_key()


@pytest.fixture
def own(service: LiveService, key: str) -> Any:  # noqa: ANN401 - a fixture that yields
    with service.client(key) as client:
        yield client


@pytest.fixture(scope="module")
def guarded(
    backends: Backends, service: LiveService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, httpx.Client]]:
    """Clients of a service that asks for no keys, and of one that does, with nothing stored."""
    settings = backends.settings("embedded", tmp_path_factory.mktemp("open") / "data")
    with (
        serving(settings.model_copy(update={"auth": "none"})) as open_service,
        httpx.Client(base_url=open_service.base_url, trust_env=False) as anybody,
        service.client() as keyed,
    ):
        yield {"none": anybody, "api-key": keyed}


@pytest.fixture(scope="module")
def limited(backends: Backends, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service with small quotas."""
    settings = backends.settings("embedded", tmp_path_factory.mktemp("limited") / "data")
    quotas = QuotaSettings(
        requests_per_minute=REQUESTS, body_bytes_per_day=300_000, stored_bytes=1_000
    )
    with serving(settings.model_copy(update={"quotas": quotas})) as live:
        yield live


@asynccontextmanager
async def asking(
    service: LiveService,
    key: str,
    path: str = "/mcp?session=s",
    mode: Any = "auto",  # noqa: ANN401
) -> AsyncIterator[Client]:
    """A client of a key's project."""
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http:
        transport = streamable_http_client(service.base_url + path, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def list_media(client: Client, times: int) -> None:
    for _ in range(times):
        await client.call_tool("list_media")


def put_notes(
    client: httpx.Client,
    content: str = "Ten sheep.",
    page_id: str = "notes",
    modality: str = "text",
) -> None:
    page = {"modality": modality, "content": content, "caption": "flock"}
    assert client.put(f"/api/pages/{page_id}", json=page).is_success


def remove(client: httpx.Client, resource_id: str) -> None:
    assert client.delete(f"/api/resources/{resource_id}").is_success


def texts(result: Any) -> str:  # noqa: ANN401 - of the SDK
    return "\n".join(block.text for block in result.content if block.type == "text")


async def contents(client: Client, uri: str) -> list[Any]:
    return list((await client.read_resource(uri)).contents)


@MODES
async def test_tools_run_in_the_session_of_the_address(
    service: LiveService, key: str, own: httpx.Client, mode: str
) -> None:
    put_notes(own)
    async with asking(service, key, mode=mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        page = await client.call_tool("page_fault", {"page_id": "notes", "target_level": 0})
        failed = await client.call_tool("page_fault", {"page_id": "absent"})
    assert names == [
        *("page_fault", "search_pages", "read_text", "view_media", "save_page", "list_media")
    ]
    assert (page.is_error, texts(page)) == (False, "Page notes (text, FULL):\nTen sheep.")
    assert failed.is_error
    assert "There is no page absent" in texts(failed)
    assert len(listed(own, "/api/sessions/s/messages")) == 4


@MODES
async def test_image_is_shown_with_its_handle(
    service: LiveService, key: str, own: httpx.Client, mode: str
) -> None:
    record = call_tool(own, "seen", [{"type": "image", "data": b64(PICTURE)}])
    assert isinstance(record, dict)
    handle = record["sanitized"]["parts"][0]["image"]
    async with asking(service, key, mode=mode) as client:
        result = await client.call_tool("view_media", {"ref": handle})
    (image,) = [block for block in result.content if block.type == "image"]
    assert base64.b64decode(image.data) == PICTURE
    assert handle in texts(result)


@MODES
async def test_image_within_an_entry_is_shown_with_its_handle(
    service: LiveService, key: str, own: httpx.Client, mode: str
) -> None:
    small = media.png(32, 32)
    call_tool(own, "seen", [{"type": "image", "data": b64(small)}])
    digest = hashlib.sha256(small).hexdigest()[:12]
    async with asking(service, key, mode=mode) as client:
        result = await client.call_tool("view_media", {"ref": f"@entry:1/{digest}"})
    (image,) = [block for block in result.content if block.type == "image"]
    assert base64.b64decode(image.data) == small
    assert f"@entry:3/{digest}" in texts(result)


@MODES
async def test_texts_of_pages_and_histories_are_read_within_bounds(
    service: LiveService, key: str, own: httpx.Client, mode: str
) -> None:
    put(own, "long", content=LONG, modality="text")
    cut = cut_arguments({"content": "x" * 900}, "@entry:2/arguments/0")["content"]
    async with asking(service, key, mode=mode) as client:
        fault = await client.call_tool("page_fault", {"page_id": "long", "target_level": 0})
        piece = await client.call_tool("read_text", {"ref": "long", "offset": 11, "limit": 10})
        entries = await client.call_tool("read_text", {"ref": "@entries:1-3"})
        saved = await client.call_tool("save_page", {"content": cut})
    assert count_tokens(texts(fault)) <= 8_000
    assert 'read_text("long", offset=' in texts(fault)
    assert texts(piece).endswith("\nTen sheep.")
    _, call, result, *_ = texts(entries).splitlines()
    assert call == '1 assistant calls page_fault {"page_id":"long","target_level":0}'
    assert result.startswith("2 tool page_fault, ")
    assert saved.is_error
    assert 'Call read_text with ref "@entry:2/arguments/0/content" first' in texts(saved)


@pytest.mark.promise(
    "security.md#other-projects-data",
    "A model at `/mcp` uses the session of the address alone, unless that says `scope=project`",
    kept_by="packages/mcp/src/pagefault_mcp/server/memory_server.py",
    tried="each tool, with another session and with a handle of one, in two revisions",
)
@MODES
@pytest.mark.parametrize(("path", "own_session"), [("/mcp", "mcp"), ("/mcp?session=s", "s")])
async def test_session_outside_the_address_is_refused(
    service: LiveService, key: str, own: httpx.Client, path: str, own_session: str, mode: str
) -> None:
    uri = upload(own, b"a,b\n1,2\n", filename="t.csv")["uri"]
    append(own, "other", content=f"@{uri}")
    before = [item["id"] for item in listed(own, "/api/sessions/other/messages")]
    async with asking(service, key, path, mode=mode) as client:
        tools = (await client.list_tools()).tools
        named = [
            await client.call_tool(tool.name, {"ref": uri, "session": "other"}) for tool in tools
        ]
        handle = await client.call_tool("read_text", {"ref": uri})
        for session in (None, own_session):
            assert not (await client.call_tool("list_media", {"session": session})).is_error
    takes_session = [tool.name for tool in tools if "session" in tool.input_schema["properties"]]
    assert takes_session == ["list_media"]
    assert {texts(item) for item in named} == {
        f"The call was not run: this memory is that of the session {own_session}, and session "
        "names another one. Leave session out."
    }
    assert all(item.is_error for item in (*named, handle))
    assert [item["id"] for item in listed(own, "/api/sessions/other/messages")] == before


async def test_handles_and_sessions_of_the_project_are_known_where_the_address_says_so(
    service: LiveService, key: str, own: httpx.Client
) -> None:
    uri = upload(own, b"a,b\n1,2\n", filename="t.csv")["uri"]
    append(own, "other", content=f"@{uri}")
    async with asking(service, key, "/mcp?scope=project&session=s") as client:
        read = [
            await client.call_tool("read_text", {"ref": uri, "session": session})
            for session in (None, "other")
        ]
    assert [texts(item).endswith("a,b\n1,2\n") for item in read] == [True, True]
    sessions = [item["id"] for item in listed(own, "/api/sessions")]
    assert sorted(sessions) == ["other", "s"]


async def test_session_is_a_parameter_where_the_address_says_that_any_may_be_named(
    service: LiveService, key: str, own: httpx.Client
) -> None:
    async with asking(service, key, "/mcp?scope=project") as client:
        for tool in (await client.list_tools()).tools:
            assert "session" in tool.input_schema["required"]
        await client.call_tool("save_page", {"content": "Ten sheep.", "session": "here"})
        await client.call_tool("list_media", {"session": None})
        for session in ("no such name", 5, "", 0, False):
            refused = await client.call_tool("list_media", {"session": session})
            assert (refused.is_error, texts(refused)) == (True, NO_SESSION)
    sessions = [item["id"] for item in listed(own, "/api/sessions")]
    assert sorted(sessions) == ["here", "mcp"]


@pytest.mark.slow
@MODES
async def test_pages_and_resources_are_listed_with_cursors_and_read(
    service: LiveService, key: str, own: httpx.Client, mode: str
) -> None:
    put_notes(own)
    for number in range(60):
        put_notes(own, str(number), f"page_{number}")
    text, picture = upload(own, b"one\ntwo\nthree\n", filename="a.txt"), upload(own, PICTURE)
    async with asking(service, key, mode=mode) as client:
        found: dict[str, Any] = {}
        cursor = None
        while True:
            page = await client.list_resources(cursor=cursor)
            found |= {resource.uri: resource for resource in page.resources}
            cursor = page.next_cursor
            if cursor is None:
                break
        (notes,) = await contents(client, NOTES)
        image_uri = f"pagefault://resources/{picture['uri'].removeprefix('blob:')}"
        (image,) = await contents(client, image_uri)
        text_uri = f"pagefault://resources/{text['uri'].removeprefix('blob:')}"
        (whole,) = await contents(client, text_uri)
        (lines,) = await contents(client, f"{text_uri}?lines=2-3")
        templates = (await client.list_resource_templates()).resource_templates
    newest_first = [f"pagefault://pages/page_{number}" for number in reversed(range(60))]
    assert [*found][:61] == [*newest_first, NOTES]
    assert {*[*found][61:]} == {text_uri, image_uri}
    assert (found[NOTES].name, found[NOTES].title) == ("notes", "flock")
    assert (found[text_uri].name, found[text_uri].size) == ("a.txt", 14)
    assert notes.text == "Page notes (text, FULL):\nTen sheep."
    assert base64.b64decode(image.blob) == PICTURE
    assert (whole.text, lines.text) == ("one\ntwo\nthree\n", "two\nthree")
    assert [template.name for template in templates] == ["page", "resource"]


@MODES
async def test_page_at_an_address_is_told_in_words_and_promises_no_image(
    service: LiveService, key: str, own: httpx.Client, mode: str
) -> None:
    for modality, name in (("image", "a.png"), ("audio", "a.wav")):
        put_notes(own, f"https://a.test/{name}", modality, modality)
    async with asking(service, key, mode=mode) as client:
        (image,) = await contents(client, "pagefault://pages/image")
        (reduced,) = await contents(client, "pagefault://pages/image?level=1")
        (sound,) = await contents(client, "pagefault://pages/audio")
    words = '  [Image: image/png (https://a.test/a.png)]\n  "flock"'
    assert [part.text for part in (image, reduced, sound)] == [
        f"Page image (image, FULL — caption only):\n{words}",
        f"Page image (image, REDUCED — caption only):\n{words}",
        "Page audio (audio, FULL):\n  [audio, no transcript available]\n"
        "  URL: https://a.test/a.wav (audio/wav)",
    ]


@MODES
async def test_image_of_a_page_is_made_smaller_if_it_has_more_than_eight_mebibytes(
    service: LiveService, key: str, own: httpx.Client, mode: str
) -> None:
    picture = media.image("PNG", 2_000, 1_600, noise=True)
    assert len(picture) > 8 * 1024 * 1024
    put_notes(own, f"@{upload(own, picture)['uri']}", "large", "image")
    async with asking(service, key, mode=mode) as client:
        words, image = await contents(client, "pagefault://pages/large")
    assert words.text == "Page large (image, FULL):\n  [image attached below]"
    assert 1_000 < len(image.blob) <= 8 * 1024 * 1024


@pytest.mark.slow
@MODES
async def test_lines_that_are_asked_for_are_all_there_or_refused(
    service: LiveService, key: str, own: httpx.Client, mode: str
) -> None:
    lines = [f"line {number} é" for number in range(1, 100_001)]
    uri = upload(own, "\n".join(lines).encode(), filename="l.txt")["uri"].removeprefix("blob:")
    async with asking(service, key, mode=mode) as client:
        address = f"pagefault://resources/{uri}?lines="
        (many,) = await contents(client, f"{address}10-20000")
        (last,) = await contents(client, f"{address}-9000")
        with pytest.raises(MCPError) as refused:
            await contents(client, f"{address}1-")
        before = refused.value.error.message.removesuffix(" first.").rpartition(" ")[2]
        (begun,) = await contents(client, f"{address}1-{int(before) - 1}")
    assert many.text.split("\n") == lines[9:20_000]
    assert last.text.split("\n") == lines[-9000:]
    assert begun.text.split("\n") == lines[: int(before) - 1]
    assert (refused.value.error.code, refused.value.error.message) == (
        -32602,
        "These lines have more than 1048576 bytes, which are the most that are sent at once. Ask "
        f"for those before line {before} first.",
    )


@MODES
async def test_text_is_read_in_the_encoding_that_its_beginning_says(
    service: LiveService, key: str, own: httpx.Client, mode: str
) -> None:
    text = "one é\ntwo\n"
    uri = upload(own, text.encode("utf-16"), filename="w.txt")["uri"].removeprefix("blob:")
    async with asking(service, key, mode=mode) as client:
        (whole,) = await contents(client, f"pagefault://resources/{uri}")
        (line,) = await contents(client, f"pagefault://resources/{uri}?lines=1")
    assert (whole.text, line.text) == (text, "one é")


@MODES
async def test_what_is_not_there_or_another_projects_is_an_error_of_the_protocol(
    service: LiveService, key: str, own: httpx.Client, mode: str
) -> None:
    with service.client() as other:
        put_notes(other)
        theirs = upload(other, PICTURE)["uri"].removeprefix("blob:")
    async with asking(service, key, mode=mode) as client:
        uris = [
            *(NOTES, f"{NOTES}?level=9", f"pagefault://resources/{theirs}", "file:///etc/passwd"),
            *("pagefault://resources/../../etc/passwd", "pagefault://pages/"),
        ]
        for uri in uris:
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.error.code == -32602
        for cursor in ("made-up", "pages:made-up", "resources:made-up"):
            with pytest.raises(MCPError, match="not one this list handed out") as refused:
                await client.list_resources(cursor=cursor)
            assert refused.value.error.code == -32602
        assert (await client.list_resources()).resources == []


async def test_changes_of_pages_are_told_to_those_who_listen_and_to_no_other_project(
    service: LiveService, key: str, own: httpx.Client
) -> None:
    put_notes(own)
    with service.client() as other:
        async with (
            asking(service, key) as client,
            client.listen(
                resources_list_changed=True, resource_subscriptions=[NOTES]
            ) as subscription,
        ):
            put_notes(other, "Of another project.")
            put_notes(own, "Nine sheep.")
            put_notes(own, "More.", "more")
            with anyio.fail_after(20):
                events = [await anext(subscription), await anext(subscription)]
    assert events == [ResourceUpdated(NOTES), ResourcesListChanged()]


async def test_files_that_come_and_go_change_the_list_for_those_who_listen_to_it(
    service: LiveService, key: str, own: httpx.Client
) -> None:
    async with (
        asking(service, key) as client,
        client.listen(resources_list_changed=True, resource_subscriptions=[NOTES]) as subscription,
    ):
        stored = upload(own, PICTURE)["uri"].removeprefix("blob:")
        with anyio.fail_after(20):
            assert await anext(subscription) == ResourcesListChanged()
        remove(own, stored)
        with anyio.fail_after(20):
            assert await anext(subscription) == ResourcesListChanged()


async def test_subscription_ends_when_its_key_is_revoked(service: LiveService, key: str) -> None:
    async with (
        asking(service, key) as client,
        client.listen(resource_subscriptions=[NOTES]) as subscription,
    ):
        async with open_access(service.settings) as access:
            assert await access.revoke_key(key.split("_")[1])
        with anyio.fail_after(20):
            assert [event async for event in subscription] == []


async def test_who_has_no_key_is_refused(service: LiveService, key: str) -> None:
    async with httpx.AsyncClient(base_url=service.base_url, trust_env=False) as client:
        nobody = await client.post("/mcp", json=SAVE, headers=ACCEPTED)
        keyed = {**ACCEPTED, "Authorization": f"Bearer {key}"}
        served = await client.post("/mcp", json=SAVE, headers=keyed)
    problem = nobody.json()["error"]["data"]
    assert (nobody.status_code, problem["code"], served.status_code) == (401, "unauthorized", 200)
    assert nobody.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("auth", "headers", "status"),
    [
        ("none", {"Host": "rebound.example"}, 421),
        ("none", {"Origin": "https://evil.example"}, 403),
        ("none", {"Origin": "null"}, 403),
        ("api-key", {"Origin": "https://evil.example"}, 403),
        ("api-key", {"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_page_under_a_rebound_name_or_of_another_origin_calls_no_tool(
    guarded: dict[str, httpx.Client], auth: str, headers: dict[str, str], status: int
) -> None:
    client = guarded[auth]
    refused = client.post("/mcp", json=SAVE, headers={**ACCEPTED, **headers})
    assert (refused.status_code, listed(client, "/api/pages")) == (status, [])
    problem = client.post("/api/resources", headers=headers).json()
    answer = refused.json()
    ids = {"instance": "/mcp", "requestId": answer["error"]["data"]["requestId"]}
    error = {"code": -32600, "message": problem["detail"], "data": {**problem, **ids}}
    assert answer == {"jsonrpc": "2.0", "id": None, "error": error}


@MODES
async def test_quota_of_requests_that_is_used_up_is_an_error_of_the_protocol(
    limited: LiveService, mode: str
) -> None:
    async with asking(limited, limited.new_key(), mode=mode) as client:
        with pytest.raises(MCPError) as refused:
            await list_media(client, times=REQUESTS)
    error = refused.value.error
    assert error.message.startswith("This key has used up its quota of requests; there is more")
    assert (error.code, error.data["code"]) == (-32600, "quota-exceeded")
    assert error.data["violated-policies"] == ["requests"]


@pytest.mark.slow
@MODES
async def test_body_that_is_too_large_is_an_error_of_the_protocol(
    limited: LiveService, mode: str
) -> None:
    outcomes = []
    async with asking(limited, limited.new_key(), mode=mode) as client:
        for chars in (24 * 1024 * 1024, 4 * 1024 * 1024, 200_000, 200_000):
            try:
                saved = await client.call_tool("save_page", {"content": "x" * chars})
            except MCPError as exc:
                # How long it takes for more of a quota is another number each time.
                outcomes.append((exc.error.code, exc.error.message.partition(" in ")[0]))
            else:
                outcomes.append((0, texts(saved).partition(" page")[0]))
    too_large = (-32600, "A request body may have 4194304 bytes at most. Nothing was stored.")
    assert outcomes == [
        too_large,
        too_large,
        (0, "Saved as"),
        (-32600, "This key has used up its quota of bytes; there is more of it"),
    ]


@MODES
async def test_address_with_a_slash_at_its_end_is_served_alike(
    service: LiveService, key: str, mode: str
) -> None:
    outcomes = []
    for path in ("/mcp?session=s", "/mcp/?session=s"):
        async with asking(service, key, path, mode) as client:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("save_page", {"content": "x" * 4 * 1024 * 1024})
            outcomes.append((refused.value.error.message, await client.list_tools()))
    too_large = "A request body may have 4194304 bytes at most. Nothing was stored."
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == too_large


@MODES
async def test_transfer_of_files_of_a_draft_is_offered_nowhere(
    service: LiveService, key: str, mode: str
) -> None:
    async with asking(service, key, mode=mode) as client:
        offered = client.server_capabilities.model_dump(mode="json")
        tools = await client.list_tools()
    assert "files" not in offered
    assert not {"x-mcp-file", "inputFiles"} & set(tools.model_dump_json().split('"'))


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_every_method_and_guard_of_the_address_knows_its_slash(
    guarded: dict[str, httpx.Client], path: str
) -> None:
    client = guarded["none"]
    foreign = {**ACCEPTED, "Origin": "https://evil.example"}
    refused = [
        client.get(path, headers=ACCEPTED),
        client.delete(path, headers=ACCEPTED),
        client.post(path, json=SAVE, headers=foreign),
        client.post(path, content=b"[" * 5_000, headers={**ACCEPTED, **JSON}),
        guarded["api-key"].post(path, json=SAVE, headers={**ACCEPTED, "Authorization": "Bearer x"}),
    ]
    assert [answer.status_code for answer in refused] == [405, 405, 403, 413, 401]
    assert {answer.json()["error"]["data"]["instance"] for answer in refused} == {"/mcp"}
    assert client.post(f"{path}/", json=SAVE, headers=ACCEPTED).status_code == (
        200 if path == "/mcp" else 404
    )


@MODES
async def test_quota_of_stored_bytes_that_is_used_up_is_told_to_the_model(
    limited: LiveService, mode: str
) -> None:
    content = f"data:image/png;base64,{b64(PICTURE)}"
    async with asking(limited, limited.new_key(), mode=mode) as client:
        refused = await client.call_tool("save_page", {"content": content})
        listed = await client.call_tool("list_media")
    assert (refused.is_error, texts(refused)) == (
        True,
        "There is no room left for what this call stores, and nothing was stored; reading still "
        "works. Tell the user: whoever runs this memory has to make room. (stored-bytes-quota)",
    )
    assert not listed.is_error


@pytest.mark.parametrize(
    ("query", "code", "fault"),
    [
        (
            "session=no%20name",
            "invalid-payload",
            "is no id, which starts with a letter or digit and has up to 128 of A-Z a-z 0-9 . _ : "
            "-",
        ),
        (
            "sesion=a",
            "unknown-parameter",
            "is no parameter of this route; did you mean `session`? It takes `session`, `scope`",
        ),
        ("scope=all", "invalid-payload", "has to be session or project"),
        (
            "session=a&session=b",
            "unknown-parameter",
            "is given more than once, and is taken once",
        ),
    ],
)
async def test_address_that_names_no_session_or_two_is_refused(
    service: LiveService, key: str, query: str, code: str, fault: str
) -> None:
    headers = {**ACCEPTED, "Authorization": f"Bearer {key}"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    async with httpx.AsyncClient(base_url=service.base_url, trust_env=False) as client:
        odd = await client.post(f"/mcp?{query}", json=body, headers=headers)
    pointer = f"/query/{query.partition('=')[0]}"
    problem = odd.json()["error"]["data"]
    assert (odd.status_code, problem["code"]) == (422, code)
    assert problem["errors"] == [{"pointer": pointer, "detail": fault}]


async def test_message_of_a_session_is_seen_by_its_tools(
    service: LiveService, key: str, own: httpx.Client
) -> None:
    uri = upload(own, b"a,b\n1,2\n", filename="t.csv")["uri"]
    append(own, content=f"@{uri}")
    async with asking(service, key) as client:
        read = await client.call_tool("read_text", {"ref": uri})
    assert texts(read).endswith("a,b\n1,2\n")
    async with asking(service, key, "/mcp?session=other") as client:
        refused = await client.call_tool("read_text", {"ref": uri})
    assert refused.is_error
