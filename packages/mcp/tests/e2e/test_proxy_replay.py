"""Streams of a proxy that listens which broke, and hosts that come back to them."""

import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
import anyio.abc
import httpx
import pytest
from mcp import Client

from packages.mcp.tests.e2e.test_proxy_listen import (
    ACCEPT,
    Listening,
    call,
    initialize,
    listening,
    texts,
)
from tests.kit.process import WAIT_SECONDS

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
Event = tuple[str, Json | None]
SERVER = [sys.executable, "-m", "tests.kit.mcp_server"]
CHANGED = "notifications/tools/list_changed"
_LET_GO = 99
_ROOTS_CHANGED = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """A proxy before the scripted server."""
    folder = tmp_path_factory.mktemp("replay")
    with listening(folder, "--", *SERVER) as running:
        yield running


def begin(proxy: Listening, version: str = "2025-11-25") -> dict[str, str]:
    """Begin a session; the headers of its requests."""
    answer = proxy.post(initialize(version))
    headers = {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": version}
    proxy.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers)
    return headers


def hold(number: object) -> Json:
    """A call that is answered when `let_go` is called."""
    request = call(number, "hold")
    request["params"]["_meta"] = {"progressToken": number}
    return request


@contextmanager
def stream(
    proxy: Listening, session: dict[str, str], body: Json | None = None, last: str | None = None
) -> Iterator[Iterator[Event]]:
    """Post a message, or open a stream; yield the events, and cut the connection at the end."""
    headers = {**ACCEPT, **session} | ({} if last is None else {"last-event-id": last})
    with httpx.stream(
        "GET" if body is None else "POST",
        proxy.url,
        json=body,
        headers=headers,
        timeout=WAIT_SECONDS,
        trust_env=False,
    ) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield events(answer.iter_lines())


def events(lines: Iterator[str]) -> Iterator[Event]:
    """Yield the ids and messages of events; `None` for a message that is empty."""
    event_id = ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "id":
            event_id = value
        elif name == "data":
            yield event_id, json.loads(value) if value.strip() else None


def let_go(proxy: Listening, session: dict[str, str], **given: int) -> None:
    """Answer the held calls; their progress has been forwarded when this returns."""
    answer = proxy.post(call(_LET_GO, "let_go", **given), **session)
    assert answer.json()["id"] == _LET_GO


def summarize(event: Event) -> object:
    """Return a summary of an event: its step, the id that it answers, or its method."""
    _, message = event
    assert message is not None
    return message.get("params", {}).get("progress") or message.get("id") or message["method"]


def broken(proxy: Listening, session: dict[str, str], number: object) -> str:
    """Make a call, and cut its stream behind the first step; the id of that."""
    with stream(proxy, session, hold(number)) as sent:
        event = next(sent)
    assert summarize(event) == 1
    return event[0]


def missed(proxy: Listening, session: dict[str, str], last: str) -> list[Event]:
    """Resume an ended stream; return its events after an event."""
    with stream(proxy, session, last=last) as sent:
        return [event for event in sent if event[1] is not None]


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_host_gets_what_it_missed_of_a_stream_and_nothing_else(
    proxy: Listening, version: str
) -> None:
    session = begin(proxy, version)
    one, other = broken(proxy, session, "one"), broken(proxy, session, "other")
    let_go(proxy, session, steps=2)
    of_one, of_other = missed(proxy, session, one), missed(proxy, session, other)
    assert [summarize(event) for event in of_one] == [2, 3, "one"]
    assert [summarize(event) for event in of_other] == [2, 3, "other"]
    # Once more, from further on.
    assert missed(proxy, session, of_one[0][0]) == of_one[1:]
    assert missed(proxy, session, of_one[-1][0]) == []
    ids = [one, other, *(event_id for event_id, _ in [*of_one, *of_other])]
    assert len(set(ids)) == len(ids)


def test_host_that_comes_back_before_the_answer_gets_that_too(proxy: Listening) -> None:
    session = begin(proxy)
    last = broken(proxy, session, "early")
    with stream(proxy, session, last=last) as sent:
        assert next(sent)[1] is None
        let_go(proxy, session, steps=1)
        assert [summarize(event) for event in sent] == [2, "early"]


