"""`DECTO_DEBUG_TOOL_RESULT_RAW`: on, those who listen now see what tools returned; off, nobody."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.config.settings import Settings
from tests.contract.session_requests import append, call_tool
from tests.kit.event_streams import Block, heard, listening, log_of, member
from tests.kit.listening_sockets import read_event, socket_of
from tests.kit.loaded_command import LoadedCommand
from tests.kit.media import noise_bytes, png
from tests.kit.process import PagefaultProcess
from tests.kit.servers import Backends, LiveService, serving

PROJECT = "/api/events"
SESSION = "/api/sessions/s/events"
PICTURE = base64.b64encode(png(noise=True)).decode()
RAW = {
    "content": [
        {"type": "image", "mimeType": "image/png", "data": PICTURE},
        {"type": "text", "text": "a \U0001f600 and 123456789012345678901234567890"},
    ],
    "structuredContent": {"b": 1.5, "a": [None, 12345678901234567890123]},
}
# Base64 as a tool wraps it: normalization takes it out of the record, whatever else it keeps.
MARKER = base64.b64encode(noise_bytes(60)).decode()
_LARGEST_BYTES = 1024 * 1024


@pytest.fixture(scope="module")
def telling(backends: Backends, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service that shows what tools returned."""
    settings = backends.settings("embedded", tmp_path_factory.mktemp("raw") / Path("data"))
    with serving(settings.model_copy(update={"debug_tool_result_raw": True})) as service:
        yield service


@pytest.fixture
def listener(telling: LiveService) -> Iterator[httpx.Client]:
    with telling.client() as client:
        yield client


def without_raw(block: Block) -> Block:
    """Return the event as a later listener gets it."""
    assert block.data is not None
    raw = b',"rawResult":' + member(block.data, "rawResult")
    return Block(block.id, block.event, block.data.removesuffix(raw + b"}") + b"}")


@pytest.mark.requirement("002-raw-result-behind-a-flag")
def test_who_listens_now_sees_what_the_tool_returned(listener: httpx.Client) -> None:
    with (
        listening(listener, PROJECT) as of_project,
        listening(listener, SESSION) as of_session,
        socket_of(listener, "?after=0") as socket,
    ):
        call_tool(listener, "c", RAW)
        live = [of_project.next(), of_session.next(), read_event(socket)]
    assert live[0] == live[1] == live[2]
    assert list(live[0].told)[-1] == "rawResult"
    assert live[0].told["rawResult"] == RAW
    assert heard(listener, count=1) == [without_raw(live[0])]
    assert heard(listener, SESSION, count=1) == [without_raw(live[0])]


def test_integer_of_any_size_and_no_value_are_shown_as_they_came(listener: httpx.Client) -> None:
    body = b'{"toolName":"t","toolCallId":"c","result":[1.10,123456789012345678901234567890,null]}'
    with listening(listener) as stream:
        posted = listener.post(
            "/api/tool-results", content=body, headers={"Content-Type": "application/json"}
        )
        assert posted.status_code == 201
        data = stream.next().data
        assert data is not None
        numbers = json.loads(member(data, "rawResult"), parse_float=str, parse_int=str)
        assert numbers == ["1.1", "123456789012345678901234567890", None]
        call_tool(listener, "d", None)
        assert stream.next().told["rawResult"] is None


def test_who_listens_to_another_session_sees_nothing_of_it(listener: httpx.Client) -> None:
    with listening(listener, SESSION) as stream, listening(listener, PROJECT) as of_project:
        call_tool(listener, "c", RAW, "t")
        append(listener, content="x")
        assert stream.next().event == "message:created"
        assert of_project.next().told["rawResult"] == RAW


def test_result_that_nobody_listened_to_is_shown_to_nobody_later(listener: httpx.Client) -> None:
    call_tool(listener, "c", RAW)
    with listening(listener, after=0) as stream:
        assert "rawResult" not in stream.next().told
        again = {"toolName": "camera", "toolCallId": "c", "result": RAW, "sessionId": "s"}
        assert listener.post("/api/tool-results", json=again).status_code == 200
        call_tool(listener, "d", "else")
        assert stream.next().told["rawResult"] == "else"


