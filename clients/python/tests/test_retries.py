"""Retries of calls, against a service with scripted failures."""

import pickle
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from clients.python.tests.servers import Reply, ScriptedService, problem
from pagefault_client import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    Pagefault,
    PagefaultError,
    PreconditionFailedError,
    RateLimitError,
    StoreFullError,
    operations,
    retries,
)

Scripted = Callable[..., ScriptedService]
BUSY = problem(503, "overloaded", Retry_After="0")
LOST = Reply(0)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE_SECONDS", 0.001)


@pytest.mark.parametrize(
    "failure", [BUSY, LOST, problem(502, "upstream-error"), Reply(504, b"<html>")]
)
def test_reading_is_repeated(scripted: Scripted, failure: Reply) -> None:
    service = scripted(failure, failure, Reply(200, {"name": "pagefault", "version": "9"}))
    assert Pagefault(service.url).version()["version"] == "9"
    assert len(service.requests) == 3


def test_as_often_as_it_is_told(scripted: Scripted) -> None:
    service = scripted(BUSY)
    with pytest.raises(InternalServerError):
        Pagefault(service.url, max_retries=1).version()
    with pytest.raises(InternalServerError):
        Pagefault(service.url).with_options(max_retries=0).version()
    assert len(service.requests) == 3


def test_a_message_is_repeated_under_one_key(scripted: Scripted) -> None:
    service = scripted(LOST, problem(409, "request-in-flight"), Reply(201, {"seq": 1}))
    Pagefault(service.url).session("s").append({"role": "user", "content": "Hi"})
    keys = {request.headers.get("Idempotency-Key") for request in service.requests}
    assert (len(service.requests), len(keys), None in keys) == (3, 1, False)


def test_a_result_in_a_session_needs_no_key(scripted: Scripted) -> None:
    service = scripted(LOST, Reply(201, {"id": "x"}))
    Pagefault(service.url).session("s").tool_result("clock", "call_1", "ten")
    assert [request.headers.get("Idempotency-Key") for request in service.requests] == [None, None]


def test_what_would_happen_twice_is_not_repeated(scripted: Scripted) -> None:
    service = scripted(LOST)
    with pytest.raises(APIConnectionError):
        Pagefault(service.url).pages.create_many([{"content": "a"}])
    assert len(service.requests) == 1


def test_what_was_not_begun_is_repeated_all_the_same(scripted: Scripted) -> None:
    service = scripted(BUSY, Reply(201, {"items": []}))
    assert Pagefault(service.url).pages.create_many([{"content": "a"}]) == []


def test_a_condition_is_not_tried_twice(scripted: Scripted) -> None:
    service = scripted(LOST)
    with pytest.raises(APIConnectionError):
        Pagefault(service.url).pages.put("p", if_match='"1"', content="a")
    assert len(service.requests) == 1


def test_what_an_earlier_attempt_deleted_is_deleted(scripted: Scripted) -> None:
    service = scripted(LOST, problem(404, "not-found"))
    Pagefault(service.url).pages.delete("p")
    assert len(service.requests) == 2


def test_a_session_that_an_earlier_attempt_deleted_is_deleted(scripted: Scripted) -> None:
    service = scripted(LOST, problem(404, "not-found"))
    assert Pagefault(service.url).session("s").delete() is None
    with pytest.raises(NotFoundError):
        Pagefault(service.url).session("s").delete()


def test_an_answer_of_something_else_is_an_error_of_this_package(scripted: Scripted) -> None:
    page = Reply(200, b"<h1>Sign in</h1>", {"Content-Type": "text/html"})
    service = scripted(page, problem(404, "not-found"), page)
    client = Pagefault(service.url)
    with pytest.raises(PagefaultError, match=r"not JSON .text/html.*base_url.*Sign in"):
        client.version()
    with pytest.raises(PagefaultError, match=r"no header Location.*base_url"):
        client.resources.upload(b"x" * 9_000_000)


def test_a_key_that_no_header_can_carry_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"`api_key` is not a key.*Copy it again"):
        Pagefault(api_key="pf_schlüssel")
    monkeypatch.setenv("PAGEFAULT_API_KEY", "pf_a pf_b")
    with pytest.raises(ValueError, match="PAGEFAULT_API_KEY is not a key"):
        Pagefault()


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (problem(422, "invalid-payload"), BadRequestError),
        (problem(412, "precondition-failed"), PreconditionFailedError),
        (problem(503, "store-misconfigured"), InternalServerError),
        (problem(507, "store-full"), StoreFullError),
        (problem(429, "quota-exceeded", Retry_After="3600"), RateLimitError),
    ],
)
def test_what_no_repetition_changes_is_raised_at_once(
    scripted: Scripted, refusal: Reply, kind: type[APIStatusError]
) -> None:
    service = scripted(refusal)
    with pytest.raises(kind) as refused:
        Pagefault(service.url).version()
    assert len(service.requests) == 1
    assert (refused.value.detail, refused.value.request_id) == ("No.", "r1")
    copied = pickle.loads(pickle.dumps(refused.value))  # noqa: S301 - our own
    assert (type(copied), str(copied), copied.retry_after) == (
        *(kind, str(refused.value)),
        refused.value.retry_after,
    )


def test_the_pause_is_at_least_what_the_service_asks_for() -> None:
    attempts = retries.Attempts(operations.get_version(), max_retries=3)
    refused = RateLimitError(429, {}, httpx.Headers({"Retry-After": "7"}))
    pause = attempts.pause_after(refused)
    assert pause is not None
    assert 7 <= pause < 8


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "Sun, 06 Nov 1994 08:49:44 GMT"}, 7),
        ({"Retry-After": "Sunday, 06-Nov-94 08:49:44 GMT"}, 7),
        ({"Retry-After": "Sun Nov  6 08:49:44 1994"}, 7),
        ({"Retry-After": "Sun, 06 Nov 1994 08:49:30 GMT"}, 0),
        ({"Retry-After": "Sun, 06 Nov 1994 08:49:44 GMT", "Date": "today"}, 0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Mon, 01 Jan 2024 10:00:00 +99999999999999999999"}, None),
        ({}, None),
    ],
)
def test_retry_after_may_be_a_date(headers: dict[str, str], seconds: float | None) -> None:
    sent = {"Date": "Sun, 06 Nov 1994 08:49:37 GMT", **headers}
    assert InternalServerError(503, {}, httpx.Headers(sent)).retry_after == seconds


def test_a_date_without_that_of_the_answer_is_compared_with_the_clock() -> None:
    late = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    retry_after = InternalServerError(503, {}, httpx.Headers({"Retry-After": late})).retry_after
    assert retry_after is not None
    assert 3590 < retry_after <= 3600


def test_silence_is_an_error_of_its_own() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = Pagefault(
            f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.05, max_retries=0
        )
        with pytest.raises(APITimeoutError):
            client.version()


def test_key_and_address_come_from_the_environment(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = scripted(Reply(200, {}))
    monkeypatch.setenv("PAGEFAULT_URL", f"{service.url}/api/")
    monkeypatch.setenv("PAGEFAULT_API_KEY", "pf_secret")
    Pagefault().version()
    Pagefault(api_key="pf_other").version()
    sent = [(request.path, request.headers.get("Authorization")) for request in service.requests]
    assert sent == [("/api/version", "Bearer pf_secret"), ("/api/version", "Bearer pf_other")]
    with pytest.raises(ValueError, match="not the URL"):
        Pagefault("localhost:8000")