def test_stream_of_what_a_server_says_on_its_own_goes_on(proxy: Listening) -> None:
    session = begin(proxy)
    with stream(proxy, session) as sent:
        first, nothing = next(sent)
        assert nothing is None
        proxy.post(_ROOTS_CHANGED, **session)
        assert summarize(next(sent)) == CHANGED
    # The host has closed the stream, which the server may not have noticed.
    proxy.post(_ROOTS_CHANGED, **session)
    with stream(proxy, session, last=first) as sent:
        again = [event for event in (next(sent) for _ in range(3)) if event[1] is not None]
        proxy.post(_ROOTS_CHANGED, **session)
        again.append(next(sent))
    assert [summarize(event) for event in again] == [CHANGED] * 3
    # Events of a stream are not sent on another one.
    event_id = broken(proxy, session, "held")
    let_go(proxy, session, steps=0)
    assert [summarize(event) for event in missed(proxy, session, event_id)] == ["held"]


def test_request_that_was_cancelled_takes_nothing_that_a_server_says_on_its_own(
    proxy: Listening,
) -> None:
    session = begin(proxy)
    broken(proxy, session, "given up")
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": "given up"}}
    proxy.post({"jsonrpc": "2.0", **cancelled}, **session)
    with stream(proxy, session) as sent:
        assert next(sent)[1] is None
        proxy.post(_ROOTS_CHANGED, **session)
        assert summarize(next(sent)) == CHANGED


def test_event_that_was_never_sent_or_is_too_old_is_told(proxy: Listening) -> None:
    session, other = begin(proxy), begin(proxy)
    oldest = broken(proxy, session, "long")
    let_go(proxy, session, steps=300)
    stream_name, _, number = oldest.partition("-")
    newer = f"{stream_name}-{int(number) + 250}"
    for headers, last in (
        (session, oldest),
        (session, "none"),
        (session, "77-1"),
        (session, f"{stream_name}-9999999"),
        (other, oldest),
    ):
        answer = httpx.get(
            proxy.url, headers={**ACCEPT, **headers, "last-event-id": last}, trust_env=False
        )
        assert (answer.status_code, "Last-Event-ID" in answer.json()["error"]["message"]) == (
            400,
            True,
        )
    assert len(missed(proxy, session, newer)) == 51


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A proxy that listens keeps little of what it has sent, for hosts whose streams broke",
    kept_by="packages/mcp/src/pagefault_mcp/http_server/host_streams.py",
    tried="an answer above 4 MiB is not kept, and an error says so",
)
def test_answer_that_is_too_large_to_be_kept_is_an_error_instead(proxy: Listening) -> None:
    session = begin(proxy)
    last = broken(proxy, session, "large")
    let_go(proxy, session, steps=1, side=1_200)
    # Once it is sent, for it has not been before.
    assert [summarize(event) for event in missed(proxy, session, last)] == [2, "large"]
    (_, step), (_, answer) = missed(proxy, session, last)
    assert step is not None
    assert answer is not None
    assert (step["params"]["progress"], answer["id"]) == (2, "large")
    assert "more than 4194304 bytes" in answer["error"]["message"]


class Relay:
    """A relay between a host and a proxy that cuts their connections."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: set[anyio.CancelScope] = set()

    async def serve(self, near: anyio.abc.SocketStream) -> None:
        """Pass on what both sides say until one ends, or it is cut."""
        with anyio.CancelScope() as scope:
            self._open.add(scope)
            async with (
                near,
                await anyio.connect_tcp("127.0.0.1", self._port) as far,
                anyio.create_task_group() as group,
            ):
                group.start_soon(self._pass_on, near, far)
                group.start_soon(self._pass_on, far, near)
        self._open.discard(scope)

    async def _pass_on(
        self, source: anyio.abc.SocketStream, target: anyio.abc.SocketStream
    ) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for piece in source:
                await target.send(piece)
            await target.send_eof()

    def cut(self) -> None:
        """End all connections."""
        for scope in self._open:
            scope.cancel()


@asynccontextmanager
async def relayed(proxy: Listening) -> AsyncIterator[tuple[Relay, str]]:
    """Run a relay before a proxy; yield it, and the address that hosts are given."""
    relay = Relay(httpx.URL(proxy.url).port or 0)
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, relay.serve)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - of a socket
        yield relay, f"http://127.0.0.1:{port}/mcp"
        group.cancel_scope.cancel()


async def test_client_of_the_sdk_gets_its_answer_over_a_connection_that_breaks(
    proxy: Listening,
) -> None:
    steps: list[float] = []
    begun = anyio.Event()
    answers: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)
        begun.set()

    async with relayed(proxy) as (relay, url), Client(url, mode="legacy") as host:

        async def call_it() -> None:
            answers.extend(texts(await host.call_tool("hold", progress_callback=note)))

        with anyio.fail_after(WAIT_SECONDS):
            async with anyio.create_task_group() as group:
                group.start_soon(call_it)
                await begun.wait()
                relay.cut()
                await host.call_tool("let_go", {"steps": 2})
    assert (answers, steps) == (["held"], [1, 2, 3])