def test_large_body_is_not_shown(listener: httpx.Client) -> None:
    with listening(listener) as stream:
        call_tool(listener, "large", ["word " * (_LARGEST_BYTES // 5)])
        call_tool(listener, "small", ["word " * (_LARGEST_BYTES // 6)])
        shown = ["rawResult" in block.told for block in stream.some(2)]
    assert shown == [False, True]


def test_long_media_are_shown_as_they_came(listener: httpx.Client) -> None:
    picture = base64.b64encode(png(300, 300, noise=True)).decode()
    block = {"type": "image", "mimeType": "image/png", "data": picture}
    raw = {"content": [block], "structuredContent": {"same": picture, "text": "a" * 70_000}}
    with listening(listener) as stream:
        call_tool(listener, "long", raw)
        assert stream.next().told["rawResult"] == raw


def test_what_was_returned_is_in_nothing_but_the_event(
    telling: LiveService, listener: httpx.Client
) -> None:
    with listening(listener) as stream:
        call_tool(listener, "c", with_marker())
        assert MARKER.encode() in (stream.next().data or b"")
    with httpx.Client(base_url=telling.base_url, trust_env=False) as anyone:
        assert [path for path, text in everywhere(listener, anyone).items() if MARKER in text] == []


def with_marker() -> dict[str, object]:
    block = {"type": "audio", "mimeType": "audio/wav", "data": MARKER}
    return {"content": [block], "unknown": {"data": f"data:audio/wav;base64,{MARKER}"}}


def everywhere(client: httpx.Client, anyone: httpx.Client) -> dict[str, str]:
    """Return everything that can be read of a result, by path, errors included."""
    paths = ["/api/tool-results", "/api/sessions/s/messages", "/api/sessions/s", "/api/resources"]
    found = {path: client.get(path).text for path in paths}
    found["metrics"] = anyone.get("/metrics").text
    call = {"toolName": "camera", "toolCallId": "c", "sessionId": "s", "result": with_marker()}
    refused = [
        client.post("/api/tool-results", json={**call, "success": MARKER}),
        client.post("/api/tool-results", json={**call, "result": [with_marker(), 2]}),
        client.post("/api/tool-results", content=json.dumps(call)[:-1]),
        client.get(PROJECT, params={"after": MARKER}),
        client.get(PROJECT, params={"ticket": MARKER}),
    ]
    assert [answer.status_code for answer in refused] == [422, 409, 415, 422, 401]
    found["errors"] = "".join(answer.text + str(answer.headers) for answer in refused)
    found["replay"] = "".join(str(block) for block in log_of(client))
    return found


@pytest.mark.requirement("002-raw-result-behind-a-flag")
@pytest.mark.requirement("002-subscribers-get-the-record-only")
def test_off_no_byte_of_it_leaves_the_service(pagefault: LoadedCommand, tmp_path: Path) -> None:
    """A process of its own, for what it logs."""
    options = ("--data-dir", str(tmp_path))
    env = {"PAGEFAULT_AUTH": "api-key", "PAGEFAULT_LOG_LEVEL": "debug"}
    key = pagefault.run("keys", "create", "--project", "p", *options, env=env).stdout.strip()
    with PagefaultProcess(tmp_path, env={**env, "DECTO_DEBUG_TOOL_RESULT_RAW": "no"}) as process:
        with process.client(key) as client, process.client() as anyone:
            with listening(client) as stream, listening(client, SESSION) as of_session:
                call_tool(client, "c", with_marker())
                live = [stream.next(), of_session.next()]
            found = everywhere(client, anyone)
        process.stop()
        found["logs"] = process.logs
    found["live"] = str(live)
    assert "rawResult" not in found["live"]
    assert [path for path, text in found.items() if MARKER in text] == []
    assert "request" in found["logs"]


@pytest.mark.requirement("002-raw-result-behind-a-flag")
@pytest.mark.parametrize(
    ("value", "is_on"),
    [("true", True), ("1", True), ("TRUE", True), (" true ", True)]
    + [(value, False) for value in ("", "false", "0", "yes", "on", "2", "true1", "\u0661")],
)
def test_flag_is_on_for_two_words_only(
    monkeypatch: pytest.MonkeyPatch, value: str, is_on: bool
) -> None:
    monkeypatch.setenv("DECTO_DEBUG_TOOL_RESULT_RAW", value)
    assert Settings().debug_tool_result_raw is is_on


def test_flag_is_off_by_default_and_has_no_second_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DECTO_DEBUG_TOOL_RESULT_RAW", raising=False)
    monkeypatch.setenv("DECTO_DEBUG_TOOL_RESULT", "1")
    assert not Settings().debug_tool_result_raw
