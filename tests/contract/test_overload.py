"""More than the service takes at once: what is too much is refused at once, the rest goes on."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import httpx
import pytest

from app.models.limits import Limits
from tests.kit.servers import Backends, LiveService, serving

WAIT_SECONDS = 60.0
JSON = {"Content-Type": "application/json"}
AT_ONCE = 8
LARGE_TEXT = "a word or two " * 100_000


@contextmanager
def limited(backends: Backends, folder: Path, limits: Limits) -> Iterator[LiveService]:
    """A service with limits of its own."""
    with serving(backends.settings("embedded", folder / "data", limits=limits)) as service:
        yield service


@contextmanager
def connected(service: LiveService) -> Iterator[http.client.HTTPConnection]:
    """A connection that the service has, and keeps."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=WAIT_SECONDS)
    try:
        assert health(connection) == 200
        yield connection
    finally:
        connection.close()


def health(connection: http.client.HTTPConnection) -> int:
    """Ask over a connection that stays."""
    connection.request("GET", "/healthz")
    with connection.getresponse() as answer:
        answer.read()
        return answer.status


def asked_anew(service: LiveService) -> httpx.Response:
    """Return the answer of a new connection."""
    return httpx.get(f"{service.base_url}/healthz", timeout=WAIT_SECONDS, trust_env=False)


@pytest.mark.promise(
    "security.md#the-transport",
    "A connection beyond the limit gets a `Retry-After`, and the others go on",
    kept_by="app/server/http_protocol.py",
    tried="20 of 20: 503 with `Retry-After`",
)
def test_one_connection_too_many_is_told_to_come_again_and_the_others_go_on(
    backends: Backends, tmp_path: Path
) -> None:
    limits = Limits(connections_at_once=2)
    with limited(backends, tmp_path, limits) as service, connected(service) as one:
        with connected(service) as other:
            for _ in range(20):
                refused = asked_anew(service)
                assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
                assert refused.headers["content-type"] == "application/problem+json"
                assert refused.json()["code"] == "overloaded"
            assert [health(one), health(other)] == [200, 200]
        until = monotonic() + WAIT_SECONDS
        while (status := asked_anew(service).status_code) == 503:
            assert monotonic() < until
        assert (status, health(one)) == (200, 200)


def sent_at_once(client: httpx.Client, round_number: int) -> list[tuple[str, httpx.Response]]:
    """Return the answers to large results that come together, each with its body."""
    together = threading.Barrier(AT_ONCE)
    answers: list[tuple[str, httpx.Response]] = []

    def send(number: int) -> None:
        call = {"toolName": "count", "toolCallId": f"c{round_number}-{number}", "sessionId": "s"}
        body = json.dumps({**call, "result": LARGE_TEXT})
        together.wait(WAIT_SECONDS)
        answers.append((body, client.post("/api/tool-results", content=body, headers=JSON)))

    senders = [threading.Thread(target=send, args=(number,)) for number in range(AT_ONCE)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(WAIT_SECONDS)
    return answers


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Large bodies beyond the queue get a `Retry-After` and succeed later",
    kept_by="app/services/concurrency/large_work.py",
    tried="8 at once: 503 with `Retry-After`, 0 lost",
)
def test_large_bodies_beyond_the_queue_are_told_to_come_again_and_succeed_then(
    backends: Backends, tmp_path: Path
) -> None:
    limits = Limits(large_bodies=1, large_bodies_waiting=1)
    with limited(backends, tmp_path, limits) as service, service.client() as client:
        until = monotonic() + WAIT_SECONDS
        rounds = 0
        refused: list[tuple[str, httpx.Response]] = []
        while not refused:
            assert monotonic() < until
            answers = sent_at_once(client, rounds)
            rounds += 1
            assert len(answers) == AT_ONCE
            refused = [(body, answer) for body, answer in answers if answer.status_code != 201]
        assert len(refused) < AT_ONCE
        for body, answer in refused:
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.json()["code"] == "overloaded"
            assert client.post("/api/tool-results", content=body, headers=JSON).status_code == 201
        kept = client.get("/api/sessions/s").json()["counts"]
        assert kept["toolResults"] == rounds * AT_ONCE


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "A body below the minimum pace is given up after a grace period",
    kept_by="app/http/bodies.py",
    tried="4 settings, 408, 0 rows",
)
@pytest.mark.parametrize(
    ("bytes_per_second", "grace_seconds", "status"),
    [(10**12, 0.0, 408), (10**12, 3_600.0, 201), (1, 0.0, 201), (0, 0.0, 201)],
)
def test_body_below_the_pace_is_given_up_once_its_grace_is_over(
    backends: Backends,
    tmp_path: Path,
    bytes_per_second: int,
    grace_seconds: float,
    status: int,
) -> None:
    limits = Limits(body_bytes_per_second=bytes_per_second, body_grace_seconds=grace_seconds)
    with limited(backends, tmp_path, limits) as service, service.client() as client:
        answer = client.post("/api/resources", content=b"x" * 100_000)
        assert answer.status_code == status
        if status == 408:
            assert answer.json()["code"] == "slow-body"
        kept = client.get("/api/resources").json()["items"]
        assert len(kept) == (status == 201)
