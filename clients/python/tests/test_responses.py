"""Options of one call, responses with their headers, and the log of requests."""

import logging
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable

import httpx
import pytest

from clients.python.tests.servers import Reply, ScriptedService, problem
from pagefault_client import (
    APIConnectionError,
    APITimeoutError,
    AsyncPagefault,
    Pagefault,
    PagefaultError,
    PreconditionFailedError,
    Session,
    operations,
    retries,
)

Scripted = Callable[..., ScriptedService]
VERSION = Reply(200, {"name": "pagefault", "version": "9"})


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE_SECONDS", 0.001)


def test_etag_of_a_response_is_the_condition_of_the_next_call(
    pf: Pagefault, session: Session
) -> None:
    page_id = f"page-{session.id}"
    pf.pages.put(page_id, content="Ten sheep.", session_id=session.id)
    read = pf.with_raw_response.send(operations.get_page(page_id))
    assert (read.status_code, read.retries_taken, read.parse()["content"]) == (
        *(200, 0, "Ten sheep."),
    )
    assert read.headers["ETag"] == read.etag
    again = pf.with_raw_response.send(operations.get_page(page_id, if_none_match=read.etag))
    assert (again.status_code, again.etag) == (304, read.etag)
    with pytest.raises(PagefaultError, match="304 Not Modified has no body"):
        again.parse()
    with pytest.raises(PagefaultError, match="304 Not Modified has no body"):
        pf.send(operations.get_page(page_id, if_none_match=read.etag))
    changed = pf.pages.put(page_id, if_match=read.etag, content="Two.", session_id=session.id)
    assert changed["content"] == "Two."
    with pytest.raises(PreconditionFailedError):
        pf.pages.put(page_id, if_match=read.etag, content="Three.", session_id=session.id)


def test_read_with_a_condition_is_repeated(scripted: Scripted) -> None:
    service = scripted(problem(503, "overloaded", Retry_After="0"), Reply(0), Reply(304))
    call = operations.get_page("notes", if_none_match='"1"')
    response = Pagefault(service.url).with_raw_response.send(call)
    assert (response.status_code, response.retries_taken) == (304, 2)
    assert [request.headers["If-None-Match"] for request in service.requests] == ['"1"'] * 3


def test_id_of_a_request_is_in_its_response_and_in_its_error(pf: Pagefault) -> None:
    request_id = f"agent-{uuid.uuid4().hex}"
    named = pf.with_options(default_headers={"X-Request-ID": request_id})
    assert named.with_raw_response.send(operations.get_version()).request_id == request_id
    first, second = (pf.with_raw_response.send(operations.get_version()) for _ in range(2))
    assert len({first.request_id, second.request_id, None}) == 3


@pytest.mark.parametrize("reply", [Reply(0), Reply(200, b"{", {"content-length": "4000"})])
def test_lost_request_has_the_id_that_was_sent(scripted: Scripted, reply: Reply) -> None:
    service = scripted(reply)
    with pytest.raises(APIConnectionError) as lost:
        Pagefault(service.url, max_retries=0).version()
    assert lost.value.request_id == service.requests[0].headers["X-Request-ID"]


def test_options_are_those_of_one_call(scripted: Scripted) -> None:
    service = scripted(VERSION)
    with Pagefault(service.url, "pf_key", default_headers={"X-Team": "a"}) as client:
        client.with_options(default_headers={"X-Trace": "1"}).version()
        client.session("s").with_options(default_headers={"X-Team": "b"}).get()
        client.version()
    sent = [
        tuple(request.headers.get(name) for name in ("X-Team", "X-Trace", "Authorization"))
        for request in service.requests
    ]
    assert sent == [
        ("a", "1", "Bearer pf_key"),
        ("b", None, "Bearer pf_key"),
        ("a", None, "Bearer pf_key"),
    ]


@pytest.mark.anyio
async def test_timeout_is_that_of_one_call() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Pagefault(url, max_retries=0) as client:
            with pytest.raises(APITimeoutError):
                client.with_options(timeout=0.05).version()
            with pytest.raises(APITimeoutError):
                client.session("s").with_options(timeout=httpx.Timeout(0.05)).get()
        async with AsyncPagefault(url, max_retries=0) as waiting:
            with pytest.raises(APITimeoutError):
                await waiting.with_options(timeout=0.05).version()


def test_retries_and_requests_are_logged(
    scripted: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    service = scripted(
        problem(503, "overloaded", Retry_After="0"),
        Reply(200, {"items": [], "nextCursor": None}, {"X-Request-ID": "r2"}),
    )
    with caplog.at_level(logging.DEBUG, "pagefault_client"):
        Pagefault(service.url).search("a secret word").all()
    lines = [
        (record.levelname, record.message)
        for record in caplog.records
        if record.name == "pagefault_client"
    ]
    error = "503 overloaded: No. (request r1)"
    assert lines == [
        ("DEBUG", "GET /api/search 503 (None)"),
        ("INFO", f"Retrying GET /api/search in 0.00 seconds (retry 1 of 3): {error}"),
        ("DEBUG", "GET /api/search 200 (r2)"),
    ]


@pytest.mark.parametrize(("level", "count"), [("debug", 1), ("info", 0), ("loud", 0)])
def test_level_of_the_log_is_a_variable(scripted: Scripted, level: str, count: int) -> None:
    service = scripted(VERSION)
    program = f"from pagefault_client import Pagefault; Pagefault({service.url!r}).version()"
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program],
        env={"PAGEFAULT_LOG": level},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = "DEBUG:pagefault_client:GET /api/version 200 (None)\n" * count
    assert done.stderr == expected
